"""Elements of planes by their numbers: the maxima of windows, weighted sums of elements, and sums at places.

Which elements make a window is a table that depends on shapes alone. So one kernel serves windows of every form, and costs
nothing to begin with: small pools, which :mod:`pullback.kernels.pool` would compile for their sizes, run here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .builder import F64, I64, Value
from .kernel import TYPES, Kernel, written

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
    k = Kernel("largest", TYPES[d], ["planes", "numbers", "values", "indices"], ["each", "windows", "taps", "apart"])
    f, type, (each, windows, taps, apart, planes, numbers, _, _) = k.f, k.type, k.given.values()
    with f.loop(f["from"], f["to"]) as plane:
        x, table = f.at(planes, plane * each, type), f.at(numbers, plane * apart, I64)
        with f.loop(0, windows) as window:
            row = f.at(table, window * taps, I64)
            _first_maximum(k, x, taps, lambda tap: f.load(f.at(row, tap, I64), I64), plane * windows + window)
    return k.done(GRAIN)


def largest(x: np.ndarray, planes: int, numbers: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The first maximum, or last NaN, of each window of so many planes, and its number.

    Args:
        numbers: of the windows' elements, ``(planes or 1, windows, elements)``.
        shape: of the results.
    """
    sets, windows, taps = numbers.shape
    if x.dtype not in TYPES or not taps:
        return None
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    each, apart = x.size // max(planes, 1), windows * taps if sets > 1 else 0
    _largest(x.dtype)(planes, each, windows, taps, apart, np.ascontiguousarray(x), np.ascontiguousarray(numbers), values, indices)
    return values, indices


@written
def _drawn(d: np.dtype, of_samples: np.dtype, n: int) -> str:
    k = Kernel("drawn", TYPES[d], ["planes", "samples", "steps", "sizes", "offsets", "values", "indices"], ["each", "windows", "taps"])
    f, type, (each, windows, taps, planes, samples, steps, sizes, offsets, _, _) = k.f, k.type, k.given.values()
    real = TYPES[of_samples]
    with f.loop(f["from"], f["to"]) as plane:
        x, drawn = f.at(planes, plane * each, type), f.at(samples, plane * n, real)
        with f.loop(0, windows) as window:
            rest, corner = window, f.constant(0, I64)
            for dim in reversed(range(n)):
                count, last, row, sample = (f.load(f.at(sizes, dim * 4 + i, I64), I64) for i in range(4))
                step, u, at = f.load(f.at(steps, dim, real), real), f.load(f.at(drawn, sample, real), real), rest % count
                moved, least = (f.convert("fptosi", v * step, I64) for v in (f.convert("sitofp", at, real) + u, u))
                begins = moved - least
                outside = f.compare("ugt", begins, last)  # whatever the samples are
                corner = corner + f.select(f.compare("eq", at, count - 1) | outside, last, begins) * row
                rest = rest // count
            _first_maximum(k, x, taps, lambda tap: f.load(f.at(offsets, tap, I64), I64) + corner, plane * windows + window)
    return k.done(GRAIN)


def drawn(x: np.ndarray, samples: np.ndarray, steps: np.ndarray, sizes: np.ndarray, offsets: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The same of windows whose places depend on samples, ``(planes, dimensions)``.

    Args:
        steps, sizes: how far windows are apart along each dimension; how many they are, where the last begins, how far elements
            are apart in the plane, and the number of the sample.
        offsets: of a window's elements from its first.
        shape: of the results.
    """
    if x.dtype not in TYPES or samples.dtype not in TYPES or not samples.size:
        return None
    (planes, n), values, indices = samples.shape, np.empty(shape, x.dtype), np.empty(shape, np.int64)
    counts = x.size // planes, values.size // planes, len(offsets)
    _drawn(x.dtype, samples.dtype, n)(planes, *counts, np.ascontiguousarray(x), np.ascontiguousarray(samples), steps, sizes, offsets, values, indices)
    return values, indices


@written
def _mapped(d: np.dtype) -> str:
    arrays = ["x", "starts", "columns", "weights", "before", "after", "out"]
    k = Kernel("mapped", TYPES[d], arrays, ["each", "rows", "befores", "afters"])
    f, type, (each, rows, befores, afters, x, starts, columns, weights, before, after, out) = k.f, k.type, k.given.values()

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


def mapped(x: np.ndarray, planes: int, starts: np.ndarray, columns: np.ndarray, weights: np.ndarray, before: np.ndarray, after: np.ndarray,
           shape: tuple[int, ...]) -> Any:  # fmt: skip
    """A sparse linear map of so many planes: row r sums entries ``starts[r]`` up to ``starts[r + 1]``.

    Args:
        weights: of the entries, float64.
        before, after: what elements, and sums, are divided by: a number each, or one for all, float64.
        shape: of the result.
    """
    if x.dtype not in TYPES:
        return None
    out = np.empty(shape, x.dtype)
    sizes = x.size // planes, len(starts) - 1, before.ndim and 1, after.ndim and 1
    return _mapped(x.dtype)(planes, *sizes, np.ascontiguousarray(x), starts, columns, weights, before, after, out)


@written
def place_kernel(d: np.dtype) -> str:
    k = Kernel("place", TYPES[d], ["source", "index", "out"], ["n", "size"])
    f, type, (n, size, source, index, out) = k.f, k.type, k.given.values()
    with f.loop(f["from"], f["to"]) as plane:
        target = f.at(out, plane * size, type)
        f.clear(target, size * (type.bits // 8))
        with f.loop(plane * n, plane * n + n) as i:
            to = f.load(f.at(index, i, I64), I64)
            with f.when(f.compare("ult", to, size)):
                place = f.at(target, to, type)
                f.store(f.load(place, type) + f.load(f.at(source, i, type), type), place)
    return k.done(GRAIN)


def place(input: np.ndarray, index: np.ndarray, size: Any) -> Any:
    """Planes of zeros with the sums of the elements at each number; both arrays are ``(planes..., elements...)`` alike."""
    n = len(size)
    if input.dtype not in TYPES or index.dtype != np.int64 or not input.size or input.shape != index.shape:
        return None
    lead = input.shape[: input.ndim - n]
    planes = math.prod(lead)
    out = np.empty((*lead, *size), input.dtype)
    return place_kernel(input.dtype)(planes, input.size // planes, math.prod(size), np.ascontiguousarray(input), np.ascontiguousarray(index), out)
