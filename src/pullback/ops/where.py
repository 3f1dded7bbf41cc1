"""``where``, ``maximum``, ``minimum``, ``clamp``, ``relu``, ``threshold``, ``nan_to_num``: elementwise selection.

Kinks and ties follow PyTorch: ``relu`` has the derivative 0 at 0; ``maximum`` and ``minimum`` halve the gradient
between equal arguments, ``fmax`` and ``fmin`` give it to the first; ``clamp`` passes it on at its bounds.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, HALF_MAX, INT64, INTEGRAL, OF_NUMPY, cast_number, check_numbers
from ..core import inplace, op, record
from ..core.level import concrete_array, unbatched
from ..core.override import NOT_OVERRIDDEN, overridden
from ..core.tensor import Tensor
from ..kernels import dispatch
from .compare import isfinite, not_implemented, refusing

__all__ = [
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "nan_to_num",
    "relu",
    "threshold",
    "where",
]

ndarray, asarray = np.ndarray, np.asarray

BITS = {2: np.int16, 4: np.int32, 8: np.int64}  # by itemsize: bits times 0 or 1 are exact, also for NaN
ZEROS = {d: np.zeros((), d) for d in (FLOAT32, FLOAT64, INT64)}  # cached: making one takes as long as np.where
NUMBERS = (int, float)
# the last two: NumPy's scalars, from arithmetic on 0-d arrays in a rule
ARRAYS = (ndarray, np.float32, np.float64)
KNOWN = (*ARRAYS, *NUMBERS)
BOOLEAN = np.dtype(bool)
MANY = 4096  # elements from which masking bits is faster than np.where's branches


SAME_SIZE = {INT64: FLOAT64, np.dtype(np.int32): FLOAT32}


def places_of(array: np.ndarray) -> tuple[Tensor, ...]:
    """The indices of what is not 0, a contiguous tensor a dimension (NumPy's are columns of one array)."""
    return tuple([record.wrap(np.ascontiguousarray(i, np.int64)) for i in np.atleast_1d(array).nonzero()])


def fast_where(condition: Any, x: Any, y: Any) -> Any:
    """``np.where``; for large arrays by masking bits, as mispredicted branches cost more."""
    if condition.__class__ is ndarray and condition.size >= MANY:
        if y.__class__ in (float, int) and x.__class__ is ndarray and x.dtype.kind == "f":
            y = x.dtype.type(y)
        elif x.__class__ in (float, int) and y.__class__ is ndarray and y.dtype.kind == "f":
            x = y.dtype.type(x)
        if x.__class__ is y.__class__ is ndarray and x.dtype == y.dtype and x.dtype in SAME_SIZE:  # kernels take floats
            d = SAME_SIZE[x.dtype]
            return elementwise_where.op.impl(condition, x.view(d), y.view(d)).view(x.dtype)
        if isinstance(x, (ndarray, np.generic)) and isinstance(y, (ndarray, np.generic)) and x.dtype == y.dtype:
            bits = BITS.get(x.dtype.itemsize)
            if bits is not None:
                y = y.view(bits)
                apart = asarray(np.bitwise_xor(x.view(bits), y))
                chosen = asarray(np.multiply(apart, condition, apart if apart.shape == condition.shape else None))
                return np.bitwise_xor(chosen, y, chosen).view(x.dtype)
    return np.where(condition, x, y)


@op.general(method=False, node="WhereBackward0", pointwise=True, scalar="keep")
def keep(input: Tensor, mask: np.ndarray) -> Tensor:
    """``input`` where the mask (a bool array) is True, 0 elsewhere, even for NaN."""
    if input.size < MANY:
        zero = ZEROS.get(input.dtype)
        return np.where(mask, input, input.dtype.type(0) if zero is None else zero)
    bits = BITS.get(input.dtype.itemsize)
    if bits is None:
        return np.where(mask, input, input.dtype.type(0))
    kept = mask.astype(bits)  # cast first: cast in the multiplication's buffers takes a third longer
    return np.multiply(
        input.view(bits), kept, kept if kept.strides == input.strides and kept.shape == input.shape else None
    ).view(input.dtype)


keep.vjp(input=lambda g, mask: where(mask, g, 0))


SINGLE_MAX = float(np.finfo(np.float32).max)


@op.elementwise(
    name="where",
    method=False,
    scalar="where",
    number=cast_number,
    check_out=inplace.same_dtype("Expected out type to be {} but got {}"),
)
def elementwise_where(condition: np.ndarray, input: Tensor, other: Tensor) -> Tensor:
    """``input`` where the condition (a bool array) is True, ``other`` elsewhere."""
    return fast_where(condition, input, other)


elementwise_where.vjp(
    input=lambda g, condition: where(condition, g, 0), other=lambda g, condition: where(condition, 0, g)
)


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere; of the condition alone, where it holds.

    Args:
        condition: bool tensor.
        input, other: tensors or numbers; all shapes broadcast, types promote.

    Returns:
        A tensor of the broadcast shape. Of the condition alone: a tuple of index tensors, one a dimension.

    Raises:
        RuntimeError: if the condition is not of type bool (or, deprecated, uint8).

    Gradients go to the selected argument only; the other one's is 0, even where its value is NaN.

    >>> import pullback as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0), x.where(x < 0, 5.0), torch.where(x > 0)
    (tensor([0., 2.]), tensor([-1.,  5.]), (tensor([1]),))
    """
    if condition.__class__ is ndarray or condition.__class__ is np.bool_:
        mask = asarray(condition)
        x = input if input.__class__ in ARRAYS else other
        # the common case in rules
        if (
            x.__class__ in ARRAYS
            and x.size < MANY
            and mask.dtype is BOOLEAN
            and out is None
            and not thread_state.slow_path_reasons
        ):
            if (x.dtype is FLOAT32 or x.dtype is FLOAT64) and input.__class__ in KNOWN and other.__class__ in KNOWN:
                return np.where(mask, input, other)
    elif (
        condition.__class__ is Tensor is input.__class__ is other.__class__
        and condition._array.dtype is BOOLEAN
        and out is None
    ):
        return elementwise_where(condition._array, input, other)
    elif hasattr(condition, "__pullback_op__"):
        return condition.__pullback_op__(elementwise_where.op, (condition, input, other))
    elif isinstance(condition, Tensor):
        mask = condition._array
    else:
        result = overridden(where, tuple([a for a in (condition, input, other) if a is not None]), {})
        if result is not NOT_OVERRIDDEN:
            return result
        mask = asarray(condition)
    if input is None:
        if out is not None:
            raise TypeError("where() received an invalid combination of arguments: out= of a condition alone")
        unbatched(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            "aten::where. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
            condition,
        )
        return places_of(concrete_array(mask))
    if mask.dtype.kind != "b":
        if mask.dtype != np.uint8:
            given = dtypes.type_name(OF_NUMPY[mask.dtype])
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{given}\n  Compare first: where(x != 0, ...)."
            )
        mask = np.not_equal(mask, 0)
    if out is None and mask.__class__ is ndarray:
        if other.__class__ is int and other == 0 and _is_inexact(input):
            return keep(input, mask)
        if input.__class__ is int and input == 0 and _is_inexact(other):
            return keep(other, ~mask)
    if isinstance(condition, Tensor) and not any(isinstance(x, (Tensor, ndarray)) for x in (input, other)):
        d = dtypes.result_type_of((input, other)).numpy
        input = record.wrap(asarray(cast_number(input, d), d))
    for v in (input, other):
        if v.__class__ is float and SINGLE_MAX < abs(v) < inf:  # kernels take smaller ones as they are
            operands = [x._array if isinstance(x, Tensor) else x for x in (input, other)]
            cast_number(v, dtypes.result_type_of(operands).numpy)
    return elementwise_where(mask, input, other, out=out)


def _is_inexact(x: Any) -> bool:
    array = x if x.__class__ is ndarray else x._array if isinstance(x, Tensor) else x
    return isinstance(array, (ndarray, np.generic)) and array.dtype.kind in "fcV"


op.add_method(lambda self, condition, other: where(condition, self, other), "where")


@op.elementwise(numpy_impl=refusing("c", "maximum not implemented for complex tensors.", RuntimeError)(np.maximum))
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two, element by element; NaN if either is. Of equal ones each has half the gradient.

    >>> import pullback as torch
    >>> torch.maximum(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """


