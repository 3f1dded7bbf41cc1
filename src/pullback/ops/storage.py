"""Storages: the memory that tensors share, as bytes (``UntypedStorage``) or as elements (``TypedStorage``)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from operator import index as integer
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from ..base import dtypes
from ..base.dtypes import OF_NUMPY, cast_number, type_name
from ..base.errors import no_attribute, with_notes
from ..core import record, slots, versions
from ..core.conj_views import address
from ..core.geometry import bytes_of
from ..core.level import LevelValue
from ..core.relocation import relocate

NAMES = {  # of the classes of storages with one type of elements, without "Storage"
    "Double": dtypes.float64,
    "Float": dtypes.float32,
    "Half": dtypes.float16,
    "BFloat16": dtypes.bfloat16,
    "Long": dtypes.int64,
    "Int": dtypes.int32,
    "Short": dtypes.int16,
    "Char": dtypes.int8,
    "Byte": dtypes.uint8,
    "Bool": dtypes.bool_,
    "ComplexFloat": dtypes.complex64,
    "ComplexDouble": dtypes.complex128,
}
_known: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()  # by the id of the array that owns the memory


class StorageBase:
    """What storages have in common."""

    is_cuda = is_sparse = is_sparse_csr = is_hpu = False
    _owner: Any
    _dtype = dtypes.uint8

    @property
    def device(self) -> Any:
        """The CPU, or ``meta`` for tensors without values."""
        return record.wrap(self._owner).device

    def _elements(self) -> np.ndarray:
        """The memory as a 1-d array that shares it."""
        return self._as_type(self._dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        raise NotImplementedError

    def _as_type(self, kind: Any) -> np.ndarray:
        """The memory as a 1-d array of a type, which must be that of its elements if they have one.

        Raises:
            RuntimeError: if it is another.
        """
        if isinstance(self, TypedStorage) and kind is not self._dtype:
            wanted, found = dtypes.type_name(kind), dtypes.type_name(self._dtype)
            raise with_notes(
                RuntimeError(f"Expected a Storage of type {wanted} or an UntypedStorage, but got {found}"),
                f"Say dtype={self._dtype} for a tensor on this memory, or convert a copy: storage.type({kind}).",
            )
        if isinstance(self._owner, LevelValue):
            raise NotImplementedError(f"Not available for '{self.device.type}' device type")
        flat = bytes_of(self._owner)[: self.nbytes()]
        return flat[: len(flat) // kind.itemsize * kind.itemsize].view(kind.numpy)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._owner)

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        return versions.storage_nbytes(self._owner)

    def element_size(self) -> int:
        return self._dtype.itemsize

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        return self._elements().tolist()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._owner.nbytes

    def __bool__(self) -> bool:
        return len(self) > 0

    def resizable(self) -> bool:
        return True

    def is_shared(self) -> bool:
        """Whether other processes may share the memory."""
        return record.wrap(self._owner).is_shared()

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def share_memory_(self) -> Any:
        """Move the memory to where processes share it, with the tensors on it. Returns itself.

        Raises:
            RuntimeError: if more than tensors looks at it: a NumPy array, a graph, an optimizer.

        >>> import pullback as torch
        >>> torch.FloatStorage([1, 2]).share_memory_().is_shared()
        True
        """
        if not self.is_shared():
            memory = record.wrap(bytes_of(self._owner)).share_memory_()._array
            self.untyped()._relocate(memory)
        return self

    def cpu(self) -> Any:
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        if str(device).partition(":")[0] != "cpu":
            raise RuntimeError(f"a storage cannot be moved to {device}: the only memory here is the CPU's")
        return self

    def _index(self, index: Any) -> int:
        try:
            i = integer(index)
        except TypeError:
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} out of range for storage of size {len(self)}")
        return i

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            index = self._index(index)
        elements = self._elements()
        elements[index] = self._element(value)
        versions.bump_version(self._owner)

    def _element(self, value: Any) -> Any:
        """A number as an element, if its type can hold it; anything else as it is."""
        if isinstance(value, (str, bytes)):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{type_name(self._dtype)}Tensor")
        if isinstance(value, (int, float, complex, np.generic)):
            return cast_number(value, self._dtype.numpy)
        return getattr(value, "_array", value)

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere. Returns itself."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Write what another storage of this size holds. Returns itself.

        Raises:
            RuntimeError: for one of another size.
        """
        if source.size() != self.size():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self[:] = source._elements()
        return self

    def resize_(self, size: int) -> Any:
        """Set the number of elements, for programs that free the memory of tensors and take it back. Returns itself.

        A smaller size, even 0, is only recorded: the memory is freed with the last tensor on it. For a larger one it
        moves, with the tensors on it; what is new is 0.

        Raises:
            RuntimeError: if more than tensors looks at the memory: a NumPy array, a graph, an optimizer.

        >>> import pullback as torch
        >>> x = torch.ones(3); _ = x.untyped_storage().resize_(0); x.untyped_storage().size()
        0
        """
        nbytes = size * self.element_size()
        if nbytes > self._owner.nbytes:
            memory = np.zeros(nbytes, np.uint8)
            memory[: self._owner.nbytes] = bytes_of(self._owner)
            self.untyped()._relocate(memory)
        versions.version_counter(self._owner).size = nbytes
        return self

    def _shown(self, what: str) -> str:
        lines = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{lines}\n[torch.storage.{what}device={self.device}) of size {len(self)}]"


