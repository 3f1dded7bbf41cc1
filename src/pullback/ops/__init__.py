"""The catalogue of operations, a family a file."""
