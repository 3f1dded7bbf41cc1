"""Lowerings: which kernel computes an operation inside a compiled plan, and what it is handed."""
