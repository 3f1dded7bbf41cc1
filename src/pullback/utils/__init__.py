"""PyTorch's address ``torch.utils``: what lives here is re-exported from where it belongs."""
