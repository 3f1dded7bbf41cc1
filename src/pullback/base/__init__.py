"""The bottom layer: dtypes, devices, shapes, memory layout, errors, printing, pytrees and thread-local state."""