class UntypedStorage(StorageBase):
    """The memory that tensors share, as bytes; there is one such object for it at a time.

    Its attributes and its hash are those of the memory, and stay when the object goes.

    >>> import pullback as torch
    >>> x = torch.ones(2)
    >>> x.untyped_storage() is x[1:].untyped_storage()
    True
    """

    __slots__ = ("_owner",)
    filename: str | None = None

    def __new__(cls, *args: Any, device: Any = None) -> UntypedStorage:
        if len(args) > 1:
            _refuse(cls)
        given = args[0] if args else 0
        if isinstance(given, (np.ndarray, LevelValue)):
            return _of_owner(given)
        if device is not None and str(device) == "meta":
            return _of_owner(record.wrap(np.empty(given, np.uint8)).to("meta")._array)
        return _of_owner(_new_memory(given, dtypes.uint8))

    def untyped(self) -> UntypedStorage:
        return self

    _untyped = untyped

    def _move(self, owner: Any) -> None:
        """Let this be the storage of another array's memory."""
        write = versions.version_counter(owner)
        if write.attributes is None:
            write.attributes = self.__dict__
        self._owner, self.__dict__ = owner, write.attributes
        _known[id(owner)] = self

    def _relocate(self, memory: np.ndarray) -> None:
        """Move to other memory, which holds the same bytes, with all tensors."""
        if self._owner.base is not None or not relocate(self, memory):
            raise with_notes(
                RuntimeError("Trying to resize storage that is not resizable"),
                "Its memory would move, and more than tensors looks at it: a NumPy array, a graph or an optimizer, or "
                "other processes. Make a new tensor instead.",
            )
        self._move(memory)

    def __hash__(self) -> int:
        return hash(id(self.__dict__))

    def __repr__(self) -> str:
        return self._shown("UntypedStorage(")

    def get_device(self) -> int:
        return -1

    def _element(self, value: Any) -> Any:
        if isinstance(value, (int, np.integer)):
            return int(value) & 255
        if isinstance(value, (float, complex)):
            kind = type(value).__name__
            raise RuntimeError(f"can only set storage content with a int types, but got {kind} instead")
        return super()._element(value)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        return f"torch.storage.{type(self).__name__}" if dtype is None else _typed(self, dtypes.uint8).type(dtype)

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """So many bytes in memory that processes share."""
        return cls(size).share_memory_()

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return _of_owner(self._elements().copy())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._elements()[self._index(index)].item()
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        part: Any = object.__new__(UntypedStorage)
        part._owner = self._elements()[start : max(start, stop)]
        return part

    def byteswap(self, dtype: Any) -> None:
        """Exchange the order of the bytes of each element of a type, in place."""
        size = dtype.to_real().itemsize
        self._elements().view(f"u{size}").byteswap(inplace=True)
        versions.bump_version(self._owner)

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory; written back to it if ``shared``.

        Raises:
            RuntimeError: for a file that can't be opened, or has fewer; if ``shared``, it is made.
        """
        made = _of_owner(_mapped(filename, shared, nbytes))
        made.filename = filename if shared else None
        return made

    @staticmethod
    def from_buffer(*args: Any, dtype: Any = None, **kwargs: Any) -> UntypedStorage:
        """A copy of the bytes of a buffer; see :meth:`TypedStorage.from_buffer`.

        Raises:
            RuntimeError: without a ``dtype``.
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        return _from_buffer(dtype, *args, **kwargs).untyped()

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        return _copied(self, memo)

    def __reduce__(self) -> Any:
        return UntypedStorage, (self._elements(),)


