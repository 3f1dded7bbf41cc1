"""``gather``, ``scatter``, ``index_select``, ``index_add``, ``index_put``, ``take``, ``put``, ``select_scatter``, ...

Where an index repeats, sums add all values written there; of plain writes the last one remains, and only that one gets
a gradient (PyTorch leaves the order undefined and gives the gradient to each).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import as_factor, cast_number, type_name
from ..core import inplace, op, record
from ..core.geometry import contiguous_strides, window_at
from ..core.level import batches_in, by_example, concrete_array, traced_numpy
from ..core.tensor import Tensor
from .index import FLAT, IN_SELF, assign_at, check_bounds, gather_index, index_array, put_at, take_at
from .scatter_reduce import REDUCTIONS, reduce_at
from .slices import basic_index, view_part, write_part
from .slicing_views import byte_strides, diagonal_window, select
from .sparse import coo_value
from .view import broadcast_tensors, expand, reshape, wrap_dim

__all__ = [
    "as_strided_scatter",
    "diagonal_scatter",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "put",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "select_scatter",
    "slice_scatter",
    "take",
    "take_along_dim",
    "unravel_index",
]

INT64 = np.dtype(np.int64)
SIGN = np.asarray(63)  # shift to the sign bit; NumPy takes a 0-d array in a third of the time of a Python number
WHOLES = [slice(None)] * 64


def in_both_forms(fn: Callable | None = None, *, of: str = "") -> Any:
    """Declare ``NAME`` and its in-place form ``NAME_``, from a function whose first argument writes: ``put_at`` or
    ``assign_at``.

    Args:
        of: the index argument; under vmap, a batched one is processed example by example.
    """
    if fn is None:
        return partial(in_both_forms, of=of)
    name, written = fn.__name__, partial(fn, put_at)
    put = by_example(written, of=of) if of else written

    @wraps(fn)
    def out_of_place(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        result = put(input, *args, **kwargs) if thread_state.slow_path_reasons else fn(put_at, input, *args, **kwargs)
        return result if out is None else inplace.write_out(out, result)

    @wraps(fn)
    def in_place(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if (
            of
            and thread_state.slow_path_reasons
            and batches_in([a._array for a in (*args, *kwargs.values()) if isinstance(a, Tensor)])
        ):
            return inplace.assign(input, name + "_", put(input, *args, **kwargs))
        return fn(assign_at, input, *args, **kwargs)

    out_of_place.__signature__ = in_place.__signature__ = inspect.signature(written)
    in_place.__name__ = in_place.__qualname__ = name + "_"
    in_place.__doc__ = f"In-place version of :func:`{name}`: writes into this tensor and returns it."
    op.add_method(out_of_place, name)
    op.add_method(in_place, name + "_")
    return out_of_place


# --- along a dimension: index_* ---------------------------------------------------------------------------------


def _index_array(
    index: Any, name: str, error: type[Exception] = RuntimeError, types: str = "int32 or int64 for index"
) -> np.ndarray:
    """An index tensor's array, which must be of int32 or int64."""
    array = index._array if isinstance(index, Tensor) else np.asarray(index)
    if array.__class__ is np.ndarray and not array.flags.c_contiguous:
        array = array.copy()
    if array.dtype is not INT64 and (array.dtype.kind != "i" or array.itemsize < 4):
        if array.size:
            raise error(f"{name}: Expected dtype {types}")
        array = array.astype(np.int64)
    return array


def _index_vector(
    index: Any, name: str, error: type[Exception] = RuntimeError, types: str = "int32 or int64 for index"
) -> np.ndarray:
    """:func:`_index_array` of a 1-d index of slices."""
    array = _index_array(index, name, error, types)
    if array.ndim > 1:
        raise IndexError(f"{name}: Index is supposed to be a vector")
    return array if array.ndim else array.reshape(-1)


