"""``interpolate``, ``upsample``, ``pixel_shuffle``, ``pixel_unshuffle``, ``channel_shuffle``.

Interpolation is linear in the image, and separable: one small linear map along every row, then one along every
column. Such a map is a :class:`LinearMap`, its derivative the transposed map, so that one operation (``resample``) with
one rule serves all modes of ``interpolate`` and all average pools, to any order. Coordinates are PyTorch's: pixels are
squares, and input and output have the centres of their outermost pixels in common (``align_corners``), or those pixels'
outer edges.

The cubic kernel is that of Keys, "Cubic convolution interpolation for digital image processing" (1981), with the
slope a = -0.5 that he derives for ``antialias``, and a = -0.75 otherwise.
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import FLOAT32, FLOAT64, float32, uint8
from ..base.forks import cached_property
from ..base.layout import (
    as_channels_last,
    channels_inside,
    channels_last_copy,
    channels_outside,
    contiguous_copy,
    is_channels_last,
)
from ..core import op
from ..core.tensor import Tensor
from ..kernels import gemm
from ..kernels.dispatch import as_type, wide
from . import half
from .pointwise import round
from .reduce import is_finite, sum_array
from .where import clamp

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]
__all_functional__ = [
    "channel_shuffle",
    "interpolate",
    "native_channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

ALL, IMAGES = slice(None), (3, 4, 5)
WIDE = 128  # columns up to which a map along one dimension is a matrix product
MANY_TIMES = 32  # entries for a pixel up to which a kernel does not go dimension by dimension
FEW = 1 << 12  # entries up to which the map of whole planes is applied at once, not dimension by dimension


# --- linear maps along one dimension ----------------------------------------------------------------------------


class LinearMap:
    """A sparse linear map along one dimension: ``y[rows[k]] += weights[k] * x[columns[k]]``, for all k.

    Entries with the same row and column are added up.

    Attributes:
        size: (elements of y, elements of x).
    """

    def __init__(self, size: tuple[int, int], rows: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> None:
        self.size = size
        entries, which = np.unique(rows * size[1] + columns, return_inverse=True)
        weights = np.bincount(which.ravel(), weights.ravel(), len(entries))
        entries, self.weights = entries[weights != 0], weights[weights != 0]
        self.rows, self.columns = np.divmod(entries, max(1, size[1]))
        self._tables: dict[np.dtype, tuple[np.ndarray, ...]] = {}

    @cached_property
    def transposed(self) -> LinearMap:
        line = LinearMap(self.size[::-1], self.columns, self.rows, self.weights)
        line.transposed = self
        return line

    @cached_property
    def matrix_pays(self) -> bool:
        """Whether a product with a matrix that is mostly zeros takes less time than a pass for each step."""
        return self.size[1] <= WIDE and len(self.rows) > self.size[0]

    @cached_property
    def matrix(self) -> np.ndarray:
        matrix = np.zeros(self.size)
        matrix[self.rows, self.columns] = self.weights
        return matrix

    @cached_property
    def steps(self) -> list[tuple[Any, Any, Any]]:
        """The entries in a few groups: (rows, columns, weights) of each.

        Where rows and columns advance at an integer ratio, as in pooling or doubling, a group holds the entries at one
        offset from that ratio, so that both are slices. Otherwise the first group holds the first entry of each row,
        the second group the second, and so on: no row occurs twice in a group. If there are fewer rows than groups,
        each row is a group (and summed); if there are fewer columns, each column is one (and broadcast).
        """
        rows, columns, (out, into) = self.rows, self.columns, self.size
        if not len(rows):
            return []
        ratio = (2 * max(self.size) + min(self.size)) // (2 * min(self.size))
        distance = columns - rows * ratio if into >= out else rows - columns * ratio
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        least = max(rank.max() + 1, np.bincount(columns).max())
        group = distance if len(np.unique(distance)) <= least + 2 else rank
        groups = len(np.unique(group))
        group = group if groups <= min(out, into) else rows if out <= into else columns
        parts = [(rows[k], columns[k], self.weights[k]) for k in (group == g for g in np.unique(group))]
        return [
            (
                int(r[0]) if group is rows else _as_slice(r),
                slice(c[0], c[0] + 1) if group is columns else _as_slice(c),
                w[0] if np.all(w == w[0]) else w,
            )
            for r, c, w in parts
        ]

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the entries of each row begin, and where those of the last one end."""
        return np.searchsorted(self.rows, np.arange(self.size[0] + 1))

    def table(self, d: np.dtype) -> tuple[np.ndarray, ...]:
        """The entries as the kernel for ``channels_last`` reads them."""
        if d not in self._tables:
            self._tables[d] = self.starts, np.ascontiguousarray(self.columns), self.weights.astype(d)
        return self._tables[d]

    def __call__(self, x: np.ndarray, dim: int) -> np.ndarray:
        """Apply the map along a dimension, counted from the front."""
        if self.matrix_pays and x.size and x.dtype.kind == "f":
            whole = self._product(x, dim)
            if is_finite(whole):  # an infinite element, times 0, would be NaN elsewhere
                return whole
        before, behind = (ALL,) * dim, (1,) * (x.ndim - dim - 1)
        out = np.zeros((*x.shape[:dim], self.size[0], *x.shape[dim + 1 :]), x.dtype)
        for rows, columns, weights in self.steps:
            part = x[(*before, columns)] if columns.__class__ is slice else x.take(columns, dim)
            if weights.__class__ is np.ndarray:
                part = part * weights.astype(x.dtype).reshape(-1, *behind)
            elif weights != 1:
                part = part * x.dtype.type(weights)
            out[(*before, rows)] += sum_array(part, (dim,)) if rows.__class__ is int else part
        return out

    def _product(self, x: np.ndarray, dim: int) -> np.ndarray:
        """The map as a matrix product."""
        matrix = self.matrix.astype(x.dtype)
        if dim == x.ndim - 1:
            return gemm.product(x.reshape(-1, x.shape[-1]), matrix.T, None).reshape(*x.shape[:-1], -1)
        rows = x.reshape(math.prod(x.shape[:dim]), x.shape[dim], -1)
        return np.matmul(matrix, rows).reshape(*x.shape[:dim], self.size[0], *x.shape[dim + 1 :])


