"""``torch.backends.openmp``: OpenMP, unavailable."""


def is_available() -> bool:
    """False."""
    return False
