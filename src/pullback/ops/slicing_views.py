"""Views: ``select``, ``narrow``, ``split``, ``chunk``, ``unbind``, ``diagonal``, ``unfold``, ``as_strided``.

Like all views they share memory with their base. A negative dimension counts from the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from operator import index as integer
from typing import Any

import numpy as np

from .. import ops
from ..core import op
from ..core.conj_views import address
from ..core.geometry import Window, contiguous_strides, restrided, window_at
from ..core.override import overridable
from ..core.tensor import Tensor
from ..core.versions import owner_of
from ..core.views import NO_GRAD, ONE_OF_SEVERAL, ORDINARY
from .slices import basic_index, place_part, view_part
from .view import wrap_dim

__all__ = [
    "as_strided",
    "chunk",
    "diagonal",
    "dsplit",
    "hsplit",
    "narrow",
    "select",
    "split",
    "split_with_sizes",
    "tensor_split",
    "unbind",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "vsplit",
]


# --- slices and pieces ------------------------------------------------------------------------------------------------


@op.composite
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice across ``dim``, which the result lacks: ``input[..., index, ...]``.

    >>> import pullback as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = wrap_dim(dim, len(shape)), integer(index)
    if not -shape[d] <= i < shape[d]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {d}")
    return view_part.op.call_ordered(input, basic_index(d, i), "SelectBackward0")


@op.composite
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """``length`` slices across ``dim``, from ``start`` on.

    >>> import pullback as torch
    >>> torch.narrow(torch.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    return view_part.op.call_ordered(input, narrow_part(input._array.shape, dim, start, length), "SliceBackward0")


def narrow_part(shape: tuple[int, ...], dim: int, start: int | Tensor, length: int) -> tuple[Any, ...]:
    """The basic index of :func:`narrow`."""
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start._array.ndim or start._array.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    d, first, length = wrap_dim(dim, len(shape)), integer(start), integer(length)
    n = shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= first <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    first += n if first < 0 else 0
    if first + length > n:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return basic_index(d, slice(first, first + length))


def _slice(x: Tensor, dim: int, start: int, end: int) -> Tensor:
    return view_part(x, basic_index(dim, slice(start, end)), "SliceBackward0")


@lru_cache(256)
def _split_parts(sizes: tuple[int, ...], dim: int) -> list[tuple[Any, ...]]:
    """The basic indices of consecutive pieces of those sizes."""
    return [basic_index(dim, slice(end - n, end)) for n, end in zip(sizes, accumulate(sizes))]


@op.view(name="split", method=False, node="name")
def split_views(input: Tensor, sizes: tuple[int, ...], dim: int, name: str) -> list[Tensor]:
    """Consecutive pieces of those sizes along ``dim``."""
    return [input[part] for part in _split_parts(sizes, dim)]


split_views.vjp(input=lambda g, dim: ops.concat.cat(g, dim))


def _split_dim(shape: tuple[int, ...], name: str, dim: int) -> tuple[int, int]:
    """The dimension to split, and its size."""
    if not shape:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, len(shape))
    return d, shape[d]


@lru_cache(256)
def _equal_sizes(shape: tuple[int, ...], size: int, dim: int) -> tuple[tuple[int, ...], int]:
    """The sizes of equal pieces (the last may be smaller), and the dimension."""
    d, n = _split_dim(shape, "split", dim)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    whole, rest = divmod(n, size or 1)
    return (size,) * whole + (rest,) * (rest > 0) or (0,), d


@lru_cache(256)
def _checked_sizes(shape: tuple[int, ...], sizes: tuple[int, ...], dim: int) -> tuple[tuple[int, ...], int]:
    d, n = _split_dim(shape, "split", dim)
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), "
            f"but got split_sizes={list(sizes)}"
        )
    return sizes, d