def _wrap_negative(array: np.ndarray, size: int) -> np.ndarray:
    """An index with negative numbers wrapped."""
    if array.__class__ is np.ndarray and not (array.size and array.item(array.argmin()) < 0):
        return array
    return traced_numpy(lambda a: a + (a >> SIGN & np.asarray(size)), array)


def _dim_and_index(
    input: Tensor, dim: int, index: Any, name: str, error: type[Exception] = RuntimeError
) -> tuple[int, np.ndarray]:
    """The dimension, and the index of slices along it."""
    array = _index_vector(index, name, error)
    return wrap_dim(dim, max(1, input._array.ndim)), array


def _check_early(array: np.ndarray, shape: tuple[int, ...], d: int, words: str = "") -> None:
    """Check an index along ``d`` where the forward function, which does so otherwise, may not see its values."""
    if thread_state.slow_path_reasons:
        check_bounds(array, (shape or (1,))[d], d, IndexError, words)


@lru_cache(256)
def _equal_but_for(shape: tuple[int, ...], other: tuple[int, ...], d: int) -> bool:
    """Whether two shapes are equal except in dimension ``d``."""
    return len(shape) == len(other) and shape[:d] + shape[d + 1 :] == other[:d] + other[d + 1 :]


def _check_other_sizes(shape: tuple[int, ...], source: tuple[int, ...], d: int) -> None:
    if not _equal_but_for(shape, source, d):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(source)}"
        )


@op.composite
@by_example(of="index")
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    """Slices across ``dim``, in the order of ``index`` (1-d, int32 or int64), which may repeat them.

    >>> import pullback as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    d, array = _dim_and_index(input, dim, index, "index_select()")
    shape = input._array.shape
    _check_early(array, shape, d, IN_SELF)
    if not shape and array.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {array.size} value(s)")
    try:
        result = take_at(input, [array if shape else array.reshape(())], "IndexSelectBackward0", d)
    except RuntimeError:
        check_bounds(array, shape[d] if shape else 1, d, IndexError, IN_SELF)
        raise
    return result if out is None else inplace.write_picked(out, result, input, index)


@in_both_forms(of="index")
def index_add(put: Callable, input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """``input`` with ``alpha`` times the slices of ``source`` added to its slices ``index`` across ``dim``.

    >>> import pullback as torch
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """
    d, array = _dim_and_index(input, dim, index, "index_add_()")
    a, b = input._array, source._array
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(input.dtype)}) and source ({type_name(source.dtype)}) must have the "
            "same scalar type"
        )
    if array.size != (b.shape[d] if b.ndim else 1):
        raise RuntimeError(
            f"index_add_(): Number of indices ({array.size}) should be equal to source.size(dim): "
            f"({b.shape[d]}), for dim: {d}"
        )
    _check_other_sizes(a.shape, b.shape, d)
    _check_early(array, a.shape, d, IN_SELF)
    scaled = source if alpha == 1 else source * as_factor(alpha, a.dtype)
    try:
        return put(input, scaled, [array], True, "IndexAddBackward0", d)
    except RuntimeError:
        check_bounds(array, (a.shape or (1,))[d], d, IndexError, IN_SELF)
        raise


@in_both_forms(of="index")
def index_copy(put: Callable, input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``input`` with its slices ``index`` across ``dim`` replaced by those of ``source``.

    >>> import pullback as torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    d, array = _dim_and_index(input, dim, index, "index_copy_()", IndexError)
    a, b = input._array, source._array
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{type_name(input.dtype)} and (source) {type_name(source.dtype)}"
        )
    if a.ndim and b.ndim and not _equal_but_for(a.shape, b.shape, d):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{list(a.shape)} at dimension {d} and source slice shape: {list(b.shape)} at dimension {d}."
        )
    _check_early(array, a.shape, d)
    try:
        return put(input, source, [array], False, "IndexCopyBackward0", d)
    except RuntimeError:
        check_bounds(array, a.shape[d] if a.ndim else 1, d, IndexError)
        raise


@in_both_forms(of="index")
def index_fill(put: Callable, input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with its slices ``index`` across ``dim`` filled with a number or a 0-d tensor.

    >>> import pullback as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([2]), 7.0)
    tensor([0., 0., 7.])
    """
    shape, array = input._array.shape or (1,), _index_vector(index, "index_fill_()", IndexError, "int64 for index.")
    d = wrap_dim(dim, len(shape))
    if thread_state.slow_path_reasons:
        array = _wrap_negative(array, shape[d])
        check_bounds(array, shape[d], d, IndexError)
    check_filler(input, value, "index_fill_")
    return put(
        input,
        value,
        [*WHOLES[:d], array],
        False,
        "IndexFillBackward1" if isinstance(value, Tensor) else "IndexFillBackward0",
    )


