"""Summary statistics in one pass over an array (sum, sum of squares, min, max, zeros), for explain; distance of two.

Sums are taken in double precision, in several vectors side by side.
"""

from __future__ import annotations

import math

import numpy as np

from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, I64, Function, Value, Variable

UNROLL = 2


def _wide(f: Function, x: Value) -> Value:
    return x if x.type.scalar == F64 else f.convert("fpext", x, F64.of(x.type.lanes))


def _sum(f: Function, parts: list[Variable]) -> Value:
    return f.sum_lanes(parts[0].get() + parts[1].get())


@compiled_kernel
def _describe(d: np.dtype) -> str:
    k = Kernel("describe", TYPES[d], ["x", "out"], ["n"])
    f, wide, whole = k.f, F64.of(k.lanes), I64.of(k.lanes)
    smaller, larger = (lambda a, b: f.select(a < b, a, b)), (lambda a, b: f.select(a > b, a, b))
    first = k.splat(k.load_scalar(k["x"], f.constant(0, I64)))
    sums, squares, zeros = ([f.variable(f.constant(0, t)) for _ in range(UNROLL)] for t in (wide, wide, whole))
    least, most = ([f.variable(f.constant(x, k.vector)) for _ in range(UNROLL)] for x in (math.inf, -math.inf))

    def take(at: Value, mask: Value | None, u: int) -> None:
        v = f.load(f.at(k["x"], at, k.type), k.vector, mask, None if mask is None else first)
        least[u].set(smaller(v, least[u].get()))
        most[u].set(larger(v, most[u].get()))
        zero = v.equals(0.0) if mask is None else v.equals(0.0) & mask
        zeros[u].set(zeros[u].get() + f.convert("zext", zero, whole))
        v = _wide(f, k.zero_beyond(v, mask))
        sums[u].set(sums[u].get() + v)
        squares[u].set(f.fma(v, v, squares[u].get()))

    k.sweep(k["n"], take, UNROLL)
    extremes = [f.fold_lanes(fold(a.get(), b.get()), fold) for (a, b), fold in ((least, smaller), (most, larger))]
    found = [_sum(f, sums), _sum(f, squares), *extremes, f.convert("sitofp", _sum(f, zeros), F64)]
    for i, value in enumerate(found):
        f.store(_wide(f, value), f.at(k["out"], i, F64))
    return k.done()


def describe(x: np.ndarray) -> list[float] | None:
    """Sum, sum of squares, minimum, maximum and the number of zeros; None for arrays that are not contiguous, or of
    other types.

    If an element is NaN, so are the sums; minimum and maximum are those of the others.
    """
    if x.dtype not in TYPES or not x.size or not (x.flags.c_contiguous or x.flags.f_contiguous):
        return None
    return _describe(x.dtype)(1, x.size, x, np.empty(5)).tolist()


@compiled_kernel
def _squares(d: np.dtype) -> str:
    k = Kernel("squares", TYPES[d], ["a", "b", "out"], ["n"])
    f, wide = k.f, F64.of(k.lanes)
    apart, own = ([f.variable(f.constant(0, wide)) for _ in range(UNROLL)] for _ in range(2))

    def take(at: Value, mask: Value | None, u: int) -> None:
        a, b = (k.zero_beyond(k.load(k[name], at, mask), mask) for name in ("a", "b"))
        for sums, v in ((apart, a - b), (own, b)):
            v = _wide(f, v)
            sums[u].set(f.fma(v, v, sums[u].get()))

    k.sweep(k["n"], take, UNROLL)
    for i, sums in enumerate((apart, own)):
        f.store(_sum(f, sums), f.at(k["out"], i, F64))
    return k.done()


def squares(a: np.ndarray, b: np.ndarray) -> list[float] | None:
    """The sums of the squares of ``a - b`` and of ``b``; None unless both are of one type and contiguous."""
    if (
        a.dtype not in TYPES
        or b.dtype != a.dtype
        or a.shape != b.shape
        or not (a.flags.c_contiguous and b.flags.c_contiguous)
    ):
        return None
    return _squares(a.dtype)(1, a.size, a, b, np.empty(2)).tolist()