@op.elementwise(numpy_impl=refusing("c", "minimum not implemented for complex tensors.", RuntimeError)(np.minimum))
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


@op.elementwise(numpy_impl=refusing("c", "fmax not implemented for complex tensors.", RuntimeError)(np.fmax))
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two, element by element, rather than NaN. Of equal ones the first has the gradient.

    >>> import pullback as torch
    >>> torch.fmax(torch.tensor([1.0, float("nan")]), torch.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """


@op.elementwise(numpy_impl=refusing("c", "fmin not implemented for complex tensors.", RuntimeError)(np.fmin))
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


def clip_array(x: Any, low: Any = None, high: Any = None) -> Any:
    """``x`` clamped between numbers, either of which may be None; for large arrays by ``clip``, in a third of
    the time of ``np.maximum``.
    """
    if x.__class__ is ndarray and x.size >= MANY:
        if x.dtype.kind == "f":
            return x.clip(-inf if low is None else low, inf if high is None else high)
        if x.dtype.kind in "iu" and low is not None and high is not None:
            return x.clip(low, high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _lower(value: Any, dtype: np.dtype) -> Any:
    """A lower bound in that type: one below its range has no effect, one above is refused."""
    return cast_number(max(value, int(np.iinfo(dtype).min)) if dtype.kind in "iu" else value, dtype)


def _upper(value: Any, dtype: np.dtype) -> Any:
    """An upper bound in that type: one above its range has no effect, one below is refused."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        value = float(value) if value < limits.min else min(value, int(limits.max))
    return cast_number(value, dtype)


def _at_least(x: Any, low: Any) -> Any:
    return clip_array(x, low) if low.__class__ in NUMBERS else np.maximum(x, low)


def _at_most(x: Any, high: Any) -> Any:
    return clip_array(x, None, high) if high.__class__ in NUMBERS else np.minimum(x, high)


@op.elementwise(
    name="clamp_min",
    numpy_impl=_real_bounds(_at_least),
    method=False,
    node="ClampMinBackward1",
    number=_lower,
    check_out=inplace.found_dtype,
)
def elementwise_clamp_min(input: Tensor, other: Tensor) -> Tensor: ...


@op.elementwise(
    name="clamp_max",
    numpy_impl=_real_bounds(_at_most),
    method=False,
    node="ClampMaxBackward1",
    number=_upper,
    check_out=inplace.found_dtype,
)
def elementwise_clamp_max(input: Tensor, other: Tensor) -> Tensor: ...


elementwise_clamp_min.vjp(
    input=lambda g, input, other: where(input >= other, g, 0),
    other=lambda g, input, other: where(input < other, g, 0),
)
elementwise_clamp_max.vjp(
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
    _check_bounds(input, min)
    return elementwise_clamp_min(input, min, out=out)


@op.composite(inplace=True)
def clamp_max(input: Tensor, max: Any, *, out: Any = None) -> Tensor:
    """The smaller of the element and ``max``, a number or a tensor; see :func:`clamp`.

    >>> import pullback as torch
    >>> torch.clamp_max(torch.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """
    _check_bounds(input, max)
    return elementwise_clamp_max(input, max, out=out)


def _check_bounds(input: Any, *bounds: Any) -> None:
    """Refuse bounds that floating-point elements can't have; integers are seen to when they are cast."""
    d = input._array.dtype if isinstance(input, Tensor) else input.dtype
    if d.kind in "fV":
        check_numbers(d, *bounds)


def _is_small(bound: Any) -> bool:
    """Whether a bound is missing, or an integer that every signed type holds."""
    return bound is None or bound.__class__ is int and -128 <= bound < 128


def _between(input: np.ndarray, min: Any, max: Any) -> np.ndarray:
    x = asarray(clip_array(input, min, max))
    if x.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return x if x.dtype == input.dtype else x.astype(input.dtype)


@op.general(
    numpy_impl=dispatch.kernel_if_large("between", _between, 3, first_only=True, scalar="between"),
    method=False,
    node="ClampBackward1",
    pointwise=True,
    scalar="between",
)
def between(input: Tensor, min: Any, max: Any) -> Tensor:
    """Held between two numbers, either of which may be None, in the type of the input."""


def in_bounds(x: Any, low: Any, high: Any) -> Any:
    """Whether ``low <= x <= high``; either bound may be None."""
    if low is None or high is None:
        return x <= high if low is None else x >= low
    return (x >= low) & (x <= high)


between.vjp(input=lambda g, input, min, max: where(in_bounds(input, min, max), g, 0))


@op.elementwise(method=False, node="ClampBackward0")
def between_tensors(input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    return np.minimum(np.maximum(input, min), max)


between_tensors.vjp(
    input=lambda g, input, min, max: where(in_bounds(input, min, max), g, 0),
    min=lambda g, input, min, max: where((min < max) & (input < min), g, 0),
    max=lambda g, input, min, max: where((input > max) | (max < min), g, 0),
)


@op.composite(inplace=True)
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Each element clamped between ``min`` and ``max`` (to ``max``, where they cross).

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
    if x.dtype.kind in "fV" and min.__class__ in NUMBERS and max.__class__ in NUMBERS:
        if -HALF_MAX <= min <= HALF_MAX and -HALF_MAX <= max <= HALF_MAX:
            return between(input, min, max, out=out)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is None or max is None:
            return (
                elementwise_clamp_max(input, max, out=out)
                if min is None
                else elementwise_clamp_min(input, min, out=out)
            )
        return between_tensors(input, min, max, out=out)
    _check_bounds(x, min, max)
    if x.dtype.kind in "biu" and not (x.dtype.kind == "i" and _is_small(min) and _is_small(max)):
        d = dtypes.result_type_of([v for v in (x, min, max) if v is not None])
        if d.category == INTEGRAL:
            min = min if min is None else int(_lower(min, d.numpy))
            max = max if max is None else int(_upper(max, d.numpy))
        input = record.wrap(x.astype(d.numpy))
    return between(input, min, max, out=out)


@op.elementwise(inplace=True, scalar="relu")
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
    return clip_array(input, 0)


def with_zero_dependency(value: Any, x: Any) -> Any:
    """The value, recorded as depending on ``x`` with derivative 0: so the second derivatives of piecewise linear
    functions are 0, not missing.
    """
    return where(np.False_, x, value) if isinstance(x, Tensor) else value


relu.vjp(input=lambda g, out: where(out <= 0, with_zero_dependency(0, out), g))


_threshold_kernel = dispatch.kernel_if_large(
    "above", lambda x, threshold, value: fast_where(x <= threshold, value, x), 3, at_any_size=True
)


@op.general(method=False, inplace=True, pointwise=True)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """The element where it is above ``threshold``, else ``value``. Derivative: 1 above, 0 at and below.

    >>> import pullback as torch
    >>> torch.threshold(torch.tensor([0.0, 1.0, 2.0]), 1, 20)
    tensor([20., 20.,  2.])
    """
    if input.dtype.kind in "bc":
        raise not_implemented("threshold_cpu", input)
    d = input.dtype
    if d.kind == "f":
        check_numbers(FLOAT32 if d.itemsize == 2 else d, threshold)
        check_numbers(d, value)
        return _threshold_kernel(input, float(threshold), float(value))
    return np.where(np.less_equal(input, cast_number(threshold, d)), np.asarray(cast_number(value, d), d), input)


threshold.vjp(input=lambda g, input, threshold: where(input <= threshold, with_zero_dependency(0, input), g))


def _finite(x: Any, nan: float, high: float, low: float) -> Any:
    return np.where(x != x, nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))


_finite_kernel = dispatch.elementwise_kernel("nan_to_num", [_finite], lambda *values: None, even_plain=True)


@op.general(inplace=True, check_out=inplace.same_dtype("nan_to_num: dtype of out: {1} should be same as input: {0}"))
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced by numbers.

    Args:
        nan: for NaN; default 0.
        posinf, neginf: for infinity and minus infinity; default: the largest and the lowest finite number.

    The gradient is 0 where something was replaced.

    >>> import pullback as torch
    >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
    tensor([1., 0., 9.])
    """
    for i, (name, number) in enumerate((("nan", nan), ("posinf", posinf), ("neginf", neginf)), 2):
        if isinstance(number, complex):
            raise TypeError(f"nan_to_num(): argument '{name}' (position {i}) must be float, not complex")
    if input.dtype.kind in "fV" and input.size >= kernels.LARGE:
        limits = dtypes.finfo(OF_NUMPY[input.dtype])
        high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        fast = _finite_kernel(input, float(nan or 0), float(high), float(low))
        if fast is not None:
            return fast
    result = np.array(input, order="C")
    if result.dtype.kind in "biu":
        return result
    parts = result.reshape(-1).view(result.real.dtype) if result.dtype.kind == "c" else result
    finite = np.isfinite(parts)
    if not finite.size or finite.item(finite.argmin()):
        return result
    of_type, limits = parts.dtype.type, dtypes.finfo(OF_NUMPY[parts.dtype])
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    np.copyto(parts, of_type(nan or 0), where=np.isnan(parts))
    np.copyto(parts, of_type(high), where=np.equal(parts, np.inf))
    np.copyto(parts, of_type(low), where=np.equal(parts, -np.inf))
    return result


nan_to_num.vjp(input=lambda g, input: where(isfinite(input), g, 0))


clip = clamp
op.add_method(Tensor.clamp, "clip")
op.add_method(Tensor.clamp_, "clip_")
