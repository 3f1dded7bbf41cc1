"""Batching rules of ``split`` and ``as_strided``; ``unbind``, ``diagonal`` and ``unfold`` declare ``dims``."""

from __future__ import annotations

from typing import Any

from ...ops.concat import stack
from ...ops.memory import clone
from ...ops.slicing_views import _as_strided, pieces
from .registry import batch_rule, shift_dim


@batch_rule(_as_strided)
def as_strided_rule(op: Any, size: int, batched: list[Any], x: Any, geometry: Any) -> Any:
    # offsets and strides are those of an example's own memory
    return stack([op.call(clone(x[k]), geometry) for k in range(size)])


@batch_rule(pieces)
def split_rule(op: Any, size: int, batched: list[Any], x: Any, sizes: Any, dim: int, name: Any) -> Any:
    return op.call(x, sizes, shift_dim(dim, len(x.shape) - 1), name)
