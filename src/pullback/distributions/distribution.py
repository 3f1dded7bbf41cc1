"""``Distribution``, the base class: shapes, argument validation, ``expand``, and defaults made of other properties.

A distribution is a batch of independent ones. A sample has the shape ``sample_shape + batch_shape +
event_shape``; ``log_prob`` of it the shape ``sample_shape + batch_shape``.

Subclasses state ``arg_constraints``, which names their parameters, ``support``, and formulas. Parameters that
broadcast are handed to :meth:`Distribution._take`; from ``arg_constraints`` the rest is known: how to check them, how
to :meth:`~Distribution.expand` them, and how to print.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar

from ..base.errors import with_notes
from ..base.shape import Size
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..engine.api import grad
from ..ops.pointwise import exp
from . import constraints
from .parameters import broadcast_all, holds, lazy_property, sum_rightmost

__all__ = ["Distribution", "ExponentialFamily"]


D = TypeVar("D", bound="Distribution")


def validates_sample(method: Callable[[D, Tensor], Tensor]) -> Callable[[D, Tensor], Tensor]:
    """Decorator of ``log_prob`` and the like: check that the value is in the support, if ``validate_args``."""

    @functools.wraps(method)
    def check(self: D, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return check


class Distribution:
    """A batch of probability distributions.

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one sample of one of them.
        validate_args: whether to check parameters now, and values later; by default unless Python runs with ``-O``.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of ``validate_args``."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:  # noqa: B008
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()  # that of the next base class, such as nn.Module

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Become the distribution of these parameters, broadcast together."""
        self.__dict__.update(zip(parameters, broadcast_all(*parameters.values())))
        Distribution.__init__(self, getattr(self, next(iter(parameters))).shape, validate_args=validate_args)

    # --- shapes -----------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution in a larger batch; its parameters are expanded views.

        Args:
            batch_shape: the new one.
            _instance: what to make the new distribution of, for subclasses with an ``__init__`` of their own.
        """
        own = next(
            c for c in type(self).__mro__ if getattr(sys.modules.get(c.__module__), "__package__", None) == __package__
        )
        new = self._get_checked_instance(own, _instance)
        batch_shape, dims = Size(batch_shape), len(self._batch_shape)
        parameters = self.arg_constraints
        for name, value in self.__dict__.items():
            if name in parameters and isinstance(value, Tensor):
                value = value.expand(batch_shape + value.shape[value.dim() - parameters[name].event_dim :])
            elif isinstance(value, Distribution):  # a part, perhaps with more dimensions in its batch
                value = value.expand(batch_shape + value._batch_shape[dims:])
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue
            new.__dict__.setdefault(name, value)  # a subclass may have set it
        new._batch_shape = batch_shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Self:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # --- validation -------------------------------------------------------------------------------------------------

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint on each parameter, by its name."""
        raise NotImplementedError

    def _no_support(self) -> Any:
        raise NotImplementedError

    support: Any = property(_no_support, doc="The constraint that samples satisfy.")

    def _validate_parameters(self) -> None:
        try:
            demanded = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in demanded.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # derived from a parameter that is checked
            value = getattr(self, name)
            if not holds(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Any) -> None:
        """Check that ``log_prob`` and the like can be computed for a value.

        Raises:
            ValueError: it is no tensor, its shape does not match, or it is outside of the support.
        """
        if not isinstance(value, Tensor):
            raise with_notes(
                ValueError("The value argument to log_prob must be a Tensor"), f"it is a {type(value).__name__}"
            )
        shape, expected = value.shape, self._extended_shape()
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not holds(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    # --- what a distribution can be asked ---------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the largest density."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each element."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draw samples, detached from the parameters."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Draw samples by reparameterization, through which gradients flow to the parameters. ``has_rsample`` says
        whether it is available.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Deprecated form of ``sample((n,))``."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample no larger than a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile: the inverse of :meth:`cdf`."""
        raise NotImplementedError

    def _upper(self, value: Tensor) -> Tensor:
        """``1 - cdf(value)``, for subclasses to state without the rounding."""
        return 1 - self.cdf(value)

    def _upper_quantile(self, p: Tensor) -> Tensor:
        """``icdf(1 - p)``, for subclasses to state without the rounding."""
        return self.icdf(1 - p)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a discrete distribution can give, along a new first dimension.

        Args:
            expand: to the shape of the batch; otherwise the batch's dimensions have size 1.
        """
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values ``(n, *event_shape)`` as ``enumerate_support`` gives them."""
        ones = (1,) * len(self._batch_shape)
        values = values.view(values.shape[:1] + ones + values.shape[1:])
        return values.expand(values.shape[:1] + self._batch_shape + self._event_shape) if expand else values

    def entropy(self) -> Tensor:
        """The expected ``-log_prob`` of a sample."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return exp(self.entropy())

    def __repr__(self) -> str:
        held = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        return (
            f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in held.items())})"
        )


class ExponentialFamily(Distribution):
    """Densities ``exp(<natural parameters, t(x)> - log_normalizer)``, times a carrier measure.

    The gradient of the log normalizer is the mean of ``t``, from which entropy and divergence follow
    (Nielsen & Nock, *ICIP* 2010). Natural parameters and log normalizer are private, as in PyTorch, where programs
    that define families of their own state them.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The expected logarithm of the carrier measure."""
        raise NotImplementedError

    def _mean_statistics(self) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        """Natural parameters, the log normalizer there, and its gradient."""
        at = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*at)
        return at, normalizer, list(grad(normalizer.sum(), at, create_graph=True))

    def entropy(self) -> Tensor:
        at, result, means = self._mean_statistics()
        for p, mean in zip(at, means):
            result = result - sum_rightmost(p * mean, p.dim() - len(self._batch_shape))
        return result - self._mean_carrier_measure
