"""Memory layout: contiguous and channels-last copies, and the strides that PyTorch gives to results.

PyTorch defines the strides of each operation's result, and programs notice: by ``stride()``, by whether ``view`` is
possible, by random numbers, which fill memory in its order. NumPy often follows an operand's strides instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .device import MemoryFormat, channels_last, channels_last_3d, contiguous_format
from .dtypes import as_numbers_of

Array = np.ndarray[Any, Any]
Transposing = Callable[[Array], Array | None]
transposing: list[Transposing] = []  # a kernel for large copies, where there are kernels
NARROW = 32  # columns copied at a time: their rows stay in the L1 cache meanwhile
FORMATS: dict[Any, tuple[int, ...]] = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
FORMAT_OF_RANK = {4: channels_last, 5: channels_last_3d}


def format_order(memory_format: Any, ndim: int) -> Sequence[int]:
    """The dimensions of a memory format, from the outermost in memory to the innermost.

    Raises:
        RuntimeError: for a format of another number of dimensions.
        TypeError: for what is no memory format (None is that of contiguous tensors).
    """
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}")
    order: Sequence[int] = range(ndim) if memory_format is None else FORMATS.get(memory_format, range(ndim))
    if ndim != len(order):
        raise RuntimeError(
            f"required rank {len(order)} tensor to use {str(memory_format).removeprefix('torch.')} format"
        )
    return order


def as_contiguous(x: Array) -> Array:
    """The array itself if it is C-contiguous, else a contiguous copy."""
    return x if x.flags.c_contiguous else contiguous_copy(x)


def contiguous_copy(x: Array) -> Array:
    """A C-contiguous copy.

    A large transposed matrix is copied a few columns at a time: otherwise each element loads a whole cache line that
    is evicted before the next row needs it. That takes a tenth of the time for 1024 by 1024 numbers, and never more.
    A short row that is broadcast is copied by doubling: NumPy copies short pieces one by one.
    """
    if x.size < 1 << 12:
        return x.copy()
    for kernel in transposing:
        made = kernel(x)
        if made is not None:
            return made
    copy, x = as_bits(made := np.empty(x.shape, x.dtype)), as_bits(x)
    repeated = next((d for d, stride in enumerate(x.strides) if stride), x.ndim)
    short = x[(0,) * repeated]
    if repeated and 1 < short.size < 512:  # NumPy is quick to repeat one number
        flat, n = copy.reshape(-1), short.size
        flat[:n] = short.reshape(-1)
        while n < flat.size:
            flat[n : 2 * n] = flat[: min(n, flat.size - n)]
            n *= 2
    elif x.shape[-1] <= NARROW or abs(x.strides[-1]) < 64:
        copy[...] = x
    else:
        for j in range(0, x.shape[-1], NARROW):
            copy[..., j : j + NARROW] = x[..., j : j + NARROW]
    return made


def as_bits(x: Array) -> Array:
    """An array of bfloat16, whose numbers NumPy would convert and copy one by one, as integers of that size."""
    return x.view(np.int16) if x.dtype.kind == "V" and x.itemsize == 2 else x


def fill(x: Any, value: Any) -> Any:
    """Write one number everywhere into an array, or what stands for one. Returns it."""
    if x.__class__ is np.ndarray and x.dtype.kind == "V":
        as_bits(x)[...] = as_bits(np.asarray(value, x.dtype))
    else:
        x[...] = value
    return x


def is_channels_last(x: Array, ranks: tuple[int, ...] = (4, 5)) -> bool:
    """Whether images (N, C, ...) have the strides of ``channels_last``, with or without gaps.

    With sizes of 1 the strides are ambiguous; the answer is PyTorch's.
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


def suggested_format(x: Array) -> MemoryFormat:
    """The memory format that an array has, as ``preserve_format`` sees it."""
    return FORMAT_OF_RANK[x.ndim] if is_channels_last(x) else contiguous_format


