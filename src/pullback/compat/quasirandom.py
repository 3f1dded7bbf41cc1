"""``torch.quasirandom``: Sobol sequences (Sobol 1967).

The direction numbers are those of Joe and Kuo (2008), which SciPy brings along; they are scrambled as Owen (1998)
does it, with random lower triangular matrices of bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import as_dtype, get_default_dtype
from ..core.inplace import write_out
from ..core.record import wrap
from ..core.tensor import Tensor
from ..ops.random import randint
from ..rng.generator import Generator

__all__ = ["SobolEngine"]


class SobolEngine:
    """A Sobol sequence.

    Args:
        dimension: of the cube, from 1 to 21201.
        scramble: whether to scramble it, which makes the points random, and still even.
        seed: for scrambling; otherwise the default stream of random numbers is used.

    >>> import pullback as torch
    >>> torch.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        from scipy.stats.qmc import Sobol

        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._directions = Sobol(dimension, scramble=False, bits=self.MAXBIT)._sv.astype(np.int64)
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            self._scramble()
        self._point, self.num_generated = self._shift.copy(), 0

    def _scramble(self) -> None:
        """Multiply the bits of all direction numbers by a matrix, and draw a point to begin with."""
        bits, generator = self.MAXBIT, None if self.seed is None else Generator().manual_seed(self.seed)
        powers = np.int64(1) << np.arange(bits)
        self._shift = randint(2, (self.dimension, bits), generator=generator)._array @ powers
        matrices = np.tril(randint(2, (self.dimension, bits, bits), generator=generator)._array)
        matrices[:, range(bits), range(bits)] = 1
        columns = self._directions[:, :, None] >> np.arange(bits)[::-1] & 1  # of each number, high bits first
        mixed = np.matmul(columns, matrices.swapaxes(1, 2)) & 1
        self._directions = mixed @ powers[::-1]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, ``(n, dimension)``, of the default type unless another is given."""
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {self.dimension}]")
        numbers = np.empty((n, self.dimension), np.int64)
        for row in numbers:
            row[:] = self._point
            self._advance()
        kind = (get_default_dtype() if dtype is None else as_dtype(dtype)).numpy
        points = wrap((numbers * 2.0**-self.MAXBIT).astype(kind))
        return points if out is None else write_out(out, points)

    def _advance(self) -> None:
        """To the next point: in Gray code one bit changes, the lowest that is 0 in how many points there were."""
        lowest = (~self.num_generated & self.num_generated + 1).bit_length() - 1
        self._point = self._point ^ self._directions[:, lowest]
        self.num_generated += 1

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2**m`` points.

        Raises:
            ValueError: there would not be a power of 2 of them in all.
        """
        total = self.num_generated + 2**m
        if total & total - 1:
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do "
                "this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self._point, self.num_generated = self._shift.copy(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out ``n`` points."""
        at = self.num_generated + n
        gray = at ^ at >> 1
        set_bits = [k for k in range(self.MAXBIT) if gray >> k & 1]
        self._point = self._shift ^ np.bitwise_xor.reduce(self._directions[:, set_bits], 1)
        self.num_generated = at
        return self

    def __repr__(self) -> str:
        options = f"dimension={self.dimension}" + ", scramble=True" * self.scramble
        return f"{type(self).__name__}({options}{'' if self.seed is None else f', seed={self.seed}'})"
