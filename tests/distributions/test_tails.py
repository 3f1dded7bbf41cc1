"""Far tails and extreme parameters, against formulas in the arithmetic of mpmath, of many digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import pullback as torch
from pullback import distributions as D
from pullback import special

mpmath = pytest.importorskip("mpmath")

mpf, log, exp, log1p, pi, inf = mpmath.mpf, mpmath.log, mpmath.exp, mpmath.log1p, mpmath.pi, math.inf

REAL = (-1e300, -1e10, -800.0, -37.0, -20.0, -1.0, -1e-10, 0.0, 1e-300, 1e-10, 0.3, 1.0, 20.0, 37.0, 800.0, 1e10, 1e200)
POSITIVE = tuple(x for x in REAL if x > 0)
UNIT = (1e-100, 1e-20, 1e-10, 0.01, 0.3, 0.5, 0.7, 0.99, 0.9999999, 1 - 1e-10, 1 - 2**-53)
COUNTS = (0.0, 1.0, 5.0, 10.0)


def number(x: float) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


def normal_cdf(x: Any) -> Any:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2 if abs(x) < 1e4 else mpf(x > 0)


def log_beta(a: float, b: float) -> Any:
    return mpmath.loggamma(mpf(a)) + mpmath.loggamma(mpf(b)) - mpmath.loggamma(mpf(a) + b)


def gamma_part(a: float, x: Any, upper: bool) -> Any:
    if not 0 < x < 1e4:
        return mpf((x > 0) != upper)
    return mpmath.gammainc(mpf(a), *((x, mpmath.inf) if upper else (0, x)), regularized=True)


def only(at: float) -> Callable:
    """The logarithm of the probability where it is all on one value."""
    return lambda x: mpf(0) if x == at else -mpmath.inf


class Tail(NamedTuple):
    distribution: Callable[[], Any]
    method: str
    formula: Callable[[Any], Any]
    at: Sequence[float] = REAL


p = mpf(0.3)
TAILS = {
    "Normal": [
        Tail(lambda: D.Normal(0.0, 1.0), "log_prob", lambda x: -x * x / 2 - log(2 * pi) / 2),
        Tail(lambda: D.Normal(0.0, 1.0), "cdf", normal_cdf),
        Tail(lambda: D.Normal(3.0, 0.5), "cdf", lambda x: normal_cdf((x - 3) * 2)),
    ],
    "Cauchy": [
        Tail(lambda: D.Cauchy(0.0, 1.0), "log_prob", lambda x: -log(pi) - log1p(x * x)),
        Tail(lambda: D.Cauchy(0.0, 1.0), "cdf", lambda x: mpmath.atan2(1, -x) / pi),
        Tail(lambda: D.Cauchy(0.0, 1.0), "icdf", lambda u: -mpmath.cot(pi * u) if u != 0.5 else mpf(0), UNIT),
    ],
    "Laplace": [
        Tail(lambda: D.Laplace(0.0, 1.0), "cdf", lambda x: exp(x) / 2 if x < 0 else 1 - exp(-x) / 2),
        Tail(lambda: D.Laplace(0.0, 1.0), "icdf", lambda u: log(2 * u) if u < 0.5 else -log(2 * (1 - u)), UNIT),
    ],
    "Gumbel": [
        Tail(lambda: D.Gumbel(0.0, 1.0), "log_prob", lambda x: -x - exp(-x) if x > -1e4 else -mpmath.inf),
        Tail(lambda: D.Gumbel(0.0, 1.0), "cdf", lambda x: exp(-exp(-x)) if x > -1e3 else mpf(0)),
        Tail(lambda: D.Gumbel(0.0, 1.0), "icdf", lambda u: -log(-log(u)), UNIT),
    ],
    "LogNormal": [
        Tail(
            lambda: D.LogNormal(0.0, 1.0),
            "log_prob",
            lambda x: -(log(x) ** 2) / 2 - log(2 * pi) / 2 - log(x),
            POSITIVE,
        ),
        Tail(lambda: D.LogNormal(0.0, 1.0), "cdf", lambda x: normal_cdf(log(x)), POSITIVE),
    ],
    "StudentT": [
        Tail(
            lambda: D.StudentT(3.0), "log_prob", lambda x: -2 * log1p(x * x / 3) - log(mpf(3)) / 2 - log_beta(0.5, 1.5)
        )
    ],
    "GeneralizedPareto": [
        Tail(lambda: D.GeneralizedPareto(0.0, 1.0, 0.25), "cdf", lambda x: 1 - (1 + x / 4) ** -4, POSITIVE),
        Tail(lambda: D.GeneralizedPareto(0.0, 1.0, 0.25), "icdf", lambda u: 4 * ((1 - u) ** mpf(-0.25) - 1), UNIT),
    ],
    "Uniform": [
        Tail(lambda: D.Uniform(0.0, 2.0, validate_args=False), "cdf", lambda x: min(max(x / 2, mpf(0)), mpf(1)))
    ],
    "VonMises": [
        Tail(
            lambda: D.VonMises(0.0, 500.0),
            "log_prob",
            lambda x: 500 * mpmath.cos(x) - log(2 * pi * mpmath.besseli(0, 500)),
            (1e-10, 1e-5, 0.1, 3.0),
        )
    ],
    "Exponential": [
        Tail(
            lambda: D.Exponential(2.0, validate_args=False), "cdf", lambda x: -mpmath.expm1(-2 * x) if x > 0 else mpf(0)
        ),
        Tail(lambda: D.Exponential(2.0), "icdf", lambda u: -log1p(-u) / 2, UNIT),
    ],
    "Gamma": [
        Tail(
            lambda: D.Gamma(2.5, 3.0),
            "log_prob",
            lambda x: log(mpf(3)) * 2.5 + 1.5 * log(x) - 3 * x - mpmath.loggamma(2.5),
            POSITIVE,
        ),
        Tail(lambda: D.Gamma(2.5, 3.0, validate_args=False), "cdf", lambda x: gamma_part(2.5, 3 * x, upper=False)),
    ],
    "Beta": [
        Tail(lambda: D.Beta(2.0, 3.0), "log_prob", lambda x: log(x) + 2 * log1p(-x) - log_beta(2, 3), UNIT),
    ],
    "FisherSnedecor": [
        Tail(
            lambda: D.FisherSnedecor(2.0, 4.0, validate_args=False),
            "log_prob",
            lambda x: -3 * log1p(x / 2),
            (0.0, *POSITIVE),
        ),
    ],
    "InverseGamma": [
        Tail(
            lambda: D.InverseGamma(2.5, 3.0),
            "log_prob",
            lambda x: log(mpf(3)) * 2.5 - 3.5 * log(x) - 3 / x - mpmath.loggamma(2.5),
            POSITIVE,
        ),
        Tail(lambda: D.InverseGamma(2.5, 3.0), "cdf", lambda x: gamma_part(2.5, 3 / x, upper=True), POSITIVE[1:]),
    ],
    "HalfNormal": [
        Tail(
            lambda: D.HalfNormal(1.0, validate_args=False),
            "cdf",
            lambda x: mpmath.erf(x / mpmath.sqrt(2)) if x > 0 else mpf(0),
        )
    ],
    "HalfCauchy": [
        Tail(
            lambda: D.HalfCauchy(1.0, validate_args=False),
            "log_prob",
            lambda x: log(2 / pi) - log1p(x * x) if x >= 0 else -mpmath.inf,
        ),
        Tail(
            lambda: D.HalfCauchy(1.0, validate_args=False),
            "cdf",
            lambda x: 2 * mpmath.atan(x) / pi if x > 0 else mpf(0),
        ),
        Tail(lambda: D.HalfCauchy(1.0), "icdf", lambda u: mpmath.tan(pi * u / 2), UNIT),
    ],
    "Pareto": [
        Tail(lambda: D.Pareto(1.0, 3.0), "cdf", lambda x: -mpmath.expm1(-3 * log(x)), (1.0, 1.0000001, 5.0, 1e200)),
        Tail(lambda: D.Pareto(1.0, 3.0), "icdf", lambda u: exp(-log1p(-u) / 3), UNIT),
    ],
    "Weibull": [
        Tail(lambda: D.Weibull(1.0, 2.0), "log_prob", lambda x: log(2) + log(x) - x * x, POSITIVE),
        Tail(lambda: D.Weibull(1.0, 2.0), "cdf", lambda x: -mpmath.expm1(-x * x), POSITIVE),
        Tail(lambda: D.Weibull(1.0, 2.0), "icdf", lambda u: mpmath.sqrt(-log1p(-u)), UNIT),
    ],
    "Kumaraswamy": [
        Tail(lambda: D.Kumaraswamy(2.0, 3.0), "log_prob", lambda x: log(6) + log(x) + 2 * log(1 - x * x), UNIT),
        Tail(lambda: D.Kumaraswamy(2.0, 3.0), "cdf", lambda x: 1 - (1 - x * x) ** 3, UNIT),
        Tail(lambda: D.Kumaraswamy(2.0, 3.0), "icdf", lambda u: mpmath.sqrt(1 - mpmath.cbrt(1 - u)), UNIT),
    ],
    "ContinuousBernoulli": [
        Tail(
            lambda: D.ContinuousBernoulli(number(0.3)),
            "cdf",
            lambda x: (p**x * (1 - p) ** (1 - x) + p - 1) / (2 * p - 1),
            UNIT,
        ),
        Tail(
            lambda: D.ContinuousBernoulli(number(0.3)),
            "icdf",
            lambda u: log1p(u * (2 * p - 1) / (1 - p)) / log(p / (1 - p)),
            UNIT,
        ),
    ],
    "RelaxedBernoulli": [
        Tail(
            lambda: D.RelaxedBernoulli(number(1.0), logits=number(0.0)).base_dist,
            "log_prob",
            lambda x: -abs(x) - 2 * log1p(exp(-abs(x))),
        )
    ],
    "Bernoulli": [
        Tail(lambda: D.Bernoulli(number(0.0)), "log_prob", only(0), (0.0, 1.0)),
        Tail(lambda: D.Bernoulli(number(1.0)), "log_prob", only(1), (0.0, 1.0)),
        Tail(
            lambda: D.Bernoulli(number(1e-300)),
            "log_prob",
            lambda x: log(mpf(1e-300)) if x else -mpf(1e-300),
            (0.0, 1.0),
        ),
        Tail(
            lambda: D.Bernoulli(logits=number(-800.0)),
            "log_prob",
            lambda x: -800 * x - log1p(exp(mpf(-800))),
            (0.0, 1.0),
        ),
    ],
    "Geometric": [
        Tail(lambda: D.Geometric(number(1.0)), "log_prob", only(0), COUNTS),
        Tail(
            lambda: D.Geometric(number(1e-20)), "log_prob", lambda n: n * log1p(-mpf(1e-20)) + log(mpf(1e-20)), COUNTS
        ),
        Tail(lambda: D.Geometric(logits=number(-800.0)), "log_prob", lambda n: -800 - (n + 1) * exp(mpf(-800)), COUNTS),
    ],
    "Binomial": [
        Tail(lambda: D.Binomial(10, number(0.0)), "log_prob", only(0), COUNTS),
        Tail(lambda: D.Binomial(10, number(1.0)), "log_prob", only(10), COUNTS),
        Tail(
            lambda: D.Binomial(10, number(1e-30)),
            "log_prob",
            lambda n: log(mpmath.binomial(10, n)) + n * log(mpf(1e-30)) + (10 - n) * log1p(-mpf(1e-30)),
            COUNTS,
        ),
    ],
    "NegativeBinomial": [
        Tail(lambda: D.NegativeBinomial(3.0, number(0.0)), "log_prob", only(0), COUNTS),
        Tail(
            lambda: D.NegativeBinomial(3.0, number(1e-30)),
            "log_prob",
            lambda n: log(mpmath.binomial(n + 2, n)) + n * log(mpf(1e-30)) + 3 * log1p(-mpf(1e-30)),
            COUNTS,
        ),
    ],
    "Poisson": [
        Tail(lambda: D.Poisson(number(0.0)), "log_prob", only(0), COUNTS),
        Tail(
            lambda: D.Poisson(number(1e-300)),
            "log_prob",
            lambda n: n * log(mpf(1e-300)) - mpf(1e-300) - mpmath.loggamma(n + 1),
            COUNTS,
        ),
    ],
}


def derivative(f: Callable, x: Any) -> Any:
    h = abs(x) * mpf(10) ** -60
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize(
    "tail", [pytest.param(t, id=f"{n}-{i}") for n, row in TAILS.items() for i, t in enumerate(row)]
)
def test_far_tails(tail: Tail) -> None:
    """Values, each to its own size, and where the values are numbers their derivatives, which are finite."""
    with mpmath.workdps(400):
        right = [float(tail.formula(mpf(x))) for x in tail.at]
        slopes = [float(derivative(tail.formula, mpf(x))) if x else 0.0 for x in tail.at]
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        x = torch.tensor(tail.at, requires_grad=True)
        values = getattr(tail.distribution(), tail.method)(x)
    finally:
        torch.set_default_dtype(default)
    for got, wanted in zip(values.tolist(), right, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=5e-13, atol=2e-13 if tail.method == "log_prob" else 0)
    if values.requires_grad and tail.at not in (COUNTS, (0.0, 1.0)):
        (slope,) = torch.autograd.grad(values.sum(), x)
        for at, got, wanted in zip(tail.at, slope.tolist(), slopes, strict=True):
            if at not in (0.0, 0.5, 1.0, 2.0) and math.isfinite(wanted):  # no kink
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 if tail.method == "log_prob" else 1e-300)


@pytest.mark.parametrize("d", [D.Normal(1.0, 2.0), D.HalfNormal(2.0), D.Laplace(0.0, 3.0), D.Gumbel(0.0, 1.0)])
def test_quantiles_are_undone(d: Any) -> None:
    """``cdf(icdf(u))`` is u, also far below the rounding of 1."""
    u = number(0.0) + torch.tensor([1e-30, 1e-12, 0.2, 0.5, 0.9], dtype=torch.float64)
    np.testing.assert_allclose(d.cdf(d.icdf(u)), u, rtol=1e-6)
    assert not d.icdf(torch.tensor([0.0, 1.0])).isnan().any()


def test_nothing_has_probability_zero() -> None:
    """Categories without weight: minus infinity, an entropy that leaves them out, and gradients that are finite."""
    weights = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    d = D.Categorical(weights)
    assert d.log_prob(torch.tensor(0)).item() == -inf
    assert D.OneHotCategorical(weights).log_prob(torch.tensor([1.0, 0.0, 0.0])).item() == -inf
    assert D.Multinomial(2, weights).log_prob(torch.tensor([0.0, 2.0, 0.0])).item() == pytest.approx(2 * math.log(0.25))
    assert d.entropy().item() == pytest.approx(-0.25 * math.log(0.25) - 0.75 * math.log(0.75))
    for value in (d.entropy(), d.log_prob(torch.tensor(1))):
        assert torch.autograd.grad(value, weights, retain_graph=True)[0].isfinite().all()
    for rigged in (
        D.Bernoulli(number(0.0)),
        D.Bernoulli(logits=number(-inf), validate_args=False),
        D.Binomial(5, number(1.0)),
    ):
        assert rigged.entropy().item() == 0


@pytest.mark.parametrize("name, order", [("i0", 0), ("i1", 1)])
def test_modified_bessel_functions_to_the_last_number(name: str, order: int) -> None:
    """scipy's overflow at 710, the functions at 714."""
    x = torch.tensor([-712.0, 709.0, 713.0, 713.98, 715.0, inf], dtype=torch.float64, requires_grad=True)
    y = getattr(special, name)(x)
    right = [float(mpmath.besseli(order, v)) for v in x[:4].tolist()]
    np.testing.assert_allclose(y.tolist(), [*right, inf, inf], rtol=1e-12)
    (slope,) = torch.autograd.grad(y.sum(), x)
    right = [float(mpmath.re(mpmath.besseli(order, v, 1))) for v in x[:4].tolist()]
    np.testing.assert_allclose(slope.tolist(), [*right, inf, inf], rtol=1e-12)


