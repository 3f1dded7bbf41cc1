"""``torch.ops.torchvision``: the operators of torchvision's extension in C++, which can't be loaded, written anew.

They have torchvision's names, arguments and results. torchvision finds them where it would load its extension; a
program may also call them without it. Unlike torchvision's, they can be differentiated twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.thread_state import enable_grad
from ..core.tensor import Tensor
from ..engine.api import grad as gradients
from ..library import Namespace, provide
from ..ops import boxes, deform_conv, roi_pooling
from ..ops.roi_pooling import Bins, put_maxima, write_bins


def cuda_version() -> int:
    """-1: there is no CUDA."""
    return -1


def quantized_nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """:func:`nms` of the integers of quantized boxes and scores: neither depends on scale and zero point."""
    return boxes.nms(dets.double(), scores.double(), iou_threshold)


def quantized_roi_align(
    input: Tensor,
    rois: Tensor,
    input_scale: float,
    input_zero_point: int,
    rois_scale: float,
    rois_zero_point: int,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """:func:`roi_align` of the integers of quantized images and regions, ``scale * (integer - zero point)`` each; its
    result is quantized as the images are.

    Raises:
        RuntimeError: for several images, as in torchvision.
    """
    if len(input) != 1:
        raise RuntimeError("Only one image per batch is allowed in qroi_align.")
    images, regions = input.float() - input_zero_point, (rois.float() - rois_zero_point) * rois_scale
    out = roi_pooling.roi_align(images, regions, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    limits = np.iinfo(input.dtype.numpy)
    return (out.round() + input_zero_point).clamp(int(limits.min), int(limits.max)).to(input.dtype)


# The transposes, as torchvision's formulas call them.


def roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """The images' gradient, for :func:`roi_align`."""
    how = Bins("roi_align", float(spatial_scale), (pooled_height, pooled_width), sampling_ratio, bool(aligned))
    return write_bins(grad, rois, (batch_size, channels, height, width), how)


def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, *shape: int
) -> Tensor:
    """The images' gradient, for :func:`roi_pool`; ``shape`` is theirs."""
    return put_maxima(grad, rois, argmax, shape)


def ps_roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    *shape: int,
) -> Tensor:
    """The images' gradient, for :func:`ps_roi_align`; ``shape`` is theirs."""
    how = Bins("ps_roi_align", float(spatial_scale), (pooled_height, pooled_width), sampling_ratio, own_channels=True)
    return write_bins(grad, rois, shape, how)


def ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    *shape: int,
) -> Tensor:
    """The images' gradient, for :func:`ps_roi_pool`; ``shape`` is theirs."""
    how = Bins("ps_roi_pool", float(spatial_scale), (pooled_height, pooled_width), own_channels=True, points=False)
    return write_bins(grad, rois, shape, how)


def deform_conv2d_backward(grad: Tensor, *args: Any) -> tuple[Tensor, ...]:
    """The gradients of input, weight, offset, mask and bias, for :func:`deform_conv2d`, whose arguments follow."""
    with enable_grad():
        tensors = [x.detach().requires_grad_() for x in args[:5]]
        out = deform_conv.deform_conv2d(*tensors, *args[5:])
    return gradients(out, tensors, grad, allow_unused=True, materialize_grads=True)


OPERATORS: dict[str, Callable[..., Any]] = {
    "nms": boxes.nms,
    "box_iou_rotated": boxes.box_iou_rotated,
    "roi_align": roi_pooling.roi_align,
    "roi_pool": roi_pooling.roi_pool,
    "ps_roi_align": roi_pooling.ps_roi_align,
    "ps_roi_pool": roi_pooling.ps_roi_pool,
    "deform_conv2d": deform_conv.deform_conv2d,
    "_roi_align_backward": roi_align_backward,
    "_roi_pool_backward": roi_pool_backward,
    "_ps_roi_align_backward": ps_roi_align_backward,
    "_ps_roi_pool_backward": ps_roi_pool_backward,
    "_deform_conv2d_backward": deform_conv2d_backward,
    "qnms": quantized_nms,
    "qroi_align": quantized_roi_align,
    "_cuda_version": cuda_version,
}
for _name, _function in OPERATORS.items():
    provide(f"torchvision::{_name}", _function)

_operators = Namespace("torchvision")


def __getattr__(name: str) -> Any:
    return getattr(_operators, name)
