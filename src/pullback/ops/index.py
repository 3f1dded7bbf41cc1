"""``x[index]`` and ``x[index] = value``, and the ops on index arrays below them: ``take_at``, ``sum_at``, ``put_at``.

Basic indexing (integers, slices, None and Ellipsis) gives a view, recorded as one node with the name of its last step.
Advanced indexing (index tensors, lists and masks) then gathers from that view. Its dimensions go where NumPy puts them:
to the first index if the indices are adjacent, else to the front. (Unlike in NumPy, an integer is not an index array.)

Inside this package an advanced index is a list like NumPy's index tuples, of full slices and index arrays, and ends
with an array. To integer arrays a 0-d tensor looks like a 1-d tensor of one element. With a ``dim`` the list holds one
array only, without negative indices: of the tensor's rank, it is ``gather``'s index along that dimension; 1-d, it
selects slices along it (``index_select``). With ``dim=FLAT`` the array indexes the flattened tensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.dtypes import (
    FLOAT32,
    FLOAT64,
    FLOATING,
    OF_NUMPY,
    cast_number,
    part_to_cast,
    stored_number,
    type_name,
)
from ..base.errors import with_notes
from ..base.layout import as_contiguous, copy_order
from ..core import inplace, op, record, slow_call, versions, views
from ..core.graph import clock
from ..core.level import concrete_array, is_level_value
from ..core.override import NOT_OVERRIDDEN, dispatch, overridden
from ..core.record import wrap
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from .slices import torch_index_error, view_part, write_part
from .view import expand_error, inverse_permutation, reshape
from .where import where

__all__: list[str] = []

ndarray = np.ndarray
WHOLE = slice(None)
FLAT = -1
IN_SELF = "index out of range in self"


# --- gathering and scattering by index arrays -------------------------------------------------------------------


@op.general(name="index", node="name", holomorphic=False, method=False, linear="input")
def take_at(input: Tensor, at: list[Any], name: str = "IndexBackward0", dim: int | None = None) -> Tensor:
    """The elements at an advanced index, as a copy."""
    last = at[-1]
    if dim is not None:
        if dim == FLAT:
            return input.take(last)
        if last.ndim == input.ndim:
            out = kernels.run("index", "take", last.size, input, last, dim)
            if out is not None:
                return out
        elif input.flags.c_contiguous:
            out = kernels.run("index", "take", last.size, input, last, dim)
            if out is not None:
                return out
            if not (last.size and last.item(last.argmin()) < 0):
                try:
                    return input.take(last, dim)
                except IndexError:
                    pass
        at = _checked_index(input.shape, last, dim)
        if last.size > LARGE and last.ndim == input.ndim and input.flags.c_contiguous:
            return input.reshape(-1).take(RowIndex(at, input.shape).flat)
        if input.ndim:
            return as_contiguous(input[tuple(at)])
    if not input.ndim and last.dtype.kind != "b":
        input = input.reshape(1)
    try:
        if last.dtype.kind == "i" and input.flags.c_contiguous:  # ndarray.take is several times as fast
            if _picks_slices(at):
                return input.take(last, len(at) - 1)
            if last.size > LARGE and len(at) == input.ndim and all(map(_is_index_in_range, at, input.shape)):
                return input.reshape(-1).take(RowIndex(at, input.shape).flat)
        return as_contiguous(input[tuple(at)])  # NumPy may put the dimensions of indices outermost
    except IndexError as error:
        raise torch_index_error(error, input, at) from None


MANY = 32  # numbers to be added to each element
FEW = 1 << 8  # elements up to which NumPy's indexing is fastest
LARGE = 1 << 12  # elements from which computing flat indices pays
NARROW = 16  # columns up to which row numbers are repeated for each column
UNSIGNED = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def all_in_range(index: np.ndarray, size: int) -> bool:
    """Whether all indices are in ``range(size)``."""
    numbers = index.view(UNSIGNED[index.itemsize])  # negative ones become large
    # argmax takes a third of the time of max() for few numbers
    return not numbers.size or numbers.item(numbers.argmax()) < size


def check_bounds(
    index: np.ndarray, size: int, dim: int, error: type[Exception] = RuntimeError, words: str = ""
) -> None:
    """Refuse an index below 0 or not below ``size``."""
    if index.__class__ is not ndarray:
        index = concrete_array(index, True)
    if not all_in_range(index, size):
        i = index[(index < 0) | (index >= size)].flat[0]
        if words == IN_SELF:
            raise out_of_range()
        raise error(words or f"index {i} is out of bounds for dimension {dim} with size {size}")


def out_of_range(*facts: str) -> IndexError:
    """The error for an index of a row or slice that is not there."""
    return with_notes(IndexError(IN_SELF), *facts, page="index-out-of-range")


def gather_index(index: np.ndarray, dim: int) -> list[Any]:
    """``gather``'s index along ``dim`` as an advanced index: an open grid in the other dimensions."""
    at: list[Any] = list(open_grid(index.shape)) or [index]
    at[dim] = index
    return at


