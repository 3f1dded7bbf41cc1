"""Gather, scatter and scatter-add along a dimension, by slices or by elements, with a bounds check.

NumPy needs several passes for these and, for a few elements, several microseconds. Results are its own to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import F32, F64, I8, I16, I32, I64, Value

# what is moved, by its size; what is added, by its character
TYPES = {1: I8, 2: I16, 4: I32, 8: I64, "f": F32, "d": F64, "i": I32, "l": I64}
INT64 = np.dtype(np.int64)
LANES = 8  # numbers of elements in a vector
GRAIN = 1 << 8  # items worth handing to another thread
FEW = 256  # elements that are copied sooner than looked up where they are


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
    f, count, inner, source, target = k.f, k["count"], k["inner"], k["source"], k["target"]
    first, last = (f["from"] * count * inner, f["to"] * count * inner) if each else (f.constant(0, I64), count)
    numbers = I64.of(LANES)
    wrong = f.variable(0, numbers)

    def number(i: Value) -> Value:
        given = f.load(f.at(k["index"], i, I64), I64)
        return f.select(given < 0, given + k["end"], given)

    def several(i: Value, mask: Value | None) -> Value:
        given = f.load(f.at(k["index"], i, I64), numbers, mask)
        return f.select(given < 0, given + f.splat(k["end"], LANES), given)

    def runs(length: Value, body: Callable[[Value, Value | None], None]) -> None:
        """``body(i, mask)`` for each vector of so many numbers."""
        whole = length // LANES * LANES
        with f.loop(0, whole, LANES) as i:
            body(i, None)
        with f.if_then(whole < length):
            body(whole, f.mask_below(length - whole, LANES))

    def check(i: Value, mask: Value | None) -> None:
        outside = f.compare("uge", several(first + i, mask), f.splat(k["n"], LANES))
        wrong.set(wrong.get() | f.convert("zext", outside, numbers))

    def put_one(there: Value, here: Value) -> None:
        value = k.load_scalar(source, here * k["many"])
        k.store_scalar(k.load_scalar(target, there) + value if what == "add" else value, target, there)

    def elements(row: Value, length: Value, start: Value, beside: bool) -> None:
        """A run of elements each of which has a number; their places are beside each other but for that."""
        if what != "take":
            with f.loop(0, length) as i:
                there = start + number((row if each else f.constant(0, I64)) + i) * k["step"]
                put_one(there + i if beside else there, row + i)
            return

        def take(i: Value, mask: Value | None) -> None:
            at = several((row if each else f.constant(0, I64)) + i, mask) * f.splat(k["step"], LANES)
            at = at + f.splat(start + i if beside else start, LANES)
            if beside:
                at = at + f.iota(numbers)
            f.store(f.gather(source, at, k.type, mask), f.at(target, row + i, k.type), mask)

        runs(length, take)

    def slice_of(row: Value, there: Value) -> None:
        """A row of neighbours that share a number."""

        def copy(at: Value, mask: Value | None, u: int) -> None:
            if what == "take":
                k.store(k.load(source, there + at, mask), target, row + at, mask)
            else:
                value = k.load(source, row + at, mask)
                k.store(k.load(target, there + at, mask) + value if what == "add" else value, target, there + at, mask)

        def fill() -> None:
            with f.loop(0, inner) as c:
                put_one(there + c, row + c)

        if what == "take":
            k.sweep(inner, copy)
        else:
            f.if_else(k["many"].differs(0), lambda: k.sweep(inner, copy), fill)

    def move() -> None:
        with f.loop(f["from"], f["to"]) as o:
            start, rows = o * k["far"], o * count

            def wide() -> None:
                with f.loop(0, count) as i:
                    row = (rows + i) * inner
                    if each:
                        elements(row, inner, start, True)
                    else:
                        slice_of(row, start + number(i) * k["step"])

            f.if_else(inner.equals(1), lambda: elements(rows, count, start, False), wide)

    runs(last - first, check)
    f.if_else(f.intrinsic("vector.reduce.or", wrong.get(), type=I64).differs(0), k.refuse, move)
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
    if not x.flags.c_contiguous and x.size < FEW:
        x = x.copy()
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
