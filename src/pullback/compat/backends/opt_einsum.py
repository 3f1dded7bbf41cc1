"""``torch.backends.opt_einsum``: unavailable; ``einsum`` finds its contraction order without it."""

from __future__ import annotations

from . import flags as _flags

enabled = False
strategy: str | None = None
set_flags, flags = _flags.of(globals(), "enabled", "strategy")


def is_available() -> bool:
    """False."""
    return False
