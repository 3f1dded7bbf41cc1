"""``eq``, ``lt``, ``isclose``, ``isnan``, ``logical_and``, ``bitwise_and``, ...: ops without a gradient.

Results are bool (integers for the bitwise operations), nothing is recorded; shapes broadcast and types promote as in
arithmetic. In place, ``x.eq_(y)`` writes 0 and 1 in x's own type, and the old x gets gradient 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import (
    BOOLEAN,
    COMPLEX_HALF,
    COMPLEX_KINDS,
    FLOAT32,
    FLOAT64,
    INT64,
    OF_NUMPY,
    WIDE,
    exact_number,
    imaginary_of,
    result_type_of,
)
from ..base.layout import match_layout
from ..core import fast_call, inplace, op, record, slow_call
from ..core.level import LevelValue, by_example, concrete_array, unbatched, wrap_value
from ..core.override import overridable
from ..core.rules import camel_case
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..kernels.dispatch import FEW, SLOW_UFUNCS

__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
    "signbit",
]

ndarray, asarray, wrap = np.ndarray, np.asarray, record.wrap


def not_implemented(kernel: str, x: np.ndarray) -> NotImplementedError:
    """PyTorch's error for a dtype that the kernel of that name does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.type_name(OF_NUMPY[x.dtype])}'")


def refusing(kinds: str, complaint: str, error: type[Exception] = NotImplementedError) -> Callable:
    """Make a forward function refuse dtypes of these NumPy kinds. ``complaint`` is the message, or a kernel's name."""

    def limit(forward: Callable) -> Callable:
        def limited(x: Any, *others: Any) -> Any:
            if x.__class__ is ndarray and dtypes.kind_of(x.dtype) in kinds:
                raise error(complaint) if " " in complaint else not_implemented(complaint, x)
            return forward(x, *others)

        limited.of_floats = limited if "f" in kinds else forward  # without the look
        limited.refuses = kinds
        return limited

    return limit


# --- between two --------------------------------------------------------------------------------------------


def constant(
    *,
    numpy_impl: Callable | None = None,
    refuse: str = "W",
    kernel: str = "",
    number: Callable[[Any, np.dtype], Any] = dtypes.wrap_number,
) -> Callable[[Callable], Any]:
    """Declare a binary operation that is never recorded, with its in-place form.

    One dtype, or a Python number of the tensor's category, takes a fast path past :func:`op.elementwise`.
    """

    def declare(stated: Callable) -> Any:
        name = stated.__name__
        plain = impl = numpy_impl or stated
        if refuse:
            impl = refusing(refuse, kernel or name + "_cpu")(impl)
        this = op.Op(stated, "elementwise", numpy_impl=impl, number=number)
        general = slow_call.elementwise_slow
        is_slow = numpy_impl in SLOW_UFUNCS

        def compare(input: Any, other: Any, out: Any, operator: bool) -> Any:
            try:
                x, c = input._array, other.__class__
                d = x.dtype
                y = other if c is float or c is int else other._array
                if y is other:
                    fast = d is FLOAT32 or d is FLOAT64 or c is int and d is INT64
                else:
                    fast = y.dtype is d and d not in WIDE
                if (
                    fast
                    and d.kind not in refuse
                    and out is None
                    and not thread_state.slow_path_reasons
                    and (y is other or c in PLAIN_TENSOR_TYPES)
                    and input.__class__ in PLAIN_TENSOR_TYPES
                ):
                    compute = this.impl if is_slow and d is not BOOLEAN and x.size > FEW else plain
                    value = asarray(compute(x, y))
                    return wrap(
                        value
                        if y is other or x.flags.c_contiguous and y.flags.c_contiguous
                        else match_layout((x, y), value)
                    )
            except Exception:  # the slow path raises the better error
                pass
            return general(this, (input, other), out, operator)

        def in_python(input: Any, other: Any) -> Any:
            return asarray(impl(input, other)) if input.__class__ is ndarray else compare(input, other, None, False)

        def operator(input: Any, other: Any) -> Any:
            return compare(input, other, None, True)

        def call(input: Any, other: Any, *, out: Any = None) -> Any:
            return perform(input, other) if out is None else compare(input, other, out, False)

        perform, operate = in_python, operator

        def lay_out() -> None:
            nonlocal perform, operate
            perform, operate = fast_call.native_call(this, in_python), fast_call.native_call(this, operator)

        for attribute in ("__module__", "__doc__", "__name__", "__qualname__"):
            setattr(call, attribute, getattr(stated, attribute))
        call.op, call.__wrapped__ = this, stated
        this.call, this.operator = call, lambda input, other: operate(input, other)
        this.on_saved_spec_change.append(lay_out)
        op.add_method(call, name)
        op.add_method(inplace_nondifferentiable(name, call), name + "_")
        return call

    return declare


