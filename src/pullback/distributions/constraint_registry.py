"""``biject_to`` and ``transform_to``: from a constraint to a transform of the reals onto what satisfies it.

``biject_to(c)`` is bijective and knows its Jacobian: for Hamiltonian Monte Carlo, for variational inference.
``transform_to(c)`` may be any that optimizes well.

>>> import pullback as torch
>>> from pullback.distributions import constraints, transform_to
>>> transform_to(constraints.interval(-1.0, 1.0))(torch.tensor([-100.0, 0.0, 100.0]))
tensor([-1.0000,  0.0000,  1.0000])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import with_notes
from . import constraints
from .parameters import NUMBER
from .transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    Transform,
    identity_transform,
)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A transform for each class of constraints."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Transform] | None = None) -> Any:
        """Register the factory of transforms for constraints of one class. Without ``factory``: a decorator.

        Args:
            constraint: a class of constraints, or one of its instances.
            factory: from a constraint to a transform.

        Raises:
            TypeError: ``constraint`` is neither.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform onto the values that satisfy a constraint.

        Raises:
            NotImplementedError: none is known.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            known = ", ".join(c.__name__.removeprefix("_") for c in self._registry)
            raise with_notes(
                NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints"),
                f"Known are: {known}. Others can be registered.",
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _bounded_transform(bound: Any, sign: int) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(bound, sign)])


def _interval_transform(c: Any) -> Transform:
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, NUMBER) and isinstance(high, NUMBER) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _register_common(onto: ConstraintRegistry) -> None:
    """Register what both registries share; for composed constraints, each has its own transforms of the parts."""
    onto.register(constraints.real, lambda c: identity_transform)
    onto.register(constraints.greater_than, lambda c: _bounded_transform(c.lower_bound, 1))  # also `positive`
    onto.register(constraints.greater_than_eq, lambda c: _bounded_transform(c.lower_bound, 1))
    onto.register(constraints.less_than, lambda c: _bounded_transform(c.upper_bound, -1))
    onto.register(constraints.interval, _interval_transform)
    onto.register(constraints.half_open_interval, _interval_transform)
    onto.register(constraints.corr_cholesky, lambda c: CorrCholeskyTransform())
    onto.register(
        constraints.independent, lambda c: IndependentTransform(onto(c.base_constraint), c.reinterpreted_batch_ndims)
    )
    onto.register(constraints.cat, lambda c: CatTransform([onto(part) for part in c.cseq], c.dim, c.lengths))
    onto.register(constraints.stack, lambda c: StackTransform([onto(part) for part in c.cseq], c.dim))


_register_common(biject_to)
_register_common(transform_to)
biject_to.register(constraints.simplex, lambda c: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: PositiveDefiniteTransform())
