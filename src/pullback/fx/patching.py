"""What tracers of libraries use of ``torch.fx._symbolic_trace``: patches that end with a block, and how calls begin."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from ..nn.modules.module import Module

_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__


class _Patcher:
    """A block in which methods and names are replaced; leaving it restores them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._done: set[tuple[int, str]] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Replace a name in a namespace."""
        if not (deduplicate and (id(frame_dict), name) in self._done):
            self._stack.enter_context(patch.dict(frame_dict, {name: new_fn}))
            self._done.add((id(frame_dict), name))

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Replace a method of a class."""
        if not (deduplicate and (id(cls), name) in self._done):
            self._stack.enter_context(patch.object(cls, name, new_fn))
            self._done.add((id(cls), name))

    def visit_once(self, thing: Any) -> bool:
        """Whether this is the first time that it is asked about this."""
        first = (id(thing), "") not in self._done
        self._done.add((id(thing), ""))
        return first