@lru_cache(256)
def _chunk_sizes(shape: tuple[int, ...], chunks: int, dim: int) -> tuple[tuple[int, ...], int]:
    d, n = _split_dim(shape, "chunk", dim)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return _equal_sizes(shape, -(-n // chunks), d) if n else ((0,) * chunks, d)


@op.composite(method=False)
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Consecutive pieces along ``dim``, of that size each (the last may be smaller), or of these sizes.

    The pieces are views, which autograd forbids to write into (those of :func:`unsafe_split` may be).

    >>> import pullback as torch
    >>> torch.split(torch.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    return split_views.op.call_ordered(
        tensor, *_equal_sizes(tensor._array.shape, integer(split_size_or_sections), integer(dim)), "SplitBackward0"
    )


def _split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`split`."""
    return split(self, split_size, dim)


op.add_method(_split, "split")


@op.composite
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Consecutive pieces along ``dim`` of these sizes, which must add up to the dimension's."""
    sizes, d = _checked_sizes(input._array.shape, tuple(map(integer, split_sizes)), integer(dim))
    return split_views.op.call_ordered(input, sizes, d, "SplitWithSizesBackward0")


@op.composite
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` consecutive pieces along ``dim``, all of one size but the last.

    >>> import pullback as torch
    >>> torch.chunk(torch.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    shape = input._array.shape
    sizes, d = _chunk_sizes(shape, integer(chunks), integer(dim))
    return split_views.op.call_ordered(input, sizes, d, "SplitBackward0" if shape[d] else "SplitWithSizesBackward0")


def _writable_pieces(made: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Pieces as ordinary views, which may be written into, unlike those of a multi-output view."""
    view = made[0]._view if made else None
    if view is None:
        return made
    base, seq, kind = view
    if kind == ONE_OF_SEVERAL:
        view = base, seq, ORDINARY
        for piece in made:
            piece._view = view
    elif kind == NO_GRAD:
        for piece in made:
            piece._view = piece._fn = None
    return made


@op.composite
def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`split` into pieces that may be written into."""
    return _writable_pieces(
        split_views.op.call_ordered(
            tensor, *_equal_sizes(tensor._array.shape, integer(split_size), integer(dim)), "UnsafeSplitBackward0"
        )
    )


@op.composite
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`split_with_sizes` into pieces that may be written into."""
    sizes, d = _checked_sizes(input._array.shape, tuple(map(integer, split_sizes)), integer(dim))
    return _writable_pieces(split_views.op.call_ordered(input, sizes, d, "UnsafeSplitWithSizesBackward0"))


@op.composite
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """:func:`chunk` into pieces that may be written into."""
    return _writable_pieces(
        split_views.op.call_ordered(
            input, *_chunk_sizes(input._array.shape, integer(chunks), integer(dim)), "UnsafeSplitBackward0"
        )
    )


@op.composite
@overridable
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """``indices_or_sections`` pieces along ``dim`` as equal as can be, or pieces cut at these indices.

    >>> import pullback as torch
    >>> torch.tensor_split(torch.tensor([1, 2, 3]), (1,))
    (tensor([1]), tensor([2, 3]))
    """
    at = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    if at is None:
        raise TypeError("tensor_split() missing 1 required argument: 'indices_or_sections'")
    at = at.tolist() if isinstance(at, Tensor) else at
    parts = _tensor_split_parts(
        input._array.shape, at if isinstance(at, int) else tuple(map(integer, at)), integer(dim)
    )
    return tuple([view_part.op.call_ordered(input, part, "SliceBackward0") for part in parts])


@lru_cache(256)
def _tensor_split_parts(shape: tuple[int, ...], at: Any, dim: int) -> list[tuple[Any, ...]]:
    """The basic indices of so many pieces, or of the pieces between split indices."""
    if not shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d, n = _split_dim(shape, "tensor_split", dim)
    if isinstance(at, int):
        if at <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {at}")
        cuts = [i * (n // at) + min(i, n % at) for i in range(at + 1)]
    else:
        cuts = [0, *[slice(i).indices(n)[1] for i in at], n]
    return [basic_index(d, slice(start, max(start, end))) for start, end in zip(cuts, cuts[1:])]


def _nd_split(name: str, least: int, axis: int) -> Any:
    """``hsplit``, ``vsplit``, ``dsplit``: :func:`tensor_split` along a fixed dimension, into equal pieces."""

    @lru_cache(256)
    def along(shape: tuple[int, ...], sections: int) -> int:
        """The dimension."""
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                f"{len(shape)} dimensions!"
            )
        dim = min(axis, len(shape) - 1)
        if sections <= 0 or shape[dim] % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is "
                f"not divisible by the split_size {sections}!"
            )
        return dim

    def split_along(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        dim = along(input._array.shape, indices_or_sections if isinstance(indices_or_sections, int) else 1)
        return tensor_split(input, indices_or_sections, dim)

    split_along.__name__ = split_along.__qualname__ = name
    split_along.__doc__ = (
        f":func:`tensor_split` along dimension {axis}{' (0 if there is one only)' * (least == 1)}, into equal pieces."
    )
    return op.composite(split_along)


hsplit, vsplit, dsplit = _nd_split("hsplit", 1, 1), _nd_split("vsplit", 2, 0), _nd_split("dsplit", 3, 2)


@op.view(dims=("dim",))
def unbind(input: Tensor, dim: int = 0) -> list[Tensor]:
    """All slices across ``dim``, which they lack, as a tuple.

    >>> import pullback as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, input.ndim)
    before = (slice(None),) * d
    return [input[(*before, i, ...)] for i in range(input.shape[d])]


unbind.vjp(input=lambda g, dim: ops.concat.stack(g, dim))


# --- any strides ------------------------------------------------------------------------------------------------


@op.view(name="as_strided", method=False)
def _as_strided(input: Tensor, geometry: tuple[Any, ...]) -> Tensor:
    """A view of the input's memory; ``geometry`` are the arguments of :func:`window_at` after the input's shape."""
    _, _, shape, strides, offset = geometry
    return restrided(input, shape, strides, offset)


_as_strided.vjp(input=lambda g, input_shape, geometry: place_part(g, window_at(input_shape, *geometry), input_shape))


@op.composite
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the input's memory with these sizes and strides, counted in elements.

    Args:
        storage_offset: where it begins, from the start of the memory; default: where the input begins.

    Raises:
        RuntimeError: if it would leave the memory.

    Derivative: each element's gradient goes to the input's element at its address, and is lost where there is none.

    >>> import pullback as torch
    >>> torch.as_strided(torch.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    a = input._array
    memory = owner_of(a)
    begins = 0 if memory is a else address(a) - address(memory)
    size, stride = tuple(map(integer, size)), tuple(map(integer, stride))
    itemsize = a.itemsize
    placed = byte_strides(size, stride, storage_offset, begins, itemsize, memory.nbytes)
    return _as_strided.op.call_ordered(input, (a.strides, itemsize, size, *placed))


@lru_cache(256)
def byte_strides(
    size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None, begins: int, itemsize: int, nbytes: int
) -> tuple[tuple[int, ...], int]:
    """The strides, and the offset from an array that begins ``begins`` bytes into its memory, in bytes."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if min(size, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    offset = 0 if storage_offset is None else integer(storage_offset) * itemsize - begins
    check_extent(size, stride, (begins + offset) // itemsize, itemsize, nbytes)
    return tuple([s * itemsize for s in stride]), offset


def check_extent(size: Sequence[int], stride: Sequence[int], offset: int, itemsize: int, nbytes: int) -> None:
    """Refuse a view that leaves the memory (``nbytes`` long)."""
    end = 0 if 0 in size else (sum([(m - 1) * s for m, s in zip(size, stride)]) + 1 + offset) * itemsize
    if end > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {end} are out of bounds for storage of size {nbytes}"
        )


@op.view(dims=("dim1", "dim2"))
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements whose index in ``dim2`` is that in ``dim1`` plus ``offset``, along a new last dimension.

    >>> import pullback as torch
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    try:
        out = input.diagonal(offset, dim1, dim2)
    except ValueError:
        for dim in (dim1, dim2):
            wrap_dim(dim, input.ndim)
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}") from None
    out.flags.writeable = input.flags.writeable  # NumPy makes it read-only
    return out


@lru_cache(256)
def diagonal_window(shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Window:
    """The diagonal as a window of a tensor of that shape."""
    dim1, dim2, strides = wrap_dim(dim1, len(shape)), wrap_dim(dim2, len(shape)), contiguous_strides(shape)
    offset = integer(offset)
    rest = [d for d in range(len(shape)) if d not in (dim1, dim2)]
    length = max(0, min(shape[dim1] + min(offset, 0), shape[dim2] - max(offset, 0)))
    start = 0 if not length else offset * strides[dim2] if offset > 0 else -offset * strides[dim1]
    return Window(
        (*[shape[d] for d in rest], length), (*[strides[d] for d in rest], strides[dim1] + strides[dim2]), start
    )


diagonal.vjp(
    input=lambda g, input_shape, offset, dim1, dim2: place_part(
        g, diagonal_window(input_shape, offset, dim1, dim2), input_shape
    )
)


@op.view(method=False, dims=("dimension",))
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` along a dimension, ``step`` apart; the elements of a window are in a new last dimension.

    >>> import pullback as torch
    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    geometry = _unfold_geometry(
        input.shape, input.strides or (input.itemsize,), integer(dimension), integer(size), integer(step)
    )
    return restrided(input, *geometry, 0)


@lru_cache(256)
def _unfold_geometry(
    shape: tuple[int, ...], strides: tuple[int, ...], dimension: int, size: int, step: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape and the strides of windows of an array."""
    d = wrap_dim(dimension, len(shape))
    n = shape[d] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if not shape:
        return (size,), strides
    return (*shape[:d], (n - size) // step + 1, *shape[d + 1 :], size), (
        *strides[:d],
        strides[d] * step,
        *strides[d + 1 :],
        strides[d],
    )


@op.general(name="unfold_backward", method=False, holomorphic=False, linear="input")
def unfold_backward(input: Tensor, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Tensor:
    """The transpose of :func:`unfold`: windows added up where they overlap."""
    if not shape:
        return input.sum(0, dtype=input.dtype)
    d = dimension % len(shape)
    windows = input.swapaxes(d, -2) if d < len(shape) - 1 else input
    count, n = windows.shape[-2], shape[d]
    rows = max(count - 1 + -(-size // step), -(-n // step))  # the dimension, cut into rows of one step each
    out = np.zeros((*windows.shape[:-2], rows, step), input.dtype)
    for k in range(-(-size // step)):  # the k-th rows of all windows never overlap
        part = windows[..., k * step : (k + 1) * step]
        out[..., k : k + count, : part.shape[-1]] += part
    out = out.reshape(*windows.shape[:-2], rows * step)[..., :n]
    return out.swapaxes(d, -1) if d < len(shape) - 1 else out


unfold.vjp(input=lambda g, input_shape, dimension, size, step: unfold_backward(g, input_shape, dimension, size, step))
unfold_backward.vjp(input=lambda g, dimension, size, step: unfold(g, dimension, size, step))
op.add_method(lambda self, dimension, size, step: unfold.op.call_ordered(self, dimension, size, step), "unfold")
