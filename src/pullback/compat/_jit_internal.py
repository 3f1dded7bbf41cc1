"""``torch._jit_internal``: marks for the compiler of TorchScript, which there is none of."""

from __future__ import annotations

from typing import Any, TypeVar

from .jit import export, ignore, is_scripting, unused

__all__ = ["export", "ignore", "is_scripting", "unused"]

T = TypeVar("T")


def _copy_to_script_wrapper(fn: T) -> T:
    """The method, as it is: it is called on scripted modules, too, which are the modules themselves."""
    return fn


def _overload(func: T) -> T:
    """The function, as it is."""
    return func


def _overload_method(func: T) -> T:
    """The method, as it is."""
    return func


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: Any, func_name: Any
) -> Any:
    """One of two functions, by a boolean argument."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if func_name is not None:
        fn.__name__ = func_name
    if module_name is not None:
        fn.__module__ = module_name
    return fn
