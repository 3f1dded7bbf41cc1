"""``exp``, ``log``, ``sigmoid``, ``sqrt``, ``floor``, ``round``, ``sign``, ``hypot``, ``lerp``, ``addcmul``, ``gcd``.

Trigonometric and hyperbolic functions are in :mod:`pullback.ops.trigonometry`, ``where``, ``clamp`` and ``maximum`` in
:mod:`pullback.ops.where`. Integers become the default float type where the function's values are not integers.
Piecewise constant functions (``floor``, ``round``, ``sign``, ...) have gradient 0 everywhere.

Rules are written so that they can be differentiated again anywhere: where a formula is singular, its argument is
replaced before (a ``where`` inside), not only its value after.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    FLOATING,
    HALF_MAX,
    INTEGRAL,
    OF_NUMPY,
    WIDE,
    as_factor,
    check_numbers,
    result_type_of,
)
from ..core import inplace, op
from ..core.tensor import Tensor
from ..kernels.numpy_blocks import BLOCK, Blocks
from .compare import constant, isinf, not_implemented, refusing, zero_gradient
from .where import MANY, ZEROS, fast_where, where

__all__ = [
    "addcdiv",
    "addcmul",
    "ceil",
    "copysign",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "frexp",
    "gcd",
    "heaviside",
    "hypot",
    "lcm",
    "ldexp",
    "lerp",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "nextafter",
    "positive",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sqrt",
    "square",
    "trunc",
]

asarray = np.asarray
LN2, LN10 = math.log(2), math.log(10)


# --- exponentials and logarithms ----------------------------------------------------------------------------


@op.elementwise(numpy_impl=np.exp, result_category=FLOATING, inplace=True)
def exp(input: Tensor) -> Tensor:
    """``e ** input``. Derivative: the result itself.

    >>> import pullback as torch
    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


exp.vjp(input=lambda g, out: g * out)


@op.elementwise(result_category=FLOATING, inplace=True)
def exp2(input: Tensor) -> Tensor:
    """``2 ** input``. Derivative: ``out * ln 2``.

    >>> import pullback as torch
    >>> torch.exp2(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 1.4142])
    """
    return np.exp(input * LN2) if input.dtype.kind == "c" else np.exp2(input)


exp2.vjp(input=lambda g, out: g * (out * LN2))


@op.elementwise(numpy_impl=np.expm1, result_category=FLOATING, inplace=True)
def expm1(input: Tensor) -> Tensor:
    """``e ** input - 1``, without the cancellation near 0. Derivative: ``exp(input)``.

    >>> import pullback as torch
    >>> torch.expm1(torch.tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """


expm1.vjp(input=lambda g, input: g * exp(input))  # not out + 1, which rounds to 0 far below 0


