"""Dtype and device conversion: ``to``, ``float``, ``type_as``, ``cpu``, ``type``; ``view(dtype)``; ``result_type``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import CPU, Layout, check_device, device, preserve_format
from ..base.dtypes import NAMES, as_dtype, type_name
from ..base.layout import suggested_format
from ..core import conj_views, op, record, slots
from ..core.graph import finish_node
from ..core.level import detached, map_arrays
from ..core.op import add_method
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type
from .values.meta import Meta, no_data, on_meta
from .view import view_shape

__all__: list[str] = ["can_cast", "is_signed", "promote_types", "result_type"]


@op.general(node="ToCopyBackward0", method=False, holomorphic=False, linear="input")
def cast(input: Tensor, dtype: Any) -> Tensor:
    """The elements in another (NumPy) type, as a copy. Complex to real drops the imaginary part."""
    input = dtypes.part_to_cast(input, dtype)
    if dtype.kind in "iu" and input.dtype not in dtypes.OF_NUMPY:
        return input.astype(np.float32).astype(dtype)
    return as_type(input, dtype)


cast.vjp(input=lambda g: g)  # the engine casts it to the input's dtype


def identity_node(leaf: Any, array: np.ndarray) -> Any:
    """A node that passes gradients on to a leaf, for a saved copy of its value in another type."""
    return finish_node(cast.op.node_type("ToCopyBackward0")(), (leaf,), (), array.shape, array.dtype)


TO_OPTIONS = {"dtype", "device", "other", "copy", "memory_format", "non_blocking"}


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """This tensor in another type: itself if it has that type already, else a recorded copy.

    Args:
        args: a dtype, a device, both, or another tensor whose dtype and device to take.
        kwargs: ``dtype``, ``device``, ``copy`` (always copy), ``memory_format`` and ``non_blocking`` (no effect).

    Raises:
        NotImplementedError: if the tensor is on ``meta`` (it has no values to copy out).

    >>> import pullback as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    unknown = set(kwargs) - TO_OPTIONS
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{unknown.pop()}'")
    target = kwargs.get("dtype")
    copy = kwargs.get("copy", False)
    where = kwargs.get("device")
    for i, a in enumerate((*args, *[kwargs[n] for n in kwargs if n == "other"])):
        if isinstance(a, Tensor):
            target, where = a.dtype, a.device
        elif isinstance(a, (device, str)):
            where = a
        elif isinstance(a, bool):
            copy = a if i and i == len(args) - 1 and isinstance(args[i - 1], bool) else copy
        elif a is not None and not isinstance(a, (Layout, int)):
            target = as_dtype(a)
        elif isinstance(a, int):
            where = device(a)
    if where is not None:
        self = _to_device(self, where)
    result = _to(self, self._array.dtype if target is None else as_dtype(target).numpy, copy)
    return _in_format(self, result, kwargs.get("memory_format"))


def _in_format(self: Tensor, result: Tensor, memory_format: Any) -> Tensor:
    """What ``self`` was converted to, in a memory format: itself if it already is, and nothing else had to be done."""
    if memory_format is None or memory_format is preserve_format:
        return result
    if result is self and suggested_format(self._array) is memory_format:
        return self
    return result.clone(memory_format=memory_format)


@op.general(node="ToCopyBackward0", method=False, holomorphic=False)
def to_meta(input: Tensor) -> Tensor:
    """The shape and type of a tensor, without its values."""
    return Meta.of(input)


def _to_device(self: Tensor, where: Any) -> Tensor:
    check_device(where)
    if where is CPU and self._array.__class__ is np.ndarray:
        return self
    if on_meta(where):
        return self if self.is_meta else to_meta(self)
    if self.is_meta:
        raise no_data()
    return self


def _to(self: Tensor, d: np.dtype, copy: bool = False) -> Tensor:
    if self._array.dtype != d:
        return cast(self, d)
    return self.clone() if copy else self


add_method(to, "to")


