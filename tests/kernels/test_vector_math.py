"""Errors of the vector functions against mpmath, and results for infinities, NaN, zeros and subnormal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)
mp = pytest.importorskip("mpmath")

from pullback.kernels.codegen import elementwise  # noqa: E402
from pullback.kernels.codegen.scalar import UFUNCS, arithmetic, unary  # noqa: E402
from pullback.kernels.codegen.vector_math import ERRORS  # noqa: E402

TYPES = (np.float32, np.float64)
REFERENCE = {
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
    "log10": lambda x: mp.log10(x),
    "pow": lambda x, y: x**y,
}
# Where the largest errors are to be found: intervals, for float32 and float64.
WHERE: dict[str, Any] = {
    "exp": [(-87, 88), (-1, 1)],
    "exp2": [(-126, 127), (-1, 1)],
    "expm1": [(-20, 88), (-1, 1), (-0.01, 0.01)],
    "log": [(1e-6, 100), (0.7, 1.5)],
    "log2": [(1e-6, 100), (0.7, 1.5)],
    "log10": [(1e-6, 100), (0.7, 1.5)],
    "log1p": [(-0.99, 100), (-0.3, 0.5), (-1e-3, 1e-3)],
    "sin": [(-4, 4), (-1e5, 1e5)],
    "cos": [(-4, 4), (-1e5, 1e5)],
    "tanh": [(-9, 9), (-1, 1), (-0.01, 0.01)],
    "sigmoid": [(-80, 80), (-2, 2)],
    "erf": [(-4, 4), (-1, 1)],
    "erfc": [(-3, 9), (0, 2)],
    "sqrt": [(0, 100)],
    "rsqrt": [(1e-6, 100)],
}


def kernel(name: str) -> Any:
    function = (lambda x, y: arithmetic("pow", x, y)) if name == "pow" else (lambda x: unary(name, x))

    def refused(*arrays: Any) -> Any:
        raise AssertionError("no kernel")

    return elementwise.Kernels("test_" + name, [function], refused, even_plain=True)


def ulps(got: np.ndarray, exact: list[Any]) -> float:
    worst = 0.0
    for g, e in zip(got, exact):
        unit = np.spacing(np.abs(got.dtype.type(e))) if e else np.finfo(got.dtype).smallest_subnormal
        worst = max(worst, float(abs(mp.mpf(float(g)) - e) / mp.mpf(float(unit))))
    return worst


@pytest.mark.parametrize("which", (0, 1), ids=("float32", "float64"))
@pytest.mark.parametrize("name", WHERE)
def test_error(name: str, which: int) -> None:
    """The table of errors holds."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(low, high, 700) for low, high in WHERE[name]]).astype(TYPES[which])
    with mp.workdps(40):
        f = REFERENCE.get(name) or getattr(mp, name)
        exact = [f(mp.mpf(float(v))) for v in x]
        assert ulps(kernel(name)(x), exact) <= ERRORS[name][which] <= (4 if name == "erfc" else 2.5)


@pytest.mark.parametrize("which", (0, 1), ids=("float32", "float64"))
def test_error_of_powers(which: int) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.01, 30, 1500).astype(TYPES[which]), rng.uniform(-8, 8, 1500).astype(TYPES[which])
    with mp.workdps(40):
        exact = [mp.mpf(float(a)) ** mp.mpf(float(b)) for a, b in zip(x, y)]
        assert ulps(kernel("pow")(x, y), exact) <= ERRORS["pow"][which]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", WHERE)
def test_edges(name: str, dtype: Any) -> None:
    """NaN, infinities, zeros of both signs, subnormal and enormous numbers, as NumPy and scipy have them."""
    special = pytest.importorskip("scipy.special")
    info = np.finfo(dtype)
    x = np.array(
        [
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -0.0,
            1,
            -1,
            info.smallest_subnormal,
            info.tiny,
            -info.tiny,
            1e30,
            -1e30,
            info.max,
            info.min,
            1e-30,
            88.8,
            -104,
            710.5,
            -750,
            1e6,
            3e9,
            0.5,
            -0.5,
        ],
        dtype,
    )
    numpys = {
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "erf": special.erf,
        "erfc": special.erfc,
    }
    with np.errstate(all="ignore"):
        expected = numpys.get(name, getattr(np, name, None))(x)  # type: ignore[misc]
    got = kernel(name)(x)
    if name == "log10":  # 1e30 and the like: a unit in the last place
        np.testing.assert_allclose(got, expected, rtol=4 * info.eps)
        return
    np.testing.assert_allclose(
        got, expected, rtol=4 * info.eps, atol=2 * info.tiny if name in ("exp", "exp2", "erfc", "sigmoid") else 0
    )
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("dtype", TYPES)
def test_edges_of_powers(dtype: Any) -> None:
    """Every pair of unusual bases and exponents (C99, F.10.4.4)."""
    some = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 2.5, -2.5, 1e30, -1e30, 1e-30], dtype
    )
    x, y = (np.ascontiguousarray(a).ravel() for a in np.meshgrid(some, some))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    got = kernel("pow")(x, y)
    np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).tiny)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


def test_the_table_is_complete() -> None:
    assert set(ERRORS) == {*WHERE, "pow"}
    assert {np.exp, np.log, np.tanh, np.sin, np.cos} <= set(UFUNCS)
