"""``Unfold`` (im2col: sliding blocks as columns) and ``Fold`` (col2im)."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

Size = int | Sequence[int]


class Unfold(Module):
    """The blocks that a convolution would see, one a column: ``(N, C, *spatial)`` to ``(N, C·|kernel|, L)``.

    L is the number of places that the kernel is put at. See :func:`pullback.nn.functional.unfold`.

    >>> import pullback as torch
    >>> torch.nn.Unfold(2)(torch.zeros(1, 3, 4, 5)).shape
    torch.Size([1, 12, 12])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """The transpose of :class:`Unfold`: adds columns ``(N, C·|kernel|, L)`` up to ``(N, C, *output_size)``.

    >>> import pullback as torch
    >>> torch.nn.Fold((4, 5), 2)(torch.zeros(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
