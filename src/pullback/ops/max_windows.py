"""The op ``maxima`` behind max pooling: the maximum of each window and its index in the plane.

Windows slide, are adaptive (they divide the input), or are drawn at random. Of equal maxima the first counts; NaN is
above everything, and of several NaN the last counts; padding is never a maximum. Small inputs gather all windows at
once, by an index table that depends on the shape alone; large ones go through the elements of the kernel one by one, or
to machine code.

The derivative scatters the gradient to the indices, the only saved value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.dtypes import FLOAT32, FLOAT64, OF_NUMPY
from ..base.forks import cached_property
from ..base.layout import as_contiguous, channels_last_copy, is_channels_last
from ..core import op
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from .conv_products import WindowLayout, pad_or_crop, windows
from .interpolate import place

Ints = Sequence[int]
BLOCK = 1 << 18  # elements of the input at a time, for the processor's cache
CHANNELS_LAST_RANKS: dict[str, tuple[int, ...]] = {
    "AdaptiveMaxPool3DBackward0": (),
    "FractionalMaxPool2DBackward0": (),
    "FractionalMaxPool3DBackward0": (),
}
IMAGES = (3, 4, 5)
MANY = 16  # channels from which a vector of them at a time is faster than an element, other order of memory included
FEW = 1 << 15  # elements in windows up to which gathering all windows at once is faster


def _first_maxima(views: Sequence[np.ndarray], first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The maxima over arrays of one shape, and the number of the array each comes from, ``first`` or later."""
    count = np.uint8 if len(views) <= 256 else np.int32
    values, taps = views[0].copy(), np.empty(views[0].shape, count)
    taps[...] = first
    for tap, view in enumerate(views[1:], 1):
        np.maximum(taps, np.multiply(view > values, count(tap), dtype=count), out=taps)
        np.maximum(values, view, out=values)
    if values.dtype.kind == "f" and values.size and np.isnan(values.max()):
        for tap, view in enumerate(views):
            np.copyto(taps, count(tap), where=view != view)
    return values, taps


