"""PyTorch's address of its own tests' tools, of which other libraries' tests use a few."""
