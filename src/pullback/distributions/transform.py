"""``Transform``, the base class of invertible maps with log-det-Jacobians, and their composition.

``t(x)`` applies a transform, ``t.inv(y)`` undoes it, ``t.log_abs_det_jacobian(x, y)`` is the logarithm of how much it
stretches volume at ``x``, where ``y`` is ``t(x)``: one number for each event. A transform with ``cache_size=1``
remembers its last pair, so that undoing what was just done is exact and free.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..base.errors import with_notes
from ..core.tensor import Tensor
from ..ops.concat import cat, stack
from ..ops.create import zeros_like
from . import constraints
from .parameters import lazy_property, sum_rightmost

__all__ = [
    "CatTransform",
    "ComposeTransform",
    "IndependentTransform",
    "StackTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function of samples; subclasses define ``_call``, and as far as they have it ``_inverse`` and the Jacobian.

    Attributes:
        domain, codomain: the constraints on inputs and outputs.
        bijective: whether each output comes from one input only.
        sign: of the derivative, where that is one number for each element.

    Args:
        cache_size: 1 to remember the last pair, else 0.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _state: tuple[str, ...] | None = None  # the attributes that make two transforms equal; None: they never are

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise with_notes(ValueError("cache_size must be 0 or 1"), f"It is {cache_size!r}.")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()  # that of the next base class, such as nn.Module

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None, "_cached_x_y": (None, None)}

    @property
    def event_dim(self) -> int:
        """How many dimensions make one event, if that is the same before and after."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse, as a transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform, and those that it is made of, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        other = copy.copy(self)
        for name, value in self.__dict__.items():
            if isinstance(value, Transform) and name != "_inv":
                other.__dict__[name] = value.with_cache(cache_size)
            elif isinstance(value, list) and value and isinstance(value[0], Transform):
                other.__dict__[name] = [t.with_cache(cache_size) for t in value]
        other._cache_size, other._inv = cache_size, None
        return other

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if self._state is None or type(self) is not type(other):
            return False
        return all(_equal_state(getattr(self, name), getattr(other, name)) for name in self._state)

    def __call__(self, x: Any) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        known, y = self._cached_x_y
        if x is not known:
            y = self._call(x)
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        x, known = self._cached_x_y
        if y is not known:
            x = self._inverse(y)
            self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Logarithm of the absolute value of the Jacobian's determinant at ``x``, of which ``y`` is the image."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The output shape for an input shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The input shape for an output shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _equal_state(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else same


class _InverseTransform(Transform):
    """The inverse of a transform; it shares that one's cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


# --- made of other transforms -------------------------------------------------------------------------------


def require_dims(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise with_notes(
            ValueError("Too few dimensions on input"), f"The shape is {tuple(shape)}; {dims} dimensions are needed."
        )


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    _state = ("parts",)

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def _event_dim(self, parts: Sequence[Any], inner: str, outer: str) -> int:
        """The dimensions of an event at the outer end of ``parts``, given in order towards it."""
        dims = getattr(parts[0], inner).event_dim
        for part in parts:
            dims += getattr(part, outer).event_dim - getattr(part, inner).event_dim
            dims = max(dims, getattr(part, outer).event_dim)
        return dims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        return _with_event_dim(self.parts[0].domain, self._event_dim(self.parts[::-1], "codomain", "domain"))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        return _with_event_dim(self.parts[-1].codomain, self._event_dim(self.parts, "domain", "codomain"))

    @lazy_property
    def bijective(self) -> bool:
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> Any:
        sign: Any = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return zeros_like(x)
        between = [x]
        for part in self.parts[:-1]:
            between.append(part(between[-1]))
        result: Any = 0
        dims = self.domain.event_dim
        for part, start, end in zip(self.parts, between, [*between[1:], y]):
            result = result + sum_rightmost(part.log_abs_det_jacobian(start, end), dims - part.domain.event_dim)
            dims += part.codomain.event_dim - part.domain.event_dim
        return result

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    """A constraint on events of at least so many dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform for which some more of the last dimensions make one event."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _PerPart(Transform):
    """A transform for each part along a dimension; subclasses take values apart and put them together."""

    _constraint: Any  # of the same kind
    _split: Callable[[Any], Sequence[Any]]
    _join: Callable[..., Any]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _parts(self, x: Any, name: str = "tensor") -> Sequence[Any]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {x.dim()} dimensions")
        return self._split(x)

    def _call(self, x: Any) -> Any:
        return self._join([t(part) for t, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)


class CatTransform(_PerPart):
    """A transform for each of several parts, of the given lengths, along a dimension.

    >>> import pullback as torch
    >>> parts = [torch.distributions.ExpTransform(), torch.distributions.identity_transform]
    >>> t = torch.distributions.CatTransform(parts, lengths=[1, 2])
    >>> t(torch.tensor([0.0, 0.0, 3.0]))
    tensor([1., 0., 3.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _split(self, x: Any) -> Sequence[Any]:
        if x.size(self.dim) != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal length {self.length}")
        return x.split(self.lengths, self.dim)

    _join = staticmethod(cat)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        results = [
            sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in zip(self.transforms, self._parts(x, "x"), self._parts(y, "y"))
        ]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        return cat(results, dim=dim + self.event_dim) if dim + self.event_dim < 0 else sum(results)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PerPart):
    """A transform for each slice of a dimension."""

    def _split(self, x: Any) -> Sequence[Any]:
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"x.size({self.dim}) = {x.size(self.dim)} must equal len(transforms) {len(self.transforms)}"
            )
        return x.unbind(self.dim)

    _join = staticmethod(stack)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        parts = zip(self.transforms, self._parts(x, "x"), self._parts(y, "y"))
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
