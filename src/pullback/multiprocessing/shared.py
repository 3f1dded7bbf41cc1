"""Tensors in shared memory: what one process writes into them, the others see.

The memory is a file mapped into each process, in a folder that is itself in memory where there is one. A process that
is forked has the mapping already; to others it is passed by the file's name, when a tensor goes to them in an argument
or through a queue. The process that made the file removes it. On Windows, where no file that is mapped can be removed,
the memory has a name and no file, and goes with the last process that has it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import secrets
import sys
import tempfile
import weakref
from contextlib import suppress
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..core import versions
from ..core.level import unbatched
from ..core.tensor import Tensor

FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # or where temporary files go
_mapped: weakref.WeakValueDictionary[str, Mapping] = weakref.WeakValueDictionary()


class Mapping(mmap.mmap):
    """Memory that others may map, too, mapped into this process."""

    path: str


if sys.platform == "win32":
    import _winapi

    def _make(size: int) -> Mapping:
        path = f"pullback-{secrets.token_hex(16)}"
        return _noted(path, Mapping(-1, size, tagname=path))

    def _open(path: str, size: int) -> Mapping:
        there = _winapi.OpenFileMapping(_winapi.FILE_MAP_READ, False, path)  # raises where mmap would make a new one
        try:
            return _noted(path, Mapping(-1, size, tagname=path))
        finally:
            _winapi.CloseHandle(there)

else:

    def _make(size: int) -> Mapping:
        descriptor, path = tempfile.mkstemp(prefix="pullback-", dir=FOLDER)
        try:
            os.ftruncate(descriptor, size)
            mapping = _noted(path, Mapping(descriptor, size))
        finally:
            os.close(descriptor)
        weakref.finalize(mapping, _remove, path, os.getpid())
        return mapping

    def _open(path: str, size: int) -> Mapping:
        descriptor = os.open(path, os.O_RDWR)
        try:
            return _noted(path, Mapping(descriptor, size))
        finally:
            os.close(descriptor)

    def _remove(path: str, maker: int) -> None:
        if os.getpid() == maker:  # not in a process forked from it
            with suppress(OSError):
                os.unlink(path)


def _noted(path: str, mapping: Mapping) -> Mapping:
    mapping.path, _mapped[path] = path, mapping
    return mapping


def mapping_of(array: Any) -> Mapping | None:
    """The mapping that holds an array; None for one in memory of this process alone."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, Mapping) else None


def shared(array: np.ndarray) -> np.ndarray:
    """A copy of an array in memory to be shared."""
    laid = array.copy("K")
    mapping = _make(max(1, laid.nbytes))
    result: np.ndarray = np.ndarray(laid.shape, laid.dtype, mapping, 0, laid.strides)
    result[...] = laid
    return result


def attached(
    path: str, size: int, shape: tuple[int, ...], dtype: np.dtype, offset: int, strides: tuple[int, ...]
) -> np.ndarray:
    """The array at that offset in a file of another process."""
    mapping = _mapped.get(path) or _open(path, size)
    return np.ndarray(shape, dtype, mapping, offset, strides)


def _passed(array: np.ndarray) -> Any:
    """How an array goes to another process: by name if it is shared, else as it is pickled anyway."""
    mapping = mapping_of(array)
    if mapping is None:
        return array.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
    start = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    offset = array.__array_interface__["data"][0] - start
    return attached, (mapping.path, len(mapping), array.shape, array.dtype, offset, array.strides)


def _passed_tensor(tensor: Tensor) -> Any:
    if not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad: its history cannot go to another "
            "process.\n"
            "  Pass x.detach()."
        )
    return tensor.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


ForkingPickler.register(np.ndarray, _passed)
ForkingPickler.register(Tensor, _passed_tensor)


def share(tensor: Tensor) -> Tensor:
    """Move a tensor to shared memory: what ``Tensor.share_memory_`` does.

    >>> import pullback as torch
    >>> torch.zeros(2).share_memory_().is_shared()
    True
    """
    unbatched("Cannot access storage of BatchedTensorImpl", tensor, error=NotImplementedError)
    if mapping_of(tensor._array) is None:
        versions.set_array(tensor, shared(tensor._array))
    return tensor
