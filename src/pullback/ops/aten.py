"""``torch.ops.aten``: operations by the names that PyTorch's kernels have, as policies and dispatch modes receive them.

An operation has one implementation here, so its overloads (``.default``, ``.Tensor``, ...) are equal to each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np


class OpOverload:
    """One operation: calling it computes, on tensors."""

    def __init__(self, name: str, overload: str = "default", op: Any = None) -> None:
        self.name, self.overload, self._op = name, overload, op
        self.__name__ = f"{name}.{overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .. import layers
        from ..op import wrap

        if self._op is None:
            return public(self.name)(*args, **kwargs)
        values = [arrays(a) for a in args]
        result = layers.below(self._op, values)
        return [wrap(np.asarray(r)) for r in result] if isinstance(result, (tuple, list)) else wrap(np.asarray(result))

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        return OpOverloadPacket(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

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
        return OpOverload(self.__name__, overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return public(self.__name__)(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverloadPacket) and other.__name__ == self.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"


def overload_of(op: Any, values: Sequence[Any]) -> OpOverload:
    """The operation as PyTorch calls it, for these arguments: a product of two matrices is ``mm``."""
    node = op.node_name if isinstance(op.node_name, str) else op.node_name(*values)
    stem = re.sub(r"Backward\d*$", "", node)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower() if stem != node else op.name
    kind = "Tensor" if op.kind == "elementwise" and len(op.params) == 2 else "default"
    return OpOverload(name, kind, op)


def arrays(value: Any) -> Any:
    """An argument with arrays in place of tensors."""
    if isinstance(value, (tuple, list)):
        return type(value)([arrays(v) for v in value])
    return getattr(value, "_array", value)


def public(name: str) -> Any:
    """The function of that name in the public namespace, or the method."""
    import pullback

    return getattr(pullback, name, None) or getattr(pullback.Tensor, name)


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith(("_", "pytest")):  # pytest asks every module for its own names
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return OpOverloadPacket(name)
