"""``pullback.compile``: a function traced once, simplified, fused, and run as one plan of native code.

trace ─► ir ─► simplify ─► fuse ─► llvm          (the same operations, the same rules)
"""

from __future__ import annotations

from typing import Any

from ..base import thread_state
from .compiled_function import compile
from .trace import CannotCompile

__all__ = ["CannotCompile", "allow_in_graph", "compile", "disable", "is_compiling", "reset"]


def is_compiling() -> bool:
    """Whether a function is being traced in this thread.

    >>> import pullback as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return thread_state.local.trace is not None


def reset() -> None:
    """Forget what was compiled: nothing to do, as each compiled function keeps its own plans."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, also as a decorator with arguments: called by itself, nothing is compiled anyway."""
    return fn if fn is not None else disable


def allow_in_graph(fn: Any) -> Any:
    """The function itself: a trace looks at operations, whoever calls them."""
    return fn
