"""Symbolic items: numbers that a traced function takes out of its tensors, by ``item()``.

The next call has others. A number computed from one is one itself, and may be returned, or go on into tensors. A
comparison has the answer of the traced call: the program holds for calls that answer likewise, and is cut there, so
that what comes before runs first. Integers are taken for what they are, with the same guard. Whatever else wants to
know a float, such as ``math.exp`` or a format, is refused.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .sym_float import SymFloat

MAX_LENGTH = 200  # of an expression, before it gets a variable
PREDICATES = math.isfinite, math.isinf, math.isnan


class SymItem:
    """A float, or an int, that each call takes out of a tensor or computes from such numbers.

    It is no ``float``, as functions in C would take its value without asking.

    Attributes:
        value: what it is in the traced call.
        source: the Python expression that gives it.
        trace: the trace.
    """

    __slots__ = ("value", "source", "trace")

    def __init__(self, value: Any, source: str, trace: Any) -> None:
        self.value, self.source, self.trace = value, source, trace

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """So that it is an instance of ``float``, or ``int``."""
        return type(self.value)

    def asked(self) -> Any:
        """The value itself, if the program may depend on it."""
        if not self.trace.records_here():
            return self.value
        if type(self.value) is not int:
            self.trace.refuse_value()
        self.trace.expect(f"{self.source} == {self.value}")
        return self.value

    def __float__(self) -> float:
        asking = self.trace.last_c_function()
        if type(self.value) is float and asking in PREDICATES and self.trace.records_here():
            name = self.trace.name(asking, asking.__name__)
            self.trace.expect(f"{name}({self.source}) is {asking(self.value)}")
            return self.value
        return float(self.asked())

    def __int__(self) -> int:
        if type(self.value) is float and self.trace.records_here():
            if not math.isfinite(self.value):
                self.trace.skip()
            self.trace.expect(f"int({self.source}) == {int(self.value)}")
            return int(self.value)
        return int(self.asked())

    def __index__(self) -> int:
        if type(self.value) is not int:
            raise TypeError(f"'{type(self.value).__name__}' object cannot be interpreted as an integer")
        return int(self.asked())

    def __bool__(self) -> bool:
        if self.trace.records_here():
            self.trace.expect(f"bool({self.source}) is {bool(self.value)}")
        return bool(self.value)

    def __round__(self, digits: int | None = None) -> Any:
        if not math.isfinite(self.value):
            self.trace.skip()
        return self.trace.bound(round(self.value, digits), f"round({self.source}, {digits!r})")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.asked(), dtype)

    def __hash__(self) -> int:
        return hash(self.asked())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.asked(), name)

    def __copy__(self) -> SymItem:
        return self

    def __deepcopy__(self, memo: Any) -> SymItem:
        return self


def source_of(x: Any) -> str:
    """The expression of a number."""
    if type(x) is float and not math.isfinite(x):
        return f"float('{x}')"
    return x.source if type(x) in (SymItem, SymFloat) else repr(x)


def known_value(x: Any) -> Any:
    """What a number is in the traced call."""
    return x.value if type(x) is SymItem else float(x) if type(x) is SymFloat else x


def _arithmetic(sign: str, compute: Callable[[Any, Any], Any], reflected: bool) -> Callable[[SymItem, Any], Any]:
    may_fail = sign not in ("+", "-", "*")  # where the program has to be cut

    def method(self: SymItem, other: Any) -> Any:
        if type(other) not in (int, float, bool, SymItem, SymFloat):
            return NotImplemented
        known = known_value(other)
        a, b = (known, self.value) if reflected else (self.value, known)
        left, right = (source_of(other), self.source) if reflected else (self.source, source_of(other))
        source = f"({left} {sign} {right})"
        try:
            value = compute(a, b)
        except ArithmeticError:
            self.trace.skip()
        if may_fail or len(source) > MAX_LENGTH:
            return self.trace.bound(value, source)
        return SymItem(value, source, self.trace)

    return method


def _of_one(sign: str, compute: Callable[[Any], Any]) -> Callable[[SymItem], SymItem]:
    def method(self: SymItem) -> SymItem:
        return SymItem(compute(self.value), f"{sign}({self.source})", self.trace)

    return method


def _comparison(sign: str, compare: Callable[[Any, Any], Any]) -> Callable[[SymItem, Any], Any]:
    def method(self: SymItem, other: Any) -> Any:
        if type(other) not in (int, float, bool, SymItem, SymFloat):
            return NotImplemented
        answer = compare(self.value, known_value(other))
        if self.trace.records_here():
            self.trace.expect(f"({self.source} {sign} {source_of(other)}) is {answer}")
        return answer

    return method


def _asking(name: str) -> Callable[..., Any]:
    def method(self: SymItem, *args: Any) -> Any:
        return getattr(self.asked(), name)(*args)

    return method


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
for _name, _sign in _SIGNS.items():
    setattr(SymItem, f"__{_name}__", _arithmetic(_sign, getattr(operator, _name), False))
    setattr(SymItem, f"__r{_name}__", _arithmetic(_sign, getattr(operator, _name), True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(SymItem, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))
for _name, _sign in {"neg": "-", "abs": "abs", "pos": "+"}.items():
    setattr(SymItem, f"__{_name}__", _of_one(_sign, getattr(operator, _name)))
for _name in ("trunc", "floor", "ceil", "format", "repr", "str", "complex", "divmod", "rdivmod"):
    setattr(SymItem, f"__{_name}__", _asking(f"__{_name}__"))
for _name in ("and", "or", "xor", "lshift", "rshift"):
    setattr(SymItem, f"__{_name}__", _asking(f"__{_name}__"))
    setattr(SymItem, f"__r{_name}__", _asking(f"__r{_name}__"))