def _as_slice(index: np.ndarray) -> slice | np.ndarray:
    """Increasing indices as a slice, if their steps are equal."""
    step = int(index[1] - index[0]) if len(index) > 1 else 1
    return slice(int(index[0]), int(index[-1]) + 1, step) if step > 0 and np.all(np.diff(index) == step) else index


class SeparableMap:
    """A separable linear map of planes: a :class:`LinearMap` along each of the last dimensions.

    Attributes:
        before, after: divisors of the input and of the output, float64, one for each element, or 0-d; ONE: no division.
    """

    def __init__(
        self, lines: Sequence[LinearMap], before: np.ndarray | None = None, after: np.ndarray | None = None
    ) -> None:
        self.lines = tuple(lines)
        self.before, self.after = ONE if before is None else before, ONE if after is None else after
        self.size, self.behind = tuple([line.size[0] for line in lines]), -len(lines)
        self.entries = math.prod([len(line.rows) for line in lines])  # of the map of planes
        self.sparse = math.prod(self.size) > FEW  # with few entries: nearly all rows are empty

    @cached_property
    def transposed(self) -> SeparableMap:
        lines = SeparableMap([line.transposed for line in self.lines], self.after, self.before)
        lines.transposed = self
        return lines

    @cached_property
    def together(self) -> tuple[np.ndarray, ...]:
        """All entries in the order of the rows, as the kernel reads them; see
        :func:`pullback.kernels.interpolate.resample`.
        """
        rows, columns, weights = np.zeros(1, int), np.zeros(1, int), np.ones(1)
        for line in self.lines:
            rows = np.add.outer(rows * line.size[0], line.rows).ravel()
            columns = np.add.outer(columns * line.size[1], line.columns).ravel()
            weights = np.multiply.outer(weights, line.weights).ravel()
        order = rows.argsort(kind="stable")
        starts = np.searchsorted(rows[order], np.arange(math.prod(self.size) + 1))
        sizes = [
            math.prod([line.size[1] for line in self.lines]),
            len(starts) - 1,
            self.before.ndim and 1,
            self.after.ndim and 1,
        ]
        return np.array(sizes), starts, columns[order], weights[order], self.before, self.after

    @cached_property
    def filled(self) -> np.ndarray:
        """The rows that are not empty."""
        return np.flatnonzero(np.diff(self.together[1]))

    def one_by_one(self, x: np.ndarray, first: int) -> np.ndarray:
        """Apply the lines to the dimensions from ``first`` on, those that make it smaller before the others."""
        for i, line in sorted(enumerate(self.lines, first), key=lambda pair: pair[1].size[0] / max(1, pair[1].size[1])):
            x = line(x, i)
        return x

    def of_channels_last(self, x: np.ndarray) -> np.ndarray:
        """The map of images whose channels are innermost in memory, as those of the result are."""
        n, into = len(self.lines), [line.size for line in self.lines]
        pixels = max(math.prod([size[i] for size in into]) for i in (0, 1))
        if x.ndim == n + 2 and x.size and self.entries <= MANY_TIMES * pixels:
            out = kernels.run("channels_last", "resample", x.size, x, self.lines, self.before, self.after)
            if out is not None:
                return out
        if self.before is not ONE or self.after is not ONE:
            return self(x)
        return channels_outside(self.one_by_one(channels_inside(x), 1))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        lead = x.shape[: self.behind]
        planes = math.prod(lead)
        if not 0 < planes * self.entries < FEW:
            d = x.dtype
            x = x if self.before is ONE else x / self.before.astype(d)
            x = self.one_by_one(x, len(lead))
            return x if self.after is ONE else x / self.after.astype(d)
        shape = lead + self.size
        out = None if self.sparse else kernels.run("interpolate", "resample", x.size, x, planes, self.together, shape)
        if out is None:
            d, x, filled, (_, starts, columns, weights, *_) = x.dtype, x.reshape(planes, -1), self.filled, self.together
            x = (x if self.before is ONE else x / self.before.astype(d).ravel()).take(columns, 1) * weights.astype(d)
            out = np.zeros((planes, math.prod(self.size)), x.dtype)
            out[:, filled] = np.add.reduceat(x, starts[filled], 1, x.dtype)
            out = (out if self.after is ONE else out / self.after.astype(d).ravel()).reshape(shape)
        return out


