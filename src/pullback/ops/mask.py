"""``masked_fill``, ``masked_select``, ``masked_scatter``; ``nonzero`` and ``argwhere``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import errors, thread_state
from ..base.dtypes import COMPLEX_KINDS, TYPE_NAMES, cast_number, int64, type_name
from ..base.layout import as_contiguous
from ..core import inplace, op, record
from ..core.level import concrete_array, innermost_level, traced_numpy, unbatched
from ..core.tensor import Tensor
from .index import assign_at, put_at, take_at
from .scatter import check_filler, in_both_forms
from .slices import view_part
from .view import broadcast_tensors, reshape
from .where import places_of, where

__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "nonzero_static"]

BATCHED_MASK = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)
BATCHED_NONZERO = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::nonzero. "
    "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)


def _mask(mask: Any, refusal: str) -> np.ndarray:
    array = mask._array if isinstance(mask, Tensor) else np.asarray(mask)
    if array.dtype.kind != "b":
        raise RuntimeError(refusal)
    return array


@op.general(
    name="masked_fill",
    node=lambda input, value, mask: f"MaskedFillBackward{int(isinstance(value, Tensor))}",
    method=False,
    holomorphic=False,
)
def _masked_fill(input: Tensor, value: Tensor, mask: np.ndarray) -> Tensor:
    if isinstance(value, np.ndarray) and (value.dtype.kind not in COMPLEX_KINDS or input.dtype.kind in COMPLEX_KINDS):
        value = np.asarray(cast_number(value.item(), input.dtype), input.dtype)
    else:
        value = cast_number(value.item() if isinstance(value, np.ndarray) else value, input.dtype)
    return as_contiguous(np.where(mask, value, input))


_masked_fill.vjp(input=lambda g, mask: where(mask, 0, g), value=lambda g, mask: where(mask, g, 0))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with a number (or a 0-d tensor) where the mask is True; input and mask broadcast.

    >>> import pullback as torch
    >>> torch.masked_fill(torch.zeros(3), torch.tensor([True, False, True]), 7.0)
    tensor([7., 0., 7.])
    """
    check_filler(input, value, "masked_fill_")
    return _masked_fill(input, value, _fill_mask(mask))


def _fill_mask(mask: Any) -> np.ndarray:
    array = mask._array if isinstance(mask, Tensor) else np.asarray(mask)
    if array.dtype.kind != "b":
        names = {
            "uint8": "unsigned char",
            "float32": "float",
            "float64": "double",
            "int64": "long long",
            "int32": "int",
        }
        kind = str(mask.dtype).removeprefix("torch.")
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {names.get(kind, kind)}")
    return array


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of :func:`masked_fill`: writes into this tensor and returns it."""
    check_filler(self, value, "masked_fill_")
    at = [_broadcast_mask(_fill_mask(mask), self._array.shape, "masked_fill_")]
    return assign_at(self, value, at, False, f"MaskedFillBackward{int(isinstance(value, Tensor))}")


op.add_method(masked_fill, "masked_fill")
op.add_method(masked_fill_, "masked_fill_")


def _broadcast_mask(mask: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    if mask.shape == shape:
        return mask
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise errors.broadcast_error(name, [mask.shape, shape]) or RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(mask.shape)}"
        ) from None


@op.composite
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements where the mask is True, in one dimension; input and mask broadcast.

    >>> import pullback as torch
    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    _mask(mask, "masked_select: expected BoolTensor for mask")
    unbatched(BATCHED_MASK, mask)
    if input._array.shape != mask._array.shape:
        input, mask = broadcast_tensors(input, mask)
    result = take_at(input, [mask._array], "MaskedSelectBackward0")
    return result if out is None else inplace.write_picked(out, result, input, mask)


def _next_of_source(source: Tensor, mask: Any, refusal: str) -> Tensor:
    """The next element of the source wherever the mask is True, in the mask's shape, which does not depend on its
    values.
    """

    def places(mask: np.ndarray) -> np.ndarray:
        at = np.cumsum(mask, dtype=np.int64).reshape(mask.shape) - 1
        if mask.size and at.flat[-1] >= source.numel():
            raise RuntimeError(refusal)
        return np.maximum(at, 0)

    return take_at(reshape(source, (-1,)), [traced_numpy(places, mask)])


@in_both_forms
def masked_scatter(put: Callable, input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements of ``source``, one after the other, where the mask is True.

    >>> import pullback as torch
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    array = _mask(mask, "masked_scatter_ only supports boolean masks")
    if input._array.dtype != source._array.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{type_name(input.dtype)} and {type_name(source.dtype)}"
        )
    if put is put_at and input._array.shape != array.shape:
        input = broadcast_tensors(input, mask)[0]
    array = _broadcast_mask(array, input._array.shape, "masked_scatter_")
    refusal = "Number of elements of source < number of ones in mask"
    if innermost_level([array, source._array, input._array]) is thread_state.local.trace is not None:
        scattered = where(record.wrap(array), _next_of_source(source, array, refusal), input)
        return scattered if put is put_at else inplace.assign(input, "MaskedScatterBackward0", scattered)
    count = int(np.count_nonzero(array))
    if count > source._array.size:
        raise RuntimeError(refusal)
    if put is not put_at and np.may_share_memory(input._array, source._array):  # what is read was there before
        source = source.clone()
    values = view_part(reshape(source, (-1,)), (slice(count), ...), "SliceBackward0")
    return put(input, values, [array], False, "MaskedScatterBackward0")


def _argwhere(array: np.ndarray) -> np.ndarray:
    """``np.argwhere``, in a third of its time for small arrays."""
    return np.array(array.nonzero(), np.int64).T if array.ndim else np.argwhere(array)


@op.composite
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of the elements that are not 0: a row for each, or (``as_tuple``) a tensor for each dimension.

    >>> import pullback as torch
    >>> torch.nonzero(torch.tensor([0, 5, 0, 7]))
    tensor([[1],
            [3]])
    """
    unbatched(BATCHED_NONZERO, input)
    if out is not None and not isinstance(out, Tensor):
        raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out is not None and as_tuple:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if out is not None and out.dtype is not int64:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{TYPE_NAMES[out.dtype.name]}"
        )
    array = concrete_array(input._array)
    if as_tuple:
        return places_of(array)
    result = record.wrap(_argwhere(array))
    return result if out is None else inplace.write_out(out, result)


@op.composite
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not 0, a row for each."""
    return nonzero(input)


@op.composite
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The first ``size`` rows of :func:`nonzero`; rows of ``fill_value`` where there are fewer."""
    unbatched(BATCHED_NONZERO, input)
    rows = _argwhere(concrete_array(input._array))[:size]
    array = np.full((size, input._array.ndim), fill_value, np.int64)
    array[: len(rows)] = rows
    return record.wrap(array) if out is None else inplace.write_out(out, record.wrap(array))
