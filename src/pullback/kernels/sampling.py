"""Images looked up at points, and the two gradients of that: what :mod:`pullback.ops.grid` does, point by point.

Each point's pixels and weights are worked out once, in registers, and then serve all channels. Formulas and their order
are those of the arrays there, so that results agree to rounding; no pixel is read where there is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import add, mul
from typing import Any

import numpy as np

from .builder import I64, Value
from .kernel import TYPES, Kernel, written

Basis = tuple[tuple[tuple[float, ...], ...], ...]  # by order of derivative, by tap: coefficients, highest power first
Options = tuple[np.dtype, int, Any, Basis, int]


class Points(Kernel):
    """A task over points: its sizes, and the pixels of a point with their weights.

    Attributes:
        n: how many dimensions images have.
        basis: the polynomials of the taps, and their derivatives if those are needed.
        first: the number of the first tap from the pixel before the point.
    """

    def __init__(self, name: str, options: Options, arrays: Sequence[str]) -> None:
        d, n, self.how, self.basis, self.first = options
        sizes = [f"size {i}" for i in range(n)]
        super().__init__(name, TYPES[d], arrays, ["channels", "points", *sizes])
        self.n, self.channels, self.points, self.sizes = n, self["channels"], self["points"], [self[s] for s in sizes]
        self.plane = reduce(mul, self.sizes)

    def padded(self, at: Value, size: Value) -> tuple[Value, Value | None]:
        """A pixel number moved to within the image, and the derivative of that (None: 1)."""
        f, mode = self.f, self.how.padding_mode
        if mode == "zeros":
            return at, None
        slope = f.constant(1.0, self.type)
        if mode == "reflection":
            low = 0.0 if self.how.align_corners else -0.5
            span = size - 1.0 if self.how.align_corners else size
            span = f.select(span < 1.0, 1.0, span)
            distance = f.intrinsic("fabs", at - low)
            times = f.intrinsic("floor", distance / span)
            beyond = f.fma(-times, span, distance)
            half = times * 0.5
            even = f.intrinsic("floor", half).equals(half)
            ahead = at > low
            slope = f.select(even ^ ahead, f.constant(-1.0, self.type), slope)
            at = f.select(even, beyond + low, span - beyond + low)
        within = (at > 0.0) & (at < size - 1.0)
        at = f.select(at < 0.0, 0.0, at)  # NaN stays
        at = f.select(at > size - 1.0, size - 1.0, at)
        return at, f.select(within, slope, 0.0)

    def stencil(self, point: Value) -> list[tuple[Value, Value, list[Value]]]:
        """For each pixel its number, whether there is one, and its weight, or the derivatives of that by the coordinates.

        Args:
            point: the number of the point, among those of all images.
        """
        f, type, align = self.f, self.type, self.how.align_corners
        along = []  # by dimension and tap: (number in this dimension, inside, weights by order)
        for d, extent in enumerate(self.sizes):
            size = f.convert("sitofp", extent, type)
            at = self.number(self["grid"], point * self.n + (self.n - 1 - d)) + 1.0
            scale = (size - 1.0 if align else size) * 0.5
            at = at * scale if align else (at * size - 1.0) * 0.5
            slope = None
            if self.how.mode != "bicubic":
                at, slope = self.padded(at, size)
            nearest = f.intrinsic("rint" if self.how.mode == "nearest" else "floor", at)
            t = at - nearest
            taps = []
            for k in range(len(self.basis[0])):
                pixel = nearest + float(self.first + k)
                if self.how.mode == "bicubic":
                    pixel, _ = self.padded(pixel, size)
                inside = (pixel >= 0.0) & (pixel <= size - 1.0)
                weights = []
                for order, rows in enumerate(self.basis):
                    w, *rest = (f.constant(c, type) for c in rows[k])
                    for c in rest:
                        w = w * t + c
                    if order:
                        w = w * (scale if slope is None else scale * slope)
                    weights.append(w)
                taps.append((f.convert("fptosi", f.select(inside, pixel, 0.0), I64), inside, weights))
            along.append(taps)
        found = []
        for chosen in itertools.product(*along):
            number, inside, _ = chosen[0]
            for extent, (more, there, _) in zip(self.sizes[1:], chosen[1:]):
                number, inside = number * extent + more, inside & there
            directions = [None] if len(self.basis) == 1 else range(self.n - 1, -1, -1)  # x is the last dimension
            weights = [reduce(mul, [w[d == by] for d, (_, _, w) in enumerate(chosen)]) for by in directions]
            found.append((number, inside, [f.select(inside, w, 0.0) for w in weights]))
        return found

    def pixel(self, start: Value, number: Value, inside: Value, factor: Value) -> Value:
        """An image's pixel times a factor; 0 where there is no pixel, whatever the factor."""
        return self.f.select(inside, self.number(self["images"], start + number) * factor, 0.0)


