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
from .refusal import CannotCompile
from .reports import explain, set_logs
from .stance import set_stance

__all__ = [
    "CannotCompile",
    "allow_in_graph",
    "compile",
    "disable",
    "explain",
    "is_compiling",
    "reset",
    "set_logs",
    "set_stance",
]


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
