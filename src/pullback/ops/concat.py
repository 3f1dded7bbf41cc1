"""``cat``, ``stack``, ``meshgrid``, ``repeat``, ``tile``, ``tril``, ``triu``, ``diag``, ``diag_embed``, ``block_diag``.

Dtypes are promoted. All results are copies, but for those of :func:`meshgrid`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from itertools import combinations as choices
from itertools import combinations_with_replacement
from math import comb, prod
from operator import index as integer
from typing import Any

import numpy as np

from ..base.dtypes import INT64, OF_NUMPY, can_cast, promote_types, result_type_of, type_name
from ..base.errors import not_a_tensor
from ..base.layout import as_contiguous, channels_last_copy, contiguous_copy, is_channels_last
from ..core import inplace, op, record
from ..core.geometry import Window
from ..core.override import overridable
from ..core.tensor import Tensor
from .index import take_at
from .reduce import sum as summed
from .reduce import sum_array
from .scatter import index_select
from .slices import basic_index, place_part, read_part, view_part
from .slicing_views import diagonal_window
from .values.meta import Meta
from .view import at_least_nd, expand, flatten, reshape, varargs, wrap_dim
from .where import keep

__all__ = [
    "block_diag",
    "cartesian_prod",
    "cat",
    "column_stack",
    "combinations",
    "concat",
    "concatenate",
    "diag",
    "diag_embed",
    "diagflat",
    "dstack",
    "hstack",
    "meshgrid",
    "repeat_interleave",
    "row_stack",
    "stack",
    "tile",
    "trace",
    "tril",
    "triu",
    "vstack",
]

FEW = 1 << 12  # elements up to which an index table is cached
MANY, SHORT = 1 << 12, 32  # from so many pieces, up to so many bytes each, copying them as items is faster (measured)

# --- side by side -----------------------------------------------------------------------------------------------


def _promoted(arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """The arrays, cast to their common type."""
    d = arrays[0].dtype
    for a in arrays:
        if a.dtype is not d:
            break
    else:
        return arrays
    d = reduce(promote_types, [OF_NUMPY[a.dtype] for a in arrays]).numpy
    return [a.astype(d, copy=False) for a in arrays]


def _concatenate(arrays: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """``np.concatenate``, C-contiguous. It calls a copying function for every piece; many short pieces are copied as
    items of a structured dtype instead.
    """
    first = arrays[0]
    if first.size < MANY or not _are_short_pieces(arrays, dim):
        joined = np.concatenate(arrays, dim)
        return joined if joined.flags.c_contiguous else contiguous_copy(joined)
    before, after = first.shape[:dim], first.shape[dim + 1 :]
    rows = prod(before)
    pieces = [a.reshape(rows, -1).view(f"V{a.nbytes // rows}")[:, 0] for a in arrays]
    out = np.empty(rows, [(str(i), piece.dtype) for i, piece in enumerate(pieces)])
    for i, piece in enumerate(pieces):
        out[str(i)] = piece
    return out.view(first.dtype).reshape(*before, -1, *after)


def _are_short_pieces(arrays: Sequence[np.ndarray], dim: int) -> bool:
    """Whether concatenation copies many short contiguous pieces."""
    first = arrays[0].shape
    rows = prod(first[:dim]) if dim > 0 else 1
    return (
        rows >= MANY
        and arrays[0].nbytes <= SHORT * rows
        and arrays[0].dtype.kind != "V"
        and all(
            [
                a.flags.c_contiguous
                and a.size
                and a.ndim == len(first)
                and a.shape[:dim] == first[:dim]
                and a.shape[dim + 1 :] == first[dim + 1 :]
                for a in arrays
            ]
        )
    )


def _check_out(result: Any, out: Any, place: int) -> None:
    if not can_cast(result, out):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {type_name(out)}")


@op.general(method=False, holomorphic=False, linear="tensors", check_out=_check_out, dims=("dim",))
def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along ``dim``; in the other dimensions they must agree.

    Tensors of shape ``(0,)`` are skipped, whatever the shape of the others.

    Raises:
        RuntimeError: for sizes that do not match.

    >>> import pullback as torch
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3.0])])
    tensor([1., 2., 3.])
    """
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    arrays = _promoted(tensors)
    try:
        joined = _concatenate(arrays, dim if dim >= 0 or dim < -arrays[0].ndim else dim + arrays[0].ndim)
        return channels_last_copy(joined) if joined.ndim > 3 and all(map(is_channels_last, arrays)) else joined
    except ValueError:
        for i, a in enumerate(arrays):
            if not a.ndim:
                raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated") from None
        full = [a for a in arrays if a.shape != (0,)]
        if len(full) < len(arrays):
            return cat(full, dim) if full else np.concatenate(arrays)
        for i, a in enumerate(arrays):
            if a.ndim != full[0].ndim:
                raise RuntimeError(
                    f"Tensors must have same number of dimensions: got {full[0].ndim} and {a.ndim}"
                ) from None
            for d in range(a.ndim):
                if d != dim % a.ndim and a.shape[d] != full[0].shape[d]:
                    raise RuntimeError(
                        f"Sizes of tensors must match except in dimension {dim}. Expected size {full[0].shape[d]} but "
                        f"got size {a.shape[d]} for tensor number {i} in the list."
                    ) from None
        raise


