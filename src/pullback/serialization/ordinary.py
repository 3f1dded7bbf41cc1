"""What ordinary checkpoints hold besides tensors, for ``load(weights_only=False)``: values of NumPy and of Python's
library, and objects of the program's own classes, which are made without running any of their code.

A class of the program must be imported already, and be a module (``nn.Module``), an optimizer, a scheduler of one, a
dataclass, a named tuple or an enumeration. Its objects come from ``object.__new__`` and get their attributes in
``__dict__`` and slots. A class is refused if its own code would have to run, then or later unasked: for its state
(``__setstate__``), for attributes (``__getattribute__``), at the end (``__del__``).
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import os
import pathlib
import re
import sys
from abc import ABCMeta
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import Enum, EnumMeta
from math import prod
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    NoneType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.modules.registry import KINDS
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from .unpickler import Budget, LoadError, attributes_of

PACKAGE = __package__.partition(".")[0]
BUILT_IN = (
    WrapperDescriptorType,
    MethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    BuiltinFunctionType,
)
SIMPLE = (str, bytes, int, float, bool, type(None))
DTYPE = re.compile(r"[biufcSUVOm]\d{0,9}|M8|[?bhilqBHILQefdgFDG]")
UNIT = re.compile(rb"[YMWDhmsunpfa]s?|generic")


# --- values of NumPy --------------------------------------------------------------------------------------------


def numpy_dtype(budget: Budget, name: Any, align: Any = False, copy: Any = False) -> np.dtype:
    """A new dtype, to be given its state."""
    if type(name) is not str or not DTYPE.fullmatch(name):
        raise LoadError("a dtype of NumPy in the file is damaged")
    return np.dtype(name, copy=True)


def set_dtype_state(target: np.dtype, state: Any) -> None:
    """Byte order, fields and the like. The state is not believed: a dtype that NumPy made from its parts gives its."""
    if type(state) is not tuple or not 8 <= len(state) <= 9:
        raise LoadError("a dtype of NumPy in the file is damaged")
    _, order, sub, names, fields, size = state[:6]
    made: Any = target
    try:
        if order not in ("<", ">", "|", "="):
            raise LoadError("a dtype of NumPy in the file is damaged")
        if sub is not None:
            base, shape = sub
            made = np.dtype((_dtype(base), tuple(_lengths(shape))))
        elif names is not None:
            parts = [fields[name] for name in names]
            described = {
                "names": list(names),
                "formats": [_dtype(p[0]) for p in parts],
                "offsets": [p[1] for p in parts],
            }
            made = np.dtype({**described, "itemsize": size})  # type: ignore[call-overload]
        elif target.kind in "mM" and len(state) == 9:
            unit, count = state[8][1][:2]
            if not UNIT.fullmatch(unit) or type(count) is not int or not 0 < count < 1 << 31:
                raise LoadError("a dtype of NumPy in the file is damaged")
            made = np.dtype(f"{target.kind}8" + (f"[{count}{unit.decode()}]" if unit != b"generic" else ""))
        elif target.kind in "SUV" and type(size) is int and 0 <= size < 1 << 31:
            made = np.dtype(f"{target.kind}{size // (4 if target.kind == 'U' else 1)}")
        made = made.newbyteorder(order) if names is None and order in "<>" else made
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        raise LoadError("a dtype of NumPy in the file is damaged") from None
    target.__setstate__(made.__reduce__()[2])  # type: ignore[attr-defined]


def _dtype(value: Any) -> np.dtype:
    if not isinstance(value, np.dtype):
        raise LoadError("a dtype of NumPy in the file is damaged")
    return value


def _lengths(shape: Any) -> list[int]:
    sizes = [shape] if type(shape) is int else list(shape)
    if len(sizes) > 64 or not all(type(n) is int and 0 <= n < 1 << 62 for n in sizes):
        raise LoadError("an array of NumPy in the file is damaged: its shape makes no sense")
    return sizes


def empty_array(budget: Budget, cls: Any, shape: Any, kind: Any) -> np.ndarray:
    """The array that is to be given its state."""
    if cls is not np.ndarray:
        raise LoadError("an array of NumPy in the file is of a class that is not known")
    return np.empty(0, np.int8)


def set_array_state(target: np.ndarray, state: Any) -> None:
    """Shape, type and elements."""
    if type(state) is not tuple or len(state) != 5:
        raise LoadError("an array of NumPy in the file is damaged")
    _, shape, kind, fortran, data = state
    count, dtype = prod(_lengths(shape)), _dtype(kind)
    if dtype.kind == "O":
        whole = type(data) is list and len(data) == count
    else:
        whole = not dtype.hasobject and type(data) in (bytes, bytearray) and len(data) == count * dtype.itemsize
    if not whole or type(shape) is not tuple:
        raise LoadError("an array of NumPy in the file is damaged: it does not have the elements that it should have")
    target.__setstate__((1, shape, dtype, bool(fortran), data))  # type: ignore[arg-type]


def array_from(budget: Budget, data: Any, kind: Any, shape: Any, order: Any) -> np.ndarray:
    """The array of some bytes, as the newer pickles have it."""
    if type(data) not in (bytes, bytearray) or order not in ("C", "F") or type(shape) is not tuple:
        raise LoadError("an array of NumPy in the file is damaged")
    budget.spend(len(data))
    array = empty_array(budget, np.ndarray, (0,), b"b")
    set_array_state(array, (1, shape, kind, order == "F", bytes(data)))
    return array


def numpy_scalar(budget: Budget, kind: Any, data: Any = None) -> Any:
    """A number of NumPy's."""
    dtype = _dtype(kind)
    if dtype.hasobject or type(data) is not bytes or len(data) != dtype.itemsize:
        raise LoadError("a number of NumPy in the file is damaged")
    return np.ndarray((), dtype, data)[()]