def check_filler(input: Tensor, value: Any, name: str) -> None:
    """Refuse what can't fill parts of ``input``: tensors of several elements, numbers that its type can't hold."""
    if not isinstance(value, Tensor):
        cast_number(value, input._array.dtype)
    elif not value._array.ndim:
        if value._array.__class__ is np.ndarray:
            cast_number(value._array.item(), input._array.dtype)
    else:
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )


@in_both_forms
def index_put(
    put: Callable, input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """``input`` with ``values``, which broadcast, written to the advanced index ``indices``, or added there.

    >>> import pullback as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([2, 2]),), torch.tensor(1.0), accumulate=True)
    tensor([0., 0., 2.])
    """
    for i, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(index).__name__}")
    if input._array.dtype != values._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(input.dtype)} for the destination and {type_name(values.dtype)} for the source."
        )
    at = [index_array(index) for index in indices]
    if not input._array.ndim and any(index.ndim or index.dtype.kind != "b" for index in at):
        raise IndexError(f"too many indices for tensor of dimension 0 (got {len(at)})")
    return put(input, values, at, accumulate)


def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of :func:`index_put`: writes into ``input`` and returns it."""
    return input.index_put_(indices, values, accumulate)


# --- element by element: gather, scatter ------------------------------------------------------------------------


@lru_cache(1024)
def _check_index_shape(
    shape: tuple[int, ...], at: tuple[int, ...], dim: int, what: str, src: tuple[int, ...] | None
) -> int:
    """The dimension of a gather or scatter, non-negative; refuses an index shape ``at`` that does not match. Shapes of
    0-d tensors are given as (1,).
    """
    d = wrap_dim(dim, len(shape))
    if 0 in at:
        return d
    if (len(at) or 1) != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")
    larger = [k for k, (m, n) in enumerate(zip(at, shape)) if m > n and k != d]
    if src is not None:
        if larger or len(src) != len(shape) or any([m > n for m, n in zip(at, src)]):
            raise RuntimeError(
                f"Expected index {list(at)} to be no larger than self {list(shape)} apart from dimension {d} "
                f"and to be no larger size than src {list(src)}"
            )
    elif larger:
        raise RuntimeError(
            f"Size does not match at dimension {larger[0]} expected index {list(at)} to be no larger than self "
            f"{list(shape)} apart from dimension {d}"
        )
    return d


def _gather_index(
    input: Tensor, dim: int, index: Any, name: str, what: str = "self", src: Any = None
) -> tuple[np.ndarray, int]:
    """The checked index array of a gather or scatter, and the dimension."""
    shape, array = input._array.shape or (1,), _index_array(index, name, types="int32/int64 for index")
    d = _check_index_shape(shape, array.shape, dim, what, None if src is None else src._array.shape or (1,))
    if thread_state.slow_path_reasons and array.size:  # otherwise the forward function checks
        check_bounds(array, shape[d], d)
    return array, d


@op.general(name="gather_sparsely", node="GatherBackward0", method=False, linear="input")
def _gather_sparse_grad(input: Tensor, at: Any, shape: tuple[int, ...]) -> Tensor:
    return input[tuple(at)].reshape(shape)


_gather_sparse_grad.vjp(input=lambda g, input_shape, at: coo_value(reshape(g, (-1,)), at, input_shape))


@op.composite
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:
    """Elements of the input selected along ``dim`` by ``index``: ``out[i, j] = input[i, index[i, j]]`` for dim 1.

    Args:
        index: int32 or int64, with as many dimensions as the input, and no larger apart from ``dim``.
        sparse_grad: whether the gradient of the input is a sparse tensor.

    Derivative: gradients of elements picked several times add up.

    >>> import pullback as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    array, d = _gather_index(input, dim, index, "gather()", "input")
    if sparse_grad and input._array.ndim:
        check_bounds(array, input._array.shape[d], d)
        result = _gather_sparse_grad(
            input, np.array([a.reshape(-1) for a in np.broadcast_arrays(*gather_index(array, d))]), index._array.shape
        )
    elif array.size:
        result = take_at(input, [array], "GatherBackward0", d)
    else:
        result = take_at(reshape(input, (-1,)), [array], "GatherBackward0")
    return result if out is None else inplace.write_picked(out, result, input, index)


