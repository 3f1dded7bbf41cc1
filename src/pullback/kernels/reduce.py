"""Reductions of an array over some of its dimensions, in the order of memory: one after the other over the middle one
of ``(outer, n, inner)``: min, max, sum, product, norms, logsumexp.

A task folds some of the n, along a row or for a stretch of columns, whose results stay in the cache while rows go by.
The partial results of several tasks are folded again, so rounding errors are those of pairwise sums, the same on every
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from ..base.layout import as_contiguous
from .codegen import jit
from .codegen.elementwise import load
from .codegen.half_precision import in_memory
from .codegen.kernel_builder import TYPES, UNROLL, Kernel, compiled_kernel
from .codegen.llvm_ir import BF16, F16, Value

STRETCH = 2048  # columns whose results stay in the cache
ALONG, ACROSS = 1 << 14, 64  # elements of a row, and rows, that a task folds


def _extreme(relation: str) -> Callable:
    def fold(old: Value, new: Value) -> Value:
        """The new one if it is better; NaN stays."""
        f = old.f
        return f.select(f.compare(relation, new, old) & f.compare("ord", old, 0.0), new, old)

    return fold


FOLDS: dict[str, tuple[float, Callable]] = {
    "add": (0.0, Value.__add__),
    "multiply": (1.0, Value.__mul__),
    "largest": (-math.inf, _extreme("ugt")),
    "smallest": (math.inf, _extreme("ult")),
}


STORED = TYPES | {np.dtype(np.float16): F16, np.dtype(bfloat16): BF16}
COMPUTED = {d: np.dtype(np.float32) for d in STORED if d not in TYPES}


def _computed(d: np.dtype, fold: str) -> np.dtype:
    """The type to compute in. Products of float32 would leave its range on the way, and be slow beside its end."""
    return np.dtype(np.float64) if fold == "multiply" else COMPUTED.get(d, d)


def _value(k: Kernel, of: str, x: Value, top: Value | None) -> Value:
    """The value of an element that is folded."""
    if x.type.bits < k.vector.bits:
        x = k.f.convert("fpext", x, k.vector)
    if top is not None:
        return k.math.exp(x - top)
    return x * x if of == "square" else k.f.intrinsic("fabs", x) if of == "absolute" else x


@compiled_kernel
def _along(d: np.dtype, fold: str, of: str) -> str:
    """Items are parts of rows, ``length`` elements each."""
    k, stored = Kernel("reduce_along", TYPES[_computed(d, fold)], ["x", "top", "out"], ["n", "length"]), STORED[d]
    f, n, length, (start, combined) = k.f, k["n"], k["length"], FOLDS[fold]
    with f.loop(f["from"], f["to"]) as item:
        parts = (n + length - 1) // length
        row, first = item // parts, item % parts * length
        x, top = (
            f.at(k["x"], row * n + first, in_memory(stored)),
            k.splat(k.load_scalar(k["top"], row)) if of == "exp" else None,
        )
        (made,) = k.accumulators(1, start)

        def take(at: Value, mask: Value | None, u: int) -> None:
            old = made[u].get()
            new = combined(old, _value(k, of, load(f, f.at(x, at, in_memory(stored)), stored, k.lanes, mask), top))
            made[u].set(new if mask is None else f.select(mask, new, old))

        k.sweep(f.smaller(n - first, length), take)
        k.store_scalar(f.fold_lanes(reduce(combined, [v.get() for v in made]), combined), k["out"], item)
    return k.done()


@compiled_kernel
def _across(d: np.dtype, fold: str, of: str) -> str:
    """Items are stretches of columns, ``length`` rows of each, four of which are read side by side, a quarter apart."""
    type, stored = TYPES[_computed(d, fold)], STORED[d]
    k = Kernel("reduce_across", type, ["x", "top", "out"], ["n", "length", "inner"])
    f, n, length, inner, (start, combined) = k.f, k["n"], k["length"], k["inner"], FOLDS[fold]
    with f.loop(f["from"], f["to"]) as item:
        parts, stretches = (n + length - 1) // length, (inner + STRETCH - 1) // STRETCH
        part, column = item // stretches, item % stretches * STRETCH
        outer, first = part // parts, part % parts * length
        x, out = (
            f.at(k["x"], (outer * n + first) * inner + column, in_memory(stored)),
            f.at(k["out"], part * inner + column, k.type),
        )
        top, width = f.at(k["top"], outer * inner + column, k.type), f.smaller(inner - column, STRETCH)
        k.sweep(width, lambda at, mask, u: k.store(f.constant(start, k.vector), out, at, mask))
        count = f.smaller(n - first, length)
        quarter = count // UNROLL

        def through(low: Any, high: Value, rows: int) -> None:
            with f.loop(low, high) as i:

                def take(at: Value, mask: Value | None, u: int) -> None:
                    above = k.load(top, at, mask) if of == "exp" else None
                    places = [f.at(x, (i + quarter * row) * inner + at, in_memory(stored)) for row in range(rows)]
                    values = [_value(k, of, load(f, p, stored, k.lanes, mask), above) for p in places]
                    k.store(reduce(combined, values, k.load(out, at, mask)), out, at, mask)

                k.sweep(width, take, 2)

        through(0, quarter, UNROLL)
        through(quarter * UNROLL, count, 1)
    return k.done()


def in_memory_order(x: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The dimensions of an array from the outermost in memory to the innermost, and the array in that order, without
    gaps.
    """
    order = list(range(x.ndim))
    if not x.flags.c_contiguous:
        order.sort(key=lambda i: (-abs(x.strides[i]), i))
        x = as_contiguous(x.transpose(order))
    return order, x


