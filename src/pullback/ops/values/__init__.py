"""Values of a tensor's data slot other than dense arrays: sparse COO, sparse compressed, and ``meta``."""
