"""``grid_sample``, ``grid_sampler`` and ``affine_grid`` (spatial transformers, Jaderberg et al. 2015), to any order.

A point's value is a sum over the pixels around it (its taps), weighted by polynomials of its fractional coordinates:
``out[p] = sum_t prod_d w[t_d](u_d(p)) * input[i_t(p)]``. So the derivatives by coordinates, of any order, are the same
sum with derivatives of the polynomials, and the op ``sampled`` computes them all. ``unsampled`` is its transpose in the
image, ``moved`` that in the point; their rules are these three again, to any order.

Coordinates -1 and 1 are the image's borders: with ``align_corners`` the centres of the outermost pixels, else their
outer edges.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..base import dtypes
from ..core import op
from ..core.tensor import Tensor
from ..kernels.grid_taps import BASES, coefficients
from . import half
from .ranges import linspace
from .reduce import sum
from .view import permute, reshape

__all__ = ["affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]
__all_functional__ = ["affine_grid", "grid_sample"]

BLOCK = 1 << 17  # elements at a time, for the processor's cache


@functools.lru_cache(64)
def _constants(
    spatial: tuple[int, ...], mode: str, align_corners: bool | None, dtype: np.dtype
) -> tuple[np.ndarray, ...]:
    """What all points share: the sizes, the last pixels, the strides of pixel indices, the pixels per coordinate unit,
    each a column over the dimensions, and the taps.
    """
    size = np.array(spatial, dtype).reshape(-1, 1, 1, 1)
    rows = np.array([math.prod(spatial[d + 1 :]) for d in range(len(spatial))]).reshape(size.shape)
    first, basis = BASES[mode]
    return (
        size,
        size - 1,
        rows,
        np.ones_like(size) if align_corners is None else (size - 1 if align_corners else size) / 2,
        np.arange(first, first + len(basis), dtype=dtype)[:, None],
    )


@functools.lru_cache(64)
def _tap_polynomials(mode: str, order: int, dtype: np.dtype) -> list[np.ndarray]:
    """The coefficients of a derivative of the taps' polynomials, highest power first; each a column over the taps."""
    return list(np.array(coefficients(mode, order), dtype).T[:, :, None])


def _pad_coordinates(at: Any, size: Any, last: Any, padding_mode: str, align_corners: bool | None) -> tuple[Any, Any]:
    """Pixel coordinates after padding (clamped or reflected), and the derivative of that (None: 1 everywhere)."""
    if padding_mode == "zeros":
        return at, None
    slope: Any = None
    if padding_mode == "reflection":  # at the outer pixels' centres or edges, as often as necessary
        low, span = (0.0, np.maximum(last, 1)) if align_corners else (-0.5, size)
        distance = np.abs(at - low)
        beyond = np.fmod(distance, span)
        even = np.fmod(np.floor(distance / span), 2) == 0
        slope = np.where(even == (at > low), at.dtype.type(1), at.dtype.type(-1))
        at = np.where(even, beyond + low, span - beyond + low)
    within = (at > 0) & (at < last)
    return np.minimum(np.fmax(at, 0), last), within if slope is None else slope * within  # NaN is the first pixel


class SamplingOptions(NamedTuple):
    """The options of sampling; with ``align_corners`` None, coordinates are numbers of pixels."""

    mode: str
    padding_mode: str
    align_corners: bool | None