# --- values of Python's library ---------------------------------------------------------------------------------


def _checked(cls: Any, *kinds: Any, most: int = 10) -> Callable[..., Any]:
    """A class whose arguments are of these types."""

    def make(budget: Budget, *args: Any) -> Any:
        if len(args) > most or not all(type(a) in kinds for a in args):
            raise LoadError(f"a {cls.__name__} of the file is damaged")
        try:
            return cls(*args)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise LoadError(f"a {cls.__name__} of the file is damaged: {error}") from None

    return make


def _deque(budget: Budget, values: Any = (), maxlen: Any = None) -> deque[Any]:
    if type(values) not in (list, tuple) or type(maxlen) not in (int, type(None)):
        raise LoadError("a deque of the file is damaged")
    budget.spend(len(values))
    return deque(values, maxlen)


def _defaultdict(budget: Budget, factory: Any = None) -> defaultdict[Any, Any]:
    if not (factory is None or isinstance(factory, type) and factory in FACTORIES):
        raise LoadError(
            "the default_factory of a defaultdict of the file is not allowed: list, dict, int and their kin are"
        )
    return defaultdict(factory)


def _namespace(budget: Budget) -> SimpleNamespace:
    return SimpleNamespace()


FACTORIES = (list, dict, set, tuple, int, float, str, bool, bytes, complex, frozenset, deque, OrderedDict, Counter)
MOMENTS = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone)
PATHS = {
    f"{home}.{name}": getattr(pathlib, name.replace("Posix", "PurePosix") if os.name == "nt" else name)
    for home in ("pathlib", "pathlib._local")
    for name in ("Path", "PosixPath", "PurePosixPath", "PurePath", "PureWindowsPath")
} | {f"{home}.WindowsPath": pathlib.PureWindowsPath for home in ("pathlib", "pathlib._local")}

TABLE: dict[str, Any] = {
    **{f"builtins.{c.__name__}": c for c in FACTORIES[:11]},
    **{f"builtins.{c.__name__}": c for c in (range, slice)},
    "builtins.Ellipsis": ...,
    "collections.defaultdict": defaultdict,
    "collections.deque": deque,
    "types.SimpleNamespace": SimpleNamespace,
    "argparse.Namespace": argparse.Namespace,
    "decimal.Decimal": decimal.Decimal,
    **{f"datetime.{c.__name__}": c for c in MOMENTS},
    **PATHS,
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    **{f"numpy.{core}.multiarray._reconstruct": empty_array for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": numpy_scalar for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": array_from for core in ("core", "_core")},
}
CALLS: dict[Any, Callable[..., Any]] = {
    empty_array: empty_array,
    numpy_scalar: numpy_scalar,
    array_from: array_from,
    np.dtype: numpy_dtype,
    deque: _deque,
    defaultdict: _defaultdict,
    SimpleNamespace: _namespace,
    range: _checked(range, int),
    slice: _checked(slice, int, type(None)),
    decimal.Decimal: _checked(decimal.Decimal, str, most=1),
    **{c: _checked(c, int, bytes, str, datetime.timedelta, datetime.timezone, type(None)) for c in MOMENTS},
    **{c: _checked(c, str, most=1000) for c in PATHS.values()},
}


# --- objects of the program's classes ---------------------------------------------------------------------------


