"""``torch.backends.cusparselt``: NVIDIA's library for sparse products, which is not used."""


def is_available() -> bool:
    """False."""
    return False
