"""``torch.backends.kleidiai``: Arm's library for products, which is not used."""


def is_available() -> bool:
    """False."""
    return False
