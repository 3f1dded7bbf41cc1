"""Kullback-Leibler divergence, ``KL(p || q) = E_p[log p(x) - log q(x)]``, with one formula for each pair of classes.

Which formula is right depends on both classes; :func:`register_kl` states one. Between distributions of numbers most
need none: the expectation of ``log q`` under ``p`` takes moments of ``p`` only, such as its mean or ``E[log x]``, and
what is left is the entropy of ``p``. Where ``p`` can give what ``q`` can't, the divergence is infinite.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..base.errors import with_notes
from ..core.tensor import Tensor
from ..ops.activation import logsigmoid
from ..ops.create import full
from ..ops.loss import weighted
from ..ops.pointwise import exp, log, log1p
from ..ops.special import digamma, erf, lgamma, xlogy
from ..ops.view import broadcast_shapes
from ..ops.where import where
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Beta, Dirichlet, Exponential, Gamma
from .location_scale import Cauchy, Laplace, Normal, Uniform
from .multivariate import GaussianVector, LowRankMultivariateNormal, MultivariateNormal
from .parameters import euler_constant, sum_rightmost
from .relaxed import ContinuousBernoulli
from .transformed import Gumbel, HalfNormal, Pareto
from .wrappers import Independent, TransformedDistribution

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Tensor]
_REGISTRY: dict[tuple[type, type], Formula] = {}
_FOUND: dict[tuple[type, type], Formula | None] = {}  # for classes that were asked for


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorator: this function of ``p`` and ``q`` is the divergence, for instances of these two classes.

    The most specific pair of classes counts; a `RuntimeWarning` tells if there are two such.

    Raises:
        TypeError: not a class. (It need not be derived from Distribution: libraries have base classes of their own.)

    Example::

        @register_kl(Normal, Normal)
        def kl_normal_normal(p, q):
            ...
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(fn: Formula) -> Formula:
        _REGISTRY[type_p, type_q] = fn
        _FOUND.clear()
        return fn

    return register


def _find(type_p: type, type_q: type) -> Formula | None:
    matches = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    # Nearest by the first class and then the second; and the other way round.
    rank_p, rank_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(matches, key=lambda m: (rank_p(m[0]), rank_q(m[1])))
    by_q = min(matches, key=lambda m: (rank_q(m[1]), rank_p(m[0])))
    if _REGISTRY[by_p] is not _REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
            f"{by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Kullback and Leibler's divergence ``KL(p || q)``, in the shape of the batches broadcast together.

    Raises:
        NotImplementedError: no formula is known for these classes.

    >>> import pullback as torch
    >>> from pullback.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _FOUND:
        _FOUND[key] = _find(*key)
    formula = _FOUND[key]
    if formula is None:
        raise with_notes(
            NotImplementedError(
                f"No KL(p || q) is implemented for p type {key[0].__name__} and q type {key[1].__name__}"
            ),
            "State one with register_kl.",
        )
    return formula(p, q)


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    return full(broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=p.mean.dtype)


# --- numbers: from moments ----------------------------------------------------------------------------------

# E[log x], for those on positive numbers.
MEAN_LOG: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -euler_constant - log(p.rate),
    Gamma: lambda p: digamma(p.concentration) - log(p.rate),
    Pareto: lambda p: log(p.scale) + p.alpha.reciprocal(),
    Uniform: lambda p: (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1,
}
# E[log(1 - x)], for those on [0, 1].
MEAN_LOG1M: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: digamma(p.concentration0) - digamma(p.concentration1 + p.concentration0),
    Uniform: lambda p: (xlogy(1 - p.low, 1 - p.low) - xlogy(1 - p.high, 1 - p.high)) / (p.high - p.low) - 1,
}
# log E[exp(t * x)], for t < 0.
LOG_MEAN_EXP: dict[type, Callable[[Any, Any], Any]] = {
    Exponential: lambda p, t: -log1p(-t / p.rate),
    Gamma: lambda p, t: -p.concentration * log1p(-t / p.rate),
    Gumbel: lambda p, t: t * p.loc + lgamma(1 - t * p.scale),
    Normal: lambda p, t: t * p.loc + 0.5 * (t * p.scale).pow(2),
    Uniform: lambda p, t: t * p.low + log((t * (p.high - p.low)).expm1() / (t * (p.high - p.low))),
}


def _entry_for(table: dict[type, Any], p: Distribution) -> Any:
    """The entry for what ``p`` is an instance of."""
    return next(f for kind, f in table.items() if isinstance(p, kind))


# -E_p[log q(x)].
CROSS_ENTROPY: dict[type, Formula] = {
    Beta: lambda p, q: (
        q._log_normalizer(q.concentration1, q.concentration0)
        - (q.concentration1 - 1) * _entry_for(MEAN_LOG, p)(p)
        - (q.concentration0 - 1) * _entry_for(MEAN_LOG1M, p)(p)
    ),
    ContinuousBernoulli: lambda p, q: -p.mean * q.logits - logsigmoid(-q.logits) - q._cont_bern_log_norm(),
    Exponential: lambda p, q: q.rate * p.mean - log(q.rate),
    Gamma: lambda p, q: (
        lgamma(q.concentration)
        - q.concentration * log(q.rate)
        - (q.concentration - 1) * _entry_for(MEAN_LOG, p)(p)
        + q.rate * p.mean
    ),
    Gumbel: lambda p, q: (
        log(q.scale) + (p.mean - q.loc) / q.scale + exp(q.loc / q.scale + _entry_for(LOG_MEAN_EXP, p)(p, -1 / q.scale))
    ),
    Normal: lambda p, q: (
        0.5 * math.log(2 * math.pi) + log(q.scale) + 0.5 * (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    ),
    Pareto: lambda p, q: (q.alpha + 1) * _entry_for(MEAN_LOG, p)(p) - log(q.alpha) - q.alpha * log(q.scale),
    Uniform: lambda p, q: log(q.high - q.low),
}


def _bounds(p: Distribution) -> tuple[Any, Any]:
    support = p.support
    return getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)


def _from_moments(p: Any, q: Any) -> Tensor:
    (p_low, p_high), (q_low, q_high) = _bounds(p), _bounds(q)
    outside: Any = (p_low < q_low) | (p_high > q_high)
    if bool(outside.all()) if isinstance(outside, Tensor) else outside:
        return _infinite(p, q)
    divergence = _entry_for(CROSS_ENTROPY, q)(p, q) - p.entropy()
    return where(outside, math.inf, divergence) if isinstance(outside, Tensor) else divergence


for _p, _qs in {
    Beta: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    ContinuousBernoulli: (ContinuousBernoulli, Exponential, Normal, Pareto, Uniform),
    Exponential: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Normal, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto, Uniform),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_from_moments)


@register_kl(Pareto, Exponential)
@register_kl(Pareto, Gamma)
@register_kl(Pareto, Normal)
def _heavy_tail(p: Any, q: Any) -> Tensor:
    """Infinite where the moments of ``p`` that ``q`` needs are; a Pareto tail that falls fast enough has them."""
    order = 2 if isinstance(q, Normal) else 1
    finite = p.alpha > order
    return where(
        finite, _from_moments(Pareto(p.scale, where(finite, p.alpha, order + 1.0), validate_args=False), q), math.inf
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())  # exactly 0 for equal parameters


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    # The mean of |x - q.loc| is that of a folded normal number (Leone, Nelson & Nottingham, Technometrics 3, 1961).
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * exp(-0.5 * z * z) + z * erf(z * math.sqrt(0.5)))
    return log(2 * q.scale) + distance / q.scale - p.entropy()


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    """By Chyzak & Nielsen, arXiv:1905.10965."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


