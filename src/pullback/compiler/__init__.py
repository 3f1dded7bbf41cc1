"""``pullback.compile``: a function is traced once; later calls check guards and run one plan of native code.

    trace ─► ir ─► passes ─► lowering, fusion ─► schedule ─► emit

The trace records ops and vjps as they run; passes merge, fold and drop instructions; lowerings turn each into loops,
matrix products and kernel calls, and fusion lets loops of one shape be one; what is left over calls the op itself. The
emitter plans memory and writes LLVM IR, and the wrapper is the Python function that a call runs.
"""

from __future__ import annotations

from typing import Any

from ..base import thread_state
from .compiled_function import compile
from .trace import CannotCompile

__all__ = ["CannotCompile", "allow_in_graph", "compile", "disable", "explain", "is_compiling", "reset"]


def explain(function: Any, *args: Any, **kwargs: Any) -> str:
    """What ``compile`` makes of a call: how much is compiled and what is guarded, or why the function runs as it is.

    The function is called.

    >>> import pullback as torch
    >>> scale = 2.0
    >>> print(torch.compiler.explain(lambda x: x * scale, torch.ones(3)))
    compiled: 1 instruction, guards on scale
    """
    compiled = compile(function)
    compiled(*args, **kwargs)
    inner = getattr(compiled, "_compiled", compiled)
    if not inner.versions:
        return f"runs as it is: {inner.given_up or 'each call differs'}"
    version = inner.versions[0]
    count, names = len(version.program.instructions), ", ".join(version.guarded)
    plural = "s" * (count != 1)
    return f"compiled: {count} instruction{plural}, " + (
        f"guards on {names}" if names else "no guards besides the arguments"
    )


def is_compiling() -> bool:
    """Whether a function is being traced in this thread.

    >>> import pullback as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return thread_state.local.trace is not None


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a program is being exported: ``torch.export`` is not there."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def reset() -> None:
    """Forget what was compiled: a no-op, as each compiled function keeps its own versions."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, also as a decorator with arguments: only functions given to ``compile`` are compiled."""
    return fn if fn is not None else disable


def allow_in_graph(fn: Any) -> Any:
    """The function itself: a trace records ops, whoever calls them."""
    return fn


assume_constant_result = allow_in_graph
