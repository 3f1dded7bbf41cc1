"""``torch.overrides``: ``__torch_function__`` and :class:`TorchFunctionMode`.

A mode intercepts every public function called in its block, a class those that are handed one of its objects. Autocast
(:mod:`pullback.amp`) has its turn after all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from sys import modules
from types import FunctionType
from typing import Any

from .base import thread_state
from .base.dtypes import OF_NUMPY
from .core import slots
from .core.op import Op
from .core.override import DisableTorchFunction as DisableTorchFunction
from .core.override import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .core.override import _modes, dispatch, overriding, visible_to_modes
from .core.override import is_tensor_like as is_tensor_like
from .core.public import function_of, published
from .core.tensor import Tensor
from .ops import arithmetic, complex, convert, matmul, minmax, reduce, slices, softmax, where

# Modules of functions that programs see, and how their names begin.
SPACES = {"": "", ".autograd": "", ".nn.functional": "", ".linalg": "linalg_", ".fft": "fft_", ".special": "special_"}
UNSEEN = frozenset(
    """as_subclass broadcast_shapes from_numpy frombuffer get_rng_state initial_seed is_storage is_tensor manual_seed
    seed set_rng_state""".split()
)

OPERATORS = {"__abs__": "abs", "__invert__": "bitwise_not", "__matmul__": "matmul", "__neg__": "neg"}
# The public functions of operations that have another function in front, one with the same first arguments. They are
# looked up by name when they are called, as `watch` puts others in their place.
PUBLIC = {
    arithmetic.elementwise_sub.op: arithmetic.sub,
    arithmetic.elementwise_div.op: arithmetic.div,
    arithmetic.elementwise_add.op: arithmetic.add,
    arithmetic.elementwise_pow.op: arithmetic.pow,
    complex.conj_view.op: complex.conj,
    complex.imaginary_part.op: complex.imag,
    complex.real_part.op: complex.real,
    matmul._matmul.op: matmul.matmul,
    minmax.max_along.op: minmax.max,
    minmax.min_along.op: minmax.min,
    softmax._log_softmax.op: softmax.log_softmax,
    softmax._softmax.op: softmax.softmax,
    where.elementwise_where.op: where.where,
}
# Accessors of tensors that other calls made, whose class they keep.
AS_THEY_ARE = frozenset([Tensor.grad.__get__, Tensor._base.__get__])
SUMS = (reduce.sum_all.op, reduce.sum_dims.op)
OF_ALL = {minmax.max_all.op: minmax.max, minmax.min_all.op: minmax.min}


class TorchFunctionMode:
    """Intervenes in every operation inside its block; a subclass says how.

    It sees public functions whole, not the operations that they are made of.

    >>> import pullback as torch
    >>> class Names(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names(): _ = torch.ones(2) * 2
    ones
    mul
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        watch()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _modes.modes += (self,)
        thread_state.add_slow_path_reason(1, True)
        return self

    def __exit__(self, *exc: object) -> None:
        _modes.modes = _modes.modes[:-1]
        thread_state.add_slow_path_reason(-1, True)


def without_defaults(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as programs write them: operations have filled in what was left out."""
    defaults, n = op.defaults, len(args)
    while n <= len(defaults) and n and args[n - 1] is defaults[n - 1]:
        n -= 1
    return args[:n]


def _works_on_tensors(fn: Callable[..., Any]) -> bool:
    return fn.__module__.startswith(tuple([f"{__package__}.{home}" for home in ("ops.", "engine.api", "core.tensor")]))


@functools.cache
def watch() -> None:
    """Let all public functions be seen, once: when the first class that intervenes is declared or met, or this module
    is imported. Others need not pay for it.
    """
    found: dict[Any, Any] = {}
    spaces: list[tuple[Any, str]] = [
        (import_module(f"{__package__}{space}"), prefix) for space, prefix in SPACES.items()
    ]
    for space, prefix in (*spaces, (Tensor, "")):
        for name, shown in list(vars(space).items()):
            whole, fn = prefix + name, function_of(shown)
            public = (
                isinstance(fn, FunctionType)
                and (not name.startswith("_") or name == "__setitem__")
                and name not in UNSEEN
            )
            if space is Tensor and (public or name in OPERATORS):  # a method is another function than that of its name
                setattr(Tensor, name, visible_to_modes(fn, OPERATORS.get(name, name), Tensor, name))
            elif public and _works_on_tensors(fn) and not (hasattr(fn, "op") and getattr(fn, "__name__", "") == whole):
                key = fn, whole
                if key not in found:
                    found[key] = visible_to_modes(fn, whole, space, name)
                    if hasattr(fn, "public"):
                        fn.public = found[key]
                setattr(
                    space,
                    name,
                    published(found[key], getattr(space, "__name__", ""), name) if shown is not fn else found[key],
                )
    for name, method in OPERATORS.items():
        vars(Tensor)[name].public = vars(Tensor)[method]
    for module in {m for name, m in list(modules.items()) if name.startswith(f"{__package__}.nn.modules.")}:
        # they hold it themselves
        for layer in [c for c in vars(module).values() if isinstance(c, type) and "function" in vars(c)]:
            fn = vars(layer)["function"]
            if (fn, fn.__name__) in found:
                layer.function = found[fn, fn.__name__]  # type: ignore[attr-defined]


def public_call(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The public function behind a call of an operation, with the arguments as programs write them."""
    op = getattr(fn, "op", None)
    if op is None or hasattr(fn, "public"):
        return fn, args, kwargs
    if op in PUBLIC:
        return getattr(slots.namespace, PUBLIC[op].__name__), args, kwargs
    if op in SUMS:
        *args_, dtype = args
        if len(args_) > 1 and len(args_[1]) == 1:  # dims
            args_[1] = args_[1][0]
        if len(args_) == 3 and not args_[2]:  # keepdim
            args_.pop()
        return reduce.sum, tuple(args_), kwargs if dtype is None else {"dtype": dtype, **kwargs}
    if op in OF_ALL:
        return OF_ALL[op], args, kwargs
    if op is slices.view_part.op:
        return Tensor.__getitem__, args[:2], kwargs
    if op is convert.cast.op:
        return Tensor.to, (args[0], OF_NUMPY[args[1]]), kwargs
    return fn, without_defaults(op, args), kwargs


def default_torch_function(
    cls: type, fn: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Compute, and give the results the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = fn(*args, **kwargs)
    return result if fn in AS_THEY_ARE else _as(cls, result)


def _as(cls: type, result: Any) -> Any:
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_as(cls, r) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def has_torch_function(args: Iterable[Any]) -> bool:
    """Whether any of the arguments overrides operations."""
    return bool(thread_state.slow_path_reasons and overriding(tuple(args)))


def handle_torch_function(fn: Callable[..., Any], relevant: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Let the overriding arguments take the call, as functions of the user's own do."""
    return dispatch(fn, args, kwargs)


def _assert(condition: Any, message: str) -> Any:
    """``assert``, as a function that traces can record."""
    if not isinstance(condition, Tensor) and overriding((condition,)):
        return dispatch(_assert, (condition, message), {})
    assert condition, message
    return None


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that computes as if there were none; others are derived from it."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


watch()  # a program that imports this module has objects that want to be asked
