"""Rebuilds tensors from a file's storages, with shape, strides and offset checked against the bytes that are there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import sparse_coo
from ..base.dtypes import dtype
from ..core.geometry import strided
from ..core.graph import LEAF
from ..core.level import wrap_value
from ..core.tensor import INTERNAL_ATTRIBUTES, Tensor
from ..ops.sparse import sparse_coo_tensor
from ..ops.sparse_csr import LAYOUTS, sparse_compressed_tensor
from ..ops.storage import TypedStorage, UntypedStorage
from ..ops.values.meta import Meta
from .unpickler import LoadError

# The classes that PyTorch calls memory by, one for each of the older types; the newer ones share UntypedStorage.
OF_STORAGE: dict[str, dtype] = {
    "DoubleStorage": dtypes.float64,
    "FloatStorage": dtypes.float32,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
STORAGE_OF = {d: name for name, d in OF_STORAGE.items()}
MAX_DIMS = 64
HIDDEN = (*INTERNAL_ATTRIBUTES, "_unnoticed")  # what is no user's attribute of a tensor


class StorageType:
    """The class of a storage as a pickle names it."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, OF_STORAGE.get(name)


class Memory(TypedStorage):
    """A storage of a file that is being read.

    Args:
        untyped: its bytes.
        of: the type of its elements; None if tensors say it themselves.
        hollow: whether its tensors are to be on ``meta``, without values.
    """

    def __init__(self, untyped: UntypedStorage, of: dtype | None, hollow: bool = False) -> None:
        super().__init__(wrap_storage=untyped, dtype=of or dtypes.uint8)
        self.of, self.hollow = of, hollow

    @property
    def data(self) -> np.ndarray:
        """The bytes as an array."""
        return self._untyped_storage._elements()

    def finish(self) -> None:
        """Become an ordinary storage: for when all has been read."""
        if self.hollow:
            self._untyped_storage = UntypedStorage(self.nbytes(), device="meta")
        del self.of, self.hollow
        self.__class__ = TypedStorage  # type: ignore[assignment]

    def in_this_order(self, little: bool) -> Memory:
        """The same with every element's bytes in the order of this machine, if they are little-endian, or not."""
        import sys

        if self.of is not None and little != (sys.byteorder == "little"):
            self._untyped_storage.byteswap(self.of)
        return self


def whole(value: Any) -> int:
    """A size, stride or offset. (What is in a file is not put in messages: printing it could take for ever.)"""
    if type(value) is not int or not 0 <= value < 2**63:
        raise LoadError("a size, stride or offset of a tensor is negative, too large or no integer")
    return value


def checked(pid: Any) -> tuple[StorageType, str, str, int]:
    """Type, key, device and number of elements of the storage of a persistent id."""
    if type(pid) is not tuple or len(pid) != 5 or type(pid[0]) is not str or pid[0] != "storage":
        raise LoadError("Only persistent_load of storage is allowed")
    _, kind, key, location, count = pid
    if type(kind) is not StorageType or type(key) is not str or type(location) is not str:
        raise LoadError("the file is damaged: what it says of a storage makes no sense")
    return kind, key, location, whole(count)


