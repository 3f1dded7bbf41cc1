"""New values for the whole of a tensor: ``copy_``, ``fill_``, ``zero_``.

The old values do not matter any more, so their gradient is 0; the new ones', if they have one, passes through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import op, storage
from ..autograd import modes
from ..lift import is_lifted
from ..tensor import Tensor
from .convert import number_as
from .create import zeros_like

__all__ = ["fill"]


@op.general(node="CopyBackwards", method=False, holomorphic=False)
def copied(input: Tensor, other: Tensor) -> Tensor:
    """``other`` in the shape and type of ``input``."""
    value = np.empty(input.shape, input.dtype)
    value[...] = other.real if other.dtype.kind == "c" and input.dtype.kind != "c" else other
    return value


copied.vjp(input=lambda g: zeros_like(g), other=lambda g: g)


@op.general(node="FillBackward0", method=False, holomorphic=False)
def filled(input: Tensor, value: Any) -> Tensor:
    """``input``'s shape and type, filled with one number."""
    return np.full(input.shape, number_as(value, input.dtype), input.dtype)


filled.vjp(input=lambda g: zeros_like(g))


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src`` (broadcast, cast) into this tensor. Returns it.

    Raises:
        RuntimeError: if ``src`` does not broadcast to this tensor's shape, or autograd forbids the write.

    >>> import pullback as torch
    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    storage.check_writable(self, source=storage.edge_of(src) if isinstance(src, Tensor) else None)
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    a, b = self._array, src._array
    if b.shape != a.shape:
        try:
            if np.broadcast_shapes(b.shape, a.shape) != a.shape:
                raise ValueError
        except ValueError:
            raise op.broadcast_error("copy_", [a.shape, b.shape]) or RuntimeError(
                f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(b.shape)}") from None  # fmt: skip
    storage.refuse_repeats(a)
    if modes.special and (is_lifted(a) or is_lifted(b)):
        return storage.adopt(self, copied(self, src))
    if modes.is_grad_enabled() and (storage.edge_of(self) is not None or storage.edge_of(src) is not None):
        return storage.adopt(self, copied(self, src))
    a[...] = b.real if b.dtype.kind == "c" and a.dtype.kind != "c" else b
    storage.wrote(self)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or the value of a 0-d tensor) everywhere into this tensor. Returns it.

    >>> import pullback as torch
    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions.")
        if storage.edge_of(value) is not None:
            return copy_(self, value)
        value = value.item()
    storage.check_writable(self)
    storage.refuse_repeats(self._array)
    if modes.is_grad_enabled() and storage.edge_of(self) is not None:
        return storage.adopt(self, filled(self, value))
    self._array[...] = number_as(value, self._array.dtype)
    storage.wrote(self)
    return self


def zero_(self: Tensor) -> Tensor:
    """Write 0 everywhere into this tensor. Returns it."""
    return fill_(self, 0)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input``, filled with one number (or the value of a 0-d tensor)."""
    return copied(input, value) if isinstance(value, Tensor) else filled(input, value)


for _fn in (copy_, fill_, zero_):
    op.offer(_fn, _fn.__name__)
