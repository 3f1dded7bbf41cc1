"""What is special about elementwise operations: kinks, ties, infinities, NaN, types, operators, complex."""

from __future__ import annotations

import math
import warnings
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special

import pullback as torch
import pullback.special as special
from pullback.autograd import grad, gradcheck, gradgradcheck
from pullback.ops.where import fast_where

from ..kernels import using

inf, nan = math.inf, math.nan


def leaf(*values: Any, dtype: Any = torch.float64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def gradient(f: Any, x: torch.Tensor, order: int = 1) -> list[float]:
    """The derivative of that order, element by element."""
    y = f(x)
    for _ in range(order):
        (y,) = grad(y.sum(), x, create_graph=True)
    return y.tolist()


def check(got: Any, expected: Any, **tolerance: float) -> None:
    np.testing.assert_allclose(got, expected, **(tolerance or {"rtol": 1e-12}))


# --- kinks and ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, at, expected",
    [
        (torch.relu, [-1, 0.0, -0.0, 2, nan], [0, 0, 0, 1, 1]),
        (torch.abs, [-1, 0.0, -0.0, 2, inf], [-1, 0, 0, 1, 1]),
        (torch.sqrt, [0.0, 4], [inf, 0.25]),
        (torch.sign, [-1, 0, inf, nan], [0, 0, 0, 0]),
        (torch.frac, [1.5, inf], [1, 1]),
        (torch.nan_to_num, [1, inf, -inf, nan], [1, 0, 0, 0]),
        (lambda x: torch.clamp(x, 0, 1), [-1, 0, 0.5, 1, 2, nan], [0, 1, 1, 1, 0, 0]),
        (lambda x: torch.clamp(x, 1, 0), [-1, 0.5, 3], [0, 0, 0]),
        (lambda x: torch.threshold(x, 1, 7), [0, 1, 2, nan], [0, 0, 1, 1]),
        (lambda x: torch.logit(x, 0.2), [0.1, 0.2, 0.5, 0.9], [0, 6.25, 4, 0]),
        (torch.logit, [0.5, 1.5], [4, nan]),
        (lambda x: torch.where(x > 0, x, torch.log(x)), [-1, 0.5, 2], [-1, 1, 1]),
        (
            lambda x: torch.nn.functional.smooth_l1_loss(x, torch.zeros(5), reduction="none", beta=2.0),
            [-3, -2, 1, 2, nan],
            [-1, -1, 0.5, 1, nan],
        ),
        (lambda x: torch.hypot(x, 0 * x), [0.0, -2.0], [0, -1]),
        (torch.nn.functional.elu, [-inf, 0.0, 2, nan], [0, 1, 1, nan]),
        (torch.nn.functional.celu, [-inf, 0.0, 2, nan], [0, 1, 1, nan]),
        (torch.selu, [-inf, nan], [0, nan]),
        (torch.nn.functional.hardswish, [-inf, -4, 4, inf, nan], [0, 0, 1, 1, nan]),
        (torch.nn.functional.hardtanh, [-1, 0, 1, nan], [0, 1, 0, 0]),
        (torch.nn.functional.softshrink, [-0.5, 0, 1, nan], [0, 0, 1, 0]),
    ],
)
def test_derivative_at_kinks(f: Any, at: list[float], expected: list[float]) -> None:
    """PyTorch's choice of a subgradient, and nothing leaks out of the branch not taken."""
    check(gradient(f, leaf(*at)), expected)


@pytest.mark.parametrize("order", [1, 2])
def test_where_hides_what_it_does_not_choose(order: int) -> None:
    """An infinite or NaN value in the other branch is invisible, if it is moved away before."""
    safe = lambda x: torch.where(x > 0, torch.log(torch.where(x > 0, x, 1)), 0 * x)  # noqa: E731
    check(gradient(safe, leaf(-1.0, 0.0, 2.0), order), [0, 0, 0.5 if order == 1 else -0.25])


@pytest.mark.parametrize(
    "name, expected",
    [
        ("maximum", ([0.5, 0, 1, 1, 1], [0.5, 1, 1, 1, 0])),
        ("minimum", ([0.5, 1, 1, 1, 0], [0.5, 0, 1, 1, 1])),
        ("fmax", ([1, 0, 0, 1, 1], [0, 1, 1, 0, 0])),
        ("fmin", ([1, 1, 0, 1, 0], [0, 0, 1, 0, 1])),
    ],
)
def test_ties_and_nan(name: str, expected: tuple[list[float], list[float]]) -> None:
    """maximum and minimum halve; fmax and fmin give all to the first, and nothing to a NaN they ignore."""
    a, b = leaf(1, 1, nan, 1, 2), leaf(1, 2, 1, nan, 1)
    for got, want in zip(grad(getattr(torch, name)(a, b).sum(), (a, b)), expected, strict=True):
        assert got.tolist() == want


