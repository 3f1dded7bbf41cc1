"""What ``tensor``, ``as_tensor`` and ``new_tensor`` take: numbers, nested sequences, arrays, tensors, as one array."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import as_dtype
from ..core.tensor import Tensor
from .storage import StorageBase, UntypedStorage

NUMBERS = {int, float, bool, complex}
EXACT = 2.0**53  # below it float64 holds every integer
UNEQUAL_DEPTH = "expected sequence of numbers of equal depth: some entries are sequences and some are not"


def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    """Nested sequences, numbers, arrays and tensors as one new array, of the type PyTorch infers.

    Arrays and tensors are cast. Numbers, and those in sequences, must fit the type. A storage is its own memory.

    Raises:
        ValueError: for ragged sequences, tensors of several elements in them, and integers that int64 can't hold.
        RuntimeError: for numbers that the type can't hold, and data that are no numbers.
        TypeError: for strings, and complex numbers where the type is real.
    """
    d = None if dtype is None else as_dtype(dtype).numpy
    kind = data.__class__
    if isinstance(data, np.ndarray):
        if data.dtype not in dtypes.OF_NUMPY:
            dtypes.of_numpy(data.dtype)  # raises for dtypes without a counterpart
            data = data.astype(data.dtype.newbyteorder("="))
        return _copied(data, d)
    if isinstance(data, Tensor):
        return _copied(data._array if d is None else dtypes.part_to_cast(data._array, d), d)
    if kind is float and (d is None or d.kind not in "iu"):
        return np.asarray(dtypes.wrap_number(data, d or dtypes.get_default_dtype().numpy))
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    nested = kind is list or kind is tuple
    sequence = nested or isinstance(data, Sequence) or hasattr(data, "__len__")
    if not sequence and hasattr(data, "__array__") and not isinstance(data, np.generic):
        data = np.asarray(data)
    types = _leaf_types(data) if nested else {kind}
    if not types <= NUMBERS and sequence:
        if isinstance(data, StorageBase):
            inferred = dtypes.int64 if isinstance(data, UntypedStorage) else dtypes.get_default_dtype()
            return data._as_type(inferred if dtype is None else as_dtype(dtype))
        data = _with_scalars(data, d, _depth(data))
    try:
        array = np.array(data)
    except ValueError:
        raise ValueError(_ragged_message(data) or UNEQUAL_DEPTH) from None
    if array.dtype not in dtypes.OF_NUMPY:
        array = _numbers_of(array, data)
    if d is None:
        d = _inferred(data, array, types).numpy
    return _fitted(array, data, d)


def _leaf_types(data: Any) -> set[type]:
    """The types of what nested lists and tuples hold."""
    types = set(map(type, data))
    for kind in (list, tuple):
        if kind in types:
            types.remove(kind)
            types.update(*(_leaf_types(v) for v in data if v.__class__ is kind))
    return types


def _depth(data: Any) -> int:
    """How many dimensions the data have, as their first entries tell. A tensor that is a first entry is a number."""
    if isinstance(data, np.ndarray):
        return data.ndim
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        return 0
    return 1 + (_depth(data[0]) if len(data) else 0)


def _copied(array: Any, d: np.dtype | None) -> np.ndarray:
    return np.array(array) if d is None or array.__class__ is not np.ndarray else dtypes.as_numbers_of(array, d)


def _with_scalars(data: Any, d: np.dtype | None, depth: int) -> Any:
    """Nested sequences as lists of that depth. Tensors within it are sequences, too; where a number belongs, one of one
    element, whatever its shape, is the number that it holds.
    """
    if isinstance(data, Tensor):
        array = data._array
        if depth and array.ndim:
            return [_with_scalars(v, d, depth - 1) for v in data.detach()]
        if array.__class__ is not np.ndarray:
            array = np.array(data.item()).astype(array.dtype)
        integers = array.dtype.kind in "biu"
        if d is not None and d.kind in "iu" and not integers or array.size != 1 and integers:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return array.reshape(())[()]
    if isinstance(data, np.ndarray):
        return data if data.ndim else data[()]
    if hasattr(data, "__array__") and not isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, StorageBase):
        return data.tolist()
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [_with_scalars(v, d, depth - 1) for v in data]
    return data


def _numbers_of(array: np.ndarray, data: Any) -> np.ndarray:
    """An array of objects, if they are numbers: such as integers of more than 64 bits. Refuses others."""
    kind = array.dtype.kind
    if kind in "US":
        word = "str" if kind == "U" else "bytes"
        if isinstance(data, (list, tuple)) and isinstance(array.item(0), data[0].__class__) and kind == "U":
            raise ValueError("too many dimensions 'str'")
        raise TypeError(f"new(): invalid data type '{word}'")
    if kind != "O":
        dtypes.of_numpy(array.dtype)  # raises
    for v in array.flat:
        if not isinstance(v, (int, float, complex)) and getattr(v, "dtype", None) not in dtypes.OF_NUMPY:
            raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")
    return array


def _inferred(data: Any, array: np.ndarray, types: set[type]) -> dtypes.dtype:
    """The type that the entries promote to; Python floats have the default one."""
    if types <= NUMBERS:
        return max([*map(dtypes.of_python, types)] or [dtypes.get_default_dtype()], key=lambda t: t.category)
    if not isinstance(data, (list, tuple)):
        return dtypes.of_numpy(array.dtype)
    return functools.reduce(dtypes.promote_types, set(_entry_dtypes(data)) or {dtypes.get_default_dtype()})


def _entry_dtypes(data: Any) -> Iterator[dtypes.dtype]:
    for v in data:
        if isinstance(v, list):
            yield from _entry_dtypes(v)
        else:
            yield dtypes.of_numpy(v.dtype) if hasattr(v, "dtype") else dtypes.of_python(type(v))


def _fitted(array: np.ndarray, data: Any, d: np.dtype) -> np.ndarray:
    """An array of numbers in another type, which must hold them."""
    source, kind = array.dtype.kind, d.kind
    if array.dtype == d:
        return array
    if source in dtypes.COMPLEX_KINDS and kind not in dtypes.COMPLEX_KINDS + "b":
        raise TypeError(
            "'complex' object cannot be interpreted as an integer"
            if kind in "iu"
            else "must be real number, not complex"
        )
    if kind not in "iu":
        return dtypes.as_numbers_of(array, d)
    if not array.size or source == "b":
        return array.astype(d)
    if source == "f" and not ((array > (-1 if kind == "u" else -EXACT)) & (array < EXACT)).all():
        array = np.array(data, object)  # the numbers themselves: NaN, large integers, negative ones
    if array.dtype.kind == "O":
        whole = [_checked(v, d) for v in array.flat]
        return np.array([v % 2**64 for v in whole], np.uint64).astype(d).reshape(array.shape)
    for v in (array.min().item(), array.max().item()):
        _checked(v, d)
    return array.astype(np.int64 if source == "f" and kind == "i" else array.dtype).astype(d)


def _checked(v: Any, d: np.dtype) -> int:
    """A number as an integer of that type. An unsigned one takes negative integers as two's complements."""
    whole, most = isinstance(v, (int, np.integer)), int(np.iinfo(d).max)
    if d == np.uint64 and v < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if whole and d != np.uint64 and not -(2**63) <= v < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not (int(np.iinfo(d).min) if d.kind == "i" else -most if whole else 0) <= v <= most:  # so for NaN
        raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
    return int(v)


def _ragged_message(data: Any, dim: int = 0) -> str:
    lengths = [len(v) if hasattr(v, "__len__") and getattr(v, "ndim", 1) else None for v in data]
    for length in lengths[1:]:
        if length != lengths[0]:
            if None in (length, lengths[0]):
                return UNEQUAL_DEPTH
            return f"expected sequence of length {lengths[0]} at dim {dim + 1} (got {length})"
    for v in data:
        message = _ragged_message(v, dim + 1) if hasattr(v, "__len__") else ""
        if message:
            return message
    return ""


Tensor._read_data = staticmethod(to_array)  # for Tensor(data)
