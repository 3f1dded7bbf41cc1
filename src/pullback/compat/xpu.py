"""``torch.xpu`` without Intel's GPUs: ``is_available()`` is False, and what needs a device raises."""

from __future__ import annotations

from ..base.device import placeholder_class
from .cuda import (
    device_count,
    empty_cache,
    is_available,
    is_bf16_supported,
    is_initialized,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
)
from .unavailable import refusing

_REFUSED = """
    current_device current_stream get_device_capability get_device_name get_device_properties get_rng_state init
    set_device set_rng_state synchronize
""".split()
__all__ = [
    "Event",
    "Stream",
    "device_count",
    "empty_cache",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
]
__all__ += _REFUSED

Event, Stream = (placeholder_class(name, "torch.xpu") for name in ("Event", "Stream"))
globals().update({n: refusing(n, lambda: AssertionError("Torch not compiled with XPU enabled")) for n in _REFUSED})
