"""``__torch_function__``: what an op call asks before it computes: modes, overriding arguments, autocast."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import getattr_static
from typing import Any

from ..base import thread_state
from . import slots
from .public import as_published
from .tensor import PLAIN_TENSOR_TYPES, Tensor, _disabled

NOT_OVERRIDDEN = object()


PACKAGE = __name__.partition(".")[0] + "."
CONSTANTS = {int, float, bool, complex, str, type(None)}


class _PerThread(threading.local):
    modes: tuple[Any, ...] = ()  # that are entered, the innermost last
    cast: Callable | None = None  # what autocasting makes of an operation


_modes = _PerThread()


def _flattened(args: Iterable[Any]) -> Iterator[Any]:
    for a in args:
        if isinstance(a, (list, tuple)):
            yield from _flattened(a)
        else:
            yield a


def overriding(args: Sequence[Any]) -> list[Any]:
    """The arguments whose classes override operations, subclasses before their parents."""
    found: list[Any] = []
    for a in args:  # most are neither subclasses nor lists, in which there may be some
        if a.__class__ not in PLAIN_TENSOR_TYPES and a.__class__ not in CONSTANTS:
            break
    else:
        return found
    for a in _flattened(args):
        hook = getattr(type(a), "__torch_function__", None)
        if hook is None or a.__class__ is Tensor or getattr(hook, "__func__", None) is _disabled:
            continue
        if all(type(a) is not type(b) for b in found):
            at = next((i for i, b in enumerate(found) if isinstance(a, type(b))), len(found))
            found.insert(at, a)
    return found


def overridden(fn: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What objects that are no tensors, met where operations need tensors, make of the call, or ``NOT_OVERRIDDEN``.

    Nothing tells of their class before.
    """
    if not thread_state.local.overrides or not overriding((*args, *kwargs.values())):
        return NOT_OVERRIDDEN
    return dispatch(fn, args, kwargs)


def dispatch(fn: Callable, args: tuple[Any, ...], kwargs: dict[str, Any], operator: bool = False) -> Any:
    """What a mode, an overriding argument or autocasting makes of the operation, or ``NOT_OVERRIDDEN``.

    Args:
        operator: it was called by Python's operator, which stands for the method.
    """
    outer, found = _modes.modes, overriding((*args, *kwargs.values()))
    types = tuple(map(type, found))
    candidates = found if thread_state.local.overrides else []
    if not all([isinstance(a, Tensor) for a in candidates]):
        slots.watch_functions()  # nothing told of such a class before
    if outer or candidates:
        public, given, options = slots.public_call(fn, args, kwargs)
        public = getattr(Tensor, public.__name__, public) if operator else as_published(public)
    if outer:
        _modes.modes = outer[:-1]
        try:
            result = outer[-1].__torch_function__(public, types, given, options)
        finally:
            _modes.modes = outer
        if result is not NotImplemented:
            return result
    for a in candidates:
        result = type(a).__torch_function__(public, types, given, options)
        if result is not NotImplemented:
            return result
    if candidates:
        raise TypeError(
            f"no implementation found for '{public.__name__}' on types that implement __torch_function__: "
            f"[{', '.join(t.__name__ for t in types)}]"
        )
    return NOT_OVERRIDDEN if _modes.cast is None else _modes.cast(fn, args, kwargs)


def overridable(fn: Callable) -> Callable:
    """A function made of operations that objects which are no tensors may define as a whole."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if a.__class__ in (list, tuple) and a:
                a = next((x for x in a if not isinstance(x, Tensor)), a[0])
            if not isinstance(a, Tensor) and hasattr(type(a), "__torch_function__"):
                break
        else:
            return fn(*args, **kwargs)
        result = overridden(call.public, args, kwargs)  # type: ignore[attr-defined]
        return fn(*args, **kwargs) if result is NOT_OVERRIDDEN else result

    call.public = call  # type: ignore[attr-defined]  # or what is put around it later
    return call


def as_recorded(fn: Callable, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with which a call is shown: those of ``einsum`` one by one, for example, if they came as a list."""
    return fn.as_recorded(*args) if hasattr(fn, "as_recorded") else args


def visible_to_modes(fn: Callable, name: str, space: Any, own_name: str) -> Callable:
    """A function made of operations, as modes and overriding classes see it: whole. It is found, and pickled, as
    ``space.own_name``.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _modes.modes or thread_state.local.overrides and overriding((*args, *kwargs.values())):
            result = dispatch(call.public, as_recorded(fn, args), kwargs)  # type: ignore[attr-defined]
            if result is not NOT_OVERRIDDEN:
                return result
        return fn(*args, **kwargs)

    call.public, call.__name__ = call, name  # type: ignore[attr-defined]
    if space is Tensor:
        call.__module__, call.__qualname__ = Tensor.__module__, f"Tensor.{own_name}"
    else:
        call.__module__, call.__qualname__ = space.__name__, own_name
    return call


class SeenProperty:
    """A property of ``Tensor`` on a class with a ``__torch_function__`` of its own, which is asked where a program
    reads, sets or deletes it. The function that it gets is the accessor, ``Tensor.shape.__get__`` for example.
    """

    def __init__(self, own: Any) -> None:
        self.own = own

    def __get__(self, x: Any, cls: Any = None) -> Any:
        return self.own if x is None else _access(self.own.__get__, x)

    def __set__(self, x: Any, value: Any) -> None:
        _access(self.own.__set__, x, value)

    def __delete__(self, x: Any) -> None:
        _access(self.own.__delete__, x)


def _access(accessor: Callable, *args: Any) -> Any:
    asks = thread_state.local.overrides and not sys._getframe(2).f_globals["__name__"].startswith(PACKAGE)
    return dispatch(accessor, args, {}) if asks else accessor(*args)


def watch_properties(cls: type) -> None:
    """Let a program's class that overrides operations see those properties that it has from ``Tensor``."""
    if cls.__module__.startswith(PACKAGE):
        return
    for name, own in vars(Tensor).items():
        if isinstance(own, property) and getattr_static(cls, name) is own:
            setattr(cls, name, SeenProperty(own))


slots.fill(watch_properties=watch_properties)


class DisableTorchFunction:
    """Inside, neither classes nor modes intervene, in this thread."""

    def __enter__(self) -> None:
        self.before = thread_state.local.overrides, _modes.modes
        thread_state.local.overrides, _modes.modes = False, ()

    def __exit__(self, *exc: object) -> None:
        thread_state.local.overrides, _modes.modes = self.before


class DisableTorchFunctionSubclass:
    """Inside, subclasses are tensors like any other, in this thread."""

    def __enter__(self) -> None:
        self.before = thread_state.local.overrides
        thread_state.local.overrides = False

    def __exit__(self, *exc: object) -> None:
        thread_state.local.overrides = self.before


def is_tensor_like(obj: Any) -> bool:
    """Whether ``obj`` is a tensor or claims to stand for one."""
    return isinstance(obj, Tensor) or hasattr(type(obj), "__torch_function__")
