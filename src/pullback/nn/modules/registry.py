"""The dicts that a module registers its parameters, buffers and children in, cached as attributes."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .module import Module


class Members(dict):
    """A module's parameters, buffers or children, by name.

    Python looks for ``module.fc`` in the instance's ``__dict__`` before it calls ``__getattr__``, and a miss costs up
    to a microsecond. So ``__getattr__`` caches what it found here in ``__dict__``, and every change of an entry updates
    or drops the cached attribute.
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Module, entries: Any = ()) -> None:
        super().__init__(entries)
        self.owner = weakref.ref(owner)

    def _forget(self, name: str) -> None:
        owner = self.owner()
        if owner is not None:
            owner.__dict__.pop(name, None)

    def __setitem__(self, name: str, value: Any) -> None:
        owner = self.owner()
        if owner is not None and name in owner.__dict__:
            owner.__dict__[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self._forget(name)
        super().__delitem__(name)

    def pop(self, name: str, *default: Any) -> Any:
        self._forget(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._forget(name)
        return name, value

    def clear(self) -> None:
        for name in self:
            self._forget(name)
        super().clear()

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __ior__(self, other: Any) -> Members:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())
