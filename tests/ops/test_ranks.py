"""Indices by packed keys are those of a stable sort, for every type and all kinds of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.ops import argsort

TYPES = [
    "float16",
    "float32",
    "float64",
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
]


def by_sorting(x: np.ndarray, d: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis=d, kind="stable")
    return x.shape[d] - 1 - np.flip(np.argsort(np.flip(x, d), axis=d, kind="stable"), d)


def elements(kind: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 5, shape) if kind == "many equal" else rng.standard_normal(shape) * 1000
    x = x.astype(dtype) if dtype.kind == "f" else x.astype(np.int64).astype(dtype)
    flat = x.reshape(-1)
    if kind == "special" and dtype.kind == "f":
        for i, value in enumerate(
            [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).tiny, np.finfo(dtype).max]
        ):
            flat[i::11] = value
    if kind == "special" and dtype.kind in "iu":
        flat[::7], flat[1::7] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["any", "many equal", "special"])
@pytest.mark.parametrize("shape", [(64, 40), (2000,), (20, 30, 9), (128, 8), (3, 4)])
def test_as_a_stable_sort(shape: tuple[int, ...], kind: str, dtype: str) -> None:
    x = elements(kind, np.dtype(dtype), shape)
    for d in range(x.ndim):
        expected = by_sorting(x, d, False)
        np.testing.assert_array_equal(argsort.argsort_array(x, d), expected)
        np.testing.assert_array_equal(argsort.argsort_array(x, d, True), by_sorting(x, d, True))
        n = x.shape[d]
        for k in {0, 1, n // 2, n - 1}:
            np.testing.assert_array_equal(argsort.kth_index(x, k, d), expected.take([k], d))
            values, indices = argsort.kth_value(x, k, d)
            np.testing.assert_array_equal(indices, expected.take([k], d))
            np.testing.assert_array_equal(values, np.take_along_axis(x, indices, d))
        several = np.random.default_rng(1).integers(0, n, (*x.shape[:d], 1, *x.shape[d + 1 :]))
        np.testing.assert_array_equal(argsort.kth_index(x, several, d), np.take_along_axis(expected, several, d))


def test_elements_are_left_as_they_were() -> None:
    x = elements("special", np.dtype(np.int32), (2000,))
    before = x.copy()
    argsort.argsort_array(x, 0, True), argsort.kth_index(x, 3, 0), argsort.argsort_array(x[::-1], 0)
    np.testing.assert_array_equal(x, before)
