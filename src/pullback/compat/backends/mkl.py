"""``torch.backends.mkl``: Intel's library for linear algebra, which is not used."""


def is_available() -> bool:
    """False."""
    return False
