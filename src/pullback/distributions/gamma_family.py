"""Gamma and what is made of it: exponential, chi squared, beta, Dirichlet, F and Student's t.

Their samples have gradients by implicit reparameterisation: see :mod:`pullback.ops.gamma_dirichlet`.
"""

from __future__ import annotations

import math
from typing import Any, Self

from ..base.dtypes import finfo
from ..core.tensor import Tensor
from ..ops.concat import stack
from ..ops.create import as_tensor, zeros_like
from ..ops.gamma_dirichlet import _sample_dirichlet, _standard_gamma
from ..ops.pointwise import exp, log, log1p
from ..ops.special import digamma, igamma, igammac, lgamma, xlog1py, xlogy
from ..ops.where import where
from . import constraints
from .distribution import Distribution, ExponentialFamily, validates_sample
from .location_scale import LocationScale, log1p_square
from .parameters import broadcast_all, standard_normal

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "StudentT"]


class Exponential(ExponentialFamily):
    """The exponential distribution, by its rate: the inverse of its mean.

    >>> import pullback as torch
    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor
    _mean_carrier_measure = 0.0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return self.rate.log() - self.rate * value

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return -(-self.rate * value.clamp(min=0)).expm1()

    def icdf(self, value: Any) -> Tensor:
        return -log1p(-value) / self.rate

    def _upper(self, value: Any) -> Tensor:
        return exp(-self.rate * value.clamp(min=0))

    def _upper_quantile(self, p: Any) -> Tensor:
        return -log(p) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Tensor:  # type: ignore[override]
        return -log(-x)


class Gamma(ExponentialFamily):
    """The gamma distribution, by concentration (shape) and rate (inverse scale).

    >>> import pullback as torch
    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor
    _mean_carrier_measure = 0.0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # off 0, where the density may be infinite; gradients flow on
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, value) - rate * value - lgamma(a)

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        return igamma(self.concentration, self.rate * value.clamp(min=0))

    def _upper(self, value: Any) -> Tensor:
        return igammac(self.concentration, self.rate * value.clamp(min=0))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - log(self.rate) + lgamma(a) + (1.0 - a) * digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:  # type: ignore[override]
        return lgamma(x + 1) + (x + 1) * log(-y.reciprocal())


class Chi2(Gamma):
    """The chi squared distribution of the sum of ``df`` squared normal numbers.

    >>> import pullback as torch
    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(Chi2, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors that sum to 1.

    Args:
        concentration: ``(*batch, n)``.

    >>> import pullback as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        Distribution.__init__(self, concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return xlogy(self.concentration - 1.0, value).sum(-1) - self._log_normalizer(self.concentration)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """On the first corner, if the density is infinite on all of them."""
        above = (self.concentration - 1).clamp(min=0.0)
        corner = zeros_like(above)
        corner[..., 0] = 1
        return where((self.concentration < 1).all(-1, True), corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a = self.concentration
        total = a.sum(-1)
        return self._log_normalizer(a) - (a.size(-1) - total) * digamma(total) - ((a - 1.0) * digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    """The beta distribution of numbers in [0, 1]: one part of two that are Dirichlet.

    >>> import pullback as torch
    >>> torch.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._dirichlet = Dirichlet(
            stack(broadcast_all(concentration1, concentration0), -1), validate_args=validate_args
        )
        Distribution.__init__(self, self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return xlogy(a - 1, value) + xlog1py(b - 1, -value) - self._log_normalizer(a, b)

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Tensor:  # type: ignore[override]
        return lgamma(x) + lgamma(y) - lgamma(x + y)


class FisherSnedecor(Distribution):
    """The F distribution: of two chi squared numbers, each over its degrees of freedom, the ratio.

    >>> import pullback as torch
    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        df1, df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(df1 * 0.5, df1), Gamma(df2 * 0.5, df2)
        self._take(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        df2 = where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x1, x2 = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        return (x1 / x2).clamp(min=finfo(x2.dtype).tiny)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_beta = half1.lgamma() + half2.lgamma() - (half1 + half2).lgamma()
        return half1 * ratio.log() + xlogy(half1 - 1, value) - (half1 + half2) * log1p(ratio * value) - log_beta


class StudentT(LocationScale):
    """Student's t distribution of ``df`` degrees of freedom, moved and stretched.

    >>> import pullback as torch
    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, **LocationScale.arg_constraints}
    df: Tensor

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        df, loc, scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(df)
        self._take(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        df = where(self.df > 2, self.df, math.inf)
        finite = self.scale.pow(2) * (1 + 2 / (df - 2))
        return where(self.df > 2, finite, where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (x * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    @property
    def _log_beta(self) -> Tensor:
        return lgamma(0.5 * self.df) + 0.5 * math.log(math.pi) - lgamma(0.5 * (self.df + 1.0))

    def _log_density(self, z: Any) -> Any:
        return -0.5 * (self.df + 1.0) * log1p_square(z / self.df.sqrt()) - 0.5 * self.df.log() - self._log_beta

    def _entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        return half * (digamma(half) - digamma(0.5 * self.df)) + 0.5 * self.df.log() + self._log_beta
