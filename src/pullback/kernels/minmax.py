"""Maxima or minima with their indices along any dimension but the last: columns side by side in vectors.

NaN is above all numbers; of equal elements the first counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen import jit
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64

VECTORS = 4  # of neighbouring columns


@compiled_kernel
def _down_columns(d: np.dtype, largest: bool) -> str:
    """Of an array ``(outer, n, inner)``: items are blocks of columns."""
    k = Kernel("down_columns", TYPES[d], ["x", "values", "out"], ["n", "inner"])
    f, n, inner, number = k.f, k["n"], k["inner"], k.type.integers.of(k.lanes)
    width = VECTORS * k.lanes
    with f.loop(f["from"], f["to"]) as item:
        blocks = (inner + (width - 1)) // width
        outer, column = item // blocks, item % blocks * width
        x = f.at(k["x"], outer * n * inner + column, k.type)
        left = [inner - column - v * k.lanes for v in range(VECTORS)]
        masks = [f.mask_below(f.select(rest < 0, 0, rest), k.lanes) for rest in left]
        best = [f.variable(k.load(x, f.constant(v * k.lanes, I64), mask)) for v, mask in enumerate(masks)]
        where = [f.variable(f.constant(0, number)) for _ in masks]

        def through(masked: bool) -> None:
            with f.loop(1, n) as i:
                line = f.at(x, i * inner, k.type)
                place = f.splat(f.convert("trunc", i, number.scalar) if number.bits < 64 else i, k.lanes)
                for v, mask in enumerate(masks):
                    value, old = k.load(line, f.constant(v * k.lanes, I64), mask if masked else None), best[v].get()
                    better = f.compare("ugt" if largest else "ult", value, old) & f.compare("ord", old, 0.0)
                    best[v].set(f.select(better, value, old))
                    where[v].set(f.select(better, place, where[v].get()))

        f.if_else(inner - column >= width, lambda: through(False), lambda: through(True))
        for v, mask in enumerate(masks):
            target = outer * inner + column + v * k.lanes
            k.store(best[v].get(), k["values"], target, mask)
            found = where[v].get()
            f.store(
                f.convert("sext", found, I64.of(k.lanes)) if number.bits < 64 else found,
                f.at(k["out"], target, I64),
                mask,
            )
    return k.done()


def down_columns(x: np.ndarray, d: int, largest: bool) -> Any:
    """The max or min along a dimension other than the last, which stays with size 1, and their indices; the first NaN,
    if there is one.
    """
    if x.dtype not in TYPES or d == x.ndim - 1 or not x.size or x.shape[d] >= 1 << 31:
        return None
    x, shape, n = as_contiguous(x), (*x.shape[:d], 1, *x.shape[d + 1 :]), x.shape[d]
    outer, inner = math.prod(x.shape[:d]), math.prod(x.shape[d + 1 :])
    items = outer * -(-inner // (VECTORS * jit.WIDTH // x.itemsize))
    values, out = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    return values, _down_columns(x.dtype, largest)(items, n, inner, x, values, out)
