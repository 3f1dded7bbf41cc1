"""``sin``, ``cos``, ``tan``, ``asin``, ``atan2``, ``sinh``, ``tanh``, ``acosh``, ``deg2rad``, ...

Integers become the default float type. Inverses at the ends of their ranges have infinite derivatives, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.dtypes import FLOATING
from ..core import op
from ..core.tensor import Tensor
from .compare import refusing
from .pointwise import hypot, rsqrt
from .where import where

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinh",
    "tan",
    "tanh",
]


# --- angles -------------------------------------------------------------------------------------------------


@op.elementwise(numpy_impl=np.sin, result_category=FLOATING, inplace=True)
def sin(input: Tensor) -> Tensor:
    """Sine, of radians. Derivative: the cosine.

    >>> import pullback as torch
    >>> torch.sin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """


@op.elementwise(numpy_impl=np.cos, result_category=FLOATING, inplace=True)
def cos(input: Tensor) -> Tensor:
    """Cosine, of radians. Derivative: minus the sine.

    >>> import pullback as torch
    >>> torch.cos(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """


@op.elementwise(numpy_impl=np.tan, result_category=FLOATING, inplace=True)
def tan(input: Tensor) -> Tensor:
    """Tangent, of radians. Derivative: ``1 + out ** 2``.

    >>> import pullback as torch
    >>> torch.tan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """


@op.elementwise(numpy_impl=np.arcsin, result_category=FLOATING, inplace=True)
def asin(input: Tensor) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``.

    Derivative: ``1 / sqrt(1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.asin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """


@op.elementwise(numpy_impl=np.arccos, result_category=FLOATING, inplace=True)
def acos(input: Tensor) -> Tensor:
    """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``.

    Derivative: ``-1 / sqrt(1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.acos(torch.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """


@op.elementwise(numpy_impl=np.arctan, result_category=FLOATING, inplace=True)
def atan(input: Tensor) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``.

    >>> import pullback as torch
    >>> torch.atan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """


@op.elementwise(result_category=FLOATING, method=False)
def one_minus_square(input: Tensor) -> Tensor:
    """``1 - input ** 2`` as a product, which does not cancel near 1."""
    return np.multiply(1 - input, 1 + input)


one_minus_square.vjp(input=lambda g, input: g * (input * -2))

sin.vjp(input=lambda g, input: g * cos(input))
cos.vjp(input=lambda g, input: -g * sin(input))
tan.vjp(input=lambda g, out: g * (out * out + 1))
asin.vjp(input=lambda g, input: g * rsqrt(one_minus_square(input)))
acos.vjp(input=lambda g, input: -g * rsqrt(one_minus_square(input)))
atan.vjp(input=lambda g, input: g / (input * input + 1))


@op.elementwise(
    numpy_impl=refusing("c", "atan2_cpu")(np.arctan2), result_category=FLOATING, inplace=True, scalar="atan2"
)
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point ``(other, input)`` from the positive first axis, in ``[-pi, pi]``.

    Args:
        input, other: real; shapes broadcast, integers become floats.

    Derivative: ``(other, -input) / (input ** 2 + other ** 2)``, and 0 at the origin, as PyTorch has it.

    >>> import pullback as torch
    >>> torch.atan2(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0]))
    tensor([0.7854, 2.3562])
    """


def _over_squared_radius(part: Any, input: Any, other: Any) -> Any:
    """``part / (input ** 2 + other ** 2)``, without the overflow, and 0 at the origin and at infinity."""
    size = abs(input) + abs(other)
    limit = (size == 0) | (size == math.inf)
    radius = hypot(where(limit, 1, input), where(limit, 0, other))
    return where(limit, 0, part) / radius / radius


atan2.vjp(
    input=lambda g, input, other: g * _over_squared_radius(other, input, other),
    other=lambda g, input, other: -g * _over_squared_radius(input, input, other),
)


@op.elementwise(result_category=FLOATING, inplace=True, node="Deg2RadBackward0")
def deg2rad(input: Tensor) -> Tensor:
    """``input * pi / 180``.

    >>> import pullback as torch
    >>> torch.deg2rad(torch.tensor([180.0, -90.0]))
    tensor([ 3.1416, -1.5708])
    """
    return _real_angle("deg2rad", input, math.pi / 180)


@op.elementwise(result_category=FLOATING, inplace=True, node="Rad2DegBackward0")
def rad2deg(input: Tensor) -> Tensor:
    """``input * 180 / pi``.

    >>> import pullback as torch
    >>> torch.rad2deg(torch.tensor([3.14159274]))
    tensor([180.])
    """
    return _real_angle("rad2deg", input, 180 / math.pi)


def _real_angle(name: str, x: Any, scale: float) -> Any:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return np.multiply(x, scale)


deg2rad.vjp(input=lambda g: deg2rad(g))
rad2deg.vjp(input=lambda g: rad2deg(g))


# --- hyperbolic functions -----------------------------------------------------------------------------------


@op.elementwise(numpy_impl=np.sinh, result_category=FLOATING, inplace=True)
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine. Derivative: the hyperbolic cosine.

    >>> import pullback as torch
    >>> torch.sinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """


@op.elementwise(numpy_impl=np.cosh, result_category=FLOATING, inplace=True)
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine. Derivative: the hyperbolic sine.

    >>> import pullback as torch
    >>> torch.cosh(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """


@op.elementwise(numpy_impl=np.tanh, result_category=FLOATING, inplace=True)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. Derivative: ``1 - out ** 2``.

    >>> import pullback as torch
    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@op.elementwise(numpy_impl=np.arcsinh, result_category=FLOATING, inplace=True)
def asinh(input: Tensor) -> Tensor:
    """Inverse of :func:`sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``.

    >>> import pullback as torch
    >>> torch.asinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """


@op.elementwise(numpy_impl=np.arccosh, result_category=FLOATING, inplace=True)
def acosh(input: Tensor) -> Tensor:
    """Inverse of :func:`cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``.

    >>> import pullback as torch
    >>> torch.acosh(torch.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """


@op.elementwise(numpy_impl=np.arctanh, result_category=FLOATING, inplace=True)
def atanh(input: Tensor) -> Tensor:
    """Inverse of :func:`tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.atanh(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """


# Physics-informed networks differentiate tanh three times: each of its derivatives is one op.
@op.elementwise(node="TanhBackwardBackward0", method=False)
def of_tanh(g: Tensor, out: Tensor) -> Tensor:
    """The gradient of ``tanh``'s argument: ``g * (1 - out ** 2)``."""
    return g * (1 - out * out)


@op.elementwise(node="TanhCurvatureBackward0", method=False)
def of_tanhs_result(v: Tensor, g: Tensor, out: Tensor) -> Tensor:
    """The gradient of ``out`` in :func:`of_tanh`: ``-2 * v * g * out``."""
    return v * g * out * -2


of_tanh.vjp(
    g=lambda v, out: of_tanh(v, out),
    out=lambda v, g, out: of_tanhs_result(v, g, out),
)
of_tanhs_result.vjp(
    v=lambda w, g, out: of_tanhs_result(w, g, out),
    g=lambda w, v, out: of_tanhs_result(v, w, out),
    out=lambda w, v, g: of_tanhs_result(v, g, w),
)
sinh.vjp(input=lambda g, input: g * cosh(input))
cosh.vjp(input=lambda g, input: g * sinh(input))
tanh.vjp(input=lambda g, out: of_tanh(g, out))
asinh.vjp(input=lambda g, input: g * rsqrt(input * input + 1))
acosh.vjp(input=lambda g, input: g * (rsqrt(input - 1) * rsqrt(input + 1)))  # two roots: right for complex input, too
atanh.vjp(input=lambda g, input: g / one_minus_square(input))


# --- other names --------------------------------------------------------------------------------------------

arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
for _fn in (asin, acos, atan, atan2, asinh, acosh, atanh):
    op.add_method(_fn, f"arc{_fn.__name__[1:]}")
    op.add_method(getattr(Tensor, f"{_fn.__name__}_"), f"arc{_fn.__name__[1:]}_")
