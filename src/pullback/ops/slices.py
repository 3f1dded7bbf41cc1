"""Ops on a part of a tensor (``view_part``, ``read_part``, ``place_part``, ``write_part``), and the nodes of views.

A part is a basic NumPy index (a tuple of integers, slices and None, with an Ellipsis) or a window: the elements of one
array that another view of the same memory has. Five linear operations, which are each other's derivatives, view a part,
copy it, place it among zeros, and overwrite it with zeros or with other values. Basic indexing is made of them, and so
is the history of a tensor that was written into through a view (:mod:`pullback.core.versions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..base.dtypes import COMPLEX_KINDS
from ..core import conj_views, op, slots, slow_call
from ..core.conj_views import address
from ..core.geometry import Positions, Window, window_at
from ..core.record import wrap
from ..core.tensor import Tensor
from .where import where


def basic_index(dim: int, item: Any) -> tuple[Any, ...]:
    """The basic index that applies ``item`` to one dimension."""
    return (slice(None),) * dim + (item, ...)


def torch_index_error(error: IndexError, array: np.ndarray, index: Sequence[Any]) -> IndexError:
    """PyTorch's error for an index that NumPy refused."""
    message = str(error)
    if message.startswith("too many"):
        if not array.ndim:
            return IndexError(
                "slice() cannot be applied to a 0-dim tensor."
                if isinstance(index[0], slice)
                else "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        return IndexError(f"too many indices for tensor of dimension {array.ndim}")
    if message.startswith("shape mismatch"):
        shapes = ", ".join(str(list(i.shape)) for i in index if isinstance(i, np.ndarray))
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    d = 0
    for i in index:
        if isinstance(i, np.ndarray) and i.dtype.kind == "b":
            for k, n in enumerate(i.shape):
                if array.shape[d + k] != n:
                    return IndexError(
                        f"The shape of the mask {list(i.shape)} at index {k} does not match the shape of the "
                        f"indexed tensor {list(array.shape)} at index {d + k}"
                    )
            d += i.ndim - 1
        d += 1
    return IndexError(message.replace("for axis", "for dimension"))


@op.view(name="basic_part", node="name", method=False)
def view_part(input: Tensor, part: tuple[Any, ...], name: str) -> Tensor:
    """The view that a basic NumPy index (with an Ellipsis) selects; ``name`` is the node's."""
    try:
        return input[part]
    except IndexError as error:
        raise torch_index_error(error, input, part) from None


@op.general(name="read_part", node="name", holomorphic=False, method=False, linear="input")
def read_part(input: Tensor, part: Any, name: str = "AsStridedBackward0") -> Tensor:
    """A copy of the part's elements, in the part's shape."""
    return input[part].copy() if part.__class__ is tuple else part.read(input)


@op.general(name="place_part", node="name", holomorphic=False, method=False, linear="input")
def place_part(input: Tensor, part: Any, shape: tuple[int, ...], name: str = "PlacePartBackward0") -> Tensor:
    """Zeros of that shape, with the input's elements added to the part's."""
    if part.__class__ is not tuple:
        return part.place(input, shape)
    out = np.zeros(shape, input.dtype)
    out[part] = input
    return out


@op.general(name="blank_part", holomorphic=False, method=False, linear="input")
def blank_part(input: Tensor, part: Any) -> Tensor:
    """A copy of the input in which the part's elements are zero."""
    return with_part(input, part, 0)


@op.general(name="write_part", node="name", holomorphic=False, method=False)
def write_part(input: Tensor, value: Tensor, part: Any, name: str = "CopySlices") -> Tensor:
    """A copy of the input in which the part's elements are those of ``value``, broadcast and cast."""
    return with_part(input, part, value)


def with_part(array: np.ndarray, part: Any, value: Any) -> np.ndarray:
    if part.__class__ is not tuple:
        return part.overwritten(array, value)
    out = array.copy()
    out[part] = value
    return out


view_part.vjp(input=lambda g, input_shape, part: place_part(g, part, input_shape))
read_part.vjp(input=lambda g, part, input_shape: place_part(g, part, input_shape))
place_part.vjp(input=lambda g, part: read_part(g, part))
blank_part.vjp(input=lambda g, part: blank_part(g, part))
write_part.vjp(input=lambda g, part: blank_part(g, part), value=lambda g, part: _write_part_vjp(g, part))


def _write_part_vjp(g: Any, part: Any) -> Any:
    """The gradient of the value written into a part; where the part repeats an element, only the last write counts."""
    taken = read_part(g, part)
    return where(part.last(), taken, 0) if part.__class__ is Positions else taken


# --- windows ----------------------------------------------------------------------------------------------------


def part_of_view(base: np.ndarray, view: np.ndarray) -> Window | Positions:
    """The elements of ``base`` that the array ``view``, of the same memory and dtype, consists of."""
    return window_at(base.shape, base.strides, base.itemsize, view.shape, view.strides, address(view) - address(base))


# --- the history of tensors written into through views ----------------------------------------------------------


def window_node(edge: Any, base: np.ndarray, view: np.ndarray) -> Any:
    """A node for a view of ``base``, given the gradient edge of ``base``: ``AsStridedBackward0``."""
    conj, neg = conj_views.turns(base, view)
    if conj:
        edge = conj_edge(edge, base)
    if base.dtype.kind != view.dtype.kind:
        other = wrap(base)
        other._fn = edge
        other = match_complexness(view, edge if isinstance(edge, Tensor) else other)
        edge, base = other._fn, other._array
    if neg:
        edge = neg_edge(edge, base)
    result = wrap(view)
    name = "AsStridedBackward0"
    slow_call.attach_node(read_part.op, name, (edge,), (base, part_of_view(base, view), name), (view,), result, 2)
    return result._fn


def window_written_node(base: Tensor, edge: Any, view: np.ndarray) -> Any:
    """The node of ``base`` (``CopySlices``) after ``view``, a part of it, was overwritten by a value with that edge."""
    conj, neg = conj_views.turns(base._array, view)
    before = base
    if conj:
        before = wrap(base._array)
        before._fn = conj_edge(base._fn, base._array)
    seen = before if base._array.dtype.kind == view.dtype.kind else match_complexness(view, before)
    array = seen._array
    result = wrap(array)
    name, old = "CopySlices", neg_edge(seen._fn, array) if neg else seen._fn
    slow_call.attach_node(
        write_part.op, name, (old, edge), (array, view, part_of_view(array, view), name), (array,), result, 2
    )
    if neg:
        result._fn = neg_edge(result._fn, array)
    fn = (result if seen is before else match_complexness(base._array, result))._fn
    return conj_edge(fn, base._array) if conj else fn


def conj_edge(edge: Any, array: np.ndarray) -> Any:
    """The gradient edge of the conjugate of ``array``, whose edge is ``edge``."""
    result = wrap(array)
    if edge is not None:
        slow_call.attach_node(ops.complex.conj_view.op, "ConjBackward0", (edge,), (array,), (array,), result, 3)
    return result._fn


def neg_edge(edge: Any, array: np.ndarray) -> Any:
    """The gradient edge of the negative of ``array``, whose edge is ``edge``."""
    result = wrap(array)
    if edge is not None:
        slow_call.attach_node(ops.complex.neg_view.op, "NegViewBackward0", (edge,), (array,), (array,), result, 1)
    return result._fn


def match_complexness(array: np.ndarray, x: Tensor) -> Tensor:
    """``x`` viewed as real if the array is real, as complex if it is complex."""
    return ops.complex.view_as_complex(x) if array.dtype.kind in COMPLEX_KINDS else ops.complex.view_as_real(x)


slots.fill(view_node=window_node, write_node=window_written_node)
