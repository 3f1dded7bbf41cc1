"""Elements of planes by their numbers: the maxima of windows, weighted sums of elements, and sums at places.

Which elements make a window is a table that depends on shapes alone. So one kernel serves windows of every form, and costs
nothing to begin with: small pools, which :mod:`pullback.kernels.pool` would compile for their sizes, run here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .builder import F64, I64, Value
from .kernel import TYPES, Kernel

GRAIN = 4  # planes that are worth a thread's while


@lru_cache(None)
def _largest(d: np.dtype) -> Any:
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


@lru_cache(None)
def _mapped(d: np.dtype) -> Any:
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


@lru_cache(None)
def place_kernel(d: np.dtype) -> Any:
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
