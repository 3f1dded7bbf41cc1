"""Module-level flags with a ``flags()`` context manager, as the modules of ``torch.backends`` have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def of(
    space: dict[str, Any], *names: str
) -> tuple[Callable[..., tuple[Any, ...]], Callable[..., AbstractContextManager[None]]]:
    """``set_flags`` and ``flags`` of the module whose variables are in `space`."""

    def set_flags(**values: Any) -> tuple[Any, ...]:
        """Set some of the module's switches. Returns what all of them were."""
        before = tuple(space[name] for name in names)
        for name, value in values.items():
            if value is not None:
                space[name.lstrip("_")] = value
        return before

    @contextmanager
    def flags(**values: Any) -> Iterator[None]:
        """Set some of the module's switches for a block."""
        before = set_flags(**values)
        try:
            yield
        finally:
            space.update(zip(names, before))

    return set_flags, flags
