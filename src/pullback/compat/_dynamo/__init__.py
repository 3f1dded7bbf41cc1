"""``torch._dynamo``: switches and decorators of PyTorch's compiler, accepted and ignored.

>>> import pullback as torch
>>> torch._dynamo.config.suppress_errors = True
>>> torch._dynamo.reset()
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ...compiler import allow_in_graph, disable, is_compiling, reset, set_stance
from ...compiler import explain as _explain
from ...compiler.compiled_function import varying
from . import eval_frame
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "eval_frame",
    "explain",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "reset",
    "set_stance",
]


def explain(f: Any) -> Any:
    """A function of arguments that calls ``f`` compiled with them and returns what became of it, as text.

    >>> import pullback as torch
    >>> print(torch._dynamo.explain(lambda x: x * 2)(torch.ones(3)))
    compiled: 1 instruction, no guards besides the arguments
    """
    return lambda *args, **kwargs: _explain(f, *args, **kwargs)


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: of PyTorch's there is none; ``torch.compile`` has one of its own, whatever is named."""
    return []


def is_dynamo_supported() -> bool:
    """Whether ``torch.compile`` compiles here: it does."""
    return True


config = SimpleNamespace(
    suppress_errors=False, verbose=False, cache_size_limit=8, recompile_limit=8, automatic_dynamic_shapes=True
)
assume_constant_result = allow_in_graph


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Say that a tensor stays where it is in memory."""


def mark_dynamic(t: Any, index: Any, **kwargs: Any) -> None:
    """Say that sizes of a tensor will vary: what is compiled for it is written for any size."""
    varying[id(t)] = t


def mark_static(t: Any, index: Any = None) -> None:
    """Take that back."""
    varying.pop(id(t), None)


maybe_mark_dynamic = mark_dynamic
