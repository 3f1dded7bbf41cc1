"""``torch.jit``: ``script`` and ``trace`` return their argument, which runs eagerly.

There is no separate language to compile to, and so nothing to save but parameters: see :func:`save`.
"""

from __future__ import annotations

import inspect
from builtins import isinstance as _isinstance
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import dedent
from typing import Any, Final, NoReturn, TypeVar

from ..base.errors import with_notes
from ..core import slots
from ..nn.modules.module import Module

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")


class Error(RuntimeError):
    """The error of scripted code; never raised here, where code raises its own errors."""


class ScriptWarning(Warning):
    """A category to filter; nothing warns."""


class TracerWarning(Warning):
    """A category to filter: nothing is frozen into a trace, so nothing warns."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to ignore."""


class TracingCheckError(Exception):
    """The error of a trace that disagrees with its function; never raised here."""


class ScriptModule(Module):
    """A module: subclasses of it are modules like any other. Scripted modules keep their own class."""


class RecursiveScriptModule(ScriptModule):
    """For ``isinstance``: nothing is one, scripted modules keep their own class."""


class ScriptFunction:
    """For ``isinstance``: nothing is one, scripted functions stay functions."""


# --- scripting and tracing ----------------------------------------------------------------------------------


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself, which runs as it is.

    >>> import pullback as torch
    >>> @torch.jit.script
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    return _with_save(obj)


def trace(func: T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The function or module itself: unlike a trace, it takes every branch anew."""
    return _with_save(func)


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """The module itself."""
    return _with_save(mod)


def _with_save(obj: T) -> T:
    """Give a function or module the ``save`` that programs call on what was scripted."""
    if (inspect.isfunction(obj) or _isinstance(obj, Module)) and not hasattr(obj, "save"):
        vars(obj)["save"] = save_method
    return obj


def save_method(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused; see :func:`save`."""
    save(None)


def save(m: Any, f: Any = None, _extra_files: Any = None) -> NoReturn:
    """Refused: there is no program to write down, only parameters.

    Raises:
        NotImplementedError: always; it says what can be saved.
    """
    raise with_notes(
        NotImplementedError(
            "torch.jit.save: Pullback runs Python code as it is and has no program of its own to save."
        ),
        "Save the parameters: torch.save(module.state_dict(), path); load them into a module made by the same code.",
        "For other programs to run it: torch.onnx.export(module, args, path).",
    )


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> NoReturn:
    """Refused: TorchScript is a language of its own, which Pullback does not run.

    Raises:
        NotImplementedError: always; it says what can be loaded.
    """
    raise with_notes(
        NotImplementedError(f"torch.jit.load: {f!r} holds a TorchScript program, which Pullback does not run."),
        "Where PyTorch is: torch.save(torch.jit.load(path).state_dict(), new). Here: "
        "module.load_state_dict(torch.load(new)).",
    )


def is_scripting() -> bool:
    """False: code is run as it is."""
    return False


is_tracing = is_scripting


# --- marks, which mark nothing ------------------------------------------------------------------------------


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function, as it is. Also used with arguments, ``@torch.jit.ignore(drop=True)``."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """The function, as it is."""
    return fn


export = interface = script_method = unused


def script_if_tracing(fn: T) -> T:
    """The function, as it is."""
    return fn


_script_if_tracing = script_if_tracing
_overload = _overload_method = unused


def annotate(the_type: Any, the_value: T) -> T:
    """The value, as it is."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether ``obj`` is of a type, where that may be a ``List[int]``, ``Dict[str, Tensor]``, ``Optional[...]`` or a
    tuple of them.
    """
    import typing
    from types import NoneType, UnionType

    if _isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type is None:
        return obj is None
    if target_type is Any:
        return True
    if origin in (typing.Union, UnionType):
        return any(isinstance(obj, NoneType if t is None else t) for t in args)
    if origin is None:
        return _isinstance(obj, target_type)
    if not _isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(args) and all(map(isinstance, obj, args))
    if origin is dict:
        return all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
    return all(isinstance(item, args[0]) for item in obj)


class Attribute:
    """A value with the type it is said to have."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


class CompilationUnit:
    """The functions of a text of definitions, as attributes.

    >>> import pullback as torch
    >>> torch.jit.CompilationUnit("def double(x):\\n    return 2 * x").double(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, lang: str | None = None) -> None:
        self._space: dict[str, Any] = {}
        if lang is not None:
            self.define(lang)

    def define(self, lang: str) -> None:
        """Add the definitions of a text."""
        import typing

        self._space |= {"torch": slots.namespace, "Tensor": slots.namespace.Tensor} | {
            n: getattr(typing, n) for n in ("List", "Dict", "Tuple", "Optional")
        }
        exec(dedent(lang), self._space)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._space:
            raise AttributeError(name)
        return self._space[name]


# --- tasks --------------------------------------------------------------------------------------------------


class Future:
    """The future that :func:`fork` returns, already done."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """The result."""
        return self._value

    value = wait

    def done(self) -> bool:
        """True."""
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call the function, now; :func:`wait` gives the result."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of what :func:`fork` called."""
    return future.wait()


_fork, _wait = fork, wait


# --- for inference ------------------------------------------------------------------------------------------


def freeze(mod: Module, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Module:
    """The module itself.

    Raises:
        RuntimeError: it is in training mode.
    """
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    return mod


def optimize_for_inference(mod: Module, other_methods: Any = None) -> Module:
    """The module itself."""
    return mod


run_frozen_optimizations = optimize_for_inference


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accepted: what is fused is the business of kernels."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted: oneDNN is not used."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Accepted."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Accepted."""
    yield


class strict_fusion:
    """Accepted."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...
