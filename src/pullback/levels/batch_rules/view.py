"""Batching rules of views that only change the shape."""

from __future__ import annotations

from math import prod
from typing import Any

from ...ops.view import _alias, _fresh, expand, permute, same_memory, squeeze, t, unsqueeze
from .registry import batch_rule, pad_to_rank, shift_dim


@batch_rule(same_memory, _alias, _fresh)
def view_rule(op: Any, size: int, batched: list[Any], x: Any, shape: Any) -> Any:
    if -1 in shape:
        known, total = -prod(shape), prod(x.shape[1:])
        if known and total % known == 0:
            shape = [total // known if n == -1 else n for n in shape]
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
