"""Batching rules of reductions over all elements; those over dimensions declare ``dims``."""

from __future__ import annotations

from typing import Any

from ...ops.reduce import prod, sum_all, sum_dims
from .registry import batch_rule, shift_dim


@batch_rule(prod)
def prod_rule(op: Any, size: int, batched: list[Any], x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None:
        return op.call(x.reshape((size, -1)), 1, False, dtype)
    return NotImplemented if len(x.shape) == 1 else op.call(x, shift_dim(dim, len(x.shape) - 1), keepdim, dtype)


@batch_rule(sum_all)
def sum_all_rule(op: Any, size: int, batched: list[Any], x: Any, dtype: Any) -> Any:
    return sum_dims(x, tuple(range(1, len(x.shape))), False, dtype) if len(x.shape) > 1 else NotImplemented
