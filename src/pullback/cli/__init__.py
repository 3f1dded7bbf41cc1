"""The command line, ``python -m pullback``: run, bench, demo, explain."""
