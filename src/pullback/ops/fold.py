"""``unfold`` (im2col: sliding blocks of images as columns) and ``fold`` (col2im), its transpose."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index as integer
from typing import Any

import numpy as np

from ..core import op
from ..core.tensor import Tensor
from . import half
from .conv_products import (
    Ints,
    WindowLayout,
    add_to_windows,
    pad_or_crop,
    small_col2im,
    small_im2col,
    windows,
)

__all__: list[str] = []
__all_functional__ = ["fold", "unfold"]


def _pair(value: int | Ints, name: str, least: int) -> tuple[int, ...]:
    pair = (value, value) if isinstance(value, (int, np.integer)) else tuple(map(integer, value))
    if len(pair) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    if min(pair) < least:
        words = "greater than zero" if least else "non-negative"
        raise RuntimeError(f"{name.replace('_', ' ')} should be {words}, but got {name}={pair}")
    return pair


def _window_layout(spatial: Ints, *options: Any) -> WindowLayout:
    return _checked_layout(spatial, *[tuple(v) if v.__class__ is list else v for v in options])


@lru_cache(256, typed=True)
def _checked_layout(spatial: Ints, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> WindowLayout:
    kernel, dilation = _pair(kernel_size, "kernel_size", 1), _pair(dilation, "dilation", 1)
    padding, stride = _pair(padding, "padding", 0), _pair(stride, "stride", 1)
    along = zip(spatial, kernel, stride, padding, dilation)
    size = tuple((i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in along)
    return WindowLayout(kernel, size, stride, padding, dilation)


def unfolded_shape(shape: Ints, *options: Any) -> tuple[WindowLayout, tuple[int, ...]]:
    """The windows in images of a shape, and the shape that the images have as columns.

    Raises:
        RuntimeError: if there are no windows.
    """
    layout = _window_layout(shape[-2:], *options)
    if min(layout.size) < 1:
        raise RuntimeError(
            f"Given input with spatial size {shape[-2:]}, kernel_size={layout.kernel}, "
            f"dilation={layout.dilation}, padding={layout.padding}, calculated shape of the array of "
            f"sliding blocks as {layout.size}, but its components must be at least one."
        )
    return layout, (*shape[:-3], shape[-3] * math.prod(layout.kernel), math.prod(layout.size))


@op.general(name="im2col", node="Im2ColBackward0", method=False)
def unfold(
    input: Tensor, kernel_size: int | Ints, dilation: int | Ints = 1, padding: int | Ints = 0, stride: int | Ints = 1
) -> Tensor:
    """Sliding blocks of images, each as a column ("im2col").

    Args:
        input: (N, C, H, W), or (C, H, W).
        kernel_size, dilation, padding, stride: of the blocks, as of a convolution's windows.

    Returns:
        (N, C * KH * KW, L), where L counts the blocks; a copy.

    Raises:
        RuntimeError: if no block fits.

    Derivative: :func:`fold`, which is its transpose.

    >>> import pullback as torch
    >>> torch.nn.functional.unfold(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), (1, 2))
    tensor([[1., 3.],
            [2., 4.]])
    """
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    layout, shape = unfolded_shape(input.shape, kernel_size, dilation, padding, stride)
    images = input if input.ndim == 4 else input[None]
    small = small_im2col(images.shape, layout, input.itemsize) if input.dtype.kind != "V" else None
    if small is not None:
        return small.of(images).reshape(shape).copy()
    return windows(pad_or_crop(input, layout.padding, layout.reach), layout).copy().reshape(shape)


def folded_shape(shape: Ints, output_size: Any, *options: Any) -> tuple[WindowLayout, tuple[int, ...]]:
    """The windows in images that columns of a shape are to become, and the shape of the images.

    Raises:
        RuntimeError: if the columns do not fit.
    """
    spatial = _pair(output_size, "output_size", 1)
    layout = _window_layout(spatial, *options)
    kernel, size, (*lead, depth, count) = layout.kernel, layout.size, shape
    if depth % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={depth} and kernel_size={kernel}."
        )
    if min(size) < 1 or math.prod(size) != count:
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={layout.dilation}, padding={layout.padding}, "
            f"stride={layout.stride}, expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {size[0]} * {size[1]} = {math.prod(size)}, but got input.size(2)={count}."
        )
    return layout, (*lead, depth // math.prod(kernel), *spatial)


@half.general(name="col2im", node="Col2ImBackward0", method=False)
def fold(
    input: Tensor,
    output_size: int | Ints,
    kernel_size: int | Ints,
    dilation: int | Ints = 1,
    padding: int | Ints = 0,
    stride: int | Ints = 1,
) -> Tensor:
    """Images as the sum of sliding blocks, each given as a column ("col2im"): the transpose of :func:`unfold`.

    Args:
        input: (N, C * KH * KW, L), or (C * KH * KW, L), where L counts the blocks.
        output_size: (H, W) of the images.
        kernel_size, dilation, padding, stride: of the blocks, as of a convolution's windows.

    Returns:
        (N, C, H, W), or (C, H, W).

    Raises:
        RuntimeError: if L is not the number of blocks, or the columns are not made of whole blocks.

    Derivative: :func:`unfold`.

    >>> import pullback as torch
    >>> torch.nn.functional.fold(torch.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    layout, (*lead, channels, height, width) = folded_shape(
        input.shape, output_size, kernel_size, dilation, padding, stride
    )
    kernel, size, spatial = layout.kernel, layout.size, (height, width)
    few = small_col2im((math.prod(lead), 1, *size), (1, channels, *kernel), spatial, layout)
    if few is not None:
        return few.sum(input).reshape(*lead, channels, *spatial)
    columns = input.reshape(math.prod(lead), channels, *kernel, *size)
    frame = np.zeros((*columns.shape[:2], *(n + 2 * p for n, p in zip(spatial, layout.padding))), input.dtype)
    add_to_windows(windows(frame, layout), columns, kernel)
    image = np.ascontiguousarray(pad_or_crop(frame, [-p for p in layout.padding], spatial))
    return image.reshape(*lead, channels, *spatial)


unfold.vjp(
    input=lambda g, input_shape, kernel_size, dilation, padding, stride: fold(
        g, input_shape[-2:], kernel_size, dilation, padding, stride
    )
)
fold.vjp(input=lambda g, kernel_size, dilation, padding, stride: unfold(g, kernel_size, dilation, padding, stride))
