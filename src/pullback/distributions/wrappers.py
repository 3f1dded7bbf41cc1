"""Distributions made of others: ``Independent``, ``TransformedDistribution``, ``MixtureSameFamily``."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from ..base.shape import Size
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..ops.reduce import logsumexp
from ..ops.softmax import log_softmax
from ..ops.where import where
from . import constraints
from .discrete import Categorical
from .distribution import Distribution, validates_sample
from .parameters import holds, sum_rightmost
from .transforms import ComposeTransform, Transform

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """The last ``reinterpreted_batch_ndims`` dimensions of a batch as one event, of independent parts.

    >>> import pullback as torch
    >>> from pullback.distributions import Independent, Normal
    >>> d = Independent(Normal(torch.zeros(3, 2), 1.0), 1); d.batch_shape, d.event_shape
    (torch.Size([3]), torch.Size([2]))
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        dims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > dims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {dims}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape = base_distribution._extended_shape()
        cut = dims - reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    has_rsample = property(attrgetter("base_dist.has_rsample"))
    mean = property(attrgetter("base_dist.mean"))
    mode = property(attrgetter("base_dist.mode"))
    variance = property(attrgetter("base_dist.variance"))

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        support = self.base_dist.support
        return (
            constraints.independent(support, self.reinterpreted_batch_ndims)
            if self.reinterpreted_batch_ndims
            else support
        )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """A distribution whose samples are transformed samples of another: ``y = t_n(... t_1(x))``.

    The density follows by undoing them: ``log p(y) = log p(x) - log |dy/dx|``.

    >>> import pullback as torch
    >>> from pullback.distributions import ExpTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()]).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if not isinstance(transforms, (Transform, list)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms: list[Any] = [transforms] if isinstance(transforms, Transform) else transforms
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        base, whole = base_distribution, ComposeTransform(self.transforms)
        domain, codomain = whole.domain.event_dim, whole.codomain.event_dim
        shape, dims = base._extended_shape(), len(base.event_shape)
        if len(shape) < domain:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain}, but got {shape}.")
        result = whole.forward_shape(shape)
        needed = whole.inverse_shape(result)
        if shape != needed:  # parameters of the transforms have the larger batch
            base = base.expand(needed[: len(needed) - dims])
        if domain > dims:
            base = Independent(base, domain - dims)
        self.base_dist: Any = base
        cut = len(result) - max(codomain, dims + codomain - domain)
        super().__init__(result[:cut], result[cut:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(attrgetter("base_dist.has_rsample"))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        result: Any = 0.0
        y, dims = value, len(self.event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            result = result - sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return result + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def cdf(self, value: Any) -> Tensor:
        return self._probability(value, 1)

    def _upper(self, value: Any) -> Tensor:
        return self._probability(value, -1)

    def _probability(self, value: Any, sign: Any) -> Tensor:
        """That of what is below a value, or, with the sign -1, above it; the sign becomes that of the transforms undone
        so far.
        """
        outside: list[tuple[Any, Any]] = []  # where the value is beyond what a transform gives, and the probability
        for transform in reversed(self.transforms):
            if not self._validate_args:
                low, high = (getattr(transform.codomain, name, None) for name in ("lower_bound", "upper_bound"))
                for beyond, bound, whole in ((value.le, low, sign < 0), (value.ge, high, sign > 0)):
                    if bound is not None:
                        outside.append((beyond(bound), whole))
                inner = 0.0 if low is None else low + 1.0 if high is None else (low + high) / 2
                for there, _ in outside:
                    value = where(there, inner, value)
            value, sign = transform.inv(value), sign * transform.sign
        if self._validate_args:
            self.base_dist._validate_sample(value)
        p = _by_sign(sign, self.base_dist.cdf, self.base_dist._upper, value)
        for there, whole in outside:
            p = where(there, whole * 1.0, p)
        return p

    def icdf(self, value: Any) -> Tensor:
        return self._value_at(value, 1)

    def _upper_quantile(self, p: Any) -> Tensor:
        return self._value_at(p, -1)

    def _value_at(self, value: Any, sign: Any) -> Tensor:
        for transform in self.transforms:
            sign = sign * transform.sign
        return self._forward(_by_sign(sign, self.base_dist.icdf, self.base_dist._upper_quantile, value))


def _by_sign(sign: Any, rising: Any, falling: Any, value: Any) -> Any:
    """One function of a value where the sign is positive, another one where it is not."""
    if isinstance(sign, int):
        return rising(value) if sign == 1 else falling(value)
    if holds(sign > 0):
        return rising(value)
    return falling(value) if holds(sign < 0) else where(sign > 0, rising(value), falling(value))


class MixtureSameFamily(Distribution):
    """One of several components, chosen at random; they are the last dimension of a batch.

    Args:
        mixture_distribution: a :class:`Categorical` over the components.
        component_distribution: its batch is ``(*batch, components)``.

    >>> import pullback as torch
    >>> from pullback.distributions import Categorical, MixtureSameFamily, Normal
    >>> MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), 0.1)).variance
    tensor(1.0100)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(chosen), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        n, components = mixture_distribution.logits.size(-1), component_distribution.batch_shape[-1]
        if n != components:
            raise ValueError(
                f"`mixture_distribution component` ({n}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component, self._event_ndims = n, len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(attrgetter("_mixture_distribution"), doc="Which component.")
    component_distribution = property(attrgetter("_component_distribution"), doc="The components.")

    def _average(self, of_components: Any) -> Any:
        """The weighted mean over the components' dimension, which is followed by the event's."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (probs * of_components).sum(-1 - self._event_ndims)

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        parts = self._component_distribution
        return self._average(parts.variance) + self._average((parts.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Any) -> Tensor:
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    @validates_sample
    def log_prob(self, value: Any) -> Tensor:
        log_probs = self._component_distribution.log_prob(self._pad(value))
        return logsumexp(log_probs + log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            mixture = self._mixture_distribution
            if mixture.batch_shape != self._batch_shape:
                mixture = mixture.expand(self._batch_shape)
            which = mixture.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            event = Size((1, *self._event_shape))
            at = which.reshape(which.shape + (1,) * len(event)).expand(which.shape + event)
            return drawn.gather(which.dim(), at).squeeze(which.dim())

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
