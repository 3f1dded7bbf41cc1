"""Tensors on memory that something else made: ``asarray``, ``frombuffer``, ``from_dlpack``, ``from_file``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import check_device
from ..base.device import device as Device
from ..base.dtypes import as_dtype, type_name
from ..core.record import wrap
from ..core.tensor import Tensor
from .create import as_tensor, from_numpy, leaf_around
from .storage import StorageBase, UntypedStorage

__all__ = ["asarray", "frombuffer", "from_dlpack", "from_file"]


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """``obj`` as a tensor; ``copy=True`` always copies, ``False`` never. Gradients flow back to a tensor.

    Args:
        obj: a tensor, a NumPy array, a DLPack capsule, or a buffer, whose bytes are elements of ``dtype`` (by default
            the default float type); else numbers.
        requires_grad: False for a tensor that is not recorded; by default as ``obj`` is.

    Raises:
        ValueError: with ``copy=False``, if the memory can't be shared.

    >>> import pullback as torch
    >>> torch.asarray([1, 2])
    tensor([1, 2])
    """
    check_device(device)
    source = _on_memory_of(obj, dtype)
    if copy is False:
        _refuse_copy(source, dtype, device)
    t = as_tensor(obj if source is None else source, dtype, device)
    if copy and t is source:
        t = t.detach().clone() if requires_grad is False else t.clone()
    if requires_grad is None or requires_grad is t.requires_grad:
        return t
    return t.requires_grad_() if requires_grad else t.detach()


def _on_memory_of(obj: Any, dtype: Any) -> Tensor | None:
    """A tensor that shares the memory of an object, if it has any that can be shared."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, StorageBase):
        return as_tensor(obj, dtype)
    if isinstance(obj, np.ndarray):
        return from_numpy(obj) if obj.dtype in dtypes.OF_NUMPY else None
    if type(obj).__name__ == "PyCapsule" or hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic):
        return from_dlpack(obj)
    if isinstance(obj, (str, np.generic)):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)


def _refuse_copy(source: Tensor | None, dtype: Any, device: Any) -> None:
    """Refuse what only a copy can have."""
    if source is None:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if device is not None and Device(device).type != source.device.type:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{Device(device)}'.")
    if dtype is not None and as_dtype(dtype) is not source.dtype:
        found, wanted = type_name(source.dtype), type_name(as_dtype(dtype))
        raise ValueError(f"can't alias tensor with dtype '{found}' into dtype '{wanted}'.")


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor on the memory of a buffer.

    Args:
        count: how many elements; negative: all that follow.
        offset: where they begin, in bytes.

    Raises:
        ValueError: for what is no buffer, or has not that many elements there.

    >>> import pullback as torch
    >>> torch.frombuffer(bytearray(b"\\x01\\x02"), dtype=torch.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    d = as_dtype(dtype).numpy
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not memory.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    length, size = memory.nbytes, d.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return leaf_around(np.frombuffer(buffer, d, count if count > 0 else -1, offset), requires_grad)


class _OfCapsule:
    """An object whose ``__dlpack__`` gives a capsule that exists, for NumPy, which takes no bare ones.

    Attributes:
        unversioned: whether it is of the kind that does not say whether the memory may be written into.
    """

    def __init__(self, capsule: Any, place: tuple[int, int] = (1, 0)) -> None:
        name = repr(capsule)
        if '"used_' in name:
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                "you might have already constructed a tensor from it once."
            )
        self.capsule, self.place, self.unversioned = capsule, place, '"dltensor"' in name

    @classmethod
    def of(cls, exporter: Any) -> _OfCapsule:
        """That of an object with ``__dlpack__``, which may take no keywords."""
        try:
            capsule = exporter.__dlpack__(max_version=(1, 0))
        except TypeError:
            capsule = exporter.__dlpack__()
        return cls(capsule, exporter.__dlpack_device__())

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place


def _writable(array: np.ndarray) -> np.ndarray:
    """An array that NumPy made read-only, as an unversioned capsule does not say whether it may be written into."""
    extent = sum([(n - 1) * stride for n, stride in zip(array.shape, array.strides)]) + array.itemsize
    memory: Any = (ctypes.c_char * extent).from_address(array.__array_interface__["data"][0])
    memory.owner = array
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of any object that speaks DLPack, or of a capsule.

    Args:
        copy: True for a tensor with memory of its own.

    >>> import pullback as torch, numpy as np
    >>> torch.from_dlpack(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    check_device(device)
    if type(ext_tensor).__name__ == "PyCapsule":
        source = _OfCapsule(ext_tensor)
    elif hasattr(ext_tensor, "__dlpack__"):
        source = _OfCapsule.of(ext_tensor)
    else:
        raise RuntimeError(f"from_dlpack received an invalid capsule. It is of the type {type(ext_tensor).__name__}.")
    array = np.from_dlpack(source)
    if source.unversioned and array.size and not copy:
        array = _writable(array)
    return wrap(array.copy() if copy else array)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A one-dimensional tensor on a file that is mapped into memory.

    Args:
        shared: whether writes reach the file, which is then made, or made longer, if need be.
        size: how many elements.

    Raises:
        RuntimeError: for a file that can't be opened, or has fewer.

    >>> import os, tempfile, pullback as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.from_file(os.path.join(folder, "numbers"), shared=True, size=2).tolist()
    [0.0, 0.0]
    """
    check_device(device)
    kind = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    return wrap(UntypedStorage.from_file(filename, bool(shared), size * kind.itemsize)._as_type(kind))