def tensor(
    memory: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
    of: dtype | None = None,
) -> Tensor:
    """A tensor in shared memory.

    Args:
        memory: of its storage.
        offset, stride: counted in elements.
        metadata: {"conj": True, "neg": True}, if the memory holds the conjugate or the negative.
        of: the type of the elements, if the memory has none.

    Raises:
        LoadError: if any of it would lie outside of the memory, or the numbers make no sense.
    """
    if type(memory) is not Memory or type(size) is not tuple or type(stride) is not tuple or len(size) != len(stride):
        raise LoadError("a tensor of the file is damaged: it needs memory, a size and as many strides")
    of = of or memory.of
    if of is None:
        raise LoadError("a tensor of the file is damaged: its type is missing")
    shape, steps = tuple([whole(n) for n in size]), tuple([whole(s) for s in stride])
    last = whole(offset) + sum([(n - 1) * s for n, s in zip(shape, steps)])
    if len(shape) > MAX_DIMS or 0 not in shape and (last + 1) * of.itemsize > memory.data.nbytes:
        raise LoadError(
            f"a tensor of shape {list(shape)[:MAX_DIMS]} with strides {list(steps)[:MAX_DIMS]} at {offset} does not "
            f"fit into its storage of {memory.data.nbytes // of.itemsize} elements"
        )
    if 0 in shape:
        array = np.empty(shape, of.numpy)
    else:
        usable = memory.data[: memory.data.nbytes // of.itemsize * of.itemsize]
        array = strided(usable.view(of.numpy), shape, tuple([s * of.itemsize for s in steps]), offset * of.itemsize)
    if isinstance(metadata, dict):
        if metadata.get("conj"):
            array = np.conj(array)
        if metadata.get("neg"):
            array = np.negative(array)
    return require_grad(wrap_value(Meta.of(array) if memory.hollow else array), requires_grad)


def typed_tensor(
    memory: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, of: Any, metadata: Any = None
) -> Tensor:
    """A tensor of one of the newer types."""
    if type(of) is not dtype:
        raise LoadError("a tensor of the file is damaged: its type is missing")
    return tensor(memory, offset, size, stride, requires_grad, hooks, metadata, of)


def sparse_tensor(layout: Any, parts: Any) -> Tensor:
    """A sparse tensor: in coordinates from places, values, size and whether it is coalesced; compressed from pointers,
    places, values and size.
    """
    several = 3 if layout in LAYOUTS else 2  # tensors, before the rest
    if (
        layout not in (sparse_coo, *LAYOUTS)
        or type(parts) is not tuple
        or len(parts) not in (several + 1, 4)
        or not all(isinstance(p, Tensor) for p in parts[:several])
    ):
        raise LoadError("a sparse tensor of the file is damaged")
    try:
        if layout in LAYOUTS:
            return sparse_compressed_tensor(
                parts[0], parts[1], parts[2], tuple([whole(n) for n in parts[3]]), layout=layout
            )
        return sparse_coo_tensor(parts[0], parts[1], tuple([whole(n) for n in parts[2]]), is_coalesced=bool(*parts[3:]))
    except (RuntimeError, TypeError, ValueError) as error:
        raise LoadError(f"a sparse tensor of the file is damaged: {error}") from None


def meta_tensor(of: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor without values."""
    if (
        type(of) is not dtype
        or type(size) is not tuple
        or type(stride) is not tuple
        or not len(size) == len(stride) <= MAX_DIMS
    ):
        raise LoadError("a meta tensor of the file is damaged: it needs a type, a size and as many strides")
    steps = [whole(s) * of.itemsize for s in stride]
    return require_grad(wrap_value(Meta([whole(n) for n in size], of.numpy, steps)), requires_grad)


def require_grad(t: Tensor, requires_grad: Any) -> Tensor:
    if requires_grad:
        t.requires_grad = True
    return t


def parameter(data: Any, requires_grad: Any = True, hooks: Any = None) -> Tensor:
    """A parameter on a tensor's memory."""
    from ..nn.parameter import Parameter

    if not isinstance(data, Tensor):
        raise LoadError("a parameter of the file is damaged: it has no tensor")
    return Parameter(data, bool(requires_grad))


def parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Tensor:
    """A parameter with attributes."""
    return with_state(parameter(data, requires_grad, hooks), state)


def with_state(t: Tensor, state: Any) -> Tensor:
    """A tensor, given attributes."""
    own, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    for attributes in (own, slots):
        for name, value in (attributes or {}).items():
            if type(name) is str and name not in HIDDEN:
                t.__dict__[name] = value
    return t


def of_type(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or with attributes. What makes it may be nothing but a function of this module."""
    if function not in (tensor, typed_tensor, parameter) or type(args) is not tuple or not isinstance(kind, type):
        raise LoadError("a tensor of the file is damaged: it says to be made by something else")
    t = function(*args)
    if type(t) is not kind:
        if not issubclass(kind, Tensor):
            raise LoadError(f"a tensor of the file is damaged: {kind.__name__} is not a type of tensor")
        t = t.as_subclass(kind)
        t._fn = LEAF if t._fn is not None else None
    return with_state(t, state)


def from_cpu_tensor(data: Any, of: Any, device: Any, requires_grad: Any) -> Tensor:
    """A tensor of a device (TPUs, for one) that saves by way of the CPU."""
    if not isinstance(data, Tensor) or type(of) is not dtype:
        raise LoadError("a tensor of the file is damaged: it has no data")
    return require_grad(data.detach().to(of), requires_grad)
