"""PyTorch's streams of random numbers, bit for bit, as NumPy arrays."""
