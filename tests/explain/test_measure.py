"""The numbers in arrays, whichever way they are taken."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.explain.measure import Values, all_finite, measure

SHAPES = [(), (0, 3), (1,), (3, 1), (5,), (4, 8), (64,), (65,), (31, 33), (7, 300)]
TYPES = [np.float16, np.float32, np.float64, np.complex64, np.complex128]


def arrays(dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = np.asarray(rng.standard_normal(shape) * 3, dtype)
        x = np.asarray(x + 1j * x, dtype) if np.dtype(dtype).kind == "c" else x
        yield x
        if x.ndim == 2:
            yield from (x.T, x[::2], x[:, ::-1], np.where(rng.random(shape) < 0.5, 0, x).astype(dtype))
        if x.size > 1:
            for bad in (math.nan, math.inf, -math.inf):
                y = x.copy()
                y.flat[x.size // 2] = bad
                yield y
                y = y.copy()
                y.flat[0] = math.inf
                yield y
    yield np.broadcast_to(np.asarray(2.5, dtype), (7, 9))
    yield np.broadcast_to(np.asarray([1, 0, 3], dtype), (500, 3))


def check(v: Values, x: np.ndarray) -> None:
    a = (np.abs(x) if x.dtype.kind == "c" else x).astype(np.float64)
    assert (v.shape, v.dtype, v.nan, v.inf) == (x.shape, x.dtype.name, np.isnan(a).sum(), np.isinf(a).sum())
    assert (v.values is None) == (x.size > 64)
    if x.size <= 64:
        np.testing.assert_array_equal(np.array(v.values, x.dtype).reshape(x.shape), x)
    if not x.size:
        assert (v.norm, v.mean, v.min, v.max, v.zeros) == (0, 0, 0, 0, 0)
        return
    with np.errstate(all="ignore"):
        scale = np.abs(a).max()
        norm = scale * np.linalg.norm(a / scale) if np.isfinite(scale) and scale else scale
        expected = norm, a.mean(), a.min(), a.max(), (a == 0).mean()
    np.testing.assert_allclose(
        (v.norm, v.mean, v.min, v.max, v.zeros),
        expected,
        rtol=2e-6,
        atol=1e-9 * abs(scale) if np.isfinite(scale) else 0,
    )


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_against_numpy(dtype, kernel, monkeypatch):
    if not kernel:
        monkeypatch.setattr(kernels, "run", lambda *args: None)
    cases = list(arrays(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = measure(cases)
        for x in cases:
            check(together[id(x)], x)
            check(Values.of(x), x)


@pytest.mark.parametrize("n", [3, 40, 3000])
@pytest.mark.parametrize("x", [1e200, 1e-200, 5e-320, 1e300])
def test_squares_beyond_the_type(n, x):
    a = np.full(n, x)
    for v in (Values.of(a), measure([a, a + 0])[id(a)]):
        assert v.norm == pytest.approx(x * math.sqrt(n), rel=1e-6) and v.nan == v.inf == 0


def test_bfloat16():
    x = torch.tensor([[1.5, 0.0], [-2.0, 4.0]]).bfloat16()
    v = Values.of(x._array)
    assert (v.dtype, v.values, v.max, v.zeros) == ("bfloat16", [[1.5, 0.0], [-2.0, 4.0]], 4.0, 0.25)


def test_sparse():
    x = torch.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [5.0, -3.0], [2.0, -2.0]], (4, 2))
    v, dense = Values.of(x._array), Values.of(x.to_dense()._array)
    assert (v.stored, dense.stored) == (4, None)
    assert (v.norm, v.mean, v.min, v.max, v.zeros, v.values) == (
        dense.norm,
        dense.mean,
        dense.min,
        dense.max,
        dense.zeros,
        dense.values,
    )


def test_all_finite():
    good, bad = [np.ones(5), np.ones((40, 50), np.float32), np.ones(3, np.complex64)], np.ones(3000, np.float32)
    assert all_finite([*good, bad, None, "x", np.arange(3)])
    bad[1234] = np.nan
    assert not all_finite([*good, bad])
    assert not all_finite([*good, np.array([1.0, -np.inf])])