class Stencil:
    """The pixels that points, (N, points, n), are interpolated from.

    Attributes:
        index: their flat indices in the image, (N, taps, points).
        outside: where there is no such pixel, of that shape; None if all are there.
    """

    def __init__(self, points: np.ndarray, spatial: tuple[int, ...], how: SamplingOptions) -> None:
        mode, padding_mode, align_corners = self.how = how
        size, last, rows, self.scale, taps = _constants(spatial, mode, align_corners, points.dtype)
        at = points[:, None].transpose(3, 0, 1, 2)[::-1]
        if align_corners is None:
            at = np.ascontiguousarray(at)
        else:
            at = np.add(at, 1, order="C")
            at = at * self.scale if align_corners else (at * size - 1) / 2
        self.slope: Any = None
        if mode != "bicubic":
            at, self.slope = _pad_coordinates(at, size, last, padding_mode, align_corners)
        nearest = np.rint(at) if mode == "nearest" else np.floor(at)
        self.t = at - nearest
        pixel = nearest + taps
        if mode == "bicubic":
            pixel, _ = _pad_coordinates(pixel, size, last, padding_mode, align_corners)
        inside = (pixel >= 0) & (pixel <= last)
        self.outside: Any = None
        if np.count_nonzero(inside) < inside.size:
            unknown = np.isnan(pixel)
            pixel = np.where(inside, pixel, 0)
            if mode != "nearest":  # what lies at NaN is NaN, as the weights are
                inside |= unknown
            self.outside = ~_combine_taps(inside, np.logical_and)
        self.index = _combine_taps(pixel.astype(np.int64) * rows, np.add)

    def weights(self, order: int) -> np.ndarray:
        """All derivatives of that order of the weights of pixels: (n ** order, N, taps, points)."""
        along = []
        for k in range(order + 1):
            w, *rest = _tap_polynomials(self.how.mode, k, self.t.dtype)
            for coefficient in rest:
                w = w * self.t + coefficient
            if k:
                w = w * (self.scale if self.slope is None else self.scale * self.slope) ** k
            along.append(w)
        n, all = len(self.t), []
        for by in np.ndindex(*(n,) * order):  # coordinates: x comes first, and belongs to the last dimension
            all.append(_combine_taps([along[by.count(n - 1 - d)][d] for d in range(n)], np.multiply))
        weights = np.array(all) if order else all[0][None]
        return weights if self.outside is None else np.where(self.outside, 0, weights)

    def within(self, values: np.ndarray) -> np.ndarray:
        """Values of pixels (..., N, C, taps, points), 0 outside of the image, even where they are infinite."""
        return values if self.outside is None else np.where(self.outside[:, None], 0, values)


def _combine_taps(along: Sequence[np.ndarray], combine: Callable) -> np.ndarray:
    """The taps of all dimensions combined, (N, taps, points), from those along each, (N, few, points)."""
    total = along[0]
    for more in along[1:]:
        images, taps, points = total.shape
        total = combine(total[:, :, None], more[:, None]).reshape(images, taps * more.shape[1], points)
    return total


