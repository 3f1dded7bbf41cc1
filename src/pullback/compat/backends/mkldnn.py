"""``torch.backends.mkldnn``: oneDNN, unavailable; its switches are accepted."""

from . import flags as _flags

enabled, deterministic, allow_tf32 = True, False, True
set_flags, flags = _flags.of(globals(), "enabled", "deterministic", "allow_tf32")


def is_available() -> bool:
    """False."""
    return False