@op.composite
@by_example(of="indices")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """:func:`gather` with input and indices broadcast apart from ``dim``; without ``dim``, of the flattened input.

    >>> import pullback as torch
    >>> x = torch.tensor([[3, 1], [2, 4]])
    >>> torch.take_along_dim(x, torch.argsort(x, dim=1), dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    array = indices._array
    if array.dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {type_name(indices.dtype)}"
        )
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)), out=out)
    n, d = input._array.ndim, wrap_dim(dim, input._array.ndim)
    if array.ndim != n:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{n} dimensions for input, and {array.ndim} dimensions for indices"
        )
    a, b = input._array.shape, array.shape
    size = a[d]
    array = _wrap_negative(array, size)
    if not _equal_but_for(a, b, d):
        one = view_part(input, basic_index(d, slice(0, 1)), "SliceBackward0")
        shape = broadcast_tensors(one, view_part(indices, basic_index(d, slice(0, 1)), ""))[0]._array.shape
        array = np.broadcast_to(array, (*shape[:d], b[d], *shape[d + 1 :]))
        input = expand(input, (*shape[:d], size, *shape[d + 1 :]))
    return gather(input, d, indices if array is indices._array else record.wrap(array), out=out)


def _scatter(put: Callable, x: Tensor, dim: int, index: Any, src: Any, accumulate: bool, name: str) -> Tensor:
    """Write, or add, the elements of ``src`` (or one number) to the positions along ``dim`` that ``index`` gives."""
    tensor = src if isinstance(src, Tensor) else None
    array, d = _scatter_index(x, dim, index, tensor)
    if tensor is not None and tensor._array.shape != array.shape:
        src = _crop_to(tensor, array.shape)
    return put(x, src, [array], accumulate, name, d)


def _scatter_index(x: Tensor, dim: int, index: Any, src: Tensor | None) -> tuple[np.ndarray, int]:
    """The checked index array of a scatter, 1-d for a 0-d tensor, and the dimension."""
    array, d = _gather_index(x, dim, index, "scatter()", "self", src)
    if src is not None and src._array.dtype is not x._array.dtype and src._array.dtype != x._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not array.size:
        return np.zeros((0,) * (x._array.ndim or 1), np.int64), 0
    return array if array.ndim else reshape(record.wrap(array), (1,))._array, d


def _crop_to(src: Tensor, shape: tuple[int, ...]) -> Tensor:
    if not src._array.ndim:
        return expand(src, shape)
    return src if src._array.shape == shape else view_part(src, (*[slice(n) for n in shape], ...), "SliceBackward0")


@in_both_forms
def scatter(
    put: Callable,
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    value: Any = None,
    *,
    reduce: str | None = None,
) -> Tensor:
    """``input`` with the elements of ``src``, or one number, written along ``dim`` at ``index``:
    ``out[i, index[i, j]] = src[i, j]`` for dim 1.

    Args:
        index: int32 or int64, no larger than ``src``, and than the input apart from ``dim``.
        src, value: a tensor, or a number.
        reduce: ``"add"`` or ``"multiply"``: combine with what is there.

    >>> import pullback as torch
    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[2], [0]]), 5.0)
    tensor([[0., 0., 5.],
            [5., 0., 0.]])
    """
    src = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if not isinstance(src, Tensor):
            d = input._array.dtype
            src = record.wrap(np.full(np.shape(index), cast_number(src, d), d))
        result = scatter_reduce(input, dim, index, src, "sum" if reduce == "add" else "prod")
        return inplace.assign(input, "scatter_", result) if put is assign_at else result
    return _scatter(
        put, input, dim, index, src, False, "ScatterBackward0" if isinstance(src, Tensor) else "ScatterBackward1"
    )


@in_both_forms
def scatter_add(put: Callable, input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with the elements of ``src`` added along ``dim`` at ``index``; see :func:`scatter`.

    >>> import pullback as torch
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([3., 0., 3.])
    """
    return _scatter(put, input, dim, index, src, True, "ScatterAddBackward0")


