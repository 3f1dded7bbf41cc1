"""Stable argsort, top-k and k-th value on arrays, for ``sort``, ``topk``, ``kthvalue`` and ``median``; NaN comes last.

NumPy's stable argsort reads elements all over memory. So an element of up to 32 bits is packed into a 64-bit key: its
rank-preserving bits above, its index, which makes the sort stable, below. Keys are sorted (or partitioned) in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import HALVES
from ..base.layout import as_contiguous
from ..kernels.dispatch import as_type
from .minmax import comparable, take_along
from .reduce import keepdim_shape
from .slices import basic_index

__all__: list[str] = []

MANY = 1024  # elements from which making and sorting keys is faster (measured)
PLACE = 0xFFFFFFFF


def _sort_keys(x: np.ndarray, d: int, descending: bool) -> np.ndarray | None:
    """Sort keys, with dimension ``d`` moved to the end; None for few elements, and for dtypes of more than 32 bits."""
    kind, size = x.dtype.kind, x.dtype.itemsize
    if x.size < MANY or x.shape[d] < 8 or kind == "f" and size > 4:
        return None
    x = np.ascontiguousarray(np.moveaxis(x, d, -1))
    if kind == "f":
        bits = (x.astype(np.float32, copy=False) + np.float32(0)).view(np.int32)  # one zero,
        bits ^= (bits >> 31) & 0x7FFFFFFF
        np.putmask(bits, x != x, 0x7FFFFFFF)  # and one NaN
    elif size < 4 or x.dtype == np.int32:
        bits = x
    else:
        least = x.min()
        if int(x.max()) - int(least) >= 1 << 31:
            return None
        bits = x - least
    keys = bits.astype(np.int64)
    if descending:
        np.invert(keys, keys)
    keys <<= 32
    keys |= np.arange(x.shape[-1])
    return keys


def _sorted_indices(keys: np.ndarray, d: int) -> np.ndarray:
    keys &= PLACE
    return as_contiguous(np.moveaxis(keys, -1, d))


def _argsort(x: np.ndarray, d: int) -> np.ndarray:
    order = x.argsort(axis=d, kind="stable")
    return order.astype(np.int64, copy=False)  # in WebAssembly NumPy's are int32


def argsort_array(x: np.ndarray, d: int, descending: bool = False, count: int | None = None) -> np.ndarray:
    """The indices that sort along a dimension, or the first ``count`` of them."""
    x = comparable(x)
    keys = _sort_keys(x, d, descending)
    if keys is not None:
        keys.sort(axis=-1)
        return _sorted_indices(keys[..., :count], d)
    if not descending:
        return as_contiguous(_argsort(x, d)[basic_index(d, slice(count))])
    order = _argsort(x[basic_index(d, slice(None, None, -1))], d)
    return x.shape[d] - 1 - order[basic_index(d, slice(None, None if count is None else -count - 1, -1))]


def topk_array(x: np.ndarray, count: int, d: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """The first ``count`` elements in order, and their indices; of equal ones at their end, some or others."""
    if x.dtype in HALVES:
        values, at = topk_array(comparable(x), count, d, descending)
        return as_type(values, x.dtype), at
    found = kernels.run("topk", "topk", x.size, x, count, d, descending)
    if found is not None:
        return found
    n = x.shape[d]
    if 0 < count < n // 8:
        few = np.argpartition(x, n - count if descending else count - 1, axis=d)
        few = few.take(range(n - count, n) if descending else range(count), d)
        few = np.sort(few.astype(np.int64, copy=False), axis=d)
        at = take_along(few, argsort_array(take_along(x, few, d), d, descending), d)
    else:
        at = argsort_array(x, d, descending, count)
    return take_along(x, at, d), at


def kth_value(x: np.ndarray, rank: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The element of a rank (a number, or an array of ranks) along a dimension, which is kept, and its index."""
    if x.dtype in HALVES:
        value, at = kth_value(comparable(x), rank, d)
        return as_type(value, x.dtype), at
    if rank.__class__ is int:
        found = kernels.run("topk", "topk", x.size, x, rank + 1, d, False)
        if found is not None:
            return found[0][..., rank:].copy(), found[1][..., rank:].copy()
    at = kth_index(x, rank, d)
    return take_along(x, at, d), at


def kth_index(x: np.ndarray, rank: Any, d: int) -> np.ndarray:
    """The index of :func:`kth_value` alone."""
    rank = np.asarray(rank)
    keys = _sort_keys(comparable(x), d, False)
    if keys is None:
        order = argsort_array(x, d)
        return (
            take_along(order, np.broadcast_to(rank, keepdim_shape(x.shape, (d,))), d)
            if rank.ndim
            else order[basic_index(d, slice(rank, rank + 1))].copy()
        )
    keys.partition(np.unique(rank), axis=-1)
    rank = np.broadcast_to(np.moveaxis(rank, d, -1) if rank.ndim else rank, (*keys.shape[:-1], 1))
    return _sorted_indices(take_along(keys, rank, keys.ndim - 1), d)
