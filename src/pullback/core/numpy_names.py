"""NumPy's names of arguments, ``axis`` and ``keepdims``, for functions that are made of operations.

Operations accept them themselves (:data:`pullback.core.signature.NUMPY_NAMES`). The functions of ``torch``,
``torch.linalg``, ``torch.fft`` and ``torch.special`` and the methods of tensors are wrapped; those of
``torch.nn.functional`` are not, where PyTorch accepts no other names either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .signature import NUMPY_NAMES
from .tensor import Tensor


def with_numpy_names(fn: Callable) -> Callable:
    """The function, which also takes its arguments by NumPy's names."""
    names = fn.__code__.co_varnames
    others = {numpys: ours for numpys, ours in NUMPY_NAMES.items() if ours in names and numpys not in names}

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not others.keys().isdisjoint(kwargs):
            kwargs = {others.get(key, key): value for key, value in kwargs.items()}
        return fn(*args, **kwargs)

    return call


def accept_numpy_names(space: dict[str, Any]) -> None:
    """Let the functions of a namespace that have a ``dim`` take an ``axis`` as well."""
    for name, fn in list(space.items()):
        if _has_dim(fn) and not name.startswith("_"):
            space[name] = with_numpy_names(fn)


def accept_numpy_names_in_methods() -> None:
    """The same for the methods of tensors."""
    for name, fn in list(vars(Tensor).items()):
        if _has_dim(fn):
            setattr(Tensor, name, with_numpy_names(fn))


def _has_dim(fn: Any) -> bool:
    if fn.__class__ is not FunctionType or hasattr(fn, "op"):
        return False
    code = fn.__code__
    # 8: has **kwargs
    return not code.co_flags & 8 and "dim" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
