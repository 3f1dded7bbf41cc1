"""The globals that a file may name: PyTorch's paths for tensors and their parts, and classes added as safe globals."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from enum import EnumMeta
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.addresses import address_of, home_of
from ..base.device import Layout, device, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..base.dtypes import dtype
from ..base.shape import Size
from ..core import slots
from ..core.public import function_of
from ..core.tensor import Tensor
from ..nn.parameter import Parameter
from . import memory, ordinary
from .unpickler import Budget, LoadError

ABSENT = {  # known in PyTorch, but not here
    "torch._utils._rebuild_qtensor": "quantized tensors",
    "torch._utils._rebuild_nested_tensor": "nested tensors",
    "torch._utils._rebuild_wrapper_subclass": "tensors that wrap others",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of other devices",
    "torch.jit._pickle.build_intlist": "TorchScript archives",
}
BLOCKED = ("sys", "os", "posix", "nt")  # not even if a program says so

allowed: list[Any] = []  # what add_safe_globals was given


# --- what pickles call, in place of the classes themselves -------------------------------------------------------


def _dict(cls: Any) -> Callable[..., Any]:
    def make(budget: Budget, entries: Any = ()) -> Any:
        budget.spend(len(entries))
        if type(entries) is dict:
            return cls(entries)
        result = cls()
        for key, value in entries:
            if type(key) not in (str, int, float, bool, bytes):
                raise LoadError(f"a key of type {type(key).__name__} is not allowed here")
            result[key] = value
        return result

    return make


def _set(budget: Budget, values: Any = ()) -> set[Any]:
    budget.spend(len(values))
    if type(values) is not list or not all(
        type(v) in (str, int, float, bool, bytes, dtype, type(None)) for v in values
    ):
        raise LoadError("a set of the file has elements that are no strings or numbers")
    if sum(type(v) is not str for v in values) > 1000 and len({hash(v) for v in values}) < len(values) // 2:
        raise LoadError("too many elements of a set have the same hash")
    return set(values)


def _bytes(budget: Budget, text: Any = "", encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise LoadError("bytes of the file are damaged")
    budget.spend(len(text))
    return text.encode("latin1")


def _bytearray(budget: Budget, data: Any = b"", encoding: Any = None) -> bytearray:
    if encoding is not None or type(data) is not bytes:
        return bytearray(_bytes(budget, data, encoding))
    budget.spend(len(data))
    return bytearray(data)


def _complex(budget: Budget, real: Any, imaginary: Any) -> complex:
    return complex(real, imaginary)


def _size(budget: Budget, sizes: Any = ()) -> Size:
    if type(sizes) is not tuple or not all(type(n) is int for n in sizes):
        raise LoadError("a torch.Size of the file is damaged")
    budget.spend(len(sizes))
    return Size(sizes)


def _device(budget: Budget, kind: Any, index: Any = None) -> device:
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise LoadError("a device of the file is damaged")
    return device(kind, index)


def layout(name: Any) -> Layout:
    """The layout of that name."""
    for known in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
        if repr(known) == name:
            return known
    raise LoadError("a layout of the file is not known")


def _free(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda budget, *args: function(*args)


REBUILD: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": memory.tensor,
    "torch._utils._rebuild_tensor_v2": memory.tensor,
    "torch._utils._rebuild_tensor_v3": memory.typed_tensor,
    "torch._utils._rebuild_sparse_tensor": memory.sparse_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": memory.meta_tensor,
    "torch._utils._rebuild_parameter": memory.parameter,
    "torch._utils._rebuild_parameter_with_state": memory.parameter_with_state,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": memory.from_cpu_tensor,
    "torch._tensor._rebuild_from_type_v2": memory.of_type,
    "torch.serialization._get_layout": layout,
}
CALLS: dict[Any, Callable[..., Any]] = {f: _free(f) for f in REBUILD.values()} | {
    OrderedDict: _dict(OrderedDict),
    Counter: _dict(Counter),
    set: _set,
    frozenset: lambda budget, values=(): frozenset(_set(budget, values)),
    bytearray: _bytearray,
    complex: _complex,
    bytes: _bytes,
    Size: _size,
    device: _device,
}
TABLE: dict[str, Any] = {
    **REBUILD,
    **{repr(d): d for d in dtypes.ALL},
    **{f"torch.{name}": memory.StorageType(name) for name in memory.OF_STORAGE},
    "torch.storage.UntypedStorage": memory.StorageType("UntypedStorage"),
    "torch.nn.parameter.Parameter": Parameter,
    "torch.Tensor": Tensor,
    "torch.Size": Size,
    "torch.device": device,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.bytearray": bytearray,
    "builtins.bytes": bytes,
    "builtins.complex": complex,
    "_codecs.encode": bytes,
}

PATH_OF: dict[Any, str] = {Tensor: "torch.Tensor", Size: "torch.Size", device: "torch.device"}


def path_of(thing: Any) -> str:
    """The path by which PyTorch's files name a class or function: for what is ours, PyTorch's."""
    name = getattr(thing, "__qualname__", None) or thing.__name__
    module = thing.__module__ or ""
    if module.partition(".")[0] != "pullback":
        return f"{module}.{name}"
    if thing in PATH_OF:
        return PATH_OF[thing]
    if isinstance(function_of(thing), (FunctionType, BuiltinFunctionType)) and not module.startswith("pullback.nn."):
        for home, path in ((slots.namespace.nn.functional, "torch.nn.functional"), (slots.namespace, "torch")):
            if getattr(home, name, None) == thing:
                return f"{path}.{name}"
    if module.startswith("pullback.optim.lr_scheduler."):  # one module in PyTorch
        module = "pullback.optim.lr_scheduler"
    return "torch" + address_of(module).removeprefix("pullback") + "." + name


class Table:
    """The names that a file may use: the fixed ones, and those that the program has allowed.

    Args:
        modules: whether classes of ``torch.nn`` and ``torch.optim`` are known, and what :mod:`.ordinary` describes.
    """

    def __init__(self, modules: bool = False) -> None:
        self.user: dict[str, Any] = {}
        for entry in allowed:
            if isinstance(entry, tuple):
                if len(entry) != 2 or type(entry[1]) is not str:
                    raise ValueError(
                        f"Expected tuple of length 2 (global, str of callable full path), but got {entry!r}"
                    )
                self.user[entry[1]] = entry[0]
            else:
                self.user[path_of(entry)] = entry
        self.modules = modules
        self.trusted = {id(thing): thing for thing in self.user.values()}  # whose own code may run
        self.plain: dict[int, Any] = {}  # classes whose objects are made without

    def knows(self, path: str) -> bool:
        """Whether :meth:`find` would find it."""
        return path in TABLE or path in self.user

    def _plain(self, path: str, module: str) -> Any:
        thing = ordinary.TABLE.get(path) or _in_torch(path) or ordinary.imported(module, path[len(module) + 1 :])
        if isinstance(thing, type):
            self.plain[id(thing)] = thing
        return thing

    def find(self, path: str, module: str = "") -> Any:
        """The object that a path in a file names.

        Raises:
            LoadError: for what is not in the table, by name.
        """
        if path in TABLE:
            return TABLE[path]
        if path.partition(".")[0] in BLOCKED:
            raise LoadError(
                f"Trying to load unsupported GLOBAL {path} whose module {path.partition('.')[0]} is blocked."
            )
        thing = self.user.get(path)
        if thing is None and self.modules:
            thing = self._plain(path, module)
        if thing is not None:
            return thing
        if path in ABSENT or path.startswith("torch.") and path.count(".") == 1:
            raise LoadError(
                f"{path[:200]} is in the file: {ABSENT.get(path, 'it')} cannot be loaded, as Pullback has no such thing"
            )
        path = path.removeprefix("builtins.")[:200]
        raise LoadError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def call(self, function: Any, args: tuple[Any, ...], budget: Budget) -> Any:
        """The result of a call, if it is an allowed one."""
        if id(function) in self.trusted:
            return function(*args)
        call = None
        if isinstance(function_of(function), (type, FunctionType)):
            call = CALLS.get(function) or (ordinary.CALLS.get(function) if self.modules else None)
            if call is None and isinstance(function, EnumMeta) and id(function) in self.plain and len(args) == 1:
                return ordinary.member(function, *args)  # type: ignore[arg-type]
        if call is None:
            raise LoadError(f"Trying to call reduce for unrecognized function {_shown(function)}")
        return call(budget, *args)

    def new(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """A new object of a class that is allowed."""
        if id(cls) in self.trusted and isinstance(cls, type):
            return cls.__new__(cls, *args)
        if id(cls) in self.plain and cls not in ordinary.CALLS:
            return ordinary.new(cls, args)
        if cls is Parameter:
            return memory.parameter(*args)
        if cls in (OrderedDict, Counter) and not args:
            return cls()
        raise LoadError(
            "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
            f"{_shown(cls)}"
        )

    def build(self, target: Any, state: Any) -> None:
        """Give an object its state."""
        if type(target) is OrderedDict:
            _update(target, state)
        elif id(type(target)) in self.plain:
            (ordinary.set_array_state if type(target) is np.ndarray else ordinary.build)(target, state)
        elif self.modules and issubclass(type(target), np.dtype):
            ordinary.set_dtype_state(target, state)
        elif id(type(target)) not in self.trusted:
            raise LoadError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{_shown(type(target))}"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            own, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
            if own:
                _update(target, own)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def hashed_by_code(self, cls: type) -> bool:
        """Whether objects of a class run its code when they are keys."""
        return id(cls) in self.plain and (ordinary.own_code(cls, "__hash__") or ordinary.own_code(cls, "__eq__"))


def _update(target: Any, state: Any) -> None:
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise LoadError("the state of an object is damaged: it is no dict of attributes")
    target.__dict__.update(state)


def _shown(thing: Any) -> str:
    return thing.__name__ if isinstance(function_of(thing), (type, FunctionType)) else type(thing).__name__


def _in_torch(path: str) -> Any:
    """A class of ``torch.nn`` or ``torch.optim``, or one of ``nn``'s functions, by its path; None for anything else."""
    import sys

    module, _, name = path.rpartition(".")
    known, ours = f"{module}.".startswith(("torch.nn.", "torch.optim.")), "pullback" + module.removeprefix("torch")
    thing = getattr(sys.modules.get(home_of(ours) or ours), name, None) if known else None
    if isinstance(thing, type) and thing.__module__.partition(".")[2].startswith(("nn.", "optim.")):
        return thing
    return thing if isinstance(function_of(thing), FunctionType) and module == "torch.nn.functional" else None