def test_gamma_of_subnormal_numbers() -> None:
    x = torch.tensor([5e-324, -1e-310, 0.0], dtype=torch.float64)
    np.testing.assert_allclose(torch.lgamma(x), [-math.log(5e-324), -math.log(1e-310), inf], rtol=1e-14)


@pytest.mark.parametrize(
    "p, q, divergence",
    [
        (D.Bernoulli(logits=number(0.0)), D.Bernoulli(logits=number(20.0)), 9.306852821501208),
        (D.Bernoulli(logits=number(-40.0)), D.Bernoulli(logits=number(40.0)), 40),
        (D.Bernoulli(number(0.5)), D.Bernoulli(number(1e-30)), -math.log(1e-30) / 2 - math.log(2)),
        (D.Binomial(1, logits=number(0.0)), D.Binomial(1, logits=number(40.0)), 20 - math.log(2)),
        (D.Geometric(logits=number(0.0)), D.Geometric(logits=number(40.0)), 40 - 2 * math.log(2)),
        (D.Categorical(logits=torch.zeros(2)), D.Categorical(logits=torch.tensor([0.0, -200.0])), 100 - math.log(2)),
        (D.Poisson(number(0.0)), D.Poisson(number(2.0)), 2),
    ],
)
def test_divergences_far_out_are_finite(p: Any, q: Any, divergence: float) -> None:
    assert D.kl_divergence(p, q).item() == pytest.approx(divergence, rel=1e-6)


