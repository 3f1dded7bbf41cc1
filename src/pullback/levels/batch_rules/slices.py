"""Batching rules of basic indexing, and of writes at a basic index."""

from __future__ import annotations

from typing import Any

from ...ops.fill_copy import copied
from ...ops.slices import blank, look, place, read, write
from .registry import batch_rule, ensure_batched, pad_to_rank


@batch_rule(look, read, blank)
def slice_rule(op: Any, size: int, batched: list[Any], x: Any, part: Any, *name: Any) -> Any:
    return op.call(x, (slice(None), *part), *name) if part.__class__ is tuple else NotImplemented


@batch_rule(place)
def place_rule(op: Any, size: int, batched: list[Any], x: Any, part: Any, shape: Any, name: Any) -> Any:
    return op.call(x, (slice(None), *part), (size, *shape), name) if part.__class__ is tuple else NotImplemented


@batch_rule(write)
def write_rule(op: Any, size: int, batched: list[Any], x: Any, value: Any, part: Any, name: Any) -> Any:
    if part.__class__ is not tuple:
        return NotImplemented
    x = ensure_batched(x, batched[0], size)
    if batched[1]:  # the value broadcasts to the part's shape, behind the batch
        value = pad_to_rank(value, len(x[(slice(None), *part)].shape) - 1)
    return op.call(x, value, (slice(None), *part), name)


@batch_rule(copied)
def copy_rule(op: Any, size: int, batched: list[Any], x: Any, other: Any) -> Any:
    x = ensure_batched(x, batched[0], size)
    return op.call(x, pad_to_rank(other, len(x.shape) - 1) if batched[1] else other)
