"""Summary statistics in one pass: sums, sums of squares, extremes, zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.summary import describe, squares  # noqa: E402


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 16, 17, 33, 1000, 4099])
def test_sums_and_extremes_are_numpys(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    a, b = (np.where(rng.random(n) < 0.3, 0, rng.standard_normal(n)).astype(dtype) for _ in range(2))
    x = a.astype(np.float64)
    np.testing.assert_allclose(
        describe(a), [x.sum(), (x * x).sum(), x.min(), x.max(), (x == 0).sum()], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        squares(a, b), [((a - b).astype(np.float64) ** 2).sum(), (b.astype(np.float64) ** 2).sum()], rtol=1e-12
    )
    assert squares(a[::2], b[::2]) is None or n == 1
    a[n // 2] = np.nan
    assert math.isnan(describe(a)[1])
    with_gaps = rng.standard_normal((5, n + 1)).astype(dtype)[:, :n]
    assert n == 1 or describe(with_gaps) is None
    assert describe(np.zeros(0, dtype)) is None and describe(np.ones(3, np.int64)) is None
