"""Strided geometry: views of an array's memory by strides, and where a view's elements lie in its base."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..base.errors import OutOfMemory
from .versions import owner_of


def restrided(array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    """A view of the memory of any array, with strides and a distance from its first element in bytes."""
    if array.flags.c_contiguous and offset >= 0:
        try:
            return strided(array, shape, strides, offset)
        except (ValueError, TypeError):  # it leaves the array, but perhaps not the memory
            pass
    memory = owner_of(array)
    if not memory.flags.c_contiguous:
        memory = memory.transpose(sorted(range(memory.ndim), key=lambda d: -memory.strides[d]))
    at = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return strided(memory, shape, strides, offset + at, array.dtype)


def check_geometry(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
    """Refuse a view of memory, counted in elements, that would begin before the memory does, or go backwards.

    Raises:
        RuntimeError: with the numbers.
    """
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if min(strides, default=0) < 0 or min(shape, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")


def regrown(
    array: np.ndarray, shape: tuple[int, ...], strides: Sequence[int], offset: int, d: np.dtype | None = None
) -> np.ndarray:
    """The memory of any array with another geometry, grown (which is to say copied) if that leaves it.

    Args:
        strides, offset: not negative, counted in elements; the offset from the memory's start.
        d: the type of the elements, by default the array's.
    """
    memory, d = owner_of(array), d or array.dtype
    end = offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides)]) if 0 not in shape else 0
    if (offset + end) * d.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
    if end * d.itemsize > memory.nbytes:
        try:
            grown = np.zeros(end, d)
        except (MemoryError, ValueError) as error:  # more than there is, or than can be counted
            raise OutOfMemory(f"DefaultCPUAllocator: can't allocate memory: {error}") from None
        grown.view(np.uint8)[: memory.nbytes] = bytes_of(memory)
        memory = grown
    elif not memory.flags.c_contiguous:
        memory = bytes_of(memory)
    return strided(memory, shape, tuple([s * d.itemsize for s in strides]), offset * d.itemsize, d)


def bytes_of(owner: np.ndarray) -> np.ndarray:
    """The memory that an array owns, in its order."""
    in_order = owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))
    return in_order.reshape(-1).view(np.uint8)


def same_place(array: np.ndarray, memory: np.ndarray, dim: int = 0) -> np.ndarray:
    """What lies in other memory as an array lies in that of its owner.

    Args:
        memory: the bytes, as many as the owner has; or, in more dimensions, rows of so many.
        dim: where the result has the dimensions of the rows.
    """
    shape = [*array.shape[:dim], *memory.shape[:-1], *array.shape[dim:]]
    strides = [*array.strides[:dim], *memory.strides[:-1], *array.strides[dim:]]
    if 0 in shape:
        return np.empty(shape, array.dtype)
    at = array.__array_interface__["data"][0] - owner_of(array).__array_interface__["data"][0]
    return np.ndarray(shape, array.dtype, memory, at, strides)


def copies_of(owner: np.ndarray, *counts: int) -> np.ndarray:
    """The bytes of an array that owns its memory, so many times."""
    return np.broadcast_to(bytes_of(owner), (*counts, owner.nbytes)).copy()


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
        if laid.flags.c_contiguous or 8 * prod(self.shape) > laid.size:
            return self.of(np.ascontiguousarray(laid)).copy()
        # few elements of what would have to be copied whole
        places = np.ix_(*[np.arange(n) * s for n, s in zip(self.shape, self.strides)])
        return np.asarray(laid[np.unravel_index(sum(places, self.offset), laid.shape)])

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


def window_at(
    base: tuple[int, ...],
    base_strides: tuple[int, ...],
    itemsize: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> Window | Positions:
    """Where a view's elements lie in its base, from the geometry of both.

    Args:
        base, base_strides, itemsize, shape, strides: of the base and of the view, strides in bytes.
        offset: how many bytes after the base's first element the view begins.
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
    wanted = offset + element_offsets(shape, strides)
    if in_order:
        return Positions(np.where((0 <= wanted) & (wanted < end), wanted // itemsize, prod(base)))
    there = element_offsets(base, base_strides).reshape(-1)
    rank = np.argsort(there, kind="stable")
    k = np.minimum(np.searchsorted(there[rank], wanted), len(rank) - 1)
    return Positions(np.where(there[rank[k]] == wanted, rank[k], len(rank)))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
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


def reshapes_in_place(shape: tuple[int, ...], strides: tuple[int, ...], to: Sequence[int]) -> bool:
    """Whether what has this shape and these strides (in bytes) has the shape ``to``, too, with other strides."""
    if 0 in shape:
        return True
    like = np.lib.stride_tricks.as_strided(np.empty((), np.uint8), shape, strides)  # which nobody reads
    try:
        like.reshape(to, copy=False)
    except (ValueError, TypeError):
        return False
    return True


def element_offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Where each element lies, in bytes after the first."""
    at = np.zeros((), np.intp)
    for n, s in zip(shape, strides):
        at = at[..., None] + np.arange(n) * s
    return at


def strided(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any = None
) -> np.ndarray:
    """A view of a contiguous array with any geometry (in bytes) and type. NumPy refuses one that leaves the memory.

    Unlike ``np.lib.stride_tricks.as_strided``, the view's ``base`` is the array that owns the memory.
    """
    d = array.dtype
    if 0 in shape:
        return np.empty(shape, dtype or d)
    memory = array.view(f"u{array.itemsize}") if d.isbuiltin != 1 else array  # bfloat16 exports no buffer
    return np.ndarray(shape, dtype or d, memory, offset, strides)
