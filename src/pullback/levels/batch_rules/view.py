"""Batching rules of views that only change the shape."""

from __future__ import annotations

from math import prod
from typing import Any

from ...core.geometry import reshapes_in_place
from ...core.tensor import Tensor
from ...ops.view import _reshape_alias, _unsafe_view, expand, no_view, permute, squeeze, t, unsqueeze, view_shape
from .registry import NotBatchable, batch_rule, pad_to_rank, shift_dim


@batch_rule(view_shape, _reshape_alias, _unsafe_view)
def view_rule(op: Any, size: int, batched: list[Any], x: Any, shape: Any) -> Any:
    if -1 in shape:
        known, total = -prod(shape), prod(x.shape[1:])
        if known and total % known == 0:
            shape = [total // known if n == -1 else n for n in shape]
    array = x._array if isinstance(x, Tensor) else x
    if op is view_shape.op and prod(shape) == prod(x.shape[1:]):
        if not reshapes_in_place(array.shape[1:], array.strides[1:], shape):
            raise NotBatchable(str(no_view(array, shape)))
    return x.reshape((size, *shape))


@batch_rule(squeeze)
def squeeze_rule(op: Any, size: int, batched: list[Any], x: Any, dim: Any) -> Any:
    ndim = len(x.shape) - 1
    if dim is None:
        dim = tuple(range(ndim))
    dims = [shift_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    return x.reshape([n for i, n in enumerate(x.shape) if not (i in dims and n == 1)])


@batch_rule(unsqueeze)
def unsqueeze_rule(op: Any, size: int, batched: list[Any], x: Any, dim: int) -> Any:
    return op.call(x, shift_dim(dim, len(x.shape)))


@batch_rule(t)
def t_rule(op: Any, size: int, batched: list[Any], x: Any) -> Any:
    return x.mT if len(x.shape) == 3 else x


@batch_rule(permute)
def permute_rule(op: Any, size: int, batched: list[Any], x: Any, dims: Any) -> Any:
    return op.call(x, (0, *shift_dim(dims, len(x.shape) - 1)))


@batch_rule(expand)
def expand_rule(op: Any, size: int, batched: list[Any], x: Any, shape: Any) -> Any:
    return op.call(pad_to_rank(x, len(shape)), (size, *shape))
