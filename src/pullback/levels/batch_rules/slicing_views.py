"""Batching rules of ``split`` and ``as_strided``; ``unbind``, ``diagonal`` and ``unfold`` declare ``dims``."""

from __future__ import annotations

from typing import Any

from ...core.conj_views import address
from ...core.tensor import Tensor
from ...core.versions import owner_of
from ...ops.slicing_views import _as_strided, split_views
from .registry import NotBatchable, batch_rule, shift_dim


@batch_rule(_as_strided)
def as_strided_rule(op: Any, size: int, batched: list[Any], x: Any, geometry: Any) -> Any:
    array = x._array if isinstance(x, Tensor) else x
    _, itemsize, shape, strides, offset = geometry
    end = offset + reach(shape, strides)
    if 0 not in (*shape, *array.shape) and not 0 <= offset <= end <= reach(array.shape[1:], array.strides[1:]):
        begins = address(array) - address(owner_of(array))
        first, last, own = [(begins + n) // itemsize for n in (offset, end, reach(array.shape[1:], array.strides[1:]))]
        raise NotBatchable(
            f"result = tensor.as_strided({list(shape)}, {[s // itemsize for s in strides]}, {first}) can access memory "
            f"outside of `tensor`. `result` can access some memory in range [{first}, {last + 1}], but `tensor` can "
            f"only access some memory in range [{begins // itemsize}, {own + 1}]. This is not supported inside of "
            "vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations"
        )
    return op.call(x, (array.strides, itemsize, (size, *shape), (array.strides[0], *strides), offset))


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many bytes after the first element the last one is."""
    return sum([(n - 1) * s for n, s in zip(shape, strides)])


@batch_rule(split_views)
def split_rule(op: Any, size: int, batched: list[Any], x: Any, sizes: Any, dim: int, name: Any) -> Any:
    return op.call(x, sizes, shift_dim(dim, len(x.shape) - 1), name)
