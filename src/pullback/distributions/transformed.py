"""Distributions defined as a ``TransformedDistribution`` of another, with their moments stated.

Where a parameter is that of the distribution they are made from, it is read from there.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from ..base.dtypes import finfo
from ..core.tensor import Tensor
from ..ops.create import as_tensor, full, full_like, ones_like, zeros_like
from ..ops.loss import weighted
from ..ops.pointwise import exp, expm1, log, log1p
from ..ops.special import digamma, erf, erfc, erfinv, igamma, igammac, lgamma, ndtri, xlogy
from ..ops.trigonometry import atan, tan
from ..ops.where import where
from . import constraints
from .distribution import validates_sample
from .gamma_family import Exponential, Gamma
from .location_scale import Cauchy, Normal, Uniform
from .parameters import broadcast_all, euler_constant
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform, StickBreakingTransform
from .wrappers import TransformedDistribution

__all__ = [
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "Kumaraswamy",
    "LogNormal",
    "LogisticNormal",
    "Pareto",
    "Weibull",
]


class LogNormal(TransformedDistribution):
    """The exponential of a normal number, by the mean and standard deviation of that.

    >>> import pullback as torch
    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = property(attrgetter("base_dist.loc"))
    scale = property(attrgetter("base_dist.scale"))

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Vectors that sum to 1, of one element more than the normal one they are made from, by breaking a stick.

    >>> import pullback as torch
    >>> torch.distributions.LogisticNormal(torch.zeros(3), torch.ones(3)).sample().shape
    torch.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(
            base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args
        )

    loc = property(attrgetter("base_dist.base_dist.loc"))
    scale = property(attrgetter("base_dist.base_dist.scale"))


class _Half(TransformedDistribution):
    """The absolute value of a number that is distributed symmetrically about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale = property(attrgetter("base_dist.scale"))

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.scale.dtype)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal number of mean 0.

    >>> import pullback as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return erf(value.clamp(min=0) / (self.scale * math.sqrt(2)))

    def _upper(self, value: Any) -> Tensor:
        return erfc(value.clamp(min=0) / (self.scale * math.sqrt(2)))

    def _upper_quantile(self, p: Any) -> Tensor:
        return -ndtri(p / 2) * self.scale

    def icdf(self, value: Any) -> Tensor:
        return where(value < 0.5, math.sqrt(2) * erfinv(value), -ndtri((1 - value) / 2)) * self.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of a Cauchy number of median 0. Its mean is infinite.

    >>> import pullback as torch
    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return atan(value.clamp(min=0) / self.scale) * (2 / math.pi)

    def _upper(self, value: Any) -> Tensor:
        return atan(self.scale / value.clamp(min=0)) * (2 / math.pi)

    def _upper_quantile(self, p: Any) -> Tensor:
        half = math.pi / 2
        return where(p < 0.5, 1 / tan(half * p), tan(half * (1 - p))) * self.scale

    def icdf(self, value: Any) -> Tensor:
        half = math.pi / 2
        return where(value < 0.5, tan(half * value), 1 / tan(half * (1 - value))) * self.scale

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance


class InverseGamma(TransformedDistribution):
    """One over a gamma number, by the concentration and rate of that.

    >>> import pullback as torch
    >>> torch.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(attrgetter("base_dist.concentration"))
    rate = property(attrgetter("base_dist.rate"))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) - (a + 1) * log(value) - rate / value - lgamma(a)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return igammac(self.concentration, self.rate / value.clamp(min=0))

    def _upper(self, value: Any) -> Tensor:
        return igamma(self.concentration, self.rate / value.clamp(min=0))

    @property
    def mean(self) -> Tensor:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + lgamma(a) - (1 + a) * digamma(a)


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of a maximum: ``loc - scale * log(-log(u))`` of a uniform ``u``.

    >>> import pullback as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)  # u is kept off 0 and 1
        base = Uniform(
            full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps), validate_args=validate_args
        )
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc, -self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        y = (self.loc - value) / self.scale
        return y.clamp(max=finfo(y.dtype).max) - y.exp() - self.scale.log()  # -inf, not NaN, at -inf

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        y = (self.loc - value) / self.scale
        return exp(-exp(y.clamp(max=math.log(finfo(y.dtype).max) - 1)))  # 0, with a derivative of 0, from there on

    def _upper(self, value: Any) -> Tensor:
        y = (self.loc - value) / self.scale
        return -expm1(-exp(y.clamp(max=math.log(finfo(y.dtype).max) - 1)))

    def icdf(self, value: Any) -> Tensor:
        return self.loc - self.scale * log(-log(value))

    def _upper_quantile(self, p: Any) -> Tensor:
        return self.loc - self.scale * log(-log1p(-p))

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