# --- reductions -------------------------------------------------------------------------------------------------


@op.composite(inplace=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:
    """The elements of ``src`` that go to one position of the input (as in :func:`scatter_add`), reduced with the
    element there.

    Args:
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: whether the input's element takes part, where anything goes to its position.

    Derivative: ties of an extreme share equally.

    >>> import pullback as torch
    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "amax")
    tensor([3., 1.])
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce == "sum" and include_self:
        result = _scatter(put_at, input, dim, index, src, True, "ScatterReduceBackward0")
        return result if out is None else inplace.write_out(out, result)
    array, d = _scatter_index(input, dim, index, src)
    check_bounds(array, (input._array.shape or (1,))[d], d)
    result = reduce_at(
        input, _crop_to(src, array.shape), gather_index(array, d), reduce, include_self, "ScatterReduceBackward0"
    )
    return result if out is None else inplace.write_out(out, result)


@op.composite(inplace=True)
@by_example(of="index")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:
    """The slices of ``source`` that go to one slice of the input (as in :func:`index_add`), reduced with that slice.

    Args:
        reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: whether the input's slice takes part, where anything goes to its position.

    >>> import pullback as torch
    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    if reduce not in REDUCTIONS or reduce == "sum":
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({type_name(input.dtype)}) and source ({type_name(source.dtype)}) must have the "
            "same scalar type"
        )
    d, array = _dim_and_index(input, dim, index, "index_reduce_()", IndexError)
    _check_other_sizes(input._array.shape, source._array.shape, d)
    check_bounds(array, (input._array.shape or (1,))[d], d, IndexError)
    result = reduce_at(input, source, [*WHOLES[:d], array], reduce, include_self, "IndexReduceBackward0")
    return result if out is None else inplace.write_out(out, result)


# --- flat indices -----------------------------------------------------------------------------------------------


def _flat_index(index: Any, name: str) -> np.ndarray:
    """The array of a flat index, which must be int64."""
    array = index._array if isinstance(index, Tensor) else np.asarray(index)
    if array.dtype != np.int64:
        raise RuntimeError(f"{name}: Expected a long tensor for index, but got {type_name(index.dtype)}")
    return array


def _out_of_range(index: np.ndarray, size: int) -> IndexError:
    index = concrete_array(index, True)
    i = index[(index < -size) | (index >= size)].flat[0]
    return IndexError(f"out of range: tried to access index {i} on a tensor of {size} elements.")


@op.composite
@by_example(of="index")
def take(input: Tensor, index: Tensor, *, out: Any = None) -> Tensor:
    """Elements of the flattened input, in the shape of ``index``.

    >>> import pullback as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
    tensor([1, 4])
    """
    array = _flat_index(index, "take()")
    try:
        result = take_at(input, [array], "TakeBackward0", FLAT)
    except IndexError:
        raise _out_of_range(array, input._array.size) from None
    return result if out is None else inplace.write_picked(out, result, input, index)


