"""How a program is declared, and how it says that a call was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[..., None]] = {}


def program(fn: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[fn.__name__] = fn
    return fn


def refused(fn: Callable[[], Any], words: int = 60) -> str:
    """How a call was refused."""
    try:
        fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:words]}"
    return "accepted"