ONE = np.ones(())


@op.general(node="name", method=False)
def resample(input: Tensor, lines: SeparableMap, name: str) -> Tensor:
    """A separable map applied to the last dimensions."""
    d = input.dtype
    last = is_channels_last(input, IMAGES) and input.ndim in (
        (4, 5) if name.startswith("Upsample") else (3, 4) if "Pool1D" in name else (4,)
    )
    x = input if d is FLOAT32 or d is FLOAT64 else wide(input)
    out = lines.of_channels_last(x) if last else lines(x)
    if not (d is FLOAT32 or d is FLOAT64):
        out = as_type(np.trunc(out) if d.kind in "iu" else out, d)
    return channels_last_copy(out) if last and not is_channels_last(out, IMAGES) else out


resample.vjp(input=lambda g, lines, name: resample(g, lines.transposed, name))
resample.op.zero_second_derivative_nodes = ("AvgPool", "AdaptiveAvgPool")


# --- interpolation ----------------------------------------------------------------------------------------------


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(x))


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    x = np.abs(x)
    return np.where(x <= 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


DIMENSIONS = {"linear": 1, "bilinear": 2, "trilinear": 3}
NUMBERS = (int, float, type(None))
ANTIALIASED: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "bilinear": (1, _triangle),
    "bicubic": (2, functools.partial(_cubic, a=-0.5)),
    "lanczos": (3, _lanczos),
}


def _nearest(mode: str, size: int, into: int, scale: float | None, single: bool, direct: bool) -> np.ndarray:
    """The pixel that each result is a copy of, by the rounding of one of PyTorch's two loops: the direct one, always in
    float32, or that for any mode, with a fused multiplication and subtraction.
    """
    if direct and mode == "nearest" and into in (size, 2 * size):  # for any scale
        return np.arange(into) // (into // size)
    real: Any = np.float32 if single or direct else np.float64
    o, step = np.arange(into, dtype=real), real(1 / scale if scale else size / into)
    if mode == "nearest":
        at = step * o
    elif direct:
        at = step * (o + real(0.5))
    else:
        at = (np.float64(step) * (o + 0.5) - 0.5).astype(real) + real(0.5)
    return np.floor(at.astype(np.float32))


