"""``torch.backends.mkl``: Intel's linear algebra library, unavailable."""


def is_available() -> bool:
    """False."""
    return False
