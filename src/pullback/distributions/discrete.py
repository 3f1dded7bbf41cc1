"""Discrete distributions: Bernoulli, binomial, categorical, geometric, multinomial, negative binomial, Poisson."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from ..base.dtypes import finfo
from ..base.shape import Size
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..ops.activation import logsigmoid, softplus
from ..ops.create import full, ones_like, zeros_like
from ..ops.embedding import one_hot
from ..ops.loss import weighted
from ..ops.pointwise import exp, log, log1p
from ..ops.random import bernoulli, binomial, multinomial, poisson
from ..ops.ranges import arange, eye
from ..ops.special import lgamma, xlog1py, xlogy
from ..ops.view import broadcast_tensors
from ..ops.where import where
from . import constraints
from .distribution import Distribution, ExponentialFamily, validates_sample
from .gamma_family import Gamma
from .parameters import broadcast_all, holds, lazy_property, logits_to_probs, probs_to_logits

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "Trials",
]


def given_parameter(probs: Any, logits: Any) -> dict[str, Any]:
    """The one of the two parameters that was given, by its name."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return {"probs": probs} if logits is None else {"logits": logits}


class ProbsOrLogits(Distribution):
    """Parametrized by ``probs`` or by ``logits``: the other one is computed lazily."""

    probs: Tensor
    logits: Tensor

    _by_probs: bool  # which of the two was given

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        self._by_probs = "probs" in parameters
        super()._take(validate_args, **parameters)

    @property
    def _param(self) -> Tensor:
        """The parameter that was given."""
        return self.probs if self._by_probs else self.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class Trials(ProbsOrLogits):
    """Of the probability that something happens; ``logits`` are its log odds."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    def _failure(self) -> Any:
        """The probability that it does not happen, without the rounding of ``1 - probs`` where logits are given."""
        return 1 - self.probs if self._by_probs else (-self.logits).sigmoid()

    def _log_chances(self, hits: Any, misses: Any) -> tuple[Tensor, Tensor]:
        """``log(probs)`` and ``log(1 - probs)``, right in both tails; 0 where their weight will be."""
        if self._by_probs:
            return log(where(hits == 0, 1.0, self.probs)), log1p(where(misses == 0, 0.0, -self.probs))
        return logsigmoid(self.logits), logsigmoid(-self.logits)

    def _trial_divergence(self, other: Trials) -> Tensor:
        """Kullback and Leibler's, of one trial."""
        weights = self.probs, self._failure()
        mine, others = self._log_chances(*weights), other._log_chances(*weights)
        return weighted(mine[0] - others[0], weights[0]) + weighted(mine[1] - others[1], weights[1])

    def _log_weight(self, hits: Any, misses: Any) -> Tensor:
        """``hits * log(probs) + misses * log(1 - probs)``, by the parameter that was given: right in both tails."""
        if self._by_probs:
            _ = self.logits  # computed here by PyTorch, whose repr shows it from now on
            return xlogy(hits, self.probs) + xlog1py(misses, -self.probs)
        return weighted(logsigmoid(self.logits), hits) + weighted(logsigmoid(-self.logits), misses)

    def _trial_entropy(self) -> Tensor:
        return -self._log_weight(self.probs, self._failure())


class Bernoulli(Trials, ExponentialFamily):
    """1 with probability ``probs``, else 0.

    >>> import pullback as torch
    >>> torch.distributions.Bernoulli(torch.tensor([0.5, 0.25])).log_prob(torch.tensor([1.0, 1.0])).exp()
    tensor([0.5000, 0.2500])
    """

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0.0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(validate_args, **given_parameter(probs, logits))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """NaN where both are as likely."""
        return where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    @property
    def variance(self) -> Tensor:
        return self.probs * self._failure()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return self._log_weight(value, 1 - value)

    def entropy(self) -> Tensor:
        return self._trial_entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Tensor:  # type: ignore[override]
        return softplus(x)


