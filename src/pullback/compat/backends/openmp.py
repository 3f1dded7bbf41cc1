"""``torch.backends.openmp``: OpenMP, which is not used."""


def is_available() -> bool:
    """False."""
    return False
