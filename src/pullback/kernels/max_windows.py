"""Maxima of windows whose elements are given by index tables: adaptive, fractional and small max pools.

Which elements make up a window depends on shapes alone. So it is data, not code: one kernel serves windows of every
form, and nothing is compiled for the sizes at hand, as :mod:`pullback.kernels.max_pool` does for large inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, Value

INT64 = np.dtype(np.int64)
GRAIN = 4  # planes worth handing to another thread


def _first_maximum(k: Kernel, x: Value, taps: Value, number_of: Callable[[Any], Value], to: Value) -> None:
    """Store the first maximum, or last NaN, of a window of ``x``, and its number."""
    f, type, first = k.f, k.type, number_of(0)
    best, number = f.variable(f.load(f.at(x, first, type), type)), f.variable(first)
    with f.loop(1, taps) as tap:
        other = number_of(tap)
        value, old = f.load(f.at(x, other, type), type), best.get()
        # Greater, or NaN where the best is none; of several NaN the last.
        larger = (value > old) | f.compare("uno", value, f.constant(0.0, type))
        best.set(f.select(larger, value, old))
        number.set(f.select(larger, other, number.get()))
    f.store(best.get(), f.at(k["values"], to, type))
    f.store(number.get(), f.at(k["indices"], to, I64))


@compiled_kernel
def _gather_max(d: np.dtype) -> str:
    k = Kernel("gather_max", TYPES[d], ["planes", "counts", "numbers", "values", "indices"])
    f, type, (planes, counts, numbers, *_) = k.f, k.type, k.args.values()
    each, windows, taps, apart = (f.load(f.at(counts, i, I64), I64) for i in range(4))
    with f.loop(f["from"], f["to"]) as plane:
        x, table = f.at(planes, plane * each, type), f.at(numbers, plane * apart, I64)
        with f.loop(0, windows) as window:
            row = f.at(table, window * taps, I64)
            _first_maximum(k, x, taps, lambda tap: f.load(f.at(row, tap, I64), I64), plane * windows + window)
    return k.done(GRAIN)


def gather_max(x: np.ndarray, planes: int, counts: np.ndarray, numbers: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The first maximum, or last NaN, of each window of so many planes, and its number.

    Args:
        counts: how many elements a plane has, how many windows, elements of a window, and elements from the windows of
            one plane to those of the next: 0 where all have the same.
        numbers: of the windows' elements, ``(planes or 1, windows, elements)``, without gaps.
        shape: of the results.
    """
    d = x.dtype
    if d not in TYPES:
        return None
    values, indices = np.empty(shape, d), np.empty(shape, INT64)
    _gather_max(d)(planes, as_contiguous(x), counts, numbers, values, indices)
    return values, indices


@compiled_kernel
def _fractional_max(d: np.dtype, of_samples: np.dtype, n: int) -> str:
    k = Kernel(
        "fractional_max", TYPES[d], ["planes", "samples", "steps", "sizes", "offsets", "counts", "values", "indices"]
    )
    f, type, (planes, samples, steps, sizes, offsets, counts, _, _) = k.f, k.type, k.args.values()
    each, windows, taps = (f.load(f.at(counts, i, I64), I64) for i in range(3))
    real = TYPES[of_samples]
    with f.loop(f["from"], f["to"]) as plane:
        x, drawn = f.at(planes, plane * each, type), f.at(samples, plane * n, real)
        with f.loop(0, windows) as window:
            rest, corner = window, f.constant(0, I64)
            for dim in reversed(range(n)):
                count, last, row, sample = (f.load(f.at(sizes, dim * 4 + i, I64), I64) for i in range(4))
                step, u, at = (
                    f.load(f.at(steps, dim, real), real),
                    f.load(f.at(drawn, sample, real), real),
                    rest % count,
                )
                moved, least = (f.convert("fptosi", v * step, I64) for v in (f.convert("sitofp", at, real) + u, u))
                begins = moved - least
                outside = f.compare("ugt", begins, last)  # whatever the samples are
                corner = corner + f.select(f.compare("eq", at, count - 1) | outside, last, begins) * row
                rest = rest // count
            _first_maximum(
                k, x, taps, lambda tap: f.load(f.at(offsets, tap, I64), I64) + corner, plane * windows + window
            )
    return k.done(GRAIN)


def fractional_max(
    x: np.ndarray, planes: int, samples: np.ndarray, spacing: Sequence[np.ndarray], shape: tuple[int, ...]
) -> Any:
    """The same of windows whose places depend on samples, ``(planes..., dimensions)``.

    Args:
        spacing: how far windows are apart along each dimension; how many they are, where the last begins, how far
            elements are apart in the plane, and the number of the sample; of a window's elements how far they are from
            its first; how many elements a plane has, how many windows, and elements of a window.
        shape: of the results.
    """
    d, of_samples = x.dtype, samples.dtype
    if d not in TYPES or of_samples not in TYPES:
        return None
    values, indices = np.empty(shape, d), np.empty(shape, INT64)
    _fractional_max(d, of_samples, samples.shape[-1])(
        planes, as_contiguous(x), np.ascontiguousarray(samples), *spacing, values, indices
    )
    return values, indices
