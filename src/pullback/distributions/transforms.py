"""The transforms: affine, exp, sigmoid, stick-breaking and so on; composition is in ``distributions.transform``.

>>> import pullback as torch
>>> t = torch.distributions.ExpTransform()
>>> t(torch.tensor(0.0)), t.inv(torch.tensor(1.0)), t.log_abs_det_jacobian(torch.tensor(2.0), t(torch.tensor(2.0)))
(tensor(1.), tensor(0.), tensor(2.))
"""

from __future__ import annotations

import math
from typing import Any

from ..base.dtypes import finfo
from ..base.errors import with_notes
from ..base.shape import Size
from ..core.tensor import Tensor
from ..ops.activation import logsigmoid, softplus
from ..ops.create import full_like
from ..ops.pad import pad
from ..ops.ranges import eye
from ..ops.special import xlogy
from ..ops.view import broadcast_shapes
from . import constraints
from .parameters import NUMBER, broadcast_all, lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix
from .transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    Transform,
    identity_transform,
    require_dims,
)
from .transform import _InverseTransform as _InverseTransform  # PyTorch's address of it, too

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


# --- one element at a time ----------------------------------------------------------------------------------


class _Elementwise(Transform):
    """An increasing function of real numbers."""

    domain = constraints.real
    bijective = True
    sign = +1
    _state: tuple[str, ...] | None = ()


class ExpTransform(_Elementwise):
    """``y = exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def _clip(y: Tensor) -> Tensor:
    limits = finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Elementwise):
    """``y = 1 / (1 + exp(-x))``, kept off 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clip(x.sigmoid())

    def _inverse(self, y: Any) -> Any:
        y = _clip(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """``y = log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


def _log_tanh_slope(x: Tensor) -> Tensor:
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))  # log(1 - tanh(x)**2), for large x too


class TanhTransform(_Elementwise):
    """``y = tanh(x)``; give it a cache where it is undone, since that is inexact near 1."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _log_tanh_slope(x)


class AbsTransform(Transform):
    """``y = |x|``, whose inverse here gives the positive one."""

    domain = constraints.real
    codomain = constraints.positive
    _state = ()

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """``y = x ** exponent``, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _state = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        exponent = self.exponent.to(y.dtype)
        return exponent.abs().log() + xlogy(exponent - 1, x)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """``y = loc + scale * x``, by numbers or tensors; ``event_dim`` of the last dimensions make one event."""

    bijective = True
    _state = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return (self.scale > 0) - (self.scale < 0) if isinstance(self.scale, NUMBER) else self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        result = full_like(x, math.log(abs(self.scale))) if isinstance(self.scale, NUMBER) else self.scale.abs().log()
        return sum_rightmost(result.expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution of numbers."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# --- vectors and matrices -----------------------------------------------------------------------------------


class ReshapeTransform(Transform):
    """Events of one shape as events of another one, with as many elements.

    >>> import pullback as torch
    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.zeros(5, 4)).shape
    torch.Size([5, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise with_notes(
                ValueError("in_shape, out_shape have different numbers of elements"),
                f"They are {tuple(in_shape)} and {tuple(out_shape)}.",
            )

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _with_event_shape(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _with_event_shape(shape, self.out_shape, self.in_shape)


def _with_event_shape(shape: Any, old: Size, new: Size) -> Any:
    require_dims(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class SoftmaxTransform(Transform):
    """``y = softmax(x)``, along the last dimension. Not bijective: the inverse is one of many."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _state = ()

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """``n`` real numbers to ``n + 1`` that sum to 1: each takes a share of what is left.

    Zeros give equal parts (Stan reference manual, "Unit simplex").
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _state = ()

    def _log_left(self, x: Any) -> Any:
        """Logarithm of how many parts are still to come at each place."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        share = _clip((x - self._log_left(x)).sigmoid())
        return pad(share, [0, 1], value=1) * pad((1 - share).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        taken = y[..., :-1]
        left = (1 - taken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return taken.log() - left.log() + self._log_left(taken)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._log_left(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """``n (n - 1) / 2`` real numbers to the Cholesky factor of an ``n`` by ``n`` correlation matrix.

    Row by row, ``tanh`` of the numbers are partial correlations (Lewandowski, Kurowicka & Joe, *J. Multivariate
    Anal.* 100, 2009; Stan reference manual, "Cholesky factors of correlation matrices").
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        return (r + eye(r.shape[-1], dtype=r.dtype)) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) + _log_tanh_slope(x).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise with_notes(
                ValueError("Input is not a flattened lower-diagonal number"), f"Its length is {shape[-1]}."
            )
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise with_notes(ValueError("Input is not square"), f"It is {shape[-2]} by {shape[-1]}.")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal, which is the exponential of the old one."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _state = ()

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, whose Cholesky factor :class:`LowerCholeskyTransform` gives."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _state = ()

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        from ..ops.cholesky_qr import linalg_cholesky as cholesky

        return LowerCholeskyTransform().inv(cholesky(y))
