"""How a program is declared, how it says that a call was refused, and what it finds in the package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[..., None]] = {}


def program(fn: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[fn.__name__] = fn
    return fn


def refused(fn: Callable[[], Any]) -> str:
    """What a call gave, or how it was refused."""
    try:
        return f"accepted {fn()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def forward_ad(t: Any) -> Any:
    return importlib.import_module(t.__name__ + ".autograd.forward_ad")


def rows(t: Any) -> Any:
    return t.arange(6.0).view(2, 3)
