"""Copies that transpose: squares of numbers are loaded as vectors along one dimension and stored along the other."""

from __future__ import annotations

import math

import numpy as np

from .codegen import jit
from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import F32, F64, I8, I16, I64, Type, Value

STORED: dict[int, Type] = {1: I8, 2: I16, 4: F32, 8: F64}  # by the size of an element
GRAIN = 64


def side_of(itemsize: int) -> int:
    """How many rows and columns a square has."""
    return min(16, jit.WIDTH // itemsize)


@compiled_kernel
def _transpose(itemsize: int) -> str:
    """Items are bands of rows of the copy. The plan: rows, columns, the bytes from column to column in the source, and
    from row to row in the copy, and of the dimensions around them how many; then, of each, its size and bytes in both.
    """
    k = Kernel("transpose", STORED[itemsize], ["source", "plan", "copy"])
    f, type, side = k.f, k.type, side_of(itemsize)

    def planned(i: Value | int) -> Value:
        return f.load(f.at(k["plan"], i, I64), I64)

    rows, columns, across, down, around = (planned(i) for i in range(5))
    bands = (rows + (side - 1)) // side
    with f.loop(f["from"], f["to"]) as item:
        rest, first = f.variable(item // bands), item % bands * side
        source, copy = (
            f.variable(f.at(p, first * step, I8)) for p, step in ((k["source"], itemsize), (k["copy"], down))
        )
        with f.loop(0, around) as d:
            entry, number = d * 3 + 5, rest.get()
            size = planned(entry)
            rest.set(number // size)
            for place, step in ((source, planned(entry + 1)), (copy, planned(entry + 2))):
                place.set(f.at(place.get(), number % size * step, I8))
        height = f.smaller(rows - first, side)

        def square(column: Value) -> None:
            start, to = f.at(source.get(), column * across, I8), f.at(copy.get(), column, type)
            lines = [f.load(f.at(start, across * i, I8), type.of(side)) for i in range(side)]
            for i, line in enumerate(f.transposed(lines)):
                f.store(line, f.at(to, down * i, I8))

        def one_by_one(low: Value | int) -> None:
            with f.loop(0, height) as row, f.loop(low, columns) as column:
                place = f.at(f.at(source.get(), column * across, I8), row, type)
                f.store(f.load(place, type), f.at(f.at(copy.get(), row * down, I8), column, type))

        def band() -> None:
            whole = columns // side * side
            with f.loop(0, whole, side) as column:
                square(column)
            one_by_one(whole)

        f.if_else(height.equals(side), band, lambda: one_by_one(0))
    return k.done(GRAIN)


def contiguous_copy(x: np.ndarray) -> np.ndarray | None:
    """A C-contiguous copy of an array in whose memory another dimension than the last is innermost; None if that is
    not so, if the last one is broadcast, or if one of the two is short.
    """
    each = x.itemsize
    if each not in STORED:
        return None
    dims: list[list[int]] = []  # sizes, bytes in the source and in the copy, from the outermost
    step = x.nbytes
    for size, stride in zip(x.shape, x.strides):
        step //= size
        if size == 1:
            continue
        if dims and dims[-1][1] == stride * size:
            dims[-1] = [dims[-1][0] * size, stride, step]
        else:
            dims.append([size, stride, step])
    rows = next((d for d in dims if d[1] == each), None)
    if rows is None or rows is dims[-1] or not dims[-1][1] or min(rows[0], dims[-1][0]) < side_of(each):
        return None
    columns = dims.pop()
    dims.remove(rows)
    plan = np.array([rows[0], columns[0], columns[1], rows[2], len(dims), *[n for d in reversed(dims) for n in d]])
    bands = -(-rows[0] // side_of(each)) * math.prod([d[0] for d in dims])
    return _transpose(each)(bands, x, plan, np.empty(x.shape, x.dtype))