@written
def _sampled(options: Options) -> str:
    k = Points("sampled", options, ["images", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as point:
        image = point // k.points
        found = k.stencil(point)
        with f.loop(0, k.channels) as channel:
            row = image * k.channels + channel
            value = reduce(add, [k.pixel(row * k.plane, number, inside, w) for number, inside, (w,) in found])
            k.put(value, k["out"], row * k.points + point % k.points)
    return k.done(64)


@written
def _unsampled(options: Options) -> str:
    k = Points("unsampled", options, ["g", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as image:
        start = image * k.channels * k.plane
        f.clear(f.at(k["out"], start, k.type), k.channels * k.plane * (k.type.bits // 8))
        with f.loop(0, k.points) as p:
            found = k.stencil(image * k.points + p)
            with f.loop(0, k.channels) as channel:
                row = image * k.channels + channel
                g = k.number(k["g"], row * k.points + p)
                for number, inside, (w,) in found:
                    with f.when(inside):
                        at = row * k.plane + number
                        k.put(k.number(k["out"], at) + w * g, k["out"], at)
    return k.done()


@written
def _moved(options: Options) -> str:
    k = Points("moved", options, ["g", "images", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as point:
        image = point // k.points
        found = k.stencil(point)
        totals = [f.variable(0.0, k.type) for _ in range(k.n)]
        with f.loop(0, k.channels) as channel:
            row = image * k.channels + channel
            g = k.number(k["g"], row * k.points + point % k.points)
            seen = [k.pixel(row * k.plane, number, inside, g) for number, inside, _ in found]
            for j, total in enumerate(totals):
                total.set(total.get() + reduce(add, [v * w[j] for v, (_, _, w) in zip(seen, found)]))
        for j, total in enumerate(totals):
            k.put(total.get(), k["out"], point * k.n + j)
    return k.done(64)


@lru_cache(64)
def _options(d: np.dtype, n: int, how: Any, orders: int) -> Options:
    from ..ops.grid import BASES, coefficients

    basis = tuple(tuple(map(tuple, coefficients(how.mode, order))) for order in range(orders))
    return d, n, how, basis, BASES[how.mode][0]


def sampled(images: np.ndarray, grid: np.ndarray, how: Any) -> np.ndarray | None:
    """Images (N, C, spatial...) at the points of a grid (N, points..., n): (N, C, points...)."""
    d = images.dtype
    if d not in TYPES or grid.dtype != d or not grid.size or not images.size:
        return None
    (n, channels, *spatial), points = images.shape, grid.shape[1:-1]
    out, count = np.empty((n, channels, *points), d), math.prod(points)
    call = _sampled(_options(d, len(spatial), how, 1))
    return call(n * count, channels, count, *spatial, np.ascontiguousarray(images), np.ascontiguousarray(grid), out)


def unsampled(g: np.ndarray, grid: np.ndarray, spatial: tuple[int, ...], how: Any) -> np.ndarray | None:
    """The gradient of the images."""
    d = g.dtype
    if d not in TYPES or grid.dtype != d or not g.size:
        return None
    (n, channels), count = g.shape[:2], math.prod(grid.shape[1:-1])
    call = _unsampled(_options(d, len(spatial), how, 1))
    return call(n, channels, count, *spatial, np.ascontiguousarray(g), np.ascontiguousarray(grid), np.empty((n, channels, *spatial), d))


def moved(g: np.ndarray, images: np.ndarray, grid: np.ndarray, how: Any) -> np.ndarray | None:
    """The gradient of the points."""
    d = g.dtype
    if d not in TYPES or not images.dtype == grid.dtype == d or not g.size or not images.size:
        return None
    (n, channels, *spatial), count = images.shape, math.prod(grid.shape[1:-1])
    call = _moved(_options(d, len(spatial), how, 2))
    arrays = (np.ascontiguousarray(a) for a in (g, images, grid))
    return call(n * count, channels, count, *spatial, *arrays, np.empty(grid.shape, d))