class Pareto(TransformedDistribution):
    """The Pareto distribution of numbers above ``scale``, with a density that falls as ``x ** -(alpha + 1)``.

    >>> import pullback as torch
    >>> torch.distributions.Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The Weibull distribution: ``scale * e ** (1 / concentration)`` of an exponential ``e``.

    >>> import pullback as torch
    >>> torch.distributions.Weibull(1.0, 2.0).mean
    tensor(0.8862)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        z, k = value / self.scale, self.concentration
        return xlogy(k - 1, z) - z**k + log(k / self.scale)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return -expm1(-((value / self.scale).clamp(min=0) ** self.concentration))

    def _upper(self, value: Any) -> Tensor:
        return exp(-((value / self.scale).clamp(min=0) ** self.concentration))

    @property
    def concentration_reciprocal(self) -> Tensor:
        """``1 / concentration``."""
        return self.concentration.reciprocal()

    def _gamma(self, n: int) -> Tensor:
        """The ``n``-th moment, for a scale of 1."""
        return exp(lgamma(1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        return self.scale * self._gamma(1)

    @property
    def mode(self) -> Tensor:
        return self.scale * (1 - self.concentration_reciprocal).clamp(min=0) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._gamma(2) - self._gamma(1).pow(2))

    def entropy(self) -> Tensor:
        k = self.concentration_reciprocal
        return euler_constant * (1 - k) + log(self.scale * k) + 1


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution on [0, 1]: like the beta distribution, but its quantiles are elementary.

    (*J. Hydrology* 46, 1980.) ``(1 - (1 - u) ** (1 / concentration0)) ** (1 / concentration1)`` of a uniform ``u``.

    >>> import pullback as torch
    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(zeros_like(self.concentration0), ones_like(self.concentration0), validate_args=validate_args)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _log_above(self, value: Any) -> Tensor:
        """``log(1 - value ** concentration1)``."""
        low, a = value < 0.5, self.concentration1
        return where(low, log1p(-(where(low, value, 0) ** a)), log(-expm1(a * log(where(low, 0.5, value)))))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return log(a) + log(b) + xlogy(a - 1, value) + weighted(self._log_above(value), b - 1)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return -expm1(self.concentration0 * self._log_above(value.clamp(min=0, max=1)))

    def _upper(self, value: Any) -> Tensor:
        return exp(self.concentration0 * self._log_above(value.clamp(min=0, max=1)))

    def icdf(self, value: Any) -> Tensor:
        return (-expm1(log1p(-value) / self.concentration0)) ** self.concentration1.reciprocal()

    def _upper_quantile(self, p: Any) -> Tensor:
        return (-expm1(log(p) / self.concentration0)) ** self.concentration1.reciprocal()

    def _moment(self, n: int) -> Tensor:
        power, b = 1 + n / self.concentration1, self.concentration0
        return b * exp(lgamma(power) + lgamma(b) - lgamma(power + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """NaN where the density is infinite at an end."""
        a, b = self.concentration1, self.concentration0
        return where((b < 1) | (a < 1), math.nan, ((a - 1) / (a * b - 1)) ** a.reciprocal())

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - log(a) - log(b)
