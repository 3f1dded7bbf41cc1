"""``deform_conv2d`` of torchvision: convolutions whose taps move (Dai et al., "Deformable convolutional networks",
2017; with a mask Zhu et al., "Deformable ConvNets v2", 2019).

A tap of the kernel reads the image at its usual place plus an offset of its own (a sum in float32 for half precision),
interpolated bilinearly with zeros outside, times its mask; then comes the matrix product of a convolution. Reading is
``grid_sample`` of pixel coordinates, and gradients of all orders, for offsets too, are those of :mod:`.grid_sample`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.errors import with_notes
from ..core.record import wrap
from ..core.tensor import Tensor
from .activation import floats
from .flip_roll import flip
from .grid_sample import SamplingOptions, sampled
from .matmul import matmul
from .view import permute, reshape

PIXELS = SamplingOptions("bilinear", "zeros", None)


def _places(kernel: Any, size: Any, stride: Any, padding: Any, dilation: Any, dtype: np.dtype) -> np.ndarray:
    """The pixels (x, y) that the taps of a convolution read: (taps, out height, out width, 2)."""
    y, x = (
        np.add.outer(np.arange(k) * d - p, np.arange(n) * s)
        for k, n, s, p, d in zip(kernel, size, stride, padding, dilation)
    )
    at = np.broadcast_arrays(x[None, :, None, :], y[:, None, :, None])
    return np.stack(at, -1).reshape(-1, *size, 2).astype(dtype)


def _check(
    input: Any, weight: Any, offset: Any, mask: Any, bias: Any, size: list[int], groups: int, offset_groups: int
) -> None:
    """Refuse what does not fit together; a mask of None is not used."""
    for name, x in (("input", input), ("weight", weight), ("offset", offset)):
        if x.ndim != 4:
            raise with_notes(
                RuntimeError(f"Expected {name}_c.ndimension() == 4 to be true, but got false."),
                f"{name} has the shape {tuple(x.shape)}",
            )
    floats("deformable_im2col")(input)
    for x in (weight, offset, bias) + (() if mask is None else (mask,)):
        if x.dtype != input.dtype:
            raise RuntimeError(
                f"expected scalar type {dtypes.type_name(input.dtype)} but found {dtypes.type_name(x.dtype)}"
            )
    taps = offset_groups * weight.shape[2] * weight.shape[3]
    channels = f"there are {input.shape[1]} channels, {groups} groups and {offset_groups} groups of offsets"
    if weight.shape[1] * groups != input.shape[1]:
        raise with_notes(
            RuntimeError("Expected weight_c.size(1) * n_weight_grps == input_c.size(1) to be true, but got false."),
            f"{channels}; weight has the shape {tuple(weight.shape)}",
        )
    if weight.shape[0] % groups:
        raise with_notes(
            RuntimeError("Expected weight_c.size(0) % n_weight_grps == 0 to be true, but got false."),
            f"{channels}; weight has the shape {tuple(weight.shape)}",
        )
    if input.shape[1] % offset_groups:
        raise with_notes(
            RuntimeError("Expected input_c.size(1) % n_offset_grps == 0 to be true, but got false."), channels
        )
    for name, x, expected in (("offset", offset, 2 * taps), ("mask", mask, taps)):
        if x is None:
            continue
        if x.shape[1] != expected:
            raise RuntimeError(f"{name}.shape[1] is not valid: got: {x.shape[1]} expected: {expected}")
        if x.shape[0] != input.shape[0]:
            raise RuntimeError(f"invalid batch size of {name}")
        if list(x.shape[2:]) != size or min(size) < 1:
            raise RuntimeError(
                f"{name} output dims: ({x.shape[2]}, {x.shape[3]}) - computed output dims: ({size[0]}, {size[1]})"
            )


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """A convolution whose taps read at offsets.

    Args:
        input: (N, C, H, W), floating-point.
        weight: (O, C / groups, kH, kW).
        offset: (N, offset_groups * kH * kW * 2, H', W'): y and x, for each tap and each place of the result.
        mask: (N, offset_groups * kH * kW, H', W'): factors of what the taps read.
        bias: (O,).
        stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups: as of a convolution.
        offset_groups: of how many parts of the channels each has its own offsets.
        use_mask: whether there is a mask; otherwise it is ignored.

    Returns:
        (N, O, H', W').

    Raises:
        RuntimeError, NotImplementedError: for shapes or types that do not fit together.

    Derivatives: in an offset that of the bilinear interpolation, from the right at pixels' centres.

    >>> import pullback as torch
    >>> image, weight = torch.arange(9.0).reshape(1, 1, 3, 3), torch.ones(1, 1, 1, 1)
    >>> right = torch.tensor([0.0, 0.5]).reshape(1, 2, 1, 1).expand(1, 2, 3, 3)
    >>> torch.ops.torchvision.deform_conv2d(
    ...     image, weight, right, torch.ones(1, 1), torch.zeros(1), 1, 1, 0, 0, 1, 1, 1, 1, False)
    tensor([[[[0.5000, 1.5000, 1.0000],
              [3.5000, 4.5000, 2.5000],
              [6.5000, 7.5000, 4.0000]]]])
    """
    kernel, stride, padding, dilation = weight.shape[2:], (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    for name, pair, least in (("stride", stride, 1), ("pad", padding, 0), ("dilation", dilation, 1)):
        if min(pair) < least:
            raise RuntimeError(f"{name}_h: {pair[0]} {name}_w: {pair[1]}")
    size = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(input.shape[2:], kernel, stride, padding, dilation)
    ]
    _check(input, weight, offset, mask if use_mask else None, bias, size, groups, offset_groups)
    images, channels, *spatial = input.shape
    batch, taps = images * offset_groups, kernel[0] * kernel[1]
    if offset.dtype.numpy.itemsize == 2:
        offset = offset.float()
    places = wrap(_places(kernel, size, stride, padding, dilation, offset.dtype.numpy))
    moved = permute(reshape(offset, (batch, taps, 2, *size)), (0, 1, 3, 4, 2))
    planes = reshape(input, (batch, channels // offset_groups, *spatial))
    columns = sampled(planes, flip(moved, (4,)) + places, PIXELS, 0)
    if use_mask:
        columns = columns * reshape(mask, (batch, 1, taps, *size))
    columns = reshape(columns, (images, groups, channels // groups * taps, size[0] * size[1]))
    out = matmul(reshape(weight, (groups, weight.shape[0] // groups, -1)), columns)
    return reshape(out, (images, weight.shape[0], *size)) + reshape(bias, (-1, 1, 1))
