"""Elements of planes by their numbers: the maxima of windows, weighted sums of elements, and sums at places.

Which elements make a window is a table that depends on shapes alone. So one kernel serves windows of every form, and
costs
nothing to begin with: small pools and convolutions, which :mod:`pullback.kernels.pool` and
:mod:`pullback.kernels.convolution` would compile for their sizes, run here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .codegen.kernel_builder import TYPES, Kernel, written
from .codegen.llvm_ir import F64, I64, Value

INT64 = np.dtype(np.int64)
GRAIN = 4  # planes that are worth a thread's while


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


@written
def _largest(d: np.dtype) -> str:
    k = Kernel("largest", TYPES[d], ["planes", "counts", "numbers", "values", "indices"])
    f, type, (planes, counts, numbers, *_) = k.f, k.type, k.given.values()
    each, windows, taps, apart = (f.load(f.at(counts, i, I64), I64) for i in range(4))
    with f.loop(f["from"], f["to"]) as plane:
        x, table = f.at(planes, plane * each, type), f.at(numbers, plane * apart, I64)
        with f.loop(0, windows) as window:
            row = f.at(table, window * taps, I64)
            _first_maximum(k, x, taps, lambda tap: f.load(f.at(row, tap, I64), I64), plane * windows + window)
    return k.done(GRAIN)


def largest(x: np.ndarray, planes: int, counts: np.ndarray, numbers: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The first maximum, or last NaN, of each window of so many planes, and its number.

    Args:
        counts: how many elements a plane has, how many windows, elements of a window, and elements from the windows of
            one
            plane to those of the next: 0 where all have the same.
        numbers: of the windows' elements, ``(planes or 1, windows, elements)``, without gaps.
        shape: of the results.
    """
    d = x.dtype
    if d not in TYPES:
        return None
    values, indices = np.empty(shape, d), np.empty(shape, INT64)
    _largest(d)(planes, np.ascontiguousarray(x), counts, numbers, values, indices)
    return values, indices


@written
def _drawn(d: np.dtype, of_samples: np.dtype, n: int) -> str:
    k = Kernel("drawn", TYPES[d], ["planes", "samples", "steps", "sizes", "offsets", "counts", "values", "indices"])
    f, type, (planes, samples, steps, sizes, offsets, counts, _, _) = k.f, k.type, k.given.values()
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


def drawn(
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
    _drawn(d, of_samples, samples.shape[-1])(
        planes, np.ascontiguousarray(x), np.ascontiguousarray(samples), *spacing, values, indices
    )
    return values, indices


@written
def _mapped(d: np.dtype) -> str:
    k = Kernel("mapped", TYPES[d], ["x", "sizes", "starts", "columns", "weights", "before", "after", "out"])
    f, type, (x, sizes, starts, columns, weights, before, after, out) = k.f, k.type, k.given.values()
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


def mapped(x: np.ndarray, planes: int, entries: Sequence[np.ndarray], shape: tuple[int, ...]) -> Any:
    """A sparse linear map of so many planes: row r sums entries ``starts[r]`` up to ``starts[r + 1]``.

    Args:
        entries: sizes (elements and rows of a plane, then 0 for 0-d ``before`` and ``after``, else 1), starts, columns,
            weights, what elements are divided by (``before``), and sums (``after``), a number each, or 0-d; these in
            float64.
        shape: of the result.
    """
    d = x.dtype
    return _mapped(d)(planes, np.ascontiguousarray(x), *entries, np.empty(shape, d)) if d in TYPES else None


@written
def _correlated(d: np.dtype) -> str:
    k = Kernel("correlated", TYPES[d], ["counts", "starts", "columns", "taps", "x", "w", "bias", "out"], ["biased"])
    f, type, (biased, counts, starts, columns, taps, x, w, bias, out) = k.f, k.type, k.given.values()
    channels, features, groups, plane, rows, by_group, by_feature, by_channel = (
        f.load(f.at(counts, i, I64), I64) for i in range(8)
    )
    with f.loop(f["from"], f["to"]) as item:
        feature = item % (groups * features)
        group, total = feature // features, f.variable(0.0, type)
        source = f.at(x, (item // features) * channels * plane, type)
        weights = f.at(w, group * by_group + feature % features * by_feature, type)
        with f.loop(0, rows) as row:
            total.set(0.0)
            with f.when(biased.differs(0)):
                total.set(f.load(f.at(bias, feature, type), type))
            first, last = (f.load(f.at(starts, row + i, I64), I64) for i in (0, 1))
            with f.loop(0, channels) as channel:
                pixels, factors = f.at(source, channel * plane, type), f.at(weights, channel * by_channel, type)
                with f.loop(first, last) as entry:
                    column, tap = (f.load(f.at(a, entry, I64), I64) for a in (columns, taps))
                    inside = column >= 0
                    value = f.select(inside, f.load(f.at(pixels, f.select(inside, column, 0), type), type), 0.0)
                    total.set(f.fma(value, f.load(f.at(factors, tap, type), type), total.get()))
            f.store(total.get(), f.at(out, item * rows + row, type))
    return k.done(1 << 30)  # what is so small one thread does


def correlated(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, tables: Sequence[np.ndarray], shape: tuple[int, ...]
) -> Any:
    """A convolution, or transposed one: a result is the sum of elements times weights, over channels and entries of its
    row.

    Args:
        tables: counts (of channels, features of a group, groups, elements of a plane, rows; and how far apart in ``w``
            are groups, features, channels); where in the entries the rows begin, and the last ends; of each entry the
            number of the element, -1 for padding, and that of the weight.
        shape: of the result.
    """
    d = x.dtype
    if d not in TYPES:
        return None
    x, w, biased = np.ascontiguousarray(x), np.ascontiguousarray(w), bias is not None
    return _correlated(d)(
        shape[0] * shape[1], biased, *tables, x, w, np.ascontiguousarray(bias) if biased else w, np.empty(shape, d)
    )


@written
def place_kernel(d: np.dtype, add: bool) -> str:
    k = Kernel("place", TYPES[d], ["source", "index", "out"], ["n", "size"])
    f, type, (n, size, source, index, out) = k.f, k.type, k.given.values()
    with f.loop(f["from"], f["to"]) as plane:
        target = f.at(out, plane * size, type)
        f.clear(target, size * (type.bits // 8))
        with f.loop(plane * n, plane * n + n) as i:
            to = f.load(f.at(index, i, I64), I64)
            with f.when(f.compare("ult", to, size)):
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
        planes, input.size // planes, math.prod(size), np.ascontiguousarray(input), np.ascontiguousarray(index), out
    )
