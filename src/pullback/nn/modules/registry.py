"""The dicts that a module registers its parameters, buffers and children in, cached as attributes.

Python looks for ``module.fc`` in the instance's ``__dict__`` before it calls ``__getattr__``, and a miss costs up to a
microsecond. So ``__getattr__`` caches there what it found in these dicts, and every change of an entry updates or drops
the cached attribute. A program that asks for the ``__dict__`` gets it without what was cached, and from then on nothing
is cached for that module: the program may keep the dict, change it or go through it.
"""

from __future__ import annotations

import weakref
from typing import Any

KINDS = ("_parameters", "_buffers", "_modules")


class _Plain:
    """Has the ``__dict__`` of instances as Python makes it."""


attributes_of = _Plain.__dict__["__dict__"].__get__  # the dict as it is: for code that leaves cached members alone
_replace_attributes = _Plain.__dict__["__dict__"].__set__


class Registry(_Plain):
    """Base class of :class:`~pullback.nn.Module`: a ``__dict__`` in which no program sees cached members."""

    @property
    def __dict__(self) -> dict[str, Any]:
        own = attributes_of(self)
        for kind in KINDS:
            members = own.get(kind)
            if members.__class__ is Members:
                members.stop_caching(self)
        return own

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:
        _replace_attributes(self, attributes)


def hides_members(kind: type) -> bool:
    """Whether the ``__dict__`` of instances is that of :class:`Registry`, and not that of a base class before it."""
    return next(base for base in kind.__mro__ if "__dict__" in vars(base)) is Registry


class Members(dict[Any, Any]):
    """A module's parameters, buffers or children, by name.

    Attributes:
        owner: a weak reference to the module that may cache them; one to nothing where none may.
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Registry, entries: Any = ()) -> None:
        super().__init__(entries)
        self.owner: Any = weakref.ref(owner) if hides_members(type(owner)) else _nobody

    def stop_caching(self, module: Registry) -> None:
        if self.owner() is module:
            for name in self:
                self._forget(name)
            self.owner = _nobody

    def _forget(self, name: str) -> None:
        owner = self.owner()
        if owner is not None and name in self and (own := attributes_of(owner)).get(name, _nobody) is self[name]:
            del own[name]

    def __setitem__(self, name: str, value: Any) -> None:
        owner = self.owner()
        if owner is not None and name in self and (own := attributes_of(owner)).get(name, _nobody) is self[name]:
            own[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self._forget(name)
        super().__delitem__(name)

    def pop(self, name: str, *default: Any) -> Any:
        self._forget(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        self._forget(next(reversed(self), ""))
        return super().popitem()

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


def _nobody() -> None:
    return None