def imported(module: str, name: str) -> Any:
    """The class of the program that a pickle names.

    Raises:
        LoadError: if it is imported, but its objects cannot be made without its own code; says why.
    """
    home: Any = sys.modules.get(module)
    for part in name.split(".") if home is not None else ():
        home = vars(home).get(part) if isinstance(home, type) or type(home) is type(sys) else None
    if not isinstance(home, type) or home.__module__.partition(".")[0] in (*sys.stdlib_module_names, PACKAGE, "numpy"):
        return None
    if not (
        issubclass(home, (Module, Optimizer, LRScheduler, Enum))
        or _member(home, "__dataclass_fields__")
        or _is_named_tuple(home)
    ):
        return None
    reason = _why_not(home)
    if reason:
        raise LoadError(f"objects of {module}.{name} cannot be made without running its code: {reason}")
    return home


def _member(cls: type, name: str) -> Any:
    """An attribute of a class as it is written there."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and type(_member(cls, "_fields")) is tuple


def own_code(cls: type, name: str) -> bool:
    """Whether a method of a class is written in Python, and not here, in the library, or by ``dataclass``."""
    method = _member(cls, name)
    if type(method) in (NoneType, *BUILT_IN):
        return False
    method = method.fget if type(method) is property else method
    if type(method) is not FunctionType:
        return True
    home = method.__module__.partition(".")[0]
    return home != PACKAGE and home not in sys.stdlib_module_names


def _why_not(cls: type) -> str:
    if issubclass(cls, Enum):
        return "" if type(cls) is EnumMeta else "it has a metaclass"
    if type(cls) not in (type, ABCMeta):
        return "it has a metaclass"
    for name in ("__setstate__", "__getattribute__", "__del__", "__dict__", "__class__"):
        if own_code(cls, name):
            return f"it defines {name}"
    return ""


def new(cls: type, args: tuple[Any, ...]) -> Any:
    """A new object of a class that :func:`imported` found, or of a namespace."""
    try:
        if _is_named_tuple(cls):
            if len(args) != len(_member(cls, "_fields")):
                raise TypeError("it has another number of fields")
            return tuple.__new__(cls, args)
        if args or issubclass(cls, Enum):
            raise TypeError("it takes arguments")
        return object.__new__(cls)
    except TypeError as error:
        raise LoadError(f"an object of {cls.__name__} cannot be made without running its code: {error}") from None


def member(cls: type[Enum], value: Any) -> Enum:
    """The member of an enumeration with a value."""
    if type(value) is tuple and all(type(v) in SIMPLE for v in value) or type(value) in SIMPLE:
        for found in _member(cls, "_member_map_").values():
            own = vars(found).get("_value_")
            if type(own) is type(value) and own == value:
                return found
    raise LoadError(f"{cls.__name__} has no member of a value in the file")


def _optimizer_state(state: Any) -> dict[str, Any]:
    """What an optimizer is made of: options, parameters, and what is remembered of these."""
    kept = {name: state.get(name) for name in ("defaults", "state", "param_groups")} if type(state) is dict else {}
    groups = kept.get("param_groups")
    if (
        not isinstance(kept.get("defaults"), dict)
        or not isinstance(kept["state"], defaultdict)
        or not all([isinstance(own, dict) for own in kept["state"].values()])
        or type(groups) is not list
        or not all([type(group) is dict and type(group.get("params")) is list for group in groups])
        or not all([isinstance(p, Tensor) for group in groups for p in group["params"]])
    ):
        raise LoadError("the state of an optimizer is damaged")
    return kept | {"state": defaultdict(dict, kept["state"])}


def build(target: Any, state: Any) -> None:
    """Give an object of the program's, or a namespace, its attributes."""
    cls = type(target)
    if issubclass(cls, Module):
        if not (type(state) is dict and all(isinstance(state.get(k, {}), dict) for k in KINDS)):
            raise LoadError("the state of a module is damaged: it is no dict of attributes")
        _member(cls, "__setstate__")(target, state)
        return
    if issubclass(cls, Optimizer):
        _member(cls, "__setstate__")(target, _optimizer_state(state))
        return
    if type(state) is list and _member(cls, "__dataclass_fields__"):  # with slots, or frozen
        names = list(_member(cls, "__dataclass_fields__"))
        own, slots = dict(zip(names, state)), None
        if len(names) != len(state):
            raise LoadError(f"the state of an object of {cls.__name__} has another number of fields")
    else:
        own, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    for attributes in (own, slots):
        if attributes is not None and (type(attributes) is not dict or not all(type(k) is str for k in attributes)):
            raise LoadError("the state of an object is damaged: it is no dict of attributes")
        for name, value in (attributes or {}).items():
            slot = _member(cls, name)
            if isinstance(slot, MemberDescriptorType):
                slot.__set__(target, value)
            else:
                attributes_of(target)[name] = value
