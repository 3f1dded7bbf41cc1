"""``torch.backends.mha``: there is one way through ``MultiheadAttention``. The switch is accepted."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What :func:`set_fastpath_enabled` was told."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Accepted, and remembered."""
    global _fastpath
    _fastpath = value
