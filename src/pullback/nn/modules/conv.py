"""Convolutions and their transposes (Dumoulin & Visin 2016) in one to three dimensions.

Inputs are ``(N, C, *spatial)`` or ``(C, *spatial)``. A size is one number for all spatial dimensions or one
for each. Weights and biases start uniform in ``±1/√(weight[0].numel())``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor
from ...ops.create import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

Size = int | Sequence[int]
MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    dims: int  # spatial dimensions
    bias: Parameter | None
    function: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in MODES:
            raise ValueError(f"padding_mode must be one of {MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.transposed, self.output_padding = transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._padding_of_each_side()
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = self.out_channels, self.in_channels
        first, second = reversed(channels) if self.transposed else channels
        return (first, second // self.groups, *self.kernel_size)

    def _padding_of_each_side(self) -> Sequence[int]:
        """``F.pad``'s argument, for the padding modes that the convolution itself does not have."""
        padding: Any = self.padding
        if padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        return _reverse_repeat_tuple(padding, 2)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}", f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        if self.padding != (0,) * n:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: str | Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = _ntuple(self.dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation),
            False,
            sizes(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        return type(self).function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation of ``(N, C_in, L)`` with a learned kernel, plus a bias a channel.

    Args:
        in_channels, out_channels: numbers of channels, before and after.
        kernel_size: size of the kernel. stride: from one place of it to the next.
        padding: elements to add at both ends; ``"same"`` for as many outputs as inputs, ``"valid"`` for none.
        dilation: from one element of the kernel to the next.
        groups: parts of the channels that have nothing to do with each other.
        bias: whether to add a bias.
        padding_mode: what to pad with: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Shape:
        output ``(N, C_out, L_out)``, ``L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride +
        1``; ``weight`` ``(C_out, C_in / groups, kernel_size)``, ``bias`` ``(C_out)``.

    >>> import pullback as torch
    >>> torch.nn.Conv1d(3, 8, 5, padding=2)(torch.randn(2, 3, 10)).shape
    torch.Size([2, 8, 10])
    """

    dims, function = 1, F.conv1d


class Conv2d(_Conv):
    """:class:`Conv1d` for images, ``(N, C_in, H, W)`` or ``(C_in, H, W)``.

    >>> import pullback as torch
    >>> torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
    Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))
    """

    dims, function = 2, F.conv2d


class Conv3d(_Conv):
    """:class:`Conv1d` for volumes, ``(N, C_in, D, H, W)`` or ``(C_in, D, H, W)``."""

    dims, function = 3, F.conv3d


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = _ntuple(self.dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            sizes(padding),
            sizes(dilation),
            True,
            sizes(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self._output_padding(input, output_size)
        return type(self).function(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """How many elements to add at the far end, to reach ``output_size``."""
        if output_size is None:
            return self.output_padding
        n, lead = self.dims, 2 if input.dim() == self.dims + 2 else 1
        wanted = list(output_size)[lead:] if len(output_size) == lead + n else list(output_size)
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{lead + n} elements (got {len(output_size)})"
            )
        padding: Any = self.padding
        settings = zip(input.shape[lead:], self.stride, padding, self.dilation, self.kernel_size)
        least = [(size - 1) * s - 2 * int(p) + d * (k - 1) + 1 for size, s, p, d, k in settings]
        most = [size + s - 1 for size, s in zip(least, self.stride)]
        if not all(a <= size <= b for a, size, b in zip(least, wanted, most)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to "
                f"{most} (for an input of {input.shape[2:]})"
            )
        return [size - a for size, a in zip(wanted, least)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of :class:`Conv1d` as a linear map, plus a bias: each input adds a kernel to the output.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, bias, dilation: as :class:`Conv1d` has them.
        padding: how many elements to cut off at both ends.
        output_padding: how many to add at the far end, for convolutions with a stride whose input sizes are
            not told apart by their output sizes. ``forward(input, output_size=...)`` finds it itself.

    Shape:
        output ``(N, C_out, L_out)``,
        ``L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``;
        ``weight`` ``(C_in, C_out / groups, kernel_size)``, ``bias`` ``(C_out)``.

    >>> import pullback as torch
    >>> torch.nn.ConvTranspose1d(8, 3, 4, stride=2, padding=1)(torch.randn(2, 8, 5)).shape
    torch.Size([2, 3, 10])
    """

    dims, function = 1, F.conv_transpose1d


class ConvTranspose2d(_ConvTransposeNd):
    """:class:`ConvTranspose1d` for images, ``(N, C_in, H, W)`` or ``(C_in, H, W)``."""

    dims, function = 2, F.conv_transpose2d


class ConvTranspose3d(_ConvTransposeNd):
    """:class:`ConvTranspose1d` for volumes, ``(N, C_in, D, H, W)`` or ``(C_in, D, H, W)``."""

    dims, function = 3, F.conv_transpose3d


# --- channels counted on the first input --------------------------------------------------------------------


class _LazyConvXdMixin(LazyModuleMixin, _ConvNd):
    """A convolution whose arguments are those of the class it becomes, without ``in_channels``."""

    def __init__(self, out_channels: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, 0, *args, **kwargs)
        self.out_channels = out_channels
        for name, p in list(self._parameters.items()):
            if p is not None:
                setattr(self, name, UninitializedParameter(dtype=p.dtype))

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        n = self.dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.size(-n - 1)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        weight: Any = self.weight
        bias: Any = self.bias
        weight.materialize(self._weight_shape())
        if bias is not None:
            bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """:class:`Conv1d` without ``in_channels``, which the first input tells."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """:class:`Conv2d` without ``in_channels``, which the first input tells.

    >>> import pullback as torch
    >>> layer = torch.nn.LazyConv2d(8, 3)
    >>> _ = layer(torch.zeros(1, 3, 5, 5)); layer.in_channels
    3
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """:class:`Conv3d` without ``in_channels``, which the first input tells."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """:class:`ConvTranspose1d` without ``in_channels``, which the first input tells."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """:class:`ConvTranspose2d` without ``in_channels``, which the first input tells."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """:class:`ConvTranspose3d` without ``in_channels``, which the first input tells."""

    cls_to_become = ConvTranspose3d
