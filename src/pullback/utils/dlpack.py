"""``torch.utils.dlpack``: zero-copy exchange of arrays with other libraries."""

from __future__ import annotations

import enum
from typing import Any

from ..core.tensor import Tensor
from ..ops.buffers import from_dlpack as from_object

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by DLPack's numbers; memory here is of the first."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class Capsule:
    """The capsule that :func:`to_dlpack` returns, with the ``__dlpack__`` methods that newer consumers ask for."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()


def to_dlpack(tensor: Tensor) -> Capsule:
    """A tensor for :func:`from_dlpack`, of this library or another. Handing over the tensor itself does the same."""
    if tensor.requires_grad:
        raise RuntimeError("Can't export tensors that require gradient, use tensor.detach()")
    return Capsule(tensor)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of any object that speaks DLPack.

    Raises:
        TypeError: for a bare capsule of another library, which NumPy does not take: pass the object that it is of.

    >>> import numpy as np
    >>> from_dlpack(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(
            f"from_dlpack needs an object with __dlpack__, not {type(ext_tensor).__name__}: pass the array rather "
            f"than a capsule of it"
        )
    return from_object(ext_tensor)