def test_bounds_that_are_tensors_get_the_rest_of_the_gradient() -> None:
    """Out of bounds the bound has the gradient; where bounds cross, the upper one has all of it."""
    x, low, high = leaf(-1, 0, 2, 3, 5), leaf(0, 0, 0, 4, 0), leaf(1, 1, 1, 1, 5)
    grads = [g.tolist() for g in grad(torch.clamp(x, low, high).sum(), (x, low, high))]
    assert grads == [[0, 1, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 1, 0]]


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "leaky_relu", "hardtanh", "threshold", "prelu", "softshrink", "hardshrink", "hardsigmoid"]
)
def test_piecewise_linear_functions_have_a_second_derivative_of_zero(name: str) -> None:
    """As in PyTorch, differentiating their gradient gives zeros rather than an error."""
    x = leaf(-1.0, 0.0, 2.0)
    options = {"threshold": (0.5, 0.0), "prelu": (leaf(0.25),)}.get(name, ())
    (g,) = grad(getattr(torch.nn.functional, name)(x, *options).sum(), x, create_graph=True)
    assert g.requires_grad
    assert grad(g.sum(), x)[0].tolist() == [0, 0, 0]


def test_zero_gradients_ignore_what_comes_in() -> None:
    """A step function passes no gradient on, even where the incoming one is infinite or NaN."""
    x = leaf(1.5, 2.5, 3.5)
    for f in (torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign):
        (g,) = grad(f(x), x, torch.tensor([inf, nan, 1.0], dtype=torch.float64))
        assert g.tolist() == [0, 0, 0]


# --- where formulas have holes ------------------------------------------------------------------------------


def test_logaddexp_of_equal_infinities() -> None:
    """Values are exact and gradients the limit along equal arguments, one half; never NaN."""
    for f in (torch.logaddexp, torch.logaddexp2):
        a, b = leaf(-inf, inf, -inf, 0.0), leaf(-inf, inf, 0.0, -inf)
        out = f(a, b)
        assert out.tolist() == [-inf, inf, 0, 0]
        ga, gb = grad(out.sum(), (a, b), create_graph=True)
        assert ga.tolist() == [0.5, 0.5, 0, 1] and gb.tolist() == [0.5, 0.5, 1, 0]
        assert not grad(ga.sum(), a)[0].isnan().any()


SPECIAL = np.array([0.0, -0.0, 1, inf, -inf, nan, 3, 1000, -1000, 1e-3, 5e-324, -5e-324])


@pytest.mark.parametrize("mode", ("on", "off"))
@pytest.mark.parametrize("name", ("logaddexp", "logaddexp2", "nextafter"))
def test_large_arrays_have_the_same_function(name: str, mode: str) -> None:
    """From some size on another formula computes it."""
    a, b = (np.tile(v.ravel(), 4) for v in np.meshgrid(SPECIAL, SPECIAL))
    with using(mode):
        big = getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    check(big, getattr(np, name)(a, b), rtol=1e-15)
    assert name != "nextafter" or (np.signbit(big) == np.signbit(np.nextafter(a, b))).all()


@pytest.mark.parametrize("mode", ("on", "off"))
@pytest.mark.parametrize("n", range(1, 7))
def test_large_polygamma(n: int, mode: str) -> None:
    x = np.concatenate([np.geomspace(1e-3, 1e3, 2000), [inf, nan, 0.0]])
    for a in (x, np.append(x, -0.5)):  # of numbers below 0 it is another sum
        expected = (-1.0) ** (n + 1) * math.factorial(n) * scipy.special.zeta(n + 1.0, a)
        with using(mode):
            check(torch.polygamma(n, torch.from_numpy(a)).numpy(), expected, rtol=2e-15)


@pytest.mark.parametrize("order", range(6))
def test_sinc_is_smooth(order: int) -> None:
    """Derivatives of any order, at 0, near it and far from it, against mpmath."""
    at = [0.0, 1e-9, -1e-3, 0.2, 0.49, -0.7, 1.0, 2.5, -9.75]
    expected = [float(mpmath.diff(lambda t: mpmath.sincpi(t), mpmath.mpf(v), order)) for v in at]
    check(gradient(torch.sinc, leaf(*at), order), expected, rtol=1e-9, atol=1e-9)


