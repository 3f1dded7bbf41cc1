"""``torch.dtype``, type promotion (``promote_types``, ``result_type``), ``finfo`` and ``iinfo``.

PyTorch orders dtypes in four categories (bool < integral < floating < complex) and operands in three ranks
(tensors with dimensions > 0-d tensors > Python numbers). An operand of a lower rank changes the result's
dtype only when its category is higher: ``int64 tensor * 2.5`` becomes the default float type, while
``float32 tensor * float64 0-d tensor`` stays float32.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from math import log10
from typing import Any

import numpy as np

from .errors import missing_package, with_notes

ml_dtypes: Any
try:
    import ml_dtypes
except ModuleNotFoundError:  # in WebAssembly, say: its types are then only names
    ml_dtypes = None

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
COMPLEX_KINDS = "cW"  # the kinds of complex NumPy types: NumPy's own, and complex32


class dtype:
    """The type of a tensor's elements, such as ``torch.float32``.

    Attributes:
        is_floating_point, is_complex, is_signed: as their names say.
        itemsize: bytes an element takes.
        numpy: the NumPy dtype underneath.
        category: BOOL, INTEGRAL, FLOATING or COMPLEX.
    """

    __slots__ = ("name", "numpy", "category", "is_floating_point", "is_complex", "is_signed", "itemsize")

    def __init__(self, name: str, numpy: Any, category: int) -> None:
        self.name, self.numpy, self.category = name, np.dtype(numpy), category
        self.is_floating_point, self.is_complex = category == FLOATING, category == COMPLEX
        self.is_signed = not name.startswith(("uint", "bool"))
        self.itemsize = self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def to_real(self) -> dtype:
        """The type of the real part: float32 for complex64; itself where it is real."""
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type that holds this real type: complex64 for float32; itself where it is complex."""
        return self if self.is_complex else {float16: complex32, float64: complex128}.get(self, complex64)


class Unsupported(dtype):
    """A dtype that tensors cannot have (qint8, ...), for programs that compare with it or look it up.

    bfloat16, float8 and complex32 are such where the package ml_dtypes is not installed.
    """

    __slots__ = ()

    def __init__(self, name: str, numpy: Any, category: int) -> None:
        super().__init__(name, numpy, category)
        self.is_signed = name != "quint8"

    def refusal(self) -> Exception:
        """The error for a tensor of this type."""
        if self.name.startswith(("bfloat16", "complex32", "float8")):
            return missing_package("ml_dtypes", f"torch.{self.name}")
        return TypeError(
            f"{self} is not a type of Pullback's tensors, only a name to compare with; float16 and bfloat16 are the "
            f"smallest"
        )


bool_ = dtype("bool", np.bool_, BOOL)
uint8 = dtype("uint8", np.uint8, INTEGRAL)
uint16 = dtype("uint16", np.uint16, INTEGRAL)
uint32 = dtype("uint32", np.uint32, INTEGRAL)
uint64 = dtype("uint64", np.uint64, INTEGRAL)
int8 = dtype("int8", np.int8, INTEGRAL)
int16 = dtype("int16", np.int16, INTEGRAL)
int32 = dtype("int32", np.int32, INTEGRAL)
int64 = dtype("int64", np.int64, INTEGRAL)
float16 = dtype("float16", np.float16, FLOATING)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING) if ml_dtypes else Unsupported("bfloat16", "V2", FLOATING)
float32 = dtype("float32", np.float32, FLOATING)
float64 = dtype("float64", np.float64, FLOATING)
_pair = getattr(ml_dtypes, "complex32", None)  # versions before 0.6 lack it
complex32 = dtype("complex32", _pair, COMPLEX) if _pair else Unsupported("complex32", "V4", COMPLEX)
FLOAT8 = tuple(
    [
        dtype(name, getattr(ml_dtypes, name), FLOATING) if ml_dtypes else Unsupported(name, "V1", FLOATING)
        for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
    ]
)
complex64 = dtype("complex64", np.complex64, COMPLEX)
complex128 = dtype("complex128", np.complex128, COMPLEX)

ALL = (
    bool_,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    complex32,
    complex64,
    complex128,
    *FLOAT8,
)
NAMES: dict[str, dtype] = {d.name: d for d in ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
}
UNSUPPORTED = [Unsupported(name, name.removeprefix("q"), INTEGRAL) for name in ("qint8", "quint8", "qint32")]
UNSUPPORTED += [Unsupported("float4_e2m1fn_x2", "V1", FLOATING)]
UNSUPPORTED += [Unsupported(name, "uint8", INTEGRAL) for name in ("quint4x2", "quint2x4")]
OF_NUMPY: dict[np.dtype, dtype] = {d.numpy: d for d in ALL if not isinstance(d, Unsupported)}

