"""Embedding lookup (rows of a table by index), and its gradient (rows added up by index)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen import jit
from .codegen.kernel_builder import TYPES, UNROLL, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, I64, Value

VECTORS = 4  # of neighbouring columns, which one task adds up
ROWS = 64  # worth handing to another thread


@compiled_kernel
def take_kernel(d: np.dtype) -> str:
    """Arguments: items (rows), columns, the table, row numbers, the result."""
    k = Kernel("take_rows", TYPES[d], ["table", "at", "out"], ["columns"])
    f, columns = k.f, k["columns"]
    with f.loop(f["from"], f["to"]) as i:
        source = f.at(k["table"], f.load(f.at(k["at"], i, I64), I64) * columns, k.type)
        target = f.at(k["out"], i * columns, k.type)

        def copy(at: Value, mask: Value | None, u: int, source: Value = source, target: Value = target) -> None:
            k.store(k.load(source, at, mask), target, at, mask)

        k.sweep(columns, copy)
    return k.done(ROWS)


@compiled_kernel
def add_kernel(d: np.dtype) -> str:
    """Arguments: items (blocks of columns), rows, columns, rows of the table; arrays: the rows, row numbers, the sums.

    Each block goes through all rows in order, so sums are rounded as in a loop over them.
    """
    k = Kernel("add_rows", TYPES[d], ["x", "at", "out"], ["rows", "columns", "count"])
    f, columns = k.f, k["columns"]
    with f.loop(f["from"], f["to"]) as block:
        starts = [block * (VECTORS * k.lanes) + v * k.lanes for v in range(VECTORS)]
        masks = [f.mask_below(columns - start, k.lanes) for start in starts]
        with f.loop(0, k["count"]) as i:
            for start, mask in zip(starts, masks):
                k.store(f.constant(0.0, k.vector), f.at(k["out"], i * columns, k.type), start, mask)
        with f.loop(0, k["rows"]) as i:
            row = f.at(k["x"], i * columns, k.type)
            target = f.at(k["out"], f.load(f.at(k["at"], i, I64), I64) * columns, k.type)
            for start, mask in zip(starts, masks):
                k.store(k.load(target, start, mask) + k.load(row, start, mask), target, start, mask)
    return k.done()


@compiled_kernel
def largest_kernel() -> str:
    """Arguments: a single item, how many row numbers; arrays: these, and the largest, as unsigned numbers, so that
    negative ones are too large.
    """
    k = Kernel("largest", F64, ["at", "out"], ["n"])  # a vector has as many of both types
    f, vector = k.f, I64.of(k.lanes)
    with f.loop(f["from"], f["to"]):
        tops = [f.variable(0, vector) for _ in range(UNROLL)]

        def compare(at: Value, mask: Value | None, u: int) -> None:
            x, top = f.load(f.at(k["at"], at, I64), vector, mask), tops[u].get()
            tops[u].set(f.select(f.compare("ugt", x, top), x, top))

        k.sweep(k["n"], compare)
        larger = lambda x, y: f.select(f.compare("ugt", x, y), x, y)  # noqa: E731
        f.store(f.fold_lanes(reduce(larger, [top.get() for top in tops]), larger), k["out"])
    return k.done()


def blocks(d: np.dtype, columns: int) -> int:
    """How many blocks of columns there are."""
    return -(-columns * d.itemsize // (VECTORS * jit.WIDTH))


def add_rows(x: np.ndarray, at: np.ndarray, count: int) -> Any:
    """A scatter-add: so many rows of zeros, plus the rows of ``x`` (n, columns) at the row numbers ``at`` (n,)."""
    if x.dtype not in TYPES or at.dtype != np.int64 or not x.size or at.view(np.uint64).max() >= count:
        return None
    x, (n, columns), d = as_contiguous(x), x.shape, x.dtype
    return add_kernel(d)(
        blocks(d, columns), n, columns, count, x, np.ascontiguousarray(at), np.empty((count, columns), d)
    )