@pytest.mark.parametrize("logits", [-1000.0, -40.0, -20.0, -0.5, 0.5, 20.0, 40.0, 1000.0])
def test_continuous_bernoulli_of_large_logits(logits: float) -> None:
    d, t, x = D.ContinuousBernoulli(logits=number(logits)), mpf(logits), mpf(0.25)
    with mpmath.workdps(900):
        right = {
            "log_prob": t * x + log(t / mpmath.expm1(t)),
            "cdf": mpmath.expm1(t * x) / mpmath.expm1(t),
            "icdf": log1p(x * mpmath.expm1(t)) / t,
        }
        mean, variance = -1 / mpmath.expm1(-t) - 1 / t, 1 / t**2 - exp(-t) / mpmath.expm1(-t) ** 2
    for name, value in right.items():
        assert getattr(d, name)(number(0.25)).item() == pytest.approx(float(value), rel=1e-12), name
    assert d.mean.item() == pytest.approx(float(mean), rel=1e-12)
    assert d.variance.item() == pytest.approx(float(variance), rel=1e-11)
    assert d.icdf(number(1.0)).item() == 1 and d.icdf(number(0.0)).item() == 0
    with mpmath.workdps(900):
        assert d.entropy().item() == pytest.approx(float(-t * mean - log(t / mpmath.expm1(t))), rel=1e-11)