FLOAT32, FLOAT64, INT64, BOOLEAN = float32.numpy, float64.numpy, int64.numpy, bool_.numpy
COMPLEX_HALF = complex32.numpy
# in which tensors are stored, converted and moved, but only a few operations compute
SINGLE_BYTE = frozenset([d.numpy for d in FLOAT8])
NARROW = SINGLE_BYTE | {COMPLEX_HALF}
EXTENSIONS = NARROW | {bfloat16.numpy}  # that NumPy itself does not have
HALVES = frozenset((float16.numpy, bfloat16.numpy))
HALF_MAX = 65504  # what every floating type of 16 bits holds
WIDE = {d.numpy: FLOAT32 for d in (float16, bfloat16, *FLOAT8)} | {COMPLEX_HALF: complex64.numpy}  # to compute in
WIDE_UNSIGNED = (uint16, uint32, uint64)
INT64_MAX = 2**63 - 1
_default = float32


def named(name: str) -> dtype:
    """The dtype of that name, for unpickling."""
    return NAMES.get(name) or next(d for d in UNSUPPORTED if d.name == name)


def of_numpy(d: np.dtype) -> dtype:
    """PyTorch's name for a NumPy dtype.

    Raises:
        TypeError: where PyTorch has no such type (strings, objects, dates, float128).
        ValueError: for numbers in the other byte order.
    """
    try:
        return OF_NUMPY[d]
    except KeyError:
        pass
    native = d.newbyteorder("=")
    if native in OF_NUMPY and d.isnative:
        return OF_NUMPY[native]
    if native in OF_NUMPY:
        raise with_notes(
            ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte "
                "orders is currently not supported."
            ),
            'array.astype(array.dtype.newbyteorder("=")) converts it',
        )
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{d.type.__name__}. The only supported types are: float64, float32, "
        "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def of_python(kind: type) -> dtype:
    """The dtype of a Python number of this type (floats: the default dtype)."""
    if issubclass(kind, (bool, np.bool_)):
        return bool_
    if issubclass(kind, (int, np.integer)):
        return int64
    if issubclass(kind, (float, np.floating)):
        return _default
    if issubclass(kind, numbers.Complex):
        return _default.to_complex()
    raise TypeError(f"{kind.__name__} is not the type of a number")


def as_dtype(d: Any) -> dtype:
    """A dtype, given as such, as a Python type (``float`` means float64 here, as in PyTorch) or as a NumPy dtype."""
    if d.__class__ is dtype:
        return d
    if isinstance(d, type) and d in (float, int, bool, complex):
        return {float: float64, int: int64, bool: bool_, complex: complex128}[d]
    if isinstance(d, np.dtype) or (isinstance(d, type) and issubclass(d, np.generic)):
        return of_numpy(np.dtype(d))
    if isinstance(d, Unsupported):
        raise d.refusal()
    raise TypeError(f"dtype must be a torch.dtype (such as torch.float32), not {type(d).__name__}")


def get_default_dtype() -> dtype:
    """The type that new floating-point tensors get: float32 unless changed."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the type that new floating-point tensors get.

    Raises:
        TypeError: if ``d`` is not a floating type.

    >>> import pullback as torch
    >>> torch.set_default_dtype(torch.float64); torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)
    """
    global _default
    d = as_dtype(d)
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


