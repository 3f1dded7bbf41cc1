"""``torch.utils.hooks``: hook handles, re-exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..base.handles import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]

F = TypeVar("F", bound=Callable[..., Any])


def unserializable_hook(fn: F) -> F:
    """Mark a hook as one that need not survive pickling. Hooks of tensors never do, so this only marks."""
    fn.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return fn