@op.general(method=False, node=lambda input, value, name: camel_case(name) + "Backward0")
def overwritten(input: Tensor, value: np.ndarray, name: str) -> Tensor:
    """``value``, recorded as having overwritten ``input``, whose gradient is 0."""
    return value


overwritten.vjp(input=lambda g: zero_gradient(g))


def zero_gradient(g: Any) -> Any:
    """The gradient of a piecewise constant function: zeros, even where the incoming gradient is infinite or NaN."""
    a = g._array if isinstance(g, Tensor) else g
    if isinstance(a, LevelValue):  # zeros leave a level where ``g`` does
        zero = wrap_value(a).masked_fill(wrap_value(np.array(True)), 0)
        return zero if isinstance(g, Tensor) else zero._array
    zeros = np.zeros(a.shape, a.dtype)
    return wrap(zeros) if isinstance(g, Tensor) else zeros


def inplace_nondifferentiable(name: str, fn: Callable) -> Callable:
    """The in-place form of a function whose result has no gradient."""

    def call(input: Tensor, *args: Any) -> Tensor:
        result = fn(input, *args)._array
        if result.dtype is BOOLEAN:
            result = result.astype(input._array.dtype)
        if result.shape != input._array.shape:
            return inplace.assign(input, name + "_", wrap(result))  # raises
        return inplace.assign(input, name + "_", overwritten(input, result, name))

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"In-place version of :func:`{name}`: writes into this tensor, in its type, returns it."
    return call


@constant(numpy_impl=np.equal, refuse="", number=exact_number)
def eq(input: Tensor, other: Tensor) -> Tensor:
    """Whether elements are equal, as bool; the operator ``==``.

    Args:
        input, other: tensors or a number; shapes broadcast, types promote. NaN equals nothing.

    >>> import pullback as torch
    >>> torch.eq(torch.tensor([1.0, 2.0]), 2)
    tensor([False,  True])
    """


@constant(numpy_impl=np.not_equal, refuse="", number=exact_number)
def ne(input: Tensor, other: Tensor) -> Tensor:
    """Whether elements differ, as bool; the operator ``!=``. NaN differs from everything.

    >>> import pullback as torch
    >>> torch.ne(torch.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """


@constant(numpy_impl=np.less, refuse="cW", number=exact_number)
def lt(input: Tensor, other: Tensor) -> Tensor:
    """Whether ``input < other``, element by element, as bool. Complex input: NotImplementedError.

    >>> import pullback as torch
    >>> torch.lt(torch.tensor([1, 2, 3]), torch.tensor([2, 2, 2]))
    tensor([ True, False, False])
    """


@constant(numpy_impl=np.less_equal, refuse="cW", number=exact_number)
def le(input: Tensor, other: Tensor) -> Tensor:
    """Whether ``input <= other``, element by element, as bool.

    >>> import pullback as torch
    >>> torch.le(torch.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """


@constant(numpy_impl=np.greater, refuse="cW", number=exact_number)
def gt(input: Tensor, other: Tensor) -> Tensor:
    """Whether ``input > other``, element by element, as bool.

    >>> import pullback as torch
    >>> torch.gt(torch.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """


@constant(numpy_impl=np.greater_equal, refuse="cW", number=exact_number)
def ge(input: Tensor, other: Tensor) -> Tensor:
    """Whether ``input >= other``, element by element, as bool.

    >>> import pullback as torch
    >>> torch.ge(torch.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """


@constant(numpy_impl=np.logical_and)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are other than zero, as bool.

    >>> import pullback as torch
    >>> torch.logical_and(torch.tensor([0, 1, 2]), torch.tensor([1.0, 0.0, 3.0]))
    tensor([False, False,  True])
    """


@constant(numpy_impl=np.logical_or)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether either element is other than zero, as bool.

    >>> import pullback as torch
    >>> torch.logical_or(torch.tensor([0, 1]), torch.tensor([0.0, 0.0]))
    tensor([False,  True])
    """


@constant(numpy_impl=np.logical_xor)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one of the elements is other than zero, as bool.

    >>> import pullback as torch
    >>> torch.logical_xor(torch.tensor([0, 1]), torch.tensor([2.0, 2.0]))
    tensor([ True, False])
    """


# --- bits ---------------------------------------------------------------------------------------------------


@constant(numpy_impl=np.bitwise_and, refuse="fcVW")
def bitwise_and(input: Tensor, other: Tensor) -> Tensor:
    """Bits set in both, of integers; logical AND of bools; the operator ``&``.

    >>> import pullback as torch
    >>> torch.bitwise_and(torch.tensor([6, 5]), 3)
    tensor([2, 1])
    """


@constant(numpy_impl=np.bitwise_or, refuse="fcVW")
def bitwise_or(input: Tensor, other: Tensor) -> Tensor:
    """Bits set in either, of integers; logical OR of bools; the operator ``|``.

    >>> import pullback as torch
    >>> torch.bitwise_or(torch.tensor([6, 5]), 3)
    tensor([7, 7])
    """


@constant(numpy_impl=np.bitwise_xor, refuse="fcVW")
def bitwise_xor(input: Tensor, other: Tensor) -> Tensor:
    """Bits set in exactly one, of integers; logical XOR of bools; the operator ``^``.

    >>> import pullback as torch
    >>> torch.bitwise_xor(torch.tensor([6, 5]), 3)
    tensor([5, 6])
    """


@constant(
    numpy_impl=np.left_shift, refuse="bfcVW", kernel="lshift_cpu"
)  # NumPy, too, gives 0 where C's result is undefined
def bitwise_left_shift(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``, of integers, as far as the bits go; the operator ``<<``.

    Shifting by a negative number, or by all bits, leaves 0.

    >>> import pullback as torch
    >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """


@constant(numpy_impl=np.right_shift, refuse="bfcVW", kernel="rshift_cpu")
def bitwise_right_shift(input: Tensor, other: Tensor) -> Tensor:
    """``input`` divided by ``2 ** other`` and rounded down, of integers; the operator ``>>``.

    Shifting by a negative number, or by all bits, leaves the sign: -1 or 0.

    >>> import pullback as torch
    >>> torch.bitwise_right_shift(torch.tensor([12, -12]), 2)
    tensor([ 3, -3])
    """


# --- of one -------------------------------------------------------------------------------------------------


