"""``assert_close``: compares tensors, numbers and containers of them, with tolerances by dtype.

Containers are walked, and what stands in the same place in both is compared: tensors and what can become one,
numbers, booleans, None. The first disagreement is raised, with its place.
"""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.dtypes import (
    BOOL,
    INTEGRAL,
    NAMES,
    bfloat16,
    complex32,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    promote_types,
)
from ..core.tensor import Tensor
from ..ops.compare import isclose
from ..ops.create import as_tensor, tensor

__all__ = ["assert_allclose", "assert_close"]

PRECISION: dict[dtype, tuple[float, float]] = {  # relative and absolute tolerance
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex32: (1e-3, 1e-5),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
OLD_PRECISION = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}
NUMBERS = {int: "int64", float: "float64", complex: "complex128"}


class Mismatch(Exception):
    """A mismatch, with the error to raise for it and the place inside of containers."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text
        self.place: tuple[Any, ...] = ()


@dataclass
class How:
    """The options of :func:`assert_close`."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: dtype) -> tuple[float, float]:
        """The relative and the absolute one for these types."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            raise Mismatch(
                ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            )
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        rtols, atols = zip(*[PRECISION.get(d, (0.0, 0.0)) for d in dtypes])
        return max(rtols), max(atols)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Check that ``|actual - expected| <= atol + rtol * |expected|`` everywhere, and that infinities are equal.

    Args:
        actual, expected: tensors, arrays, numbers, booleans or None, or sequences and mappings of them.
        allow_subclasses: compare what is of different classes if one is the other's subclass.
        rtol, atol: both or none; by default what the type's precision allows, such as 1.3e-6 and 1e-5 for float32.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: what else has to be the same.
        msg: another message, or a function that makes it from the one there would be.

    Raises:
        AssertionError: they differ.
        ValueError, TypeError: they cannot be compared so.

    >>> import pullback as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    how = How(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        comparisons = list(_pairs(actual, expected, how))
    except Mismatch as wrong:  # not comparable at all: `msg` is for what differs
        raise wrong.kind(_text(wrong)) from None
    for place, compare in comparisons:
        try:
            compare()
        except Mismatch as wrong:
            wrong.place = place
            text = _text(wrong)
            raise wrong.kind(text if msg is None else msg if isinstance(msg, str) else msg(text)) from None


def _text(wrong: Mismatch) -> str:
    where = "".join(f"[{key!r}]" for key in wrong.place)
    return wrong.text + (f"\n\nThe failure occurred for item {where}" if where else "")


# --- what to compare ----------------------------------------------------------------------------------------


def _pairs(
    actual: Any, expected: Any, how: How, place: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Callable[[], None]]]:
    """Places, and what compares what stands there."""
    try:
        keys = _keys(actual, expected)
        compare = None if keys is not None else _comparison(actual, expected, how)
    except Mismatch as wrong:
        wrong.place = place
        raise
    if compare is not None:
        yield place, compare
    for key in keys or ():
        yield from _pairs(actual[key], expected[key], how, (*place, key))


def _keys(actual: Any, expected: Any) -> list[Any] | None:
    """The keys or indices of two containers; None for other things."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise Mismatch(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        return list(range(len(actual)))
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        ours, theirs = set(actual), set(expected)
        if ours != theirs:
            raise Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_in_order(theirs - ours)}\n"
                f"Additional keys in the actual mapping: {_in_order(ours - theirs)}",
            )
        return _in_order(ours)
    return None


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _in_order(keys: set[Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _comparison(actual: Any, expected: Any, how: How) -> Callable[[], None]:
    if actual is None or expected is None:
        return lambda: _same(actual, expected, "None")
    if isinstance(actual, bool | np.bool_) and isinstance(expected, bool | np.bool_):
        return lambda: _same(bool(actual), bool(expected), "Booleans")
    if isinstance(actual, (*NUMBERS, np.number)) and isinstance(expected, (*NUMBERS, np.number)):
        a, b = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        return lambda: _compare_numbers(a, b, how)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (how.allow_subclasses or type(actual) is type(expected)):
        try:
            a, b = as_tensor(actual), as_tensor(expected)
        except Exception:
            pass
        else:
            how.tolerances(a.dtype, b.dtype)
            return lambda: _compare_tensors(a, b, how)
    raise Mismatch(
        TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )


# --- comparing ----------------------------------------------------------------------------------------------


def _same(actual: Any, expected: Any, what: str) -> None:
    if actual is not expected:
        raise Mismatch(AssertionError, f"{what} mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, how: How) -> None:
    if how.check_dtype and type(actual) is not type(expected):
        raise Mismatch(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    rtol, atol = how.tolerances(
        *(NAMES[next(n for k, n in NUMBERS.items() if isinstance(x, k))] for x in (actual, expected))
    )
    if actual == expected or how.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise Mismatch(AssertionError, _of_numbers(actual, expected, rtol, atol))


def _compare_tensors(actual: Tensor, expected: Tensor, how: How) -> None:
    facts: list[tuple[str, bool, Any, Any]] = [
        ("shape", True, actual.shape, expected.shape),
        ("layout", how.check_layout, actual.layout, expected.layout),
        ("stride()", how.check_stride, actual.stride(), expected.stride()),
        ("device", how.check_device, actual.device, expected.device),
        ("dtype", how.check_dtype, actual.dtype, expected.dtype),
    ]
    for name, checked, ours, theirs in facts:
        if checked and ours != theirs:
            raise Mismatch(AssertionError, f"The values for attribute '{name}' do not match: {ours} != {theirs}.")
    rtol, atol = how.tolerances(actual.dtype, expected.dtype)
    actual, expected = actual.detach().to_dense(), expected.detach().to_dense()
    if actual.dtype is not expected.dtype:
        actual, expected = _alike(actual), _alike(expected)
        common = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=how.equal_nan)
    if matches.all():
        return
    if actual.ndim == 0:
        raise Mismatch(AssertionError, _of_numbers(actual.item(), expected.item(), rtol, atol))
    raise Mismatch(AssertionError, _of_tensors(actual, expected, matches, rtol, atol))


def _alike(x: Tensor) -> Tensor:
    unsigned = x.dtype.category == INTEGRAL and not x.dtype.is_signed and x.dtype.itemsize > 1
    return x.long() if unsigned else x  # they promote with nothing


# --- saying what differs ------------------------------------------------------------------------------------


def _of_numbers(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    lines = [
        _line("Absolute difference", difference, atol, rtol or atol),
        _line("Relative difference", relative, rtol, rtol or atol),
    ]
    return "\n".join([f"Scalars are not {_what(rtol, atol)}!\n", f"Expected {expected} but got {actual}.", *lines])


def _of_tensors(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    wrong, total = int((~matches).sum()), matches.numel()
    if actual.dtype.category in (BOOL, INTEGRAL):
        actual, expected = actual.long(), expected.long()
    absolute = (actual - expected).abs().masked_fill(matches, 0)
    relative = (absolute / expected.abs()).masked_fill(matches, 0)
    lines = [
        f"Tensor-likes are not {_what(rtol, atol)}!\n",
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
    ]
    for kind, differences, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        at = int(differences.flatten().max(0).indices)
        index = tuple(int(i) for i in np.unravel_index(at, tuple(differences.shape)))
        lines.append(
            _line(
                f"Greatest {kind} difference", f"{differences[index].item()} at index {index}", tolerance, rtol or atol
            )
        )
    return "\n".join(lines)


def _what(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _line(what: str, value: Any, tolerance: float, tolerant: float) -> str:
    return f"{what}: {value}" + (f" (up to {tolerance} allowed)" if tolerant else "")


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """:func:`assert_close` of before, with wider tolerances and without a look at types."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, Tensor) else tensor(actual)
    expected = expected if isinstance(expected, Tensor) else tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        both = [OLD_PRECISION.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = (max(values) for values in zip(*both))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
