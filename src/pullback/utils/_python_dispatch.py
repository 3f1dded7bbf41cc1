"""``torch.utils._python_dispatch``: :class:`TorchDispatchMode`, which sees every operation below autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..core.interpose import Interposer, compute_below
from ..core.record import wrap
from ..levels.aten import overload_of, overloaded, redispatching, unwrap_arrays
from ..levels.aten_calls import aten_calls, without_defaults


class TorchDispatchMode(Interposer):
    """Subclass it and override ``__torch_dispatch__(self, func, types, args, kwargs)``, which is called for each
    computation.

    ``func`` is an operation (its ``__name__`` is ``"mul.Tensor"``, say), ``args`` are tensors without history. What it
    returns, usually ``func(*args, **kwargs)``, is the operation's result.

    >>> import pullback as torch
    >>> from pullback.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names(): _ = torch.ones(2) * 2
    aten.mul.Tensor
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        calls = None if hasattr(op, "overload") else aten_calls(op, values)
        if calls is None:
            args = tuple([_tensors(v) for v in without_defaults(op, values)])
            func = overload_of(op, values)
            with redispatching(func, lambda *args: _below(op, (*args, *values[len(args) :]))):
                return unwrap_arrays(self.__torch_dispatch__(func, (), args, {}))
        result = _tensors(values[0])
        for name, overload, args, kwargs in calls:
            func = overloaded(name, overload)
            with redispatching(func, func.function):
                result = self.__torch_dispatch__(func, (), (result, *map(_tensors, args)), dict(kwargs))
        return unwrap_arrays(result)


def _below(op: Any, args: Sequence[Any]) -> Any:
    result = compute_below(op, [unwrap_arrays(a) for a in args])
    return [_tensors(r) for r in result] if isinstance(result, (tuple, list)) else _tensors(result)


def _tensors(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    if isinstance(value, list) and any([isinstance(v, np.ndarray) for v in value]):
        return [_tensors(v) for v in value]
    return value


def _get_current_dispatch_mode() -> Any:
    """The innermost mode of this thread, or None."""
    return thread_state.local.layers[-1] if thread_state.local.layers else None
