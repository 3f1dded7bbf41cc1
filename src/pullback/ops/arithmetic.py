"""``add``, ``sub``, ``mul``, ``div``, ``pow``, ``remainder``, ``neg``, ... and Python's operators for them.

Operands broadcast and mix types by PyTorch's rules (:mod:`pullback.base.dtypes`); ``/`` of integers gives floats. A
Python number promotes as the lowest category. ``elementwise_NAME`` is the primitive that a public function with further
arguments (``alpha=``, ``rounding_mode=``) calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import COMPLEX, FLOATING, HALF_MAX, HALVES, INT64, OF_NUMPY, as_factor, cast_number, wrap_number
from ..base.errors import not_a_tensor
from ..core import inplace, op
from ..core.tensor import Tensor
from ..kernels.numpy_blocks import BLOCK, Blocks
from .compare import zero_gradient
from .complex import is_complex, real
from .pointwise import floor, log, trunc
from .where import MANY, where

__all__ = [
    "add",
    "div",
    "divide",
    "float_power",
    "floor_divide",
    "fmod",
    "mul",
    "multiply",
    "neg",
    "negative",
    "pow",
    "remainder",
    "rsub",
    "sub",
    "subtract",
    "true_divide",
]


@op.elementwise(numpy_impl=np.add, name="add", method=False)
def elementwise_add(input: Tensor, other: Tensor) -> Tensor:
    """``input + other``."""


elementwise_add.vjp(input=lambda g: g, other=lambda g: g)


def _refuse_bool(*operands: Any) -> None:
    if any(x._array.dtype == np.bool_ if isinstance(x, Tensor) else isinstance(x, bool) for x in operands):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


@op.elementwise(numpy_impl=np.subtract, name="sub", method=False, check=_refuse_bool)
def elementwise_sub(input: Tensor, other: Tensor) -> Tensor:
    """``input - other``."""


elementwise_sub.vjp(input=lambda g: g, other=lambda g: -g)


def _scale_by_alpha(alpha: Any, x: Any, *operands: Any) -> Any:
    """``alpha * x``; refuses an ``alpha`` that the operands' result type can't hold, or of a higher category."""
    if alpha == 1 and alpha is not True:
        return x
    if x.__class__ is Tensor and alpha.__class__ in (int, float):
        d = x._array.dtype
        if (
            -127 <= alpha <= 127
            and (d in HALVES or d is INT64 and alpha.__class__ is int)
            or (d.kind == "f" and -HALF_MAX <= alpha <= HALF_MAX)
        ):
            for v in operands:
                if v.__class__ is not Tensor or v._array.dtype is not d:
                    break
            else:
                return x * alpha
    if isinstance(alpha, (int, float, complex)):
        d = dtypes.result_type_of([x._array if isinstance(x, Tensor) else x for x in operands])
        if isinstance(alpha, bool) and d is not dtypes.bool_:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(alpha, (float, complex)) and d.category < FLOATING:
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
        if isinstance(alpha, complex) and d.category < COMPLEX:
            raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
        alpha = as_factor(alpha, d.numpy)
        if isinstance(x, Tensor) and x.dtype is not d and d.category >= FLOATING:
            x = x.to(d)
    return x * alpha


@op.general(node="AddBackward0", method=False, linear="input other")
def scaled_sum(input: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """``input + alpha * other`` in one step, for tensors whose class computes."""
    return input + other * alpha


scaled_sum.vjp(input=lambda g: g, other=lambda g, alpha: g * alpha)


def _computes(x: Any) -> bool:
    """Whether a tensor is of a class that computes (``__torch_dispatch__``), or a mode sees what is computed."""
    if not isinstance(x, Tensor):
        return False
    return bool(thread_state.local.layers) or (
        x._array.__class__ is not np.ndarray and hasattr(type(x._array), "apply_class")
    )


@op.composite(inplace="out")
def add(input: Tensor, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """``input + alpha * other``, element by element.

    Args:
        input, other: tensors or a number; shapes broadcast, types promote.
        alpha: a number.

    >>> import pullback as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    if alpha.__class__ in (int, float) and alpha != 1 and out is None and (_computes(input) or _computes(other)):
        return scaled_sum(input, other, alpha)
    return elementwise_add(input, _scale_by_alpha(alpha, other, input, other), out=out)


