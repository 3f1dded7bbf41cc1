"""Scans: cumulative sums, products, maxima and minima.

Along a row each element depends on the one before, so several rows run side by side; along other dimensions vectors of
columns do. Sums and products of float32 run in float64, element by element: results are those of NumPy's loops.
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
from .codegen.llvm_ir import F64, I64, Function, Type, Value, Variable

CHAINS = 8  # rows side by side, at most
ADDED = TYPES | {np.dtype(np.int64): I64}

Step = Callable[[Function, Value, Value, Value, Value], tuple[Value, Value]]


def _add(f: Function, total: Value, at: Value, x: Value, i: Value) -> tuple[Value, Value]:
    return total + x, at


def _multiply(f: Function, total: Value, at: Value, x: Value, i: Value) -> tuple[Value, Value]:
    return total * x, at


def _extreme(relation: str) -> Step:
    def step(f: Function, best: Value, at: Value, x: Value, i: Value) -> tuple[Value, Value]:
        """A later one replaces the best if it is as good, or NaN; nothing but NaN replaces NaN."""
        better = f.compare(relation, x, best)
        if x.type.is_float:
            better = better | f.compare("uno", x, f.constant(0.0, x.type))
        return f.select(better, x, best), f.select(better, i, at)

    return step


STEPS: dict[str, tuple[Step, float]] = {
    "add": (_add, -0.0),
    "multiply": (_multiply, 1.0),
    "largest": (_extreme("ge"), -math.inf),
    "smallest": (_extreme("le"), math.inf),
}


@compiled_kernel
def _kernel(name: str, d: np.dtype, chains: int) -> str:
    """Scan an array ``(outer, n, inner)``. Along rows (inner is 1) ``chains`` of them run side by side; 0: down
    columns. Extremes also get the index of each.
    """
    type: Type = ADDED[d]
    step, start = STEPS[name]
    extreme = name in ("largest", "smallest")
    if extreme and not type.is_float:
        start = -(1 << 63) if name == "largest" else (1 << 63) - 1
    k = Kernel("scan", type, ["x", "places", "out"], ["outer", "n", "inner"])
    f, outer, n, inner, x, places, out = k.f, *k.args.values()
    lanes, in_rows = 0 if chains else jit.WIDTH * 8 // F64.bits, chains > 0
    wide = type if extreme or not type.is_float else F64
    with f.loop(f["from"], f["to"]) as item:
        if in_rows:
            bases = [f.smaller(item * chains + c, outer - 1) * n for c in range(chains)]
            mask = None
        else:
            blocks = (inner + (lanes - 1)) // lanes
            column = item % blocks * lanes
            bases = [item // blocks * (n * inner) + column]
            mask = f.mask_below(f.smaller(inner - column, lanes), lanes)
        totals = [f.variable(start, wide.of(lanes)) for _ in bases]
        ats = [f.variable(0, I64.of(lanes)) for _ in bases]
        with f.loop(0, n) as i:
            number = f.splat(i, lanes) if lanes else i
            for base, total, at in zip(bases, totals, ats):
                place = base + (i if in_rows else i * inner)
                value = f.load(f.at(x, place, type), type.of(lanes), mask)
                if type.bits < wide.bits:
                    value = f.convert("fpext", value, wide.of(lanes))
                new, where = step(f, total.get(), at.get(), value, number)
                total.set(new)
                if extreme:
                    at.set(where)
                    f.store(where, f.at(places, place, I64), mask)
                result = f.convert("fptrunc", new, type.of(lanes)) if type.bits < wide.bits else new
                f.store(result, f.at(out, place, type), mask)
    return k.done()


class Lines:
    """The rows, or vectors of columns, of an item of arrays that are laid out like those of scans, in float64."""

    def __init__(self, k: Kernel, item: Value, chains: int) -> None:
        f, (outer, n, inner) = k.f, (k[name] for name in ("outer", "n", "inner"))
        self.f, self.type, self.lanes, self.step = f, k.type, 0 if chains else jit.WIDTH * 8 // F64.bits, inner
        self.mask: Value | None = None
        if chains:
            self.bases = [f.smaller(item * chains + c, outer - 1) * n for c in range(chains)]
        else:
            blocks = (inner + (self.lanes - 1)) // self.lanes
            column = item % blocks * self.lanes
            self.bases = [item // blocks * (n * inner) + column]
            self.mask = f.mask_below(f.smaller(inner - column, self.lanes), self.lanes)

    def variables(self, start: float) -> list[Variable]:
        return [self.f.variable(start, F64.of(self.lanes)) for _ in self.bases]

    def load(self, x: Value, line: int, i: Value) -> Value:
        f = self.f
        value = f.load(f.at(x, self.bases[line] + i * self.step, self.type), self.type.of(self.lanes), self.mask)
        return f.convert("fpext", value, F64.of(self.lanes)) if self.type != F64 else value

    def store(self, value: Value, x: Value, line: int, i: Value) -> None:
        f = self.f
        value = f.convert("fptrunc", value, self.type.of(self.lanes)) if self.type != F64 else value
        f.store(value, f.at(x, self.bases[line] + i * self.step, self.type), self.mask)


@compiled_kernel
def _recurrence(d: np.dtype, chains: int) -> str:
    """The solution of ``s[i] = b[i] + a[i] s[i + 1]``."""
    k = Kernel("recurrence", TYPES[d], ["a", "b", "out"], ["outer", "n", "inner"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as item:
        lines = Lines(k, item, chains)
        solved = lines.variables(0.0)
        with f.loop(0, n) as back:
            i = n - 1 - back
            for line, s in enumerate(solved):
                s.set(f.fma(lines.load(k["a"], line, i), s.get(), lines.load(k["b"], line, i)))
                lines.store(s.get(), k["out"], line, i)
    return k.done()


@compiled_kernel
def _products_of_others(d: np.dtype, chains: int) -> str:
    """The product of those before, and from the end with that of those behind."""
    k = Kernel("products_of_others", TYPES[d], ["x", "before", "out"], ["outer", "n", "inner"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as item:
        lines = Lines(k, item, chains)
        before, behind = lines.variables(1.0), lines.variables(1.0)
        kept = f.at(k["before"], item * n * (chains or lines.lanes), F64)

        def place(line: int, i: Value) -> Value:
            return f.at(kept, (i * chains + line) if chains else i * lines.lanes, F64)

        with f.loop(0, n) as i:
            for line, total in enumerate(before):
                f.store(total.get(), place(line, i))
                total.set(total.get() * lines.load(k["x"], line, i))
        with f.loop(0, n) as back:
            i = n - 1 - back
            for line, total in enumerate(behind):
                lines.store(f.load(place(line, i), F64.of(lines.lanes)) * total.get(), k["out"], line, i)
                total.set(total.get() * lines.load(k["x"], line, i))
    return k.done()


@lru_cache(256)
def _layout(shape: tuple[int, ...], dim: int) -> tuple[int, tuple[int, int, int, int]]:
    """How many rows run side by side, how many items there are, and the sizes that kernels take."""
    outer, n, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    chains = min(CHAINS, outer) if inner == 1 else 0
    items = -(-outer // chains) if chains else outer * -(-inner // (jit.WIDTH * 8 // F64.bits))
    return chains, (items, outer, n, inner)


def accumulate(name: str, x: np.ndarray, dim: int) -> np.ndarray | None:
    """The running sum (``add``) or product (``multiply``)."""
    if x.dtype not in ADDED or not x.size or not x.ndim:
        return None
    chains, sizes = _layout(x.shape, dim)
    return _kernel(name, x.dtype, chains)(*sizes, as_contiguous(x), x, np.empty(x.shape, x.dtype))


def recurrence(a: np.ndarray, b: np.ndarray, dim: int) -> np.ndarray | None:
    """The solution of ``s[i] = b[i] + a[i] s[i + 1]`` along a dimension, with 0 beyond the end."""
    if a.dtype not in TYPES or b.dtype != a.dtype or a.shape != b.shape or not a.size:
        return None
    chains, sizes = _layout(a.shape, dim)
    return _recurrence(a.dtype, chains)(*sizes, as_contiguous(a), as_contiguous(b), np.empty(a.shape, a.dtype))


def products_of_others(x: np.ndarray, dim: int) -> np.ndarray | None:
    """For each element the product of all others along a dimension."""
    if x.dtype not in TYPES or not x.size or not x.ndim:
        return None
    chains, sizes = _layout(x.shape, dim)
    before = np.empty(sizes[0] * x.shape[dim] * (chains or jit.WIDTH * 8 // F64.bits))
    return _products_of_others(x.dtype, chains)(*sizes, as_contiguous(x), before, np.empty(x.shape, x.dtype))


def extremes(name: str, x: np.ndarray, dim: int) -> Any:
    """The ``largest`` or ``smallest`` so far, and where it was last."""
    if x.dtype not in ADDED or not x.size or not x.ndim:
        return None
    (chains, sizes), places = _layout(x.shape, dim), np.empty(x.shape, np.int64)
    return _kernel(name, x.dtype, chains)(*sizes, as_contiguous(x), places, np.empty(x.shape, x.dtype)), places
