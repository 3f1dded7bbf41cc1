"""What PyTorch's random streams can be asked for: element types, their limits, and refusals in its words."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernels.rounding import FLOAT32, FLOAT64, narrow

DType = np.dtype[Any]

INT64 = np.dtype(np.int64)
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class Kind(NamedTuple):
    """What an element type is called in PyTorch's messages, and what it holds."""

    scalar: str
    c_type: str
    lowest: float
    largest: float
    digits: int = 0  # of a float: all integers up to 2**digits are exact


def float_kind(scalar: str, c_type: str, digits: int, exponent: int) -> Kind:
    largest = math.ldexp(2.0 - 2.0 ** (1 - digits), exponent)
    return Kind(scalar, c_type, -largest, largest, digits)


KINDS = {
    "bool": Kind("Bool", "bool", 0, 1),
    "uint8": Kind("Byte", "unsigned char", 0, 2**8 - 1),
    "uint16": Kind("UInt16", "short unsigned int", 0, 2**16 - 1),
    "uint32": Kind("UInt32", "unsigned int", 0, 2**32 - 1),
    "uint64": Kind("UInt64", "long unsigned int", 0, INT64_MAX),
    "int8": Kind("Char", "signed char", -(2**7), 2**7 - 1),
    "int16": Kind("Short", "short int", -(2**15), 2**15 - 1),
    "int32": Kind("Int", "int", -(2**31), 2**31 - 1),
    "int64": Kind("Long", "long int", INT64_MIN, INT64_MAX),
    "float16": float_kind("Half", "c10::Half", 11, 15),
    "bfloat16": float_kind("BFloat16", "c10::BFloat16", 8, 127),
    "float32": float_kind("Float", "float", 24, 127),
    "float64": float_kind("Double", "double", 53, 1023),
    "complex64": Kind("ComplexFloat", "c10::complex<float>", 0, 0),
    "complex128": Kind("ComplexDouble", "c10::complex<double>", 0, 0),
}
_kinds: dict[DType, Kind] = {}


def kind_of(dtype: DType) -> Kind:
    kind = _kinds.get(dtype)
    if kind is None:  # a dtype takes its time to tell its name
        kind = _kinds[dtype] = KINDS[dtype.name]
    return kind


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{kind_of(dtype).scalar}'\n"
        f"  The dtype is {dtype}.  Draw in a dtype that has it, float32 say, and convert."
    )


def require_float(dtype: DType, kernel: str) -> None:
    if not kind_of(dtype).digits:
        raise not_implemented(kernel, dtype)


def require_continuous(dtype: DType, name: str) -> None:
    if not kind_of(dtype).digits:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {kind_of(dtype).scalar}"
        )


def require_plain(dtype: DType, kernel: str) -> None:
    """Real floats, signed integers and uint8: what PyTorch calls all types."""
    if dtype.kind in "bc" or (dtype.kind == "u" and dtype.itemsize > 1):
        raise not_implemented(kernel, dtype)


def require_within(value: float, name: str, dtype: DType) -> None:
    kind = kind_of(dtype)
    if not kind.lowest <= value <= kind.largest:
        raise RuntimeError(
            f"{name} is out of bounds for {kind.c_type}\n"
            f"  {name} is {value}; {dtype} takes {kind.lowest} to {kind.largest}."
        )


def require_interval(low: float, high: float, dtype: DType) -> None:
    require_within(low, "from", dtype)
    require_within(high, "to", dtype)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > kind_of(dtype).largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{kind_of(dtype).scalar}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def require_std(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def inside(low: int, high: int, dtype: DType) -> tuple[int, int]:
    """``[low, high)`` without the integers at its ends that a float dtype would round out of it."""
    digits = kind_of(dtype).digits

    def stored(value: int) -> int:
        number = float(narrow(np.array([value], INT64), dtype)[0])
        return int(number) if abs(number) < 2.0**63 else INT64_MIN

    first, last = stored(low + 1), stored(high - 1)
    if first < low:
        low = first + (1 << max(abs(low + 1).bit_length() - digits, 0))
    if last >= high:
        high = last - (1 << max(abs(high - 1).bit_length() - digits, 0))
    return low, high


def integer_range(low: int, high: int | None, dtype: DType) -> tuple[int, int]:
    """First and number of the integers ``random_(low, high)`` draws; up to the largest without ``high``."""
    kind = kind_of(dtype)
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        if kind.digits:
            low, high = inside(low, high, dtype)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
        last = high - 1
    elif low == INT64_MIN:
        if dtype != INT64 and (not kind.digits or dtype == np.float16):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return 0, 2**64
    elif kind.digits:
        last = 2**kind.digits
        low, _ = inside(low, last, dtype)
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                f"dtype, but got from={low} > to_inc={last}"
            )
    else:
        last = int(kind.largest)
    require_within(low, "from", dtype)
    require_within(last, "to - 1", dtype)
    return low, last - low + 1


def require_wide(dtype: DType, kernel: str) -> None:
    if dtype != FLOAT32 and dtype != FLOAT64:
        raise not_implemented(kernel, dtype)
