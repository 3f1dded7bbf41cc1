"""Parts of a tensor: some of its elements, named by where they are.

A part is a basic NumPy index (a tuple of integers, slices and None, with an Ellipsis) or a window: what one view of
some memory shows of another. Five linear operations, which are each other's derivatives, look at a part or copy it,
place one among zeros, and overwrite one with zeros or with other values. Indexing is made of them, and so is the
history of a tensor that was written into through a view (:mod:`pullback.core.versions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import conj_views, op, slots, slow_call
from ..core.conj_views import address
from ..core.geometry import Positions, Window, window_at
from ..core.record import wrap
from ..core.tensor import Tensor
from .where import where


def basic(dim: int, item: Any) -> tuple[Any, ...]:
    """The basic index that applies ``item`` to one dimension."""
    return (slice(None),) * dim + (item, ...)


def in_torchs_words(error: IndexError, array: np.ndarray, index: Sequence[Any]) -> IndexError:
    """What PyTorch says of an index that NumPy refused."""
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
def look(input: Tensor, part: tuple[Any, ...], name: str) -> Tensor:
    """What a basic NumPy index, which has an Ellipsis, shows; ``name`` is the node's."""
    try:
        return input[part]
    except IndexError as error:
        raise in_torchs_words(error, input, part) from None


@op.general(name="read_part", node="name", holomorphic=False, method=False, linear="input")
def read(input: Tensor, part: Any, name: str = "AsStridedBackward0") -> Tensor:
    """A copy of the part's elements, in the part's shape."""
    return input[part].copy() if part.__class__ is tuple else part.read(input)


@op.general(name="place_part", node="name", holomorphic=False, method=False, linear="input")
def place(input: Tensor, part: Any, shape: tuple[int, ...], name: str = "PlacePartBackward0") -> Tensor:
    """Zeros of that shape, with the input's elements added to the part's."""
    if part.__class__ is not tuple:
        return part.place(input, shape)
    out = np.zeros(shape, input.dtype)
    out[part] = input
    return out


@op.general(name="blank_part", holomorphic=False, method=False, linear="input")
def blank(input: Tensor, part: Any) -> Tensor:
    """A copy of the input in which the part's elements are zero."""
    return overwritten(input, part, 0)


@op.general(name="write_part", node="name", holomorphic=False, method=False)
def write(input: Tensor, value: Tensor, part: Any, name: str = "CopySlices") -> Tensor:
    """A copy of the input in which the part's elements are those of ``value``, broadcast and cast."""
    return overwritten(input, part, value)


def overwritten(array: np.ndarray, part: Any, value: Any) -> np.ndarray:
    if part.__class__ is not tuple:
        return part.overwritten(array, value)
    out = array.copy()
    out[part] = value
    return out


look.vjp(input=lambda g, input_shape, part: place(g, part, input_shape))
read.vjp(input=lambda g, part, input_shape: place(g, part, input_shape))
place.vjp(input=lambda g, part: read(g, part))
blank.vjp(input=lambda g, part: blank(g, part))
write.vjp(input=lambda g, part: blank(g, part), value=lambda g, part: _of_written(g, part))


def _of_written(g: Any, part: Any) -> Any:
    """The gradient of what was written into a part; where the part shows an element twice, only the last write had an
    effect.
    """
    taken = read(g, part)
    return where(part.last(), taken, 0) if part.__class__ is Positions else taken


# --- windows ----------------------------------------------------------------------------------------------------


def window(base: np.ndarray, view: np.ndarray) -> Window | Positions:
    """Which elements of ``base`` the array ``view``, of the same memory and type, shows."""
    return window_at(base.shape, base.strides, base.itemsize, view.shape, view.strides, address(view) - address(base))


# --- the history of tensors written into through views ----------------------------------------------------------


def window_node(edge: Any, base: np.ndarray, view: np.ndarray) -> Any:
    """The node of a view of ``base``, whose present history ends in ``edge``."""
    if conj_views.differ_in_conj(base, view):
        edge = conjugate_of(edge, base)
    if base.dtype.kind != view.dtype.kind:
        other = wrap(base)
        other._fn = edge
        other = in_kind_of(view, edge if isinstance(edge, Tensor) else other)
        edge, base = other._fn, other._array
    result = wrap(view)
    name = "AsStridedBackward0"
    slow_call.attach_node(read.op, name, (edge,), (base, window(base, view), name), (view,), result, 2)
    return result._fn


def window_written_node(base: Tensor, edge: Any, view: np.ndarray) -> Any:
    """The node of ``base`` after its window ``view`` was overwritten by what ``edge`` leads to."""
    turned = conj_views.differ_in_conj(base._array, view)
    before = base
    if turned:
        before = wrap(base._array)
        before._fn = conjugate_of(base._fn, base._array)
    seen = before if base._array.dtype.kind == view.dtype.kind else in_kind_of(view, before)
    array = seen._array
    result = wrap(array)
    name = "CopySlices"
    slow_call.attach_node(
        write.op, name, (seen._fn, edge), (array, view, window(array, view), name), (array,), result, 2
    )
    fn = (result if seen is before else in_kind_of(base._array, result))._fn
    return conjugate_of(fn, base._array) if turned else fn


def conjugate_of(edge: Any, array: np.ndarray) -> Any:
    """The edge to the conjugate of ``array``, to which ``edge`` leads."""
    result = wrap(array)
    if edge is not None:
        slow_call.attach_node(ops.complex.conjugate_view.op, "ConjBackward0", (edge,), (array,), (array,), result, 3)
    return result._fn


def in_kind_of(array: np.ndarray, x: Tensor) -> Tensor:
    """``x`` as a real tensor if the array is real, as a complex one if it is complex."""
    return ops.complex.view_as_complex(x) if array.dtype.kind == "c" else ops.complex.view_as_real(x)


slots.fill(view_node=window_node, write_node=window_written_node)
