"""Outer products of the rows of two matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels import outer_products  # noqa: E402


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "rows", "columns"),
    [
        (1, 1, 1),
        (5, 3, 7),
        (3, 2, 16),
        (4, 9, 64),
        (3, 5, 150),
        (0, 2, 3),
        (300, 33, 64),
        (17, 300, 128),
        (200, 64, 65),
    ],
)
def test_products_are_numpys(n: int, rows: int, columns: int, dtype: Any) -> None:
    """Small, beyond vectors, several a thread, and large ones, which are written past the caches where rows are whole
    vectors.
    """
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, 2 * rows)).astype(dtype)[:, ::2], rng.normal(size=(n, columns)).astype(dtype)
    np.testing.assert_array_equal(outer_products.outer(x, y), x[:, :, None] * y[:, None, :])
    one = np.broadcast_to(y[:1], y.shape)
    np.testing.assert_array_equal(outer_products.outer(x, one), x[:, :, None] * one[:, None, :])


def test_unusual_ones_are_left_to_numpy() -> None:
    x = np.ones((4, 3))
    assert outer_products.outer(x, x.astype(np.float32)) is None
    assert outer_products.outer(x.astype(np.int64), x.astype(np.int64)) is None
    assert outer_products.outer(x, np.ones((4, 0))) is None
