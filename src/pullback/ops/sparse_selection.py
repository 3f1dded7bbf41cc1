"""Sparse rules, continued: parts of COO values, several of them joined, norms, and layers with sparse weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .concat import cat, stack
from .index import out_of_range, take_at
from .linear import _linear
from .matmul import _matmul
from .norm import vector_norm
from .slices import view_part
from .sparse_rules import matrix_product
from .values.sparse_coo import Coo, sparse_rule
from .view import wrap_dim


@sparse_rule(take_at)
def selected(op: Any, x: Any, at: Any, name: str, dim: int | None = None) -> Any:
    """Slices in the order of an index, for ``index_select``."""
    if not isinstance(x, Coo) or dim is None or len(at) != 1 or at[0].ndim != 1 or not 0 <= dim < x.ndim:
        return NotImplemented
    index, shape = at[0], (*x.shape[:dim], len(at[0]), *x.shape[dim + 1 :])
    if len(index) and not -1 < index.min() <= index.max() < x.shape[dim]:
        raise out_of_range()
    x = x.coalesce()
    if dim >= x.sparse_dim:
        return Coo(x.indices, x.value.take(index, dim - x.sparse_dim + 1), shape, True)
    order = np.argsort(x.indices[dim], kind="stable")  # what is stored, slice after slice
    begins = np.searchsorted(x.indices[dim][order], np.arange(x.shape[dim] + 1))
    counts = (begins[1:] - begins[:-1])[index]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = order[np.repeat(begins[:-1][index], counts) + within]
    indices = x.indices[:, found]
    indices[dim] = np.repeat(np.arange(len(index)), counts)
    return Coo(indices, x.value[found], shape).coalesce()


@sparse_rule(view_part)
def part(op: Any, x: Coo, index: tuple[Any, ...], name: str) -> Any:
    """``x[i]``, ``x[i, j]`` and slices of step 1; an element of the last sparse dimension is dense."""
    index = tuple([i for i in index if i is not Ellipsis])
    if not all([isinstance(i, (int, np.integer)) or isinstance(i, slice) and i.step in (None, 1) for i in index]):
        return NotImplemented
    x, n = x.coalesce(), x.sparse_dim
    keep, indices, shape = np.ones(x.count, bool), [], []
    for i, row, size in zip((*index, *[slice(None)] * n), x.indices, x.shape[:n]):
        if isinstance(i, slice):
            start, stop, _ = i.indices(size)
            keep &= (row >= start) & (row < stop)
            indices.append(row - start)
            shape.append(max(stop - start, 0))
        else:
            keep &= row == i % size
    value = x.value[keep][(slice(None), *index[n:])]
    if not indices:
        return np.asarray(value.sum(0))
    return Coo(np.array(indices)[:, keep], value, (*shape, *value.shape[1:]), True)


@sparse_rule(cat)
def joined(op: Any, tensors: list[Any], dim: int = 0) -> Any:
    if not all([isinstance(x, Coo) for x in tensors]) or len({x.sparse_dim for x in tensors}) > 1:
        return NotImplemented
    first = tensors[0]
    d, n = wrap_dim(dim, first.ndim), first.sparse_dim
    for x in tensors[1:]:
        if x.shape[:d] + x.shape[d + 1 :] != first.shape[:d] + first.shape[d + 1 :]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} and {list(x.shape)}, except in the "
                f"concatenating dimension {d}"
            )
    ends = np.cumsum([x.shape[d] for x in tensors])
    shape = (*first.shape[:d], int(ends[-1]), *first.shape[d + 1 :])
    begins = [0, *ends[:-1]]
    moved, values = [], []
    for x, begin in zip(tensors, begins):
        indices, value = x.indices, x.value
        if d < n:
            indices = indices + np.where(np.arange(n) == d, begin, 0)[:, None]
        else:
            value = np.zeros((len(value), *shape[n:]), value.dtype)
            value[(slice(None), *[slice(None)] * (d - n), slice(begin, begin + x.shape[d]))] = x.value
        moved.append(indices)
        values.append(value)
    return Coo(np.concatenate(moved, 1), op.raw(values, 0), shape)


@sparse_rule(stack)
def stacked(op: Any, tensors: list[Any], dim: int = 0) -> Any:
    """Across a new sparse dimension."""
    if not all([isinstance(x, Coo) for x in tensors]):
        return NotImplemented
    d = wrap_dim(dim, tensors[0].ndim + 1)
    if d > tensors[0].sparse_dim:
        return NotImplemented
    grown = [Coo(np.insert(x.indices, d, 0, 0), x.value, (*x.shape[:d], 1, *x.shape[d:]), x.coalesced) for x in tensors]
    return joined(cat.op, grown, d)


@sparse_rule(vector_norm)
def norm(op: Any, x: Coo, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Over all elements."""
    if dim is not None and len(dim) != x.ndim or keepdim or ord <= 0:
        return NotImplemented
    return op.raw(x.coalesce().value, ord, None, False, dtype)


@sparse_rule(_linear)
def layer(op: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    turned = (
        weight.turned(Coo(weight.indices[::-1], weight.value, weight.shape[::-1]))
        if isinstance(weight, Coo)
        else weight.T
    )
    made = matrix_product(_matmul.op, input, turned)
    return made if made is NotImplemented or bias is None else made + bias
