"""Wrapper subclasses: tensors without memory of their own, whose class computes (``__torch_dispatch__``).

    >>> import pullback as torch
    >>> from pullback.utils._pytree import tree_map
    >>> class Noted(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, inner):
    ...         self = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    ...         self.inner = inner
    ...         return self
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         inner = tree_map(lambda a: a.inner if isinstance(a, cls) else a, args)
    ...         return tree_map(lambda r: cls(r) if isinstance(r, torch.Tensor) else r, func(*inner))
    >>> x = Noted(torch.tensor([1.0, 2.0])).requires_grad_()
    >>> y = x * x
    aten.mul.Tensor
    >>> type(y).__name__, y.grad_fn.name()
    ('Noted', 'MulBackward0')

Instead of an array such a tensor holds a value (:mod:`pullback.core.level`) of a level that is always active: autograd
records as ever, and where an operation would compute, ``__torch_dispatch__`` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.errors import with_notes
from ..core.level import Level, LevelValue, StandingValue, wrap_value
from ..core.tensor import INTERNAL_ATTRIBUTES, Tensor
from .aten import OpOverload, overload_of, overloaded, redispatching, unwrap_arrays
from .aten_calls import aten_calls, without_defaults

new = object.__new__


class Wrappers(Level):
    """The level of all wrapper tensors; never left."""

    start, live = 0, True

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        calls = None if hasattr(op, "overload") else aten_calls(op, values)
        if calls is None:
            given = [_wrap_arrays(v) for v in without_defaults(op, values)]
            return unwrap_arrays(dispatch(overload_of(op, values), op.call, given))
        result = _wrap_arrays(values[0])
        for name, overload, args, kwargs in calls:
            func = overloaded(name, overload)
            result = dispatch(func, func.function, [result, *map(_wrap_arrays, args)], kwargs)
        return unwrap_arrays(result)

    def dressed(self, x: Tensor) -> Tensor:
        return x._array.apply_class(x)

    track = dressed

    def raised(self, array: np.ndarray, in_batch: bool = False) -> Any:
        raise RuntimeError("a wrapper tensor cannot be written into an ordinary one: write out of place")


class Wrapper(StandingValue):
    """The value in a wrapper tensor's data slot.

    Attributes:
        cls: the tensor's class.
        attributes: the tensor's ``__dict__``; not the tensor, which must not hold itself.
        shape, dtype, strides: what the tensor says of itself.
    """

    __slots__ = ("cls", "attributes", "shape", "dtype", "strides")
    level, outer = Wrappers(), False
    cls: type
    attributes: dict[str, Any]
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]

    def __init__(self, tensor: Tensor, shape: Sequence[int], dtype: np.dtype, strides: Sequence[int] | None) -> None:
        if type(tensor).__basicsize__ != Tensor.__basicsize__:
            raise with_notes(
                TypeError(f"{type(tensor).__name__} has __slots__, so results cannot become tensors of this class."),
                "Leave out __slots__ in classes with __torch_dispatch__.",
            )
        self.cls, self.attributes, self.shape, self.dtype = type(tensor), tensor.__dict__, tuple(shape), dtype
        steps = np.cumprod([1, *self.shape[:0:-1]], dtype=np.int64)[::-1] if strides is None else strides
        self.strides = tuple([int(s) * dtype.itemsize for s in steps[: len(self.shape)]])

    def apply_class(self, x: Tensor) -> Tensor:
        """Give a new tensor that holds this value its class and attributes."""
        x.__class__ = self.cls
        x.__dict__.update({k: v for k, v in self.attributes.items() if k not in INTERNAL_ATTRIBUTES})
        return x

    @property
    def value(self) -> Any:
        """The wrapped array: the one on which the class calls ``aten.detach``.

        Raises:
            TypeError: if it calls it on none.
        """
        seen: list[Tensor] = []
        dispatch(overloaded("detach", "default"), lambda x: seen.append(x) or x.detach(), [wrap_value(self)])  # type: ignore[func-returns-value]
        if not seen:
            raise TypeError(
                f"{self.cls.__name__} has no memory of its own, and its __torch_dispatch__ did not call aten.detach "
                f"on any."
            )
        return seen[0]._array

    def __reduce__(self) -> Any:
        """For pickles and copies of the tensor, whose attributes they make."""
        return _restored, (self.cls, self.shape, self.dtype, self.strides)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(self.value, *args, **kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        # which the wrapper's own version counts, whose memory this is
        def write(into: Tensor, source: Tensor) -> Tensor:
            into._array[...] = source._array
            return into

        dispatch(overloaded("copy_", "default"), write, [wrap_value(self), wrap_value(value)])

    def item(self) -> Any:
        return self.value.item()

    def tolist(self) -> Any:
        return self.value.tolist()


def _restored(cls: type, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...]) -> Wrapper:
    value = object.__new__(Wrapper)
    value.cls, value.attributes, value.shape, value.dtype, value.strides = cls, {}, shape, dtype, strides
    return value


def dispatch(func: OpOverload, run: Callable[..., Any], args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """Call ``__torch_dispatch__`` of the wrappers' classes for an operation, subclasses first; below, it is ``run``.

    Raises:
        TypeError: if every class returns ``NotImplemented``.
    """
    types: list[type] = []
    for t in map(type, _wrappers(args)):
        if t not in types:
            types.insert(next((i for i, s in enumerate(types) if issubclass(t, s)), len(types)), t)
    with thread_state.no_grad(), redispatching(func, run):
        for t in types:
            result = t.__torch_dispatch__(func, tuple(types), tuple(args), dict(kwargs or {}))  # type: ignore[attr-defined]
            if result is not NotImplemented:
                return result
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "\n".join([f"  - tensor subclass {t}" for t in types])
    )


def _wrappers(args: Any) -> Iterator[Tensor]:
    for a in args:
        if isinstance(a, (list, tuple)):
            yield from _wrappers(a)
        elif isinstance(a, Tensor) and isinstance(a._array, Wrapper):
            yield a


def _wrap_arrays(value: Any) -> Any:
    if isinstance(value, (np.ndarray, LevelValue)):
        return wrap_value(value)
    if isinstance(value, list) and any([isinstance(v, (np.ndarray, LevelValue)) for v in value]):
        return [_wrap_arrays(v) for v in value]
    return value
