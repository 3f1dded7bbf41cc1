"""``torch.mps`` without Apple's GPUs: ``is_available()`` is False, and what needs a device raises."""

from __future__ import annotations

from ..base.device import placeholder_class
from .unavailable import refusing

_REFUSED = """
    current_allocated_memory driver_allocated_memory empty_cache get_rng_state recommended_max_memory seed
    set_per_process_memory_fraction set_rng_state synchronize
""".split()
__all__ = ["Event", "device_count", "is_available", "manual_seed"]
__all__ += _REFUSED

Event = placeholder_class("Event", "torch.mps")


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""
    int(seed)


globals().update(
    {n: refusing(n, lambda: RuntimeError("Cannot execute this function without MPS backend.")) for n in _REFUSED}
)