def test_sinc_of_complex_numbers() -> None:
    """The same, off the real axis and at 0."""
    z = torch.tensor([0j, 0.1 + 0.2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(torch.sinc, (z,)) and gradgradcheck(torch.sinc, (z,))


BESSEL = {
    "bessel_j0": lambda t: mpmath.besselj(0, t),
    "bessel_j1": lambda t: mpmath.besselj(1, t),
    "bessel_y0": lambda t: mpmath.bessely(0, t),
    "bessel_y1": lambda t: mpmath.bessely(1, t),
    "i0": lambda t: mpmath.besseli(0, t),
    "i1": lambda t: mpmath.besseli(1, t),
    "modified_bessel_k0": lambda t: mpmath.besselk(0, t),
    "modified_bessel_k1": lambda t: mpmath.besselk(1, t),
    "i0e": lambda t: mpmath.exp(-t) * mpmath.besseli(0, t),
    "i1e": lambda t: mpmath.exp(-t) * mpmath.besseli(1, t),
    "scaled_modified_bessel_k0": lambda t: mpmath.exp(t) * mpmath.besselk(0, t),
    "scaled_modified_bessel_k1": lambda t: mpmath.exp(t) * mpmath.besselk(1, t),
    "airy_ai": mpmath.airyai,
    "spherical_bessel_j0": lambda t: mpmath.sin(t) / t,
    "erfcx": lambda t: mpmath.exp(t * t) * mpmath.erfc(t),
    "log_ndtr": lambda t: mpmath.log(mpmath.ncdf(t)),
    "ndtr": mpmath.ncdf,
    "entr": lambda t: -t * mpmath.log(t),
    "digamma": mpmath.digamma,
    "gammaln": mpmath.loggamma,
    "erf": mpmath.erf,
    "expit": lambda t: 1 / (1 + mpmath.exp(-t)),
}


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", BESSEL)
def test_special_function_against_mpmath(name: str, order: int) -> None:
    """Values and derivatives up to the third."""
    at = [0.3, 1.0, 4.5]
    expected = [float(mpmath.diff(BESSEL[name], mpmath.mpf(v), order)) for v in at]
    check(gradient(getattr(special, name), leaf(*at), order), expected, rtol=1e-9, atol=1e-11)


def test_bessel_functions_at_zero() -> None:
    """Where the textbook derivative divides by 0."""
    assert gradient(special.i1, leaf(0.0, -0.0)) == [0.5, 0.5]
    assert gradient(torch.i0, leaf(0.0), 2) == [0.5]
    assert gradient(special.bessel_j1, leaf(0.0)) == [0.5]
    assert gradient(special.bessel_j0, leaf(0.0), 2) == [-0.5]


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_scaled_bessel_functions_far_out(name: str) -> None:
    """Where those of order 2, of which derivatives are made, are NaN in scipy."""
    check(gradient(getattr(special, name), leaf(1e10, -1e30, math.inf, -math.inf)), [0.0] * 4, rtol=0, atol=1e-14)


def test_poles_of_the_gamma_function() -> None:
    """What PyTorch computes there through a reflection is huge but finite; the pole is infinite."""
    x = torch.tensor([0.0, -1.0, -2.0], dtype=torch.float64)
    assert torch.lgamma(x).tolist() == [inf, inf, inf]
    assert torch.polygamma(1, x).tolist() == [inf, inf, inf]
    check(torch.digamma(x), [-inf, nan, nan])


def test_log_ndtr_far_out() -> None:
    """Neither tail of the derivative overflows or cancels."""
    x = leaf(-1e8, -50.0, -1.0, 0.0, 5.0, 50.0)
    ratio = [float(mpmath.npdf(v) / mpmath.ncdf(v)) if abs(v) < 1e3 else 1e8 for v in x.tolist()]
    check(gradient(special.log_ndtr, x), ratio, rtol=1e-9)
    assert np.isfinite(gradient(special.log_ndtr, x, 2)).all()


@pytest.mark.parametrize("f, hole", [(torch.xlogy, 0.0), (special.xlog1py, -1.0)])
def test_zero_times_logarithm_of_zero(f: Any, hole: float) -> None:
    """The value is 0, and so are the derivatives, twice; NaN stays NaN."""
    x, y = leaf(0.0, 0.0, 0.0, 2.0), leaf(hole, hole + 2, nan, hole + 1)
    out = f(x, y)
    check(out.tolist(), [0, 0, nan, 0], rtol=1e-12, atol=1e-15)
    gx, gy = grad(out.sum(), (x, y), create_graph=True)
    check(gx.tolist(), [0, math.log(2), nan, 0], rtol=1e-12, atol=1e-15)
    check(gy.tolist(), [0, 0, nan, 2])
    for g in (gx, gy):
        for second in grad(g[:2].sum(), (x, y), retain_graph=True, allow_unused=True):
            assert second is None or not second[:2].isnan().any()


def test_atan2_and_angles_at_the_origin() -> None:
    """Gradients 0 at the origin and at infinity, and no overflow far from it or close to it."""
    y, x = leaf(0.0, 3e200, 3e-200, inf, 1.0, inf, nan), leaf(0.0, 4e200, 4e-200, 1.0, -inf, -inf, inf)
    gy, gx = grad(torch.atan2(y, x).sum(), (y, x))
    check(gy.tolist(), [0, 0.16 / 1e200, 0.16 / 1e-200, 0, 0, 0, nan])
    check(gx.tolist(), [0, -0.12 / 1e200, -0.12 / 1e-200, 0, 0, 0, nan])
    z = torch.tensor([0j, 3 + 4j], dtype=torch.complex128, requires_grad=True)
    check(grad(torch.angle(z).sum(), z)[0].numpy(), [0, 1j * (3 + 4j) / 25])


@pytest.mark.parametrize("f", [torch.asin, torch.acos, torch.atanh])
def test_near_one(f: Any) -> None:
    """Derivatives close to the branch point, where ``1 - x * x`` would lose digits; infinite on it."""
    x = torch.tensor([1 - 2.0**-20, 1.0], dtype=torch.float32, requires_grad=True)
    reference = {torch.asin: mpmath.asin, torch.acos: mpmath.acos, torch.atanh: mpmath.atanh}[f]
    got = gradient(f, x)
    check(got[0], float(mpmath.diff(reference, mpmath.mpf(1) - mpmath.mpf(2) ** -20)), rtol=3e-7)
    assert math.isinf(got[1]) and math.isinf(gradient(f, x, 2)[1])


# --- accuracy, types, numbers -------------------------------------------------------------------------------


def test_sigmoid_in_both_tails_without_warnings() -> None:
    """Relative accuracy as long as the result is a normal number."""
    at = [-700.0, -40.0, -1e-9, 0.0, 3.0, 40.0, 1000.0, -inf, inf]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = torch.sigmoid(torch.tensor(at, dtype=torch.float64))
    check(got, [float(1 / (1 + mpmath.exp(-mpmath.mpf(v)))) for v in at], rtol=1e-15)


MANY = 5000


WHERE_TYPES = ["float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128", "int64"]


@pytest.mark.parametrize("dtype", WHERE_TYPES)
def test_where_of_many_elements(dtype: Any) -> None:
    """Large selections work on the bits, which shows in nothing: not in NaN, infinity, -0.0, or strides."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 50, 100)) * 40
    x[0], y[1] = np.nan, np.inf
    y[2] = -0.0
    x, y = (np.nan_to_num(v).astype(dtype) if np.dtype(dtype).kind == "i" else v.astype(dtype) for v in (x, y))
    mask = rng.random((50, 100)) > 0.5
    for a, b in ((x, y), (x.T.copy().T, np.repeat(y, 2, 1)[:, ::2]), (x[:1], y), (x, y[:, :1])):
        got = torch.where(torch.from_numpy(mask), torch.from_numpy(a), torch.from_numpy(b))
        expected = np.where(mask, a, b)
        assert got._array.dtype == np.dtype(dtype) and got._array.tobytes() == expected.tobytes()
    zeroed = torch.where(torch.from_numpy(mask), torch.from_numpy(x), 0)
    assert zeroed._array.tobytes() == np.where(mask, x, np.zeros((), dtype)).tobytes()


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_either_of_many_elements_and_a_number(dtype: Any) -> None:
    x = np.linspace(-1, 1, MANY, dtype=dtype)
    for a, b in ((x, 2.5), (-1, x), (dtype(3), x), (x, 0)):
        got = fast_where(x > 0.3, a, b)
        assert got.dtype == dtype and np.array_equal(got, np.where(x > 0.3, a, b))
    assert fast_where(x > 0.3, np.ones(MANY, np.int64), 0.5).dtype == np.float64


@pytest.mark.parametrize("slope", (-0.5, 0.0, 0.01, 1.0, 2.0))
def test_leaky_relu_of_any_slope(slope: float) -> None:
    x = np.array([-inf, -2.0, -5e-324, -0.0, 0.0, 3.0, inf, nan])
    got = torch.nn.functional.leaky_relu(torch.from_numpy(x), slope).numpy()
    with np.errstate(invalid="ignore"):
        expected = np.where(x > 0, x, x * slope)
    assert np.array_equal(got, expected, equal_nan=True) and np.array_equal(
        np.signbit(got[:-1]), np.signbit(expected[:-1])
    )


def test_where_numbers_and_types() -> None:
    """Numbers on both sides, mixed types, the condition alone, and the old uint8 condition."""
    c = torch.tensor([True, False])
    assert torch.where(c, 1, 2.5).dtype is torch.float32 and torch.where(c, 1, 2).tolist() == [1, 2]
    assert torch.where(c, True, False).dtype is torch.bool
    assert torch.where(c, torch.tensor([1, 2]), torch.tensor([0.5, 0.5])).dtype is torch.float32
    assert torch.where(c, torch.tensor([1, 2]), 0).dtype is torch.int64
    assert [i.tolist() for i in torch.where(torch.tensor([[True, False], [True, True]]))] == [
        [0, 1, 1],
        [0, 0, 1],
    ]
    assert torch.where(torch.tensor([1, 0], dtype=torch.uint8), 1, 2).tolist() == [1, 2]


NARROW = "exp sigmoid erf lgamma sinc i0 relu clamp abs logit round digamma sgn nan_to_num".split()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_types_stay_narrow(name: str, dtype: Any) -> None:
    """The result and the gradient keep the type, and agree with float64."""
    x = torch.tensor([0.25, 0.5, 0.75], dtype=dtype, requires_grad=True)
    wide = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64, requires_grad=True)
    f = (lambda x: torch.clamp(x, 0.3, 0.6)) if name == "clamp" else getattr(torch, name)
    out = f(x)
    (g,) = grad(out.sum(), x)
    (expected,) = grad(f(wide).sum(), wide)
    assert out.dtype is g.dtype is dtype
    check(out.tolist(), f(wide).tolist(), rtol=0.01)
    check(g.tolist(), expected.tolist(), rtol=0.02)


def test_integers() -> None:
    """Rounding leaves integers, functions make floats of them, clamp promotes by its bounds."""
    n = torch.tensor([-3, 4])
    assert all(
        f(n).dtype is torch.int64 for f in (torch.floor, torch.ceil, torch.round, torch.abs, torch.sign, torch.relu)
    )
    assert torch.exp(n).dtype is torch.float32 and torch.lgamma(n).dtype is torch.float32
    assert torch.clamp(n, 0, 2).tolist() == [0, 2] and torch.clamp(n, 0.5).tolist() == [0.5, 4.0]
    assert torch.clamp(torch.tensor([1, 200], dtype=torch.uint8), -1, 300).tolist() == [1, 200]
    assert torch.square(torch.tensor([True])).tolist() == [1]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        n.exp_()


def test_the_step_at_zero_looks_at_nothing_else() -> None:
    """NaN is not above zero, and signed zeros, infinities and numbers below -1 are not in between; of few numbers and
    of many.
    """
    x, v = (
        torch.tensor([nan, -0.0, 0.0, 2.0, -3.0, -0.5, inf, -inf]),
        torch.tensor([nan, -0.0, 7.0, nan, nan, nan, nan, nan]),
    )
    for times in (1, 1024):
        for d in (torch.float32, torch.float64, torch.float16):
            assert torch.heaviside(x.to(d).repeat(times), v.to(d).repeat(times))[-8:].tolist() == [
                0,
                0,
                7,
                1,
                0,
                0,
                1,
                0,
            ]


def test_rounding() -> None:
    """Halves go to the even integer; decimals count in both directions; nothing overflows on the way."""
    x = torch.tensor([0.5, 1.5, -2.5, 1e38, inf], dtype=torch.float32)
    assert torch.round(x).tolist()[:3] == [0, 2, -2]
    assert torch.round(x, decimals=3).tolist()[3:] == x.tolist()[3:]
    assert torch.round(torch.tensor([1234.5678], dtype=torch.float64), decimals=-2).tolist() == [1200]
    assert math.copysign(1, torch.round(torch.tensor([-0.3])).item()) == -1


def test_frexp() -> None:
    """Infinities and NaN have the exponent 0; the mantissa carries the gradient."""
    x = leaf(8.0, 0.0, inf, nan)
    mantissa, exponent = torch.frexp(x)
    check(mantissa.tolist(), [0.5, 0, inf, nan])
    assert exponent.tolist() == [4, 0, 0, 0] and exponent.dtype is torch.int32
    check(grad(mantissa.sum(), x)[0].tolist(), [1 / 16, 1, 1, 1])


@pytest.mark.parametrize("a", ["igamma", "igammac"])
def test_incomplete_gamma(a: str) -> None:
    """The derivative with respect to x, also at 0; with respect to a there is none."""
    x = leaf(0.5, 2.0, 0.0)
    shape = torch.tensor([0.7, 3.0, 1.0], dtype=torch.float64)
    sign = 1 if a == "igamma" else -1
    (g,) = grad(getattr(torch, a)(shape, x).sum(), x)
    density = [
        float(mpmath.mpf(v) ** (s - 1) * mpmath.exp(-v) / mpmath.gamma(s))
        for s, v in zip(shape.tolist(), [0.5, 2.0, 1e-300], strict=True)
    ]
    check((sign * g).tolist(), density)
    with pytest.raises(NotImplementedError, match="derivative for 'input'"):
        getattr(torch, a)(shape.requires_grad_(), x).sum().backward()


@pytest.mark.parametrize("n", range(-1, 9))
def test_orthogonal_polynomials(n: int) -> None:
    """Against NumPy's, by way of derivatives and sums where it has none. Of negative degree they vanish."""
    from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre

    first, at = Chebyshev.basis, np.array([-1.0, -0.3, 0.0, 0.5, 0.75, 1.0])
    second = lambda n: first(n + 1).deriv() / (n + 1)  # noqa: E731
    before = lambda n: second(n - 1) if n else 0 * first(0)  # noqa: E731
    exact = {
        "chebyshev_polynomial_t": first,
        "chebyshev_polynomial_u": second,
        "chebyshev_polynomial_v": lambda n: second(n) - before(n),
        "chebyshev_polynomial_w": lambda n: second(n) + before(n),
        "hermite_polynomial_h": Hermite.basis,
        "hermite_polynomial_he": HermiteE.basis,
        "laguerre_polynomial_l": Laguerre.basis,
        "legendre_polynomial_p": Legendre.basis,
    }
    for name, basis in exact.items():
        expected = basis(n)(at) if n >= 0 else 0 * at
        check(getattr(special, name)(torch.from_numpy(at), n), expected, rtol=1e-11, atol=1e-11)
        if name.startswith("chebyshev"):
            got = getattr(special, "shifted_" + name)(torch.from_numpy((at + 1) / 2), torch.tensor(n))
            check(got, expected, rtol=1e-11, atol=1e-11)


# --- comparisons and bits -----------------------------------------------------------------------------------


def test_comparisons_are_not_recorded() -> None:
    """Their result is constant, in every form, whatever requires grad."""
    x = leaf(1.0, 2.0)
    for result in (x > 1, x == x, 1.5 <= x, torch.isnan(x), torch.logical_not(x), x.ne(2), torch.signbit(x)):
        assert result.dtype is torch.bool and not result.requires_grad


def test_comparison_with_anything_else() -> None:
    """Equality with foreign objects is False, an order with them a TypeError."""
    x = torch.tensor([1.0])
    assert (x == None) is False and (x != "a") is True and (x == [1.0]) is False  # noqa: E711
    with pytest.raises(TypeError, match="not supported between"):
        x < "a"  # noqa: B015
    assert len({x, x}) == 1


def test_comparison_in_place_cuts_the_history() -> None:
    """``eq_`` writes 0 and 1 in the tensor's type, and the old value gets the gradient 0."""
    x = leaf(1.0, 2.0)
    y = x * 3
    assert y.eq_(3).tolist() == [1, 0] and y.dtype is torch.float64 and y.grad_fn.name() == "EqBackward0"
    assert grad((y * 5).sum(), x)[0].tolist() == [0, 0]
    assert torch.tensor([1, 2]).lt_(2).tolist() == [1, 0]
    assert torch.tensor([0.0, 3.0]).logical_not_().tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        x.gt_(0)


EXPRESSIONS = [
    "a & b",
    "a | b",
    "a ^ b",
    "~a",
    "a << b",
    "a >> b",
    "3 & a",
    "3 | a",
    "3 ^ a",
    "3 << b",
    "300 >> b",
    "a & True",
    "a < b",
    "a >= 2",
    "2 > a",
    "a != b",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_operators_of_integers(expression: str) -> None:
    """Python's operators mean what they mean on Python's integers."""
    a, b = [5, -7, 12], [1, 2, 0]
    got = eval(expression, {"a": torch.tensor(a), "b": torch.tensor(b)})
    assert got.tolist() == [eval(expression, {"a": i, "b": j}) for i, j in zip(a, b, strict=True)]


def test_bitwise_in_place_and_bool() -> None:
    """The augmented operators write into the tensor; on bools the operators are logical."""
    x = same = torch.tensor([6, 5])
    x &= 3
    x |= 8
    x ^= 1
    x <<= 2
    x >>= 1
    assert x is same and x.tolist() == [((v & 3 | 8) ^ 1) << 2 >> 1 for v in (6, 5)]
    t = torch.tensor([True, False])
    assert (t & True).tolist() == [True, False] and (t ^ t).dtype is torch.bool and (~t).tolist() == [False, True]
    with pytest.raises(TypeError, match="only implemented on integer and Boolean-type"):
        ~torch.tensor([1.0])


def test_products_and_quotients_added() -> None:
    """The value is whole beside integers; nodes have PyTorch's names."""
    i, x = torch.tensor([1, 2]), torch.tensor([1.0, 2.0], requires_grad=True)
    assert torch.addcmul(i, i, i, value=2.5).tolist() == [3, 10]
    assert torch.addcmul(x, i, i, value=2.5).tolist() == [3.5, 12]
    assert torch.addcdiv(i, i.half(), i, value=2.5).dtype is torch.float16
    names = [f(x, x, x).grad_fn.name() for f in (torch.addcmul, torch.addcdiv)]
    assert names == ["AddcmulBackward0", "AddcdivBackward0"]


def test_shifts_out_of_range() -> None:
    """All bits shifted out leave 0, or the sign; so do negative shifts."""
    x, far = torch.tensor([5, -5]), torch.tensor([64, -1])
    assert (x << far).tolist() == [0, 0] and (x >> far).tolist() == [0, -1]
    byte = torch.tensor([200], dtype=torch.uint8)
    assert (byte << 1).tolist() == [144] and (byte >> 9).tolist() == [0]


def test_closeness() -> None:
    """NaN and infinities; shapes that broadcast; whole tensors."""
    a, b = torch.tensor([1.0, inf, nan]), torch.tensor([1.0 + 1e-6, inf, nan])
    assert torch.isclose(a, b).tolist() == [True, True, False]
    assert torch.isclose(a, b, equal_nan=True).tolist() == [True, True, True]
    assert torch.allclose(a[:2], b[:2]) and not torch.allclose(a, b) and a.allclose(b, equal_nan=True)
    assert torch.equal(a[:2], a[:2]) and not torch.equal(a, a) and not torch.equal(a[:1], a[:2])
    assert torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 4]), invert=True).tolist() == [
        True,
        False,
        True,
    ]


