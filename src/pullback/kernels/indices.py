"""Indexing across a dimension, slice by slice or element by element, with the check that all indices are inside.

Where NumPy needs several passes and, for a few elements, several microseconds. The results are its own to the bit.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .builder import F32, F64, I8, I16, I32, I64, Value
from .kernel import Kernel, written

TYPES = {1: I8, 2: I16, 4: I32, 8: I64, "f": F32, "d": F64, "i": I32, "l": I64}  # what is moved, by its size; what is added, by its character
GRAIN = 1 << 8  # items that are worth a thread's while


@written
def _indexed(type: int | str, what: str, each: bool) -> str:
    """Items are all that stands before the dimension; nothing of them is written if one of the indices is outside.

    Args:
        what: "take" from the source, or "put" into the target or "add" there.
        each: whether every element has an index; else the slices have.
    """
    k = Kernel("indexed", TYPES[type], ["index", "source", "target"], ["count", "inner", "n", "far", "step", "many"], refuses=True)
    f, count, inner, wrong = k.f, k["count"], k["inner"], k.f.variable(0, I64)
    first, last = (f["from"] * count * inner, f["to"] * count * inner) if each else (f.constant(0, I64), count)

    def number(i: Value) -> Value:
        return f.load(f.at(k["index"], i, I64), I64)

    with f.loop(first, last) as i:
        wrong.set(wrong.get() | f.convert("zext", f.compare("uge", number(i), k["n"]), I64))

    def move() -> None:
        with f.loop(f["from"], f["to"]) as o, f.loop(0, count) as i:
            row, start = (o * count + i) * inner, o * k["far"]
            shared = None if each else start + number(i) * k["step"]
            with f.loop(0, inner) as c:
                here = row + c
                there = c + (start + number(here) * k["step"] if shared is None else shared)
                if what == "take":
                    k.put(k.number(k["source"], there), k["target"], here)
                else:
                    value = k.number(k["source"], here * k["many"])
                    k.put(k.number(k["target"], there) + value if what == "add" else value, k["target"], there)

    f.choose(wrong.get().differs(0), k.refuse, move)
    return k.done(GRAIN)


@lru_cache(1024)
def _layout(shape: tuple[int, ...], at: tuple[int, ...], d: int, each: bool) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of what is at the index, and the numbers that the kernel wants; None for an index that is smaller than the rest elsewhere."""
    shape, n, step = shape or (1,), (shape or (1,))[d], math.prod(shape[d + 1 :])
    if not each:
        return shape[:d] + at + shape[d + 1 :], (math.prod(shape[:d]), math.prod(at), step, n, n * step, step)
    if not at:
        return at, (1, 1, 1, n, n, 1)
    if at[1:d] != shape[1:d] or at[d + 2 :] != shape[d + 2 :]:
        return None
    return at, (math.prod(at[:d]), at[d], math.prod(at[d + 1 :]), n, n * step, step)


def taken(x: np.ndarray, index: np.ndarray, d: int, each: bool) -> Any:
    """The elements, or slices across ``d``, that an index says; None if it says something outside."""
    layout = _layout(x.shape, index.shape, d, each)
    if layout is None or x.itemsize > 8 or not x.flags.c_contiguous:
        return None
    shape, numbers = layout
    out = _indexed(x.itemsize, "take", each)(*numbers, 1, _numbers(index), x, np.empty(shape, x.dtype))
    return out if out.__class__ is np.ndarray else None


def put(x: np.ndarray, value: Any, index: np.ndarray, d: int, add: bool, each: bool) -> bool:
    """Write an array, or one number, where an index says, or add it there; whether that was done: not if it says something outside."""
    layout, type = _layout(x.shape, index.shape, d, each), x.dtype.char if add else x.itemsize
    if layout is None or type not in TYPES or not x.flags.c_contiguous:
        return False
    shape, numbers = layout
    if value.__class__ is not np.ndarray or value.dtype != x.dtype:
        value = np.asarray(value, x.dtype)
    many = value.ndim > 0
    if many and value.shape != shape:
        return False
    value = value if value.flags.c_contiguous else np.ascontiguousarray(value)
    return _indexed(type, "add" if add else "put", each)(*numbers, many, _numbers(index), value, x) is x


def _numbers(index: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(index, np.int64)