# --- counts and categories ----------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    return p._trial_divergence(q)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    return where(p.total_count > q.total_count, math.inf, weighted(p._trial_divergence(q), p.total_count))


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return p._trial_divergence(q) / p.probs


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return weighted(p.rate.log() - q.rate.log(), p.rate) - (p.rate - q.rate)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return q.rate - xlogy(p.probs, q.rate) - p.entropy()


register_kl(Poisson, Bernoulli)(_infinite)
register_kl(Poisson, Binomial)(_infinite)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    never = p.probs == 0
    log_p, log_q = (log(where(never, 1.0, d.probs)) if d._by_probs else where(never, 0.0, d.logits) for d in (p, q))
    return weighted(log_p - log_q, p.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


# --- vectors, families, wrappers ----------------------------------------------------------------------------


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    mean_log = digamma(a) - digamma(a.sum(-1, True))
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * mean_log).sum(-1)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _normal_vectors(p: GaussianVector, q: GaussianVector) -> Tensor:
    if p.event_shape != q.event_shape:
        raise with_notes(
            ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed"),
            f"They are {tuple(p.event_shape)} and {tuple(q.event_shape)}.",
        )
    return p._divergence(q)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """Bregman's divergence of the log normalizer, between the natural parameters (Nielsen & Nock, *ICIP* 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences"
        )
    at, normalizer, means = p._mean_statistics()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, other, mean in zip(at, q._natural_params, means):
        difference = (other - mine) * mean
        result = result - sum_rightmost(difference, difference.dim() - result.dim())
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between transformed distributions is implemented for equal transforms and event shapes only"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents is implemented for equal reinterpreted_batch_ndims only: they are "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
