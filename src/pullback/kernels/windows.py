"""Elements of planes by their numbers: the maxima of windows, weighted sums of elements, and sums at places.

Which elements make a window is a table that depends on shapes alone. So one kernel serves windows of every form, and costs
nothing to begin with: small pools, which :mod:`pullback.kernels.pool` would compile for their sizes, run here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .builder import F64, I64
from .kernel import TYPES, Kernel, written

GRAIN = 4  # planes that are worth a thread's while


@written
def _largest(d: np.dtype) -> str:
    k = Kernel("largest", TYPES[d], ["planes", "numbers", "values", "indices"], ["each", "windows", "taps", "apart"])
    f, type, (each, windows, taps, apart, planes, numbers, values, indices) = k.f, k.type, k.given.values()
    with f.loop(f["from"], f["to"]) as plane:
        x, table = f.at(planes, plane * each, type), f.at(numbers, plane * apart, I64)
        with f.loop(0, windows) as window:
            row = f.at(table, window * taps, I64)
            first = f.load(row, I64)
            best, number = f.variable(f.load(f.at(x, first, type), type)), f.variable(first)
            with f.loop(1, taps) as tap:
                other = f.load(f.at(row, tap, I64), I64)
                value, old = f.load(f.at(x, other, type), type), best.get()
                # Greater, or NaN where the best is none; of several NaN the last.
                larger = (value > old) | f.compare("uno", value, f.constant(0.0, type))
                best.set(f.select(larger, value, old))
                number.set(f.select(larger, other, number.get()))
            to = plane * windows + window
            f.store(best.get(), f.at(values, to, type))
            f.store(number.get(), f.at(indices, to, I64))
    return k.done(GRAIN)


def largest(flat: np.ndarray, numbers: np.ndarray) -> Any:
    """The first maximum, or last NaN, of each window of planes ``(planes, elements)``, and its number.

    Args:
        numbers: of the windows' elements, ``(planes or 1, windows, elements)``.
    """
    (n, each), (sets, windows, taps) = flat.shape, numbers.shape
    if flat.dtype not in TYPES or not taps:
        return None
    values, indices = np.empty((n, windows), flat.dtype), np.empty((n, windows), np.int64)
    apart = windows * taps if sets > 1 else 0
    _largest(flat.dtype)(n, each, windows, taps, apart, np.ascontiguousarray(flat), np.ascontiguousarray(numbers), values, indices)
    return values, indices


@written
def _mapped(d: np.dtype) -> str:
    k = Kernel("mapped", TYPES[d], ["x", "starts", "columns", "weights", "out"], ["each", "rows"], ["before", "after"])
    f, type, (each, rows, before, after, x, starts, columns, weights, out) = k.f, k.type, k.given.values()
    with f.loop(f["from"], f["to"]) as plane:
        source, target = f.at(x, plane * each, type), f.at(out, plane * rows, type)
        with f.loop(0, rows) as row:
            total = f.variable(0.0, type)
            with f.loop(f.load(f.at(starts, row, I64), I64), f.load(f.at(starts, row + 1, I64), I64)) as entry:
                value = f.load(f.at(source, f.load(f.at(columns, entry, I64), I64), type), type) / before
                weight = f.load(f.at(weights, entry, F64), F64)
                total.set(total.get() + value * (f.convert("fptrunc", weight, type) if type != F64 else weight))
            f.store(total.get() / after, f.at(target, row, type))
    return k.done(GRAIN)


def mapped(x: np.ndarray, starts: np.ndarray, columns: np.ndarray, weights: np.ndarray, before: float, after: float) -> Any:
    """A sparse linear map of planes ``(planes, elements)``: row r sums entries ``starts[r]`` up to ``starts[r + 1]``.

    Args:
        weights: of the entries, float64.
        before, after: what elements, and sums, are divided by.
    """
    if x.dtype not in TYPES:
        return None
    (n, each), rows = x.shape, len(starts) - 1
    out = np.empty((n, rows), x.dtype)
    return _mapped(x.dtype)(n, each, rows, before, after, np.ascontiguousarray(x), starts, columns, weights, out)


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
