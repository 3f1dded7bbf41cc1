"""Pooling of regions of interest: ``roi_align``, ``roi_pool``, ``ps_roi_align`` and ``ps_roi_pool`` of torchvision.

A region (image, x1, y1, x2, y2) is divided into bins, and each bin becomes one number: the largest value in it
(Girshick, "Fast R-CNN", 2015), the mean of bilinear interpolations at points in it (He et al., "Mask R-CNN", 2017,
section 3), or the mean of its pixels. Those called ``ps``, position-sensitive, read each bin from channels of its own
(Dai et al., "R-FCN", 2016, section 3). Half precision is computed in float32, coordinates included.

All but ``roi_pool`` are linear in the images, with weights that are products of one along each dimension:
``out[bin] = sum_ij y[bin, i] * x[bin, j] * input[i, j]``. The op ``read_bins`` computes that, ``write_bins`` is its
transpose, and each is the other's derivative. Regions have no gradients, as in torchvision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes
from ..base.errors import with_notes
from ..core import op
from ..core.record import wrap
from ..core.tensor import Tensor
from . import half
from .activation import floats

NODE = "GeneratedBackwardFor_torchvision_{}_defaultBackward"


class Bins(NamedTuple):
    """How regions are divided, and what is read of a bin.

    Attributes:
        name: the op that asks.
        scale: of the regions' coordinates to pixels.
        size: the numbers of bins along y and x.
        ratio: the number of points along each dimension of a bin; below 1, about one a pixel.
        aligned: whether pixels' centres are at half numbers, and regions may be smaller than a pixel.
        own_channels: whether each bin has channels of its own.
        points: whether bins are read at points, not at all of their pixels.
    """

    name: str
    scale: float
    size: tuple[int, int]
    ratio: int = 0
    aligned: bool = True
    own_channels: bool = False
    points: bool = True


class Taps(NamedTuple):
    """The pixels along one dimension that bins read, of all regions.

    Attributes:
        pixels, weight: the pixels and their weights, (regions, bins, most taps).
        number: how many taps there are in each region, (regions,); the others are padding.
        divisor: what sums are divided by, (regions, bins).
    """

    pixels: np.ndarray
    weight: np.ndarray
    number: np.ndarray
    divisor: np.ndarray

    def of(self, region: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixels, weight and divisor for one region."""
        n = self.number[region]
        return self.pixels[region, :, :n], self.weight[region, :, :n], self.divisor[region]

    def matrix(self, region: int) -> tuple[slice, np.ndarray]:
        """The pixels that a region spans, and its weights as a matrix, (bins, pixels)."""
        index, weight, _ = self.of(region)
        first, last = (index.min(), index.max() + 1) if index.size else (0, 0)
        weights = np.zeros((len(index), last - first), weight.dtype)
        np.add.at(weights, (np.arange(len(index))[:, None], index - first), weight)
        return slice(first, last), weights


def _rounded(x: np.ndarray) -> np.ndarray:
    """Halves away from zero, as C rounds."""
    return np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)


def _point_taps(low: np.ndarray, high: np.ndarray, bins: int, pixels: int, how: Bins) -> Taps:
    """The two pixels around each point of bins; points more than a pixel outside of the image count as 0."""
    kind = low.dtype.type
    offset = kind(0.5 if how.aligned else 0)
    start = low * kind(how.scale) - offset
    extent = high * kind(how.scale) - offset - start
    if not how.aligned:
        extent = np.maximum(extent, kind(1))
    width = extent / kind(bins)
    count = np.full(len(low), kind(how.ratio)) if how.ratio > 0 else np.ceil(width)
    count = np.where(np.isfinite(count), count, 0)
    most = max(0, int(count.max(initial=0)))
    bin, point = np.arange(bins, dtype=low.dtype), np.arange(most, dtype=low.dtype)
    within = (point + kind(0.5)) * width[:, None] / np.where(count > 0, count, 1)[:, None]
    at = (start[:, None] + bin * width[:, None])[:, :, None] + within[:, None]
    inside = (at >= -1) & (at <= pixels)
    at = np.where(inside, np.maximum(at, 0), 0)
    first = np.minimum(np.floor(at), kind(pixels - 1))
    part = np.where(first < pixels - 1, at - first, 0)
    first = first.astype(np.int64)
    index = np.stack([first, np.minimum(first + 1, pixels - 1)], -1)
    weight = np.stack([inside * (1 - part), inside * part], -1)
    shape = (*at.shape[:2], 2 * most)
    divisor = np.broadcast_to(count[:, None], at.shape[:2])
    return Taps(index.reshape(shape), weight.reshape(shape), 2 * np.maximum(count, 0).astype(np.int64), divisor)


