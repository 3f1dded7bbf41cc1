"""Univariate location-scale families, the uniform distribution, and von Mises on the circle."""

from __future__ import annotations

import math
from typing import Any

from ..base.dtypes import finfo, float64
from ..base.shape import Size
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..ops.bessel import i0e, i1e
from ..ops.compare import isclose
from ..ops.create import full, ones_like, zeros_like
from ..ops.pointwise import exp, expm1, log, log1p
from ..ops.random import normal, rand
from ..ops.special import ndtr, ndtri
from ..ops.trigonometry import atan2, cos, sin, tan
from ..ops.where import where
from . import constraints
from .distribution import Distribution, ExponentialFamily, validates_sample
from .parameters import holds, lazy_property, standard_normal

__all__ = ["Cauchy", "GeneralizedPareto", "Laplace", "LocationScale", "Normal", "Uniform", "VonMises"]


class LocationScale(Distribution):
    """``loc + scale * z``. Subclasses define ``_draw _log_density _cdf _quantile _entropy`` of the standard ``z``."""

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    def _standardized(self, value: Any) -> Any:
        return (value - self.loc) / self.scale

    def _draw(self, shape: Size) -> Tensor:
        raise NotImplementedError

    def _log_density(self, z: Any) -> Any:
        raise NotImplementedError

    def _cdf(self, z: Any) -> Any:
        raise NotImplementedError

    def _quantile(self, p: Any) -> Any:
        raise NotImplementedError

    def _entropy(self) -> Any:
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self._draw(self._extended_shape(sample_shape)) * self.scale

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return self._log_density(self._standardized(value)) - self.scale.log()

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return self._cdf(self._standardized(value))

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * self._quantile(value)

    def _upper(self, value: Any) -> Tensor:
        return self._cdf(-self._standardized(value))  # of the standard numbers those that are symmetric about 0

    def _upper_quantile(self, p: Any) -> Tensor:
        return self.loc - self.scale * self._quantile(p)

    def entropy(self) -> Tensor:
        return self._entropy() + self.scale.log()


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution, by mean and standard deviation.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0); torch.distributions.Normal(0.0, 1.0).sample((3,))
    tensor([ 1.5410, -0.2934, -2.1788])
    """

    _mean_carrier_measure = 0.0

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def _draw(self, shape: Size) -> Tensor:
        return standard_normal(shape, self.loc)

    def _log_density(self, z: Any) -> Any:
        return -0.5 * (z * z) - 0.5 * math.log(2 * math.pi)

    _cdf = staticmethod(ndtr)
    _quantile = staticmethod(ndtri)

    def _entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * log(-math.pi / y)


def log1p_square(z: Any) -> Any:
    """``log(1 + z ** 2)``, without overflow."""
    near = z.abs() <= 1
    far = where(near, 1, z)
    return where(near, log1p(where(near, z, 0).square()), 2 * log(far.abs()) + log1p(far.square().reciprocal()))


class Cauchy(LocationScale):
    """The Cauchy distribution, by median and half width at half maximum. It has no mean.

    >>> import pullback as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        return full(self._extended_shape(), math.inf, dtype=self.loc.dtype)

    def _draw(self, shape: Size) -> Tensor:
        return self.loc.new_empty(shape).cauchy_()

    def _log_density(self, z: Any) -> Any:
        return -math.log(math.pi) - log1p_square(z)

    def _cdf(self, z: Any) -> Any:
        return atan2(ones_like(z), -z) / math.pi

    def _quantile(self, p: Any) -> Any:
        tail = where(p < 0.5, -1 / tan(math.pi * p), 1 / tan(math.pi * (1 - p)))
        return where((p - 0.5).abs() < 0.25, tan(math.pi * (p - 0.5)), tail)

    def _entropy(self) -> Any:
        return math.log(4 * math.pi)


class Laplace(LocationScale):
    """The Laplace distribution: exponential on both sides of ``loc``.

    >>> import pullback as torch
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor([-1.0, 0.0]))
    tensor([-1.6931, -0.6931])
    """

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def _draw(self, shape: Size) -> Tensor:
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return -u.sign() * log1p(-u.abs())

    def _log_density(self, z: Any) -> Any:
        return -math.log(2) - z.abs()

    def _cdf(self, z: Any) -> Any:
        return where(z < 0, 0.5 * exp(z.clamp(max=0)), 1 - 0.5 * exp(-z.clamp(min=0)))

    def _quantile(self, p: Any) -> Any:
        return where(p < 0.5, log(2 * p), -log(2 - 2 * p))

    def _entropy(self) -> Any:
        return 1 + math.log(2)


