"""``torch.ops.aten``: operations by the names that PyTorch's kernels have, as policies and dispatch modes receive them.

What they are for the operations of this package, with which arguments, is in :mod:`.aten_calls`.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base.errors import no_attribute
from ..base.forks import cached_property
from ..core import slots
from ..ops.activation import _hardswish, _mish, _silu
from ..ops.pointwise import sigmoid
from ..ops.trigonometry import tanh
from .aten_calls import RUN, aten_calls

# what classes of tensors have rules for
PRIVATE = ("_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl", "_to_copy")


class _Redispatch(threading.local):
    """The overload that this thread's dispatch mode or class is handling, and what calling it inside runs."""

    overload: Any = None
    run: Any = None


_redispatch = _Redispatch()


class OpOverload:
    """One operation: calling it computes, on tensors."""

    def __init__(self, name: str, overload: str) -> None:
        self._opname, self._overloadname = name, overload
        self.__name__ = f"{name}.{overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (_redispatch.run if _redispatch.overload is self else self.function)(*args, **kwargs)

    @cached_property
    def function(self) -> Any:
        """What programs call."""
        return RUN.get((self._opname, self._overloadname)) or public_function(self._opname)

    def name(self) -> str:
        """The full name: ``"aten::add.Tensor"``, or ``"aten::relu"`` where there is one overload."""
        return f"aten::{self._opname if self._overloadname == 'default' else self.__name__}"

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return packet(self._opname)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and other.__name__ == self.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"

    __str__ = __repr__


class OpOverloadPacket:
    """An operation with its overloads as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return overloaded(self.__name__, overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return public_function(self.__name__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


# one object each: programs compare with `is`
packet, overloaded = functools.cache(OpOverloadPacket), functools.cache(OpOverload)


@contextmanager
def redispatching(overload: OpOverload, run: Callable[..., Any]) -> Iterator[None]:
    """The scope of a call of ``__torch_dispatch__``: inside, calling the overload runs ``run``."""
    before = _redispatch.overload, _redispatch.run
    _redispatch.overload, _redispatch.run = overload, run
    try:
        yield
    finally:
        _redispatch.overload, _redispatch.run = before


def overload_of(op: Any, values: Sequence[Any]) -> OpOverload:
    """The operation as PyTorch calls it, for these arguments: a product of two matrices is ``mm``."""
    if hasattr(op, "overload"):  # of the user's
        return op.overload
    node = op.node_name if isinstance(op.node_name, str) else op.node_name(*values)
    stem = re.sub(r"Backward\d*$", "", node)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower() if stem != node else op.name
    calls = aten_calls(op, values)
    if calls:
        return overloaded(name if len(calls) > 1 else calls[0].name, calls[0].overload)
    kind = "Tensor" if op.kind == "elementwise" and len(op.params) == 2 else "default"
    return overloaded(name, kind)


def unwrap_arrays(value: Any) -> Any:
    """An argument with arrays in place of tensors."""
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__([unwrap_arrays(v) for v in value])
    if isinstance(value, tuple):  # a named one
        return tuple([unwrap_arrays(v) for v in value])
    return getattr(value, "_array", value)


# PyTorch's backward functions that are functions of the gradient and of one saved value
BACKWARD = {
    "hardswish_backward": _hardswish,
    "mish_backward": _mish,
    "sigmoid_backward": sigmoid,
    "silu_backward": _silu,
    "tanh_backward": tanh,
}


def public_function(name: str) -> Any:
    """The function of that name in the public namespace, or the method; or the rule that PyTorch has as a function."""
    if name in BACKWARD:
        (rule,) = BACKWARD[name].op.rules.values()
        return rule
    torch = slots.namespace
    return getattr(torch, name, None) or getattr(torch.nn.functional, name, None) or getattr(torch.Tensor, name)


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith(("_", "pytest")) and name not in PRIVATE:  # pytest asks every module for its own names
        raise no_attribute(__name__, name)
    return packet(name)