@op.general(check_out=inplace.found_dtype)
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit flipped, of integers; logical NOT of bools; the operator ``~``.

    >>> import pullback as torch
    >>> torch.bitwise_not(torch.tensor([0, 5])), ~torch.tensor([True])
    (tensor([-1, -6]), tensor([False]))
    """
    if input.dtype.kind not in "biu":
        raise not_implemented("bitwise_not_cpu", input)
    return np.invert(input)


@op.general(check_out=inplace.castable)
def logical_not(input: Tensor) -> Tensor:
    """Whether elements are zero, as bool.

    >>> import pullback as torch
    >>> torch.logical_not(torch.tensor([0.0, 2.0]))
    tensor([ True, False])
    """
    return np.equal(input, 0) if input.dtype.kind in "fiu" else np.logical_not(input)  # np.equal is vectorised


@op.general(scalar="isnan")
def isnan(input: Tensor) -> Tensor:
    """Whether elements are NaN (in either part, of complex numbers), as bool.

    >>> import pullback as torch
    >>> torch.isnan(torch.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """
    return np.isnan(input)


@op.general(scalar="isinf")
def isinf(input: Tensor) -> Tensor:
    """Whether elements are infinite (in either part, of complex numbers), as bool.

    >>> import pullback as torch
    >>> torch.isinf(torch.tensor([1.0, -float("inf")]))
    tensor([False,  True])
    """
    return np.isinf(input)


@op.general(scalar="isfinite")
def isfinite(input: Tensor) -> Tensor:
    """Whether elements are neither infinite nor NaN, as bool.

    >>> import pullback as torch
    >>> torch.isfinite(torch.tensor([1.0, float("inf"), float("nan")]))
    tensor([ True, False, False])
    """
    return np.isfinite(input)


@op.general(check_out=inplace.same_dtype("isposinf does not support non-boolean outputs."))
def isposinf(input: Tensor) -> Tensor:
    """Whether elements are positive infinity, as bool. Complex input: RuntimeError.

    >>> import pullback as torch
    >>> torch.isposinf(torch.tensor([float("inf"), -float("inf")]))
    tensor([ True, False])
    """
    return _is_infinity("isposinf", input, np.inf)


@op.general(check_out=inplace.same_dtype("isneginf does not support non-boolean outputs."))
def isneginf(input: Tensor) -> Tensor:
    """Whether elements are negative infinity, as bool. Complex input: RuntimeError.

    >>> import pullback as torch
    >>> torch.isneginf(torch.tensor([float("inf"), -float("inf")]))
    tensor([False,  True])
    """
    return _is_infinity("isneginf", input, -np.inf)


def _is_infinity(name: str, x: np.ndarray, infinity: float) -> np.ndarray:
    if x.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex inputs.")
    return np.equal(x, infinity) if x.dtype.kind in "fV" else np.zeros(x.shape, bool)


@op.general
def isreal(input: Tensor) -> Tensor:
    """Whether elements have no imaginary part, as bool.

    >>> import pullback as torch
    >>> torch.isreal(torch.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    if input.dtype.kind in COMPLEX_KINDS:
        return np.equal(imaginary_of(input), 0)
    result = np.empty(input.shape, bool)
    result.fill(True)  # faster than np.ones by one call
    return result


@op.general(check_out=inplace.same_dtype("signbit does not support non-boolean outputs."))
def signbit(input: Tensor) -> Tensor:
    """Whether the sign is negative, as bool: of -0.0, too. Complex input: NotImplementedError.

    >>> import pullback as torch
    >>> torch.signbit(torch.tensor([-1.0, -0.0, 0.0]))
    tensor([ True,  True, False])
    """
    if input.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return np.signbit(input) if input.dtype.kind in "fV" else np.less(input, 0)


# --- nearly equal, and the same as a whole ------------------------------------------------------------------


@op.general
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)``, element by element, as bool.

    Args:
        input, other: of one type; shapes broadcast. Infinities are close to themselves only.
        rtol, atol: relative and absolute tolerance, not negative.
        equal_nan: whether NaN is close to NaN.

    Raises:
        RuntimeError: if the types differ, or a tolerance is negative.

    >>> import pullback as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    if input.dtype != other.dtype:
        a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (input, other))
        raise RuntimeError(f"{a} did not match {b}\n  isclose compares tensors of one type: x.to(y.dtype).")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    close = np.equal(input, other)
    if equal_nan:
        close |= np.isnan(input) & np.isnan(other)
    if rtol == 0 and atol == 0:
        return close
    kind = dtypes.kind_of(input.dtype)
    if kind in "biuVW":
        wide = np.complex128 if kind == "W" else np.float64
        input, other = input.astype(wide), other.astype(wide)
    error = np.abs(input - other)
    return close | np.isfinite(error) & (error <= atol + np.abs(rtol * other))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see :func:`isclose`. A Python bool.

    >>> import pullback as torch
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.000001]))
    True
    """
    unbatched(
        "vmap over torch.allclose isn't supported yet. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.",
        input,
        other,
    )
    return bool(concrete_array(isclose(input, other, rtol, atol, equal_nan)._array).all())


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements. A Python bool; NaN equals nothing.

    >>> import pullback as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    for name, t in (("'input' (position 1)", input), ("'other' (position 2)", other)):
        if not isinstance(t, Tensor):
            raise TypeError(f"equal(): argument {name} must be Tensor, not {type(t).__name__}")
    unbatched("Batching rule not implemented for aten::equal. We could not generate a fallback.", input, other)
    if COMPLEX_HALF in (input._array.dtype, other._array.dtype):
        raise not_implemented("equal_cpu", input._array)
    return input._array.shape == other._array.shape and bool(concrete_array(eq(input, other)._array).all())


@overridable
@by_example
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None
) -> Tensor:
    """Whether each element is one of ``test_elements``, as bool.

    Args:
        elements, test_elements: tensors, of which one may be a number.
        assume_unique: promise that neither holds an element twice, which can be faster.
        invert: ask whether it is none of them instead.

    >>> import pullback as torch
    >>> torch.isin(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 3]))
    tensor([[False,  True],
            [ True, False]])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): argument 'elements' (position 1) must be Tensor, or 'test_elements' must")
    given = [t._array if isinstance(t, Tensor) else t for t in (elements, test_elements)]
    a, b = (np.asarray(t) for t in given)
    for t in (a, b):
        if t.dtype.kind not in "iufV":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dtypes.type_name(OF_NUMPY[t.dtype])}")
    common = result_type_of(given).numpy
    a, b = a.astype(common), b.astype(common)
    if common.kind == "V":  # bfloat16
        a, b = a.astype(FLOAT32), b.astype(FLOAT32)
    result = wrap(np.isin(a, b, assume_unique=assume_unique, invert=invert))
    return result if out is None else inplace.write_out(out, result)


