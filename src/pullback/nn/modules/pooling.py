"""Pooling layers: max, average, Lp, adaptive and fractional, and max unpooling.

Inputs are ``(N, C, *spatial)`` or ``(C, *spatial)`` with as many spatial dimensions as the class name says.
Sizes are one number for all of these, or one for each. The modules hold the settings of the functions of like
names in :mod:`pullback.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

Size = int | Sequence[int]


class _PoolNd(Module):
    """A pooling of ``dims`` spatial dimensions by ``function``."""

    dims: int
    function: Callable[..., Any]


# --- the largest element ------------------------------------------------------------------------------------


class _MaxPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return type(self).function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of ``(N, C, L)`` or ``(C, L)``.

    Args:
        kernel_size: size of a window. stride: from one window to the next, a window's size if None.
        padding: how many elements of -inf to add at both ends, half a window at most.
        dilation: from one element of a window to the next.
        return_indices: also return where the elements stood, for :class:`MaxUnpool1d`.
        ceil_mode: let the last window stick out instead of leaving it away.

    >>> import pullback as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    function = F.max_pool1d


class MaxPool2d(_MaxPoolNd):
    """:class:`MaxPool1d` for ``(N, C, H, W)`` or ``(C, H, W)``."""

    function = F.max_pool2d


class MaxPool3d(_MaxPoolNd):
    """:class:`MaxPool1d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    function = F.max_pool3d


class _MaxUnpoolNd(_PoolNd):
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        sizes = _ntuple(self.dims)
        self.kernel_size, self.stride = sizes(kernel_size), sizes(kernel_size if stride is None else stride)
        self.padding = sizes(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return type(self).function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the elements that :class:`MaxPool1d` took back where they stood, among zeros.

    Args:
        kernel_size, stride, padding: those of the pooling.

    Shape:
        ``forward(input, indices, output_size=None)``: input and indices as the pooling returned them; sizes
        that the pooling may have seen are told apart by ``output_size``, its input's size.

    >>> import pullback as torch
    >>> largest, at = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> torch.nn.MaxUnpool1d(2)(largest, at)
    tensor([[0., 3., 2., 0.]])
    """

    dims, function = 1, F.max_unpool1d


class MaxUnpool2d(_MaxUnpoolNd):
    """:class:`MaxUnpool1d` for :class:`MaxPool2d`."""

    dims, function = 2, F.max_unpool2d


class MaxUnpool3d(_MaxUnpoolNd):
    """:class:`MaxUnpool1d` for :class:`MaxPool3d`."""

    dims, function = 3, F.max_unpool3d


class _FractionalMaxPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self,
        kernel_size: Size,
        output_size: Size | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        sizes, name = _ntuple(self.dims), type(self).__name__
        self.kernel_size, self.return_indices = sizes(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else sizes(output_size)
        self.output_ratio = None if output_ratio is None else sizes(output_ratio)
        if not all(k > 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return type(self).function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows at random steps, to any smaller size (Graham 2014).

    Of ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        kernel_size: size of a window.
        output_size: the size to reach, or
        output_ratio: how many times the input's size that is, between 0 and 1.
        return_indices: also return where the elements stood.
    """

    dims, function = 2, F.fractional_max_pool2d


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """:class:`FractionalMaxPool2d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    dims, function = 3, F.fractional_max_pool3d


# --- means --------------------------------------------------------------------------------------------------


class _AvgPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of ``(N, C, L)`` or ``(C, L)``.

    Args:
        kernel_size, stride, padding, ceil_mode: as :class:`MaxPool1d` has them; padding is with zeros.
        count_include_pad: whether these zeros count.

    >>> import pullback as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(_single(kernel_size), _single(stride), _single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """:class:`AvgPool1d` for ``(N, C, H, W)`` or ``(C, H, W)``; ``divisor_override`` is for the number of elements."""

    function = F.avg_pool2d


class AvgPool3d(_AvgPoolNd):
    """:class:`AvgPool2d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    function = F.avg_pool3d


class _LPPoolNd(_PoolNd):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.ceil_mode = norm_type, ceil_mode
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """``(Σ xᵖ)^(1/p)`` over each window of ``(N, C, L)`` or ``(C, L)``, p being ``norm_type``.

    >>> import pullback as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    function = F.lp_pool1d


class LPPool2d(_LPPoolNd):
    """:class:`LPPool1d` for ``(N, C, H, W)`` or ``(C, H, W)``."""

    function = F.lp_pool2d


class LPPool3d(_LPPoolNd):
    """:class:`LPPool1d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    function = F.lp_pool3d


# --- parts of equal size ------------------------------------------------------------------------------------


class _AdaptivePoolNd(_PoolNd):
    __constants__ = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of ``output_size`` parts of ``(N, C, L)`` or ``(C, L)``, as equal as can be.

    Args:
        output_size: how many parts. return_indices: also return where the elements stood.
    """

    function = F.adaptive_max_pool1d


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """:class:`AdaptiveMaxPool1d` for ``(N, C, H, W)`` or ``(C, H, W)``; None leaves a dimension as it is."""

    function = F.adaptive_max_pool2d


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """:class:`AdaptiveMaxPool2d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    function = F.adaptive_max_pool3d


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    def forward(self, input: Tensor) -> Tensor:
        return type(self).function(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of ``output_size`` parts of ``(N, C, L)`` or ``(C, L)``, as equal in size as can be.

    >>> import pullback as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 2.0, 6.0]]))
    tensor([[1.5000, 4.0000]])
    """

    function = F.adaptive_avg_pool1d


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """:class:`AdaptiveAvgPool1d` for ``(N, C, H, W)`` or ``(C, H, W)``; None leaves a dimension as it is."""

    function = F.adaptive_avg_pool2d


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """:class:`AdaptiveAvgPool2d` for ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""

    function = F.adaptive_avg_pool3d
