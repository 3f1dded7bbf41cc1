"""``torch._utils``: :class:`ExceptionWrapper`, which re-raises a worker's exception in the main process; devices."""

from __future__ import annotations

from ..base.errors import ExceptionWrapper

__all__ = ["ExceptionWrapper"]


def _get_available_device_type() -> None:
    """None: there is no accelerator."""
