"""Batching rules of extremes over all elements; those over dimensions declare ``dims``."""

from __future__ import annotations

from typing import Any

from ...ops.minmax import amax, amin, argmax, argmin, max_all, min_all
from .registry import batch_rule, shift_dim


@batch_rule(argmax, argmin)
def argmax_rule(op: Any, size: int, batched: list[Any], x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        flat = op.call(x.reshape((size, -1)), 1, False)
        return flat.reshape((size,) + (1,) * (len(x.shape) - 1)) if keepdim else flat
    return NotImplemented if len(x.shape) == 1 else op.call(x, shift_dim(dim, len(x.shape) - 1), keepdim)


@batch_rule(max_all, min_all)
def max_all_rule(op: Any, size: int, batched: list[Any], x: Any) -> Any:
    return (amax if op is max_all.op else amin)(x.reshape((size, -1)), 1)
