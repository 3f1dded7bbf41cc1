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
    """Lines along the last dimensions, one each, of ``input / before``, and divided by ``after``."""
    dtype = input.dtype
    x = input.astype(np.float32) if OF_NUMPY[dtype].is_floating_point and dtype.itemsize == 2 else input
    if before is not None:
        x = x / np.asarray(before, x.dtype)
    first = x.ndim - len(lines)
    for i, line in sorted(enumerate(lines), key=lambda each: each[1].size[0] * max(1, x.shape[first + each[0]]) ** -1):
        x = line(x, first + i)
    if after is not None:
        x = x / np.asarray(after, x.dtype)
    return (np.trunc(x) if dtype.kind in "iu" else x).astype(dtype, copy=False)


resample.vjp(input=lambda g, lines, before, after, name: resample(g, [line.transposed for line in lines], after, before, name))
