"""Functions made of other vector functions: errors against mpmath, unusual numbers against NumPy and SciPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")
mp = pytest.importorskip("mpmath")
special = pytest.importorskip("scipy.special")

from pullback.kernels.codegen import elementwise  # noqa: E402
from pullback.kernels.codegen.scalar import OF_TWO, SPECIAL, arithmetic, unary  # noqa: E402
from pullback.ops.bessel import _by_scipy  # noqa: E402

from .test_vector_math import ulps  # noqa: E402

TYPES = (np.float32, np.float64)
# Intervals, and the errors that are allowed there, in float32 and in float64. Near zeros errors count in more ulp.
WHERE: dict[str, Any] = {
    "acos": ([(-1, 1)], 2, 2),
    "acosh": ([(1.5, 100), (1, 1.1)], 1, 3),
    "asin": ([(-1, 1), (-1e-3, 1e-3)], 2.5, 2.5),
    "asinh": ([(-1e3, 1e3), (-1, 1), (1e9, 1e10)], 1, 3),
    "atan": ([(-50, 50), (-1, 1)], 1, 2),
    "atanh": ([(-1, 1), (-1e-3, 1e-3)], 1, 3),
    "cosh": ([(-80, 80), (-1, 1)], 1, 3),
    "digamma": ([(2, 60), (0.01, 1)], 1, 6),
    "entr": ([(0, 1), (1, 50), (1e-30, 1e-29)], 1, 3),
    "erfinv": ([(-1, 1), (-1e-3, 1e-3), (0.99, 1)], 2, 4),
    "i0": ([(-8, 8), (8, 88), (7.9, 8.1)], 1, 4),
    "i0e": ([(-8, 8), (8, 1e3), (1e3, 1e9)], 1, 4),
    "i1": ([(-8, 8), (-1e-3, 1e-3), (8, 88)], 1, 4),
    "i1e": ([(-8, 8), (-1e-3, 1e-3), (8, 1e3), (1e3, 1e9)], 1, 4),
    "i2": ([(-8, 8), (-1e-3, 1e-3), (8, 88)], 1, 5),
    "i2e": ([(-8, 8), (-1e-3, 1e-3), (8, 1e3)], 1, 5),
    "lgamma": ([(3, 60), (0.01, 0.5), (1e3, 1e5)], 1, 6),
    "ndtri": ([(0.01, 0.49), (0.51, 0.99), (1e-38, 1e-37), (1e-9, 1e-3)], 1, 6),
    "sinh": ([(-80, 80), (-1, 1)], 1, 3),
    "tan": ([(-100, 100), (-1, 1)], 1, 3),
}
PAIRS = [function.__name__ for function in OF_TWO]
REFERENCE = {
    "entr": lambda x: -x * mp.log(x),
    "lgamma": lambda x: mp.loggamma(x).real,
    "ndtri": lambda p: quantile(p),
    **{f"i{n}": partial(mp.besseli, n) for n in range(3)},
    **{f"i{n}e": lambda x, n=n: mp.besseli(n, x) * mp.exp(-abs(x)) for n in range(3)},
}
NUMPYS = {
    **{name: getattr(np, "arc" + name[1:]) for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")},
    "atan2": np.arctan2,
    "digamma": special.psi,
    "entr": special.entr,
    "erfinv": special.erfinv,
    "lgamma": special.gammaln,
    "ndtri": special.ndtri,
    **{f"i{n}{e}": partial(_by_scipy, "i" + e, n) for n in range(3) for e in ("", "e")},
}
SOME = [0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, 2.5, -2.5, 1e-30, -1e-30, 7.0, 1e15, np.inf, -np.inf, np.nan]


def quantile(p: Any) -> Any:
    """The normal quantile, by Newton's method for the logarithm of the probability."""
    x, logarithm = mp.mpf(float(special.ndtri(float(p)))), mp.log(p)
    for _ in range(3):
        below = mp.ncdf(x)
        x -= (mp.log(below) - logarithm) * below / mp.npdf(x)
    return x


def kernel(name: str) -> Any:
    def refused(*arrays: Any) -> Any:
        raise AssertionError("no kernel")

    function = partial(arithmetic if name in PAIRS else unary, name)
    return elementwise.Kernels("test_" + name, [function], refused, even_plain=True)


def test_the_table_is_complete() -> None:
    assert set(SPECIAL) == {*WHERE, *PAIRS}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", WHERE)
def test_error(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    intervals, *bounds = WHERE[name]
    x = np.concatenate([rng.uniform(low, high, 300) for low, high in intervals]).astype(dtype)
    x = x[np.isfinite(NUMPYS.get(name, getattr(np, name, None))(x))]  # type: ignore[misc]
    with mp.workdps(40):
        exact = [(REFERENCE.get(name) or getattr(mp, name))(mp.mpf(float(v))) for v in x]
        assert ulps(kernel(name)(x), exact) <= bounds[TYPES.index(dtype)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", WHERE)
def test_edges(name: str, dtype: Any) -> None:
    info = np.finfo(dtype)
    x = np.array([*SOME, info.tiny, -info.tiny, info.max, info.min], dtype)
    with np.errstate(all="ignore"):
        expected = NUMPYS.get(name, getattr(np, name, None))(x)  # type: ignore[misc]
    if name == "tan":
        x, expected = (a[np.abs(x) < 1e20] for a in (x, expected))
    if name == "lgamma":  # the logarithm of an absolute value; SciPy's of negative infinity is minus infinity
        expected = np.abs(expected)
    got = kernel(name)(x)
    rough = name in ("digamma", "lgamma", "i2e")  # below 0, and SciPy's of 1e15
    np.testing.assert_allclose(np.abs(got) if name == "lgamma" else got, expected, rtol=(50 if rough else 8) * info.eps)
    zeros = expected == 0
    signs = np.signbit(x if name in ("erfinv", "i1", "i1e") else expected)  # SciPy's lose the sign
    np.testing.assert_array_equal(np.signbit(got[zeros]), signs[zeros])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, dtype: Any) -> None:
    """Every pair of unusual numbers, and many of ordinary ones; remainders are exact."""
    rng = np.random.default_rng(2)
    x, y = (np.ascontiguousarray(a).ravel() for a in np.meshgrid(np.array(SOME, dtype), np.array(SOME, dtype)))
    x = np.concatenate([x, (rng.standard_normal(2000) * 10.0 ** rng.integers(-3, 12, 2000)).astype(dtype)])
    y = np.concatenate([y, rng.standard_normal(2000).astype(dtype)])
    with np.errstate(all="ignore"):
        if name == "floor_divide":
            expected = np.where(y == 0, x / y, np.floor_divide(x, y))
        else:
            expected = NUMPYS.get(name, getattr(np, name, None))(x, y)  # type: ignore[misc]
    got, exact = kernel(name)(x, y), name in ("fmod", "remainder")
    np.testing.assert_allclose(got, expected, rtol=0 if exact else 4 * np.finfo(dtype).eps)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))
