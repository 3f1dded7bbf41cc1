"""``torch.backends.mha``: the fast-path switch of ``MultiheadAttention``, accepted; there is one path."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """The value given to :func:`set_fastpath_enabled`."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Accepted, and remembered."""
    global _fastpath
    _fastpath = value
