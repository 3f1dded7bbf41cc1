"""``torch.Size``: the shape of a tensor."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

new = tuple.__new__  # makes a Size of known ints, unchecked


if TYPE_CHECKING:
    Base = tuple[int, ...]
else:
    Base = tuple


class Size(Base):
    """A tuple of dimensions.

    >>> import pullback as torch
    >>> torch.zeros(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        self = new(cls, sizes)
        for n in self:
            if n.__class__ is not int:  # a tensor, for example
                return new(cls, [_as_int(n, i) for i, n in enumerate(self)])
        return self

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return new(Size, part) if index.__class__ is slice else part

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            if hasattr(type(other), "__radd__"):
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return (
            Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented
        )  # a list's own += takes any iterable

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


def _as_int(n: Any, i: int) -> int:
    try:
        return int(index(n))
    except TypeError:
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')") from None
