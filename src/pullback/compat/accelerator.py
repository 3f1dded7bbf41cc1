"""``torch.accelerator`` without one: ``current_accelerator()`` is None, and what needs a device raises.

>>> import pullback as torch
>>> torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
'cpu'
"""

from __future__ import annotations

from ..base.device import device
from .unavailable import NothingToSelect, refusing

_REFUSED = """
    current_device_idx current_device_index current_stream empty_cache get_memory_info
    max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_stats
    reset_accumulated_memory_stats reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize
""".split()
__all__ = ["current_accelerator", "device_count", "device_index", "is_available"]
__all__ += _REFUSED


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """None."""
    return None


class device_index(NothingToSelect):
    """Accepted: with no device there is nothing to select."""


globals().update(
    {n: refusing(n, lambda: RuntimeError("Cannot access accelerator device when none is available.")) for n in _REFUSED}
)