# --- mixing -----------------------------------------------------------------------------------------------------


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that holds both.

    >>> import pullback as torch
    >>> torch.promote_types(torch.int64, torch.float16), torch.promote_types(torch.uint8, torch.int8)
    (torch.float16, torch.int16)
    """
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type_name(a)} and {type_name(b)}"
        )
    if (a in WIDE_UNSIGNED or b in WIDE_UNSIGNED) and FLOATING not in (a.category, b.category):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type_name(a)} and {type_name(b)}"
        )
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        if b.category == FLOATING:
            b = b.to_complex()
        return b if b.category == COMPLEX and b.itemsize > a.itemsize else a
    if a.category > b.category:
        return a
    if a.category == FLOATING:
        wider, other = (a, b) if a.itemsize >= b.itemsize else (b, a)
        return float32 if wider.itemsize == other.itemsize else wider  # float16 with bfloat16
    if uint8 in (a, b):
        return int16 if int8 in (a, b) else a if b is uint8 else b
    return a if a.itemsize >= b.itemsize else b


def promote_ranks(dims: dtype | None, zero_dims: dtype | None, numbers: dtype | None) -> dtype:
    """The result type, given the promoted type of the operands of each rank (None: no operand of that rank)."""
    result = numbers
    for higher in (zero_dims, dims):
        if higher is None:
            continue
        if result is None or result.category <= higher.category:
            result = higher if result is None or higher is not bool_ else promote_types(higher, result)
        elif higher.category == FLOATING:  # complex of a lower rank: keep the precision of the higher
            result = higher.to_complex()
        elif result.category == INTEGRAL:
            result = promote_types(higher, result)
    assert result is not None
    if result.__class__ is Unsupported:  # complex32, from float16 and a complex number
        raise result.refusal()
    return result


def result_type_of(operands: Iterable[Any]) -> dtype:
    """The result type of these operands: raw arrays (0-d ones are the second rank) and Python numbers."""
    ranks: list[dtype | None] = [None, None, None]
    large = None
    for x in operands:
        if isinstance(x, np.ndarray):
            d, rank = OF_NUMPY[x.dtype], 0 if x.ndim else 1
        elif hasattr(x, "strides") and not isinstance(x, np.generic):  # a level value
            d, rank = OF_NUMPY[x.dtype], 0 if x.shape else 1
        else:
            d, rank = of_python(type(x)), 2
            if d is int64 and not -(2**63) <= x < 2**63:
                large = x
        old = ranks[rank]
        ranks[rank] = d if old is None else promote_types(old, d)
    if large is not None and ranks[0] in (None, bool_) and ranks[1] in (None, bool_) and ranks[2] is int64:
        _refuse_large(large, "UInt64 and Long" if ranks[0] is ranks[1] is None else "Bool and UInt64")
    return promote_ranks(*ranks)


def _refuse_large(number: int, types: str) -> None:
    """Refuse an integer that int64, the type it would give the result, can't hold."""
    cast_number(number, uint64.numpy)  # raises for more than 64 bits
    raise RuntimeError(
        f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {types}\n"
        f"  {number} is beyond int64, the type of a Python integer beside no tensor of numbers."
    )


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result of one dtype may be written into another (not into a lower category).

    >>> import pullback as torch
    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    if source.category == INTEGRAL and source.is_signed and not target.is_signed and target.category == INTEGRAL:
        return target is uint8
    return source.category <= target.category


# --- limits -----------------------------------------------------------------------------------------------------


class finfo:
    """Limits of a floating type: ``eps``, ``max``, ``min``, ``tiny``, ``smallest_normal``, ``resolution``, ``bits``.

    >>> import pullback as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None) -> None:
        d = (_default if type is None else as_dtype(type)).to_real()
        if not d.is_floating_point:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.{d.name}'"
            )
        if d is bfloat16 or d in FLOAT8:
            info: Any = ml_dtypes.finfo(d.numpy)
        else:
            info = np.finfo(d.numpy)
        self.dtype, self.bits = d.name, d.itemsize * 8
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -int(info.nmant * log10(2))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integral type: ``min``, ``max``, ``bits``.

    >>> import pullback as torch
    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        d = as_dtype(type)
        if d.category != INTEGRAL:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.{d.name}'")
        info = np.iinfo(d.numpy)
        self.dtype, self.bits, self.min, self.max = d.name, info.bits, int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


TYPE_NAMES = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
} | {d.name: d.name.capitalize() for d in FLOAT8}
CPP_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
} | {d.name: f"c10::{d.name.capitalize()}" for d in FLOAT8}


def type_name(d: dtype) -> str:
    """The name of a dtype in PyTorch's messages, such as ``Long``."""
    return TYPE_NAMES[d.name]


C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int32": "int",
}


def kind_of(d: np.dtype) -> str:
    """The kind of a NumPy type. That of complex32 is W; ml_dtypes says c from 0.7 on."""
    return "W" if d is COMPLEX_HALF else d.kind


# --- numbers ----------------------------------------------------------------------------------------------------


def parts_of(array: Any) -> Any:
    """Complex numbers as pairs in a new last dimension, sharing memory."""
    return array[..., None].view(OF_NUMPY[array.dtype].to_real().numpy)


def real_of(array: Any) -> Any:
    """The real parts, sharing memory; real numbers as they are."""
    return parts_of(array)[..., 0] if array.dtype == COMPLEX_HALF else array.real


def imaginary_of(array: Any) -> Any:
    """The imaginary parts of complex numbers, sharing memory."""
    return parts_of(array)[..., 1] if array.dtype == COMPLEX_HALF else array.imag