class Geometric(Trials):
    """How many trials fail before the first that succeeds, each with probability ``probs``.

    >>> import pullback as torch
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(validate_args, **given_parameter(probs, logits))
        if self._validate_args and probs is not None and not holds(valid := self.probs > 0):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution "
                f"{self!r} to be positive but found invalid values:\n{self.probs.data[~valid]}"
            )

    @property
    def mean(self) -> Tensor:
        return self._failure() / self.probs

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return self._failure() / self.probs / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return self._log_weight(ones_like(value), value)

    def entropy(self) -> Tensor:
        return self._trial_entropy() / self.probs


class Binomial(Trials):
    """How many of ``total_count`` trials succeed, each with probability ``probs``.

    >>> import pullback as torch
    >>> torch.distributions.Binomial(4, torch.tensor([0.5, 0.25])).mean
    tensor([2., 1.])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Trials.arg_constraints}
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = given_parameter(probs, logits)
        ((name, p),) = given.items()
        total_count, p = broadcast_all(total_count, p)
        self._take(validate_args, total_count=total_count.type_as(p), **{name: p})

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * self._failure()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        n = self.total_count
        log_ways = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        return self._log_weight(value, n - value) + log_ways

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self._values("entropy", False))
        return -weighted(log_prob, exp(log_prob)).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._values("enumerate_support", expand)

    def _values(self, asked: str, expand: bool) -> Tensor:
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{asked}`.")
        return self._enumerated(arange(1 + n, dtype=self._param.dtype), expand)


class NegativeBinomial(Trials):
    """How many trials succeed, each with probability ``probs``, before ``total_count`` have failed.

    ``total_count`` need not be whole: the count is Poisson, of a gamma distributed rate.

    >>> import pullback as torch
    >>> torch.distributions.NegativeBinomial(3.0, 0.5).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    __init__ = Binomial.__init__

    @property
    def mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        n = self.total_count
        log_ways = lgamma(n + value) - lgamma(1.0 + value) - lgamma(n)
        log_ways = log_ways.masked_fill(n + value == 0.0, 0.0)
        return self._log_weight(value, n) + log_ways


class Poisson(ExponentialFamily):
    """How many independent events happen, when ``rate`` are expected.

    >>> import pullback as torch
    >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (log(self.rate),)

    def _log_normalizer(self, x: Any) -> Tensor:  # type: ignore[override]
        return exp(x)


class Categorical(ProbsOrLogits):
    """One of ``n`` categories, by number.

    Args:
        probs: ``(*batch, n)``, weights: they need not sum to 1.
        logits: instead of these, logarithms of weights.

    >>> import pullback as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        ((name, p),) = given_parameter(probs, logits).items()
        if p.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = p / p.sum(-1, keepdim=True)
        else:
            self.logits = p - p.logsumexp(-1, keepdim=True)
        self._by_probs = logits is None
        self._num_events = p.size(-1)
        Distribution.__init__(self, p.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = multinomial(self.probs.detach().reshape(-1, self._num_events), Size(sample_shape).numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        _ = self.logits  # as in Trials
        value, mass = broadcast_tensors(value.long().unsqueeze(-1), self._param)
        chosen = mass.gather(-1, value[..., :1]).squeeze(-1)
        return log(chosen) if self._by_probs else chosen

    def entropy(self) -> Tensor:
        if self._by_probs:
            return -xlogy(self.probs, self.probs).sum(-1)
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events), expand)


class CategoricalVector(ProbsOrLogits):
    """Vectors with an element for each category of ``_categorical``, whose parameters these are."""

    arg_constraints: Any = Categorical.arg_constraints
    _categorical: Categorical
    probs = property(attrgetter("_categorical.probs"))
    logits = property(attrgetter("_categorical.logits"))
    _by_probs = property(attrgetter("_categorical._by_probs"))

    def _divide(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        Distribution.__init__(self, self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)


class OneHotCategorical(CategoricalVector):
    """One of ``n`` categories, as a vector with a 1 at its place and zeros elsewhere; arguments as of
    :class:`Categorical`.

    >>> import pullback as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._divide(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vector(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _vector(self, index: Tensor) -> Tensor:
        return one_hot(index, self.probs.shape[-1]).to(self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._vector(self._categorical.sample(sample_shape))

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(eye(self._event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples pass their gradient on to ``probs`` (Bengio, Léonard & Courville, arXiv:1308.3432)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(CategoricalVector):
    """How often each of ``n`` categories comes up in ``total_count`` draws; other arguments as of :class:`Categorical`.

    >>> import pullback as torch
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._divide(probs, logits, validate_args)
        self._binomial = Binomial(total_count, probs=self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self._binomial.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, ones_like(drawn)).type_as(self.probs)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        log_weights = xlogy(value, self.probs) if self._by_probs else weighted(self.logits, value)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + log_weights.sum(-1)

    def entropy(self) -> Tensor:
        """The entropy of independent draws, less that of their order."""
        support = self._binomial.enumerate_support(expand=False)[1:]
        weighted = exp(self._binomial.log_prob(support)) * lgamma(support + 1)
        return (
            self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + weighted.sum([0, -1])
        )