# --- other names, methods, Python's operators ---------------------------------------------------------------

greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
for _name, _fn in {"greater": gt, "greater_equal": ge, "less": lt, "less_equal": le, "not_equal": ne}.items():
    op.add_method(_fn, _name)
    op.add_method(getattr(Tensor, f"{_fn.__name__}_"), f"{_name}_")
for _fn in (logical_not, bitwise_not):
    op.add_method(inplace_nondifferentiable(_fn.__name__, _fn), _fn.__name__ + "_")
for _fn in (allclose, equal):
    op.add_method(_fn, _fn.__name__)

COMPARISONS = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
_BITWISE = {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}
_SHIFTS = {"lshift": bitwise_left_shift, "rshift": bitwise_right_shift}
for _name, _fn in (COMPARISONS | _BITWISE | _SHIFTS).items():
    setattr(Tensor, f"__{_name}__", _fn.op.operator)
for _name, _fn in _BITWISE.items():
    setattr(Tensor, f"__r{_name}__", _fn.op.operator)
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"{_fn.__name__}_"))
for _name, _fn in _SHIFTS.items():
    setattr(Tensor, f"__r{_name}__", lambda self, other, shift=_fn.op.operator: shift(other, self))
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"{_fn.__name__}_"))


def _invert(self: Tensor) -> Tensor:
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


Tensor.__invert__ = _invert  # type: ignore[assignment, method-assign]