def part_to_cast(array: Any, dtype: np.dtype) -> Any:
    """What of an array is cast to a type: of complex numbers the real parts, unless both count (as bool). To float8 it
    is converted here, as casts have other bits.
    """
    if dtype in SINGLE_BYTE and array.dtype != dtype:
        return as_numbers_of(real_of(array), dtype)
    if array.dtype.kind not in COMPLEX_KINDS or dtype.kind in COMPLEX_KINDS:
        return array
    if dtype.kind != "b":
        return real_of(array)
    return np.asarray(array != 0) if array.dtype == COMPLEX_HALF else array  # ml_dtypes casts 0.5 to False


def as_numbers_of(array: Any, dtype: np.dtype, order: Any = "K") -> np.ndarray:
    """``array.astype(dtype)``; to and from float8 by way of float32, with PyTorch's bits.

    What is beyond float8_e4m3fn, which has no infinity, becomes its largest number; float8_e8m0fnu has powers of two
    only, and drops the sign.
    """
    if dtype not in SINGLE_BYTE:
        wide = array.astype(FLOAT32, order) if array.dtype in SINGLE_BYTE else array
        return wide.astype(dtype, order)
    form, numbers = OF_NUMPY[dtype].name, array.astype(FLOAT32, order)
    if form == "float8_e4m3fn":
        np.clip(numbers, -448, 448, out=numbers)
    elif form == "float8_e8m0fnu":
        np.maximum(np.abs(numbers), 2.0**-127, out=numbers)
    result = numbers.astype(dtype, order)
    if form == "float8_e5m2":
        result.view(np.uint8)[np.isnan(numbers)] |= 1
    return result


def cast_number(value: Any, dtype: np.dtype) -> Any:
    """A Python number as a value that an array of that dtype can hold.

    Raises:
        RuntimeError: if the type can't hold it. (Unsigned types take negative integers as two's complements.)
        OverflowError: for an integer of more than 64 bits.
    """
    kind = dtype.kind
    if kind == "b":
        return bool(value)
    if isinstance(value, np.generic):
        value = value.item()
    if kind not in COMPLEX_KINDS and isinstance(value, complex) and not value.imag:
        value = value.real
    whole, lost = isinstance(value, int), kind not in COMPLEX_KINDS and isinstance(value, complex)
    if not lost and not isinstance(value, complex) and -128 < value < 128 and (kind in "fc" or kind == "i" and whole):
        return value
    if whole and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
    if kind in "iu" and not lost:
        limits = np.iinfo(dtype)
        lowest = int(limits.min) if kind == "i" else -int(limits.max) if whole else 0
        lost = not lowest <= value <= int(limits.max)
    if not lost:
        result = wrap_number(value, dtype)
        lost = kind not in "iu" and bool(np.isinf(result)) and not np.isinf(value)
    if lost:
        name = C_NAMES.get(dtype.name, dtype.name + "_t")
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return result


def check_numbers(dtype: np.dtype, *numbers: Any) -> None:
    """Refuse numbers that the type can't hold; what is no number passes."""
    for v in numbers:
        small = (v.__class__ is float or v.__class__ is int) and 0 <= v < 128  # what every type holds
        if not small and isinstance(v, (int, float, complex)):
            cast_number(v, dtype)


def as_factor(value: Any, dtype: np.dtype) -> Any:
    """A Python number to scale arrays of that type by, which must hold it; of integers, an integer."""
    fitted = cast_number(value, dtype)
    if dtype.kind in "iub":
        return int(fitted) if dtype.kind != "b" else fitted
    return value.real if dtype.kind not in COMPLEX_KINDS and isinstance(value, complex) else value


def wrap_number(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as an array of that dtype; integers keep their low bits, as arithmetic does."""
    return as_numbers_of(np.array(value), dtype)


def stored_number(value: Any, dtype: np.dtype) -> Any:
    """:func:`cast_number`, but a real number beyond a half-precision type becomes infinite, as in a cast."""
    if dtype.itemsize == 2 and dtype.kind in "fV" and not isinstance(value, complex) and not -128 < value < 128:
        return wrap_number(cast_number(value, FLOAT64), dtype)
    return cast_number(value, dtype)


def fill_number(value: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """A number that fills a tensor: it must fit, but one element is assigned to as by ``x[0] = value``. In complex32 it
    becomes infinite.
    """
    if dtype == COMPLEX_HALF:
        return wrap_number(value, dtype)
    if value.__class__ is int and 0 <= value < 128:  # any type holds that
        return value
    return cast_number(value, dtype) if shape else stored_number(value, dtype)


def exact_number(value: Any, dtype: np.dtype) -> Any:
    """:func:`wrap_number`, but an integer as it is where the type is of integers: NumPy compares them exactly."""
    return int(value) if dtype.kind in "iu" else wrap_number(value, dtype)
