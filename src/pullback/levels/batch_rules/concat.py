"""Batching rules of ``cat`` and ``stack``."""

from __future__ import annotations

from typing import Any

from ...ops.concat import cat, stack
from .registry import batch_rule, ensure_batched, shift_dim


@batch_rule(cat)
def cat_rule(op: Any, size: int, batched: list[Any], xs: Any, dim: int) -> Any:
    xs = [ensure_batched(x, b, size) for x, b in zip(xs, batched[0])]
    return op.call(xs, shift_dim(dim, max(len(x.shape) - 1 for x in xs)))


@batch_rule(stack)
def stack_rule(op: Any, size: int, batched: list[Any], xs: Any, dim: int) -> Any:
    xs = [ensure_batched(x, b, size) for x, b in zip(xs, batched[0])]
    return op.call(xs, shift_dim(dim, len(xs[0].shape)))