@op.composite(inplace="out")
def sub(input: Tensor, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """``input - alpha * other``, element by element.

    Args:
        input, other: tensors or a number; shapes broadcast, types promote.
        alpha: a number.

    >>> import pullback as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    return elementwise_sub(input, _scale_by_alpha(alpha, other, input, other), out=out)


@op.composite
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``, element by element.

    >>> import pullback as torch
    >>> torch.rsub(torch.tensor([1.0, 2.0]), 3)
    tensor([2., 1.])
    """
    return elementwise_sub(other, _scale_by_alpha(alpha, input, input, other))


@op.elementwise(numpy_impl=np.multiply, inplace=True, saves_numbers=True)
def mul(input: Tensor, other: Tensor) -> Tensor:
    """Product, element by element.

    Args:
        input, other: tensors or a number; shapes broadcast, types promote.

    >>> import pullback as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """


mul.vjp(input=lambda g, other: g * other, other=lambda g, input: g * input)


@op.elementwise(numpy_impl=np.true_divide, name="div", method=False, result_category=FLOATING, saves_numbers=True)
def elementwise_div(input: Tensor, other: Tensor) -> Tensor:
    """``input / other``."""


elementwise_div.vjp(input=lambda g, other: g / other, other=lambda g, input, other: -g * ((input / other) / other))


@op.composite(inplace="out")
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """Quotient, element by element.

    Args:
        input, other: tensors or a number; shapes broadcast, types promote.
        rounding_mode: None divides truly (integers give floats), ``"trunc"`` rounds to zero, ``"floor"`` down.

    >>> import pullback as torch
    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="floor")
    tensor([-4,  3])
    """
    if rounding_mode is None:
        return elementwise_div(input, other, out=out)
    if rounding_mode == "floor":
        return floor_divide(input, other, out=out)
    if rounding_mode == "trunc":
        return truncated_divide(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _common_real_dtype(name: str, *operands: Any) -> np.dtype:
    """The operands' result type, which must be real."""
    first, *others = [getattr(v, "dtype", None) for v in operands]
    d = first if first is not None and others == [first] * len(others) else np.result_type(*operands)
    if d.kind in "bc":
        raise _not_implemented(name, d)
    return d


def _not_implemented(name: str, d: np.dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{name}\" not implemented for '{dtypes.type_name(OF_NUMPY[d])}'")


def _floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if _common_real_dtype("div_floor_cpu", x, y).kind in "iu":
        if np.count_nonzero(y) < np.size(y):
            raise RuntimeError("ZeroDivisionError")
        return np.floor_divide(x, y)
    with np.errstate(all="ignore"):
        q = np.floor_divide(x, y)
        return np.where(np.equal(y, 0), np.true_divide(x, y), q).astype(q.dtype, copy=False)  # PyTorch: inf, not NaN


@op.elementwise(numpy_impl=_floor_divide, inplace=True, scalar="floor_divide", at_any_size=True)
def floor_divide(input: Tensor, other: Tensor) -> Tensor:
    """Quotient rounded down, element by element; the operator ``//``.

    >>> import pullback as torch
    >>> torch.tensor([-3.0, 7.0]) // 2
    tensor([-2.,  3.])
    """


floor_divide.vjp(input=lambda g: zero_gradient(g), other=lambda g: zero_gradient(g))


def _truncated_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = np.result_type(x, y).kind
    if kind == "c":
        raise _not_implemented("div_trunc_cpu", np.result_type(x, y))
    if kind in "iu":
        if np.any(np.equal(y, 0)):
            raise RuntimeError("ZeroDivisionError")
        q = np.floor_divide(x, y)
        return q + ((q < 0) & (q * y != x)).astype(q.dtype)
    return np.trunc(np.true_divide(x, y))


@op.elementwise(numpy_impl=_truncated_divide, method=False)
def truncated_divide(input: Tensor, other: Tensor) -> Tensor:
    """Quotient rounded to zero."""


truncated_divide.vjp(input=lambda g: zero_gradient(g), other=lambda g: zero_gradient(g))


def _zero_checked(f: Any) -> Any:
    kernel = f.__name__ + "_cpu"

    def checked(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if _common_real_dtype(kernel, x, y).kind in "iu" and np.count_nonzero(y) < np.size(y):
            raise RuntimeError("ZeroDivisionError")
        return f(x, y)

    return checked


def _in_double(f: Any, rounded: Any, towards: int) -> Any:
    """Remainders of many float32 numbers computed from quotients in float64: exact, in a tenth of the time of C's
    ``fmod``.

    Below 2 ** 28 the quotient of two numbers of 24 bits is an integer, or farther from one than float64 rounds; its
    product with the divisor has 52 bits.

    Args:
        rounded: rounds the quotient to an integer.
        towards: which operand's sign the result has, also when it is 0.
    """

    def remaining(*operands: Any) -> Any:
        arrays = [v for v in operands if v.__class__ is np.ndarray]
        if not arrays or max([v.size for v in arrays]) < MANY or any([v.dtype != np.float32 for v in arrays]):
            return f(*operands)
        return in_blocks(*operands)

    def of_many(*operands: Any) -> Any:
        x, y = (np.asarray(v, np.float32).astype(np.float64) for v in operands)
        whole = np.asarray(x / y)
        rounded(whole, whole)
        if not (np.abs(whole).max() < 2**28 and np.isfinite(y).all()):  # False for NaN
            return f(*operands)
        whole *= y
        np.subtract(x, whole, whole)
        return np.copysign(whole, (x, y)[towards], whole).astype(np.float32)

    in_blocks = Blocks(of_many, BLOCK)
    remaining.__name__ = f.__name__
    return remaining


@op.elementwise(numpy_impl=_zero_checked(_in_double(np.remainder, np.floor, 1)), inplace=True, scalar="remainder")
def remainder(input: Tensor, other: Tensor) -> Tensor:
    """Remainder with the sign of the divisor; the operator ``%``.

    The derivative follows ``input - floor(input / other) * other`` between the jumps.

    >>> import pullback as torch
    >>> torch.remainder(torch.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """


remainder.vjp(input=lambda g: g, other=lambda g, input, other: -g * floor(input / other))


@op.elementwise(numpy_impl=_zero_checked(_in_double(np.fmod, np.trunc, 0)), inplace=True, scalar="fmod")
def fmod(input: Tensor, other: Tensor) -> Tensor:
    """Remainder with the sign of the dividend, as C's ``fmod``.

    >>> import pullback as torch
    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """


fmod.vjp(input=lambda g: g, other=lambda g, input, other: -g * trunc(input / other))


def _negative(x: np.ndarray) -> np.ndarray:
    if x.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return np.negative(x)


@op.elementwise(numpy_impl=_negative, inplace=True, check_out=inplace.found_dtype)
def neg(input: Tensor) -> Tensor:
    """``-input``.

    >>> import pullback as torch
    >>> -torch.tensor([1.0, -2.0])
    tensor([-1.,  2.])
    """


neg.vjp(input=lambda g: -g)


def _power(x: Any, y: Any) -> Any:
    if x.__class__ is np.ndarray and x.dtype == np.bool_ and y.__class__ is bool:
        return x | (not y)
    if bool in (x.__class__, y.__class__) or x.__class__ is np.ndarray and x.dtype == np.bool_:
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if y.__class__ in (int, float) or isinstance(y, (np.generic, np.ndarray)) and not y.ndim and y.dtype.kind == "i":
        if y == 2:
            return np.multiply(x, x)
        if y == 3:
            return x * x * x
    if y.__class__ in (int, float):
        if y == 0.5:
            return np.sqrt(x)
    elif (
        isinstance(y, (np.ndarray, np.generic)) and not y.ndim and y == 0.5
    ):  # NumPy would take the root, as for a number
        return np.power(x, np.full(np.shape(x) or 1, y)).reshape(np.shape(x))
    elif isinstance(y, np.ndarray) and y.dtype.kind in "iu" and np.any(y < 0) and np.asarray(x).dtype.kind in "iu":
        x = np.asarray(x)
        inverse = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0))
        return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(np.result_type(x, y))
    return np.power(x, y)


def _check_exponent(input: Any, exponent: Any) -> None:
    if not isinstance(input, Tensor) or exponent.__class__ not in (int, float):
        return
    if 0 <= exponent < 128:  # which every type holds
        return
    d = input.dtype
    if exponent.__class__ is int and d.category < FLOATING:
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        cast_number(exponent, d.numpy if d.category else INT64)
    elif d.category == FLOATING and d.itemsize == 2:
        cast_number(exponent, d.numpy)


def _power_number(value: Any, dtype: np.dtype) -> Any:
    """An operand; True and False stay Python's, since of all that is bool only they are exponents of a mask."""
    return value if value.__class__ is bool and dtype.kind == "b" else wrap_number(value, dtype)


@op.elementwise(
    numpy_impl=_power,
    name="pow",
    method=False,
    node="PowBackward1",
    check=_check_exponent,
    number=_power_number,
    scalar="pow",
)
def elementwise_pow(input: Tensor, exponent: Tensor) -> Tensor:
    """``input ** exponent``."""


@op.composite(inplace=True)
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """``input`` to the power ``exponent``, element by element; the operator ``**``.

    Derivatives: ``exponent * input ** (exponent - 1)``, 0 where the exponent is 0; ``log(input) * out``, 0 where the
    base is 0 and the exponent is not negative.

    >>> import pullback as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    return elementwise_pow(input, exponent, out=out)


def _pow_base_vjp(g: Any, input: Any, exponent: Any) -> Any:
    if exponent.__class__ in (int, float):
        if exponent == 0:
            return zero_gradient(g)
        return g * (input * 2 if exponent == 2 else exponent * input ** (exponent - 1))
    return where(exponent == 0, 0, g * (exponent * elementwise_pow(input, exponent - 1)))


def _pow_exponent_vjp(g: Any, input: Any, exponent: Any, out: Any) -> Any:
    if isinstance(input, (int, float)) and input == 0:
        return where(exponent >= 0, 0, g * (out * -float("inf")))
    if isinstance(input, (int, float, complex)):
        logarithm = np.log(complex(input) if is_complex(out) else input).item()
    else:
        logarithm = log(input)
    base_is_zero = input == 0
    if base_is_zero is False:
        return g * (out * logarithm)
    harmless = base_is_zero if getattr(exponent, "dtype", None) is None else base_is_zero & _is_nonnegative(exponent)
    return where(harmless, 0, g * (out * logarithm))


def _is_nonnegative(exponent: Any) -> Any:
    return (real(exponent) if is_complex(exponent) else exponent) >= 0


elementwise_pow.vjp(input=_pow_base_vjp, exponent=_pow_exponent_vjp)


@op.composite(method=False)
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """``input ** exponent`` in float64 (complex128 for complex).

    >>> import pullback as torch
    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
    either = [x for x in (input, exponent) if isinstance(x, Tensor)]
    wide = (
        dtypes.complex128 if any(is_complex(x) or isinstance(x, complex) for x in (input, exponent)) else dtypes.float64
    )
    input, exponent = (x.to(wide) if isinstance(x, Tensor) else x for x in (input, exponent))
    if not either:
        raise not_a_tensor("float_power", "input", 0, input)
    if isinstance(out, Tensor) and out.dtype is not wide:
        raise RuntimeError(
            f"the output given to float_power has dtype {dtypes.type_name(out.dtype)} but the operation's result "
            f"requires dtype {dtypes.type_name(wide)}"
        )
    return pow(input, exponent, out=out)


def _float_power_(input: Tensor, exponent: Any) -> Tensor:
    """In-place version of :func:`float_power`, for tensors that are float64 or complex128 already."""
    result = float_power(input, exponent)
    if result.dtype is not input.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.type_name(input.dtype)} but the operation's result "
            f"requires dtype {dtypes.type_name(result.dtype)}"
        )
    return inplace.assign(input, "float_power_", result)


