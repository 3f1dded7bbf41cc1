"""Legacy tensor types: ``torch.LongTensor(2, 3)``, ``isinstance(x, torch.FloatTensor)``.

They are no classes of tensors, only names for one type of elements: what they make are tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import no_device
from ..base.dtypes import NAMES, TYPE_NAMES
from ..base.shape import Size
from ..core.record import wrap
from ..core.tensor import Tensor
from ..ops.from_data import to_array

__all__ = [f"{name}Tensor" for name in TYPE_NAMES.values() if not name.startswith("UInt")]


class TensorType(type):
    """The class of these types."""

    dtype: dtypes.dtype
    is_cuda: bool
    is_sparse: bool

    @property
    def _legacy_dtype(cls) -> dtypes.dtype:
        """For ``x.type(torch.LongTensor)``."""
        if cls.is_cuda:
            raise unavailable(cls)
        return cls.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.is_sparse is cls.is_sparse
            and not cls.is_cuda
        )

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if cls.is_cuda:
            raise unavailable(cls)
        if cls.is_sparse:
            return _sparse(cls.dtype, *args)
        kind = dtypes.as_dtype(cls.dtype).numpy
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0].dtype is not cls.dtype:
                raise TypeError(f"expected {cls.dtype} (got {args[0].dtype})\n  x.to({cls.dtype}) converts.")
            return args[0].detach()
        if len(args) == 1 and not isinstance(args[0], int | np.integer | Size):
            return wrap(to_array(args[0], cls.dtype))
        shape = args[0] if len(args) == 1 and isinstance(args[0], Size) else args
        return wrap(np.zeros(shape if args else 0, kind))


def _sparse(kind: dtypes.dtype, *args: Any) -> Tensor:
    """From indices, values and perhaps a size, or from a size: the values keep the type that they have."""
    from ..ops.sparse import sparse_coo_tensor

    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args)
    return sparse_coo_tensor(size=args[0] if args and isinstance(args[0], Size) else args or (0,), dtype=kind)


def unavailable(cls: type) -> TypeError:
    """The error for a type of another device."""
    return no_device(
        TypeError(f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled.")
    )


def make(name: str, module: str) -> TensorType:
    """The type of that name, such as ``LongTensor``, at ``torch``, ``torch.cuda`` or ``torch.sparse``."""
    kind = next(NAMES[n] for n, legacy in TYPE_NAMES.items() if f"{legacy}Tensor" == name)
    members = {
        "__module__": module,
        "__doc__": f"``{kind}``, as a type of tensors.",
        "dtype": kind,
        "is_cuda": module == "torch.cuda",
        "is_sparse": module == "torch.sparse",
    }
    return TensorType(name, (), members)


def by_name(name: str) -> TensorType:
    """The type called ``"torch.LongTensor"``.

    Raises:
        ValueError: there is none.
    """
    module, _, short = name.rpartition(".")
    if short not in __all__ or module not in ("torch", "torch.cuda"):
        raise ValueError(f"invalid type: '{name}'")
    return make(short, module)


globals().update({name: make(name, "torch") for name in __all__})