# --- complex numbers ----------------------------------------------------------------------------------------


COMPLEX = [
    torch.abs,
    torch.angle,
    torch.sgn,
    torch.real,
    torch.imag,
    torch.conj,
    torch.conj_physical,
    torch.view_as_real,
    lambda z: z.real * z.imag,
    lambda z: abs(z) ** 2,
    lambda z: torch.view_as_complex(torch.view_as_real(z)),
]


@pytest.mark.parametrize("f", COMPLEX)
def test_complex_parts(f: Any) -> None:
    """Gradients of functions that are not holomorphic, twice."""
    z = torch.tensor([[1 + 2j, -0.5 + 0.3j], [0.1 - 1j, -2 - 1j]], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(f, (z,)) and gradgradcheck(f, (z,))


@pytest.mark.parametrize("f", [torch.complex, torch.polar])
def test_complex_from_parts(f: Any) -> None:
    """Also where the size is negative or 0, and with shapes that broadcast."""
    a, b = leaf(1.0, -2.0, 0.0), torch.tensor([[0.5], [2.0]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(f, (a, b)) and gradgradcheck(f, (a, b))


def test_complex_kinks() -> None:
    """At 0 the gradients of abs, sgn and angle are 0, also of their gradients."""
    z = torch.tensor([0j, 3 + 4j], dtype=torch.complex128, requires_grad=True)
    (g,) = grad(torch.abs(z).sum(), z, create_graph=True)
    check(g.detach().numpy(), [0, 0.6 + 0.8j])
    (h,) = grad(torch.view_as_real(g).sum(), z)
    assert h.tolist()[0] == 0 and np.isfinite(h.numpy()).all()


def test_parts_share_memory() -> None:
    """``real``, ``imag`` and ``view_as_real`` can be written through; ``real`` of real numbers is itself."""
    z = torch.tensor([1 + 2j, 3 + 4j])
    z.real += 10
    z.imag = torch.tensor([0.0, 1.0])
    torch.view_as_real(z)[0, 1] = 7
    assert z.tolist() == [11 + 7j, 13 + 1j]
    x = torch.tensor([1.0])
    assert torch.real(x) is x and x.conj() is x and torch.resolve_conj(x) is x
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension with stride 1"):
        torch.view_as_complex(torch.from_numpy(np.ones((2, 2)).T))


# --- against PyTorch ----------------------------------------------------------------------------------------

VALUES = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3.7, -3.7, 1e-3, 1e30, -1e30, inf, -inf, nan, 88, -88, 0.999]
BINARY = """maximum minimum fmax fmin atan2 hypot copysign nextafter xlogy eq ne lt le gt ge logical_and
    logical_xor heaviside isclose""".split()
TESTS = "isnan isinf isfinite isposinf isneginf isreal signbit logical_not".split()
UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad exp exp2 expm1 floor frac log log10
    log1p log2 nan_to_num rad2deg reciprocal relu round rsqrt sgn sigmoid sign sin sinh sqrt square tan tanh
    trunc erf erfc erfinv lgamma logit angle""".split()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", UNARY + TESTS + BINARY)
def test_special_values_and_types_against_pytorch(name: str, dtype: str) -> None:
    """Zeros, infinities, NaN, large numbers; every type's result type, or the same refusal."""
    theirs = pytest.importorskip("torch")
    values = np.array(VALUES if "float" in dtype else [0, 1, 2, 5, 7, 100])
    arrays = [values] if name not in BINARY else [v.ravel() for v in np.meshgrid(values, values)]
    results: list[Any] = []
    for root in (theirs, torch):
        try:
            out = getattr(root, name)(*(root.from_numpy(a.astype(dtype)) for a in arrays))
            results.append(out.numpy())
        except (RuntimeError, TypeError) as error:
            results.append(str(error)[:25])
    expected, got = results
    if isinstance(expected, str):
        assert got == expected
        return
    assert got.dtype == expected.dtype
    tolerance = {"float64": 1e-12, "float16": 2e-3}.get(str(got.dtype), 4e-6)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.torch
@pytest.mark.parametrize("name", UNARY)
def test_special_gradients_against_pytorch(name: str) -> None:
    """First derivatives at zeros, kinks and infinities, wherever PyTorch's is not NaN."""
    theirs = pytest.importorskip("torch")
    values = [v for v in VALUES if v > 1] if name == "acosh" else VALUES
    x, y = (root.tensor(values, dtype=root.float64, requires_grad=True) for root in (theirs, torch))
    (expected,) = theirs.autograd.grad(getattr(theirs, name)(x).sum(), x)
    (got,) = grad(getattr(torch, name)(y).sum(), y)
    # PyTorch's loses it far below 0
    expected = np.exp(x.numpy(force=True)) if name == "expm1" else expected.numpy(force=True)
    known = ~np.isnan(expected) & np.isfinite(values)
    if name == "lgamma":
        known &= np.array(values) > -1e9
    np.testing.assert_allclose(got.numpy()[known], expected[known], rtol=1e-10)


def many_floats(scale: int) -> np.ndarray:
    """Numbers of many magnitudes, and whole multiples of a few."""
    random = np.random.default_rng(3)
    spread = np.ldexp(random.standard_normal(20_000), random.integers(-scale, scale + 1, 20_000))
    return np.concatenate([spread, random.integers(-90, 90, 20_000) * 0.1, [0.0, -0.0]]).astype(np.float32)


@pytest.mark.parametrize("name", ("remainder", "fmod"))
@pytest.mark.parametrize("scale, ends", ((12, ()), (30, ()), (2, (np.inf, -np.inf, np.nan, 0.0))))
def test_remainders_of_many_numbers_are_those_of_few(name: str, scale: int, ends: tuple[float, ...]) -> None:
    x = many_floats(scale)
    for y in (np.roll(x, 7), x[::-1].copy(), 0.3, -3, x[:1]):
        if isinstance(y, np.ndarray):
            y[y == 0] = 0.1
            y[: len(ends)] = ends[: len(y)]
        exact = getattr(np, name)(x, y)
        with using("off"):
            got = getattr(torch, name)(
                torch.from_numpy(x), torch.from_numpy(y) if isinstance(y, np.ndarray) else y
            ).numpy()
        np.testing.assert_array_equal(got, exact)
        np.testing.assert_array_equal(np.signbit(got)[exact == exact], np.signbit(exact)[exact == exact])


def test_hypot_of_many_numbers_is_rounded_correctly() -> None:
    x = np.ldexp(many_floats(12), 100).astype(np.float32)
    x[:4] = np.inf, np.nan, np.inf, 3
    y = np.roll(x, 3)
    y[:4] = np.nan, 1, -np.inf, np.nan
    with using("off"):
        got = torch.hypot(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        finite = torch.hypot(torch.from_numpy(x[4:]), torch.from_numpy(y[4:])).numpy()
    assert got[0] == got[2] == np.inf and np.isnan(got[[1, 3]]).all()
    exact = np.hypot(x[4:].astype(np.float64), y[4:]).astype(np.float32)
    np.testing.assert_array_equal(finite, exact)
    np.testing.assert_allclose(got[4:], exact, rtol=2e-7)


# --- half precision -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3000])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "f, x, slope",
    [
        (lambda x: torch.nn.functional.gelu(x, approximate="tanh"), [-300.0, 256.0, 1000.0, -60000.0], [0, 1, 1, 0]),
        (torch.asinh, [-300.0, 1000.0], [1 / 300, 1 / 1000]),
        (torch.acosh, [300.0, 1000.0], [1 / 300, 1 / 1000]),
        (torch.atan, [-300.0, 256.0], [1 / 90001, 1 / 65537]),
        (lambda x: torch.atan2(x, torch.full_like(x, 300.0)), [300.0], [1 / 600]),
        (lambda x: torch.hypot(x, x * 0 + 400.0), [-300.0], [-0.6]),
        (torch.sinc, [1000.0], [0.001]),
    ],
)
def test_gradients_in_half_precision_do_not_overflow_on_the_way(
    f: Any, x: list[float], slope: list[float], dtype: Any, size: int
) -> None:
    x = torch.tensor(x * size, dtype=dtype, requires_grad=True)
    wanted = np.array(slope * size)

    def check(g: Any) -> None:
        assert g.dtype is dtype
        np.testing.assert_allclose(g.detach().float(), wanted, rtol=0.02, atol=1e-7)

    for create_graph in (False, True):
        check(torch.autograd.grad(f(x).sum(), x, create_graph=create_graph)[0])
    check(torch.func.vmap(torch.func.grad(f))(x.detach()))
    check(torch.func.jvp(f, (x.detach(),), (torch.ones_like(x),))[1])
    compiled = torch.compile(f)(x)
    compiled.sum().backward()
    check(x.grad)


@pytest.mark.parametrize("size", [1, 3000])
@pytest.mark.parametrize("dtype, large", [(torch.float16, 1e6), (torch.bfloat16, 1e39), (torch.float32, 1e39)])
def test_numbers_are_compared_in_the_type_of_the_tensor(dtype: Any, large: float, size: int) -> None:
    x = torch.tensor([inf, -inf, 0.1] * size, dtype=dtype)
    for compared, right in (
        (x <= large, [True, True, True]),
        (x > large, [False, False, False]),
        (x == large, [True, False, False]),
        (x >= -large, [True, True, True]),
        (x == 0.1, [False, False, True]),
        (x < 0.1, [False, True, False]),
        (0.1 >= x, [False, True, True]),
    ):
        assert compared.tolist() == right * size


@pytest.mark.parametrize("size", (1, 5000))
def test_powers_of_minus_infinity_do_not_depend_on_the_size(size: int) -> None:
    """A number 0.5 takes the root, NaN here; an exponent that is a tensor is C's power, infinity."""
    x = torch.full((size,), -inf, requires_grad=True)
    powers = {1.5: nan, torch.tensor(1.5): inf, torch.full((size,), 1.5): inf}
    for exponent, expected in powers.items():
        (g,) = grad((x**exponent).sum(), x)
        np.testing.assert_array_equal(g.numpy(), expected)
    assert x.pow(0.5).isnan().all() and x.pow(torch.tensor(0.5)).isposinf().all()