MIRROR = D.AffineTransform(0.0, -1.0)


@pytest.mark.parametrize(
    "base, value, probability",
    [
        (D.Normal(number(0.0), 1.0), -20.0, normal_cdf(-20)),
        (D.Cauchy(number(0.0), 1.0), -1e20, 1e-20 / pi),
        (D.Laplace(number(0.0), 1.0), -100.0, exp(-100) / 2),
        (D.Exponential(number(1.0)), -100.0, exp(-100)),
        (D.Gamma(number(2.0), 1.0), -100.0, 101 * exp(-100)),
        (D.Uniform(number(0.0), 1.0), -0.75, 0.25),
        (D.GeneralizedPareto(number(0.0), 1.0, 0.5), -1e20, mpf(1) / (1 + mpf(1e20) / 2) ** 2),
        (D.Gumbel(number(0.0), 1.0), -100.0, exp(-100)),
        (D.HalfNormal(number(1.0)), -20.0, 2 * normal_cdf(-20)),
        (D.HalfCauchy(number(1.0)), -1e20, 2e-20 / pi),
        (D.Weibull(number(1.0), 1.5), -25.0, exp(-125)),
        (D.Pareto(number(1.0), 3.0), -1e8, mpf(10) ** -24),
        (D.LogNormal(number(0.0), 1.0), -float(exp(10)), normal_cdf(-10)),
        (D.InverseGamma(number(2.0), 1.0), -1e12, mpf(10) ** -24 / 2),
        (D.Kumaraswamy(number(2.0), 3.0), -0.75, (1 - mpf(0.75) ** 2) ** 3),
        (D.TransformedDistribution(D.Normal(number(0.0), 1.0), [D.AffineTransform(1.0, 2.0)]), -41.0, normal_cdf(-20)),
    ],
)
@pytest.mark.parametrize("scale", [-1.0, number(-1.0), torch.tensor([-1.0, 1.0], dtype=torch.float64)])
def test_tails_of_what_is_turned_round(base: Any, value: float, probability: Any, scale: Any) -> None:
    turned = D.TransformedDistribution(base, [D.AffineTransform(0.0, scale)], validate_args=False)
    x = number(value) if not isinstance(scale, torch.Tensor) or scale.ndim == 0 else number(value) * -scale
    assert turned.cdf(x).flatten()[0].item() == pytest.approx(float(probability), rel=1e-11)
    if not isinstance(base, (D.Gamma, D.InverseGamma)):
        assert turned.icdf(turned.cdf(x)).flatten()[0].item() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    "d, values, right",
    [
        (D.Pareto(number(1.0), 2.0, validate_args=False), [-1.0, 0.0, 0.5, 2.0], [0, 0, 0, 0.75]),
        (D.LogNormal(number(0.0), 1.0, validate_args=False), [-1.0, 0.0, 1.0], [0, 0, 0.5]),
        (D.GeneralizedPareto(number(1.0), 1.0, 0.5, validate_args=False), [-9.0, 1.0, 3.0], [0, 0, 0.75]),
        (D.GeneralizedPareto(number(1.0), 1.0, -0.5, validate_args=False), [-9.0, 2.0, 30.0], [0, 0.75, 1]),
        (
            D.TransformedDistribution(D.Normal(number(0.0), 1.0), [D.ExpTransform(), MIRROR], validate_args=False),
            [-1.0, 0.0, 1.0],
            [0.5, 1, 1],
        ),
        (
            D.TransformedDistribution(D.Normal(number(0.0), 1.0), [D.TanhTransform()], validate_args=False),
            [-2.0, -1.0, 0.0, 1.0, 3.0],
            [0, 0, 0.5, 1, 1],
        ),
    ],
)
def test_cumulative_functions_outside_of_the_support(d: Any, values: list[float], right: list[float]) -> None:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    p = d.cdf(x)
    np.testing.assert_allclose(p.detach(), right, rtol=1e-12)
    (g,) = torch.autograd.grad(p.sum(), x)
    assert g.isfinite().all()
