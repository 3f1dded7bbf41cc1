"""``torch.distributed.elastic.multiprocessing.errors``: :func:`record`, and the error of a rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["ChildFailedError", "record"]


class ChildFailedError(Exception):
    """A rank failed."""


def record(fn: F, error_handler: Any = None) -> F:
    """A program's main function, as it is: every rank's error is recorded.

    >>> record(len) is len
    True
    """
    return fn
