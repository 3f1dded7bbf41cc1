"""PyTorch's private address for what moves an exception from one process or thread to another."""

from __future__ import annotations

from ..base.errors import ExceptionWrapper

__all__ = ["ExceptionWrapper"]
