"""``torch.backends.opt_einsum``: the order of contractions in ``einsum`` is found without it."""

from __future__ import annotations

from . import flags as _flags

enabled = False
strategy: str | None = None
set_flags, flags = _flags.of(globals(), "enabled", "strategy")


def is_available() -> bool:
    """False."""
    return False