@cat.vjp_all
def _cat_vjp(g: Any, wanted: list[bool], tensors_shape: list[tuple[int, ...]], dim: int) -> list[Any]:
    d, start, out = dim % len(g.shape), 0, []
    for wants, shape in zip(wanted, tensors_shape):
        empty = shape == (0,)  # perhaps skipped
        end = start if empty else start + shape[d]
        piece = view_part(g, basic_index(d, slice(start, end)), "SliceBackward0") if wants else None
        out.append(reshape(piece, shape) if wants and empty else piece)
        start = end
    return out


@op.general(method=False, holomorphic=False, linear="tensors", check_out=_check_out, dims=("dim",))
def stack(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape as the slices across a new dimension.

    >>> import pullback as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    for a in tensors:
        if a.shape != shape:
            i = [b.shape == shape for b in tensors].index(False)
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(tensors[i].shape)} at entry {i}"
            )
    d, arrays = wrap_dim(dim, len(shape) + 1), _promoted(tensors)
    if d == len(shape):  # otherwise concatenating along d gives the same memory
        arrays = [a.reshape(*shape, 1) for a in arrays]
    return _concatenate(arrays, d).reshape(*shape[:d], len(arrays), *shape[d:])


@stack.vjp_all
def _stack_vjp(g: Any, wanted: list[bool], dim: int) -> list[Any]:
    d = dim % len(g.shape)
    return [view_part(g, basic_index(d, i), "SelectBackward0") if wants else None for i, wants in enumerate(wanted)]


@overridable
def concat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, out: Any = None) -> Tensor:
    """Another name of :func:`cat`."""
    return cat(tensors, dim if axis is None else axis, out=out)


concatenate = concat


