"""``torch._utils``: :class:`ExceptionWrapper`, which re-raises a worker's exception in the main process; devices;
several tensors as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ..base.errors import ExceptionWrapper
from ..core.tensor import Tensor
from ..ops.concat import cat

__all__ = ["ExceptionWrapper"]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of several tensors of one type, one after the other."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The parts of a flat tensor, as views of the shapes of these."""
    ends = list(accumulate(tensor.numel() for tensor in tensors))
    return tuple(flat[end - x.numel() : end].view(x.shape) for x, end in zip(tensors, ends))


def _get_available_device_type() -> None:
    """None: there is no accelerator."""
