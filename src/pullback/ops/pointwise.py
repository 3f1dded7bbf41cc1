"""Functions of one number, choices between two, and the rest of what works element by element.

Integers become the default float type where the function's values are not integers. Kinks and ties follow
PyTorch: ``abs``, ``relu`` and ``sign`` have the derivative 0 at 0; ``maximum`` and ``minimum`` halve the
gradient between equal arguments, ``fmax`` and ``fmin`` give it to the first; ``clamp`` passes it on at its
bounds. What is constant between its jumps (``floor``, ``round``, ...) has gradient 0.

Rules are written so that they can be differentiated again anywhere: where a formula has a hole, its argument
is moved out of the hole before (``where`` inside), not only its value replaced after.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, op, outcome, writing
from ..dtypes import BOOL, FLOAT32, FLOAT64, FLOATING, INTEGRAL, OF_NUMPY
from ..lift import bottom, unbatched
from ..tensor import Tensor
from .compare import flat, isfinite, isinf, not_implemented, refusing

__all__ = [
    "acos", "acosh", "addcdiv", "addcmul", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "clamp", "clamp_max", "clamp_min", "clip",
    "copysign", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fix", "floor", "fmax", "fmin", "frac",
    "frexp", "gcd", "heaviside", "hypot", "lcm", "ldexp", "lerp", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "maximum", "minimum", "nan_to_num", "nextafter", "positive", "rad2deg",
    "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "threshold", "trunc", "where",
]  # fmt: skip

ndarray, asarray = np.ndarray, np.asarray
LN2, LN10 = math.log(2), math.log(10)

# --- exponentials and logarithms ----------------------------------------------------------------------------


@op.elementwise(by=np.exp, to=FLOATING, inplace=True)
def exp(input: Tensor) -> Tensor:
    """``e ** input``. Derivative: the result itself.

    >>> import pullback as torch
    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


exp.vjp(input=lambda g, out: g * out)


@op.elementwise(to=FLOATING, inplace=True)
def exp2(input: Tensor) -> Tensor:
    """``2 ** input``. Derivative: ``out * ln 2``.

    >>> import pullback as torch
    >>> torch.exp2(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 1.4142])
    """
    return np.exp(input * LN2) if input.dtype.kind == "c" else np.exp2(input)


exp2.vjp(input=lambda g, out: g * (out * LN2))


@op.elementwise(by=np.expm1, to=FLOATING, inplace=True)
def expm1(input: Tensor) -> Tensor:
    """``e ** input - 1``, without the cancellation near 0. Derivative: ``exp(input)``.

    >>> import pullback as torch
    >>> torch.expm1(torch.tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """


expm1.vjp(input=lambda g, input: g * exp(input))  # far below 0 nothing is left of that in out + 1


@op.elementwise(by=np.log, to=FLOATING, inplace=True)
def log(input: Tensor) -> Tensor:
    """Natural logarithm; NaN for negative numbers. Derivative: ``1 / input``.

    >>> import pullback as torch
    >>> torch.log(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


log.vjp(input=lambda g, input: g / input)


@op.elementwise(by=np.log2, to=FLOATING, inplace=True)
def log2(input: Tensor) -> Tensor:
    """Logarithm to base 2. Derivative: ``1 / (input * ln 2)``.

    >>> import pullback as torch
    >>> torch.log2(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 3.3219])
    """


log2.vjp(input=lambda g, input: g / (input * LN2))


@op.elementwise(by=np.log10, to=FLOATING, inplace=True)
def log10(input: Tensor) -> Tensor:
    """Logarithm to base 10. Derivative: ``1 / (input * ln 10)``.

    >>> import pullback as torch
    >>> torch.log10(torch.tensor([1.0, 5.0]))
    tensor([0.0000, 0.6990])
    """


log10.vjp(input=lambda g, input: g / (input * LN10))


@op.elementwise(by=np.log1p, to=FLOATING, inplace=True, node="Log1PBackward0")
def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, accurate near 0. Derivative: ``1 / (1 + input)``.

    >>> import pullback as torch
    >>> torch.log1p(torch.tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """


log1p.vjp(input=lambda g, input: g / (input + 1))

# --- powers -------------------------------------------------------------------------------------------------