def _checked_index(shape: tuple[int, ...], index: np.ndarray, dim: int) -> list[Any]:
    """The advanced index that ``index`` along ``dim`` means, after a bounds check."""
    check_bounds(index, shape[dim] if shape else 1, dim)
    return gather_index(index, dim) if index.ndim == len(shape) else [WHOLE] * dim + [index]


@lru_cache(256)
def open_grid(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """``np.ogrid``: ``arange`` along each dimension; together they index every element."""
    return np.ogrid[tuple(map(slice, shape))]


def _picks_slices(at: list[Any]) -> bool:
    """Whether an index selects slices along one dimension."""
    for i in at[:-1]:
        if i.__class__ is not slice:
            return False
    return True


def _is_index_in_range(index: Any, size: int) -> bool:
    return index.__class__ is ndarray and index.dtype.kind == "i" and all_in_range(index, size)


@op.general(name="index_accumulate", holomorphic=False, method=False, linear="input")
def sum_at(input: Tensor, at: list[Any], shape: tuple[int, ...], dim: int | None = None) -> Tensor:
    """Zeros of that shape, to which the input's elements are added at an advanced index; repeated ones add up."""
    if input.itemsize < 4:
        return as_type(sum_at.op.impl(_widened(input), at, shape, dim), input.dtype)
    out = np.zeros(shape, input.dtype)
    if dim == FLAT:
        return sum_at.op.impl(input.reshape(-1), [at[0].reshape(-1)], (out.size,)).reshape(shape)
    if dim is not None:
        write_into(out, input, at, True, dim)
        return out
    if sum([i.__class__ is not slice for i in at]) == 1 and at[-1].dtype.kind == "b":  # a mask repeats nothing
        out[tuple(at)] = input
        return out
    if input.size <= FEW:
        np.add.at(out if shape else out.reshape(1), tuple(at), input)
        return out
    return RowIndex(at, shape).summed(input)


# nodes whose results keep the input's memory format; others are contiguous
IN_ORDER = {"IndexPutBackward0", "IndexFillBackward0", "IndexFillBackward1", "PutBackward0"}


@op.general(name="index_put_at", node="name", holomorphic=False, method=False)
def put_at(
    input: Tensor,
    value: Tensor,
    at: list[Any],
    accumulate: bool = False,
    name: str = "IndexPutBackward0",
    dim: int | None = None,
) -> Tensor:
    """A copy of the input with ``value`` written to an advanced index, or added there (``accumulate``)."""
    out = input.copy(copy_order(input) if name in IN_ORDER else "C")
    write_into(out, value if value.__class__ is ndarray else cast_number(value, out.dtype), at, accumulate, dim)
    return out


def _widened(x: np.ndarray) -> np.ndarray:
    """Narrow numbers in four bytes each."""
    return wide(x) if x.dtype.kind in "fV" else x.astype(np.int32)


def write_into(array: np.ndarray, value: Any, at: list[Any], accumulate: bool, dim: int | None = None) -> None:
    if accumulate and array.itemsize < 4:  # which kernels and NumPy do not add, or slowly
        sums = _widened(array)
        write_into(sums, _widened(value) if value.__class__ is ndarray else value, at, True, dim)
        array[...] = as_type(sums, array.dtype)
        return
    last = at[-1]
    each = dim is not None and dim != FLAT and last.ndim == array.ndim
    # many numbers each, in double precision
    if each and accumulate and array.dtype is FLOAT32 and FEW < last.size >= array.size * MANY:
        sums = array.astype(FLOAT64)
        write_into(sums, value.astype(FLOAT64) if value.__class__ is ndarray else value, at, True, dim)
        array[...] = sums
        return
    if each and kernels.run("index", "put", last.size, array, value, last, dim, accumulate):
        return
    size = value.size if value.__class__ is ndarray else 1
    few = size <= FEW or array.size <= FEW
    if dim == FLAT:
        array, at, value = _flat_target(array, last, value)
    elif dim is not None:
        if not each and kernels.run("index", "put", last.size, array, value, last, dim, accumulate):
            return
        at = _checked_index(array.shape, last, dim)
        if accumulate and each and not few and array.flags.c_contiguous:  # in order, as np.add.at does
            array, at, value = _flat_target(array, RowIndex(at, array.shape).flat, np.broadcast_to(value, last.shape))
            few = True
    elif last.dtype.kind == "i" and _picks_slices(at):
        if kernels.run("index", "put", last.size, array, value, last, len(at) - 1, accumulate, True):
            return
    index = tuple(at)
    if not array.ndim and last.dtype.kind != "b":
        array = array.reshape(1)
    try:
        if accumulate:
            if size * 8 < array.size or few:
                np.add.at(array, index, value)
            else:
                rows = RowIndex(at, array.shape)
                array += rows.summed(np.broadcast_to(np.asarray(value, array.dtype), rows.given))
        elif (
            not getattr(value, "ndim", 0)
            and at[0].__class__ is ndarray
            and at[0].dtype.kind == "b"
            and at[0].shape == array.shape
        ):
            np.putmask(array, at[0], value)  # several times as fast
        else:
            array[index] = value
    except IndexError as error:
        raise torch_index_error(error, array, at) from None
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(value))} cannot be broadcast to indexing "
            f"result of shape {list(array[index].shape)}"
        ) from None