def _pixel_taps(first: np.ndarray, last: np.ndarray, dtype: np.dtype) -> Taps:
    """The pixels from ``first`` to before ``last``, (regions, bins) each."""
    count = np.maximum(last - first, 0)
    index = first[:, :, None] + np.arange(count.max(initial=0))
    inside = index < last[:, :, None]
    divisor = np.maximum(count, 1).astype(dtype)
    return Taps(np.where(inside, index, 0), inside.astype(dtype), count.max(1, initial=0), divisor)


def _edges(start: Any, width: np.ndarray, bins: int, shift: Any, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """The first pixels of bins and those after their last ones, (regions, bins) each."""
    bin = np.arange(bins, dtype=width.dtype)
    first = np.floor(bin * width[:, None] + start) + shift
    last = np.ceil((bin + 1) * width[:, None] + start) + shift
    numbers = np.nan_to_num(np.clip([first, last], 0, pixels)).astype(np.int64)
    return numbers[0], numbers[1]


def _taps(rois: np.ndarray, how: Bins, spatial: tuple[int, ...]) -> tuple[Taps, Taps]:
    """The taps along y and x."""
    along = []
    for low, high, bins, pixels in ((2, 4, how.size[0], spatial[0]), (1, 3, how.size[1], spatial[1])):
        x1, x2 = rois[:, low], rois[:, high]
        if how.points:
            along.append(_point_taps(x1, x2, bins, pixels, how))
            continue
        kind = rois.dtype.type
        start, end = _rounded(x1 * kind(how.scale)), _rounded(x2 * kind(how.scale))
        width = np.maximum(end - start, kind(0.1)) / kind(bins)
        along.append(_pixel_taps(*_edges(start[:, None], width, bins, 0, pixels - 1), rois.dtype))
    return along[0], along[1]


def _own_channels(how: Bins) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of bins along y and x, as columns that meet indices (bins y, bins x, taps y, taps x)."""
    y, x = how.size
    return np.arange(y).reshape(y, 1, 1, 1), np.arange(x).reshape(1, x, 1, 1)


@half.general(method=False, linear="input", node=lambda input, rois, how: NODE.format(how.name))
def read_bins(input: Tensor, rois: Tensor, how: Bins) -> Tensor:
    """The bins of regions, (regions, C, bins y, bins x); C is divided by the number of bins if they have their own."""
    channels, (height, width), bins = input.shape[1], input.shape[2:], how.size
    if how.own_channels:
        channels //= bins[0] * bins[1]
    out = np.empty((len(rois), channels, *bins), input.dtype)
    ys, xs = _taps(rois, how, (height, width))
    for k, image in enumerate(rois[:, 0].astype(np.int64)):
        (y, wy, ny), (x, wx, nx) = ys.of(k), xs.of(k)
        if how.own_channels:
            planes = input[image].reshape(channels, *bins, height, width)
            found = planes[:, *_own_channels(how), y[:, None, :, None], x[None, :, None, :]]
            total = (found * wy[:, None, :, None] * wx[None, :, None, :]).sum((3, 4))
        elif x.size and y.size:
            first = x.min()
            rows = input[image][:, y.ravel(), first : x.max() + 1]
            rows = (rows.reshape(channels, *y.shape, rows.shape[2]) * wy[:, :, None]).sum(2)
            total = (rows[:, :, x - first] * wx).sum(3)
        else:
            total = np.zeros((channels, *bins), input.dtype)
        number = ny[:, None] * nx
        with np.errstate(invalid="ignore"):  # without points: NaN, and 0 for roi_align
            np.divide(total, number if how.own_channels else np.maximum(number, 1), out=out[k])
    return out


@half.general(method=False, linear="input", node=lambda input, rois, shape, how: NODE.format(f"_{how.name}_backward"))
def write_bins(input: Tensor, rois: Tensor, shape: tuple[int, ...], how: Bins) -> Tensor:
    """The transpose of :func:`read_bins`: images of a shape (N, C, H, W), from bins."""
    out = np.zeros(shape, input.dtype)
    ys, xs = _taps(rois, how, shape[2:])
    for k, image in enumerate(rois[:, 0].astype(np.int64)):
        (y, wy, ny), (x, wx, nx) = ys.of(k), xs.of(k)
        if not x.size or not y.size:
            continue
        g = input[k] / np.where(ny[:, None] * nx == 0, 1, ny[:, None] * nx)
        if how.own_channels:
            planes = out[image].reshape(len(g), *how.size, *shape[2:])
            values = g[..., None, None] * wy[:, None, :, None] * wx[None, :, None, :]
            np.add.at(planes, (slice(None), *_own_channels(how), y[:, None, :, None], x[None, :, None, :]), values)
        else:
            (rows, wy), (columns, wx) = ys.matrix(k), xs.matrix(k)
            spread = wy.T @ g.transpose(1, 0, 2).reshape(len(wy), -1)  # (rows, C * bins x)
            spread = spread.reshape(-1, len(wx)) @ wx
            out[image, :, rows, columns] += spread.reshape(len(wy.T), len(g), -1).transpose(1, 0, 2)
    return out


read_bins.vjp(input=lambda g, input_shape, rois, how: write_bins(g, rois, tuple(input_shape), how), rois=lambda g: None)
write_bins.vjp(input=lambda g, rois, how: read_bins(g, rois, how), rois=lambda g: None)


@half.general(
    name="roi_pool", method=False, outputs="output argmax", differentiable="output", node=NODE.format("roi_pool")
)
def _roi_pool(input: Tensor, rois: Tensor, scale: float, size: tuple[int, int]) -> Any:
    channels, (height, width) = input.shape[1], input.shape[2:]
    corners = _rounded(rois[:, 1:] * rois.dtype.type(scale))
    edges = []
    for low, bins, pixels in ((1, size[0], height), (0, size[1], width)):
        start, extent = corners[:, low], np.maximum(corners[:, low + 2] - corners[:, low] + 1, 1)
        edges.append(_edges(0, extent / extent.dtype.type(bins), bins, start[:, None], pixels))
    ys, xs = (_pixel_taps(*edge, rois.dtype) for edge in edges)
    least: Any = np.finfo(input.dtype).min
    out: Any = np.zeros((len(rois), channels, *size), input.dtype)
    argmax: Any = np.full(out.shape, -1, np.int32)
    for k, image in enumerate(rois[:, 0].astype(np.int64)):
        (y, wy, _), (x, wx, _) = ys.of(k), xs.of(k)
        if not x.size or not y.size:
            continue
        inside = wy[:, None, :, None] * wx[None, :, None, :] > 0
        found: Any = input[image][:, y[:, None, :, None], x[None, :, None, :]]
        found = np.where(inside & (found > least), found, -np.inf).reshape(*out.shape[1:], -1)
        number = np.broadcast_to(y[:, None, :, None] * width + x[None, :, None, :], inside.shape).reshape(*size, -1)
        tap: Any = found.argmax(-1)[..., None]
        largest: Any = np.take_along_axis(found, tap, -1)[..., 0]
        seen = largest > least  # not NaN, as no comparison with it holds
        argmax[k] = np.where(seen, np.take_along_axis(number[None], tap, -1)[..., 0], -1)
        out[k] = np.where(seen, largest, np.where(inside.any((2, 3)), least, 0))
    return out, argmax


@op.general(method=False, linear="input", node=NODE.format("_roi_pool_backward"))
def put_maxima(input: Tensor, rois: Tensor, argmax: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Images of a shape (N, C, H, W), from bins: each goes to the pixel that was largest."""
    out = np.zeros(shape, input.dtype)
    places, there = _places(rois, argmax, shape)
    np.add.at(out.reshape(-1), places[there], input[there])
    return out


@op.general(method=False, linear="input", node=NODE.format("_roi_pool_backward"))
def take_maxima(input: Tensor, rois: Tensor, argmax: Tensor) -> Tensor:
    """The transpose of :func:`put_maxima`: pixels at the places of maxima."""
    places, there = _places(rois, argmax, input.shape)
    return np.where(there, input.reshape(-1).take(np.where(there, places, 0)), input.dtype.type(0))


def _places(rois: np.ndarray, argmax: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices of maxima in images, and whether there is one."""
    plane = rois[:, :1].astype(np.int64) * shape[1] + np.arange(shape[1])
    return plane[:, :, None, None] * (shape[2] * shape[3]) + argmax, argmax >= 0


_roi_pool.vjp(
    input=lambda g, rois, argmax, input_shape: put_maxima(g, rois, argmax, tuple(input_shape)), rois=lambda g: None
)
put_maxima.vjp(input=lambda g, rois, argmax: take_maxima(g, rois, argmax), rois=lambda g: None, argmax=lambda g: None)
take_maxima.vjp(
    input=lambda g, rois, argmax, input_shape: put_maxima(g, rois, argmax, tuple(input_shape)),
    rois=lambda g: None,
    argmax=lambda g: None,
)


# --- torchvision's operators ------------------------------------------------------------------------------------


def _check_regions(name: str, input: Any, rois: Any) -> None:
    """Refuse what does not fit together.

    Raises:
        RuntimeError: for regions that are not (K, 5), or of another type than the images.
        NotImplementedError: for integers.
        IndexError: for images without four dimensions, regions in images that there are not.
    """
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise with_notes(
            RuntimeError("rois must have shape as Tensor[K, 5]"), f"they have the shape {tuple(rois.shape)}"
        )
    kinds = [f"torch.{dtypes.type_name(x.dtype)}Tensor" for x in (input, rois)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'; but type "
            f"{kinds[0]} does not equal {kinds[1]} (while checking arguments for {name}_forward_kernel)"
        )
    floats(f"{name}_forward_kernel")(input)
    if input.ndim != 4:
        raise IndexError(f"{name}(): images have four dimensions, (N, C, H, W), not {tuple(input.shape)}")


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Regions of images, interpolated: each bin is the mean of values at regular points in it.

    Args:
        input: (N, C, H, W), floating-point.
        rois: (K, 5), of the same type: the number of the image, and x1, y1, x2, y2.
        spatial_scale: of the regions' coordinates to pixels.
        pooled_height, pooled_width: the number of bins.
        sampling_ratio: points along each dimension of a bin; below 1, about one a pixel.
        aligned: whether pixels' centres are at half numbers. Otherwise regions have at least one pixel.

    Returns:
        (K, C, pooled_height, pooled_width).

    Raises:
        RuntimeError, NotImplementedError, IndexError: for shapes or types that do not fit.

    Derivative: linear in the images; none in the regions.

    >>> import pullback as torch
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> torch.ops.torchvision.roi_align(image, torch.tensor([[0.0, 0, 0, 4, 4]]), 1.0, 2, 2, 2, True)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    _check_regions("roi_align", input, rois)
    return read_bins(
        input,
        rois,
        Bins("roi_align", float(spatial_scale), (pooled_height, pooled_width), sampling_ratio, bool(aligned)),
    )


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest value in each bin of regions, and where it is.

    Args:
        input, rois, spatial_scale, pooled_height, pooled_width: as for :func:`roi_align`; regions are rounded.

    Returns:
        The values, (K, C, pooled_height, pooled_width), 0 in bins without pixels; the numbers of the pixels in their
        planes, int32, -1 there. NaN is never the largest.

    Raises:
        RuntimeError, NotImplementedError, IndexError: for shapes or types that do not fit.

    >>> import pullback as torch
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> torch.ops.torchvision.roi_pool(image, torch.tensor([[0.0, 0, 0, 3, 3]]), 1.0, 2, 2)[0]
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    _check_regions("roi_pool", input, rois)
    return tuple(_roi_pool(input, rois, float(spatial_scale), (pooled_height, pooled_width)))


def _own(input: Tensor, rois: Tensor, how: Bins) -> tuple[Tensor, Tensor]:
    """Bins with channels of their own, and the numbers of these."""
    _check_regions(how.name, input, rois)
    channels, bins = input.shape[1], how.size[0] * how.size[1]
    if channels % bins:
        raise with_notes(
            RuntimeError("input channels must be a multiple of pooling height * pooling width"),
            f"there are {channels} channels and {how.size[0]} * {how.size[1]} bins",
        )
    shape = (len(rois), channels // bins, *how.size)
    mapping = np.arange(channels, dtype=np.int32).reshape(shape[1:])
    return read_bins(input, rois, how), wrap(np.broadcast_to(mapping, shape).copy())


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    """:func:`roi_align`, aligned, where each bin has channels of its own.

    Args:
        input: (N, C * pooled_height * pooled_width, H, W).
        rois, spatial_scale, pooled_height, pooled_width, sampling_ratio: as for :func:`roi_align`.

    Returns:
        (K, C, pooled_height, pooled_width), and the number of the channel that each is from, int32. A bin without
        points is NaN.

    Raises:
        RuntimeError, NotImplementedError, IndexError: for shapes or types that do not fit.

    >>> import pullback as torch
    >>> image = torch.arange(16.0).reshape(1, 4, 2, 2)
    >>> torch.ops.torchvision.ps_roi_align(image, torch.tensor([[0.0, 1, 1, 1, 1]]), 1.0, 2, 2, 2)[0]
    tensor([[[[ 1.5000,  5.5000],
              [ 9.5000, 13.5000]]]])
    """
    how = Bins("ps_roi_align", float(spatial_scale), (pooled_height, pooled_width), sampling_ratio, own_channels=True)
    return _own(input, rois, how)


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The mean of each bin of regions, where each bin has channels of its own.

    Args:
        input: (N, C * pooled_height * pooled_width, H, W).
        rois, spatial_scale, pooled_height, pooled_width: as for :func:`roi_align`. Regions are rounded to pixels; the
            last row and column of an image are in none, as in torchvision.

    Returns:
        (K, C, pooled_height, pooled_width), 0 in bins without pixels, and the number of the channel that each is from,
        int32.

    Raises:
        RuntimeError, NotImplementedError, IndexError: for shapes or types that do not fit.

    >>> import pullback as torch
    >>> image = torch.arange(32.0).reshape(1, 2, 4, 4)
    >>> torch.ops.torchvision.ps_roi_pool(image, torch.tensor([[0.0, 0, 0, 3, 3]]), 1.0, 2, 1)[0]
    tensor([[[[ 3.],
              [23.]]]])
    """
    how = Bins("ps_roi_pool", float(spatial_scale), (pooled_height, pooled_width), own_channels=True, points=False)
    return _own(input, rois, how)
