"""``torch.testing._internal``: the tools of PyTorch's own tests that other libraries' tests use."""