def _flat_target(array: np.ndarray, numbers: np.ndarray, value: Any) -> tuple[np.ndarray, list[np.ndarray], Any]:
    """The array to write a flat index into (flattened if that is a view), the index for it, and the value."""
    numbers, value = numbers.reshape(-1), value.reshape(-1) if value.__class__ is ndarray else value
    if array.flags.c_contiguous:
        return array.reshape(-1), [numbers], value
    return array, list(np.unravel_index(np.where(numbers < 0, numbers + array.size, numbers), array.shape)), value


def _put_vjp(g: Any, at: list[Any], accumulate: bool, dim: int | None) -> Any:
    """The gradient of the values that were written: where an index repeats, only the last write had an effect.

    PyTorch leaves the order of such writes undefined, and gives the whole gradient to each of them.
    """
    taken, shape = take_at(g, at, dim=dim), g.shape or (1,)
    if accumulate or all(i.__class__ is slice or i.dtype.kind == "b" for i in at):
        return taken
    if dim == FLAT:
        lost = _is_overwritten(at, (prod(shape),), taken.shape)
    elif dim is not None and at[0].ndim == len(shape):
        lost = _is_overwritten(at, shape, taken.shape, dim)
    elif dim is not None or _picks_slices(at):  # the same for all elements of a slice
        d = len(at) - 1 if dim is None else dim
        lost = _is_overwritten(at[-1:], shape[d : d + 1], at[-1].shape)
        lost = lost.reshape(lost.shape + (1,) * (len(shape) - d - 1))
    else:
        lost = (
            _is_overwritten(at, shape, taken.shape) if prod(taken.shape) <= FEW else RowIndex(at, shape).overwritten()
        )
    return where(lost, 0, taken) if lost.size and lost.item(lost.argmax()) else taken


def _is_overwritten(
    at: list[Any], shape: tuple[int, ...], given: tuple[int, ...], dim: int | None = None
) -> np.ndarray:
    """Which of the elements that an index selects are selected again later."""
    numbers, latest = np.arange(prod(given)).reshape(given), np.empty(shape, np.intp)  # read only where written
    if dim is None:
        index = tuple(at)
        latest[index] = numbers
        return latest[index] != numbers
    write_into(latest, numbers, at, False, dim)
    return take_at.op.impl(latest, at, dim=dim) != numbers


