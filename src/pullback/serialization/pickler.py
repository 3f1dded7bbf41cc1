"""Pickles an object as PyTorch does: protocol 2, PyTorch's class paths, storages by persistent id."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..base.device import Layout, MemoryFormat, sparse_coo
from ..base.device import device as Device
from ..base.dtypes import OF_NUMPY, dtype
from ..base.layout import is_dense
from ..base.shape import Size
from ..core import versions
from ..core.conj_views import address
from ..core.geometry import bytes_of
from ..core.public import PublicFunction
from ..core.record import wrap
from ..core.tensor import Tensor
from ..nn.parameter import Parameter, is_lazy
from ..ops.memory import storage_offset, stride
from ..ops.storage import StorageBase
from .memory import HIDDEN, STORAGE_OF
from .type_names import path_of


class Global:
    """Stands for a name of PyTorch's that has no counterpart here."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self) -> None:
        """Never called; what a pickle calls must look as if it could be."""


TENSOR, TYPED_TENSOR = Global("torch._utils._rebuild_tensor_v2"), Global("torch._utils._rebuild_tensor_v3")
PARAMETER, PARAMETER_WITH_STATE = (
    Global("torch._utils._rebuild_parameter"),
    Global("torch._utils._rebuild_parameter_with_state"),
)
SPARSE_TENSOR = Global("torch._utils._rebuild_sparse_tensor")
META_TENSOR = Global("torch._utils._rebuild_meta_tensor_no_storage")
OF_TYPE, LAYOUT = Global("torch._tensor._rebuild_from_type_v2"), Global("torch.serialization._get_layout")
STORAGES = {d: Global(f"torch.{name}") for d, name in STORAGE_OF.items()}
UNTYPED = Global("torch.storage.UntypedStorage")


class Kept:
    """A storage in the pickle: an entry of the archive, and what type of elements it has."""

    def __init__(self, key: str, data: np.ndarray, of: dtype) -> None:
        self.key, self.data, self.dtype = key, data, of


class Pickler(pickle._Pickler):
    """Pickles one object; afterwards ``kept`` are the storages to be stored beside it.

    Args:
        old: whether as before PyTorch 1.6.
    """

    def __init__(self, file: io.BytesIO, old: bool = False) -> None:
        super().__init__(file, protocol=2)
        self._old = old
        self.kept: dict[int, Kept] = {}
        self._alive: list[Any] = []  # so that no id is taken twice

    def persistent_id(self, obj: Any) -> Any:
        """For a storage what PyTorch's persistent ids say: its type, key, device and number of elements."""
        if isinstance(obj, StorageBase):
            obj = self._kept(obj._elements())
        if type(obj) is not Kept:
            return None
        kind = STORAGES.get(obj.dtype, UNTYPED)
        if not self._old:
            return "storage", kind, obj.key, "cpu", obj.data.nbytes // (1 if kind is UNTYPED else obj.dtype.itemsize)
        if kind is UNTYPED:
            raise RuntimeError(f"the file format before PyTorch 1.6 has no {obj.dtype}")
        return "storage", kind, obj.key, "cpu", obj.data.nbytes // obj.dtype.itemsize, None

    def reducer_override(self, obj: Any) -> Any:
        """How what PyTorch knows too is pickled there; anything else as always."""
        kind = type(obj)
        if isinstance(obj, Tensor):
            return self._reduced(obj)
        if kind is Size:
            return Size, (tuple(obj),)
        if kind is Device:
            return Device, ((obj.type,) if obj.index is None else (obj.type, obj.index))
        if kind is Layout:
            return LAYOUT, (repr(obj),)
        if kind in (dtype, MemoryFormat, Global, FunctionType, PublicFunction, BuiltinFunctionType) or isinstance(
            obj, type
        ):
            path = obj.path if kind is Global else repr(obj) if kind in (dtype, MemoryFormat) else path_of(obj)
            return path if path.startswith("torch.") else NotImplemented
        return NotImplemented

    def save_global(self, obj: Any, name: Any = None) -> None:
        """Write a name; PyTorch's are not looked up, as PyTorch need not be there."""
        if name is None or not name.startswith("torch."):
            super().save_global(obj, name)  # type: ignore[misc]
            return
        if "<locals>" in name:
            raise pickle.PicklingError(f"Can't pickle local object {name}: define it at the top of a module")
        module, _, last = name.rpartition(".")
        self.write(b"c" + f"{module}\n{last}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def _reduced(self, t: Tensor) -> tuple[Any, ...]:
        if is_lazy(t):
            raise RuntimeError("a parameter that has no shape yet cannot be saved: run the module once first")
        state = {name: value for name, value in t.__dict__.items() if name not in HIDDEN}
        args: tuple[Any, ...]
        if type(t) is Parameter:
            args = t.detach(), t.requires_grad, OrderedDict()
            return (PARAMETER_WITH_STATE, (*args, state)) if state else (PARAMETER, args)
        if t.is_meta:
            return META_TENSOR, (t.dtype, tuple(t.shape), stride(t), t.requires_grad)
        if t.is_sparse and t.layout is not sparse_coo:
            return SPARSE_TENSOR, (t.layout, (*map(wrap, t._array.pointers()), t.values(), t.shape))
        if t.is_sparse:
            return SPARSE_TENSOR, (t.layout, (t._indices(), t._values(), t.shape, t.is_coalesced()))
        dense = t if _lies_densely(t._array) else wrap(np.ascontiguousarray(t._array).reshape(t._array.shape))
        kept = self._kept(dense._array)
        args = (kept, storage_offset(dense), tuple(dense._array.shape), stride(dense), t.requires_grad, OrderedDict())
        function = TENSOR
        if kept.dtype not in STORAGES:
            function, args = TYPED_TENSOR, (*args, kept.dtype)
        return (function, args) if type(t) is Tensor and not state else (OF_TYPE, (function, type(t), args, state))

    def _kept(self, array: np.ndarray) -> Kept:
        """The storage of an array."""
        owner, of = versions.owner_of(array), OF_NUMPY[array.dtype]
        known = self.kept.get(id(owner))
        if known is None:
            known = self.kept[id(owner)] = Kept(str(len(self.kept)), bytes_of(owner), of)
            self._alive.append(owner)
        if known.dtype is not of:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types\n"
                f"  One is {known.dtype}, another {of}: save a clone() of one of them."
            )
        return known


def _lies_densely(array: np.ndarray) -> bool:
    """Whether PyTorch could describe an array as a window onto all of the memory that it shares."""
    owner = versions.owner_of(array)
    offset = address(array) - address(owner)
    return (
        is_dense(owner)
        and not any(n % array.itemsize for n in (owner.nbytes, offset, *array.strides))
        and min(array.strides, default=0) >= 0
    )
