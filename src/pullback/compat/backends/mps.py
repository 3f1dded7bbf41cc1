"""``torch.backends.mps``: Apple's GPUs, unavailable."""


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: of interest only to who uses it."""
    return False
