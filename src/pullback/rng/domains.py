"""Argument checks of PyTorch's sampling functions: the dtypes and ranges each accepts, and its error messages."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..kernels.rounding import FLOAT32, FLOAT64, narrow

DType = np.dtype[Any]

INT64 = np.dtype(np.int64)
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


class DtypeInfo(NamedTuple):
    """A dtype's names in PyTorch's messages, and its range."""

    scalar: str
    c_type: str
    lowest: float
    largest: float
    digits: int = 0  # of a float: all integers up to 2**digits are exact


def float_info(scalar: str, c_type: str, digits: int, exponent: int) -> DtypeInfo:
    largest = math.ldexp(2.0 - 2.0 ** (1 - digits), exponent)
    return DtypeInfo(scalar, c_type, -largest, largest, digits)


FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
DTYPE_INFO = {
    "bool": DtypeInfo("Bool", "bool", 0, 1),
    "uint8": DtypeInfo("Byte", "unsigned char", 0, 2**8 - 1),
    "uint16": DtypeInfo("UInt16", "short unsigned int", 0, 2**16 - 1),
    "uint32": DtypeInfo("UInt32", "unsigned int", 0, 2**32 - 1),
    "uint64": DtypeInfo("UInt64", "long unsigned int", 0, INT64_MAX),
    "int8": DtypeInfo("Char", "signed char", -(2**7), 2**7 - 1),
    "int16": DtypeInfo("Short", "short int", -(2**15), 2**15 - 1),
    "int32": DtypeInfo("Int", "int", -(2**31), 2**31 - 1),
    "int64": DtypeInfo("Long", "long int", INT64_MIN, INT64_MAX),
    "float16": float_info("Half", "c10::Half", 11, 15),
    "bfloat16": float_info("BFloat16", "c10::BFloat16", 8, 127),
    "float32": float_info("Float", "float", 24, 127),
    "float64": float_info("Double", "double", 53, 1023),
    "complex32": DtypeInfo("ComplexHalf", "c10::complex<c10::Half>", 0, 0),
    "complex64": DtypeInfo("ComplexFloat", "c10::complex<float>", 0, 0),
    "complex128": DtypeInfo("ComplexDouble", "c10::complex<double>", 0, 0),
    **{name: DtypeInfo(name.capitalize(), f"c10::{name.capitalize()}", 0, 0) for name in FLOAT8},
}
_infos: dict[DType, DtypeInfo] = {}


def dtype_info(dtype: DType) -> DtypeInfo:
    info = _infos.get(dtype)
    if info is None:  # dtype.name is slow
        info = _infos[dtype] = DTYPE_INFO[dtype.name]
    return info


def not_implemented(kernel: str, dtype: DType) -> NotImplementedError:
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{dtype_info(dtype).scalar}'\n"
        f"  The dtype is {dtype}.  Draw in a dtype that has it, float32 say, and convert."
    )


def require_float(dtype: DType, kernel: str) -> None:
    if not dtype_info(dtype).digits:
        raise not_implemented(kernel, dtype)


def require_continuous(dtype: DType, name: str) -> None:
    if not dtype_info(dtype).digits:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {dtype_info(dtype).scalar}"
        )


def require_real_or_integer(dtype: DType, kernel: str) -> None:
    """Accept real floats, signed integers and uint8 (``AT_DISPATCH_ALL_TYPES``)."""
    if dtype.kind in "bcW" or (dtype.kind == "u" and dtype.itemsize > 1):
        raise not_implemented(kernel, dtype)


def require_within(value: float, name: str, dtype: DType) -> None:
    info = dtype_info(dtype)
    if not info.lowest <= value <= info.largest:
        raise RuntimeError(
            f"{name} is out of bounds for {info.c_type}\n"
            f"  {name} is {value}; {dtype} takes {info.lowest} to {info.largest}."
        )


def require_interval(low: float, high: float, dtype: DType) -> None:
    require_within(low, "from", dtype)
    require_within(high, "to", dtype)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > dtype_info(dtype).largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype_info(dtype).scalar}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def require_std(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def representable_range(low: int, high: int, dtype: DType) -> tuple[int, int]:
    """``[low, high)`` without the integers at its ends that rounding to a float dtype would move out of it."""
    digits = dtype_info(dtype).digits

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
    """The first and the number of the integers that ``random_(low, high)`` draws from; without ``high`` all up to the
    largest.
    """
    info = dtype_info(dtype)
    for bound in (low, high):
        if isinstance(bound, (float, complex)):
            raise TypeError(
                "random_() received an invalid combination of arguments\n"
                f"  Its bounds are integers, not {type(bound).__name__}."
            )
    if dtype.kind in "cW":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        if info.digits:
            low, high = representable_range(low, high, dtype)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
        last = high - 1
    elif low == INT64_MIN:
        if dtype != INT64 and (not info.digits or dtype == np.float16):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        return 0, 2**64
    elif info.digits:
        last = 2**info.digits
        low, _ = representable_range(low, last, dtype)
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                f"dtype, but got from={low} > to_inc={last}"
            )
    else:
        last = int(info.largest)
    require_within(low, "from", dtype)
    require_within(last, "to - 1", dtype)
    return low, last - low + 1


def require_float32_or_64(dtype: DType, kernel: str) -> None:
    if dtype != FLOAT32 and dtype != FLOAT64:
        raise not_implemented(kernel, dtype)
