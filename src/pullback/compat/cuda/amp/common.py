"""``torch.cuda.amp.common``: whether mixed precision of a GPU could be there."""

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """True: there is no such device."""
    return True