def _new_memory(given: Any, kind: Any) -> np.ndarray:
    """Elements of a type: so many zeros, or numbers, which the type must hold."""
    d = kind.numpy
    if hasattr(given, "__index__"):
        if integer(given) < 0:
            raise RuntimeError(f"a storage cannot have a negative number of elements: {given}")
        return np.zeros(given, d)
    values = np.array(list(given))
    if values.dtype.kind in "US":
        raise ValueError("too many dimensions 'str'")
    if not values.size or np.can_cast(values.dtype, d) or values.dtype.kind == d.kind == "f" and d.itemsize > 2:
        return values.astype(d)
    return np.array([cast_number(v, d) for v in given], d)


def _of_owner(owner: Any) -> UntypedStorage:
    """The storage of the memory that an array owns or looks at."""
    owner = owner if isinstance(owner, LevelValue) else versions.owner_of(owner)
    known = _known.get(id(owner))
    if known is None or known._owner is not owner:
        known = object.__new__(UntypedStorage)
        known._move(owner)
    return known


def _mapped(filename: str, shared: bool, nbytes: int) -> np.ndarray:
    """The first bytes of a file, mapped into memory; if ``shared``, the file is made, or made longer, if need be."""
    if nbytes < 0:
        raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{filename}>")
    if shared and sys.platform == "emscripten":  # where what is written into the mapping never reaches the file
        raise with_notes(
            RuntimeError("from_file(shared=True) maps a file into memory, which WebAssembly can't"),
            "shared=False reads it.",
        )
    if shared:
        with open(filename, "ab") as file:
            if file.tell() < nbytes:
                file.truncate(nbytes)
    try:
        length = os.stat(filename).st_size
    except OSError as error:
        raise RuntimeError(
            f"unable to open file <{filename}> in read-only mode: {error.strerror} ({error.errno})"
        ) from None
    if length < nbytes:
        raise RuntimeError(f"file <{filename}> size <{length}> is smaller than the required mapping size <{nbytes}>")
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,)))


def _refuse(cls: type) -> NoReturn:
    raise TypeError(
        f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
        " * (int size)\n * (Sequence data)\n"
    )


class TypedStorage(StorageBase):
    """The memory that tensors share, as elements of one type; :class:`UntypedStorage` replaces it.

    Args:
        given: how many elements, or their values; none by default.
        wrap_storage: the memory, instead.
        dtype: of the elements; by default the default float type.
    """

    def __init__(self, *given: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> None:
        kind = (
            dtypes.get_default_dtype()
            if dtype is None
            else dtype
            if isinstance(dtype, dtypes.dtype)
            else OF_NUMPY[dtype]
        )
        if len(given) > 1 or given and wrap_storage is not None:
            _refuse(type(self))
        if wrap_storage is None and given and isinstance(given[0], (np.ndarray, LevelValue)):
            wrap_storage = _of_owner(given[0])
        elif wrap_storage is None:
            what = given[0] if given else 0
            if isinstance(what, str):
                raise TypeError("new(): invalid data type 'str'")
            if hasattr(what, "_array") or isinstance(what, StorageBase) or isinstance(what, np.ndarray):
                _refuse(type(self))
            made = _new_memory(what, kind)
            wrap_storage = _of_owner(record.wrap(made).to("meta")._array if str(device) == "meta" else made)
        if not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"Argument type not recognized: expected UntypedStorage, got {type(wrap_storage)}")
        self._untyped_storage, self._dtype = wrap_storage, kind

    @property
    def _owner(self) -> Any:
        return self._untyped_storage._owner

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def filename(self) -> str | None:
        """The file that it is mapped from, if writes reach it."""
        return self._untyped_storage.filename

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    _untyped = untyped

    def pickle_storage_type(self) -> str:
        """The name of the class of storages with this type of elements.

        Raises:
            KeyError: if there is none.
        """
        return class_of(self._dtype).__name__

    _pickle_storage_type = pickle_storage_type

    def __repr__(self) -> str:
        return self._shown(f"TypedStorage(dtype={self.dtype}, ")

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of its class; or the same elements in another type."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        if isinstance(dtype, str):
            dtype = NAMES[dtype.removeprefix("torch.").removesuffix("Storage")]
        return self._as(getattr(dtype, "dtype", dtype))

    def _as(self, kind: Any) -> TypedStorage:
        return TypedStorage(self._elements().astype(kind.numpy), dtype=kind)

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """So many elements of this type in memory that processes share."""
        return TypedStorage(size, dtype=self._dtype).share_memory_()

    def clone(self) -> TypedStorage:
        """A copy of the memory."""
        return TypedStorage(self._elements().copy(), dtype=self._dtype)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._index(index)].item()

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, **more: Any
    ) -> Any:
        """A copy of the elements in a buffer.

        Args:
            byte_order: "little", "big" or "native"; may be left out for bytes.
            count: how many elements; all by default.
            offset: how many bytes to skip.

        >>> import pullback as torch
        >>> torch.ShortStorage.from_buffer(b"\\x01\\x00\\x02\\x00", "little").tolist()
        [1, 2]
        """
        return _from_buffer(more.get("dtype", getattr(cls, "dtype", None)), buffer, byte_order, count, offset)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """The elements of a file, mapped into memory; written back to it if ``shared``."""
        kind = cls.dtype
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * kind.itemsize), dtype=kind)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=_copied(self._untyped_storage, memo), dtype=self._dtype)

    def __reduce__(self) -> Any:
        return _typed, (self._untyped_storage, self._dtype)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def class_of(kind: Any) -> Any:
    """The class of storages with elements of a type.

    Raises:
        KeyError: if there is none.
    """
    return globals()[next((f"{name}Storage" for name, d in NAMES.items() if d is kind), str(kind))]