def _make_stack_function(name: str, doc: str, dim: int, least: int, prepare: Callable = at_least_nd) -> Callable:
    """``hstack`` and the like: :func:`cat` along ``dim`` (at most the last), after ``prepare`` has given tensors at
    least ``least`` dimensions.
    """

    def join(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
        if not isinstance(tensors, (tuple, list)):
            kind = type(tensors).__name__
            raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        ready = [prepare(x, least) if getattr(x, "ndim", least) < least else x for x in tensors]
        d = dim if dim < least else min(dim, getattr(ready[0], "ndim", 1) - 1)
        return cat(ready, d, out=out)

    join.__name__ = join.__qualname__ = name
    join.__doc__ = doc
    return overridable(join)


hstack = _make_stack_function("hstack", "Tensors side by side: along dimension 1, or 0 if they are 1-d.", 1, 1)
vstack = _make_stack_function("vstack", "Tensors on top of each other: along dimension 0 of at least 2-d ones.", 0, 2)
dstack = _make_stack_function("dstack", "Tensors behind each other: along dimension 2 of at least 3-d ones.", 2, 3)
column_stack = _make_stack_function(
    "column_stack", "Tensors side by side, 1-d ones as columns.", 1, 2, lambda x, _: reshape(x, (x._array.size, 1))
)
row_stack = vstack


@op.general(name="block_diag", method=False, holomorphic=False)
def _block_diag(tensors: list[Tensor]) -> Tensor:
    shapes = [_matrix_shape(a.shape) for a in tensors]
    out = np.zeros([sum(n) for n in zip(*shapes)], result_type_of(tensors).numpy)
    row = column = 0
    for (m, n), a in zip(shapes, tensors):
        out[row : row + m, column : column + n] = a
        row, column = row + m, column + n
    return out


@_block_diag.vjp_all
def _block_diag_vjp(g: Any, wanted: list[bool], tensors_shape: list[tuple[int, ...]]) -> list[Any]:
    out, row, column = [], 0, 0
    for wants, shape in zip(wanted, tensors_shape):
        m, n = _matrix_shape(shape)
        part = (slice(row, row + m), slice(column, column + n), ...)
        out.append(reshape(view_part(g, part, "SliceBackward0"), shape) if wants else None)
        row, column = row + m, column + n
    return out


def _matrix_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape as (rows, columns)."""
    return (1,) * (2 - len(shape)) + shape


@overridable
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix of zeros with these tensors (2-d, or rows) down its diagonal.

    >>> import pullback as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.ndim} dimensions"
            )
    return _block_diag(tensors) if tensors else record.wrap(np.zeros((1, 0), np.float32))


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids: the i-th tensor, 1-d, along dimension i and expanded over the others.

    Args:
        indexing: ``"ij"``, or ``"xy"`` to exchange the first two dimensions.

    >>> import pullback as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=2,
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    shape, places = _grid_shapes(
        _lengths("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}", tensors), indexing == "xy"
    )
    return tuple([expand.op.call_ordered(reshape(x, along), shape) for x, along in zip(tensors, places)])


def _lengths(refusal: str, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The lengths of tensors of at most one dimension."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    arrays = [x._array for x in tensors]
    for a, x in zip(arrays, tensors):
        if a.ndim > 1:
            raise RuntimeError(refusal.format(x))
        if a.dtype is not arrays[0].dtype and x.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    return tuple([a.size for a in arrays])


@lru_cache(256)
def _grid_shapes(sizes: tuple[int, ...], exchanged: bool = False) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The shape of the grid, and the broadcastable shape of each tensor in it; ``exchanged``: the first two swapped."""
    n = len(sizes)
    order = [1, 0, *range(2, n)] if exchanged and n > 1 else list(range(n))
    return tuple([sizes[i] for i in order]), [tuple([-1 if j == i else 1 for j in order]) for i in range(n)]


def _refuse_more_than_1d(x: Tensor) -> None:
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")


@op.general(name="cartesian_prod", node="StackBackward0", method=False, holomorphic=False, linear="tensors")
def _cartesian_prod(tensors: list[Tensor]) -> Tensor:
    shape, places = _grid_shapes(tuple([x.size for x in tensors]))
    out = np.empty((*shape, len(shape)), tensors[0].dtype)
    for i, (x, along) in enumerate(zip(tensors, places)):
        out[..., i] = x.reshape(along)
    return out.reshape(-1, len(shape))


@_cartesian_prod.vjp_all
def _cartesian_prod_vjp(g: Any, wanted: list[bool], tensors_shape: list[tuple[int, ...]]) -> list[Any]:
    shape, others = [n for (n,) in tensors_shape], range(len(tensors_shape))
    return [
        summed(reshape(view_part(g, (..., i), "SelectBackward0"), shape), tuple([d for d in others if d != i]))
        if wants
        else None
        for i, wants in enumerate(wanted)
    ]


@overridable
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to choose an element of each 1-d tensor, a row for each; one tensor alone is returned as it is.

    >>> import pullback as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for x in tensors:
        _refuse_more_than_1d(x)
    _lengths("", tensors)
    return tensors[0] if len(tensors) == 1 else _cartesian_prod(tensors)


@overridable
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose ``r`` elements of a 1-d tensor, in order, a row for each.

    >>> import pullback as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    _refuse_more_than_1d(input)
    if r == 0:
        return record.wrap(Meta((0,), input._array.dtype) if input.is_meta else np.empty(0, input._array.dtype))
    if input.is_meta:
        n = input.numel()
        count = comb(n + r - 1, r) if with_replacement and n else comb(n, r)
        return take_at(input, [Meta((count, r), INT64)], "StackBackward0")
    chosen = (combinations_with_replacement if with_replacement else choices)(range(input.numel()), r)
    return take_at(input, [np.array(list(chosen), np.intp).reshape(-1, r)], "StackBackward0")


# --- repeated ---------------------------------------------------------------------------------------------------


@op.general(method=False, holomorphic=False, linear="input")
def repeat(input: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor repeated ``repeats`` times along each dimension (new dimensions first).

    >>> import pullback as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    repeats = [integer(r) for r in repeats]
    lead = len(repeats) - input.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + input.shape
    result = [r * n for r, n in zip(repeats, shape)]
    for n, r in zip(result, repeats):
        if r < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {result}")
    apart = input.reshape([n for pair in zip((1,) * len(shape), shape) for n in pair])
    return np.broadcast_to(apart, [n for pair in zip(repeats, shape) for n in pair]).copy().reshape(result)


def _repeat_vjp(g: Any, input_shape: tuple[int, ...], repeats: Sequence[int]) -> Any:
    shape = (1,) * (len(repeats) - len(input_shape)) + input_shape
    apart = reshape(g, [integer(n) for pair in zip(repeats, shape) for n in pair])
    return reshape(summed(apart, tuple(range(0, 2 * len(shape), 2))) if shape else apart, input_shape)


repeat.vjp(input=lambda g, input_shape, repeats: _repeat_vjp(g, input_shape, repeats))
varargs(repeat, "repeat", "repeats")


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """:func:`repeat <Tensor.repeat>`, where missing numbers are 1.

    >>> import pullback as torch
    >>> torch.tile(torch.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]])
    """
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


varargs(tile, "tile", "dims")


# PyTorch's last step
@op.general(name="repeat_each", node="ViewBackward0", holomorphic=False, method=False, linear="input", dims=("dim",))
def _repeated(input: Tensor, times: int, dim: int) -> Tensor:
    return input.repeat(times, dim)


_repeated.vjp(
    input=lambda g, input_shape, times, dim: summed(
        reshape(g, input_shape[: dim + 1] + (times,) + input_shape[dim + 1 :]), dim + 1
    )
)


@op.composite
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice across ``dim`` (each element of the flattened input, without it) repeated.

    Args:
        repeats: how often, one number or one for each. Without it, ``input`` says how often each index is repeated.

    >>> import pullback as torch
    >>> torch.repeat_interleave(torch.tensor([5, 6]), torch.tensor([1, 3]))
    tensor([5, 6, 6, 6])
    """
    if repeats is None:
        if not isinstance(input, Tensor):
            raise not_a_tensor("repeat_interleave", "repeats", 0, input)
        if not input._array.ndim:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return record.wrap(_repeated_places(_checked_repeats(input._array, output_size)))
    if not isinstance(repeats, (Tensor, int, np.integer, np.ndarray)):
        given = f"({type(input).__name__}, {type(repeats).__name__}{'' if dim is None else ', int'})"
        raise TypeError(f"repeat_interleave() received an invalid combination of arguments - got {given}")
    x, d = (flatten(input), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    n = x.shape[d]
    counts = repeats._array if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if isinstance(repeats, int) and repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    _checked_repeats(counts, None)
    if not isinstance(repeats, Tensor) and not counts.ndim:
        return _repeated(x, repeats, d)
    if counts.size not in (1, n):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({d}) = {n}"
        )
    if output_size is not None and output_size != (counts.sum() if counts.size == n else n * counts.item()):
        raise RuntimeError("allocated size does not match required size")
    return index_select(x, d, record.wrap(_repeated_places(np.broadcast_to(counts.reshape(-1), n))))


def _repeated_places(counts: np.ndarray) -> np.ndarray:
    """Each place in an array of counts as often as the count there says. (NumPy adds the counts up unchecked.)"""
    if counts.sum(dtype=np.float64) >= 2.0**60:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{sum(counts.tolist())}]")
    return np.repeat(np.arange(counts.size, dtype=np.int64), counts.astype(np.intp, copy=False))


def _checked_repeats(counts: np.ndarray, output_size: int | None) -> np.ndarray:
    """How often things are repeated: integers, not negative, of one dimension, whose sum is as promised."""
    if counts.dtype.kind not in "iu" and counts.size:
        kind = type_name(OF_NUMPY[counts.dtype])
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{kind}'")
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size and counts.item(counts.argmin()) < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and counts.sum() != output_size:
        raise RuntimeError("allocated size does not match required size")
    return counts


# --- triangles and diagonals ------------------------------------------------------------------------------------


@op.general(holomorphic=False, inplace=True, linear="input")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices' lower triangles, up to and including a diagonal; 0 elsewhere.

    >>> import pullback as torch
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return _triangle(input, diagonal, True)


@op.general(holomorphic=False, inplace=True, linear="input")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The matrices' upper triangles, from a diagonal on; 0 elsewhere.

    >>> import pullback as torch
    >>> torch.triu(torch.ones(2, 2), 1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    if input.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return _triangle(input, diagonal - 1, False)


def _triangle(input: np.ndarray, diagonal: int, lower: bool) -> np.ndarray:
    """The lower triangle, or (not ``lower``) the elements above it. Rows past the diagonal's end are copied whole."""
    if input.size <= FEW:
        out = input.copy()
        np.putmask(out, _outside_triangle(input.shape, diagonal, lower), 0)
        return out
    rows, columns = input.shape[-2:]
    n = min(max(columns - diagonal, 0), rows)
    mask = np.tri(n, columns, diagonal, bool)
    above = keep.op.impl(as_contiguous(input if n == rows else input[..., :n, :]), mask if lower else ~mask)
    if n == rows:
        return above
    result = input.copy() if lower else np.zeros(input.shape, input.dtype)
    result[..., :n, :] = above
    return result


@lru_cache(64)
def _outside_triangle(shape: tuple[int, ...], diagonal: int, lower: bool) -> np.ndarray:
    """The mask of the elements to zero."""
    mask = np.tri(*shape[-2:], diagonal, bool)
    return np.broadcast_to(~mask if lower else mask, shape).copy()


tril.vjp(input=lambda g, diagonal: tril(g, diagonal))
triu.vjp(input=lambda g, diagonal: triu(g, diagonal))


@op.composite
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in two new dimensions, with the input's last dimension down a diagonal and 0 elsewhere.

    >>> import pullback as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    shape, window = _diag_embed_window(input.shape, integer(offset), integer(dim1), integer(dim2))
    return place_part(input, window, shape, "DiagEmbedBackward0")


@lru_cache(256)
def _diag_embed_window(shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> tuple[tuple[int, ...], Window]:
    """The shape of the matrices, and the window of their diagonals."""
    n = len(shape) + 1
    d1, d2 = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    result = list(shape[:-1])
    for d in sorted((d1, d2)):
        result.insert(d, shape[-1] + abs(offset))
    return tuple(result), diagonal_window(tuple(result), offset, d1, d2)


@op.composite
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """A matrix with this diagonal for a 1-d tensor, a copy of its diagonal for a matrix.

    >>> import pullback as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    shape = input._array.shape
    if len(shape) not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {len(shape)}D")
    if len(shape) == 1:
        result = diag_embed(input, diagonal)
    else:
        result = read_part(input, diagonal_window(shape, diagonal, 0, 1), "DiagonalBackward0_copy")
    return result if out is None else inplace.write_out(out, result)


@op.composite
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened input as a diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)


@op.general(holomorphic=False, linear="input")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    >>> import pullback as torch
    >>> torch.trace(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return sum_array(input.diagonal(), (0,))


def _trace_vjp(g: Any, shape: tuple[int, ...]) -> Any:
    part = diagonal_window(shape, 0, 0, 1)
    return place_part(expand(g, part.shape), part, shape)


trace.vjp(input=lambda g, input_shape: _trace_vjp(g, input_shape))
