"""``torch.cpu``: device and stream functions for the CPU, which has nothing to synchronize."""

from __future__ import annotations

from typing import Any

from ..unavailable import NothingToSelect

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order of the program."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self) -> None:
        """Nothing to record."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""


class Event:
    """A place in a stream, which is always past."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to record."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


class StreamContext(NothingToSelect):
    """Accepted: there is one stream."""


stream = StreamContext
_stream = Stream()


def is_available() -> bool:
    """True."""
    return True


is_initialized = is_available


def synchronize(device: Any = None) -> None:
    """Nothing to wait for."""


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The one stream there is."""
    return _stream


def set_device(device: Any) -> None:
    """Nothing to choose."""


def device_count() -> int:
    """1."""
    return 1
