"""Batching rule of ``flip``."""

from __future__ import annotations

from typing import Any

from ...ops.flip_roll import flip
from .registry import batch_rule, shift_dim


@batch_rule(flip)
def flip_rule(op: Any, size: int, batched: list[Any], x: Any, dims: Any) -> Any:
    return op.call(x, shift_dim(dims, len(x.shape) - 1))  # no dimensions mean none here