take_at.vjp(input=lambda g, at, input_shape, dim: sum_at(g, at, input_shape, dim))
sum_at.vjp(input=lambda g, at, dim: take_at(g, at, dim=dim))
put_at.vjp(
    input=lambda g, at, accumulate, dim: g if accumulate else put_at(g, 0, at, dim=dim),
    value=lambda g, at, accumulate, dim: _put_vjp(g, at, accumulate, dim),
)


class RowIndex:
    """An advanced index as row numbers of a matrix: the indexed dimensions flattened to rows, the rest to columns.

    Attributes:
        flat: the row numbers, in the shape that the index arrays broadcast to.
        dims, rest: the dimensions that are indexed, and the others.
        lead: how many of the others come before the row numbers' dimensions in the result of the index.
        given: the shape of the result of the index.
    """

    def __init__(self, at: list[Any], shape: tuple[int, ...]) -> None:
        self.shape = shape
        shape = shape or (1,)
        arrays: list[np.ndarray] = []
        self.dims: list[int] = []
        places, d = [], 0
        for place, i in enumerate(at):
            if i.__class__ is slice:
                d += 1
                continue
            places.append(place)
            for array in i.nonzero() if i.dtype.kind == "b" else (i,):
                arrays.append(array.astype(np.intp, copy=False))
                self.dims.append(d)
                d += 1
        self.rest = [d for d in range(len(shape)) if d not in self.dims]
        self.lead = self.dims[0] if places[-1] - places[0] == len(places) - 1 else 0
        self.count, self.columns = prod([shape[d] for d in self.dims]), prod([shape[d] for d in self.rest])
        self.flat: np.ndarray = np.zeros((), np.intp)
        for k, (d, array) in enumerate(zip(self.dims, arrays)):
            if array.size and array.min() < 0:
                array = np.where(array < 0, array + shape[d], array)
            flat = self.flat * shape[d]
            if array.size > LARGE and flat.shape[-1:] == (1,) and 1 < array.shape[-1] <= NARROW:
                # repeating row numbers and adding flat arrays is faster than adding short rows
                flat = flat.repeat(array.shape[-1], -1)
            self.flat = np.add(flat, array, flat if array.ndim and flat.shape == array.shape else None) if k else array
        others = tuple([shape[d] for d in self.rest])
        self.given = others[: self.lead] + self.flat.shape + others[self.lead :]

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Scatter-add: zeros of the indexed shape, with values of the shape ``given`` added at the index."""
        n, lead = self.flat.ndim, self.lead
        if lead:
            values = values.transpose(*range(lead, lead + n), *range(lead), *range(lead + n, values.ndim))
        flat, values = self.flat.reshape(-1), values.reshape(self.flat.size, self.columns)
        order = self.dims + self.rest
        out = np.zeros([self.shape[d] for d in order] if self.shape else (), values.dtype)
        matrix = out.reshape(self.count, self.columns)
        sums = kernels.run("embedding", "add_rows", values.size, values, flat, self.count) if self.columns > 1 else None
        if sums is not None:
            out = sums.reshape(out.shape)
        elif not values.size:
            pass
        elif self.columns == 1 and values.dtype.kind == "f":  # bincount sums in float64
            matrix.reshape(-1)[...] = np.bincount(flat, values.reshape(-1), self.count)
        elif self.columns == 1:
            np.add.at(matrix.reshape(-1), flat, values.reshape(-1))
        elif not self.overwritten().any():
            matrix[flat] = values
        elif values.size < 1 << 16:
            cells = flat[:, None] * self.columns + np.arange(self.columns)
            np.add.at(matrix.reshape(-1), cells.reshape(-1), values.reshape(-1))
        else:  # large enough for the import to pay
            from scipy.sparse import csc_array

            ones = np.ones(flat.size, values.dtype)
            sums = csc_array((ones, flat, np.arange(flat.size + 1)), shape=matrix.shape[:1] + flat.shape) @ values
            out = sums if sums.shape == out.shape else sums.reshape(out.shape)
        return out.transpose(inverse_permutation(order)) if order != sorted(order) else out

    def overwritten(self) -> np.ndarray:
        """Which row numbers occur again later, shaped to mask the result of the index."""
        again = _is_overwritten([self.flat], (self.count,), self.flat.shape)
        return again.reshape(again.shape + (1,) * (len(self.rest) - self.lead))


# --- what an index means ----------------------------------------------------------------------------------------


def index_array(item: Any) -> np.ndarray:
    """An index given as a tensor, an array or nested sequences, as an array of integers or a mask.

    Raises:
        IndexError: for other types.
        TypeError: for strings.
    """
    if isinstance(item, Tensor):
        array = item._array
        if array.dtype.kind == "b" or array.dtype.kind == "i" and (array.itemsize >= 4 or not array.ndim):
            return array if array.flags.c_contiguous else array.copy()  # C order decides which write is the last
        if array.dtype == np.uint8:
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                UserWarning,
                stacklevel=3,
            )
            return array.astype(bool)
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(item, (ndarray, Sequence)):
        raise IndexError(
            f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        )
    array = np.asarray(item, order="C")
    return array if array.dtype.kind in "bi" else array.astype(np.intp)


def parse_index(shape: tuple[int, ...], index: Any) -> tuple[tuple[Any, ...] | None, str, list[Any] | None]:
    """An index as a basic index (None if it selects everything), the node's name, and an advanced index (or None)."""
    items = index
    if index.__class__ is not tuple:
        items = (index,)
        if index.__class__ is list and len(index) < 32:  # a short list of slices is a tuple, PyTorch's legacy rule
            if any(i is None or i is ... or isinstance(i, (slice, Tensor, ndarray, Sequence)) for i in index):
                warnings.warn(
                    "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] "
                    "instead of x[seq].",
                    UserWarning,
                    stacklevel=3,
                )
                items = tuple(index)
    for item in items:
        if not (item.__class__ is int or item.__class__ is slice or item is None or item is ...):
            return parse_advanced(shape, items)
    name = view_node_name(shape, items) or ("SliceBackward0" if index.__class__ is slice else "AliasBackward0")
    if ... not in items:
        return (*items, ...), name, None
    first = items.index(...)  # a second Ellipsis is ignored
    return (*items[: first + 1], *[i for i in items[first + 1 :] if i is not ...]), name, None