class GeneralizedPareto(LocationScale):
    """The generalized Pareto distribution of excesses over ``loc`` (Pickands, *Ann. Stat.* 3, 1975).

    ``concentration`` is the shape: 0 gives the exponential distribution, below 0 the support is bounded above, and
    moments exist below 1, 1/2, ...

    >>> import pullback as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).cdf(torch.tensor(1.0))
    tensor(0.6321)
    """

    arg_constraints = {**LocationScale.arg_constraints, "concentration": constraints.real}
    concentration: Tensor

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, math.inf))

    @property
    def _is_exponential(self) -> Tensor:
        return isclose(self.concentration, zeros_like(self.concentration))

    @property
    def _shape(self) -> Tensor:
        """The concentration, and 1 where it is 0 and the limit is taken instead."""
        return where(self._is_exponential, 1.0, self.concentration)

    def _draw(self, shape: Size) -> Tensor:
        return self._quantile(rand(shape, dtype=self.loc.dtype))

    def _log_density(self, z: Any) -> Any:
        power = 1 / self._shape + ones_like(z)
        return -where(self._is_exponential, z, where(power == 0, power, power * log1p(self._shape * z)))

    def _log_survival(self, z: Any) -> Any:
        z = z.clamp(min=0)
        return where(self._is_exponential, -z, -log1p((self._shape * z).clamp(min=-1)) / self._shape)

    @validates_sample
    def log_survival_function(self, value: Any) -> Tensor:
        """Logarithm of the probability of a sample above a value."""
        return self._log_survival(self._standardized(value))

    def log_cdf(self, value: Any) -> Tensor:
        """Logarithm of :meth:`cdf`."""
        return log1p(-exp(self.log_survival_function(value)))

    def _cdf(self, z: Any) -> Any:
        return -expm1(self._log_survival(z))

    def _upper(self, value: Any) -> Tensor:
        return exp(self._log_survival(self._standardized(value)))

    def _quantile(self, p: Any) -> Any:
        return self._inverse_log_survival(log1p(-p))

    def _upper_quantile(self, p: Any) -> Tensor:
        return self.loc + self.scale * self._inverse_log_survival(log(p))

    def _inverse_log_survival(self, log_above: Any) -> Any:
        """The standard number above which the probability has this logarithm."""
        return where(self._is_exponential, -log_above, expm1(-self._shape * log_above) / self._shape)

    def _entropy(self) -> Any:
        return self.concentration + 1

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        return where(exists, self.loc + self.scale / (1 - where(exists, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        shape = where(exists, self.concentration, 0.25)
        return where(exists, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)


class Uniform(Distribution):
    """The uniform distribution between two numbers. Its density at ``low`` counts as inside, that at ``high`` as
    outside.

    >>> import pullback as torch
    >>> torch.distributions.Uniform(0.0, 2.0).log_prob(torch.tensor(1.0))
    tensor(-0.6931)
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Tensor:
        return self.high - self.low

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return self._width / 12**0.5

    @property
    def variance(self) -> Tensor:
        return self._width.pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + rand(self._extended_shape(sample_shape), dtype=self.low.dtype) * self._width

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        inside = self.low.le(value) & self.high.gt(value)
        return log(inside.type_as(self.low)) - log(self._width)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return ((value - self.low) / self._width).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        return value * self._width + self.low

    def _upper(self, value: Any) -> Tensor:
        return ((self.high - value) / self._width).clamp(min=0, max=1)

    def _upper_quantile(self, p: Any) -> Tensor:
        return self.high - p * self._width

    def entropy(self) -> Tensor:
        return log(self._width)


class VonMises(Distribution):
    """Von Mises' distribution of angles in radians, by their mean and how concentrated they are about it.

    ``variance`` is the circular one, ``1 - I1(concentration) / I0(concentration)``.

    >>> import pullback as torch
    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor([0.0, torch.pi]))
    tensor([-1.0738, -3.0738])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        # I0 = i0e * exp(concentration): taken out of the cosine, where it would overflow
        height = -2 * sin((value - self.loc) / 2).square()  # cos(value - loc) - 1
        return self.concentration * height - math.log(2 * math.pi) - i0e(self.concentration).log()

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))  # by its series where it cancels

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best & Fisher, *J. R. Stat. Soc.* C 28, 1979)."""
        r, kappa = self._proposal_r, self.concentration.to(float64)
        x = full(self._extended_shape(sample_shape), 0.0, dtype=float64)
        done = x != x
        while not holds(done):
            u1, u2, u3 = rand((3, *x.shape), dtype=float64).unbind()
            z = cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        return 1 - i1e(self.concentration) / i0e(self.concentration)
