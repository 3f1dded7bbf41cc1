"""``RemovableHandle``: returned by ``register_hook``; removes the hook."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any

_ids = itertools.count().__next__


class RemovableHandle:
    """Removes a hook that was registered: ``handle.remove()``, or leaving it as a context.

    Args:
        hooks: the mapping that holds the hook; the handle has only a weak reference to it.
        extra_dict: further mappings (one or a list) from which the same id is removed.
    """

    next_id = 0  # PyTorch programs read it

    def __init__(self, hooks: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = _weak(hooks)
        self.id = _ids()
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(_weak(d) for d in extra)

    @classmethod
    def add(cls, hooks: MutableMapping[int, Callable[..., Any]], fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn`` in ``hooks`` and return its handle."""
        handle = cls(hooks)
        hooks[handle.id] = fn
        return handle

    def remove(self) -> None:
        """Remove the hook; no error if it is gone already."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int]:
        return self.hooks_dict_ref(), self.id

    def __setstate__(self, state: tuple[Any, int]) -> None:
        self.hooks_dict_ref = _weak({} if state[0] is None else state[0])
        self.id, self.extra_dict_ref = state[1], ()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def _weak(hooks: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(hooks)
    except TypeError:  # a plain dict has no weak references
        return lambda: hooks