@functools.lru_cache(64)
def _window_numbers(spatial: Ints, layout: WindowLayout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The index of each window's first element (which may be padding), the offsets of the others from it, and the
    position in the kernel of the first element that is not padding.
    """
    each = list(zip(*layout[:5], [math.prod(spatial[d + 1 :]) for d in range(len(spatial))]))
    corners = functools.reduce(np.add.outer, [(np.arange(o) * s - p) * row for _, o, s, p, _, row in each])
    offsets = functools.reduce(np.add.outer, [np.arange(k) * d * row for k, _, _, _, d, row in each])
    first = np.zeros((), int)
    for k, o, s, p, d, _ in each:
        first = np.add.outer(first * k, np.maximum(0, -((np.arange(o) * s - p) // d)))
    return corners, offsets.ravel(), first


class SlidingWindows:
    """Windows at regular strides, as of ``max_pool``."""

    def __init__(self, spatial: Ints, layout: WindowLayout) -> None:
        self.spatial, self.size, self.layout, self.taps = spatial, layout.size, layout, math.prod(layout.kernel)

    @cached_property
    def within(self) -> IndexedWindows | None:
        """The windows without their padding, by index; None where a window may be all padding."""
        elements = self.elements
        return elements and IndexedWindows(
            self.spatial, self.size, plane_numbers(self.spatial, [e[None] for e in elements])
        )

    @cached_property
    def elements(self) -> list[np.ndarray] | None:
        """The indices of the windows' elements along each dimension, (windows, elements); see :attr:`within`."""
        spatial, layout = self.spatial, self.layout
        if any([p and d > 1 for p, d in zip(layout.padding, layout.dilation)]):
            return None
        elements = []
        for i, k, o, s, p, d in zip(spatial, *layout[:5]):
            start = np.arange(o)[:, None] * s - p
            first = np.where(start < 0, start % d, start)
            last = i - 1 - (i - 1 - start) % d
            elements.append(np.minimum(np.maximum(start + np.arange(k) * d, first), last))
        return elements

    def maxima(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The maxima (..., size...) over (..., spatial...), and their indices."""
        spatial, layout = self.spatial, self.layout
        fast = kernels.run("max_pool", "max_pool", x.size, x, layout, spatial)
        if fast is not None:
            return fast
        if x.size * self.taps < FEW and self.within is not None:
            return self.within.maxima(x)
        lead = x.shape[: x.ndim - len(spatial)]
        planes = x.reshape(math.prod(lead), *spatial)
        corners, offsets, first = _window_numbers(spatial, layout)
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        values = np.empty((len(planes), *layout.size), x.dtype)
        indices = np.empty(values.shape, np.int64)
        step = max(1, BLOCK // max(1, math.prod(spatial)))
        for at in range(0, len(planes), step):
            part = slice(at, at + step)
            view = windows(pad_or_crop(planes[part], layout.padding, layout.reach, least), layout)
            views = [view[(slice(None), *tap)] for tap in np.ndindex(*layout.kernel)]
            values[part], taps = _first_maxima(views, first)
            np.add(corners, offsets.take(taps), out=indices[part])
        if any(p and d > 1 for p, d in zip(layout.padding, layout.dilation)):  # a window may be all padding
            np.minimum(indices, math.prod(spatial) - 1, out=indices)
        shape = (*lead, *layout.size)
        return values.reshape(shape), indices.reshape(shape)


class IndexedWindows:
    """Any windows, given by the flat indices of their elements in the plane, (planes or 1, windows, elements).

    An index may be repeated to pad all windows to one length.

    Attributes:
        elements: the same along each dimension, (windows, elements), if it is the same for all planes.
    """

    def __init__(
        self,
        spatial: Ints,
        size: tuple[int, ...],
        numbers: np.ndarray,
        elements: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.spatial, self.size, self.numbers, self.elements = spatial, size, numbers, elements
        sets, windows, taps = numbers.shape
        self.counts = np.array([math.prod(spatial), windows, taps, windows * taps if sets > 1 else 0])  # for the kernel

    def maxima(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The maxima (..., size...) over (..., spatial...), and their indices."""
        size, numbers = self.size, self.numbers
        lead = x.shape[: -len(size)]
        planes, shape = math.prod(lead), lead + size
        if self.elements and x.size >= 4096 and x.ndim == len(size) + 2 and x.shape[1] >= MANY:
            fast = kernels.run("channels_last", "maxima", x.size, x, self.elements, self.spatial)
            if fast is not None:
                return as_contiguous(fast[0]), as_contiguous(fast[1])
        fast = kernels.run("max_windows", "gather_max", x.size, x, planes, self.counts, numbers, shape)
        if fast is not None:
            return fast
        flat, step = x.reshape(planes, math.prod(self.spatial)), max(1, BLOCK // max(1, math.prod(numbers.shape[1:])))
        if planes <= step:
            values, indices = _indexed_maxima(flat, numbers)
        else:
            values, indices = (np.empty((planes, numbers.shape[1]), d) for d in (x.dtype, np.int64))
            for at in range(0, planes, step):
                part = slice(at, at + step)
                values[part], indices[part] = _indexed_maxima(
                    flat[part], numbers if len(numbers) == 1 else numbers[part]
                )
        return values.reshape(shape), indices.reshape(shape).astype(np.int64, copy=False)


def _indexed_maxima(flat: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first maximum in each window, or the last NaN, of planes (planes, elements), and its flat index."""
    (n, each), (sets, windows, taps) = flat.shape, numbers.shape
    seen = (
        flat.take(numbers[0], 1) if sets == 1 else flat.reshape(-1).take(numbers + np.arange(n)[:, None, None] * each)
    )
    tap = seen.argmax(2)
    if seen.dtype.kind == "f" and seen.size and np.isnan(seen.max()):
        nan = seen != seen
        tap = np.where(nan.any(2), taps - 1 - nan[..., ::-1].argmax(2), tap)
    tap += np.arange(0, windows * taps, taps)
    if n > 1:
        row = np.arange(n)[:, None] * (windows * taps)
        return seen.reshape(-1).take(tap + row), numbers.reshape(-1).take(tap if sets == 1 else tap + row)
    return seen.reshape(-1).take(tap), numbers.reshape(-1).take(tap)


def plane_numbers(spatial: Ints, elements: Sequence[np.ndarray]) -> np.ndarray:
    """The flat indices of windows' elements, from their indices along each dimension, (planes or 1, size, elements)
    each.
    """
    total, *rest = elements
    for length, more in zip(spatial[1:], rest):
        total = total[:, :, None, :, None] * length + more[:, None, :, None, :]
        n, *shape = total.shape
        total = total.reshape(n, shape[0] * shape[1], shape[2] * shape[3])
    return total


class FractionalWindows:
    """The pseudo-random windows of Graham, "Fractional max-pooling" (2014), section 2: about evenly spaced along each
    dimension.

    Attributes:
        tables: by the dtype of the samples, the distance of windows along each dimension; their number, the start of
        the
            last, the stride of elements in the plane, and the sample that moves them; the offsets of a window's
            elements; the number of elements of a plane, of windows, and of elements of a window.
    """

    def __init__(self, spatial: Ints, kernel: Ints, size: tuple[int, ...]) -> None:
        self.spatial, self.size, n = spatial, size, len(spatial)
        steps = [(i - k) / (o - 1) if o > 1 else 0 for i, k, o in zip(spatial, kernel, size)]
        sizes = [
            (size[d], spatial[d] - kernel[d], math.prod(spatial[d + 1 :]), d if n == 3 else 1 - d) for d in range(n)
        ]
        taps = plane_numbers(spatial, [np.arange(k)[None, None] for k in kernel]).ravel()
        rest = np.array(sizes), taps, np.array([math.prod(spatial), math.prod(size), len(taps)])
        self.tables = {d: (np.array(steps, d), *rest) for d in (FLOAT32, FLOAT64)}


class RandomWindows(NamedTuple):
    """:class:`FractionalWindows` with their random samples.

    Attributes:
        samples: uniform samples that shift the windows of each plane, (planes..., dimensions); there may be more.
    """

    spacing: FractionalWindows
    samples: np.ndarray

    @property
    def spatial(self) -> Ints:
        return self.spacing.spatial

    @property
    def size(self) -> Ints:
        return self.spacing.size

    def maxima(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The maxima (..., size...) over (..., spatial...), and their indices."""
        spacing, samples = self
        steps, sizes, taps, _ = tables = spacing.tables[samples.dtype]
        size = spacing.size
        lead = x.shape[: -len(size)]
        planes, shape = math.prod(lead), lead + size
        fast = kernels.run("max_windows", "fractional_max", x.size, x, planes, samples, tables, shape)
        if fast is not None:
            return fast
        samples = samples.reshape(-1, len(size))[:planes]
        first = np.zeros((planes, 1), int)
        for (count, last, row, sample), step in zip(sizes.tolist(), steps):
            u = samples[:, sample, None]
            start = ((np.arange(count, dtype=u.dtype) + u) * step).astype(int) - (u * step).astype(int)
            start[:, count - 1 :] = last
            first = (first[:, :, None] + start[:, None] * row).reshape(planes, first.shape[1] * count)
        return IndexedWindows(spacing.spatial, size, first[:, :, None] + taps).maxima(x)


def adaptive_windows(spatial: Ints, size: Ints) -> SlidingWindows | IndexedWindows:
    """The windows of adaptive pooling, which divide the input into ``size`` and may overlap."""
    return (_adaptive_windows if math.prod(spatial) < FEW else _adaptive_windows.__wrapped__)(
        spatial, size
    )  # large tables are not cached


@functools.lru_cache(64)
def _adaptive_windows(spatial: Ints, size: Ints) -> SlidingWindows | IndexedWindows:
    if all([o and i % o == 0 for i, o in zip(spatial, size)]):
        kernel, n = tuple([i // o for i, o in zip(spatial, size)]), len(size)
        return SlidingWindows(spatial, WindowLayout(kernel, size, kernel, (0,) * n, (1,) * n))
    elements = []
    for i, o in zip(spatial, size):
        window = np.arange(o)
        start, stop = window * i // max(1, o), -(-(window + 1) * i // max(1, o))
        taps = np.arange(np.max(stop - start, initial=1))
        elements.append(np.minimum(start[:, None] + taps, stop[:, None] - 1))
    return IndexedWindows(spatial, size, plane_numbers(spatial, [e[None] for e in elements]), elements)


def _maxima_of_channels_last(windows: Any, x: np.ndarray) -> Any:
    """The maxima and indices of images whose channels are innermost in memory, as those of the results are."""
    elements = getattr(windows, "elements", None)
    if elements and x.size and x.ndim == len(elements) + 2:
        found = kernels.run("channels_last", "maxima", x.size, x, elements, windows.spatial)
        if found is not None:
            return found
    return tuple(map(channels_last_copy, windows.maxima(x)))


@op.general(outputs="values indices", differentiable="values", node="name", method=False)
def maxima(input: Tensor, windows: Any, name: str) -> Any:
    """The maxima of windows over the last dimensions, and their indices in these."""
    d = input.dtype
    if d.kind in "bc":
        raise NotImplementedError(f"max pooling is not implemented for '{dtypes.type_name(OF_NUMPY[d])}'")
    last = is_channels_last(input, IMAGES) and input.ndim in (
        (3, 4) if len(windows.spatial) == 1 else CHANNELS_LAST_RANKS.get(name, (4, 5))
    )
    x = wide(input)
    values, indices = _maxima_of_channels_last(windows, x) if last else windows.maxima(x)
    return values if values.dtype is d else as_type(values, d, copy=False), indices


maxima.vjp(input=lambda g, indices, windows: place(g, indices, windows.spatial, True))
maxima.op.zero_second_derivative_nodes = ("",)
