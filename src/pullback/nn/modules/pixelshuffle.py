"""``PixelShuffle`` and ``PixelUnshuffle``: channels to resolution, and back (Shi et al. 2016)."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """``(*, C·r², H, W)`` to ``(*, C, H·r, W·r)``, r being ``upscale_factor``.

    >>> import pullback as torch
    >>> torch.nn.PixelShuffle(2)(torch.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``(*, C, H·r, W·r)`` to ``(*, C·r², H, W)``, r being ``downscale_factor``: :class:`PixelShuffle` undone."""

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
