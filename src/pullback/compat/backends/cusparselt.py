"""``torch.backends.cusparselt``: NVIDIA's sparse matrix library, unavailable."""


def is_available() -> bool:
    """False."""
    return False
