"""Symbolic floats (PyTorch: ``SymFloat``): numbers that change from call to call, such as learning rates.

A number computed from one is one itself. A comparison has the answer of the traced call, and adds a guard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class SymFloat(float):
    """A number that a compiled function reads or computes anew at each call.

    Attributes:
        source: the Python expression that gives it.
        guards: where a comparison adds the expression that has to be true for the program to hold.
    """

    source: str
    guards: list[str]

    @staticmethod
    def of(value: float, source: str, guards: list[str]) -> SymFloat:
        self = SymFloat(value)
        self.source, self.guards = source, guards
        return self

    def __neg__(self) -> SymFloat:
        return SymFloat.of(-float(self), f"(-{self.source})", self.guards)

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = float.__hash__


def _source(x: Any) -> str:
    return x.source if isinstance(x, SymFloat) else repr(x)


def _arithmetic(method: Callable[[float, Any], Any], sign: str, reflected: bool) -> Callable[[SymFloat, Any], Any]:
    def compute(self: SymFloat, other: Any) -> Any:
        value = method(self, other) if isinstance(other, (int, float)) else NotImplemented
        if value is NotImplemented:
            return value
        left, right = (_source(other), self.source) if reflected else (self.source, _source(other))
        return SymFloat.of(value, f"({left} {sign} {right})", self.guards)

    return compute


def _comparison(method: Callable[[float, Any], Any], sign: str) -> Callable[[SymFloat, Any], Any]:
    def compare(self: SymFloat, other: Any) -> Any:
        value = method(self, other)
        if value is not NotImplemented:
            self.guards.append(f"({self.source} {sign} {_source(other)}) is {value}")
        return value

    return compare


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(SymFloat, _method, _arithmetic(getattr(float, _method), _sign, _method.startswith("__r")))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(SymFloat, f"__{_name}__", _comparison(getattr(float, f"__{_name}__"), _sign))
