"""PyTorch's CPU random number generator and sampling algorithms, bit for bit, on NumPy arrays."""