@op.elementwise(numpy_impl=np.log, result_category=FLOATING, inplace=True)
def log(input: Tensor) -> Tensor:
    """Natural logarithm; NaN for negative numbers. Derivative: ``1 / input``.

    >>> import pullback as torch
    >>> torch.log(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


log.vjp(input=lambda g, input: g / input)


@op.elementwise(numpy_impl=np.log2, result_category=FLOATING, inplace=True)
def log2(input: Tensor) -> Tensor:
    """Logarithm to base 2. Derivative: ``1 / (input * ln 2)``.

    >>> import pullback as torch
    >>> torch.log2(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 3.3219])
    """


log2.vjp(input=lambda g, input: g / (input * LN2))


@op.elementwise(numpy_impl=np.log10, result_category=FLOATING, inplace=True)
def log10(input: Tensor) -> Tensor:
    """Logarithm to base 10. Derivative: ``1 / (input * ln 10)``.

    >>> import pullback as torch
    >>> torch.log10(torch.tensor([1.0, 5.0]))
    tensor([0.0000, 0.6990])
    """


log10.vjp(input=lambda g, input: g / (input * LN10))


@op.elementwise(numpy_impl=np.log1p, result_category=FLOATING, inplace=True, node="Log1PBackward0")
def log1p(input: Tensor) -> Tensor:
    """``log(1 + input)``, accurate near 0. Derivative: ``1 / (1 + input)``.

    >>> import pullback as torch
    >>> torch.log1p(torch.tensor([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """


log1p.vjp(input=lambda g, input: g / (input + 1))


ONE = {d: np.ones((), d) for d in (FLOAT32, FLOAT64)}  # NumPy adds a 0-d array faster than a Python number


@op.elementwise(result_category=FLOATING, inplace=True, scalar="sigmoid")
def sigmoid(input: Tensor) -> Tensor:
    """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``.

    >>> import pullback as torch
    >>> torch.sigmoid(torch.tensor([0.0, 2.0, -100.0]))
    tensor([0.5000, 0.8808, 0.0000])
    """
    e = asarray(np.negative(input))  # one temporary for everything; exp may overflow, and 1 / inf is 0
    return np.reciprocal(np.add(np.exp(e, e), ONE.get(e.dtype, 1), e), e)


sigmoid.vjp(input=lambda g, out: g * (out * (1 - out)))


# --- powers -------------------------------------------------------------------------------------------------


@op.elementwise(numpy_impl=np.sqrt, result_category=FLOATING, inplace=True)
def sqrt(input: Tensor) -> Tensor:
    """Square root; NaN for negative numbers. Derivative: ``1 / (2 * out)``, infinite at 0.

    >>> import pullback as torch
    >>> torch.sqrt(torch.tensor([0.0, 4.0]))
    tensor([0., 2.])
    """


sqrt.vjp(input=lambda g, out: g / (out * 2))


@op.elementwise(result_category=FLOATING, inplace=True, scalar="rsqrt")
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


@op.elementwise(numpy_impl=np.reciprocal, result_category=FLOATING, inplace=True)
def reciprocal(input: Tensor) -> Tensor:
    """``1 / input``. Derivative: ``-out ** 2``.

    >>> import pullback as torch
    >>> torch.reciprocal(torch.tensor([2.0, 0.0]))
    tensor([0.5000,    inf])
    """


reciprocal.vjp(input=lambda g, out: -g * (out * out))


# --- rounding -----------------------------------------------------------------------------------------------


def _integers_pass(rounded: Callable) -> Callable:
    """A rounding function that returns integers unchanged, which NumPy before 2.1 converts to floats."""
    name = rounded.__name__.replace("rint", "round")

    def of(x: Any) -> Any:
        kind = x.dtype.kind
        if kind == "f":
            return rounded(x)
        if kind in "iu":
            return x.copy("K")
        if kind == "c" and rounded is not np.rint:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
        if kind in "bc":
            raise not_implemented(f"{name}_vml_cpu", x)
        return rounded(x)

    return of


@op.elementwise(numpy_impl=_integers_pass(np.floor), inplace=True, check_out=inplace.found_dtype)
def floor(input: Tensor) -> Tensor:
    """The largest integer not above. Derivative: 0.

    >>> import pullback as torch
    >>> torch.floor(torch.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """


@op.elementwise(numpy_impl=_integers_pass(np.ceil), inplace=True, check_out=inplace.found_dtype)
def ceil(input: Tensor) -> Tensor:
    """The smallest integer not below. Derivative: 0.

    >>> import pullback as torch
    >>> torch.ceil(torch.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """


@op.elementwise(numpy_impl=_integers_pass(np.trunc), inplace=True, check_out=inplace.found_dtype)
def trunc(input: Tensor) -> Tensor:
    """Rounded to zero. Derivative: 0.

    >>> import pullback as torch
    >>> torch.trunc(torch.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """


@op.elementwise(name="round", numpy_impl=_integers_pass(np.rint), method=False, check_out=inplace.found_dtype)
def elementwise_round(input: Tensor) -> Tensor: ...


@op.general(method=False, node="RoundBackward1", check_out=inplace.found_dtype)
def to_decimals(input: Tensor, decimals: int) -> Tensor:
    if input.dtype.kind not in "fV":
        raise not_implemented("round_cpu", input)
    scale = float(10 ** min(abs(decimals), 308))
    scaled = input * scale if decimals > 0 else input / scale
    rounded = np.asarray(np.rint(scaled))
    rounded = rounded / scale if decimals > 0 else np.multiply(rounded, scale, out=rounded, where=rounded != 0)
    return fast_where(np.isfinite(scaled), rounded, input).astype(input.dtype, copy=False)


@op.composite(inplace=True)
def round(input: Tensor, decimals: int = 0, *, out: Any = None) -> Tensor:
    """Rounded to the nearest integer, halves to the even one. Derivative: 0.

    Args:
        input: floats (integers stay as they are).
        decimals: digits after the point to keep; negative ones count before it.

    >>> import pullback as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.345])), torch.round(torch.tensor([2.345]), decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    return elementwise_round(input, out=out) if decimals == 0 else to_decimals(input, decimals, out=out)


for _fn in (floor, ceil, trunc, elementwise_round, to_decimals):
    _fn.vjp(input=lambda g: zero_gradient(g))


@op.elementwise(inplace=True, check_out=inplace.found_dtype)
def frac(input: Tensor) -> Tensor:
    """The fractional part, ``input - trunc(input)``. Derivative: 1.

    >>> import pullback as torch
    >>> torch.frac(torch.tensor([1.5, -1.25]))
    tensor([ 0.5000, -0.2500])
    """
    if input.dtype.kind not in "fV":
        raise not_implemented("frac_cpu", input)
    return np.subtract(input, np.trunc(input))


frac.vjp(input=lambda g: g)


def _sign_of_difference(x: Any, y: Any) -> Any:
    """The signs of ``x - y`` as bytes, 0 where either is NaN."""
    return np.subtract(np.greater(x, y).view(np.int8), np.less(x, y).view(np.int8))


@op.elementwise(inplace=True, scalar="sign", check_out=inplace.found_dtype)
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1; of NaN 0, as in PyTorch. Derivative: 0. For complex numbers see :func:`sgn`.

    >>> import pullback as torch
    >>> torch.sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1.,  0.,  1.])
    """
    kind = input.dtype.kind
    if kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    if kind in "biu":
        return input.copy() if kind == "b" else np.sign(input)
    if input.size >= MANY:
        return _sign_of_difference(input, 0).astype(input.dtype)
    out = np.sign(input)
    nan = np.isnan(out)
    return np.where(nan, out.dtype.type(0), out) if np.count_nonzero(nan) else out


sign.vjp(input=lambda g: zero_gradient(g))


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


fix = trunc
op.add_method(Tensor.trunc, "fix")
op.add_method(Tensor.trunc_, "fix_")


# --- of two or three ----------------------------------------------------------------------------------------


def _hypot(x: Any, y: Any) -> Any:
    """``np.hypot``, of many float32 numbers by squares in float64, which cannot overflow: that is faster."""
    arrays = [v for v in (x, y) if v.__class__ is np.ndarray]
    if not arrays or max(map(np.size, arrays)) < MANY or any([v.dtype != FLOAT32 for v in arrays]):
        return np.hypot(x, y)
    return _hypot_in_double(x, y)


TINY = np.finfo(FLOAT32).tiny


def _hypot_by_squares(x: Any, y: Any) -> Any:
    a, b = (asarray(v, FLOAT32).astype(FLOAT64) for v in (x, y))
    a *= a
    b *= b
    squares = asarray(a + b, FLOAT32)
    return np.sqrt(squares) if squares.min() > TINY and squares.max() < np.inf else np.hypot(x, y)


_hypot_in_double = Blocks(_hypot_by_squares, BLOCK)


@op.elementwise(numpy_impl=refusing("biuc", "hypot_cpu")(_hypot), inplace=True, scalar="hypot")
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)`` without overflow.

    Derivative: ``input / out`` and ``other / out``, and 0 at the origin.

    >>> import pullback as torch
    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """


def _hypot_vjp(g: Any, part: Any, out: Any) -> Any:
    return g * (part / where(out == 0, math.inf, out))


hypot.vjp(input=lambda g, input, out: _hypot_vjp(g, input, out), other=lambda g, other, out: _hypot_vjp(g, other, out))


@op.elementwise(numpy_impl=refusing("c", "copysign_cpu")(np.copysign), result_category=FLOATING, inplace=True)
def copysign(input: Tensor, other: Tensor) -> Tensor:
    """The size of ``input`` with the sign of ``other``.

    Derivative: 1 where the sign stayed, -1 where it changed, 0 at 0.

    >>> import pullback as torch
    >>> torch.copysign(torch.tensor([1.0, -2.0]), -0.0)
    tensor([-1., -2.])
    """


copysign.vjp(input=lambda g, input, out: g * (sign(input) * sign(out)), other=lambda g: zero_gradient(g))


@op.elementwise(result_category=FLOATING, inplace=True)
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
    x = input.astype(np.float32) if input.dtype.kind == "V" else input
    mantissa, exponent = np.frexp(x)
    return mantissa if x is input else mantissa.astype(input.dtype), exponent * np.isfinite(x)


frexp.vjp(input=lambda g, exponent: ldexp(g, -exponent))


def _logaddexp(x: Any, y: Any) -> Any:
    if "c" in (x.dtype.kind, getattr(y, "dtype", x.dtype).kind):
        x_first = np.real(x) >= np.real(y)
        larger, smaller = np.where(x_first, x, y), np.where(x_first, y, x)
        return larger + np.log1p(np.exp(smaller - larger))
    if x.__class__ is np.ndarray and x.size < 512:
        return np.logaddexp(x, y)
    distance = np.fmax(np.abs(x - y), 0)  # NaN between equal infinities becomes 0
    return np.maximum(x, y) + np.log1p(np.exp(-distance))


@op.elementwise(numpy_impl=refusing("biu", "logaddexp_cpu")(_logaddexp))
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow.

    Derivative: ``sigmoid(input - other)`` and ``sigmoid(other - input)``. Between equal infinities they are
    1/2, the limit along equal arguments (PyTorch: NaN).

    >>> import pullback as torch
    >>> torch.logaddexp(torch.tensor([0.0, -100.0]), torch.tensor([0.0, -100.0]))
    tensor([  0.6931, -99.3069])
    """


def _logaddexp2(x: Any, y: Any) -> Any:
    if x.__class__ is np.ndarray and x.size < 512:
        return np.logaddexp2(x, y)
    distance = np.fmax(np.abs(x - y), 0)
    return np.maximum(x, y) + np.log1p(np.exp2(-distance)) * (1 / LN2)


@op.elementwise(numpy_impl=refusing("biuc", "logaddexp2_cpu")(_logaddexp2))
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow. For the derivative see :func:`logaddexp`.

    >>> import pullback as torch
    >>> torch.logaddexp2(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([2.])
    """


def _difference(x: Any, y: Any) -> Any:
    """``x - y``, where equal infinities differ by 0."""
    same = (x == y) & isinf(x)
    return where(same, 0, x - y)


logaddexp.vjp(
    input=lambda g, input, other: g * sigmoid(_difference(input, other)),
    other=lambda g, input, other: g * sigmoid(_difference(other, input)),
)
logaddexp2.vjp(
    input=lambda g, input, other: g * sigmoid(_difference(input, other) * LN2),
    other=lambda g, input, other: g * sigmoid(_difference(other, input) * LN2),
)


@op.elementwise(name="lerp", method=False, node="LerpBackward1")
def elementwise_lerp(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    # From the nearer end, so that the result is exact at both ends.
    way, near_start = end - input, abs(weight) < 0.5
    if getattr(weight, "ndim", 0) == 0:
        return input + weight * way if near_start else end - way * (1 - weight)
    return fast_where(near_start, input + weight * way, end - way * (1 - weight))


elementwise_lerp.vjp(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
)


@op.composite(inplace=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    """``input + weight * (end - input)``: linear interpolation from ``input`` to ``end``.

    Args:
        input, end: floating or complex, of one type; shapes broadcast.
        weight: a number, or a tensor of that type.

    Raises:
        RuntimeError: if the types differ.

    >>> import pullback as torch
    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    d = input._array.dtype
    if d.kind in "biu" or end._array.dtype is not d or isinstance(weight, Tensor):
        for name, t in (("end", end), ("weight", weight)):
            if isinstance(t, Tensor) and t.dtype is not input.dtype:
                raise RuntimeError(f"expected dtype {input.dtype.name} for `{name}` but got dtype {t.dtype.name}")
        if d.kind in "biu":
            raise not_implemented("lerp_kernel_scalar", input._array)
    check_numbers(FLOAT32 if d.itemsize == 2 else d, weight)
    return elementwise_lerp(input, end, weight, out=out)


def _scale(x: Any, value: Any) -> Any:
    """``x * value``, where the value is an integer if ``x`` is."""
    if value.__class__ is int and value == 1:
        return x
    return x * (as_factor(value, x.dtype) if x.__class__ is np.ndarray else value)


def _check_factor(value: Any, *tensors: Tensor) -> None:
    """Refuse a factor that the common type of the tensors does not hold: a kernel multiplies by it as it is."""
    if isinstance(value, (int, float, complex)) and not (value.__class__ is not complex and abs(value) <= HALF_MAX):
        d = result_type_of([t._array for t in tensors]).numpy
        check_numbers(WIDE.get(d, d), value)


@op.elementwise(name="addcmul", method=False)
def elementwise_addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    if input.dtype.kind == "b":
        raise not_implemented("addcmul_cpu_out", input)
    return input + _scale(tensor1, value) * tensor2


elementwise_addcmul.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda g, tensor1, value: g * (tensor1 * value),
)


@op.composite(inplace=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 * tensor2``.

    >>> import pullback as torch
    >>> torch.addcmul(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0]), value=10)
    tensor([61.])
    """
    _check_factor(value, input, tensor1, tensor2)
    return elementwise_addcmul(input, tensor1, tensor2, value, out=out)


@op.elementwise(name="addcdiv", method=False)
def elementwise_addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    return input + _scale(tensor1, value) / tensor2


elementwise_addcdiv.vjp(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: g * (tensor1 * -value / tensor2 / tensor2),
)


@op.composite(inplace=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 / tensor2``; the tensors that are divided may not both be integers.

    >>> import pullback as torch
    >>> torch.addcdiv(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([2.0]), value=10)
    tensor([16.])
    """
    if tensor1.dtype.category <= INTEGRAL and tensor2.dtype.category <= INTEGRAL:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported\n"
            "  Make one of the tensors float first: tensor1.float()."
        )
    _check_factor(value, input, tensor1, tensor2)
    return elementwise_addcdiv(input, tensor1, tensor2, value, out=out)


BELOW = {d: np.array(-1, d) for d in (FLOAT32, FLOAT64)}


@op.general(
    inplace=True, check_out=inplace.same_dtype("heaviside is not yet implemented for tensors with different dtypes.")
)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and ``values`` at 0. It has no derivative.

    Args:
        input, values: of one real type; shapes broadcast.

    >>> import pullback as torch
    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    d = input.dtype
    if d.kind == "c" or values.dtype != d:
        what = (
            "complex tensors."
            if "c" in (d.kind, values.dtype.kind)
            else f"tensors with different dtypes.\n  {d} and {values.dtype}"
        )
        raise RuntimeError(f"heaviside is not yet implemented for {what}")
    if input.size < MANY and d in BELOW:
        return np.heaviside(np.fmax(input, BELOW[d]), values)  # 0 for NaN, too
    return np.where(input, np.greater(input, ZEROS.get(d, 0)), values)


heaviside.vjp()


def _nextafter(x: np.ndarray, y: np.ndarray) -> Any:
    """``np.nextafter`` by integer arithmetic on the bits, which order numbers of one sign."""
    bits = {4: np.int32, 8: np.int64}.get(x.dtype.itemsize)
    if bits is None or x.dtype != y.dtype or x.shape != y.shape or x.size < 512:
        return np.nextafter(x, y)
    steps = _sign_of_difference(y, x)
    steps *= _sign_of_difference(x, 0)
    result = steps.astype(bits)
    result += x.view(bits)
    result = result.view(x.dtype)
    if np.count_nonzero(steps) < x.size:  # some are equal, zero or NaN
        rest = np.equal(steps, 0)
        result[rest] = np.nextafter(x[rest], y[rest])
    return result


@op.general(inplace=True, check_out=inplace.castable)
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
    return _nextafter(input, other)


nextafter.vjp(input=lambda g, input, other: where(input == other, 0, g), other=lambda g: zero_gradient(g))


@constant(numpy_impl=np.gcd, refuse="bfcV")
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor of integers; of 0 and 0 it is 0.

    >>> import pullback as torch
    >>> torch.gcd(torch.tensor([12, 5]), torch.tensor([18, 0]))
    tensor([6, 5])
    """


@constant(numpy_impl=np.lcm, refuse="bfcV")
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple of integers; of 0 and anything it is 0.

    >>> import pullback as torch
    >>> torch.lcm(torch.tensor([4, 5]), torch.tensor([6, 0]))
    tensor([12,  0])
    """