@op.elementwise(by=np.sqrt, to=FLOATING, inplace=True)
def sqrt(input: Tensor) -> Tensor:
    """Square root; NaN for negative numbers. Derivative: ``1 / (2 * out)``, infinite at 0.

    >>> import pullback as torch
    >>> torch.sqrt(torch.tensor([0.0, 4.0]))
    tensor([0., 2.])
    """


sqrt.vjp(input=lambda g, out: g / (out * 2))


@op.elementwise(to=FLOATING, inplace=True)
def rsqrt(input: Tensor) -> Tensor:
    """``1 / sqrt(input)``. Derivative: ``-out ** 3 / 2``.

    >>> import pullback as torch
    >>> torch.rsqrt(torch.tensor([1.0, 4.0]))
    tensor([1.0000, 0.5000])
    """
    return np.reciprocal(np.sqrt(input))


rsqrt.vjp(input=lambda g, out: g * (out * out * out * -0.5))


@op.elementwise(inplace=True, node="PowBackward0")
def square(input: Tensor) -> Tensor:
    """``input * input``. Derivative: ``2 * input``.

    >>> import pullback as torch
    >>> torch.square(torch.tensor([1.0, -3.0]))
    tensor([1., 9.])
    """
    return np.square(input.astype(np.int64) if input.dtype.kind == "b" else input)


square.vjp(input=lambda g, input: g * (input * 2))


