"""Max pooling with indices, compiled for its sizes, in the padded frames of :mod:`pullback.kernels.conv_padding`."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen import jit
from .codegen.entry import load_function
from .codegen.kernel_builder import TYPES, Kernel
from .codegen.llvm_ir import I32, I64, Function, Value
from .conv_padding import MOST_TAPS, Frame, Ints, Part, blank, copy_out, fill_frame, frame_of, pitches


class MaxPool:
    """The kernel of max pooling for certain sizes.

    The best so far and its number go along in vectors, tap after tap: a later tap replaces it only if it is larger, or
    NaN.
    """

    def __init__(
        self, d: np.dtype, spatial: Ints, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> None:
        lanes = jit.WIDTH * 8 // TYPES[d].bits
        frame = frame_of(spatial, padding, stride, size, kernel, dilation)
        taps = list(np.ndindex(*kernel))
        offsets = [frame.offset([t * by for t, by in zip(tap, dilation)]) for tap in taps]
        rows = pitches(spatial)
        ways = [sum(t * by * row for t, by, row in zip(tap, dilation, rows)) for tap in taps]
        own = sum((n - 1) * p for n, p in zip(size, frame.pitches)) + 1
        pitch = -(-own // lanes) * lanes
        self.corners, self.firsts = self._numbers(frame, rows, kernel, size, dilation, pitch)
        total = frame.size + max(offsets) + pitch

        def write() -> str:
            k = Kernel("maxima", TYPES[d], ["x", "corners", "firsts", "values", "indices"])
            f, type, (x, corners, firsts, values, indices) = k.f, k.type, k.args.values()
            room = k.scratch(total + 2 * pitch)
            f.clear(room, total * (type.bits // 8))
            blank(f, type, room, frame.size, lanes, -math.inf)
            best = f.at(room, total, type)
            numbers = f.at(best, pitch, type)
            vector, integers = k.vector, I32.of(lanes)
            plane, result = math.prod(spatial), math.prod(size)
            part = Part((), (), (0,) * len(size), (1,) * len(size), size)
            with f.loop(f["from"], f["to"]) as item:
                fill_frame(f, type, f.at(x, item * plane, type), room, frame, lanes)
                with f.loop(0, pitch, lanes) as v:
                    at = f.at(room, v, type)
                    corner = f.load(f.at(corners, v, I32), integers)
                    value, number = f.load(f.at(at, offsets[0], type), vector), f.load(f.at(firsts, v, I32), integers)
                    number = f.select(f.compare("uno", value, f.constant(0.0, vector)), corner, number)
                    for offset, way in zip(offsets[1:], ways[1:]):
                        other = f.load(f.at(at, offset, type), vector)
                        # Greater, or NaN where the best is none; of several NaN the last.
                        larger = f.compare("ogt", other, value) | f.compare("uno", other, f.constant(0.0, vector))
                        value, number = f.select(larger, other, value), f.select(larger, corner + way, number)
                    f.store(value, f.at(best, v, type))
                    f.store(number, f.at(numbers, v, I32))
                copy_out(f, type, best, f.at(values, item * result, type), part, frame.pitches, size, lanes, None)
                _widen(f, numbers, f.at(indices, item * result, I64), frame.pitches, size, lanes)
            return k.done(4)

        self.call = load_function("maxima", write, d, spatial, kernel, size, stride, padding, dilation)

    def __call__(self, planes: int, x: np.ndarray, values: np.ndarray, indices: np.ndarray) -> None:
        """Fill the results of so many planes."""
        self.call(planes, x, self.corners, self.firsts, values, indices)

    def _numbers(
        self, frame: Frame, rows: list[int], kernel: Ints, size: Ints, dilation: Ints, pitch: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each output, in the frame's numbering: the number of the window's first element, and of the first that
        is no padding."""
        corners, firsts = np.zeros(pitch, np.int32), np.zeros(pitch, np.int32)
        for j in np.ndindex(*size):
            at = sum(i * p for i, p in zip(j, frame.pitches))
            start = [i * s - p for i, s, p in zip(j, frame.stride, frame.padding)]
            inside = [max(0, -(v // by)) if v < 0 else 0 for v, by in zip(start, dilation)]
            corners[at] = sum(v * row for v, row in zip(start, rows))
            firsts[at] = sum((v + k * by) * row for v, k, by, row in zip(start, inside, dilation, rows))
        return corners, firsts


def _widen(f: Function, source: Value, target: Value, apart: list[int], size: Ints, lanes: int) -> None:
    """Copy rows of 32-bit numbers, which are ``apart`` in the frame, to the result as 64-bit ones."""
    own = pitches(size)

    def rows(d: int, source: Value, target: Value) -> None:
        if d < len(size) - 1:
            with f.loop(0, size[d]) as j:
                rows(d + 1, f.at(source, j * apart[d], I32), f.at(target, j * own[d], I64))
            return
        for at in range(0, size[d], lanes):
            mask = None if at + lanes <= size[d] else f.mask_of([i < size[d] - at for i in range(lanes)])
            wide = f.convert("sext", f.load(f.at(source, at, I32), I32.of(lanes), mask), I64.of(lanes))
            f.store(wide, f.at(target, at, I64), mask)

    rows(0, source, target)


@lru_cache(128)
def _kernel(d: np.dtype, *sizes: Ints) -> MaxPool:
    return MaxPool(d, *sizes)


def kernel_for(d: np.dtype, spatial: Ints, layout: Any) -> MaxPool | None:
    """The kernel for planes of a type and sizes; None if there is none."""
    kernel, padding, dilation = (tuple(v) for v in (layout.kernel, layout.padding, layout.dilation))
    if d not in TYPES or math.prod(kernel) > MOST_TAPS or max(layout.stride) > 4 or min(layout.size) < 1:
        return None
    if any([p and by > 1 for p, by in zip(padding, dilation)]) or not 0 < math.prod(spatial) <= 1 << 30:
        return None
    return _kernel(d, tuple(spatial), kernel, tuple(layout.size), tuple(layout.stride), padding, dilation)


def max_pool(x: np.ndarray, layout: Any, spatial: Ints) -> Any:
    """Values and indices of windows over the last dimensions, which are ``spatial``."""
    kernel = kernel_for(x.dtype, spatial, layout) if x.size else None
    if kernel is None:
        return None
    lead = x.shape[: x.ndim - len(spatial)]
    shape = (*lead, *layout.size)
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    kernel(math.prod(lead), as_contiguous(x), values, indices)
    return values, indices
