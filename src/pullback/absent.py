"""Devices that there are not: programs may ask for them, and are refused in PyTorch's words when they want one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .complaint import noted
from .device import WAY_OUT


def refusing(name: str, error: Callable[[], Exception]) -> Callable[..., NoReturn]:
    """A function of that name that raises the error whenever it is called."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise noted(error(), *WAY_OUT)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no such device."
    return refuse


def dummy(name: str, module: str) -> type:
    """A class that programs may name, in annotations and ``isinstance``, and none can make an instance of."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise noted(RuntimeError(f"Tried to instantiate dummy base class {name}"), *WAY_OUT)

    return type(name, (), {"__init__": refuse, "__module__": module, "__doc__": "Refused: there is no such device."})


class NothingToSelect:
    """A context that chooses a device or a stream of one: there is nothing to choose, so nothing is done."""

    def __init__(self, device: Any = None) -> None:
        self.idx = self.prev_idx = -1

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...
