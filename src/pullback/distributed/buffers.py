"""Tensors as the contiguous arrays that travel, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import BOOLEAN
from ..base.errors import with_notes
from ..core.tensor import Tensor
from ..core.versions import bump_tensor_version
from ..core.views import current_array

BYTE = np.dtype(np.uint8)


def check_tensor(tensor: Any, name: str) -> None:
    """Refuse what is no tensor with values.

    Raises:
        TypeError: it is no tensor.
        RuntimeError: it is sparse, or has no values.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    refuse_tracing("A collective")
    if current_array(tensor).__class__ is not np.ndarray:
        kind = "sparse" if tensor.is_sparse else "meta" if tensor.is_meta else "transformed"
        raise RuntimeError(
            f"{name}: collectives take dense tensors, not {kind} ones\n  to_dense() makes one of a sparse."
        )


def refuse_tracing(what: str) -> None:
    """Refuse to be part of a compiled program, whose plan would leave the other ranks out.

    Raises:
        RuntimeError: a program is being traced.
    """
    if thread_state.local.trace is not None:
        raise with_notes(
            RuntimeError(f"{what} cannot be compiled: what it does with the other ranks would not be in the plan"),
            "Compile the module inside, DistributedDataParallel(torch.compile(module)), and leave the step as it is.",
        )


def check_list(tensors: Any, name: str) -> None:
    """Refuse what is no list of tensors with values."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead."
        )
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} with elements of type {[type(t) for t in tensors]}."
        )
    for tensor in tensors:
        check_tensor(tensor, name)


def check_types(*tensors: Tensor) -> None:
    """Refuse tensors of different types.

    Raises:
        ValueError: there are some.
    """
    kinds = {tensor.dtype for tensor in tensors}
    if len(kinds) > 1:
        shown = " and  ".join(str(kind) for kind in dict.fromkeys(tensor.dtype for tensor in tensors))
        raise ValueError(f"Invalid usage of tensors with different dtypesFound {shown}")


def flat(array: np.ndarray) -> np.ndarray:
    """The elements in C order, one after the other: the array's own memory if they lie so, else a copy."""
    return np.ascontiguousarray(array).reshape(-1)


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(BYTE)


def values(tensor: Tensor) -> np.ndarray:
    """A tensor's elements, one after the other."""
    return flat(current_array(tensor))


def joined(tensors: Sequence[Tensor]) -> np.ndarray:
    """The elements of several tensors, as rows of bytes one after the other."""
    parts = [as_bytes(values(tensor)) for tensor in tensors]
    return np.concatenate(parts) if parts else np.empty(0, BYTE)


def store(tensor: Tensor, data: np.ndarray) -> None:
    """Write elements in C order into a tensor, unless they are its own memory."""
    target = current_array(tensor)
    data = data.view(target.dtype)
    if not (target.flags.c_contiguous and data.size == target.size and np.may_share_memory(target, data)):
        target[...] = data.reshape(target.shape)
    bump_tensor_version(tensor)


def store_parts(tensors: Sequence[Tensor], data: np.ndarray) -> None:
    """Write bytes that follow each other into several tensors."""
    at = 0
    for tensor in tensors:
        size = current_array(tensor).nbytes
        store(tensor, data[at : at + size])
        at += size


def as_numbers(array: np.ndarray) -> np.ndarray:
    """Truth values as the numbers 0 and 1; others as they are."""
    return array.view(BYTE) if array.dtype == BOOLEAN else array


def described(tensors: Sequence[Tensor]) -> str:
    """Shapes and types, for messages."""
    return ", ".join(f"{list(tensor.shape)} {str(tensor.dtype).rpartition('.')[2]}" for tensor in tensors)
