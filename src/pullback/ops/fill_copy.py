"""``copy_``, ``fill_``, ``zero_``, ``fill_diagonal_``, ``apply_``, ``map_``: a whole tensor overwritten in place.

The old values get gradient 0; the new ones, if they are differentiable, get the incoming one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import errors, thread_state
from ..base.dtypes import fill_number, part_to_cast, stored_number
from ..base.layout import fill as fill_array
from ..core import inplace, op, versions, views
from ..core.level import is_level_value
from ..core.tensor import Tensor
from .compare import zero_gradient
from .slicing_views import as_strided

__all__ = ["fill"]


@op.general(node="CopyBackwards", method=False, holomorphic=False)
def copied(input: Tensor, other: Tensor) -> Tensor:
    """``other`` in the shape and type of ``input``."""
    value = np.empty_like(input)
    value[...] = part_to_cast(other, input.dtype)
    return value


copied.vjp(input=lambda g: zero_gradient(g), other=lambda g: g)


@op.general(node="FillBackward0", method=False, holomorphic=False)
def filled(input: Tensor, value: Any) -> Tensor:
    """``input``'s shape and type, filled with one number."""
    return fill_array(np.empty(input.shape, input.dtype), fill_number(value, input.shape, input.dtype))


filled.vjp(input=lambda g: zero_gradient(g))


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src`` (broadcast, cast) into this tensor. Returns it.

    Raises:
        RuntimeError: if ``src`` does not broadcast to this tensor's shape, or autograd forbids the write.

    >>> import pullback as torch
    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    source = views.gradient_edge(src) if isinstance(src, Tensor) else None
    plain = source is None and views.is_plain_target(self)
    if not plain:
        views.check_writable(self, source=source)
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    a, b = self._array, src._array
    if b.shape != a.shape:
        try:
            if np.broadcast_shapes(b.shape, a.shape) != a.shape:
                raise ValueError
        except ValueError:
            raise errors.broadcast_error("copy_", [a.shape, b.shape]) or RuntimeError(
                f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(b.shape)}"
            ) from None
    versions.refuse_repeats(a)
    inplace.refuse_shared(a, b, partial=True)
    if thread_state.slow_path_reasons and (is_level_value(a) or is_level_value(b)):
        return views.write_result(self, copied(self, src))
    if not plain and thread_state.is_grad_enabled():
        if views.gradient_edge(self) is not None or views.gradient_edge(src) is not None:
            return views.write_result(self, copied(self, src))
    a[...] = b if b.dtype is a.dtype else part_to_cast(b, a.dtype)
    versions.bump_tensor_version(self, 1)
    return self


def _check_number(value: Tensor) -> None:
    if value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or the value of a 0-d tensor) everywhere into this tensor. Returns it.

    >>> import pullback as torch
    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    if isinstance(value, Tensor):
        _check_number(value)
        if (
            views.gradient_edge(value) is not None
            or is_level_value(value._array)
            or views.gradient_edge(self) is None
            and not is_level_value(self._array)
        ):
            return copy_(self, value)
        versions.refuse_repeats(self._array)
        value = stored_number(value.item(), self._array.dtype)
    if not views.is_plain_target(self):
        views.check_writable(self)
        if thread_state.is_grad_enabled() and views.gradient_edge(self) is not None:
            return views.write_result(self, filled(self, value))
    fill_array(self._array, fill_number(value, self._array.shape, self._array.dtype))
    versions.bump_tensor_version(self, 1)
    return self


def zero_(self: Tensor) -> Tensor:
    """Write 0 everywhere into this tensor. Returns it."""
    return fill_(self, 0)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input``, filled with one number (or the value of a 0-d tensor)."""
    if isinstance(value, Tensor):
        _check_number(value)
    return copied(input, value) if isinstance(value, Tensor) else filled(input, value)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one number down the main diagonal of this tensor: where all indices are the same. Returns it.

    Args:
        wrap: in matrices with more rows than columns, start again after each square and one row.

    Raises:
        RuntimeError: for less than two dimensions, and for more than two that are not of one size.

    >>> import pullback as torch
    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    shape, strides = self._array.shape, [n // self._array.itemsize for n in self._array.strides]
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if len(shape) > 2 and is_level_value(views.current_array(self)):
        raise RuntimeError(
            "fill_diagonal_ of more than two dimensions is not supported inside of transforms (vmap, jvp)"
        )
    height, width = shape[:2]
    for row in range(0, height, width + 1) if wrap and len(shape) == 2 else (0,):
        part = self[row : row + width]
        if is_level_value(self._array):
            fill_(part.diagonal(), fill_value)
            continue
        fill_(as_strided(part, (min(height - row, width),), (sum(strides),)), fill_value)
    return self


def _python_map(name: str, others: int) -> Any:
    """``apply_`` and ``map_``: a method that applies a Python function elementwise, in place."""

    def method(self: Tensor, *args: Any) -> Tensor:
        *tensors, function = args
        if len(tensors) != others:
            raise TypeError(f"{name}() takes {others + 1} positional arguments but {len(args)} were given")
        if views.gradient_edge(self) is not None or any(views.gradient_edge(t) is not None for t in tensors):
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        views.check_writable(self)
        arrays = [np.broadcast_to(t._array, self._array.shape) for t in tensors]
        for i in np.ndindex(self._array.shape):
            self._array[i] = function(*[a[i].item() for a in (self._array, *arrays)])
        versions.bump_tensor_version(self)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        "Replace each element, in place, by what a Python function makes of it"
        + " and of those of other tensors" * (others > 0)
        + "."
    )
    return method


for _name, _others in {"apply_": 0, "map_": 1, "map2_": 2}.items():
    op.add_method(_python_map(_name, _others), _name)
for _fn in (copy_, fill_, zero_, fill_diagonal_):
    op.add_method(_fn, _fn.__name__)
