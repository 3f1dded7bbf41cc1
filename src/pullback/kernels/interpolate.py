"""Small resampling and average pooling as sparse matrices times planes, and scattering into planes by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, I64, Value

INT64 = np.dtype(np.int64)
GRAIN = 4  # planes worth handing to another thread


@compiled_kernel
def _resample(d: np.dtype) -> str:
    k = Kernel("resample", TYPES[d], ["x", "sizes", "starts", "columns", "weights", "before", "after", "out"])
    f, type, (x, sizes, starts, columns, weights, before, after, out) = k.f, k.type, k.args.values()
    each, rows, befores, afters = (f.load(f.at(sizes, i, I64), I64) for i in range(4))

    def number(array: Value, i: Value) -> Value:
        value = f.load(f.at(array, i, F64), F64)
        return f.convert("fptrunc", value, type) if type != F64 else value

    with f.loop(f["from"], f["to"]) as plane:
        source, target = f.at(x, plane * each, type), f.at(out, plane * rows, type)
        with f.loop(0, rows) as row:
            total = f.variable(0.0, type)
            with f.loop(f.load(f.at(starts, row, I64), I64), f.load(f.at(starts, row + 1, I64), I64)) as entry:
                column = f.load(f.at(columns, entry, I64), I64)
                value = f.load(f.at(source, column, type), type) / number(before, column * befores)
                total.set(total.get() + value * number(weights, entry))
            f.store(total.get() / number(after, row * afters), f.at(target, row, type))
    return k.done(GRAIN)


def resample(x: np.ndarray, planes: int, entries: Sequence[np.ndarray], shape: tuple[int, ...]) -> Any:
    """A sparse linear map of so many planes: row r sums entries ``starts[r]`` up to ``starts[r + 1]``.

    Args:
        entries: sizes (elements and rows of a plane, then 0 for 0-d ``before`` and ``after``, else 1), starts, columns,
            weights, what elements are divided by (``before``), and sums (``after``), a number each, or 0-d; these in
            float64.
        shape: of the result.
    """
    d = x.dtype
    return _resample(d)(planes, as_contiguous(x), *entries, np.empty(shape, d)) if d in TYPES else None


@compiled_kernel
def place_kernel(d: np.dtype, add: bool) -> str:
    k = Kernel("place", TYPES[d], ["source", "index", "out"], ["n", "size"])
    f, type, (n, size, source, index, out) = k.f, k.type, k.args.values()
    with f.loop(f["from"], f["to"]) as plane:
        target = f.at(out, plane * size, type)
        f.clear(target, size * (type.bits // 8))
        with f.loop(plane * n, plane * n + n) as i:
            to = f.load(f.at(index, i, I64), I64)
            with f.if_then(f.compare("ult", to, size)):
                place, value = f.at(target, to, type), f.load(f.at(source, i, type), type)
                f.store(f.load(place, type) + value if add else value, place)
    return k.done(GRAIN)


def place(input: np.ndarray, index: np.ndarray, size: Any, add: bool) -> Any:
    """Planes of zeros with the elements at their numbers, of repeated ones the sum or the last; both arrays are
    ``(planes..., elements...)``.
    """
    d, shape = input.dtype, input.shape
    if d not in TYPES or index.dtype != INT64 or not input.size or shape != index.shape:
        return None
    lead = shape[: -len(size)]
    planes = math.prod(lead)
    out = np.empty((*lead, *size), d)
    return place_kernel(d, add)(
        planes, input.size // planes, math.prod(size), as_contiguous(input), as_contiguous(index), out
    )
