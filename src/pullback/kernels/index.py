"""Gather, scatter and scatter-add along a dimension, by slices or by elements, with a bounds check.

NumPy needs several passes for these and, for a few elements, several microseconds. Results are its own to the bit.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import F32, F64, I8, I16, I32, I64, Value

# what is moved, by its size; what is added, by its character
TYPES = {1: I8, 2: I16, 4: I32, 8: I64, "f": F32, "d": F64, "i": I32, "l": I64}
INT64 = np.dtype(np.int64)
GRAIN = 1 << 8  # items worth handing to another thread


@compiled_kernel
def _indexed(type: int | str, what: str, each: bool) -> str:
    """Items are the outer dimensions; nothing of them is written if any index is out of bounds.

    Args:
        what: "take" from the source, or "put" into the target or "add" there.
        each: whether every element has an index, in an array of as many dimensions; else slices have.
    """
    k = Kernel(
        "indexed",
        TYPES[type],
        ["index", "source", "target"],
        ["count", "inner", "n", "far", "step", "end", "many"],
        refuses=True,
    )
    f, count, inner, wrong = k.f, k["count"], k["inner"], k.f.variable(0, I64)
    first, last = (f["from"] * count * inner, f["to"] * count * inner) if each else (f.constant(0, I64), count)

    def number(i: Value) -> Value:
        given = f.load(f.at(k["index"], i, I64), I64)
        return f.select(given < 0, given + k["end"], given)

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
                    k.store_scalar(k.load_scalar(k["source"], there), k["target"], here)
                else:
                    value = k.load_scalar(k["source"], here * k["many"])
                    k.store_scalar(
                        k.load_scalar(k["target"], there) + value if what == "add" else value, k["target"], there
                    )

    f.if_else(wrong.get().differs(0), k.refuse, move)
    return k.done(GRAIN)


@lru_cache(1024)
def _plan(
    type: int | str, what: str, shape: tuple[int, ...], at: tuple[int, ...], d: int, from_end: bool
) -> tuple[Any, ...] | None:
    """The kernel, bound to most of its arguments, and the shape of the elements at the index; None if other dimensions
    of the index are smaller than those of the array.
    """
    each, shape = len(at) == len(shape) > 0 and not from_end, shape or (1,)
    if type not in TYPES or each and (at[1:d] != shape[1:d] or at[d + 2 :] != shape[d + 2 :]):
        return None
    n, step = shape[d], math.prod(shape[d + 1 :])
    if each:
        numbers, shape = (math.prod(at[:d]), at[d], math.prod(at[d + 1 :])), at
    else:
        numbers, shape = (math.prod(shape[:d]), math.prod(at), step), shape[:d] + at + shape[d + 1 :]
    return partial(_indexed(type, what, each), *numbers, n, n * step, step, n if from_end else 0), shape


def take(x: np.ndarray, index: np.ndarray, d: int) -> Any:
    """The elements, or slices across ``d``, at an index; None if it is out of bounds."""
    plan = _plan(x.itemsize, "take", x.shape, index.shape, d, False) if x.flags.c_contiguous else None
    if plan is None:
        return None
    call, shape = plan
    out = call(1, _numbers(index), x, np.empty(shape, x.dtype))
    return out if out.__class__ is np.ndarray else None


def put(x: np.ndarray, value: Any, index: np.ndarray, d: int, add: bool, from_end: bool = False) -> bool:
    """Write an array, or one number, at an index, or add it there; whether that was done: not if it is out of bounds.

    Args:
        from_end: whether negative numbers count from the end of the dimension; then the index is of slices, whatever
            its dimensions.
    """
    type, what = (x.dtype.char, "add") if add else (x.itemsize, "put")
    plan = _plan(type, what, x.shape, index.shape, d, from_end) if x.flags.c_contiguous else None
    if plan is None:
        return False
    call, shape = plan
    if value.__class__ is not np.ndarray or value.dtype is not x.dtype:
        value = np.asarray(value, x.dtype)
    if value.ndim and value.shape != shape:
        return False
    return call(value.ndim > 0, _numbers(index), np.ascontiguousarray(value), x) is x


def _numbers(index: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(index if index.dtype is INT64 else index.astype(INT64))
