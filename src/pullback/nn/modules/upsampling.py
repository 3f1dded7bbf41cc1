"""``Upsample``: interpolation of signals, images and volumes to another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resamples the dimensions after the first two of ``(N, C, *spatial)``; one to three of them.

    Args:
        size: the sizes to reach, or
        scale_factor: how many times the present ones that is; one number, or one for each dimension.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.
        align_corners: place the centres of the corner elements, not their outer edges, on each other.
        recompute_scale_factor: work with the ratio of the rounded sizes instead of ``scale_factor``.

    >>> import pullback as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        given = "scale_factor" if self.scale_factor is not None else "size"
        return f"{given}={getattr(self, given)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images, repeating elements."""

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images, bilinear with aligned corners."""

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