@functools.lru_cache(256)
def _interpolation_map(
    mode: str, size: int, into: int, align_corners: bool, scale: float | None, smooth: bool, single: bool, direct: bool
) -> LinearMap:
    """The map of a mode from ``size`` pixels to ``into``, with coordinates rounded to float32 if ``single``."""
    real: Any = np.float32 if single else np.float64
    o = np.arange(into, dtype=real)
    step, middle = real(1 / scale if scale else size / into), real(0.5)
    if align_corners:
        step = real((size - 1) / (into - 1) if into > 1 else 0)
    if size == into and (smooth or mode in DIMENSIONS):  # the identity for any scale, as in PyTorch
        columns, weights = o[None], np.ones((1, into))
    elif mode.startswith("nearest"):
        columns, weights = _nearest(mode, size, into, scale, single, direct)[None], np.ones((1, into))
    elif smooth:
        reach, kernel = ANTIALIASED[mode]
        support, centre = reach * max(step, real(1)), step * (o + middle)
        start, stop = (np.clip(np.trunc(centre + side + middle), 0, size) for side in (-support, support))
        columns = start + np.arange(int(np.max(stop - start)))[:, None]
        weights = np.where(columns < stop, kernel((columns - centre + middle) / max(step, real(1))), 0)
        weights = weights / weights.sum(0)
    else:
        at = step * o if align_corners else step * (o + middle) - middle
        at = at if mode == "bicubic" else np.maximum(at, 0)
        left = np.minimum(np.floor(at), size - 1)
        t = np.clip(at - left, 0, 1)
        taps = np.arange(-1, 3)[:, None] if mode == "bicubic" else np.arange(2)[:, None]
        columns, weights = left + taps, _cubic(t - taps, -0.75) if mode == "bicubic" else _triangle(t - taps)
    columns = np.clip(columns, 0, size - 1).astype(np.int64)
    return LinearMap(
        (into, size), np.broadcast_to(np.arange(into), columns.shape), columns, np.asarray(weights, np.float64)
    )


@functools.lru_cache(64)
def adaptive_mean_map(spatial: tuple[int, ...], into: tuple[int, ...]) -> SeparableMap:
    """The means of windows ``[floor(o * size / into), ceil((o + 1) * size / into))``."""
    lines, lengths = [], []
    for size, n in zip(spatial, into):
        o = np.arange(n)
        start, stop = o * size // max(1, n), -(-(o + 1) * size // max(1, n))
        columns = start + np.arange(np.max(stop - start, initial=0))[:, None]
        rows = np.broadcast_to(o, columns.shape)
        lines.append(LinearMap((n, size), rows, np.minimum(columns, size - 1), columns < stop))
        lengths.append(stop - start)
    return SeparableMap(lines, after=functools.reduce(np.multiply.outer, lengths, ONE))


