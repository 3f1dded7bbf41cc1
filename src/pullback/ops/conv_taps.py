"""Convolutions tap by tap, for numbers that are not finite.

The fast algorithms multiply such numbers by the zeros of the padding, or mix the elements of a tile (Winograd): NaN and
infinity spread to results whose windows do not contain them. Here each element of the kernel meets just the elements
of the input that it belongs to. The fast ones are tried first; what they give is finite unless an operand is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .conv_products import Ints, WindowLayout

Place = tuple[Any, ...]


def _taps(layout: WindowLayout, spatial: Ints) -> Iterator[tuple[Place, Place, Place]]:
    """For each element of the kernel: its place, the windows in which it meets an element of the input, and these."""
    for tap in np.ndindex(*layout.kernel):
        windows, elements = [], []
        for t, n, count, s, p, d in zip(tap, spatial, layout.size, layout.stride, layout.padding, layout.dilation):
            offset = t * d - p
            first, stop = max(0, -(offset // s)), max(0, min(count, (n - 1 - offset) // s + 1))
            windows.append(slice(first, stop))
            elements.append(
                slice(first * s + offset, max(first, stop) * s + offset, s) if stop > first else slice(0, 0)
            )
        if all(w.stop > w.start for w in windows):
            yield (..., *tap), (..., *windows), (..., *elements)


def _grouped(x: np.ndarray, groups: int) -> np.ndarray:
    """``(n, channels, spatial...)`` as ``(n, groups, channels of a group, positions)``."""
    return x.reshape(len(x), groups, x.shape[1] // groups, -1)


def correlate_taps(x: np.ndarray, w: np.ndarray, layout: WindowLayout) -> np.ndarray:
    """The convolution."""
    groups = layout.groups
    out = np.zeros((len(x), len(w), *layout.size), x.dtype)
    for tap, windows, elements in _taps(layout, x.shape[2:]):
        part = out[windows]
        factor = w[tap].reshape(groups, len(w) // groups, -1)
        part += np.matmul(factor, _grouped(x[elements], groups)).reshape(part.shape)
    return out


def spread_taps(x: np.ndarray, w: np.ndarray, size: Ints, layout: WindowLayout) -> np.ndarray:
    """The transposed convolution, with a result of ``size``."""
    groups = layout.groups
    out = np.zeros((len(x), w.shape[1] * groups, *size), x.dtype)
    for tap, windows, elements in _taps(layout, size):
        part = out[elements]
        factor = w[tap].reshape(groups, len(w) // groups, -1).swapaxes(1, 2)
        part += np.matmul(factor, _grouped(x[windows], groups)).reshape(part.shape)
    return out


def weight_taps(x: np.ndarray, y: np.ndarray, layout: WindowLayout) -> np.ndarray:
    """The gradient of the weight, from input and output gradient."""
    groups = layout.groups
    out = np.zeros((y.shape[1], x.shape[1] // groups, *layout.kernel), x.dtype)
    for tap, windows, elements in _taps(layout, x.shape[2:]):
        products = np.matmul(_grouped(y[windows], groups), _grouped(x[elements], groups).swapaxes(2, 3))
        out[tap] = products.sum(0).reshape(out.shape[:2])
    return out