def view_node_name(shape: tuple[int, ...], items: Sequence[Any]) -> str:
    """The node's name for a basic index: that of its last step with an effect."""
    name = ""
    for k, item in enumerate(items):
        if item.__class__ is slice:
            step = item.step
            if step is not None and step <= 0:
                raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
            if (
                item.start
                or step not in (None, 1)
                or item.stop is not None
                and item.stop != _indexed_size(shape, items, k)
            ):
                name = "SliceBackward0"
        elif item is None:
            name = "UnsqueezeBackward0"
        elif item is not ...:
            name = "SelectBackward0"
    return name


def _indexed_size(shape: tuple[int, ...], items: Sequence[Any], k: int) -> int | None:
    """The size of the dimension that the k-th item of a basic index applies to."""
    before = items[:k]
    d = sum(i is not None for i in before) if ... not in before else len(shape) - sum(i is not None for i in items[k:])
    return shape[d] if 0 <= d < len(shape) else None


def parse_advanced(
    shape: tuple[int, ...], items: Sequence[Any]
) -> tuple[tuple[Any, ...] | None, str, list[Any] | None]:
    """:func:`parse_index` for an index with tensors, arrays, lists or bools in it."""
    steps: list[Any] = []
    taken = 0  # dimensions consumed by the index
    for item in items:
        if not (
            item is None or item is ... or item is True or item is False or isinstance(item, (int, slice, np.integer))
        ):
            item = index_array(item)
            if item.ndim == 0 and item.__class__ is ndarray:
                item = bool(item) if item.dtype.kind == "b" else int(item)
        steps.append(item)
        if not (item is None or item is ... or item is True or item is False):
            taken += item.ndim if (item.__class__ is ndarray or is_level_value(item)) and item.dtype.kind == "b" else 1
    if taken > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    part: list[Any] = []
    at: list[Any] = []
    for item in steps:
        if item is ...:
            rest = [WHOLE] * (len(shape) - taken)
            taken = len(shape)  # a second Ellipsis is ignored
            part += rest
            at += rest
        elif item is True or item is False:
            part.append(None)
            at.append(np.array([item]))
        elif item.__class__ is ndarray or is_level_value(item):
            part += [WHOLE] * (item.ndim if item.dtype.kind == "b" else 1)
            at.append(item)
        else:
            part.append(item)
            if item is None or item.__class__ is slice:
                at.append(WHOLE)
    name = view_node_name(shape, part)
    while at and at[-1].__class__ is slice:
        at.pop()
    return (*part, ...) if name or not at else None, name or "AliasBackward0", at or None


