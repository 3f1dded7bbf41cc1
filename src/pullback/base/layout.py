"""How results lie in memory. PyTorch says so for each operation, and programs notice: by ``stride()``, by a ``view``
that is possible or not, by random numbers, which fill memory in its order. NumPy often keeps an operand's order
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


NARROW = 32  # columns whose rows stay in the first cache while they are copied across


def as_contiguous(x: Array) -> Array:
    """The array itself if the last dimension is the innermost, and so on, without gaps; else a copy of which that is
    true.
    """
    return x if x.flags.c_contiguous else contiguous_copy(x)


def contiguous_copy(x: Array) -> Array:
    """A copy in which the last dimension is the innermost, and so on.

    A large transposed matrix is copied a few columns at a time: otherwise each element brings a whole cache line that
    is gone before the next row wants it. That takes a tenth of the time for 1024 by 1024 numbers, and never more. Of a
    short row that is repeated what is there is copied again: NumPy copies short pieces one by one.
    """
    if x.size < 1 << 14:
        return x.copy()
    copy = np.empty(x.shape, x.dtype)
    repeated = next((d for d, stride in enumerate(x.strides) if stride), x.ndim)
    short = x[(0,) * repeated]
    if repeated and 1 < short.size < 512:  # NumPy is quick to repeat one number
        flat, n = copy.reshape(-1), short.size
        flat[:n] = short.reshape(-1)
        while n < flat.size:
            flat[n : 2 * n] = flat[: min(n, flat.size - n)]
            n *= 2
        return copy
    if x.shape[-1] <= NARROW or abs(x.strides[-1]) < 64:
        copy[...] = x
        return copy
    for j in range(0, x.shape[-1], NARROW):
        copy[..., j : j + NARROW] = x[..., j : j + NARROW]
    return copy


def is_channels_last(x: Array, ranks: tuple[int, ...] = (4, 5)) -> bool:
    """Whether these are images (N, C, ...) whose channels are innermost in memory, with or without gaps.

    Sizes of 1 leave it open; then this is the answer that PyTorch gives.
    """
    strides = x.strides
    if len(strides) not in ranks or not 0 < strides[1] <= strides[-1] or not x.size:
        return False
    least = 0
    for d in (1, *range(len(strides) - 1, 1, -1), 0):
        if strides[d] < least or d == 0 and least == strides[1]:
            return False
        least = strides[d] * x.shape[d]
    return True


def as_channels_last(x: Array, result: Array, ranks: tuple[int, ...] = (4, 5)) -> Array:
    """What is computed from images, with its channels innermost if theirs are."""
    return channels_last_copy(result) if is_channels_last(x, ranks) else result


def channels_last_copy(images: Array) -> Array:
    """Images (N, C, ...) with dimension 1 the innermost in memory."""
    n, c, *spatial = images.shape
    laid = np.moveaxis(np.empty((n, *spatial, c), images.dtype), -1, 1)
    laid[...] = images
    return laid


def empty_interleaved(shape: Sequence[int], dtype: Any) -> Array:
    """Room for (..., heads, length, width); in batches of these, the heads of one place lie side by side, as what is
    next wants them.
    """
    if len(shape) != 4:
        return np.empty(shape, dtype)
    return np.empty((shape[0], shape[2], shape[1], shape[3]), dtype).transpose(0, 2, 1, 3)


def copy_order(x: Array) -> Any:
    """The ``order`` to give NumPy for a copy: the array's own where it has neither gaps nor repetitions, else
    row-major.
    """
    if x.flags.forc:
        return "K"
    last = sum([(n - 1) * abs(stride) for n, stride in zip(x.shape, x.strides)])
    return "K" if last + x.itemsize == x.nbytes else "C"


def from_memory_order(x: Array, values: Array) -> Array:
    """Values of `x`'s shape, given in the order of memory, laid out as `x` is (if that is without gaps or
    repetitions).
    """
    if x.flags.c_contiguous or copy_order(x) == "C":
        return values
    laid = np.empty_like(x, values.dtype)
    laid.ravel("K")[...] = values.reshape(-1)
    return laid


def match_layout(operands: Sequence[Any], value: Array) -> Array:
    """The result of an elementwise operation, laid out as PyTorch does when operands lie differently.

    Which of two dimensions is the inner one, the first operand says that has both, not broadcast.
    """
    for x in operands:
        if x.__class__ is np.ndarray and not x.flags.c_contiguous:
            break
    else:
        return value
    order, back = result_dim_order(value.shape, *[(x.shape, x.strides) for x in operands if isinstance(x, np.ndarray)])
    if value.transpose(order).flags.c_contiguous:
        return value
    laid = np.empty([value.shape[d] for d in order], value.dtype).transpose(back)
    laid[...] = value
    return laid


@lru_cache(1024)
def result_dim_order(
    shape: tuple[int, ...], *operands: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[list[int], list[int]]:
    """The dimensions of a result of that shape from the outer to the inner, and the way back; operands are shapes and
    strides.
    """
    strides = [
        [0] * (len(shape) - len(own)) + [0 if n == 1 else s for n, s in zip(own, steps)] for own, steps in operands
    ]
    order = list(range(len(shape) - 1, -1, -1))  # from the inner to the outer, by insertion
    for i in range(1, len(shape)):
        at = i
        for k in range(i - 1, -1, -1):
            moves = _is_inner(order[at], order[k], strides, shape)
            if moves is None:
                continue
            if not moves:
                break
            order[k], order[at] = order[at], order[k]
            at = k
    order.reverse()
    return order, [order.index(d) for d in range(len(shape))]


def _is_inner(a: int, b: int, strides: Sequence[Sequence[int]], shape: Sequence[int]) -> bool | None:
    """Whether dimension ``a`` lies inside of ``b``; None if no operand says."""
    for steps in strides:
        if steps[a] and steps[b]:
            if steps[a] != steps[b]:
                return steps[a] < steps[b]
            if shape[a] < shape[b]:
                return True
    return None
