"""Variance and mean of rows in two passes through the cache, and the mode of sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import COMPARED, TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, I64, Value, Variable

CACHED = 1 << 16  # numbers up to which a copy into rows is cheap


@compiled_kernel
def _var_mean(d: np.dtype, root: bool) -> str:
    """Items are rows. Two passes: the mean, then squares of differences from it, both in double precision."""
    k = Kernel("var_mean", F64, ["x", "mean", "spread"], ["n"], ["left"])
    f, n, type = k.f, k["n"], TYPES[d]
    with f.loop(f["from"], f["to"]) as row:
        x = f.at(k["x"], row * n, type)

        def total(of: Callable[[Value, Value], Value], middle: Value | None) -> Value:
            (whole,) = k.totals()

            def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
                v = f.load(f.at(x, at, type), type.of(k.lanes), mask)
                v = v if type == F64 else f.convert("fpext", v, k.vector)
                sums[0].set(of(sums[0].get(), k.zero_beyond(v if middle is None else v - middle, mask)))

            k.add_row(n, [whole], add)
            return whole.get()

        mean = total(Value.__add__, None) / k.as_float(n)
        spread = total(lambda old, v: f.fma(v, v, old), k.splat(mean)) / k["left"]
        for name, value in (("mean", mean), ("spread", k.math.sqrt(spread) if root else spread)):
            f.store(value if type == F64 else f.convert("fptrunc", value, type), f.at(k[name], row, type))
    return k.done()


def var_mean(
    x: np.ndarray, order: tuple[int, ...] | None, n: int, left: float, shape: tuple[int, ...], root: bool
) -> Any:
    """Variance, or its root, and mean of so many elements each.

    Args:
        order: of the dimensions, such that those that are reduced come last; None if it is so.
        left: what the sum of squares is divided by.
        shape: of the results.
    """
    if x.dtype not in TYPES or not x.size or order is not None and x.size > CACHED:
        return None
    x = as_contiguous(x if order is None else x.transpose(order))
    mean = np.empty(shape, x.dtype)
    return _var_mean(x.dtype, root)(x.size // n, n, left, x, mean, np.empty(shape, x.dtype)), mean


@compiled_kernel
def _mode(d: np.dtype) -> str:
    """Items are rows. The last of a run of equal elements, in sorted order, represents it: the first run of the
    greatest length wins.
    """
    k = Kernel("mode", COMPARED[d], ["x", "order", "values", "indices"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as row:
        x, order = f.at(k["x"], row * n, k.type), f.at(k["order"], row * n, I64)
        best, longest, length, before = (
            f.variable(0, I64),
            f.variable(0, I64),
            f.variable(0, I64),
            f.variable(0, k.type),
        )
        with f.loop(0, n) as i:
            at = f.load(f.at(order, i, I64), I64)
            value = k.load_scalar(x, at)
            length.set(f.select(value.equals(before.get()), length.get(), 0) + 1)
            before.set(value)
            with f.if_then(length.get() > longest.get()):
                longest.set(length.get())
                best.set(at)
        k.store_scalar(k.load_scalar(x, best.get()), k["values"], row)
        f.store(best.get(), f.at(k["indices"], row, I64))
    return k.done()


def mode(rows: np.ndarray, order: np.ndarray) -> Any:
    """The most frequent element of each row, the smallest of several, and the last place where it is.

    Args:
        order: the indices that sort the rows.
    """
    if rows.dtype not in COMPARED:
        return None
    (count, n), rows = rows.shape, as_contiguous(rows)
    values, indices = np.empty(count, rows.dtype), np.empty(count, np.int64)
    _mode(rows.dtype)(count, n, rows, order, values, indices)
    return values, indices
