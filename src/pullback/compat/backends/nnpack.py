"""``torch.backends.nnpack``: unavailable; its switch is accepted."""

from . import flags as _flags

enabled = False
set_flags, flags = _flags.of(globals(), "enabled")


def is_available() -> bool:
    """False."""
    return False
