"""``torch.backends.kleidiai``: Arm's matrix library, unavailable."""


def is_available() -> bool:
    """False."""
    return False
