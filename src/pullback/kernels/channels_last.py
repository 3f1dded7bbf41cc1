"""Resampling, average and max pooling of images whose channels are innermost in memory (``channels_last``).

Every result is a combination of a few pixels, which is the same for all channels: vectors hold channels. Which pixels,
and with which weights, are data, a table for each spatial dimension, so that one kernel serves all modes and sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.layout import as_contiguous, channels_inside, channels_outside
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I32, I64, Value

INT64 = np.dtype(np.int64)
SIDE_BY_SIDE = 4  # vectors of channels that are computed at a time


def _sizes(k: Kernel, count: int) -> list[Value]:
    return [k.f.load(k.f.at(k["sizes"], i, I64), I64) for i in range(count)]


def _for_results(k: Kernel, n: int, into: Sequence[Value], body: Callable[[Value, list[Value], Value], None]) -> None:
    """``body(sample, place, number)`` for every result: its place along each dimension and its number among all pixels
    of the results. Items are rows of results, across the first dimension.
    """
    f = k.f

    def inner(d: int, sample: Value, place: list[Value], number: Value) -> None:
        if d == n:
            return body(sample, place, number)
        with f.loop(0, into[d]) as i:
            inner(d + 1, sample, [*place, i], number * into[d] + i)

    with f.loop(f["from"], f["to"]) as item:
        inner(1, item // into[0], [item % into[0]], item)


def _for_channels(k: Kernel, channels: Value, body: Callable[[Value, int, Value | None], None]) -> None:
    """``body(first, vectors, mask)`` for all channels, several vectors of them at a time as long as they last."""
    f, lanes = k.f, k.lanes
    several = channels // (SIDE_BY_SIDE * lanes) * (SIDE_BY_SIDE * lanes)
    with f.loop(0, several, SIDE_BY_SIDE * lanes) as c:
        body(c, SIDE_BY_SIDE, None)
    with f.loop(several, channels, lanes) as c:
        body(c, 1, f.mask_below(channels - c, lanes))


# --- sums -------------------------------------------------------------------------------------------------------


@compiled_kernel
def _resample(d: np.dtype, n: int, divided: bool) -> str:
    """With pixels that are ``divided``, each by a number of its own or all by one."""
    tables = [f"{what}{i}" for i in range(n) for what in ("starts", "columns", "weights")]
    k = Kernel("resample_channels", TYPES[d], ["x", "sizes", *tables, "before", "after", "out"], ["channels"])
    f, channels = k.f, k["channels"]
    sizes = _sizes(k, 2 * n + 2)
    into, of, (befores, afters) = sizes[:n], sizes[n : 2 * n], sizes[2 * n :]

    def entry(name: str, i: Value | int) -> Value:
        return f.load(f.at(k[name], i, I64), I64)

    def sum_of(sample: Value, place: list[Value], number: Value) -> None:
        own_place = number - sample * _product(into)
        by = k.splat(k.load_scalar(k["after"], own_place * afters))

        def of_channels(c: Value, vectors: int, mask: Value | None) -> None:
            totals = [f.variable(0.0, k.vector) for _ in range(vectors)]

            def add(d: int, pixel: Value, weight: Value | None) -> None:
                if d == n:
                    at = (sample * _product(of) + pixel) * channels + c
                    assert weight is not None
                    share = k.splat(weight / k.load_scalar(k["before"], pixel * befores) if divided else weight)
                    for u, total in enumerate(totals):
                        total.set(f.fma(share, k.load(k["x"], at + u * k.lanes, mask), total.get()))
                    return
                starts = f"starts{d}"
                with f.loop(entry(starts, place[d]), entry(starts, place[d] + 1)) as e:
                    own = k.load_scalar(k[f"weights{d}"], e)
                    add(d + 1, pixel * of[d] + entry(f"columns{d}", e), own if weight is None else weight * own)

            add(0, f.constant(0, I64), None)
            for u, total in enumerate(totals):
                k.store(total.get() / by, k["out"], number * channels + c + u * k.lanes, mask)

        _for_channels(k, channels, of_channels)

    _for_results(k, n, into, sum_of)
    return k.done()


def _product(sizes: Sequence[Value]) -> Value:
    total = sizes[0]
    for size in sizes[1:]:
        total = total * size
    return total


def resample(x: np.ndarray, lines: Sequence[Any], before: np.ndarray, after: np.ndarray) -> Any:
    """A sparse linear map along each spatial dimension of images.

    Args:
        lines: the maps: ``size`` (of results, of pixels) and ``table`` (starts of the results' entries, columns,
            weights in the type of ``x``).
        before, after: what pixels, and sums, are divided by, a number each, or 0-d.
    """
    d, n = x.dtype, len(lines)
    if d not in TYPES:
        return None
    pixels = as_contiguous(channels_inside(x))
    into, of = ([line.size[i] for line in lines] for i in (0, 1))
    sizes = np.array([*into, *of, before.ndim and 1, after.ndim and 1])
    tables = [array for line in lines for array in line.table(d)]
    out = np.empty((len(x), *into, x.shape[1]), d)
    divided = bool(before.ndim) or before != 1
    kernel = _resample(d, n, divided)
    kernel(len(x) * into[0], x.shape[1], pixels, sizes, *tables, before.astype(d), after.astype(d), out)
    return channels_outside(out)


# --- maxima -----------------------------------------------------------------------------------------------------


@compiled_kernel
def _maxima(d: np.dtype, n: int) -> str:
    elements = [f"elements{i}" for i in range(n)]
    k = Kernel("maxima_of_channels", TYPES[d], ["x", "sizes", *elements, "values", "indices"], ["channels"])
    f, channels = k.f, k["channels"]
    sizes = _sizes(k, 3 * n)
    into, of, taps = sizes[:n], sizes[n : 2 * n], sizes[2 * n :]

    def largest_of(sample: Value, place: list[Value], number: Value) -> None:
        def element(d: int, tap: Value | int) -> Value:
            return f.load(f.at(k[elements[d]], place[d] * taps[d] + tap, I64), I64)

        def of_channels(c: Value, vectors: int, mask: Value | None) -> None:
            def load(pixel: Value, u: int) -> Value:
                at = (sample * _product(of) + pixel) * channels + c + u * k.lanes
                return k.load(k["x"], at, mask)

            def number_of(pixel: Value) -> Value:
                return f.splat(f.convert("trunc", pixel, I32), k.lanes)

            first = f.constant(0, I64)
            for dim in range(n):
                first = first * of[dim] + element(dim, 0)
            best = [f.variable(load(first, u)) for u in range(vectors)]
            where = [f.variable(number_of(first)) for _ in range(vectors)]

            def compare(d: int, pixel: Value) -> None:
                if d < n:
                    with f.loop(0, taps[d]) as tap:
                        compare(d + 1, pixel * of[d] + element(d, tap))
                    return
                for u in range(vectors):
                    other, old = load(pixel, u), best[u].get()
                    # Greater, or NaN where the best is none; of several NaN the last.
                    larger = f.compare("ogt", other, old) | f.compare("uno", other, f.constant(0.0, k.vector))
                    best[u].set(f.select(larger, other, old))
                    where[u].set(f.select(larger, number_of(pixel), where[u].get()))

            compare(0, f.constant(0, I64))
            for u in range(vectors):
                at = number * channels + c + u * k.lanes
                k.store(best[u].get(), k["values"], at, mask)
                wide = f.convert("sext", where[u].get(), I64.of(k.lanes))
                f.store(wide, f.at(k["indices"], at, I64), mask)

        _for_channels(k, channels, of_channels)

    _for_results(k, n, into, largest_of)
    return k.done()


def maxima(x: np.ndarray, elements: Sequence[np.ndarray], spatial: Sequence[int]) -> Any:
    """The first maxima, or last NaN, of windows of images, and their numbers in the plane.

    Args:
        elements: for each spatial dimension the windows' elements, (windows, elements).
    """
    d, n, into = x.dtype, len(spatial), [len(e) for e in elements]
    if d not in TYPES or math.prod(spatial) > 1 << 30:
        return None
    sizes = np.array([*into, *spatial, *[e.shape[1] for e in elements]])
    shape = (len(x), *into, x.shape[1])
    values, indices = np.empty(shape, d), np.empty(shape, INT64)
    pixels = as_contiguous(channels_inside(x))
    _maxima(d, n)(len(x) * into[0], x.shape[1], pixels, sizes, *elements, values, indices)
    return channels_outside(values), channels_outside(indices)


@compiled_kernel
def _place(d: np.dtype) -> str:
    k = Kernel("place_channels", TYPES[d], ["source", "index", "out"], ["pixels", "size", "channels"])
    f, type, (pixels, size, channels, source, index, out) = k.f, k.type, k.args.values()
    with f.loop(f["from"], f["to"]) as sample:
        image = f.at(out, sample * size * channels, type)
        f.clear(image, size * channels * (type.bits // 8))
        with f.loop(sample * pixels, (sample + 1) * pixels) as pixel, f.loop(0, channels) as c:
            at = pixel * channels + c
            to = f.load(f.at(index, at, I64), I64)
            with f.if_then(f.compare("ult", to, size)):
                place = f.at(image, to * channels + c, type)
                f.store(f.load(place, type) + f.load(f.at(source, at, type), type), place)
    return k.done()


def place(input: np.ndarray, index: np.ndarray, size: Sequence[int]) -> Any:
    """Images of zeros to which the elements are added at their numbers in the plane."""
    d = input.dtype
    if d not in TYPES or index.dtype != INT64 or not input.size or input.shape != index.shape:
        return None
    n, c, *pixels = input.shape
    out = np.empty((n, *size, c), d)
    source, numbers = (as_contiguous(channels_inside(a)) for a in (input, index))
    return channels_outside(_place(d)(n, math.prod(pixels), math.prod(size), c, source, numbers, out))