# --- x[index] ---------------------------------------------------------------------------------------------------


def get(self: Tensor, index: Any) -> Tensor:
    """``self[index]``; see the module's docstring.

    Raises:
        IndexError: for an index out of bounds, or more of them than dimensions.
        ValueError: for a slice with a negative step.
    """
    kind = index.__class__
    if kind is int:
        array = self._array
        if (
            self._fn is self._view is None
            and array.__class__ is ndarray
            and self.__class__ is Tensor
            and not (thread_state.slow_path_reasons or thread_state.no_grad_threads)
            and array.ndim
            and -len(array) <= index < len(array)
        ):  # what view_part does then, in half the time
            result = record.bare(array[index, ...])
            result._view = (self, clock(), views.ORDINARY)
            return result
        return view_part(self, (index, ...), "SelectBackward0")
    if kind is slice and index.step is None:
        return view_part(self, (index, ...), "SliceBackward0")
    if thread_state.function_modes or thread_state.overridden:
        result = dispatch(get, (self, index), {})
        if result is not NOT_OVERRIDDEN:
            return result
    if kind is Tensor and index._array.ndim:
        return take_at(self, [index_array(index)])
    try:
        part, name, at = parse_index(self._array.shape, index)
    except (IndexError, TypeError):
        result = overridden(Tensor.__getitem__, (self, index), {})
        if result is not NOT_OVERRIDDEN:
            return result
        raise
    x = self if part is None else view_part(self, part, name)
    return x if at is None else take_at(x, at)


# --- x[index] = value -------------------------------------------------------------------------------------------