def adaptive_mean_and_node(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[SeparableMap, str]:
    """The means of adaptive pooling windows over the last dimensions, and the node's name."""
    n = len(size)
    return adaptive_mean_map(shape[-n:], size), f"AdaptiveAvgPool{n}DBackward0"


@functools.lru_cache(64)
def _resampling_map(
    shape: tuple[int, ...],
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute: bool | None,
    antialias: bool,
    single: bool,
    channels_last: bool,
) -> tuple[SeparableMap, str]:
    """The map that :func:`interpolate` applies, with coordinates in float32 if ``single``, and the node's name."""
    n, spatial = len(shape) - 2, shape[2:]
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and (mode not in ANTIALIASED or n != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    scales: tuple[Any, ...] = (None,) * n
    if size is not None:
        into = _per_dim(size, spatial, "output size of", "(o1, o2, ...,oK)")
    else:
        scales = _per_dim(scale_factor, spatial, "scale_factor of shape", "(s1, s2, ...,sK)")
        into = tuple(math.floor(i * s) for i, s in zip(spatial, scales))
    of_any = mode in ("nearest", "nearest-exact", "area", *DIMENSIONS)
    if n not in (1, 2, 3) or not of_any and (mode not in ANTIALIASED or n != 2):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n + 2}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if DIMENSIONS.get(mode, n) != n:
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {DIMENSIONS[mode] + 2}D input")
    if mode == "area":
        return adaptive_mean_and_node(shape, into)
    if min(*spatial, *into) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {spatial} output {into}")
    if shape[1] == 0:
        raise RuntimeError(f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {list(shape)}")
    if recompute:
        scales = (None,) * n
    direct = n == 2 and sum(into) <= 128 or channels_last and n > 1 and shape[1] > 3
    lines = [
        _interpolation_map(mode, i, o, bool(align_corners), s, antialias, single, direct)
        for i, o, s in zip(spatial, into, scales)
    ]
    kind = {"nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    return SeparableMap(lines), f"Upsample{kind}{n}D{'Aa' if antialias else ''}Backward0"


@op.composite(method=False)
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images (or sequences, or volumes) of another size.

    Args:
        input: (N, C, spatial...) with one to three spatial dimensions.
        size: the size to make, a number or one for each spatial dimension.
        scale_factor: instead of ``size``: it becomes ``floor(spatial * scale_factor)``.
        mode: ``"nearest"``, ``"nearest-exact"`` (which measures from the pixels' centres), ``"area"`` (adaptive
            average); ``"linear"``, ``"bilinear"``, ``"trilinear"`` by number of dimensions; ``"bicubic"`` and
            ``"lanczos"`` of images.
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
    if size is not None and size.__class__ is not int:
        size = tuple(map(operator.index, size)) if isinstance(size, (tuple, list)) else operator.index(size)
    if scale_factor.__class__ in (list, tuple):
        scale_factor = tuple([s if s.__class__ in NUMBERS else float(s) for s in scale_factor])
    elif scale_factor.__class__ not in NUMBERS:
        scale_factor = float(scale_factor)
    x = input._array
    lines, name = _resampling_map(
        x.shape,
        size,
        scale_factor,
        mode,
        align_corners,
        recompute_scale_factor,
        antialias,
        x.dtype is not FLOAT64,
        is_channels_last(x, IMAGES),
    )
    if input.dtype is not uint8 or mode in ("nearest", "nearest-exact", "area"):
        return resample.op.call_ordered(input, lines, name)
    return clamp(round(resample(input.to(float32), lines, name)), 0, 255).to(uint8)


def _per_dim(value: Any, spatial: tuple[int, ...], what: str, form: str) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        return (value,) * len(spatial)
    if len(value) != len(spatial):
        name = what.partition(" of")[0]
        raise ValueError(
            f"Input and {name.partition(' ')[0]} must have the same number of spatial dimensions, but got "
            f"input with spatial dimensions of {list(spatial)} and {what} {tuple(value)}. Please provide "
            f"input tensor in (N, C, d1, d2, ...,dK) format and {name} in {form} format."
        )
    return tuple(value)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """:func:`interpolate` under an older name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="nearest")`` under an older name."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: Any = None) -> Tensor:
    """``interpolate(mode="bilinear", align_corners=True)`` under an older name."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


# --- elements of planes by number -------------------------------------------------------------------------------


def _plane_numbers(index: np.ndarray, lead: tuple[int, ...], n: int, elements: int) -> np.ndarray:
    """Flat indices within planes (the last ``n`` dimensions) as flat indices into all planes: (lead..., positions)."""
    index = index.reshape(*index.shape[: index.ndim - n], math.prod(index.shape[index.ndim - n :]))
    return index + (np.arange(math.prod(lead)) * elements).reshape(*lead, 1)


@op.general(method=False, linear="input")
def pick(input: Tensor, index: Tensor, n: int) -> Tensor:
    """Elements of planes (the last ``n`` dimensions) at flat indices: (lead..., the index's last ``n``)."""
    lead = input.shape[: input.ndim - n]
    numbers = _plane_numbers(index, lead, n, math.prod(input.shape[input.ndim - n :]))
    return input.reshape(-1).take(numbers).reshape(*lead, *index.shape[index.ndim - n :])


@half.general(node="name", method=False, linear="input")
def place(input: Tensor, index: Tensor, size: Sequence[int], add: bool, name: str = "PlaceBackward0") -> Tensor:
    """Planes of zeros with the input's elements at their numbers; of repeated ones, the sum or the last."""
    if add and index.ndim == len(size) + 2 and is_channels_last(index, IMAGES):
        out = kernels.run("channels_last", "place", input.size, input, index, size)
        if out is not None:
            return out
    out = kernels.run("interpolate", "place", input.size, input, index, size, add)
    if out is None:
        lead = input.shape[: input.ndim - len(size)]
        numbers = _plane_numbers(index, lead, len(size), math.prod(size)).reshape(-1)
        out = np.zeros(math.prod(lead) * math.prod(size), input.dtype)
        if add:
            np.add.at(out, numbers, input.reshape(-1))
        else:
            out[numbers] = input.reshape(-1)
        out = out.reshape(*lead, *size)
    return out if add else as_channels_last(input, out, (4,))


pick.vjp(input=lambda g, input_shape, index, n: place(g, index, input_shape[len(input_shape) - n :], True))
place.vjp(input=lambda g, index, size: pick(g, index, len(size)))


# --- pixels for channels ----------------------------------------------------------------------------------------


def _check_image(shape: tuple[int, ...], name: str, factor: int, factor_name: str) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {factor_name}, but got {factor}")


@functools.lru_cache(64)
def _pixel_shuffle_shapes(input: tuple[int, ...], r: int) -> tuple[tuple[int, ...], ...]:
    """The shape with the channels split, the permutation that makes them pixels, and the resulting shape."""
    _check_image(input, "pixel_shuffle", r, "upscale_factor")
    r, (*lead, c, h, w) = operator.index(r), input
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    k, lead = len(lead), [*lead, c // (r * r)]
    return (*lead, r, r, h, w), (*range(k + 1), k + 3, k + 1, k + 4, k + 2), (*lead, h * r, w * r)


@op.general(method=False)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels rearranged to pixels: (..., C * r * r, H, W) to (..., C, H * r, W * r) (Shi et al. 2016, section 3.2).

    Raises:
        RuntimeError: if r * r does not divide the channels.

    Derivative: :func:`pixel_unshuffle`, which is its inverse.

    >>> import pullback as torch
    >>> torch.pixel_shuffle(torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1), 2)
    tensor([[[1., 2.],
             [3., 4.]]])
    """
    parts, order, shape = _pixel_shuffle_shapes(input.shape, upscale_factor)
    if is_channels_last(input, (4,)):  # one copy, whose channels are innermost, too
        (n, c, h, w), r, images = input.shape, upscale_factor, channels_inside(input)
        pixels = images.reshape(n, h, w, c // (r * r), r, r).transpose(0, 1, 4, 2, 5, 3)
        return channels_outside(contiguous_copy(pixels).reshape(n, h * r, w * r, -1))
    return as_channels_last(input, input.reshape(parts).transpose(order).copy().reshape(shape), (4,))


@op.general(method=False)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels rearranged to channels: (..., C, H * r, W * r) to (..., C * r * r, H, W): the inverse of
    ``pixel_shuffle``.

    Raises:
        RuntimeError: if r does not divide height and width.

    Derivative: :func:`pixel_shuffle`.

    >>> import pullback as torch
    >>> torch.pixel_unshuffle(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2).flatten()
    tensor([1., 2., 3., 4.])
    """
    r = downscale_factor
    _check_image(input.shape, "pixel_unshuffle", r, "downscale_factor")
    *lead, c, h, w = input.shape
    for name, d, length in (("height", -2, h), ("width", -1, w)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, "
                f"but input.size({d})={length} is not divisible by {r}"
            )
    if is_channels_last(input, (4,)):
        pixels = channels_inside(input).reshape(-1, h // r, r, w // r, r, c).transpose(0, 1, 3, 5, 2, 4)
        return channels_outside(contiguous_copy(pixels).reshape(-1, h // r, w // r, c * r * r))
    k = len(lead)
    parts = input.reshape(*lead, c, h // r, r, w // r, r).transpose(*range(k + 1), k + 2, k + 4, k + 1, k + 3)
    return as_channels_last(input, parts.copy().reshape(*lead, c * r * r, h // r, w // r), (4,))


@op.general(method=False)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels interleaved between groups: (N, groups * k, ...) as (N, groups, k, ...), transposed to (N, k, groups,
    ...).

    Raises:
        RuntimeError: if ``groups`` does not divide the channels.

    Derivative: the same with ``k`` groups.

    >>> import pullback as torch
    >>> torch.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return as_channels_last(
        input, input.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).copy().reshape(input.shape), (4,)
    )


pixel_shuffle.vjp(input=lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor))
pixel_unshuffle.vjp(input=lambda g, downscale_factor: pixel_shuffle(g, downscale_factor))
channel_shuffle.vjp(input=lambda g, groups: channel_shuffle(g, g.shape[1] // groups))
native_channel_shuffle = channel_shuffle
