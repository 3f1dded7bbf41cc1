"""Padding layers, for the last one to three dimensions: constant, reflection, replication, circular.

``padding`` is one number for every side, or (left, right), then (top, bottom), then (front, back): the last
dimension first, as :func:`pullback.nn.functional.pad` takes it. Negative numbers cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Padding of the last ``dims`` dimensions, filled in the way that ``mode`` says."""

    __constants__ = ["padding"]
    dims: int
    mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self.dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors the last dimension of ``(N, C, L)`` or ``(C, L)`` at its ends, which are not repeated.

    >>> import pullback as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.arange(4.0).reshape(1, 4))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """:class:`ReflectionPad1d` for the last two dimensions of ``(N, C, H, W)`` or ``(C, H, W)``."""

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """:class:`ReflectionPad1d` for the last three dimensions of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    dims = 3


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the first and last elements of ``(N, C, L)`` or ``(C, L)``."""

    dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the outermost elements of ``(N, C, H, W)`` or ``(C, H, W)``."""

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the outermost elements of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    dims = 3


class _CircularPadNd(_PadNd):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Goes on at each end of ``(N, C, L)`` or ``(C, L)`` with the elements of the other end."""

    dims = 1


class CircularPad2d(_CircularPadNd):
    """:class:`CircularPad1d` for the last two dimensions of ``(N, C, H, W)`` or ``(C, H, W)``."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """:class:`CircularPad1d` for the last three dimensions of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    dims = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Puts ``value`` around the last dimension of any tensor."""

    dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Puts ``value`` around the last two dimensions of any tensor."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Puts ``value`` around the last three dimensions of any tensor."""

    dims = 3


class ZeroPad1d(ConstantPad1d):
    """Puts zeros around the last dimension of any tensor."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad2d(ConstantPad2d):
    """Puts zeros around the last two dimensions of any tensor.

    >>> import pullback as torch
    >>> torch.nn.ZeroPad2d((1, 0, 0, 1))(torch.ones(1, 1, 2))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad3d(ConstantPad3d):
    """Puts zeros around the last three dimensions of any tensor."""

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)
