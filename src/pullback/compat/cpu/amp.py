"""``torch.cpu.amp``: deprecated aliases of :mod:`pullback.amp`, which warn."""

from __future__ import annotations

import warnings

from ... import amp
from ...base.dtypes import bfloat16, dtype

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """``torch.amp.autocast("cpu", ...)``."""

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        _warn("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cpu", ...)``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
