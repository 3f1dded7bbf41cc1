"""Kernels of cdist and pdist against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.ops.distance import _cdist, _pdist, _pdist_vjp  # noqa: E402

from . import using  # noqa: E402
from .test_written import compare  # noqa: E402

TYPES = (torch.float32, torch.float64)
POWERS = (0.0, 0.5, 1.0, 2.0, 3.5, math.inf)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("p", POWERS)
def test_values_and_gradients(p: float, dtype: Any) -> None:
    for shape in ((0, 3), (1, 3), (2, 1), (5, 3), (7, 40), (60, 150)):
        compare(lambda x: torch.pdist(x, p), shape, dtype=dtype, uses="distance.pdist")
        compare(
            lambda x, y: torch.cdist(x, y, p, "donot_use_mm_for_euclid_dist"),
            shape,
            (4, shape[1]),
            dtype=dtype,
            uses="distance.cdist",
        )
    compare(lambda x: torch.pdist(x.mT, p), (3, 5), dtype=dtype)
    for a, b in (
        ((2, 1, 4, 3), (3, 5, 3)),
        ((6, 4, 3), (5, 3)),
        ((4, 3), (6, 5, 3)),
        ((2, 4, 0), (2, 5, 0)),
        ((2, 0, 3), (2, 5, 3)),
    ):
        compare(lambda x, y: torch.cdist(x, y, p), a, b, dtype=dtype, uses="distance.cdist")


@pytest.mark.parametrize("p", POWERS)
def test_points_that_coincide_or_are_not_finite(p: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 0.5], (40, 3), p=[0.3, 0.1, 0.3, 0.04, 0.03, 0.03, 0.2])
    found = []
    for mode in ("off", "always"):
        with using(mode), np.errstate(all="ignore"):
            out = _pdist.op.impl(x, p)
            g = np.random.default_rng(1).standard_normal(out.shape)
            found.append([out, _cdist.op.impl(x, x[:7], p, False), _pdist_vjp(g, x, out, p)])
    for plain, fast in zip(*found):
        np.testing.assert_allclose(fast, plain, rtol=1e-12)
