"""``torch._C._functorch``: a dimension folded into another one, and back, as batching rules do it."""

from __future__ import annotations

from ...core.level import LevelValue
from ...core.tensor import Tensor
from ...levels.vmap import Batched
from ...ops.view import reshape, wrap_dim

__all__ = ["is_batchedtensor", "is_functorch_wrapped_tensor", "reshape_dim_into", "reshape_dim_outof"]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for a batch of them, inside of ``vmap``."""
    return isinstance(tensor._array, Batched)


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor belongs to a transform that is running."""
    return isinstance(tensor._array, LevelValue) and not tensor.is_sparse and not tensor.is_meta


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """Dimension ``src``, as the slower one of a dimension that then is number ``dst`` of those without it.

    >>> import pullback as torch
    >>> from pullback._C._functorch import reshape_dim_into
    >>> reshape_dim_into(0, 1, torch.zeros(2, 3, 4)).shape
    torch.Size([3, 8])
    """
    ndim = len(x.shape)
    moved = x.movedim(src, 0)
    dst = wrap_dim(dst, ndim - 1)
    shape = list(moved.shape[1:])
    shape[dst] *= moved.shape[0]
    return reshape(moved.movedim(0, dst), shape)


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """Dimension ``src`` as two, of which the first has ``size1`` elements.

    Raises:
        RuntimeError: if that does not divide its size.

    >>> import pullback as torch
    >>> from pullback._C._functorch import reshape_dim_outof
    >>> reshape_dim_outof(0, 2, torch.zeros(6, 4)).shape
    torch.Size([2, 3, 4])
    """
    src = wrap_dim(src, len(x.shape))
    shape = list(x.shape)
    if shape[src] % size1:
        raise RuntimeError(f"a dimension of {shape[src]} elements is not {size1} times another one")
    return reshape(x, [*shape[:src], size1, shape[src] // size1, *shape[src + 1 :]])