@in_both_forms(of="index")
def put(put: Callable, input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with elements of its flattened self replaced by those of ``source``, or these added there.

    >>> import pullback as torch
    >>> torch.put(torch.zeros(2, 2), torch.tensor([3]), torch.tensor([5.0]))
    tensor([[0., 0.],
            [0., 5.]])
    """
    a, b = input._array, source._array
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_name(input.dtype)} "
            f"and source.dtype = {type_name(source.dtype)}"
        )
    if index._array.size != b.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {b.size}, index.numel() = {index._array.size}"
        )
    array, shape = _flat_index(index, "put_()"), b.shape
    try:
        return put(
            input, source, [array if array.shape == shape else array.reshape(shape)], accumulate, "PutBackward0", FLAT
        )
    except IndexError:
        raise _out_of_range(array, input._array.size) from None


@by_example
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices into that shape as an index for each dimension.

    >>> import pullback as torch
    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    array, shape = indices._array.astype(np.int64, copy=False), (shape,) if isinstance(shape, int) else tuple(shape)
    if indices._array.dtype.kind not in "iu":
        raise ValueError(f"expected 'indices' to be integer dtype, but got torch.{indices.dtype.name}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    out, rest = [], array
    for n in reversed(shape):
        out.append(record.wrap(np.asarray(rest % n)))
        rest = rest // n
    return tuple(reversed(out))


# --- views replaced ---------------------------------------------------------------------------------------------


def _replace_view(input: Tensor, src: Tensor, part: Any, shape: Sequence[int], name: str, what: str) -> Tensor:
    """A copy of ``input`` in which the view ``part`` is replaced by ``src``."""
    _check_size(src, shape, what)
    return write_part(input, src, part, name)


def _check_size(src: Tensor, shape: Sequence[int], what: str) -> None:
    if tuple(shape) != src._array.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {what} of self. src size = {list(src._array.shape)}, "
            f"{what} size = {list(shape)}"
        )


@op.composite
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of the input in which ``input.select(dim, index)`` is ``src``.

    >>> import pullback as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    d = wrap_dim(dim, input._array.ndim)
    shape = select(input, d, index)._array.shape  # refuses an index that is out of range
    return _replace_view(input, src, basic_index(d, index), shape, "SelectScatterBackward0", "slice")


@op.composite
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """A copy of the input in which the slice ``start:end:step`` across ``dim`` is ``src``.

    >>> import pullback as torch
    >>> torch.slice_scatter(torch.zeros(3), torch.ones(2), 0, 1)
    tensor([0., 1., 1.])
    """
    part = basic_index(wrap_dim(dim, input._array.ndim), slice(start, end, step))
    result = _replace_view(input, src, part, input[part]._array.shape, "SliceScatterBackward0", "slice")
    return result if out is None else inplace.write_out(out, result)


@op.composite
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of the input in which ``input.diagonal(offset, dim1, dim2)`` is ``src``.

    >>> import pullback as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    part = diagonal_window(input._array.shape, offset, dim1, dim2)
    return _replace_view(input, src, part, part.shape, "DiagonalScatterBackward0", "slice")


@op.composite
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A contiguous copy of the input in which ``as_strided(size, stride, storage_offset)`` is ``src``.

    (PyTorch 2.13 gives the input the gradients of the part, not those of the rest: it fails its own ``gradcheck``.)

    >>> import pullback as torch
    >>> torch.as_strided_scatter(torch.zeros(2, 2), torch.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape, n = input._array.shape, input._array.itemsize
    byte_strides(tuple(size), tuple(stride), storage_offset or 0, 0, n, input._array.size * n)
    _check_size(src, size, "slice")  # before the place of each element is computed
    part = window_at(shape, contiguous_strides(shape), 1, tuple(size), tuple(stride), storage_offset or 0)
    return _replace_view(input, src, part, size, "AsStridedScatterBackward0", "slice")
