"""``torch.utils.weak``: references to tensors, and dicts keyed by them, which keep nothing alive.

Tensors are told apart by identity: comparing two gives a tensor.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakRef",
    "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
]

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another one of the same object, alive or not."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        mine, theirs = self(), other()
        return self is other if mine is None or theirs is None else mine is theirs

    def __ne__(self, other: Any) -> bool:  # that of weakref.ref compares the objects
        return not self == other


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dict whose entries go with their keys, which are told apart by identity.

    >>> import pullback as torch
    >>> from pullback.utils.weak import WeakTensorKeyDictionary
    >>> x, names = torch.ones(1), WeakTensorKeyDictionary()
    >>> names[x] = "x"; (x in names, len(names))
    (True, 1)
    >>> del x; len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: dict[Any, Any] = {}
        self.ref_type = ref_type
        this = weakref.ref(self)

        def gone(ref: Any) -> None:
            own = this()
            if own is not None:
                own.data.pop(ref, None)

        self._gone = gone
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._gone)] = value

    def __delitem__(self, key: Any) -> None:
        try:
            del self.data[self.ref_type(key)]
        except KeyError:
            raise KeyError(key) from None

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing can refer to it weakly
            return False

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The weak references."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same entries."""
        made = type(self)()
        made.update(self)
        return made

    __copy__ = copy


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """The same, for tensors."""
