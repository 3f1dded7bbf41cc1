"""grid_sample and its two gradients, point by point; see :mod:`pullback.ops.grid_sample` for the formulas.

The pixels of a point and their weights are computed once, in registers, and then serve all channels. Formulas and
their order are those on arrays there, so results agree to rounding; no pixel is read outside of an image.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from operator import add, mul
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, Value
from .grid_taps import BASES, coefficients

Basis = tuple[tuple[tuple[float, ...], ...], ...]  # by order of derivative, by tap: coefficients, highest power first
Options = tuple[np.dtype, int, Any, Basis, int]
Ints = tuple[int, ...]


class Points(Kernel):
    """A task over points: its sizes, and the pixels of a point with their weights.

    The first array has the counts: of channels, of points, of pixels along each dimension.

    Attributes:
        n: how many dimensions images have.
        basis: the polynomials of the taps, and their derivatives if those are needed.
        first: the number of the first tap from the pixel before the point.
    """

    def __init__(self, name: str, options: Options, arrays: Sequence[str]) -> None:
        d, self.n, self.how, self.basis, self.first = options
        super().__init__(name, TYPES[d], ["counts", *arrays])
        f = self.f
        self.channels, self.points, *self.sizes = [f.load(f.at(self["counts"], i, I64), I64) for i in range(2 + self.n)]
        self.plane = reduce(mul, self.sizes)

    def padded(self, at: Value, size: Value) -> tuple[Value, Value | None]:
        """A pixel coordinate moved into the image by the padding mode, and the derivative of that (None: 1)."""
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
        at = f.select(at > 0.0, at, 0.0)  # NaN is the first pixel
        at = f.select(at > size - 1.0, size - 1.0, at)
        return at, f.select(within, slope, 0.0)

    def stencil(self, point: Value) -> list[tuple[Value, Value, list[Value]]]:
        """For each pixel its number, whether there is one, and its weight, or the derivatives of that by the
        coordinates.

        Args:
            point: the number of the point, among those of all images.
        """
        f, type, align = self.f, self.type, self.how.align_corners
        along = []  # by dimension and tap: (number in this dimension, inside, weights by order)
        for d, extent in enumerate(self.sizes):
            size = f.convert("sitofp", extent, type)
            at = self.load_scalar(self["grid"], point * self.n + (self.n - 1 - d))
            scale = f.constant(1.0, type)
            if align is not None:
                at, scale = at + 1.0, (size - 1.0 if align else size) * 0.5
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
                number = f.convert("fptosi", f.select(inside, pixel, 0.0), I64)
                if self.how.mode != "nearest":  # what lies at NaN is NaN, as the weights are
                    inside = inside | ((pixel >= 0.0) | (pixel < 0.0)).equals(0)
                taps.append((number, inside, weights))
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
        """A pixel times a factor; 0 outside of the image, whatever the factor."""
        return self.f.select(inside, self.load_scalar(self["images"], start + number) * factor, 0.0)


@compiled_kernel
def _grid_sample(options: Options) -> str:
    k = Points("grid_sample", options, ["images", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as point:
        image = point // k.points
        found = k.stencil(point)
        with f.loop(0, k.channels) as channel:
            row = image * k.channels + channel
            value = reduce(add, [k.pixel(row * k.plane, number, inside, w) for number, inside, (w,) in found])
            k.store_scalar(value, k["out"], row * k.points + point % k.points)
    return k.done(64)


@compiled_kernel
def _input_gradient(options: Options) -> str:
    k = Points("input_gradient", options, ["g", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as image:
        start = image * k.channels * k.plane
        f.clear(f.at(k["out"], start, k.type), k.channels * k.plane * (k.type.bits // 8))
        with f.loop(0, k.points) as p:
            found = k.stencil(image * k.points + p)
            with f.loop(0, k.channels) as channel:
                row = image * k.channels + channel
                g = k.load_scalar(k["g"], row * k.points + p)
                for number, inside, (w,) in found:
                    with f.if_then(inside):
                        at = row * k.plane + number
                        k.store_scalar(k.load_scalar(k["out"], at) + w * g, k["out"], at)
    return k.done()


@compiled_kernel
def _grid_gradient(options: Options) -> str:
    k = Points("grid_gradient", options, ["g", "images", "grid", "out"])
    f = k.f
    with f.loop(f["from"], f["to"]) as point:
        image = point // k.points
        found = k.stencil(point)
        totals = [f.variable(0.0, k.type) for _ in range(k.n)]
        with f.loop(0, k.channels) as channel:
            row = image * k.channels + channel
            g = k.load_scalar(k["g"], row * k.points + point % k.points)
            seen = [k.pixel(row * k.plane, number, inside, g) for number, inside, _ in found]
            for j, total in enumerate(totals):
                total.set(total.get() + reduce(add, [v * w[j] for v, (_, _, w) in zip(seen, found)]))
        for j, total in enumerate(totals):
            k.store_scalar(total.get(), k["out"], point * k.n + j)
    return k.done(64)


@lru_cache(256)
def _plan(made: Any, orders: int, types: tuple[np.dtype, ...], images: Ints, grid: Ints, how: Any) -> Any:
    """The kernel for arrays of these types and shapes, the number of points, the counts of :class:`Points`, and the
    result's shape; None if there is no such kernel.
    """

    d = types[0]
    if d not in TYPES or any(other != d for other in types) or 0 in images or 0 in grid:
        return None
    (n, channels, *spatial), (_, *points, _) = images, grid
    basis = tuple(tuple(map(tuple, coefficients(how.mode, order))) for order in range(orders))
    count = math.prod(points)
    kernel = made((d, len(spatial), how, basis, BASES[how.mode][0]))
    return kernel, n * count, np.array([channels, count, *spatial]), (n, channels, *points)


def grid_sample(images: np.ndarray, grid: np.ndarray, how: Any) -> np.ndarray | None:
    """Images (N, C, spatial...) at the points of a grid (N, points..., n): (N, C, points...)."""
    d = images.dtype
    plan = _plan(_grid_sample, 1, (d, grid.dtype), images.shape, grid.shape, how)
    if plan is None:
        return None
    kernel, points, counts, shape = plan
    return kernel(points, counts, as_contiguous(images), as_contiguous(grid), np.empty(shape, d))


def input_gradient(g: np.ndarray, grid: np.ndarray, spatial: Ints, how: Any) -> np.ndarray | None:
    """The gradient of the images."""
    d, shape = g.dtype, (*g.shape[:2], *spatial)
    plan = _plan(_input_gradient, 1, (d, grid.dtype), shape, grid.shape, how)
    if plan is None:
        return None
    kernel, _, counts, _ = plan
    return kernel(len(g), counts, as_contiguous(g), as_contiguous(grid), np.empty(shape, d))


def grid_gradient(g: np.ndarray, images: np.ndarray, grid: np.ndarray, how: Any) -> np.ndarray | None:
    """The gradient of the points."""
    d = g.dtype
    plan = _plan(_grid_gradient, 2, (d, images.dtype, grid.dtype), images.shape, grid.shape, how)
    if plan is None:
        return None
    kernel, points, counts, _ = plan
    arrays = (as_contiguous(a) for a in (g, images, grid))
    return kernel(points, counts, *arrays, np.empty(grid.shape, d))