def reduce_dims(
    x: np.ndarray, dims: Sequence[int], fold: str, of: str = "", top: np.ndarray | None = None
) -> np.ndarray | None:
    """Fold over dimensions, which stay with size 1; None where NumPy does as well. Half precision gives float32.

    Args:
        fold: ``"add"``, ``"multiply"``, ``"largest"`` or ``"smallest"``; NaN if there is one.
        of: ``"absolute"`` or ``"square"`` values, or ``"exp"`` of what is above ``top``, which has the result's shape.
    """
    if x.dtype not in STORED or not dims or not x.size or 0 in x.strides:
        return None
    if len(dims) == x.ndim and x.flags.forc and top is None:
        whole = _reduce_middle(x.ravel("K"), 0, 1, fold, of, None)
        return whole if whole is None else whole.reshape((1,) * x.ndim)
    order, dense = in_memory_order(x)
    places = sorted([order.index(d) for d in dims])
    if top is not None:
        if places[-1] - places[0] >= len(places):
            return None
        top = np.ascontiguousarray(top.transpose(order))
    out: np.ndarray | None = dense
    while places and out is not None:  # neighbours at once, the innermost first
        stop = start = places.pop()
        while places and places[-1] == start - 1:
            start = places.pop()
        out, of = _reduce_middle(out, start, stop + 1, fold, of, top), ""
    return out if out is None or dense is x else out.transpose(np.argsort(order))


def _reduce_middle(x: np.ndarray, start: int, stop: int, fold: str, of: str, top: np.ndarray | None) -> Any:
    """Fold over neighbouring dimensions of a contiguous array."""
    outer, n, inner = math.prod(x.shape[:start]), math.prod(x.shape[start:stop]), math.prod(x.shape[stop:])
    d = _computed(x.dtype, fold)
    lanes, shape = jit.WIDTH // d.itemsize, x.shape[:start] + (1,) * (stop - start) + x.shape[stop:]
    if 1 < inner < lanes or inner == 1 and n < 2 * lanes and fold == "add" and top is None:  # NumPy does as well
        return None
    kernel, length, rest = (_along, ALONG, []) if inner == 1 else (_across, ACROSS, [inner])
    items = outer * -(-inner // STRETCH)
    while True:
        parts = -(-n // length)
        out = np.empty((outer, parts, inner), d)
        x = kernel(x.dtype, fold, of)(items * parts, n, length, *rest, x, x if top is None else top, out)
        if parts == 1:
            return x.reshape(shape)
        n, of = parts, ""
