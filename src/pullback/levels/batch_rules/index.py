"""Batching rules of indexing by tensors (PyTorch's ``index``, ``gather``, ``index_put``, ``scatter``)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...ops.index import FLAT, put_at, sum_at, take_at
from .registry import NotBatchable, batch_rule, ensure_batched, pad_to_rank

BATCHED_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
    "with a boolean mask."
)


def is_mask(index: Any) -> bool:
    return index.__class__ is not slice and index.dtype.kind == "b"


def align(at: list[Any], batched: list[bool]) -> tuple[list[Any], int]:
    """The index arrays as they broadcast behind a common batch, and the rank of the examples' indices."""
    rank = max(i.ndim - b for i, b in zip(at, batched))
    return [pad_to_rank(i, rank) if b else i for i, b in zip(at, batched)], rank


def batched_index(at: list[Any], batched: list[bool], size: int) -> list[Any] | None:
    """An index for the whole batch; None where each example has a mask, or its own index behind a slice."""
    arrays = [k for k, i in enumerate(at) if i.__class__ is not slice]
    if arrays[-1] - arrays[0] >= len(arrays):  # NumPy moves the dimensions of indices that a slice separates
        return None
    if not any(batched):
        return [slice(None), *at]
    if any(i.__class__ is slice for i in at) or any(b and is_mask(i) for i, b in zip(at, batched)):
        return None
    aligned, rank = align(at, batched)
    return [np.arange(size).reshape((size,) + (1,) * rank), *aligned]


def batched_gather(x: Any, at: list[Any], batched: list[Any], size: int) -> tuple[Any, list[Any]] | None:
    """Input and index of a ``gather`` along a dimension, for the whole batch; None where one gather does not do."""
    (index,), (own,) = at, batched[-1]
    if index.ndim - own != len(x.shape) - batched[0]:  # the index selects whole slices
        return None if own or not index.ndim else (ensure_batched(x, batched[0], size), at)
    if index.ndim <= own:
        return None
    return ensure_batched(x, batched[0], size), [ensure_batched(index, own, size)]


@batch_rule(take_at)
def index_rule(op: Any, size: int, batched: list[Any], x: Any, at: Any, name: Any, dim: int | None) -> Any:
    if dim == FLAT:
        return NotImplemented if any(batched[1]) else op.call(x.reshape((size, -1)), [slice(None), *at], name)
    if dim is not None:
        given = batched_gather(x, at, batched[:2], size)
        return NotImplemented if given is None else op.call(*given, name, dim + 1)
    if any(b and is_mask(i) for i, b in zip(at, batched[1])):
        raise NotBatchable(BATCHED_MASK)
    if not batched[0] and not any(i.__class__ is slice for i in at):
        if any(map(is_mask, at)):
            return NotImplemented
        return op.call(x, align(at, batched[1])[0], name)
    index = batched_index(at, batched[1], size)
    return NotImplemented if index is None else op.call(ensure_batched(x, batched[0], size), index, name)


@batch_rule(sum_at)
def index_sum_rule(op: Any, size: int, batched: list[Any], x: Any, at: Any, shape: Any, dim: int | None) -> Any:
    if dim == FLAT:
        if any(batched[1]):
            return NotImplemented
        return op.call(x, [slice(None), *at], (size, prod(shape))).reshape((size, *shape))
    if dim is not None:
        given = batched_gather(x, at, batched[:2], size)
        return NotImplemented if given is None else op.call(*given, (size, *shape), dim + 1)
    index = batched_index(at, batched[1], size)
    return NotImplemented if index is None else op.call(ensure_batched(x, batched[0], size), index, (size, *shape))


@batch_rule(put_at)
def index_put_rule(
    op: Any, size: int, batched: list[Any], x: Any, value: Any, at: Any, accumulate: bool, name: Any, dim: int | None
) -> Any:
    if dim == FLAT:
        if any(batched[2]) or batched[1] and value.ndim != at[0].ndim + 1:
            return NotImplemented
        x = ensure_batched(x, batched[0], size)
        return op.call(x.reshape((size, -1)), value, [slice(None), *at], accumulate, name).reshape(x.shape)
    if dim is not None:
        given = batched_gather(x, at, [batched[0], batched[2]], size)
        if given is None:
            return NotImplemented
        if batched[1]:  # an example's value broadcasts to its index
            value = pad_to_rank(value, len(given[0].shape) - 1)
        return op.call(given[0], value, given[1], accumulate, name, dim + 1)
    index = batched_index(at, batched[2], size)
    if index is None or batched[1] and any(i.__class__ is slice for i in at):
        return NotImplemented
    if batched[1]:
        rank = max([i.ndim for i in index if i.__class__ is not slice] + [0]) - any(batched[2])
        value = pad_to_rank(value, rank + len(x.shape) - batched[0] - len(at))
    return op.call(ensure_batched(x, batched[0], size), value, index, accumulate, name)
