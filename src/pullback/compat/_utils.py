"""``torch._utils``: :class:`ExceptionWrapper`, which re-raises a worker's exception in the main process; devices; what
Python's own pickles of PyTorch's tensors name; several tensors as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.errors import ExceptionWrapper, no_attribute
from ..core.tensor import Tensor
from ..ops.concat import cat
from ..ops.storage import TypedStorage

__all__ = ["ExceptionWrapper"]


def _get_available_device_type() -> None:
    """None: there is no accelerator."""


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of several tensors, one after the other, in one."""
    return cat([t.reshape(-1) for t in tensors]) if len(tensors) > 1 else tensors[0].reshape(-1)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of such a tensor, in the shapes of those that it was made of."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple([part.view(t.shape) for part, t in zip(parts, tensors)])


def __getattr__(name: str) -> Any:
    """What Python's own pickles of PyTorch's tensors call: what :func:`torch.load` calls for that name."""
    if not name.startswith("_rebuild"):
        raise no_attribute(__name__, name)
    from ..serialization.memory import Memory
    from ..serialization.type_names import REBUILD

    rebuild = REBUILD.get(f"torch._utils.{name}")
    if rebuild is None:
        raise no_attribute(__name__, name)

    def call(first: Any, *args: Any) -> Any:
        if isinstance(first, TypedStorage):
            first = Memory(first._untyped_storage, first.dtype)
        return rebuild(first, *args)

    return call
