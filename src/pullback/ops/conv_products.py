"""Convolution on NumPy arrays by im2col: forward, transposed (input gradient) and weight gradient.

Each is computed as matrix products with the windows of x copied into columns ("im2col"), one block of outputs
after another in a scratch buffer that stays in the processor's cache: copying the windows of a whole batch
would cost more than the products do. Groups, down to depthwise convolutions, are batches of such products.

A small convolution is one product of all windows, whose strides are cached per geometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import kernels
from ..core.geometry import strided

Ints = Sequence[int]
BLOCK = 1 << 20  # bytes of columns at a time: about what a core's own cache holds
NARROW = 4  # windows along the last dimension up to which copying element by element of the kernel is faster
SMALL = 1 << 15  # elements of columns up to which all columns are made at once
FEW = 1 << 12  # products up to which one np.add.at scatters all of them
FEWER = 1 << 11  # products up to which a kernel scatters them one by one
ALL = slice(None)


# --- windows of arrays ------------------------------------------------------------------------------------------


class WindowLayout(NamedTuple):
    """The geometry of sliding windows: how many (``size``), over which elements, in each spatial dimension."""

    kernel: Ints
    size: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int = 1

    @property
    def reach(self) -> list[int]:
        """The padded extent that the windows cover, in each dimension."""
        along = zip(self.size, self.kernel, self.stride, self.dilation)
        return [(j - 1) * s + d * (k - 1) + 1 for j, k, s, d in along]


def as_tuples(a: Any, b: Any, c: Any, d: Any = None) -> tuple[Any, Any, Any, Any]:
    """Options with lists as tuples, as keys of a cache. Unrolled: a loop would take as long as the look-up."""
    return (
        tuple(a) if a.__class__ is list else a,
        tuple(b) if b.__class__ is list else b,
        tuple(c) if c.__class__ is list else c,
        tuple(d) if d.__class__ is list else d,
    )


def pad_or_crop(x: np.ndarray, offset: Ints, size: Ints, fill: Any = 0) -> np.ndarray:
    """``x`` placed at ``offset`` in the last dimensions of a larger (padded) array of that size; a view if only
    cropped.
    """
    lead = x.shape[: x.ndim - len(size)]
    x = x[(..., *(slice(max(0, -o), max(0, n - o)) for o, n in zip(offset, size)))]
    have = x.shape[len(lead) :]
    if have == tuple(size):
        return x
    frame = np.full((*lead, *size), fill, x.dtype) if fill else np.zeros((*lead, *size), x.dtype)
    frame[(..., *(slice(max(0, o), max(0, o) + n) for o, n in zip(offset, have)))] = x
    return frame


def windows(x: np.ndarray, layout: WindowLayout) -> np.ndarray:
    """A view (lead..., kernel..., size...) of (lead..., padded spatial...).

    The element [.., k, j] is ``x[.., j * stride + k * dilation]``.
    """
    at = x.ndim - len(layout.kernel)
    along = [[n * s for n, s in zip(by, x.strides[at:])] for by in (layout.dilation, layout.stride)]
    shape, strides = (*x.shape[:at], *layout.kernel, *layout.size), (*x.strides[:at], *along[0], *along[1])
    return strided(x, shape, strides, 0) if x.flags.c_contiguous else as_strided(x, shape, strides)


def _blocks(images: int, rows: int, row_bytes: int, least: int = 1) -> Iterator[tuple[slice, slice]]:
    """Slices of a batch of about ``BLOCK`` bytes: several images (at least ``least``), or some rows of one image."""
    at_once = max(1, BLOCK // max(1, row_bytes))
    step = at_once // rows if at_once // rows >= least else 1
    for n in range(0, images, step):
        for r in range(0, rows, at_once):
            yield slice(n, min(n + step, images)), slice(r, min(r + at_once, rows))


def _im2col_blocks(x: np.ndarray, layout: WindowLayout) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """The im2col matrix of one block of outputs after another: (images, rows, matrix).

    The matrix is (groups, channels * kernel, images, positions), in a buffer that the next one overwrites.
    """
    groups, n, kernel = layout.groups, len(layout.kernel), math.prod(layout.kernel)
    depth = x.shape[1] // groups * kernel
    view = windows(pad_or_crop(x, layout.padding, layout.reach), layout)
    view = view.transpose(*range(1, n + 2), 0, *range(n + 2, 2 * n + 2))  # channels, kernel, images, size
    scratch = np.empty(0, x.dtype)
    row_bytes = groups * depth * math.prod(layout.size[1:]) * x.itemsize
    for images, rows in _blocks(len(x), layout.size[0], row_bytes):
        part = view[(*[ALL] * (n + 1), images, rows)]
        if kernel > 1:  # for a kernel of one element x itself is the matrix
            if scratch.size < part.size:
                scratch = np.empty(part.size, x.dtype)
            columns = scratch[: part.size].reshape(part.shape)
            if part.shape[-1] > NARROW:
                np.copyto(columns, part)
            else:  # NumPy copies short rows one by one
                for j in range(part.shape[-1]):
                    np.copyto(columns[..., j], part[..., j])
            part = columns
        yield images, rows, part.reshape(groups, depth, part.shape[n + 1], math.prod(part.shape[n + 2 :]))


def add_to_windows(targets: np.ndarray, columns: np.ndarray, kernel: Ints) -> None:
    """col2im: add columns (N, C, kernel..., size...) to the windows of ``targets``."""
    for tap in product(*map(range, kernel)):
        target = targets[(ALL, ALL, *tap)]
        np.add(target, columns[(ALL, ALL, *tap)], out=target)


def count_multiplications(x: np.ndarray, w: np.ndarray, layout: WindowLayout) -> int:
    """The number of multiplications, which decides between NumPy and a kernel."""
    return len(x) * w.size * math.prod(layout.size)


# --- what is small: all windows at once ---------------------------------------------------------------------------


class Im2col(NamedTuple):
    """im2col of all windows at once: a small array's columns as one strided copy."""

    frame: Ints | None  # with the padding; None if there is none
    inside: tuple[slice, ...]  # where the array is in the frame
    shape: Ints  # (N, C, kernel..., size...)
    size: Ints
    strides: Ints  # of that shape in the frame, in bytes
    columns: Ints  # (N, groups, C / groups * kernel, positions)

    def of(self, x: np.ndarray) -> np.ndarray:
        """The columns; for a kernel of one element possibly a view."""
        if self.frame is not None:
            frame = np.zeros(self.frame, x.dtype)
            frame[self.inside] = x
            x = frame
        elif not x.flags.c_contiguous:
            x = x.copy()
        return np.ndarray(self.shape, x.dtype, x, 0, self.strides).reshape(self.columns)

    def product(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The convolution."""
        _, groups, depth, _ = self.columns
        out = np.matmul(w.reshape(groups, len(w) // groups, depth), self.of(x))
        return out.reshape(len(x), len(w), *self.size)


@lru_cache(512)
def small_im2col(x: Ints, layout: WindowLayout, itemsize: int) -> Im2col | None:
    """:class:`Im2col` for an array of shape (N, C, spatial...); None where windows are many, or none."""
    columns = x[0], layout.groups, x[1] // layout.groups * math.prod(layout.kernel), math.prod(layout.size)
    extent = [n + 2 * p for n, p in zip(x[2:], layout.padding)]
    if not 0 < math.prod(columns) <= SMALL or any(map(int.__lt__, extent, layout.reach)):
        return None
    frame = (*x[:2], *extent)
    strides = [itemsize * math.prod(frame[i + 1 :]) for i in range(len(frame))]
    along = [[n * s for n, s in zip(by, strides[2:])] for by in (layout.dilation, layout.stride)]
    inside = (ALL, ALL, *[slice(p, p + n) for n, p in zip(x[2:], layout.padding)])
    return Im2col(
        frame if any(layout.padding) else None,
        inside,
        (*x[:2], *layout.kernel, *layout.size),
        layout.size,
        (*strides[:2], *along[0], *along[1]),
        columns,
    )


class Col2im(NamedTuple):
    """col2im of all products of a small transposed convolution at once, by one scatter-add."""

    # which products, of (N, groups, O / groups * kernel, positions), are inside the result; None if all are
    kept: np.ndarray | None
    index: np.ndarray  # type: ignore[assignment]  # their flat indices in the result
    out: Ints  # (N, O, size...)
    x: Ints  # (N, groups, C / groups, positions)
    w: Ints  # (groups, C / groups, O / groups * kernel)

    def product(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The transposed convolution."""
        return self.sum(np.matmul(w.reshape(self.w).swapaxes(1, 2), x.reshape(self.x)))

    def sum(self, products: np.ndarray) -> np.ndarray:
        """The products, scattered and summed."""
        out = np.zeros(math.prod(self.out), products.dtype)
        np.add.at(out, self.index, products.reshape(-1) if self.kept is None else products.take(self.kept))
        return out.reshape(self.out)


def _window_elements(size: Ints, layout: WindowLayout) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices of windows' elements in an array of that size, (kernel..., size...), and which are outside."""
    index, outside, n = np.zeros((), int), np.zeros((), bool), len(layout.kernel)
    for d, (extent, k, j, s, p, by) in enumerate(zip(size, *layout[:5])):
        at = np.arange(k)[:, None] * by + np.arange(j) * s - p  # [tap, position]
        at = at.reshape([k if i == d else j if i == d + n else 1 for i in range(2 * n)])
        index, outside = index * extent + at, outside | (at < 0) | (at >= extent)
    return index, outside


@lru_cache(256)
def small_col2im(x: Ints, w: Ints, size: Ints, layout: WindowLayout) -> Col2im | None:
    """:class:`Col2im` for shapes (N, C, spatial...) and (C, O / groups, kernel...); None where products are many, or
    none.
    """
    groups, kernel = layout.groups, layout.kernel
    out = x[0], w[1] * groups, *size
    if not 0 < x[0] * out[1] * math.prod((*kernel, *layout.size)) <= FEW or not math.prod(out) or not x[1]:
        return None
    index, outside = _window_elements(size, layout)
    index = np.arange(x[0] * out[1]).reshape(x[0], out[1], *[1] * index.ndim) * math.prod(size) + index
    kept = np.flatnonzero(~np.broadcast_to(outside, index.shape)) if outside.any() else None
    index, positions = index.reshape(-1), math.prod(layout.size)
    each = x[1] // groups
    return Col2im(
        kept,
        index if kept is None else index.take(kept),
        out,
        (x[0], groups, each, positions),
        (groups, each, w[1] * math.prod(kernel)),
    )


def plane_scatter_tables(
    x: Ints, w: Ints, size: Ints, layout: WindowLayout, transposed: bool
) -> tuple[np.ndarray, ...] | None:
    """The tables of :func:`pullback.kernels.conv_tables.correlate` for such shapes; None where products are many, or
    none.
    """
    kernel, groups, channels = math.prod(layout.kernel), layout.groups, x[1] // layout.groups
    if not 0 < x[0] * math.prod(w) * math.prod(layout.size) <= FEWER or not math.prod(size):
        return None
    spatial, features = x[2:], (w[1] if transposed else w[0] // groups)
    # [position, tap]
    index, outside = (a.reshape(kernel, -1).T for a in _window_elements(size if transposed else spatial, layout))
    positions, taps = (a.ravel() for a in np.indices(index.shape))
    rows, columns = positions, np.where(outside, -1, index).ravel()
    if transposed:
        order = columns.argsort(kind="stable")[np.count_nonzero(outside) :]
        rows, columns, taps = columns[order], positions[order], taps[order]
    starts = rows.searchsorted(np.arange(math.prod(size) + 1))
    apart = (
        (channels * features * kernel, kernel, features * kernel)
        if transposed
        else (features * channels * kernel, channels * kernel, kernel)
    )
    return np.array([channels, features, groups, math.prod(spatial), math.prod(size), *apart]), starts, columns, taps


# --- the three products on arrays -------------------------------------------------------------------------------


def correlate(x: np.ndarray, w: np.ndarray, layout: WindowLayout) -> np.ndarray:
    """The convolution."""
    groups, per_group = layout.groups, len(w) // layout.groups
    out = np.empty((len(x), len(w), *layout.size), x.dtype)
    w = w.reshape(groups, per_group, math.prod(w.shape[1:]))
    for images, rows, columns in _im2col_blocks(x, layout):
        block = out[images, :, rows]
        block = block.reshape(len(block), groups, per_group, columns.shape[3])  # a view
        np.matmul(w, columns.transpose(2, 0, 1, 3), out=block)
    return out


def correlate_weight(x: np.ndarray, y: np.ndarray, layout: WindowLayout) -> np.ndarray:
    """The gradient of the weight, from input and output gradient."""
    groups = layout.groups
    channels, per_group = x.shape[1] // groups, y.shape[1] // groups
    multiplications = y.size * channels * math.prod(layout.kernel)
    if (
        multiplications < kernels.SIZES["convolution"]
        and kernels.MODE != "always"
        and (small := small_im2col(x.shape, layout, x.itemsize))
    ):
        columns = small.of(x)
        count, _, depth, positions = columns.shape
        columns = columns.transpose(1, 0, 3, 2).reshape(groups, count * positions, depth)
        y = (
            y.reshape(count, groups, per_group, positions)
            .transpose(1, 2, 0, 3)
            .reshape(groups, per_group, count * positions)
        )
        return np.matmul(y, columns).reshape(groups * per_group, channels, *layout.kernel)
    out = kernels.run("convolution", "correlate_weight", multiplications, x, y, layout)
    if out is not None:
        return out
    total: np.ndarray = np.zeros((groups, channels * math.prod(layout.kernel), per_group), x.dtype)
    for images, rows, columns in _im2col_blocks(x, layout):
        *lead, count, positions = columns.shape
        block: np.ndarray = y[images, :, rows].reshape(count, groups, per_group, positions).transpose(1, 2, 0, 3)
        block = block.reshape(groups, per_group, count * positions)
        total += np.matmul(columns.reshape(*lead, count * positions), block.swapaxes(1, 2))
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(y.shape[1], channels, *layout.kernel)


def correlate_transposed(x: np.ndarray, w: np.ndarray, size: Ints, layout: WindowLayout) -> np.ndarray:
    """The transposed convolution: ``size`` is that of the result, ``layout.size`` that of x."""
    out = kernels.run("convolution", "spread", count_multiplications(x, w, layout), x, w, size, layout)
    if out is not None:
        return out
    kernel, groups, per_group = layout.kernel, layout.groups, w.shape[1]
    channels = groups * per_group
    w = w.reshape(groups, len(w) // groups, per_group, *kernel)
    # With stride 1 it is a convolution with the flipped kernel, over all windows of x. col2im costs about three times
    # as much an element, and pays where the result has few channels.
    if max(layout.stride) == 1 and x.shape[1] * math.prod(size) <= 3 * channels * math.prod(layout.size):
        w = np.flip(w, tuple(range(3, w.ndim))).swapaxes(1, 2).reshape(channels, w.shape[1], *kernel)
        before = [d * (k - 1) - p for k, d, p in zip(kernel, layout.dilation, layout.padding)]
        return correlate(x, w, layout._replace(size=size, padding=before))
    frame = [max(r, p + n) for r, p, n in zip(layout.reach, layout.padding, size)]
    out = np.empty((len(x), channels, *size), x.dtype)
    w = np.ascontiguousarray(w.reshape(*w.shape[:2], per_group * math.prod(kernel)).swapaxes(1, 2))
    scratch = np.empty(0, x.dtype)
    row_bytes = groups * w.shape[1] * math.prod(layout.size[1:]) * x.itemsize
    for images, rows in _blocks(len(x), layout.size[0], row_bytes, least=8):
        # Images are innermost in memory, so that NumPy adds long rows even for small images.
        block = np.moveaxis(x[images, :, rows], 0, -1)
        shape = (groups, w.shape[1], math.prod(block.shape[1:]))
        if scratch.size < math.prod(shape):
            scratch = np.empty(math.prod(shape), x.dtype)
        columns = scratch[: math.prod(shape)].reshape(shape)
        np.matmul(w, block.reshape(groups, w.shape[2], shape[2]), out=columns)
        if rows.start == 0:
            total = np.moveaxis(np.zeros((channels, *frame, block.shape[-1]), x.dtype), -1, 0)
            targets = windows(total, layout)
        columns = np.moveaxis(columns.reshape(channels, *kernel, *block.shape[1:]), -1, 0)
        add_to_windows(targets[(ALL, ALL, *[ALL] * len(kernel), rows)], columns, kernel)
        if rows.stop == layout.size[0]:
            out[images] = pad_or_crop(total, [-p for p in layout.padding], size)
    return out
