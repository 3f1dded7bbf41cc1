"""``torch._utils``: :class:`ExceptionWrapper`, which re-raises a worker's exception in the main process."""

from __future__ import annotations

from ..base.errors import ExceptionWrapper

__all__ = ["ExceptionWrapper"]
