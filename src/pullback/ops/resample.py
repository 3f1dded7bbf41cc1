"""Images of other sizes: interpolation, sampling at given points, and shuffled pixels.

Interpolation is linear in the image, and separable: one small linear map along every row, then one along every column.
Such a map is a :class:`Line`, and its derivative is the transposed line, so a single operation with a single rule serves
all modes of ``interpolate`` and all average pools, to any order. Coordinates are PyTorch's: pixels are squares, and
``align_corners`` says whether input and output have the centres of their outermost pixels in common, or those pixels'
outer edges.

The cubic kernel is that of Keys, "Cubic convolution interpolation for digital image processing" (1981), equation 4 in the
form with a free slope a, here -0.75, and -0.5 (which is his equation 15) for ``antialias``.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import op
from ..complaint import noted
from ..dtypes import FLOATING, OF_NUMPY
from ..tensor import Tensor
from .convert import cast
from .matmul import matmul
from .pointwise import floor, where
from .view import reshape, transpose, unbind

__all__ = ["affine_grid_generator", "channel_shuffle", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
           "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]  # fmt: skip
__all_functional__ = ["affine_grid", "channel_shuffle", "grid_sample", "interpolate", "native_channel_shuffle",
                      "pixel_shuffle", "pixel_unshuffle", "upsample", "upsample_bilinear", "upsample_nearest"]  # fmt: skip

ALL = slice(None)


# --- linear maps along one dimension ----------------------------------------------------------------------------


class Line:
    """A sparse linear map along one dimension: ``y[rows[k]] += weights[k] * x[columns[k]]``, for all k.

    Entries that name the same row and column are added up.

    Attributes:
        size: (elements of y, elements of x).
    """

    def __init__(self, size: tuple[int, int], rows: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> None:
        self.size = size
        entries, which = np.unique(rows * size[1] + columns, return_inverse=True)
        weights = np.bincount(which.ravel(), weights.ravel(), len(entries))
        entries, self.weights = entries[weights != 0], weights[weights != 0]
        self.rows, self.columns = np.divmod(entries, max(1, size[1]))

    @functools.cached_property
    def transposed(self) -> Line:
        line = Line(self.size[::-1], self.columns, self.rows, self.weights)
        line.transposed = self
        return line

    @functools.cached_property
    def steps(self) -> list[tuple[Any, Any, Any]]:
        """The entries in a few groups, in none of which a row occurs twice: (rows, columns, weights) of each.

        Where rows and columns advance at a whole ratio, as in pooling or doubling, a group is those with one distance
        from that ratio, which makes slices of them; else it is the first entries of all rows, then the second ones...
        """
        rows, columns, (out, into) = self.rows, self.columns, self.size
        if not len(rows):
            return []
        distance = columns - rows * round(into / out) if into >= out else rows - columns * round(out / into)
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        least = max(rank.max() + 1, np.bincount(columns).max())
        group = distance if len(np.unique(distance)) <= least + 2 else rank
        return [(_evenly(rows[k]), _evenly(columns[k]), self.weights[k][0] if np.ptp(self.weights[k]) == 0 else self.weights[k])
                for k in (group == g for g in np.unique(group))]  # fmt: skip

    def __call__(self, x: np.ndarray, dim: int) -> np.ndarray:
        """Apply the map along a dimension, counted from the front."""
        before, behind = (ALL,) * dim, (1,) * (x.ndim - dim - 1)
        out = np.zeros((*x.shape[:dim], self.size[0], *x.shape[dim + 1 :]), x.dtype)
        for rows, columns, weights in self.steps:
            part = x[(*before, columns)] if columns.__class__ is slice else x.take(columns, dim)
            if weights.__class__ is np.ndarray:
                part = part * weights.astype(x.dtype).reshape(-1, *behind)
            elif weights != 1:
                part = part * x.dtype.type(weights)
            out[(*before, rows)] += part
        return out


def _evenly(index: np.ndarray) -> slice | np.ndarray:
    """Increasing numbers as a slice, if they advance evenly."""
    step = int(index[1] - index[0]) if len(index) > 1 else 1
    return slice(int(index[0]), int(index[-1]) + 1, step) if step > 0 and np.all(np.diff(index) == step) else index


@op.general(node=lambda input, lines, before, after, name: name, method=False)
def resample(input: Tensor, lines: Sequence[Line], before: Any, after: Any, name: str) -> Tensor:
    """Lines along the last dimensions, one each, of ``input / before``, and divided by ``after`` (None: not divided)."""
    dtype = input.dtype
    x = input.astype(np.float32) if OF_NUMPY[dtype].is_floating_point and dtype.itemsize == 2 else input
    if before is not None:
        x = x / np.asarray(before, x.dtype)
    first = x.ndim - len(lines)
    for i, line in sorted(enumerate(lines), key=lambda pair: pair[1].size[0] / max(1, pair[1].size[1])):
        x = line(x, first + i)
    if after is not None:
        x = x / np.asarray(after, x.dtype)
    return (np.trunc(x) if dtype.kind in "iu" else x).astype(dtype, copy=False)


resample.vjp(input=lambda g, lines, before, after, name:
             resample(g, [line.transposed for line in lines], after, before, name))  # fmt: skip


# --- interpolation ----------------------------------------------------------------------------------------------


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(x))


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(x)
    return np.where(x <= 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


SMOOTH = {"bilinear": (1, _triangle), "bicubic": (2, functools.partial(_cubic, a=-0.5)), "lanczos": (3, _lanczos)}


@functools.lru_cache(256)
def _interpolating(mode: str, size: int, into: int, align_corners: bool, scale: float | None, smooth: bool, single: bool) -> Line:
    """The line of a mode from ``size`` pixels to ``into``, with coordinates rounded to float32 where ``single``."""
    real = np.float32 if single else np.float64
    o = np.arange(into, dtype=real)
    step = (size - 1) / (into - 1) if align_corners and into > 1 else 0 if align_corners else 1 / scale if scale else size / into
    step, half = real(step), real(0.5)
    if mode.startswith("nearest"):
        columns, weights = np.floor(step * (o if mode == "nearest" else o + half))[None], np.ones((1, into))
    elif smooth:
        reach, kernel = SMOOTH[mode]
        support, centre = reach * max(step, real(1)), step * (o + half)
        start, stop = (np.clip(np.trunc(centre + side + half), 0, size) for side in (-support, support))
        columns = start + np.arange(int(np.max(stop - start)))[:, None]
        weights = np.where(columns < stop, kernel((columns - centre + half) / max(step, real(1))), 0)
        weights = weights / weights.sum(0)
    else:
        at = step * o if align_corners else step * (o + half) - half
        at = at if mode == "bicubic" else np.maximum(at, 0)
        left = np.minimum(np.floor(at), size - 1)
        t = np.clip(at - left, 0, 1)
        taps = np.arange(-1, 3)[:, None] if mode == "bicubic" else np.arange(2)[:, None]
        columns, weights = left + taps, _cubic(t - taps, -0.75) if mode == "bicubic" else _triangle(t - taps)
    columns = np.clip(columns, 0, size - 1).astype(np.int64)
    return Line((into, size), np.broadcast_to(np.arange(into), columns.shape), columns, np.asarray(weights, np.float64))


@functools.lru_cache(256)
def averaging(size: int, into: int) -> tuple[Line, np.ndarray]:
    """Sums over the windows of adaptive pooling, ``[floor(o * size / into), ceil((o + 1) * size / into))``, and their lengths."""
    o = np.arange(into)
    start, stop = o * size // max(1, into), -(-(o + 1) * size // max(1, into))
    taps = np.arange(np.max(stop - start, initial=0))[:, None]
    columns = start + taps
    return Line((into, size), np.broadcast_to(o, columns.shape), np.minimum(columns, size - 1), columns < stop), stop - start


def adaptive_average(input: Tensor, size: Sequence[int]) -> Tensor:
    """The mean over windows that share out the last dimensions among ``size`` results."""
    n = len(size)
    lines, lengths = zip(*map(averaging, input.shape[-n:], size))
    count = functools.reduce(np.multiply.outer, lengths)
    return resample(input, lines, None, count, f"AdaptiveAvgPool{n}DBackward0")


DIMENSIONS = {"linear": 1, "bilinear": 2, "trilinear": 3}


@op.composite(method=False)
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:  # fmt: skip
    """Images (or sequences, or volumes) of another size.

    Args:
        input: (N, C, spatial...) with one to three spatial dimensions.
        size: the size to make, a number or one for each spatial dimension.
        scale_factor: instead of ``size``: it becomes ``floor(spatial * scale_factor)``.
        mode: ``"nearest"``, ``"nearest-exact"`` (which measures from the pixels' centres), ``"area"`` (adaptive average);
            ``"linear"``, ``"bilinear"``, ``"trilinear"`` by number of dimensions; ``"bicubic"`` and ``"lanczos"`` of images.
        align_corners: see the module. Only for the modes that end in linear or cubic.
        recompute_scale_factor: take the scale from the sizes, not as given.
        antialias: widen the kernel when shrinking, for ``"bilinear"``, ``"bicubic"``, ``"lanczos"``.

    Raises:
        ValueError: for options that exclude each other.
        NotImplementedError: if the mode is not one of the input's number of dimensions.

    >>> import pullback as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    n, spatial = len(input.shape) - 2, tuple(input.shape[2:])
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and (mode not in SMOOTH or n != 2):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    scales = None if scale_factor is None else _of_each(scale_factor, spatial, "scale_factor", "of shape", "(s1, s2, ...,sK)")
    into = _of_each(size, spatial, "output size", "of", "(o1, o2, ...,oK)") if scales is None else tuple(
        math.floor(i * s) for i, s in zip(spatial, scales))  # fmt: skip
    if n not in (1, 2, 3) or mode not in ("nearest", "nearest-exact", "area", *DIMENSIONS) and (mode not in SMOOTH or n != 2):
        raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported "
                                  f"(got {n + 2}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
                                  f"nearest-exact (got {mode})")  # fmt: skip
    if DIMENSIONS.get(mode, n) != n:
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {DIMENSIONS[mode] + 2}D input")
    if mode == "area":
        return adaptive_average(input, into)
    if min(*spatial, *into) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {spatial} output {into}")
    if input.shape[1] == 0:
        raise RuntimeError(f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(input.shape)}")
    if recompute_scale_factor or scales is None:
        scales = (None,) * n
    bytes_wanted = input.dtype is uint8 and not mode.startswith("nearest")
    x = cast(input, np.float32) if bytes_wanted else input
    lines = [_interpolating(mode, i, o, bool(align_corners), s, antialias, x.dtype is not float64)
             for i, o, s in zip(spatial, into, scales)]  # fmt: skip
    kind = {"nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    out = resample(x, lines, None, None, f"Upsample{kind}{n}D{'Aa' if antialias else ''}Backward0")
    return cast(clamp(round(out), 0, 255), np.uint8) if bytes_wanted else out


def _of_each(value: Any, spatial: tuple[int, ...], what: str, of: str, form: str) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        return (value,) * len(spatial)
    if len(value) != len(spatial):
        raise ValueError(f"Input and {what.replace('output size', 'output')} must have the same number of spatial dimensions, but got "
                         f"input with spatial dimensions of {list(spatial)} and {what} {of} {tuple(value)}. Please provide input tensor "
                         f"in (N, C, d1, d2, ...,dK) format and {what} in {form} format.")  # fmt: skip
    return tuple(value)


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:  # fmt: skip
    """:func:`interpolate` under an older name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="nearest")`` under an older name."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="bilinear", align_corners=True)`` under an older name."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)