def _typed(memory: UntypedStorage, kind: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=memory, dtype=kind)


def _copied(storage: UntypedStorage, memo: dict[int, Any]) -> UntypedStorage:
    """A copy that copies of its tensors share, too."""
    from copy import deepcopy

    return _of_owner(deepcopy(record.wrap(storage._owner), memo)._array)


def _from_buffer(
    kind: Any, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, **ignored: Any
) -> TypedStorage:
    size, data = kind.itemsize, memoryview(buffer).cast("B")
    if byte_order is None and size > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "little", "big", "native"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little' or 'native')")
    if not 0 <= offset <= len(data):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({len(data)}), but got {offset}"
        )
    left = (len(data) - offset) // size
    if count < 0 and (len(data) - offset) % size:
        raise ValueError(f"buffer size ({len(data) - offset}) must be a multiple of element size ({size})")
    if count > left:
        raise ValueError(f"buffer has only {left} elements after offset {offset}, but specified a size of {count}")
    count = left if count < 0 else count
    elements = np.frombuffer(data, np.uint8, count * size, offset).copy()
    if byte_order in ("little", "big") and byte_order != sys.byteorder:
        elements.view(f"u{kind.to_real().itemsize}").byteswap(inplace=True)
    if kind is dtypes.bool_:
        elements = (elements != 0).view(np.uint8)
    return TypedStorage(elements.view(kind.numpy), dtype=kind)


class _OneType(type):
    """The class of the classes with one type of elements."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, wrap_storage: Any = None, **options: Any) -> TypedStorage:
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, **options)


def _conversion(kind: Any) -> Any:
    def convert(self: Any) -> TypedStorage:
        return TypedStorage(self._elements().astype(kind.numpy), dtype=kind)

    convert.__doc__ = f"The elements as {kind}."
    return convert


for _name, _kind in NAMES.items():
    globals()[f"{_name}Storage"] = _OneType(
        f"{_name}Storage",
        (TypedStorage,),
        {"dtype": _kind, "__doc__": f"Storages of {_kind}.", "__module__": __name__, "__qualname__": f"{_name}Storage"},
    )
    _method = {"ComplexFloat": "complex_float", "ComplexDouble": "complex_double"}.get(_name, _name.lower())
    setattr(StorageBase, _method, _conversion(_kind))


def __getattr__(name: str) -> Any:
    """``torch.Storage``: the class for the default float type."""
    if name != "Storage":
        raise no_attribute(__name__, name)
    return class_of(dtypes.get_default_dtype())


_StorageBase = StorageBase


def _load_from_bytes(data: bytes) -> TypedStorage:
    """A storage that PyTorch has saved in a pickle of Python's own."""
    from io import BytesIO

    storage: TypedStorage = slots.namespace.load(BytesIO(data), weights_only=False)
    return storage
