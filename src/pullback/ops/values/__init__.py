"""Values that stand in a tensor's data slot in place of a dense array: sparse COO and CSR, and ``meta``."""
