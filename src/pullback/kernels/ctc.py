"""Connectionist temporal classification: the forward and the backward algorithm, in vectors along the paths.

Rows of logarithms of probabilities are padded in front with two of 0, so that every place has two before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .codegen import jit
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I8, I64, Value

FRONT = 2  # places before the first
ARRAYS = ["scores", "path", "skips", "lengths", "rows"]
SIZES = ["steps", "batch", "classes", "width"]  # width: places of a path, a multiple of the lanes


def _log_of_sum(k: Kernel, a: Value, b: Value, c: Value) -> Value:
    f = k.f
    top = f.larger(f.larger(a, b), c)
    return top + k.math.log(k.math.exp(a - top) + k.math.exp(b - top) + k.math.exp(c - top))


class _Paths:
    """What the kernels share: the vectors of one path, at one step."""

    def __init__(self, k: Kernel, log_zero: float) -> None:
        self.k, self.zero = k, k.f.constant(log_zero, k.vector)

    def emitted(self, path: Value, step: Value, at: Value) -> Value:
        """The scores of the classes in these places."""
        k, f = self.k, self.k.f
        row = f.at(k["scores"], (step * k["batch"] + path) * k["classes"], k.type)
        return f.gather(row, f.load(f.at(k["path"], path * k["width"] + at, I64), I64.of(k.lanes)), k.type)

    def skipped(self, path: Value, at: Value, value: Value) -> Value:
        """A value where the path may skip a place."""
        k, f = self.k, self.k.f
        may = f.load(f.at(k["skips"], path * k["width"] + at, I8), I8.of(k.lanes)).differs(0)
        return f.select(may, value, self.zero)

    def row(self, path: Value, step: Value) -> Value:
        k = self.k
        return k.f.at(k["rows"], (path * k["steps"] + step) * (k["width"] + FRONT), k.type)


@compiled_kernel
def forward_kernel(d: np.dtype, log_zero: float) -> str:
    """Items are paths: the logarithms of the probabilities to be in each place after each step."""
    k = Kernel("ctc_forward", TYPES[d], ARRAYS, SIZES)
    f, paths = k.f, _Paths(k, log_zero)
    places = f.iota(k.type.integers.of(k.lanes))
    with f.loop(f["from"], f["to"]) as path:
        with f.loop(0, f.load(f.at(k["lengths"], path, I64), I64)) as step:
            row = paths.row(path, step)
            before = f.at(row, -(k["width"] + FRONT), k.type)
            for i in range(FRONT):
                k.store_scalar(f.constant(log_zero, k.type), row, f.constant(i, I64))

            def first(row: Value = row, step: Value = step, path: Value = path) -> None:
                with f.loop(0, k["width"], k.lanes) as at:
                    here = places < f.splat(_narrow(k, f.smaller(f.larger(FRONT - at, 0), FRONT)), k.lanes)
                    k.store(f.select(here, paths.emitted(path, step, at), paths.zero), row, at + FRONT)

            def later(row: Value = row, step: Value = step, path: Value = path, before: Value = before) -> None:
                with f.loop(0, k["width"], k.lanes) as at:
                    stay, one = k.load(before, at + 2), k.load(before, at + 1)
                    two = paths.skipped(path, at, k.load(before, at))
                    k.store(_log_of_sum(k, stay, one, two) + paths.emitted(path, step, at), row, at + FRONT)

            f.if_else(step.equals(0), first, later)
    return k.done()


def _narrow(k: Kernel, n: Value) -> Value:
    """An integer in the size of the elements."""
    return n if k.type.bits == 64 else k.f.convert("trunc", n, k.type.integers)


@compiled_kernel
def gradient_kernel(d: np.dtype, log_zero: float) -> str:
    """Items are paths: the gradients of the scores, added to ``out``; ``skips`` are here those to the place two on."""
    k = Kernel("ctc_gradient", TYPES[d], [*ARRAYS, "last", "total", "g", "out"], SIZES)
    f, paths, number = k.f, _Paths(k, log_zero), k.type.integers
    room = k.scratch(k["width"] * 2 + 4 * k.lanes)
    following, shares = room, f.at(room, k["width"] + 2 * k.lanes, k.type)
    with f.loop(f["from"], f["to"]) as path:
        with f.loop(0, k["width"] + 2 * k.lanes, k.lanes) as at:
            k.store(paths.zero, following, at)
        length, last = (f.load(f.at(k[name], path, I64), I64) for name in ("lengths", "last"))
        total, factor = (k.splat(k.load_scalar(k[name], path)) for name in ("total", "g"))
        with f.loop(0, length) as back:
            step = length - 1 - back
            row = paths.row(path, step)
            with f.loop(0, k["width"], k.lanes) as at:
                place = f.iota(number.of(k.lanes))
                end = f.splat(_narrow(k, last - at), k.lanes)
                ends = place.equals(end) | place.equals(end - 1)
                final = f.select(ends, f.constant(0.0, k.vector), paths.zero)
                two = paths.skipped(path, at, k.load(following, at + 2))
                going = _log_of_sum(k, k.load(following, at), k.load(following, at + 1), two)
                rest = f.select(f.splat(back.equals(0), k.lanes), final, going)
                k.store(k.math.exp(k.load(row, at + FRONT) + rest - total) * factor, shares, at)
                k.store(rest + paths.emitted(path, step, at), following, at)
            target = f.at(k["out"], (step * k["batch"] + path) * k["classes"], k.type)
            with f.loop(0, last + 1) as place:
                to = f.load(f.at(k["path"], path * k["width"] + place, I64), I64)
                k.store_scalar(k.load_scalar(target, to) + k.load_scalar(shares, place), target, to)
    return k.done()


def _padded(x: np.ndarray, width: int, dtype: Any) -> np.ndarray:
    out = np.zeros((len(x), width), dtype)
    out[:, : x.shape[1]] = x
    return out


def rows(scores: np.ndarray, path: np.ndarray, skips: np.ndarray, lengths: np.ndarray, log_zero: float) -> Any:
    """The forward algorithm: an array (batch, steps, places and more) whose rows up to each length are filled; places
    begin at :data:`FRONT`.
    """
    if scores.dtype not in TYPES or not scores.size:
        return None
    (steps, batch, classes), lanes = scores.shape, jit.WIDTH // scores.itemsize
    width = -(-path.shape[1] // lanes) * lanes
    return forward_kernel(scores.dtype, log_zero)(
        *(batch, steps, batch, classes, width),
        *(np.ascontiguousarray(scores), _padded(path, width, np.int64), _padded(skips, width, np.int8)),
        *(lengths, np.empty((batch, steps, width + FRONT), scores.dtype)),
    )


def gradient(
    g: np.ndarray,
    total: np.ndarray,
    scores: np.ndarray,
    path: np.ndarray,
    skips: np.ndarray,
    lengths: np.ndarray,
    sizes: np.ndarray,
    log_zero: float,
) -> Any:
    """The gradient of the scores, from that of the logarithms of the probabilities, which are ``total``."""
    made = rows(scores, path, skips, lengths, log_zero)
    if made is None:
        return None
    (steps, batch, classes), d, width = scores.shape, scores.dtype, made.shape[2] - FRONT
    onward = np.zeros((batch, width), np.int8)
    onward[:, : max(path.shape[1] - 2, 0)] = skips[:, 2:]
    return gradient_kernel(d, log_zero)(
        *(batch, steps, batch, classes, width),
        *(np.ascontiguousarray(scores), _padded(path, width, np.int64), onward, lengths, made),
        *(2 * sizes, np.ascontiguousarray(total, d), np.ascontiguousarray(g, d), np.zeros(scores.shape, d)),
    )
