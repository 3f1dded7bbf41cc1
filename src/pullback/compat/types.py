"""``torch.types``: type aliases for annotations, and :func:`typename`."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any

from ..base.device import device as _device
from ..base.dtypes import dtype as _dtype  # noqa: F401  (what programs annotate with)
from ..base.shape import Size
from ..core.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage", "SymBool", "SymFloat", "SymInt", "typename"]

Number = int | float | bool
Device = _device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
Storage = Any
_TensorOrTensors = Tensor | Sequence[Tensor]
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_size = Size | list[int] | tuple[int, ...]


class _Symbol:
    def __init__(self) -> None:
        raise NotImplementedError(
            f"torch.{type(self).__name__}: there are no symbolic numbers, sizes are known when an operation runs"
        )


class SymInt(_Symbol):
    """A size that is not known yet, for programs that ask whether one is: here sizes always are, and nothing is one."""


class SymFloat(_Symbol):
    """A number that is not known yet."""


class SymBool(_Symbol):
    """A condition that is not known yet."""


def typename(obj: Any, /) -> str:
    """PyTorch's name for the type of ``obj``: for a tensor its old name, else its class, or its own name if it has one.

    >>> import pullback as torch
    >>> torch.typename(torch.tensor([1])), torch.typename(torch.nn.Linear(1, 1))
    ('torch.LongTensor', 'torch.nn.modules.linear.Linear')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if getattr(obj, "__module__", None) and hasattr(obj, "__qualname__") else type(obj)
    module, name = named.__module__, named.__qualname__
    if module.partition(".")[0] == "pullback":
        module = "torch" + module.removeprefix("pullback")
    return name if module in ("", "builtins") else f"{module}.{name}"


def sym_int(a: Any) -> int:
    """A size as an integer, rounded to zero."""
    return int(a)
