"""``torch.utils``: its modules are imported when asked for."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
