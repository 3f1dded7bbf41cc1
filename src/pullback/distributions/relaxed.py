"""Continuous relaxations of Bernoulli and categorical (Concrete, Gumbel-softmax), whose samples have gradients."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from ..core.tensor import Tensor
from ..ops.activation import logsigmoid, relu
from ..ops.loss import binary_cross_entropy_with_logits
from ..ops.pointwise import exp, expm1, log, log1p, logaddexp
from ..ops.random import rand
from ..ops.reduce import logsumexp
from ..ops.trigonometry import tanh
from ..ops.where import where
from . import constraints
from .discrete import CategoricalVector, Trials, given_parameter
from .distribution import ExponentialFamily, validates_sample
from .parameters import broadcast_all, clamp_probs, holds, lazy_property, logits_to_probs
from .transforms import ExpTransform, SigmoidTransform
from .wrappers import TransformedDistribution

__all__ = [
    "ContinuousBernoulli",
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]


class ContinuousBernoulli(Trials, ExponentialFamily):
    """On [0, 1], with a density proportional to ``probs ** x * (1 - probs) ** (1 - x)``.

    (Loaiza-Ganem & Cunningham, *NeurIPS* 2019.) ``probs`` is not the mean. Where it is within ``lims``, about 1/2,
    formulas that are 0 / 0 at 1/2 are replaced by their Taylor series.

    >>> import pullback as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.25, 0.5])).mean
    tensor([0.4102, 0.5000])
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given = given_parameter(probs, logits)
        if logits is None:
            (probs,) = broadcast_all(probs)
            if validate_args is not None and not holds(self.arg_constraints["probs"].check(probs)):
                raise ValueError("The parameter probs has invalid values")
            given = {"probs": clamp_probs(probs)}
        self._lims = lims
        self._take(validate_args, **given)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _split(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where the formulas hold; the log odds there (elsewhere a value they hold for), and their absolute value."""
        outside = self._outside_unstable_region()
        odds = where(outside, self.logits, math.log(self._lims[0]) - math.log1p(-self._lims[0]))
        return outside, odds, odds.abs()

    def _cont_bern_log_norm(self) -> Tensor:
        outside, _, size = self._split()
        x = (self.probs - 0.5) ** 2
        return where(outside, log(size) - log(tanh(size / 2)), math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        outside, odds, _ = self._split()
        x = self.probs - 0.5
        return where(outside, -1 / expm1(-odds) - 1 / odds, 0.5 + (1 / 3 + 16 / 45 * x * x) * x)

    @property
    def variance(self) -> Tensor:
        outside, _, size = self._split()
        x = (self.probs - 0.5) ** 2
        return where(outside, 1 / size**2 - exp(-size) / expm1(-size) ** 2, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    @validates_sample
    def cdf(self, value: Any) -> Tensor:
        outside, odds, size = self._split()
        left = exp(where(odds > 0, size * (value - 1), 0.0)) * expm1(-size * value) / expm1(-size)
        inside = where(outside, left, value)
        return where(value <= 0, 0.0, where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Tensor:
        outside, odds, size = self._split()
        near = log1p(value * expm1(odds.clamp(-1, 1)))
        far = logaddexp(log1p(-value), log(value) + odds)  # the same: exp(odds) may be infinite, or lost beside 1
        return where(outside, where(size < 1, near, far) / odds, value)

    def entropy(self) -> Tensor:
        return -self.mean * self.logits - self._cont_bern_log_norm() - logsigmoid(-self.logits)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Tensor:  # type: ignore[override]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = where(outside, x, self._lims[0] - 0.5)
        return where(
            outside, relu(safe) + log(-expm1(-safe.abs())) - log(safe.abs()), 0.5 * x + x**2 / 24 - x**4 / 2880
        )


class LogitRelaxedBernoulli(Trials):
    """The log odds of :class:`RelaxedBernoulli`: a logistic distribution (Maddison, Mnih & Teh, *ICLR* 2017)."""

    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._take(validate_args, **given_parameter(probs, logits))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value * self.temperature
        return _log_temperature(self.temperature) + logsigmoid(diff) + logsigmoid(-diff)


def _log_temperature(temperature: Any) -> Any:
    return temperature.log() if isinstance(temperature, Tensor) else math.log(temperature)


class RelaxedBernoulli(TransformedDistribution):
    """A relaxed Bernoulli variable in (0, 1); the lower the temperature, the closer to 0 or 1 (Maddison, Mnih & Teh;
    Jang, Gu & Poole, *ICLR* 2017).

    >>> import pullback as torch
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor([0.1, 0.9])).rsample().shape
    torch.Size([2])
    """

    arg_constraints: Any = Trials.arg_constraints
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    temperature = property(attrgetter("base_dist.temperature"))
    logits = property(attrgetter("base_dist.logits"))
    probs = property(attrgetter("base_dist.probs"))


class ExpRelaxedCategorical(CategoricalVector):
    """The logarithm of :class:`RelaxedOneHotCategorical`."""

    support = constraints.real_vector  # the samples' exponentials sum to 1, which is not checked
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._divide(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = clamp_probs(rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - logsumexp(scores, -1, keepdim=True)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - logsumexp(score, -1, keepdim=True)).sum(-1)
        return score + math.lgamma(k) + (k - 1) * _log_temperature(self.temperature)


class RelaxedOneHotCategorical(TransformedDistribution):
    """A relaxed one-hot vector: a point of the simplex, near a corner at low temperature (the "Gumbel softmax").

    >>> import pullback as torch
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.2, 0.8])).rsample().shape
    torch.Size([2])
    """

    arg_constraints: Any = CategoricalVector.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
            ExpTransform(),
            validate_args=validate_args,
        )

    temperature = property(attrgetter("base_dist.temperature"))
    logits = property(attrgetter("base_dist.logits"))
    probs = property(attrgetter("base_dist.probs"))