def put(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``: a number, or a tensor or array that broadcasts to ``self[index]``."""
    if (value.__class__ is float or value.__class__ is int) and _put_number(self, index, value):
        return
    if isinstance(value, Tensor):
        shape = value._array.shape
        if shape and shape[0] == 1:  # any number of leading ones broadcasts away
            value = reshape(value, shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :])
    elif not isinstance(value, (int, float, complex, np.generic, ndarray)):
        if overridden(Tensor.__setitem__, (self, index, value), {}) is not NOT_OVERRIDDEN:
            return
        raise TypeError(f"can't assign a {type(value).__name__} to a torch.{type_name(self.dtype)}Tensor")
    elif self._array.dtype.itemsize == 2 and not isinstance(value, ndarray):
        value = stored_number(value, self._array.dtype)
    try:
        part, name, at = parse_index(self._array.shape, index)
    except (IndexError, TypeError):
        if overridden(Tensor.__setitem__, (self, index, value), {}) is not NOT_OVERRIDDEN:
            return
        raise
    if thread_state.slow_path_reasons and (
        is_level_value(views.current_array(self)) or isinstance(value, Tensor) and is_level_value(value._array)
    ):
        x = self if part is None else view_part(self, part, name)
        if at is None:
            x.copy_(value if isinstance(value, Tensor) else wrap(np.asarray(value)))
        else:
            inplace.assign(x, "index_put_", put_at(x, value, at))
        return
    if at is None:
        assign_part(self, value, part)
        return
    x = self if part is None else view_part(self, part, name)
    if isinstance(value, Tensor) and value._array.dtype != x._array.dtype:
        if value._array.ndim or at[-1].dtype.kind != "b":
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{type_name(x.dtype)} for the destination and {type_name(value.dtype)} for the source."
            )
        cast_number(value._array.item(), x._array.dtype)
        value = value.to(x.dtype)
    assign_at(x, value, at)


def _put_number(x: Tensor, index: Any, value: float) -> bool:
    """:func:`put` of a number into a tensor of which autograd knows nothing; whether it was done."""
    array = x._array
    if (
        thread_state.slow_path_reasons
        or not (x._fn is x._view is None and x.__class__ is Tensor and array.__class__ is ndarray)
        or x.__dict__
        or 0 in array.strides
        or views.before_write
        or thread_state.local.arguments
    ):
        return False
    if array.dtype.kind == "f":
        fits = array.itemsize > 2 and -1e38 < value < 1e38
    else:
        fits = array.dtype.kind == "i" and value.__class__ is int and -128 <= value < 128
    if not fits:
        return False
    for item in index if index.__class__ is tuple else (index,):
        if not (item.__class__ is int or item is ... or item.__class__ is slice and item.step is None):
            return False
    try:
        array[index] = value
    except (IndexError, ValueError):
        return False
    versions.bump_tensor_version(x, 2)
    return True


def assign_part(x: Tensor, value: Any, part: Any) -> None:
    """Write a number, tensor or array into a part of ``x`` in place, and record it."""
    try:
        given, edges = prepare_write(x, value, "a leaf" if part in (None, (...,)) else "a view of a leaf")
    except RuntimeError:
        part_to_write(x._array, part)  # an index that is wrong for any tensor is said to be so
        raise
    target = part_to_write(x._array, part)
    versions.refuse_repeats(target)
    inplace.refuse_shared(target, given, partial=True)
    if given.__class__ is ndarray:
        given = part_to_cast(given, target.dtype)
    try:
        target[...] = given
    except ValueError:
        raise RuntimeError(expand_error(np.asarray(given), list(target.shape))) from None
    if x._view is None or edges is None:
        record_write(x, edges, write_part.op, "CopySlices", (x._array, given, part, "CopySlices"))
    else:
        versions.bump_tensor_version(x)
        views.rebase_base(x, edges[1], target)


def part_to_write(array: ndarray, part: Any) -> Any:
    """The part of an array at a basic index.

    Raises:
        IndexError: in PyTorch's words.
    """
    try:
        return array[part]
    except IndexError as error:
        raise torch_index_error(error, array, part) from None


def assign_at(
    x: Tensor,
    value: Any,
    at: list[Any],
    accumulate: bool = False,
    name: str = "IndexPutBackward0",
    dim: int | None = None,
) -> Tensor:
    """:func:`put_at` in place: write a number, tensor or array into ``x`` at an advanced index."""
    if thread_state.slow_path_reasons and (
        is_level_value(views.current_array(x))
        or isinstance(value, Tensor)
        and is_level_value(value._array)
        or any(map(is_level_value, at))
    ):
        for v in (value._array if isinstance(value, Tensor) else value, *at):
            inplace.refuse_shared(x._array, v)
        return inplace.assign(x, name, put_at(x, value, at, accumulate, name, dim))
    given, edges = prepare_write(x, value)
    versions.refuse_repeats(x._array)
    for v in (given, *at):
        inplace.refuse_shared(x._array, v)
    apart = [v.copy() if v.__class__ is ndarray and np.may_share_memory(v, x._array) else v for v in (given, *at)]
    write_into(x._array, apart[0], apart[1:], accumulate, dim)
    record_write(x, edges, put_at.op, name, (x._array, given, at, accumulate, name, dim))
    return x


def prepare_write(x: Tensor, value: Any, what: str = "a leaf") -> tuple[Any, tuple[Any, Any] | None]:
    """The value as an array or number, and the gradient edges of ``x`` and of it (None if nothing is recorded)."""
    f = views.gradient_edge(value) if isinstance(value, Tensor) else None
    views.check_writable(x, what, f)
    if isinstance(value, Tensor):
        given = value._array
    else:
        value = value.item() if isinstance(value, np.generic) else value
        given = value if isinstance(value, ndarray) else cast_number(value, x._array.dtype)
    e = views.gradient_edge(x)
    recorded = (
        (e is not None or f is not None)
        and thread_state.is_grad_enabled()
        and OF_NUMPY[x._array.dtype].category >= FLOATING
    )
    return given, (e, f) if recorded else None


def record_write(x: Tensor, edges: tuple[Any, Any] | None, written_by: op.Op, name: str, args: tuple[Any, ...]) -> None:
    """Bump the version of ``x``, which was just written into, and rebase its history onto that operation."""
    versions.bump_tensor_version(x)
    if edges is not None:
        result = wrap(x._array)
        slow_call.attach_node(written_by, name, edges, args, (x._array,), result, 2)
        views.rebase_history(x, result._fn)


get.__name__ = "__getitem__"
Tensor.__getitem__ = get  # type: ignore[assignment, method-assign]
Tensor.__setitem__ = put  # type: ignore[assignment, method-assign]
