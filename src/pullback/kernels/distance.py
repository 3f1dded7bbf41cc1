"""Pairwise distances in the p-norm (cdist, pdist) and their gradients, without the array of all differences.

``p`` is a constant in kernels for 0, 1, 2 and infinity; for others it is None there, and an argument of each call.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import Value

GRAIN = 16  # points worth handing to another thread


def _known(p: float) -> float | None:
    return p if p in (0, 1, 2, math.inf) else None


def _larger(a: Value, b: Value) -> Value:
    """The larger one, or NaN."""
    return a.f.select((a > b) | a.f.compare("uno", a, 0.0), a, b)


def _pair_index(n: Value, i: Value, j: Value) -> Value:
    """The index of a pair of points of one set among all pairs, ``i < j``."""
    return i * (n * 2 - i - 1) // 2 + (j - i - 1)


@compiled_kernel
def _distances(d: np.dtype, p: float | None, within: bool) -> str:
    """Items are points of ``a``: their distances to m points of ``b``, or, ``within`` one set, to all later points."""
    k = Kernel("distances", TYPES[d], ["a", "b", "out"], ["n", "m", "size"], ["p"])
    f, n, m, size = k.f, k["n"], k["m"], k["size"]
    exponent, root = k.splat(k["p"]), 1 / k["p"]
    with f.loop(f["from"], f["to"]) as item:
        i = item % n
        a = f.at(k["a"], item * size, k.type)
        with f.loop(i + 1 if within else 0, m) as j:
            b = f.at(k["b"], (item // n * m + j) * size, k.type)
            (sums,) = k.accumulators()

            def take(at: Value, mask: Value | None, u: int) -> None:
                v = k.zero_beyond(f.intrinsic("fabs", k.load(a, at, mask) - k.load(b, at, mask)), mask)
                old = sums[u].get()
                if p == math.inf:
                    sums[u].set(_larger(v, old))
                elif p == 2:
                    sums[u].set(f.fma(v, v, old))
                else:
                    sums[u].set(
                        old + (f.select(v > 0.0, 1.0, v) if p == 0 else v if p == 1 else k.math.pow(v, exponent))
                    )

            k.sweep(size, take)
            if p == math.inf:
                x, y, z, w = (s.get() for s in sums)
                length = f.fold_lanes(_larger(_larger(x, y), _larger(z, w)), _larger)
            else:
                length = k.total(sums)
            if p is None:
                length = k.apply_to_scalar(lambda x: k.math.pow(x, k.splat(root)), length)
            k.store_scalar(
                k.math.sqrt(length) if p == 2 else length, k["out"], _pair_index(n, i, j) if within else item * m + j
            )
    return k.done(GRAIN)


@compiled_kernel
def _gradients(d: np.dtype, p: float | None, within: bool) -> str:
    """Items are points of ``a``: their gradients, summed over all others. Coinciding points add none."""
    k = Kernel("distance_gradients", TYPES[d], ["g", "length", "a", "b", "out"], ["n", "m", "size"], ["p"])
    f, n, m, size, less = k.f, k["n"], k["m"], k["size"], k["p"] - 1.0
    with f.loop(f["from"], f["to"]) as item:
        i = item % n
        a, out = (f.at(k[name], item * size, k.type) for name in ("a", "out"))
        f.clear(out, size * (k.type.bits // 8))

        def against(j: Value, place: Value) -> None:
            b = f.at(k["b"], (item // n * m + j) * size, k.type)
            length, share = k.load_scalar(k["length"], place), k.load_scalar(k["g"], place)
            with f.if_then(length.differs(0.0)):
                if p == 2:
                    share = share / length
                by, most = k.splat(share), k.splat(length)

                def add(at: Value, mask: Value | None, u: int) -> None:
                    v = k.load(a, at, mask) - k.load(b, at, mask)
                    far, each = f.intrinsic("fabs", v), v * by
                    if p != 2:
                        each = f.select(v > 0.0, 1.0, f.select(v < 0.0, f.constant(-1.0, v.type), 0.0)) * by
                    if p == math.inf:
                        each = f.select(far.equals(most), each, 0.0)
                    elif p is None:
                        each = f.select(v.equals(0.0), 0.0, each * k.math.pow(far / most, k.splat(less)))
                    k.store(k.load(out, at, mask) + each, out, at, mask)

                k.sweep(size, add, 1)

        if within:
            with f.loop(0, i) as j:
                against(j, _pair_index(n, j, i))
        with f.loop(i + 1 if within else 0, m) as j:
            against(j, _pair_index(n, i, j) if within else item * m + j)
    return k.done(GRAIN)


def _points(x1: np.ndarray, x2: np.ndarray) -> Any:
    """Both sets, contiguous and with equal batch dimensions (one set may be used for all of a batch); None for other
    types.
    """
    if x1.dtype not in TYPES or x2.dtype != x1.dtype:
        return None
    if x2.ndim > 2:
        lead = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1, x2 = (np.broadcast_to(x, lead + x.shape[-2:]) for x in (x1, x2))
    return as_contiguous(x1), as_contiguous(x2), math.prod(x1.shape[:-1])


def cdist(x1: np.ndarray, x2: np.ndarray, p: float) -> Any:
    """The distances of all points of two sets, ``(..., n, m)``."""
    given = _points(x1, x2)
    if given is None:
        return None
    a, b, count = given
    out = np.empty((*a.shape[:-1], b.shape[-2]), a.dtype)
    n = count if b.ndim == 2 else a.shape[-2]
    return _distances(a.dtype, _known(p), False)(count, n, b.shape[-2], a.shape[-1], p, a, b, out)


def pdist(x: np.ndarray, p: float) -> Any:
    """The distances of all pairs of a set."""
    if x.dtype not in TYPES:
        return None
    n, size = x.shape
    x = as_contiguous(x)
    return _distances(x.dtype, _known(p), True)(n, n, n, size, p, x, x, np.empty(n * (n - 1) // 2, x.dtype))


def pdist_backward(g: np.ndarray, x: np.ndarray, length: np.ndarray, p: float) -> Any:
    """The gradient of the points of a set."""
    if x.dtype not in TYPES or not g.dtype == length.dtype == x.dtype or p == 0:
        return None
    n, size = x.shape
    g, length, x = map(np.ascontiguousarray, (g, length, x))
    return _gradients(x.dtype, _known(p), True)(n, n, n, size, p, g, length, x, x, np.empty(x.shape, x.dtype))
