"""Fused softmax and log-softmax along rows, with their derivatives.

A row stays in the cache through its three passes: maximum, sum of exponentials, result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import Value, Variable


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


def softmax(x: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    """Softmax or log-softmax along the last dimension."""
    if not has_rows(x, dim):
        return None
    x, n = np.ascontiguousarray(x), x.shape[-1]
    return softmax_kernel(x.dtype, logarithm)(x.size // n, n, x, np.empty(x.shape, x.dtype))


def softmax_backward(g: np.ndarray, y: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    if not has_rows(y, dim) or g.dtype != y.dtype or g.shape != y.shape:
        return None
    g, y, n = np.ascontiguousarray(g), np.ascontiguousarray(y), y.shape[-1]
    return softmax_backward_kernel(y.dtype, logarithm)(y.size // n, n, g, y, np.empty(y.shape, y.dtype))
