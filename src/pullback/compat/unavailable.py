"""Stubs for unsupported hardware: queries answer "unavailable", what needs the device raises PyTorch's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..base.device import no_device


def refusing(name: str, error: Callable[[], Exception]) -> Callable[..., NoReturn]:
    """A function of that name that raises the error whenever it is called."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise no_device(error())

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no such device."
    return refuse


class NothingToSelect:
    """A context that chooses a device or a stream of one: there is nothing to choose, so nothing is done."""

    def __init__(self, device: Any = None) -> None:
        self.idx = self.prev_idx = -1

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...
