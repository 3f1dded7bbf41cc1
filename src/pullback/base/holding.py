"""A lock around a call, released whatever is raised wherever: also by a trace function between two lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


def holding(lock: Any, call: Callable[..., R], *args: Any) -> R:
    """``call(*args)`` while holding a lock.

    Between the lines of a ``with`` block and its end, which is a step on the first line again, a function of
    ``sys.settrace`` is called outside of what the block protects. So all of it is on one line here.
    """
    with lock: return call(*args)  # fmt: skip  # noqa: E701


def locked(method: Callable[..., R]) -> Callable[..., R]:
    """A method that holds ``self._lock``."""

    def call(self: Any, *args: Any, **kwargs: Any) -> R:
        return holding(self._lock, lambda: method(self, *args, **kwargs))

    call.__name__, call.__qualname__, call.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return call
