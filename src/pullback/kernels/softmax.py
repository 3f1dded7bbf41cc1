"""Fused softmax and log-softmax, with their derivatives: along rows, or down columns, side by side in vectors.

A row stays in the cache through its three passes: maximum, sum of exponentials, result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen import jit
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import Value, Variable

ROWS = 64  # that are summed before their sum is added


def has_rows(x: np.ndarray, dim: int) -> bool:
    """Whether this is the last dimension of an array that kernels take."""
    return x.dtype in TYPES and x.ndim > 0 and dim % x.ndim == x.ndim - 1 and x.size > 0


def row_max(k: Kernel, x: Value, n: Value) -> Value:
    """The maximum of a row; NaN if there is one."""
    f = k.f
    (tops,) = k.accumulators(1, -math.inf)

    def larger(a: Value, b: Value) -> Value:
        return f.select(f.compare("ugt", a, b), a, b)

    def nan_kept(a: Value, b: Value) -> Value:
        return f.select(f.compare("uno", b, f.constant(0.0, b.type)), b, larger(a, b))

    k.sweep(n, lambda at, mask, u: tops[u].set(nan_kept(k.load(x, at, mask, -math.inf), tops[u].get())))
    a, b, c, d = (t.get() for t in tops)
    return f.fold_lanes(nan_kept(nan_kept(a, b), nan_kept(c, d)), nan_kept)


@compiled_kernel
def softmax_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax", TYPES[d], ["x", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x, out = (f.at(k[name], i * n, k.type) for name in ("x", "out"))
        highest = row_max(k, x, n)
        top = k.splat(highest)
        sum_of_row = k.totals()

        def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
            e = k.zero_beyond(k.math.exp(k.load(x, at, mask) - top), mask)
            if not logarithm:
                k.store(e, out, at, mask)
            sums[0].set(sums[0].get() + e)

        k.add_row(n, sum_of_row, add)
        total = k.rounded(sum_of_row[0].get())
        if logarithm:
            # In two steps, as NumPy takes them: the sum of maximum and logarithm would lose digits of large rows.
            log = k.splat(k.apply_to_scalar(k.math.log, total))
            k.sweep(n, lambda at, mask, u: k.store(k.load(x, at, mask) - top - log, out, at, mask))
        else:
            by = k.splat(total)
            k.sweep(n, lambda at, mask, u: k.store(k.load(out, at, mask) / by, out, at, mask))
    return k.done()


@compiled_kernel
def softmax_backward_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax_backward", TYPES[d], ["g", "y", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        g, y, out = (f.at(k[name], i * n, k.type) for name in ("g", "y", "out"))
        sum_of_row = k.totals()

        def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
            v, so_far = k.load(g, at, mask), sums[0].get()
            sums[0].set(so_far + v if logarithm else f.fma(v, k.load(y, at, mask), so_far))

        k.add_row(n, sum_of_row, add)
        total = k.splat(k.rounded(sum_of_row[0].get()))

        def one(at: Value, mask: Value | None, u: int) -> None:
            a, b = k.load(g, at, mask), k.load(y, at, mask)
            k.store(a - k.math.exp(b) * total if logarithm else b * (a - total), out, at, mask)

        k.sweep(n, one)
    return k.done()


def _columns(k: Kernel, names: str, body: Callable[[list[Value], Value, Value | None], None]) -> None:
    """``body(pointers, step, mask)`` for each vector of neighbouring columns: of arrays ``(outer, n, inner)`` where its
    first elements are, and how far below those the next ones are. Items are such vectors.
    """
    f, n, inner = k.f, k["n"], k["inner"]
    with f.loop(f["from"], f["to"]) as item:
        blocks = (inner + (k.lanes - 1)) // k.lanes
        first = item % blocks * k.lanes
        start = item // blocks * n * inner + first
        pointers = [f.at(k[name], start, k.type) for name in names.split()]
        f.if_else(
            inner - first >= k.lanes,
            lambda: body(pointers, inner, None),
            lambda: body(pointers, inner, f.mask_below(inner - first, k.lanes)),
        )


def _sum_down(k: Kernel, n: Value, value: Callable[[Value], Value]) -> Value:
    """The sum of vectors, by way of sums of :data:`ROWS`, so that many are as exact as few."""
    f, total = k.f, k.f.variable(0.0, k.vector)
    with f.loop(0, n, ROWS) as first:
        part = f.variable(0.0, k.vector)
        with f.loop(first, f.smaller(first + ROWS, n)) as i:
            part.set(part.get() + value(i))
        total.set(total.get() + part.get())
    return total.get()


@compiled_kernel
def softmax_across_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax_across", TYPES[d], ["x", "out"], ["n", "inner"])
    f, n = k.f, k["n"]

    def column(pointers: list[Value], step: Value, mask: Value | None) -> None:
        x, out = pointers
        highest = f.variable(-math.inf, k.vector)
        with f.loop(0, n) as i:
            v, top = k.load(x, i * step, mask), highest.get()
            better = f.compare("ugt", v, top) & f.compare("ord", top, 0.0)
            highest.set(f.select(better, v, top))
        top = highest.get()

        def exponential(i: Value) -> Value:
            e = k.math.exp(k.load(x, i * step, mask) - top)
            if not logarithm:
                k.store(e, out, i * step, mask)
            return e

        total = _sum_down(k, n, exponential)
        if logarithm:
            total = k.math.log(total)
        with f.loop(0, n) as i:
            at = i * step
            value = k.load(x, at, mask) - top - total if logarithm else k.load(out, at, mask) / total
            k.store(value, out, at, mask)

    _columns(k, "x out", column)
    return k.done()


@compiled_kernel
def softmax_across_backward_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax_across_backward", TYPES[d], ["g", "y", "out"], ["n", "inner"])
    f, n = k.f, k["n"]

    def column(pointers: list[Value], step: Value, mask: Value | None) -> None:
        g, y, out = pointers

        def weighted(i: Value) -> Value:
            v = k.load(g, i * step, mask)
            return v if logarithm else v * k.load(y, i * step, mask)

        total = _sum_down(k, n, weighted)
        with f.loop(0, n) as i:
            at = i * step
            a, b = k.load(g, at, mask), k.load(y, at, mask)
            k.store(a - k.math.exp(b) * total if logarithm else b * (a - total), out, at, mask)

    _columns(k, "g y out", column)
    return k.done()


def _across(kernel: Callable, dim: int, *arrays: np.ndarray) -> np.ndarray:
    """Run a kernel along another dimension than the last."""
    shape, d = arrays[0].shape, arrays[0].dtype
    given = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in arrays]
    return kernel(*_columns_across(shape, dim, d.itemsize), *given, np.empty(shape, d))


@lru_cache(256)
def _columns_across(shape: tuple[int, ...], dim: int, itemsize: int) -> tuple[int, int, int]:
    """How many vectors of columns there are, the length of a column, and the distance between its elements."""
    inner = math.prod(shape[dim % len(shape) + 1 :])
    return math.prod(shape[: dim % len(shape)]) * -(-inner // (jit.WIDTH // itemsize)), shape[dim], inner


def softmax(x: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    """Softmax or log-softmax along a dimension."""
    if x.dtype not in TYPES or not x.size or not x.ndim:
        return None
    if not has_rows(x, dim):
        return _across(softmax_across_kernel(x.dtype, logarithm), dim, x)
    x, n = as_contiguous(x), x.shape[-1]
    return softmax_kernel(x.dtype, logarithm)(x.size // n, n, x, np.empty(x.shape, x.dtype))


def softmax_backward(g: np.ndarray, y: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    if y.dtype not in TYPES or not y.size or not y.ndim or g.dtype != y.dtype or g.shape != y.shape:
        return None
    if not has_rows(y, dim):
        return _across(softmax_across_backward_kernel(y.dtype, logarithm), dim, g, y)
    g, y, n = as_contiguous(g), as_contiguous(y), y.shape[-1]
    return softmax_backward_kernel(y.dtype, logarithm)(y.size // n, n, g, y, np.empty(y.shape, y.dtype))