@op.elementwise(by=np.reciprocal, to=FLOATING, inplace=True)
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``. Derivative: ``-out ** 2``.

    >>> import pullback as torch
    >>> torch.reciprocal(torch.tensor([2.0, 0.0]))
    tensor([0.5000,    inf])
    """


reciprocal.vjp(input=lambda g, out: -g * (out * out))

# --- angles -------------------------------------------------------------------------------------------------


@op.elementwise(by=np.sin, to=FLOATING, inplace=True)
def sin(input: Tensor) -> Tensor:
    """Sine, of radians. Derivative: the cosine.

    >>> import pullback as torch
    >>> torch.sin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """


@op.elementwise(by=np.cos, to=FLOATING, inplace=True)
def cos(input: Tensor) -> Tensor:
    """Cosine, of radians. Derivative: minus the sine.

    >>> import pullback as torch
    >>> torch.cos(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """


@op.elementwise(by=np.tan, to=FLOATING, inplace=True)
def tan(input: Tensor) -> Tensor:
    """Tangent, of radians. Derivative: ``1 + out ** 2``.

    >>> import pullback as torch
    >>> torch.tan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """


@op.elementwise(by=np.arcsin, to=FLOATING, inplace=True)
def asin(input: Tensor) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``.

    Derivative: ``1 / sqrt(1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.asin(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """


@op.elementwise(by=np.arccos, to=FLOATING, inplace=True)
def acos(input: Tensor) -> Tensor:
    """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``.

    Derivative: ``-1 / sqrt(1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.acos(torch.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """


@op.elementwise(by=np.arctan, to=FLOATING, inplace=True)
def atan(input: Tensor) -> Tensor:
    """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``.

    >>> import pullback as torch
    >>> torch.atan(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """


@op.elementwise(to=FLOATING, method=False)
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


@op.elementwise(by=refusing("c", "atan2_cpu")(np.arctan2), to=FLOATING, inplace=True)
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
    """``part / (input ** 2 + other ** 2)``, without the overflow, and 0 at the origin."""
    origin = (input == 0) & (other == 0)
    radius = hypot(where(origin, 1, input), other)
    return where(origin, 0, part) / radius / radius


atan2.vjp(
    input=lambda g, input, other: g * _over_squared_radius(other, input, other),
    other=lambda g, input, other: -g * _over_squared_radius(input, input, other),
)


@op.elementwise(to=FLOATING, inplace=True, node="Deg2RadBackward0")
def deg2rad(input: Tensor) -> Tensor:
    """``input * pi / 180``.

    >>> import pullback as torch
    >>> torch.deg2rad(torch.tensor([180.0, -90.0]))
    tensor([ 3.1416, -1.5708])
    """
    return _real_angle("deg2rad", input, math.pi / 180)


@op.elementwise(to=FLOATING, inplace=True, node="Rad2DegBackward0")
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


@op.elementwise(by=np.sinh, to=FLOATING, inplace=True)
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine. Derivative: the hyperbolic cosine.

    >>> import pullback as torch
    >>> torch.sinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """


@op.elementwise(by=np.cosh, to=FLOATING, inplace=True)
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine. Derivative: the hyperbolic sine.

    >>> import pullback as torch
    >>> torch.cosh(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """


@op.elementwise(by=np.tanh, to=FLOATING, inplace=True)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. Derivative: ``1 - out ** 2``.

    >>> import pullback as torch
    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@op.elementwise(by=np.arcsinh, to=FLOATING, inplace=True)
def asinh(input: Tensor) -> Tensor:
    """Inverse of :func:`sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``.

    >>> import pullback as torch
    >>> torch.asinh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """


@op.elementwise(by=np.arccosh, to=FLOATING, inplace=True)
def acosh(input: Tensor) -> Tensor:
    """Inverse of :func:`cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``.

    >>> import pullback as torch
    >>> torch.acosh(torch.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """


@op.elementwise(by=np.arctanh, to=FLOATING, inplace=True)
def atanh(input: Tensor) -> Tensor:
    """Inverse of :func:`tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``.

    >>> import pullback as torch
    >>> torch.atanh(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """


# Where differential equations are learned, tanh is differentiated three times: each of its derivatives is one operation.
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
acosh.vjp(input=lambda g, input: g * (rsqrt(input - 1) * rsqrt(input + 1)))  # the complex branch, too
atanh.vjp(input=lambda g, input: g / one_minus_square(input))


ONE = {d: np.ones((), d) for d in (FLOAT32, FLOAT64)}  # which NumPy adds in less time than Python's


@op.elementwise(to=FLOATING, inplace=True)
def sigmoid(input: Tensor) -> Tensor:
    """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``.

    >>> import pullback as torch
    >>> torch.sigmoid(torch.tensor([0.0, 2.0, -100.0]))
    tensor([0.5000, 0.8808, 0.0000])
    """
    e = asarray(np.negative(input))  # one temporary for everything; exp may overflow, and 1 / inf is 0
    return np.reciprocal(np.add(np.exp(e, e), ONE.get(e.dtype, 1), e), e)


sigmoid.vjp(input=lambda g, out: g * (out * (1 - out)))

# --- rounding -----------------------------------------------------------------------------------------------


def _integers_pass(rounded: Callable) -> Callable:
    """A rounding function that leaves integers as they are, which NumPy before 2.1 turns into floats."""
    name = rounded.__name__.replace("rint", "round")

    def of(x: Any) -> Any:
        kind = x.dtype.kind
        if kind in "iu":
            return x.copy()
        if kind == "c" and name != "round":
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        if kind in "bc":
            raise not_implemented(f"{name}_vml_cpu", x)
        return rounded(x)

    return of


@op.elementwise(by=_integers_pass(np.floor), inplace=True)
def floor(input: Tensor) -> Tensor:
    """The largest integer not above. Derivative: 0.

    >>> import pullback as torch
    >>> torch.floor(torch.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """


@op.elementwise(by=_integers_pass(np.ceil), inplace=True)
def ceil(input: Tensor) -> Tensor:
    """The smallest integer not below. Derivative: 0.

    >>> import pullback as torch
    >>> torch.ceil(torch.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """


@op.elementwise(by=_integers_pass(np.trunc), inplace=True)
def trunc(input: Tensor) -> Tensor:
    """Rounded to zero. Derivative: 0.

    >>> import pullback as torch
    >>> torch.trunc(torch.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """


_to_even = _integers_pass(np.rint)


@op.general(inplace=True, node=lambda input, decimals: f"RoundBackward{int(decimals != 0)}")
def round(input: Tensor, decimals: int = 0) -> Tensor:
    """Rounded to the nearest integer, halves to the even one. Derivative: 0.

    Args:
        input: floats (integers stay as they are).
        decimals: digits after the point to keep; negative ones count before it.

    >>> import pullback as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.345])), torch.round(torch.tensor([2.345]), decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    if decimals == 0:
        return _to_even(input)
    if input.dtype.kind not in "fV":
        raise not_implemented("round_cpu", input)
    scale = float(10 ** abs(decimals))
    scaled = input * scale if decimals > 0 else input / scale
    rounded = np.rint(scaled) / scale if decimals > 0 else np.rint(scaled) * scale
    return np.where(np.isfinite(scaled), rounded, input).astype(input.dtype, copy=False)


for _fn in (floor, ceil, trunc, round):
    _fn.vjp(input=lambda g: flat(g))


@op.elementwise(inplace=True)
def frac(input: Tensor) -> Tensor:
    """What :func:`trunc` cuts off, with the sign of the input. Derivative: 1.

    >>> import pullback as torch
    >>> torch.frac(torch.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """
    if input.dtype.kind not in "fV":
        raise not_implemented("frac_cpu", input)
    return np.subtract(input, np.trunc(input))


frac.vjp(input=lambda g: g)


@op.elementwise(inplace=True)
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; of NaN 0, as in PyTorch. Derivative: 0. For complex numbers see :func:`sgn`.

    >>> import pullback as torch
    >>> torch.sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    kind = input.dtype.kind
    if kind == "c":
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. "
                                  "Please use torch.sgn instead.")  # fmt: skip
    if kind in "biu":
        return input.copy() if kind == "b" else np.sign(input)
    return (np.greater(input, 0).view(np.int8) - np.less(input, 0).view(np.int8)).astype(input.dtype)


sign.vjp(input=lambda g: flat(g))


@op.composite
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself. Bool input: RuntimeError.

    >>> import pullback as torch
    >>> torch.positive(torch.tensor([-1.0]))
    tensor([-1.])
    """
    if OF_NUMPY[input._array.dtype].category == BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# --- choosing -----------------------------------------------------------------------------------------------

BITS = {2: np.int16, 4: np.int32, 8: np.int64}  # by size of an element: times 0 or 1, bits are exact
MANY = 4096  # elements from which masking bits beats NumPy's branches


@op.general(method=False, node="WhereBackward0")
def keep(input: Tensor, mask: np.ndarray) -> Tensor:
    """``input`` where the mask (a bool array) holds, 0 elsewhere, whatever was there: NaN, too."""
    bits = BITS.get(input.dtype.itemsize)
    if bits is None or input.size < MANY:
        return np.where(mask, input, input.dtype.type(0))
    return np.multiply(input.view(bits), mask).view(input.dtype)


keep.vjp(input=lambda g, mask: where(mask, g, 0))


@op.elementwise(name="where", method=False)
def pick(condition: np.ndarray, input: Tensor, other: Tensor) -> Tensor:
    """``input`` where the condition (a bool array) holds, ``other`` elsewhere."""
    if input.__class__ is ndarray is other.__class__ is condition.__class__ and condition.size >= MANY:
        bits = BITS.get(input.dtype.itemsize)
        if input.dtype == other.dtype and bits is not None:
            value = asarray(np.multiply(input.view(bits), condition))
            rest = np.multiply(other.view(bits), ~condition)
            return np.bitwise_or(value, rest, value if value.shape == rest.shape else None).view(input.dtype)
    return np.where(condition, input, other)


pick.vjp(input=lambda g, condition: where(condition, g, 0), other=lambda g, condition: where(condition, 0, g))


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere; of the condition alone, where it holds.

    Args:
        condition: bool tensor.
        input, other: tensors or numbers; all shapes broadcast, types promote.

    Returns:
        A tensor of the broadcast shape. Of the condition alone: a tuple of index tensors, one a dimension.

    Raises:
        RuntimeError: if the condition is not of type bool (or, as of old, uint8).

    Gradients go to the chosen argument only; what reaches the other is 0, whatever its value.

    >>> import pullback as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0), x.where(x < 0, 5.0), torch.where(x > 0)
    (tensor([0., 2.]), tensor([-1.,  5.]), (tensor([1]),))
    """
    if hasattr(condition, "__pullback_op__"):
        return condition.__pullback_op__(pick.op, (condition, input, other))  # type: ignore[attr-defined]
    mask = condition._array if isinstance(condition, Tensor) else asarray(condition)
    if input is None:
        unbatched("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::where. Please file "
                  "an issue at https://github.com/pytorch/pytorch/issues if you need this feature.", condition)  # fmt: skip
        mask = bottom(mask)
        return tuple(outcome.wrap(i) for i in np.nonzero(np.atleast_1d(mask)))
    if mask.dtype.kind != "b":
        if mask.dtype != np.uint8:
            given = dtypes.type_name(OF_NUMPY[mask.dtype])
            raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{given}\n  Compare first: where(x != 0, ...).")  # fmt: skip
        mask = np.not_equal(mask, 0)
    if out is None and mask.__class__ is ndarray:
        if other.__class__ is int and other == 0 and _is_inexact(input):
            return keep(input, mask)
        if input.__class__ is int and input == 0 and _is_inexact(other):
            return keep(other, ~mask)
    if isinstance(condition, Tensor) and not any(isinstance(x, (Tensor, ndarray)) for x in (input, other)):
        input = outcome.wrap(asarray(input, dtypes.result_type_of((input, other)).numpy))
    return pick(mask, input, other, out=out)


def _is_inexact(x: Any) -> bool:
    array = x._array if isinstance(x, Tensor) else x
    return isinstance(array, (ndarray, np.generic)) and array.dtype.kind in "fcV"


op.offer(lambda self, condition, other: where(condition, self, other), "where")


@op.elementwise(by=refusing("c", "maximum not implemented for complex tensors.", RuntimeError)(np.maximum))
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two, element by element; NaN if either is. Of equal ones each has half the gradient.

    >>> import pullback as torch
    >>> torch.maximum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """


@op.elementwise(by=refusing("c", "minimum not implemented for complex tensors.", RuntimeError)(np.minimum))
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two, element by element; NaN if either is. Of equal ones each has half the gradient.

    >>> import pullback as torch
    >>> torch.minimum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """


maximum.vjp(
    input=lambda g, input, other: where(input == other, g / 2, where(input < other, 0, g)),
    other=lambda g, input, other: where(input == other, g / 2, where(input > other, 0, g)),
)
minimum.vjp(
    input=lambda g, input, other: where(input == other, g / 2, where(input > other, 0, g)),
    other=lambda g, input, other: where(input == other, g / 2, where(input < other, 0, g)),
)


@op.elementwise(by=refusing("c", "fmax not implemented for complex tensors.", RuntimeError)(np.fmax))
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two, element by element, rather than NaN. Of equal ones the first has the gradient.

    >>> import pullback as torch
    >>> torch.fmax(torch.tensor([1.0, float("nan")]), torch.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """


@op.elementwise(by=refusing("c", "fmin not implemented for complex tensors.", RuntimeError)(np.fmin))
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two, element by element, rather than NaN. Of equal ones the first has the gradient.

    >>> import pullback as torch
    >>> torch.fmin(torch.tensor([1.0, float("nan")]), torch.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """


fmax.vjp(
    input=lambda g, input, other: where((input >= other) | (other != other), g, 0),
    other=lambda g, input, other: where((input >= other) | (other != other), 0, g),
)
fmin.vjp(
    input=lambda g, input, other: where((input <= other) | (other != other), g, 0),
    other=lambda g, input, other: where((input <= other) | (other != other), 0, g),
)

_real_bounds = refusing("c", "clamp is not supported for complex types")


@op.elementwise(name="clamp_min", by=_real_bounds(np.maximum), method=False, node="ClampMinBackward1")
def at_least(input: Tensor, other: Tensor) -> Tensor: ...


@op.elementwise(name="clamp_max", by=_real_bounds(np.minimum), method=False, node="ClampMaxBackward1")
def at_most(input: Tensor, other: Tensor) -> Tensor: ...


at_least.vjp(
    input=lambda g, input, other: where(input >= other, g, 0),
    other=lambda g, input, other: where(input < other, g, 0),
)
at_most.vjp(
    input=lambda g, input, other: where(input <= other, g, 0),
    other=lambda g, input, other: where(input > other, g, 0),
)


@op.composite(inplace=True)
def clamp_min(input: Tensor, min: Any, *, out: Any = None) -> Tensor:
    """The larger of the element and ``min``, a number or a tensor; see :func:`clamp`.

    >>> import pullback as torch
    >>> torch.clamp_min(torch.tensor([-1.0, 2.0]), 0)
    tensor([0., 2.])
    """
    return at_least(input, min, out=out)


@op.composite(inplace=True)
def clamp_max(input: Tensor, max: Any, *, out: Any = None) -> Tensor:
    """The smaller of the element and ``max``, a number or a tensor; see :func:`clamp`.

    >>> import pullback as torch
    >>> torch.clamp_max(torch.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """
    return at_most(input, max, out=out)


@op.general(method=False, node="ClampBackward1")
def between(input: Tensor, min: Any, max: Any) -> Tensor:
    """Held between two numbers, either of which may be None, in the type of the input."""
    x = input if min is None else np.maximum(input, min)
    x = asarray(x if max is None else np.minimum(x, max))
    return x if x.dtype == input.dtype else x.astype(input.dtype)


def _within(x: Any, low: Any, high: Any) -> Any:
    if low is None or high is None:
        return x <= high if low is None else x >= low
    return (x >= low) & (x <= high)


between.vjp(input=lambda g, input, min, max: where(_within(input, min, max), g, 0))


@op.elementwise(method=False, node="ClampBackward0")
def between_tensors(input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    return np.minimum(np.maximum(input, min), max)


between_tensors.vjp(
    input=lambda g, input, min, max: where(_within(input, min, max), g, 0),
    min=lambda g, input, min, max: where((min < max) & (input < min), g, 0),
    max=lambda g, input, min, max: where((input > max) | (max < min), g, 0),
)


@op.composite(inplace=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Held between ``min`` and ``max``, element by element (to ``max``, where they cross).

    Args:
        input: real; NaN stays NaN.
        min, max: numbers or tensors that broadcast; either may be missing. Types promote.

    Raises:
        RuntimeError: if both bounds are missing.
        NotImplementedError: for complex input.

    The gradient passes where the element is within the bounds or on them; elsewhere it goes to the bound.

    >>> import pullback as torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    x = input._array if isinstance(input, Tensor) else input
    if x.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is None or max is None:
            return at_most(input, max, out=out) if min is None else at_least(input, min, out=out)
        return between_tensors(input, min, max, out=out)
    if x.dtype.kind in "biu":
        d = dtypes.result_type_of([v for v in (x, min, max) if v is not None])
        if d.category == INTEGRAL:  # bounds that the type does not reach do not bind
            limits = dtypes.iinfo(d)
            min, max = (v if v is None else sorted((limits.min, v, limits.max))[1] for v in (min, max))
        input = outcome.wrap(x.astype(d.numpy))
    return between(input, min, max, out=out)


@op.elementwise(inplace=True)
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``; NaN stays NaN. Derivative: 1 above 0, and 0 at 0 and below.

    >>> import pullback as torch
    >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    if input.dtype.kind in "bc":
        if input.dtype.kind == "b":
            raise RuntimeError("Boolean inputs not supported for relu")
        raise NotImplementedError("clamp is not supported for complex types")
    return np.maximum(input, 0)


# The second derivative is 0, but it is there: hence the 0 that depends on `out`, when that is recorded.
relu.vjp(input=lambda g, out: where(out <= 0, out * 0 if isinstance(out, Tensor) else 0, g))


@op.general(method=False, inplace=True)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """The element where it is above ``threshold``, else ``value``. Derivative: 1 above, 0 at and below.

    >>> import pullback as torch
    >>> torch.threshold(torch.tensor([0.0, 1.0, 2.0]), 1, 20)
    tensor([20., 20.,  2.])
    """
    if input.dtype.kind in "bc":
        raise not_implemented("threshold_cpu", input)
    of_type = input.dtype.type
    return np.where(np.less_equal(input, of_type(threshold)), of_type(value), input)


threshold.vjp(input=lambda g, input, threshold: where(input <= threshold, 0, g))


@op.general(inplace=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Numbers in the place of NaN and infinities.

    Args:
        nan: for NaN; default 0.
        posinf, neginf: for infinity and minus infinity; default: the largest and the lowest finite number.

    The gradient is 0 where something was replaced.

    >>> import pullback as torch
    >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.])
    """
    result = np.array(input, order="C")
    if result.dtype.kind in "biu":
        return result
    parts = result.view(result.real.dtype) if result.dtype.kind == "c" else result
    of_type, limits = parts.dtype.type, dtypes.finfo(OF_NUMPY[parts.dtype])
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    np.copyto(parts, of_type(nan or 0), where=np.isnan(parts))
    np.copyto(parts, of_type(high), where=np.equal(parts, np.inf))
    np.copyto(parts, of_type(low), where=np.equal(parts, -np.inf))
    return result


nan_to_num.vjp(input=lambda g, input: where(isfinite(input), g, 0))

# --- of two or three ----------------------------------------------------------------------------------------


@op.elementwise(by=refusing("biuc", "hypot_cpu")(np.hypot), inplace=True)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)`` without overflow.

    Derivative: ``input / out`` and ``other / out``; NaN at the origin.

    >>> import pullback as torch
    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """


hypot.vjp(input=lambda g, input, out: g * (input / out), other=lambda g, other, out: g * (other / out))


@op.elementwise(by=refusing("c", "copysign_cpu")(np.copysign), to=FLOATING, inplace=True)
def copysign(input: Tensor, other: Tensor) -> Tensor:
    """The size of ``input`` with the sign of ``other``.

    Derivative: 1 where the sign stayed, -1 where it changed, 0 at 0.

    >>> import pullback as torch
    >>> torch.copysign(torch.tensor([1.0, -2.0]), -0.0)
    tensor([-1., -2.])
    """


copysign.vjp(input=lambda g, input, out: g * (sign(input) * sign(out)), other=lambda g: flat(g))


@op.elementwise(to=FLOATING, inplace=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``.

    >>> import pullback as torch
    >>> torch.ldexp(torch.tensor([0.5, 0.75]), torch.tensor([1, 3]))
    tensor([1., 6.])
    """
    power = asarray(other, input.dtype)
    return input * (np.exp(power * LN2) if power.dtype.kind == "c" else np.exp2(power))


ldexp.vjp(input=lambda g, other: ldexp(g, other), other=lambda g, out: g * (out * LN2))


@op.general(outputs="mantissa exponent", differentiable="mantissa")
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """``mantissa * 2 ** exponent == input`` with the mantissa's size in ``[0.5, 1)``.

    Returns:
        A named tuple ``(mantissa, exponent)``; the exponent is int32, and 0 for 0, infinities and NaN.

    Raises:
        RuntimeError: if the input is not floating.

    >>> import pullback as torch
    >>> torch.frexp(torch.tensor([8.0]))
    torch.return_types.frexp(
    mantissa=tensor([0.5000]),
    exponent=tensor([4], dtype=torch.int32))
    """
    if input.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(input.astype(np.float32) if input.dtype.kind == "V" else input)
    exponent = np.where(np.isfinite(input), exponent, 0)
    return asarray(mantissa).astype(input.dtype, copy=False), exponent.astype(np.int32)


frexp.vjp(input=lambda g, exponent: ldexp(g, -exponent))


def _logaddexp(x: Any, y: Any) -> Any:
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        x_first = np.real(x) >= np.real(y)
        larger, smaller = np.where(x_first, x, y), np.where(x_first, y, x)
        return larger + np.log1p(np.exp(smaller - larger))
    if np.size(x) < 512:
        return np.logaddexp(x, y)
    distance = np.fmax(np.abs(x - y), 0)  # which is NaN between equal infinities, and irrelevant then
    return np.maximum(x, y) + np.log1p(np.exp(-distance))


@op.elementwise(by=refusing("biu", "logaddexp_cpu")(_logaddexp))
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow.

    Derivative: ``sigmoid(input - other)`` and ``sigmoid(other - input)``. Between equal infinities they are
    1/2, the limit along equal arguments (PyTorch: NaN).

    >>> import pullback as torch
    >>> torch.logaddexp(torch.tensor([0.0, -100.0]), torch.tensor([0.0, -100.0]))
    tensor([  0.6931, -99.3069])
    """


@op.elementwise(by=refusing("biuc", "logaddexp2_cpu")(np.logaddexp2))
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow. For the derivative see :func:`logaddexp`.

    >>> import pullback as torch
    >>> torch.logaddexp2(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([2.])
    """


def _difference(x: Any, y: Any) -> Any:
    """``x - y``, where equal infinities differ by 0."""
    same = (x == y) & isinf(x)
    return where(same, 0, x) - where(same, 0, y)


logaddexp.vjp(
    input=lambda g, input, other: g * sigmoid(_difference(input, other)),
    other=lambda g, input, other: g * sigmoid(_difference(other, input)),
)
logaddexp2.vjp(
    input=lambda g, input, other: g * sigmoid(_difference(input, other) * LN2),
    other=lambda g, input, other: g * sigmoid(_difference(other, input) * LN2),
)


@op.elementwise(name="lerp", method=False, node="LerpBackward1")
def interpolate(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    # From the nearer end, so that both ends are met exactly.
    way, near_start = end - input, np.abs(weight) < 0.5
    if np.ndim(weight) == 0:
        return input + weight * way if near_start else end - way * (1 - weight)
    return np.where(near_start, input + weight * way, end - way * (1 - weight))


interpolate.vjp(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
)


@op.composite(inplace=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    """``input + weight * (end - input)``: on the way from ``input`` to ``end``.

    Args:
        input, end: floating or complex, of one type; shapes broadcast.
        weight: a number, or a tensor of that type.

    Raises:
        RuntimeError: if the types differ.

    >>> import pullback as torch
    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    d = input.dtype
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.dtype is not d:
            raise RuntimeError(f"expected dtype {d.name} for `{name}` but got dtype {t.dtype.name}")
    if isinstance(input, Tensor) and d.category < FLOATING:
        raise not_implemented("lerp_kernel_scalar", input._array)
    return interpolate(input, end, weight, out=out)


def _wide(input: Tensor, tensor1: Tensor, tensor2: Tensor, formula: Callable) -> Tensor:
    """A formula of three tensors, in single precision for half, so that it is rounded once."""
    if input.dtype.itemsize > 2 or not (input.dtype is tensor1.dtype is tensor2.dtype) or not input.dtype.is_floating_point:
        return formula(input, tensor1, tensor2)
    return formula(input.float(), tensor1.float(), tensor2.float()).to(input.dtype)


@op.composite(inplace=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    >>> import pullback as torch
    >>> torch.addcmul(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0]), value=10)
    tensor([61.])
    """
    result = _wide(input, tensor1, tensor2, lambda x, a, b: x + (a * b if value == 1 else a * value * b))
    return result if out is None else writing.write_out(out, result)


@op.composite(inplace=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 / tensor2``; the tensors that are divided may not both be integers.

    >>> import pullback as torch
    >>> torch.addcdiv(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([2.0]), value=10)
    tensor([16.])
    """
    if all(isinstance(t, Tensor) and t.dtype.category <= INTEGRAL for t in (tensor1, tensor2)):
        raise RuntimeError("Integer division with addcdiv is no longer supported\n"
                           "  Make one of the tensors float first: tensor1.float().")  # fmt: skip
    result = _wide(input, tensor1, tensor2, lambda x, a, b: x + (a / b if value == 1 else a * value / b))
    return result if out is None else writing.write_out(out, result)


@op.general(inplace=True)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and ``values`` at 0. It has no derivative.

    Args:
        input, values: of one real type; shapes broadcast.

    >>> import pullback as torch
    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if "c" in input.dtype.kind + values.dtype.kind:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.\n"
                           f"  {input.dtype} and {values.dtype}")  # fmt: skip
    return np.where(np.equal(input, 0), values, np.greater(input, 0).astype(input.dtype))


heaviside.vjp()


@op.general(inplace=True)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number that the type can hold, from ``input`` towards ``other``.

    The derivative with respect to ``input`` is 1 where the two differ, 0 where they do not; to ``other`` 0.

    >>> import pullback as torch
    >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])) - 1
    tensor([1.1921e-07])
    """
    for x in (input, other):
        if x.dtype.kind not in "fV":
            raise not_implemented("nextafter_cpu", x)
    return np.nextafter(input, other)


nextafter.vjp(input=lambda g, input, other: where(input == other, 0, g), other=lambda g: flat(g))


@op.elementwise(by=refusing("bfcV", "gcd_cpu")(np.gcd), inplace=True)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor of integers; of 0 and 0 it is 0.

    >>> import pullback as torch
    >>> torch.gcd(torch.tensor([12, 5]), torch.tensor([18, 0]))
    tensor([6, 5])
    """


@op.elementwise(by=refusing("bfcV", "lcm_cpu")(np.lcm), inplace=True)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple of integers; of 0 and anything it is 0.

    >>> import pullback as torch
    >>> torch.lcm(torch.tensor([4, 5]), torch.tensor([6, 0]))
    tensor([12,  0])
    """


# --- other names --------------------------------------------------------------------------------------------

arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
fix, clip = trunc, clamp
_ALIASES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
            "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc", "clip": "clamp"}  # fmt: skip
for _alias, _name in _ALIASES.items():
    op.offer(getattr(Tensor, _name), _alias)
    op.offer(getattr(Tensor, _name + "_"), _alias + "_")