op.add_method(_float_power_, "float_power_")
for _numeric in (elementwise_add, elementwise_sub, mul, elementwise_div, floor_divide, truncated_divide):
    _numeric.op.takes_numbers = True

subtract, multiply, divide, true_divide, negative = sub, mul, div, div, neg
for _name, _fn in {
    "subtract": sub,
    "multiply": mul,
    "divide": div,
    "true_divide": div,
    "negative": neg,
    "float_power": float_power,
}.items():
    op.add_method(_fn, _name)
for _name, _fn in {
    "subtract_": Tensor.sub_,
    "multiply_": Tensor.mul_,
    "divide_": Tensor.div_,
    "true_divide_": Tensor.div_,
    "negative_": Tensor.neg_,
}.items():
    op.add_method(_fn, _name)


# --- Python's operators -----------------------------------------------------------------------------------------


def _reflected(binary: Any) -> Any:
    return lambda self, other: binary.op.operator(other, self)


def _inplace(binary: Any) -> Any:
    name, operator, direct = binary.op.name + "_", binary.op.operator, isinstance(binary.op.impl, np.ufunc)

    def assign(self: Tensor, other: Any) -> Tensor:
        inplace.refuse_overlap(self, other, partial=True)
        if direct and inplace.may_compute_into(self, (other,)):
            return binary(self, other, out=self)
        result = operator(self, other)
        return result if result is NotImplemented else inplace.assign(self, name, result)

    return assign


op.add_method(_reflected(elementwise_div), "__rdiv__")  # Python 2's operator, which PyTorch still has
Tensor.__neg__ = neg  # type: ignore[method-assign]
Tensor.__pos__ = lambda self: self  # type: ignore[assignment, method-assign]
OPERATORS = {
    "add": elementwise_add,
    "sub": elementwise_sub,
    "mul": mul,
    "truediv": elementwise_div,
    "floordiv": floor_divide,
    "mod": remainder,
    "pow": elementwise_pow,
}
for _name, _fn in OPERATORS.items():
    _fn.op.reflected = _fn.op.operator if _fn in (elementwise_add, mul) else _reflected(_fn)
    setattr(Tensor, f"__{_name}__", _fn.op.operator)
    setattr(Tensor, f"__r{_name}__", _fn.op.reflected)
    setattr(Tensor, f"__i{_name}__", _inplace(_fn))