def _point_blocks(
    grid: np.ndarray, spatial: tuple[int, ...], how: SamplingOptions, order: int, channels: int
) -> Iterator[tuple[slice, Stencil]]:
    """The stencils of blocks of points; none where all derivatives are 0."""
    if how.mode == "nearest" and order:  # piecewise constant
        return
    images, count, n = len(grid), math.prod(grid.shape[1:-1]), grid.shape[-1]
    rows = grid.reshape(images, count, n)
    each = n**order * images * channels * len(BASES[how.mode][1]) ** n
    step = max(64, BLOCK // max(1, each))
    for at in range(0, count, step):
        yield slice(at, at + step), Stencil(rows[:, at : at + step], spatial, how)


def _pixel_numbers(stencil: Stencil, n: int, channels: int, size: int) -> np.ndarray:
    """Flat indices of pixels across all planes, (n, channels, taps, points)."""
    index = stencil.index[:, None]
    if n * channels == 1:
        return index
    return index + np.arange(0, n * channels * size, size or 1).reshape(n, channels, 1, 1)


def _gather_pixels(images: np.ndarray, stencil: Stencil) -> np.ndarray:
    """The pixels of images (N, C, spatial...) at a stencil: (N, C, taps, points)."""
    n, channels = images.shape[:2]
    return images.reshape(-1).take(_pixel_numbers(stencil, n, channels, math.prod(images.shape[2:])))


@half.general(node=lambda input, grid, *_: f"GridSampler{grid.ndim - 2}DBackward0", method=False, linear="input")
def sampled(input: Tensor, grid: Tensor, how: SamplingOptions, order: int) -> Tensor:
    """All derivatives of that order of images by the points' coordinates: (n, ..., n, N, C, grid...), n ``order``
    times.
    """
    fast = None if order else kernels.run("grid_sample", "grid_sample", grid.size, input, grid, how)
    if fast is not None:
        return fast
    (images, channels, *spatial), (_, *points, n) = input.shape, grid.shape
    out = np.zeros((n**order, images, channels, math.prod(points)), input.dtype)
    for part, stencil in _point_blocks(grid, tuple(spatial), how, order, channels):
        found = stencil.within(_gather_pixels(input, stencil))
        np.add.reduce(found * stencil.weights(order)[:, :, None], 3, out=out[..., part])
    return out.reshape(*(n,) * order, images, channels, *points)


@half.general(
    node=lambda input, grid, *_: f"GridSampler{grid.ndim - 2}DBackwardBackward0", method=False, linear="input"
)
def unsampled(input: Tensor, grid: Tensor, spatial: tuple[int, ...], how: SamplingOptions, order: int) -> Tensor:
    """The transpose of :func:`sampled` in the images: (N, C, spatial...)."""
    fast = None if order else kernels.run("grid_sample", "input_gradient", grid.size, input, grid, spatial, how)
    if fast is not None:
        return fast
    n, count, (images, channels) = len(spatial), math.prod(grid.shape[1:-1]), input.shape[order : order + 2]
    x = input.reshape(n**order, images, channels, 1, count)
    out, size = np.zeros((images, channels, *spatial), input.dtype), math.prod(spatial)
    for part, stencil in _point_blocks(grid, spatial, how, order, channels):
        values = stencil.within(np.add.reduce(x[..., part] * stencil.weights(order)[:, :, None], 0))
        np.add.at(out.reshape(-1), _pixel_numbers(stencil, images, channels, size).reshape(-1), values.reshape(-1))
    return out


@half.general(
    node=lambda input, images, grid, *_: f"GridSampler{grid.ndim - 2}DBackwardBackward0",
    method=False,
    linear="input images",
)
def moved(input: Tensor, images: Tensor, grid: Tensor, how: SamplingOptions, order: int) -> Tensor:
    """The derivative by the grid of the inner product of ``input`` and ``sampled(images, grid, how, order)``."""
    fast = (
        None
        if order or how.mode == "nearest"
        else kernels.run("grid_sample", "grid_gradient", grid.size, input, images, grid, how)
    )
    if fast is not None:
        return fast
    n, count, (batch, channels) = grid.shape[-1], math.prod(grid.shape[1:-1]), images.shape[:2]
    x = input.reshape(n**order, batch, channels, 1, count)
    out = np.zeros((n, batch, count), input.dtype)
    for part, stencil in _point_blocks(grid, images.shape[2:], how, order + 1, 1 + channels // n):
        weights = stencil.weights(order + 1)
        seen = stencil.within(np.add.reduce(_gather_pixels(images, stencil) * x[..., part], 2, keepdims=True))[:, :, 0]
        np.add.reduce(seen * weights.reshape(n, n**order, *weights.shape[1:]), (1, 3), out=out[..., part])
    return out.transpose(1, 2, 0).reshape(grid.shape)


def _times_read_values(h: Any, g: Any, order: int) -> Any:
    """A cotangent (or tangent) of the grid times values that have ``order`` derivative dimensions already."""
    n, rank = h.shape[-1], len(h.shape)
    h = permute(h, (rank - 1, *range(rank - 1)))
    return reshape(h, (n, *(1,) * order, h.shape[1], 1, *h.shape[2:])) * g


sampled.vjp(
    input=lambda g, grid, input_shape, how, order: unsampled(g, grid, input_shape[2:], how, order),
    grid=lambda g, input, grid, how, order: moved(g, input, grid, how, order),
)
unsampled.vjp(
    input=lambda g, grid, how, order: sampled(g, grid, how, order),
    grid=lambda g, input, grid, how, order: moved(input, g, grid, how, order),
)
moved.vjp(
    input=lambda g, images, grid, how, order: sum(
        _times_read_values(g, sampled(images, grid, how, order + 1), order), 0
    ),
    images=lambda g, input, images_shape, grid, how, order: unsampled(
        _times_read_values(g, input, order), grid, images_shape[2:], how, order + 1
    ),
    grid=lambda g, input, images, grid, how, order: moved(
        _times_read_values(g, input, order), images, grid, how, order + 1
    ),
)


@functools.lru_cache(64)
def _sampling_options(
    image: tuple[int, ...], grid: tuple[int, ...], mode: str, padding_mode: str, align_corners: bool | None
) -> SamplingOptions:
    """The options; refuses an image and a grid that do not match."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    n, sizes = len(image) - 2, f"input with sizes {list(image)} and grid with sizes {list(grid)}"
    if n not in (2, 3) or len(grid) != n + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {5 if n == 3 else 4}D input and grid with same number of "
            f"dimensions, but got {sizes}"
        )
    if image[0] != grid[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {list(grid)}"
        )
    for d, size in enumerate(image[2:], 2):
        if size == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(image)} with dimension {d} being empty"
            )
    if n == 3 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return SamplingOptions(mode, padding_mode, bool(align_corners))


@op.composite(method=False)
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Images (or volumes) looked up at given points.

    Args:
        input: (N, C, H, W), or (N, C, D, H, W).
        grid: (N, H', W', 2) or (N, D', H', W', 3): points (x, y) or (x, y, z), where -1 and 1 are the image's borders.
        mode: ``"bilinear"`` (trilinear in volumes), ``"nearest"``, or, of images, ``"bicubic"``.
        padding_mode: outside the image are ``"zeros"``, the ``"border"``'s pixels, or the image's ``"reflection"``.
        align_corners: see the module.

    Returns:
        (N, C, H', W') or (N, C, D', H', W').

    Raises:
        ValueError: for an unknown mode.
        RuntimeError: for shapes or types that do not fit together.

    Derivatives: in ``grid`` they are 0 outside of a ``"border"``, and everywhere for ``"nearest"``.

    >>> import pullback as torch
    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> torch.nn.functional.grid_sample(image, torch.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.5000]]]])
    """
    how = _sampling_options(input._array.shape, grid._array.shape, mode, padding_mode, align_corners)
    if input._array.dtype != grid._array.dtype:
        raise RuntimeError(
            f"expected scalar type {dtypes.type_name(input.dtype)} but found {dtypes.type_name(grid.dtype)}"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
    return sampled(input, grid, how, 0)


@op.composite(method=False)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sample` with numbers for modes: 0, 1, 2 in the order in which it lists them.

    >>> import pullback as torch
    >>> torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def _pixel_centres(k: int, dtype: Any, align_corners: bool | None) -> np.ndarray:
    """The centres of ``k`` pixels in [-1, 1], rounded as PyTorch rounds: sampling has kinks exactly there."""
    if k == 1:
        return np.zeros(1, dtype.numpy)
    ends = linspace(-1, 1, k, dtype=dtype)._array
    return ends if align_corners else ends * dtype.numpy.type(k - 1) / dtype.numpy.type(k)


def _pixel_points(spatial: tuple[int, ...], align_corners: bool | None, dtype: str, wide: np.dtype) -> np.ndarray:
    """The centre of each pixel as a row (x, y, 1), rounded to a type."""
    kind: Any = getattr(dtypes, dtype)
    axes = [_pixel_centres(k, kind, align_corners) for k in spatial]
    columns = np.broadcast_arrays(*np.meshgrid(*axes, indexing="ij")[::-1], kind.numpy.type(1))
    return np.stack(columns, -1).reshape(-1, len(columns)).astype(wide)


# Two ops that are each other's transposes: what all images share is computed anew, and nothing is kept for backward.


@half.general(node="AffineGridGeneratorBackward0", method=False, linear="input")
def affine_points(input: Tensor, spatial: tuple[int, ...], align_corners: bool | None, dtype: str) -> Any:
    """Where affine maps (..., n, n + 1) take an image's pixels: (..., pixels, n)."""
    points = _pixel_points(spatial, align_corners, dtype, input.dtype)
    return np.matmul(points, input.swapaxes(-1, -2))


@half.general(node="AffineGridGeneratorBackwardBackward0", method=False, linear="input")
def affine_moments(input: Tensor, spatial: tuple[int, ...], align_corners: bool | None, dtype: str) -> Any:
    """The transpose of :func:`affine_points`."""
    points = _pixel_points(spatial, align_corners, dtype, input.dtype)
    return np.matmul(input.swapaxes(-1, -2), points)


affine_points.vjp(input=lambda g, spatial, align_corners, dtype: affine_moments(g, spatial, align_corners, dtype))
affine_moments.vjp(input=lambda g, spatial, align_corners, dtype: affine_points(g, spatial, align_corners, dtype))


@op.composite(method=False)
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points that an affine map takes an image's pixels to, for :func:`grid_sample`.

    Args:
        theta: (N, 2, 3) matrices, which act on (x, y, 1); (N, 3, 4) for volumes.
        size: of the image: (N, C, H, W), or (N, C, D, H, W).
        align_corners: see the module.

    Returns:
        (N, H, W, 2), or (N, D, H, W, 3).

    Raises:
        ValueError: if theta is not of floating-point type, or not of that shape.

    >>> import pullback as torch
    >>> shift = torch.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(shift, (1, 1, 1, 2), align_corners=False)
    tensor([[[[0., 0.],
              [1., 0.]]]])
    """
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n, size = len(size) - 2, tuple(size)
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if len(theta.shape) != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
    points = affine_points(theta, size[2:], align_corners, theta.dtype.name)
    return reshape(points, (size[0], *size[2:], n))


affine_grid_generator = affine_grid
