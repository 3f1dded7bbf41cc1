"""Special functions of many numbers in single precision come from tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import pullback as torch
import pullback.special as special

from ..kernels import using

inf, nan = np.inf, np.nan


def points(low: float, high: float) -> np.ndarray:
    """Numbers in a range and beyond it, tiny ones, whole ones, and the special ones at the end."""
    tiny = 10.0 ** np.linspace(-40, 0, 4001)
    edges = [low, high, np.nextafter(low, -inf), np.nextafter(high, inf), 0.5, 1, 2]
    x = np.concatenate([np.linspace(low - 1, high + 1, 100_001), tiny, -tiny, edges, [0.0, -0.0, inf, -inf, nan]])
    return x.astype(np.float32)


@pytest.mark.parametrize("mode", ("on", "off"))
@pytest.mark.parametrize(
    "function, exact, low, high",
    [
        (torch.erf, scipy.special.erf, -4, 4),
        (torch.erfc, scipy.special.erfc, -4, 10.25),
        (torch.erfinv, scipy.special.erfinv, -63 / 64, 63 / 64),
        (special.ndtr, scipy.special.ndtr, -14.5, 6),
        (torch.lgamma, lambda x: np.where(np.isinf(x), inf, scipy.special.gammaln(x)), 1 / 8, 16),
        (torch.digamma, scipy.special.psi, 1 / 8, 16),
        (torch.i0, lambda x: np.where(np.isinf(x), inf, scipy.special.i0(x)), -16, 16),
        (special.i1, lambda x: np.where(np.isinf(x), x, scipy.special.i1(x)), -16, 16),
        (special.i0e, scipy.special.i0e, -16, 16),
        (special.i1e, scipy.special.i1e, -16, 16),
        (special.bessel_j0, scipy.special.j0, -16, 16),
        (special.bessel_j1, scipy.special.j1, -16, 16),
    ],
)
def test_values_from_tables(function: Any, exact: Any, low: float, high: float, mode: str) -> None:
    """Within 5 units in the last place, or of what one unit of the argument changes; zeros, infinities and NaN are
    exact.
    """
    x = points(low, high)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        expected, moved = exact(wide), exact(wide * (1 + 2.0**-24))
        single = expected.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(single)).astype(np.float64), np.abs(moved - expected))
    with using(mode):
        got = function(torch.from_numpy(x)).numpy()
        again = function(torch.from_numpy(x[::3].reshape(-1, 1))).numpy()
    assert got.dtype == np.float32
    plain = np.isfinite(single)
    np.testing.assert_array_equal(got[~plain], single[~plain])
    assert (np.abs(got - expected)[plain] <= 5 * unit[plain]).all()
    assert exact is not scipy.special.erf or np.signbit(got[-5:-3]).tolist() == [False, True]
    np.testing.assert_allclose(again.ravel(), got[::3], rtol=1e-5, atol=1e-6)
