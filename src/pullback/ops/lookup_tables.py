"""Piecewise polynomial lookup tables for special functions (``lgamma``, Bessel, ...) of large float32 arrays.

Around each point of a fine grid the function is a polynomial of degree 2 (or 1) that interpolates it at Chebyshev
nodes. That takes 3 ns a number for any function, scipy 15 to 300. Outside of the table the function itself is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.forks import cached_property
from ..kernels.numpy_blocks import BLOCK, Blocks

MANY = 4096  # numbers from which a table pays


class LookupTable:
    """A function that many float32 numbers are looked up for in a table: within about two units in the last place.

    Args:
        function: of an array.
        low, high: where the table begins and ends, multiples of ``1 / points``.
        points: grid points per unit.
        constant: whether in float32 the function is constant beyond the table's ends.
        degree: of the polynomials.
    """

    def __init__(
        self, function: Callable, low: float, high: float, points: int = 1024, constant: bool = False, degree: int = 2
    ) -> None:
        self.function, self.low, self.high, self.points, self.constant, self.degree = (
            function,
            low,
            high,
            points,
            constant,
            degree,
        )
        # added to a number, it leaves the nearest grid point's index in the last bits
        self.origin = np.float32(1.5 * 2**23 - low * points)
        self.in_blocks = Blocks(self._looked_up, BLOCK)

    @cached_property
    def powers(self) -> np.ndarray:
        """The coefficients, highest power of the distance to the grid point first, at each point."""
        x = np.arange(self.low * self.points, self.high * self.points + 1) / self.points
        n = self.degree + 1
        nodes = np.cos(np.arange(1, 2 * n, 2) * (np.pi / (2 * n))) / 2
        values = np.stack([self.function(x + node / self.points) for node in nodes])
        powers = np.linalg.solve(np.vander(nodes), values).astype(np.float32)
        zeros = self.function(x) == 0
        powers[-1, zeros] = np.where(x[zeros] == 0, -0.0, 0.0)  # exactly 0, and an odd function keeps its sign
        return powers

    def __call__(self, x: Any) -> Any:
        if x.size < MANY or x.dtype != np.float32:
            return self.function(x)
        return self.in_blocks(x)

    def _looked_up(self, x: Any) -> Any:
        way = x.clip(self.low, self.high)
        far = None if self.constant else way != x
        way *= self.points
        nearest = way + self.origin
        at = (nearest.view(np.int32) & 0x3FFFFF).astype(np.int64)  # for NaN, any index will do
        nearest -= self.origin
        way -= nearest
        result = self.powers[0].take(at, mode="wrap")  # the fastest mode, where all are inside
        for power in self.powers[1:]:
            result *= way
            result += power.take(at, out=nearest, mode="wrap")
        if far is not None and far.any():
            result[far] = self.function(x[far])
        return result
