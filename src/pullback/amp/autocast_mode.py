"""``torch.amp.autocast_mode``: autocast, which casts the operands of listed ops, and its switches.

The lists are in :mod:`pullback.amp.cast_rules`. An operation asks whether its thread autocasts where it asks for
``__torch_function__`` (:func:`pullback.core.override.dispatch`). Functions made of several operations are wrapped in
their namespaces, when the first block is entered.
"""

from __future__ import annotations

import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ..base import thread_state
from ..base.dtypes import bfloat16, dtype, float16, float64
from ..core import override
from ..core.op import METHODS
from ..core.override import NOT_OVERRIDDEN
from ..core.public import function_of, published
from ..core.tensor import Tensor
from .cast_rules import rule_of

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

DEVICES = {
    "cuda": float16,
    "xpu": float16,
    "mps": float16,
    "hpu": bfloat16,
    "xla": bfloat16,
    "ipu": float16,
    "mtia": float16,
}


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, Any] = {"cpu": bfloat16, **DEVICES}
        self.cache, self.nesting, self.counted = True, 0, False


_local = _PerThread()


# --- what becomes of an operation ---------------------------------------------------------------------------


def _cast(value: Any, to: dtype) -> Any:
    """A value with its tensors of other floating types than float64 in another type; lists, tuples and dicts, too."""
    if isinstance(value, Tensor):
        return value.to(to) if value.is_floating_point() and value.dtype not in (float64, to) else value
    if isinstance(value, list | tuple):
        parts = [_cast(v, to) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Mapping):
        return {k: _cast(v, to) for k, v in value.items()}
    return value


def _of_operation(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    rule = rule_of(fn)
    to = None if rule is None else rule((*args, *kwargs.values()), _local.dtypes["cpu"])
    return NOT_OVERRIDDEN if to is None else _inside(fn, _cast(args, to), _cast(kwargs, to))


def _inside(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function whose parts are not to be cast."""
    before, override._modes.cast = override._modes.cast, None
    try:
        return fn(*args, **kwargs)
    finally:
        override._modes.cast = before


def _watched(fn: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """A function made of operations, as autocasting has it."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if override._modes.cast is None:
            return fn(*args, **kwargs)
        to = rule((*args, *kwargs.values()), _local.dtypes["cpu"])
        return _inside(fn, args, kwargs) if to is None else _inside(fn, _cast(args, to), _cast(kwargs, to))

    return call


@functools.cache
def _watch() -> None:
    """Wrap the functions on the lists that are no operations of their own, once."""
    package = __package__.rpartition(".")[0]
    for space in ("", ".nn.functional", ".linalg", ".fft"):
        module = importlib.import_module(package + space)
        for name, shown in list(vars(module).items()):
            fn = function_of(shown)
            rule = _rule_of_composite(fn)
            if rule is not None:
                watched = _watched(fn, rule)
                setattr(module, name, watched if fn is shown else published(watched, module.__name__, name))
                if hasattr(fn, "public"):
                    fn.public = watched  # what overrides are asked with
    for name, fn in METHODS.items():
        rule = _rule_of_composite(fn)
        if rule is not None:
            setattr(Tensor, name, _watched(fn, rule))


def _rule_of_composite(fn: Any) -> Callable[..., Any] | None:
    return rule_of(fn) if isinstance(fn, FunctionType) and not hasattr(fn, "op") else None


# --- switching ----------------------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether there is such a device type; only ``"cpu"`` autocasts."""
    return device_type in _local.dtypes


def _known(device_type: str) -> str:
    if not is_autocast_available(device_type):
        raise RuntimeError(
            f"unknown device type for autocast in get_autocast_dispatch_key_from_device_type: {device_type}"
        )
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread autocasts for a device type."""
    return _local.enabled.get(_known(device_type), False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocasting on or off in this thread; see :class:`autocast`."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _local.enabled[_known(device_type)] = bool(enabled)
    on = _local.enabled.get("cpu", False)
    if on:
        _watch()
    override._modes.cast = _of_operation if on else None
    if on is not _local.counted:
        thread_state.add_slow_path_reason(1 if on else -1, True)
        _local.counted = on


def get_autocast_dtype(device_type: str) -> dtype:
    """The type that :class:`autocast` casts to unless told otherwise."""
    return _local.dtypes[_known(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the type that :class:`autocast` casts to unless told otherwise."""
    _local.dtypes[_known(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """The value that was set; casts are not cached in any case."""
    return _local.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted for compatibility: casts are not cached, so a parameter that changes is cast anew."""
    _local.cache = enabled


def clear_autocast_cache() -> None:
    """Accepted for compatibility: casts are not cached."""


def autocast_increment_nesting() -> int:
    """Count one more block."""
    _local.nesting += 1
    return _local.nesting


def autocast_decrement_nesting() -> int:
    """Count one block less."""
    _local.nesting -= 1
    return _local.nesting


def _of_cpu(fn: Callable[..., Any]) -> Callable[..., Any]:
    call = functools.partial(fn, "cpu")
    call.__doc__ = f":func:`{fn.__name__}` for the CPU."
    return call


is_autocast_cpu_enabled, set_autocast_cpu_enabled = _of_cpu(is_autocast_enabled), _of_cpu(set_autocast_enabled)
get_autocast_cpu_dtype, set_autocast_cpu_dtype = _of_cpu(get_autocast_dtype), _of_cpu(set_autocast_dtype)
get_autocast_gpu_dtype = functools.partial(get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = functools.partial(set_autocast_dtype, "cuda")


class autocast:
    """Inside, matrix products and convolutions compute in half precision, losses and the like in float32.

    A context manager, and a decorator for functions. Blocks nest; ``enabled=False`` turns casting off inside one.

    Args:
        device_type: ``"cpu"``. For other devices casting stays off, with a warning for ``"cuda"``.
        dtype: bfloat16 (the default) or float16.
        enabled: whether to cast.
        cache_enabled: accepted.

    Raises:
        ValueError, RuntimeError: the device type is not a string, or not one of PyTorch's.

    >>> import pullback as torch
    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"): (a @ a).dtype, (a + a).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _local.cache if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[bool, Any, bool]] = []  # one entry for each time that it is entered

    def __enter__(self) -> autocast:
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device), _local.cache))
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        _local.cache = self._cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, fast_dtype, _local.cache = self._before.pop()
        autocast_decrement_nesting()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, fast_dtype)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                "as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, run inside of an :class:`autocast`."""

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


# --- custom functions ---------------------------------------------------------------------------------------


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Any:
    """For ``forward`` of an ``autograd.Function``: remember how it was cast, for :func:`custom_bwd`.

    Args:
        fwd: the method; left out, a decorator is returned.
        device_type: such as ``"cpu"``.
        cast_inputs: cast the arguments to this type where the thread autocasts, and cast nothing inside.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """For ``backward`` of an ``autograd.Function``: cast as its ``forward`` did, see :func:`custom_fwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args)

    return decorated
