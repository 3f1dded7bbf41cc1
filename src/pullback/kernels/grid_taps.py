"""Interpolation polynomials of ``grid_sample`` (nearest, bilinear, bicubic), for NumPy and for the kernels."""

from __future__ import annotations

import numpy as np

# The first pixel counted from the one before the point (or nearest to it), and for each pixel a polynomial in the way
# from there, highest power first. The cubic one is that of :mod:`pullback.ops.interpolate`, with a = -0.75.
BASES = {
    "nearest": (0, [[1.0]]),
    "bilinear": (0, [[-1.0, 1.0], [1.0, 0.0]]),
    "bicubic": (
        -1,
        [[-0.75, 1.5, -0.75, 0.0], [1.25, -2.25, 0.0, 1.0], [-1.25, 1.5, 0.75, 0.0], [0.75, -0.75, 0.0, 0.0]],
    ),
}


def coefficients(mode: str, order: int) -> list[list[float]]:
    """The same by taps; at least two of each."""
    rows = [np.polyder(np.pad(row, (1, 0)), order) for row in BASES[mode][1]]
    return [[0.0] * (2 - len(row)) + list(row) for row in rows]
