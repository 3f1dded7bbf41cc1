"""Parts of a tensor: some of its elements, named by where they are.

A part is a basic NumPy index (a tuple of integers, slices and None, with an Ellipsis) or a window: what one view of
some memory shows of another. Five linear operations, which are each other's derivatives, look at a part or copy it,
place one among zeros, and overwrite one with zeros or with other values. Indexing is made of them, and so is the
history of a tensor that was written into through a view (:mod:`pullback.storage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import conjugates, op, slowly
from ..device import CPU
from ..outcome import wrap
from ..tensor import Tensor
from .choosing import where


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


class Window:
    """Elements at fixed strides, none of them twice, in a tensor whose memory has no gaps.

    Attributes:
        order: the tensor's dimensions from the outermost in memory to the innermost (None: as they are).
        shape, strides, offset: of the window, counted in elements.
    """

    __slots__ = ("order", "shape", "strides", "offset")

    def __init__(
        self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, order: tuple[int, ...] | None = None
    ) -> None:
        self.shape, self.strides, self.offset, self.order = shape, strides, offset, order

    def of(self, laid: np.ndarray) -> np.ndarray:
        """The window as a view of an array that is contiguous in memory order."""
        n = laid.itemsize
        return strided(laid, self.shape, tuple([s * n for s in self.strides]), self.offset * n)

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

    def last(self) -> np.ndarray:
        """Where an element is not shown once more later."""
        numbers = np.arange(self.at.size).reshape(self.at.shape)
        latest = np.empty(self.at.max(initial=0) + 1, np.intp)
        latest[self.at] = numbers
        return latest[self.at] == numbers

    def overwritten(self, array: np.ndarray, value: Any) -> np.ndarray:
        flat = np.append(array, array.dtype.type(0))
        flat[self.at] = value
        return flat[:-1].reshape(array.shape)


def window(base: np.ndarray, view: np.ndarray) -> Window | Positions:
    """Which elements of ``base`` the array ``view``, of the same memory and type, shows."""
    return window_at(base.shape, base.strides, base.itemsize, view.shape, view.strides, address(view) - address(base))


def window_at(
    base: tuple[int, ...],
    base_strides: tuple[int, ...],
    itemsize: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Window | Positions:
    """The same from the geometry of both (strides in bytes); the view begins ``offset`` bytes after the base's first
    element.
    """
    if 0 in shape:
        return Window(shape, (0,) * len(shape), 0)
    order: tuple[int, ...] | None = None
    dense = in_order = contiguous(base, base_strides, itemsize)
    if not dense:
        order = tuple(sorted(range(len(base)), key=lambda d: -base_strides[d]))
        dense = contiguous([base[d] for d in order], [base_strides[d] for d in order], itemsize)
    reach = 0  # how far the dimensions of smaller strides extend; a larger stride must step over them
    for s, n in sorted((s, n) for s, n in zip(strides, shape) if n > 1):
        dense = dense and s > reach
        reach += s * (n - 1)
    end = prod(base) * itemsize
    if dense and 0 <= offset <= offset + reach < end:
        return Window(shape, tuple(s // itemsize for s in strides), offset // itemsize, order)
    wanted = offset + offsets(shape, strides)
    if in_order:
        return Positions(np.where((0 <= wanted) & (wanted < end), wanted // itemsize, prod(base)))
    there = offsets(base, base_strides).reshape(-1)
    rank = np.argsort(there, kind="stable")
    k = np.minimum(np.searchsorted(there[rank], wanted), len(rank) - 1)
    return Positions(np.where(there[rank[k]] == wanted, rank[k], len(rank)))


def steps(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous array."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether elements lie in order and without gaps."""
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1:
            if s != itemsize:
                return False
            itemsize *= n
    return True


def offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Where each element lies, in bytes after the first."""
    at = np.zeros((), np.intp)
    for n, s in zip(shape, strides):
        at = at[..., None] + np.arange(n) * s
    return at


def address(array: Any) -> int:
    """Where the first element lies in memory; of a conjugate that shares it, in that of the tensor."""
    while not isinstance(array, np.ndarray):  # lifted: the first example's, the primal's
        if array.device is not CPU:
            return 0
        array = array.value
    return conjugates.address(array)


def strided(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None
) -> np.ndarray:
    """A view of a contiguous array with any geometry (in bytes) and type. NumPy refuses one that leaves the memory.

    Unlike ``np.lib.stride_tricks.as_strided``, the view's ``base`` is the array that owns the memory.
    """
    d = array.dtype
    if 0 in shape:
        return np.empty(shape, dtype or d)
    memory = array.view(f"u{array.itemsize}") if d.kind == "V" else array  # bfloat16 exports no buffer
    return np.ndarray(shape, dtype or d, memory, offset, strides)


# --- the history of tensors written into through views ----------------------------------------------------------


def window_node(edge: Any, base: np.ndarray, view: np.ndarray) -> Any:
    """The node of a view of ``base``, whose present history ends in ``edge``."""
    if conjugates.turned(base, view):
        edge = conjugate_of(edge, base)
    if base.dtype.kind != view.dtype.kind:
        other = wrap(base)
        other._fn = edge
        other = in_kind_of(view, edge if isinstance(edge, Tensor) else other)
        edge, base = other._fn, other._array
    result = wrap(view)
    name = "AsStridedBackward0"
    slowly.record(read.op, name, (edge,), (base, window(base, view), name), (view,), result, 2)
    return result._fn


def window_written_node(base: Tensor, edge: Any, view: np.ndarray) -> Any:
    """The node of ``base`` after its window ``view`` was overwritten by what ``edge`` leads to."""
    turned = conjugates.turned(base._array, view)
    before = base
    if turned:
        before = wrap(base._array)
        before._fn = conjugate_of(base._fn, base._array)
    seen = before if base._array.dtype.kind == view.dtype.kind else in_kind_of(view, before)
    array = seen._array
    result = wrap(array)
    name = "CopySlices"
    slowly.record(write.op, name, (seen._fn, edge), (array, view, window(array, view), name), (array,), result, 2)
    fn = (result if seen is before else in_kind_of(base._array, result))._fn
    return conjugate_of(fn, base._array) if turned else fn


def conjugate_of(edge: Any, array: np.ndarray) -> Any:
    """The edge to the conjugate of ``array``, to which ``edge`` leads."""
    from .complex import conjugate_view

    result = wrap(array)
    if edge is not None:
        slowly.record(conjugate_view.op, "ConjBackward0", (edge,), (array,), (array,), result, 3)
    return result._fn


def in_kind_of(array: np.ndarray, x: Tensor) -> Tensor:
    """``x`` as a real tensor if the array is real, as a complex one if it is complex."""
    from .complex import view_as_complex, view_as_real

    return view_as_complex(x) if array.dtype.kind == "c" else view_as_real(x)
