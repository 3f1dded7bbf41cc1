"""Parts of a tensor: some of its elements, named by where they are.

A part is a basic NumPy index (a tuple of integers, slices and None, with an Ellipsis) or a window: what one view of
some memory shows of another. Four linear operations, which are each other's derivatives, read a part, place one
among zeros, and overwrite one with zeros or with other values. Indexing is made of them, and so is the history of a
tensor that was written into through a view (:mod:`pullback.storage`).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import op
from ..op import wrap
from ..tensor import Tensor


@op.general(name="read_part", node="AsStridedBackward0", holomorphic=False, method=False)
def read(input: Tensor, part: Any) -> Tensor:
    """A copy of the part's elements, in the part's shape."""
    return input[part].copy() if part.__class__ is tuple else part.read(input)


@op.general(name="place_part", holomorphic=False, method=False)
def place(input: Tensor, part: Any, shape: tuple[int, ...]) -> Tensor:
    """Zeros of that shape, with the input's elements added to the part's."""
    if part.__class__ is not tuple:
        return part.place(input, shape)
    out = np.zeros(shape, input.dtype)
    out[part] = input
    return out


@op.general(name="blank_part", holomorphic=False, method=False)
def blank(input: Tensor, part: Any) -> Tensor:
    """A copy of the input in which the part's elements are zero."""
    return overwritten(input, part, 0)


@op.general(name="write_part", node="CopySlices", holomorphic=False, method=False)
def write(input: Tensor, value: Tensor, part: Any) -> Tensor:
    """A copy of the input in which the part's elements are those of ``value``, broadcast and cast."""
    return overwritten(input, part, value)


def overwritten(array: np.ndarray, part: Any, value: Any) -> np.ndarray:
    if part.__class__ is not tuple:
        return part.overwritten(array, value)
    out = array.copy()
    out[part] = value
    return out


read.vjp(input=lambda g, part, input_shape: place(g, part, input_shape))
place.vjp(input=lambda g, part: read(g, part))
blank.vjp(input=lambda g, part: blank(g, part))
write.vjp(input=lambda g, part: blank(g, part), value=lambda g, part: read(g, part))


# --- windows ----------------------------------------------------------------------------------------------------


class Window:
    """Elements at fixed strides, none of them twice, in a tensor whose memory has no gaps.

    Attributes:
        order: the tensor's dimensions from the outermost in memory to the innermost (None: as they are).
        shape, strides, offset: of the window, counted in elements.
    """

    __slots__ = ("order", "shape", "strides", "offset")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, order: tuple[int, ...] | None = None) -> None:
        self.shape, self.strides, self.offset, self.order = shape, strides, offset, order

    def of(self, laid: np.ndarray) -> np.ndarray:
        """The window as a view of an array that is contiguous in memory order."""
        n = laid.itemsize
        return strided(laid, self.shape, tuple(s * n for s in self.strides), self.offset * n)

    def read(self, array: np.ndarray) -> np.ndarray:
        laid = array if self.order is None else array.transpose(self.order)
        return self.of(np.ascontiguousarray(laid)).copy()

    def place(self, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        laid = np.zeros(shape if self.order is None else [shape[d] for d in self.order], value.dtype)
        self.of(laid)[...] = value
        return self.back(laid)

    def overwritten(self, array: np.ndarray, value: Any) -> np.ndarray:
        laid = (array if self.order is None else array.transpose(self.order)).copy(order="C")
        self.of(laid)[...] = value
        return self.back(laid)

    def back(self, laid: np.ndarray) -> np.ndarray:
        return laid if self.order is None else laid.transpose(np.argsort(self.order))


class Positions:
    """Elements anywhere: a flat index for each, one past the end for what lies outside of the tensor."""

    __slots__ = ("at",)

    def __init__(self, at: np.ndarray) -> None:
        self.at = at

    def read(self, array: np.ndarray) -> np.ndarray:
        return np.append(array, array.dtype.type(0))[self.at]

    def place(self, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        flat = np.zeros(prod(shape) + 1, value.dtype)
        np.add.at(flat, self.at.reshape(-1), value.reshape(-1))
        return flat[:-1].reshape(shape)

    def overwritten(self, array: np.ndarray, value: Any) -> np.ndarray:
        flat = np.append(array, array.dtype.type(0))
        flat[self.at] = value
        return flat[:-1].reshape(array.shape)


def window(base: np.ndarray, view: np.ndarray) -> Window | Positions:
    """Which elements of ``base`` the array ``view``, of the same memory and type, shows."""
    return window_at(base, view.shape, view.strides, address(view) - address(base))


def window_at(base: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Window | Positions:
    """The same for a view of that geometry (in bytes), ``offset`` after the base's first element."""
    if 0 in shape:
        return Window(shape, (0,) * len(shape), 0)
    n = base.itemsize
    order: tuple[int, ...] | None = None
    dense = base.flags.c_contiguous
    if not dense:
        order = tuple(sorted(range(base.ndim), key=lambda d: -base.strides[d]))
        dense = base.transpose(order).flags.c_contiguous
    steps = sorted((s, m) for s, m in zip(strides, shape) if m > 1)
    reach = 0  # how far the dimensions of smaller strides extend; a larger stride must step over them
    for s, m in steps:
        dense = dense and s > reach
        reach += s * (m - 1)
    if dense and 0 <= offset <= offset + reach < base.nbytes:
        return Window(shape, tuple(s // n for s in strides), offset // n, order)
    wanted = offset + offsets(shape, strides)
    if base.flags.c_contiguous:
        return Positions(np.where((0 <= wanted) & (wanted < base.nbytes), wanted // n, base.size))
    there = offsets(base.shape, base.strides).reshape(-1)
    rank = np.argsort(there, kind="stable")
    k = np.minimum(np.searchsorted(there[rank], wanted), base.size - 1)
    return Positions(np.where(there[rank[k]] == wanted, rank[k], base.size))


def offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Where each element lies, in bytes after the first."""
    at = np.zeros((), np.intp)
    for n, s in zip(shape, strides):
        at = at[..., None] + np.arange(n) * s
    return at


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def strided(array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    """A view of a contiguous array with any geometry (in bytes). NumPy refuses one that leaves the memory.

    Unlike ``np.lib.stride_tricks.as_strided``, the view's ``base`` is the array that owns the memory.
    """
    if 0 in shape:
        return np.empty(shape, array.dtype)
    memory = array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array  # bfloat16 exports no buffer
    return np.ndarray(shape, array.dtype, memory, offset, strides)


# --- the history of tensors written into through views ----------------------------------------------------------


def window_node(edge: Any, base: np.ndarray, view: np.ndarray) -> Any:
    """The node of a view of ``base``, whose present history ends in ``edge``."""
    result = wrap(view)
    op.record(read.op, "AsStridedBackward0", (edge,), (base, window(base, view)), (view,), result, 2)
    return result._fn


def window_written_node(base: Tensor, edge: Any, view: np.ndarray) -> Any:
    """The node of ``base`` after its window ``view`` was overwritten by what ``edge`` leads to."""
    result = wrap(base._array)
    op.record(write.op, "CopySlices", (base._fn, edge), (base._array, view, window(base._array, view)), (base._array,), result, 2)
    return result._fn
