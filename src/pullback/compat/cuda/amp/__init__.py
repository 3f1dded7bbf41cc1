"""``torch.cuda.amp``: deprecated aliases of :mod:`pullback.amp`, which warn."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .... import amp
from ....base.dtypes import dtype, float16
from . import common as common

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning, stacklevel=3
    )


class autocast(amp.autocast):
    """``torch.amp.autocast("cuda", ...)``: does nothing, with a warning."""

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        _warn("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """``torch.amp.GradScaler("cuda", ...)``: disabled, with a warning."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler(args...)", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """``torch.amp.custom_fwd(..., device_type="cuda")``."""
    _warn("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, **kwargs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd(..., device_type="cuda")``."""
    _warn("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return amp.custom_bwd(bwd, device_type="cuda")
