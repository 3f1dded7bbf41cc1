"""Public functions as programs see them: like PyTorch's built-in ones, they are no methods of classes they are put in.

    class Layer:
        function = torch.conv2d

``Layer().function(x, weight)`` calls it with two arguments. A Python function would get the layer as its first one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any


class PublicFunction(staticmethod):
    """A function of the package: equal to it, and with its attributes.

    Attributes:
        place: the module and the name by which it is found.
    """

    def __new__(cls, function: Callable[..., Any], place: tuple[str, str]) -> PublicFunction:
        return super().__new__(cls, function)  # type: ignore[call-arg]  # which Python 3.15 checks

    def __init__(self, function: Callable[..., Any], place: tuple[str, str]) -> None:
        super().__init__(function)
        self.place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    def __eq__(self, other: object) -> bool:
        return self.__func__ is (other.__func__ if isinstance(other, PublicFunction) else other)

    def __hash__(self) -> int:
        return hash(self.__func__)

    def __reduce__(self) -> Any:
        return _at, self.place

    def __repr__(self) -> str:
        return repr(self.__func__)


_published: dict[Any, PublicFunction] = {}  # one for each function, whatever names it has


def _at(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def published(function: Callable[..., Any], module: str, name: str) -> PublicFunction:
    """The public function that stands for one of the package, and is found by that name."""
    if function not in _published:
        _published[function] = PublicFunction(function, (module, name))
    return _published[function]


def as_published(function: Any) -> Any:
    """A function as programs know it, if they do."""
    return _published.get(function, function)


def function_of(value: Any) -> Any:
    """What stands behind a public function; anything else is itself."""
    return value.__func__ if value.__class__ is PublicFunction else value


def publish(space: dict[str, Any], package: str) -> None:
    """Let the functions in a namespace that a package defines be public ones."""
    for name, value in space.items():
        if value.__class__ is FunctionType and value.__module__.startswith(package) and not name.startswith("__"):
            space[name] = published(value, space["__name__"], name)
