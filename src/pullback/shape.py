"""``torch.Size``: the shape of a tensor."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple):
    """A tuple of dimensions.

    >>> import pullback as torch
    >>> torch.zeros(2, 3).shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)
