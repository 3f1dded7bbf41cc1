"""``torch.fx._compatibility``: a mark of how long a function stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that leaves a function or class as it is."""
    return lambda fn: fn
