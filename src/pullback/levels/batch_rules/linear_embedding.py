"""Batching rule of ``linear``."""

from __future__ import annotations

from typing import Any

from ...ops.linear_embedding import _linear
from ...ops.view import unsqueeze
from .registry import batch_rule


@batch_rule(_linear)
def linear_rule(op: Any, size: int, batched: list[Any], x: Any, weight: Any, bias: Any) -> Any:
    if not batched[1] and not (bias is not None and batched[2]) and len(x.shape) > 1:
        return op.call(x, weight, bias)
    w = weight if batched[1] else unsqueeze(weight, 0)
    if len(w.shape) != 3:
        return NotImplemented
    nx = len(x.shape) - batched[0]
    rows = x.reshape((x.shape[0] if batched[0] else 1, -1, x.shape[-1]))
    out = rows @ w.mT
    if bias is not None:
        out = out + (bias.reshape((size, 1, -1)) if batched[2] else bias)
    lead = tuple(x.shape[1:-1]) if batched[0] else tuple(x.shape[:-1])
    return out.reshape((size, *lead, weight.shape[-2])) if nx != 2 else out