def _dtype_method(name: str, kind: dtypes.dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        d = as_dtype(kind).numpy
        return _in_format(self, cast(self, d) if self._array.dtype != d else self, memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"This tensor as ``torch.{name}``; itself if it has that type already."
    return convert


for _name in ("half", "float", "double", "short", "int", "long", "chalf", "cfloat", "cdouble", "bool", "bfloat16"):
    add_method(_dtype_method(_name, NAMES[_name]), _name)
add_method(_dtype_method("byte", dtypes.uint8), "byte")
add_method(_dtype_method("char", dtypes.int8), "char")


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in another's type."""
    return _to(self, other._array.dtype)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor, which is on the CPU already; on ``meta``: NotImplementedError."""
    return _in_format(self, _to_device(self, CPU), memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises: there is no such device."""
    check_device("cuda" if device is None else device)
    return self


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """This tensor: nothing is copied to other devices."""
    return self


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """The legacy name of this tensor's type (``'torch.FloatTensor'``), or this tensor as another type."""
    if dtype is None:
        space = "sparse." if self.is_sparse else "meta." if self.is_meta else ""
        return f"torch.{space}{dtypes.type_name(self.dtype)}Tensor"
    if dtype is Tensor:  # another name of torch.FloatTensor
        dtype = dtypes.get_default_dtype()
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removesuffix("Tensor")
        found = [NAMES[n] for n, legacy in dtypes.TYPE_NAMES.items() if legacy == name]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found[0]
    return _in_format(self, _to(self, as_dtype(getattr(dtype, "_legacy_dtype", dtype)).numpy), memory_format)


def _share_memory_(self: Tensor) -> Tensor:
    """Move this tensor to memory that processes share. Views made of it before stay on the old memory."""
    return slots.share_memory(self)


def _is_shared(self: Tensor) -> bool:
    """Whether this tensor is in memory that processes share."""
    return slots.shared_mapping(self._array) is not None


for _name, _fn in {
    "type_as": type_as,
    "cpu": cpu,
    "cuda": cuda,
    "pin_memory": pin_memory,
    "type": _type,
    "is_pinned": lambda self: False,
    "share_memory_": _share_memory_,
    "is_shared": _is_shared,
}.items():
    add_method(_fn, _name)


def is_signed(input: Tensor) -> bool:
    """Whether the elements' type has negative numbers.

    >>> import pullback as torch
    >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
    False
    """
    return input.dtype.is_signed


add_method(is_signed, "is_signed")


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The type that mixing two operands gives.

    >>> import pullback as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.5)
    torch.float32
    """
    return dtypes.result_type_of([t._array if isinstance(t, Tensor) else t for t in (tensor1, tensor2)])


can_cast, promote_types = dtypes.can_cast, dtypes.promote_types


def _view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape, ``x.view(2, -1)``, or read as another type, ``x.view(torch.int32)``.

    A view of another type has no history. Its last dimension grows or shrinks where elements differ in size.

    Raises:
        RuntimeError: where only a copy has that shape (:func:`reshape` makes it), or elements cannot be cut that way.

    >>> import pullback as torch
    >>> torch.tensor([1.0, 2.0]).view(torch.int32)
    tensor([1065353216, 1073741824], dtype=torch.int32)
    """
    if shape and shape[0].__class__ is int:
        return view_shape(self, shape)
    if len(shape) == 1 and not hasattr(shape[0], "__index__"):
        shape = shape[0]
    elif not shape and size is not None:
        shape = size
    elif not shape and dtype is None:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n"
            " * (torch.dtype dtype)\n * (tuple of ints size)"
        )
    if dtype is None and isinstance(shape, (tuple, list)):
        return view_shape(self, shape)
    return _view_dtype(self, dtype or shape)


def _view_dtype(x: Tensor, dtype: Any) -> Tensor:
    target, source, a = as_dtype(dtype), x.dtype, x._array
    if target is source:
        return view_shape(x, a.shape)
    if conj_views.conj_view_of(a) is not None:
        what = "conjugate view tensors" if a.dtype.kind in dtypes.COMPLEX_KINDS else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different dtype.")
    change = f"to view {type_name(source)} as {type_name(target)} (different element sizes)"
    if target.itemsize != source.itemsize:
        if a.ndim == 0:
            raise RuntimeError(f"self.dim() cannot be 0 {change}")
        ratio = target.itemsize // source.itemsize  # 0 for smaller elements, which any place can be cut into
        if ratio and a.shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {change}, but got {a.shape[-1]}")
        offset = x.storage_offset()
        if ratio and offset % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {change}, but got {offset}")
        *strides, last = x.stride()
        if last != 1 and a.size:
            raise RuntimeError(f"self.stride(-1) must be 1 {change}, but got {last}")
        for i, stride in enumerate(strides):
            if ratio and stride % ratio:
                raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} {change}, but got {stride}")
    if not getattr(a, "parts", ()):
        return record.wrap(a.view(target.numpy))
    result = record.wrap(map_arrays(detached(a), lambda array, _: array.view(target.numpy)))
    result._array.level.track(result)
    return result


op.add_method(_view, "view")