def as_channels_last(x: Array, result: Array, ranks: tuple[int, ...] = (4, 5)) -> Array:
    """A result computed from ``x``, made ``channels_last`` if ``x`` is."""
    return channels_last_copy(result) if is_channels_last(x, ranks) else result


def channels_inside(images: Array) -> Array:
    """Images (N, C, ...) as (N, ..., C)."""
    return images.transpose(0, *range(2, images.ndim), 1)


def channels_outside(images: Array) -> Array:
    """Images (N, ..., C) as (N, C, ...)."""
    return images.transpose(0, images.ndim - 1, *range(1, images.ndim - 1))


def channels_last_copy(images: Array) -> Array:
    """A ``channels_last`` copy of images (N, C, ...)."""
    return channels_outside(contiguous_copy(channels_inside(images)))


def empty_interleaved(shape: Sequence[int], dtype: Any) -> Array:
    """An empty (batch, heads, length, width) whose memory order is (batch, length, heads, width): merging the heads is
    then a view. Other ranks are contiguous.
    """
    if len(shape) != 4:
        return np.empty(shape, dtype)
    return np.empty((shape[0], shape[2], shape[1], shape[3]), dtype).transpose(0, 2, 1, 3)


def is_dense(x: Array) -> bool:
    """Whether an array has neither gaps nor overlaps, in any order of its dimensions."""
    if x.flags.forc:
        return True
    last = sum([(n - 1) * abs(stride) for n, stride in zip(x.shape, x.strides)])
    return last + x.itemsize == x.nbytes


def copy_order(x: Array) -> Any:
    """The ``order=`` of ``preserve_format`` for a NumPy copy: ``"K"``, unless ``x`` is broadcast: ``"C"``."""
    return "C" if 0 in x.strides and not x.flags.forc else "K"


def converted(x: Array, dtype: Any) -> Array:
    """A copy of another type, in the order of memory that ``preserve_format`` gives it."""
    copy = as_numbers_of(x, dtype, copy_order(x))
    return match_layout((x,), copy) if 0 in x.strides and copy.ndim > 1 else copy


def from_memory_order(x: Array, values: Array) -> Array:
    """Values of ``x``'s shape, drawn in the order of its memory, as an array with ``x``'s strides (with gaps or
    overlaps: contiguous).
    """
    if x.flags.c_contiguous or copy_order(x) == "C":
        return values
    result = np.empty_like(x, values.dtype)
    result.ravel("K")[...] = values.reshape(-1)
    return result


def match_layout(operands: Sequence[Any], value: Array) -> Array:
    """The result of an elementwise operation with the strides that PyTorch (``TensorIterator``) gives it.

    Of two dimensions, the inner one is decided by the first operand that has both, not broadcast.
    """
    for x in operands:
        if x.__class__ is np.ndarray and not x.flags.c_contiguous:
            break
    else:
        return value
    order, back = result_dim_order(value.shape, *[(x.shape, x.strides) for x in operands if isinstance(x, np.ndarray)])
    if value.transpose(order).flags.c_contiguous:
        return value
    copy = np.empty([value.shape[d] for d in order], value.dtype).transpose(back)
    copy[...] = value
    return copy


@lru_cache(1024)
def result_dim_order(
    shape: tuple[int, ...], *operands: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[list[int], list[int]]:
    """The dimensions of an elementwise result from outermost to innermost, and the inverse permutation.

    Operands are given as (shape, strides).
    """
    strides = [
        [0] * (len(shape) - len(own)) + [0 if n == 1 else s for n, s in zip(own, steps)] for own, steps in operands
    ]
    order = list(range(len(shape) - 1, -1, -1))  # from innermost to outermost, by insertion sort
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
    """Whether dimension ``a`` is inside ``b`` in memory; None if no operand decides."""
    for steps in strides:
        if steps[a] and steps[b]:
            if steps[a] != steps[b]:
                return steps[a] < steps[b]
            if shape[a] < shape[b]:
                return True
    return None
