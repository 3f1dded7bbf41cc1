"""Convolutions of any rank, stride, dilation and groups, and their gradients: chooses the algorithm.

All algorithms copy the input, image by image, into a padded frame (:mod:`pullback.kernels.conv_padding`). With many
features the vectors hold features (:mod:`pullback.kernels.conv_channels`), with few they hold positions
(:mod:`pullback.kernels.conv_spatial`). Kernels of 3 by 3 with stride 1 use Winograd's method
(:mod:`pullback.kernels.conv_winograd`), which needs fewer products.

The input gradient is a convolution, too: for each phase of the input, the elements of equal remainder modulo the
stride, that of the output's gradient with the taps of that phase, flipped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from . import conv_channels, conv_channels_weight, conv_spatial
from .codegen.kernel_builder import TYPES
from .conv_padding import MOST_TAPS, Frame, Ints, Part, frame_of
from .conv_winograd import Winograd, pays


@lru_cache(256)
def _forward(
    d: np.dtype,
    groups: int,
    channels: int,
    features: int,
    spatial: Ints,
    kernel: Ints,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    bias: bool,
) -> conv_spatial.Outputs | conv_channels.Outputs:
    n, taps = len(kernel), list(np.ndindex(*kernel))
    filled = conv_channels.fills_vectors(d, features)
    frame = frame_of(spatial, padding, stride, size, kernel, dilation, phases=not filled)
    offsets = tuple(frame.offset([k * by for k, by in zip(tap, dilation)]) for tap in taps)
    part = Part(offsets, tuple(range(len(taps))), (0,) * n, (1,) * n, size)
    if filled:
        return conv_channels.Outputs(d, groups, channels, features, frame, [part], stride, size)
    return conv_spatial.Outputs(d, groups, channels, features, frame, [part], size, bias)


@lru_cache(256)
def _backward(
    d: np.dtype,
    groups: int,
    channels: int,
    features: int,
    spatial: Ints,
    kernel: Ints,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
) -> conv_spatial.Outputs | conv_channels.Outputs:
    """The kernel of the input gradient; ``spatial`` is the result's size, ``size`` that of the incoming gradient."""
    # Result i has from tap k the gradient at (i + padding - k * dilation) / stride, where that is whole: of the results
    # i = r + stride * j that at j + (r + padding - k * dilation) / stride.
    shifts: list[list[dict[int, list[int]]]] = []
    for s, p, by, k in zip(stride, padding, dilation, kernel):
        shifts.append(
            [{tap: [(r + p - tap * by) // s] for tap in range(k) if (r + p - tap * by) % s == 0} for r in range(s)]
        )
    lowest = [min((v[0] for by_r in each for v in by_r.values()), default=0) for each in shifts]
    highest = [max((v[0] for by_r in each for v in by_r.values()), default=0) for each in shifts]
    counts = [[-(-(n - r) // s) for r in range(s)] for n, s in zip(spatial, stride)]
    before = tuple(max(0, -low) for low in lowest)
    extent = tuple(max(b + high + c[0], b + o, 1) for b, high, c, o in zip(before, highest, counts, size))
    frame = Frame(size, before, (1,) * len(size), extent)
    parts = []
    for rs in itertools.product(*map(range, stride)):
        count = tuple(c[r] for c, r in zip(counts, rs))
        if min(count) <= 0:
            continue
        offsets, taps = [], []
        for tap in np.ndindex(*kernel):
            here = [shifts[dim][r].get(k) for dim, (r, k) in enumerate(zip(rs, tap))]
            if all(v is not None for v in here):
                offsets.append(frame.offset([v[0] + b for v, b in zip(here, before)]))  # type: ignore[index]
                taps.append(int(np.ravel_multi_index(tap, kernel)))
        parts.append(Part(tuple(offsets), tuple(taps), rs, stride, count))
    if conv_channels.fills_vectors(d, features):
        return conv_channels.Outputs(d, groups, channels, features, frame, parts, (1,) * len(size), spatial)
    return conv_spatial.Outputs(d, groups, channels, features, frame, parts, spatial, False)


@lru_cache(256)
def _weight(
    d: np.dtype,
    groups: int,
    channels: int,
    features: int,
    spatial: Ints,
    kernel: Ints,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
) -> conv_spatial.Weight | conv_channels_weight.Weight:
    filled = conv_channels.fills_vectors(d, features)
    frame = frame_of(spatial, padding, stride, size, kernel, dilation, phases=not filled)
    if filled:
        return conv_channels_weight.Weight(d, groups, channels, features, frame, kernel, dilation, stride, size)
    offsets = tuple(frame.offset([k * by for k, by in zip(tap, dilation)]) for tap in np.ndindex(*kernel))
    return conv_spatial.Weight(d, groups, channels, features, frame, offsets, size)


def supports(x: Any, other: Any, size: Sequence[int], layout: Any) -> bool:
    """Whether there are kernels for operands of such shapes and types; ``size`` is that of the result."""
    taps, stride = math.prod(layout.kernel), max(layout.stride)
    filled = 0 not in (*x.shape, *other.shape, *size)
    return x.dtype in TYPES and filled and taps <= MOST_TAPS and (taps > 1 or stride > 1) and stride <= 4


@lru_cache(256)
def _winograd(d: np.dtype, *sizes: Any) -> Winograd:
    return Winograd(d, *sizes)


def _by_winograd(
    x: np.ndarray, w: np.ndarray, layout: Any, padding: Ints, size: Ints, bias: np.ndarray | None, out: np.ndarray
) -> bool:
    """Compute by Winograd's method, if it pays, the convolution of x with w (groups, features, channels, taps); whether
    that was done.
    """
    groups, features, channels, _ = w.shape
    if tuple(layout.kernel) != (3, 3) or max(layout.stride) > 1 or max(layout.dilation) > 1 or min(padding) < 0:
        return False
    if not pays(x.dtype, channels, features, len(x) * groups, size):
        return False
    return _winograd(x.dtype, groups, channels, features, x.shape[2:], padding, size)(x, w, bias, out)


def correlate(
    x: np.ndarray, w: np.ndarray, layout: Any, bias: np.ndarray | None = None, out: np.ndarray | None = None
) -> np.ndarray | None:
    """The convolution, of ``layout`` of :mod:`pullback.ops.convolution`; None if there is no kernel for it."""
    if not supports(x, w, layout.size, layout):
        return None
    groups = layout.groups
    channels, features = x.shape[1] // groups, len(w) // groups
    if out is None:
        out = np.empty((len(x), len(w), *layout.size), x.dtype)
    x, w = as_contiguous(x), w.reshape(groups, features, channels, -1)
    if _by_winograd(x, w, layout, tuple(layout.padding), tuple(layout.size), bias, out):
        return out
    kernel = _forward(
        x.dtype,
        groups,
        channels,
        features,
        x.shape[2:],
        *map(tuple, (layout.kernel, layout.size, layout.stride, layout.padding, layout.dilation)),
        bias is not None,
    )
    return kernel(x, w, bias, out)


def spread(
    y: np.ndarray, w: np.ndarray, size: Sequence[int], layout: Any, out: np.ndarray | None = None
) -> np.ndarray | None:
    """The transposed convolution; arguments as of ``_spread`` there."""
    if not supports(y, w, size, layout):
        return None
    groups = layout.groups
    channels, features = y.shape[1] // groups, w.shape[1]
    if out is None:
        out = np.empty((len(y), groups * features, *size), y.dtype)
    y, w = as_contiguous(y), w.reshape(groups, channels, features, -1).transpose(0, 2, 1, 3)
    if _by_winograd(y, w[..., ::-1], layout, tuple(2 - p for p in layout.padding), tuple(size), None, out):
        return out
    kernel = _backward(
        y.dtype,
        groups,
        channels,
        features,
        tuple(size),
        *map(tuple, (layout.kernel, y.shape[2:], layout.stride, layout.padding, layout.dilation)),
    )
    return kernel(y, w, None, out)


def correlate_weight(x: np.ndarray, y: np.ndarray, layout: Any, out: np.ndarray | None = None) -> np.ndarray | None:
    """The weight gradient, from input and output gradient."""
    if not supports(x, y, layout.kernel, layout):
        return None
    groups = layout.groups
    channels, features = x.shape[1] // groups, y.shape[1] // groups
    kernel = _weight(
        x.dtype,
        groups,
        channels,
        features,
        x.shape[2:],
        *map(tuple, (layout.kernel, layout.size, layout.stride, layout.padding, layout.dilation)),
    )
    if out is None:
        out = np.empty((y.shape[1], channels, *layout.kernel), x.dtype)
    kernel(as_contiguous(x), as_contiguous(y), out)
    return out
