"""``pad`` and ``constant_pad_nd``: constant, reflect, replicate and circular padding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index as integer
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import cast_number
from ..base.layout import channels_inside, channels_outside, fill, is_channels_last
from ..core import op
from ..core.tensor import Tensor
from .slices import basic_index

__all__ = ["constant_pad_nd"]
__all_functional__ = ["pad"]


@op.general(name="constant_pad_nd", method=False, holomorphic=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """The tensor with a border of one value.

    Args:
        pad: how much before and after the last dimension, before and after the one before it, and so on. Negative: cut
            away.

    >>> import pullback as torch
    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, -1), 7)
    tensor([7, 1])
    """
    shape, source, target = _padded_slices(input.shape, tuple(map(integer, pad)))
    out = _zeros_like_layout(input, shape)
    if value.__class__ is not int or value:
        fill(out, cast_number(value, input.dtype))
    out[target] = input[source]
    return out


def _zeros_like_layout(input: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Zeros of a shape, ``channels_last`` if the input is."""
    if not is_channels_last(input):
        return np.zeros(shape, input.dtype)
    return channels_outside(np.zeros((shape[0], *shape[2:], shape[1]), input.dtype))


@lru_cache(256)
def _padded_slices(
    shape: tuple[int, ...], pad: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]:
    """The padded shape, the slices of the input that are kept, and where they go in the result."""
    n = len(shape)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * n:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {n} dimensions."
        )
    whole, source, target = list(shape), [slice(None)] * n, [slice(None)] * n
    for d, before, after in _pad_per_dim(pad, n):
        whole[d] += before + after
        if shape[d] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        source[d] = slice(max(-before, 0), shape[d] + min(after, 0))
        target[d] = slice(max(before, 0), whole[d] - max(after, 0))
    return tuple(whole), tuple(source), tuple(target)


constant_pad_nd.vjp(input=lambda g, pad: constant_pad_nd(g, [-n for n in pad]))


def _pad_per_dim(pad: Sequence[int], ndim: int) -> list[tuple[int, int, int]]:
    """Dimension, padding before and padding after, last dimension first."""
    return [(ndim - 1 - i, integer(pad[2 * i]), integer(pad[2 * i + 1])) for i in range(len(pad) // 2)]


def _source_index(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """The index in the input (of ``n`` slices) of each slice of the padded dimension."""
    i = np.arange(-before, n + after)
    if mode == "circular":  # around what negative padding leaves
        cut = max(-before, 0)
        return cut + (i - cut) % (n - cut + min(after, 0))
    head, tail = i[: max(before, 0)], i[max(len(i) - max(after, 0), 0) :]
    if mode == "replicate":
        head[:], tail[:] = 0, n - 1
    else:
        head[:], tail[:] = -head, 2 * (n - 1) - tail
    return i


def _copies(n: int, before: int, after: int, mode: str) -> list[tuple[slice, slice]]:
    """What is copied to where along a padded dimension: slices in a row, forward, backward, or one again and again."""
    index = _source_index(n, before, after, mode)
    steps = np.diff(index)
    turns = np.flatnonzero(np.diff(steps)) + 1  # where the step changes
    copies, first = [], 0
    while first < len(index):
        step = int(steps[first]) if first < len(steps) else 1
        later = turns[turns > first]
        last = int(later[0] if len(later) else len(steps)) + 1
        if abs(step) > 1:
            step, last = 1, first + 1
        start, stop = int(index[first]), int(index[last - 1]) + (step or 1)
        copies.append((slice(first, last), slice(start, stop if stop >= 0 else None, step or 1)))
        first = last
    return copies


_cached_copies = lru_cache(256)(_copies)
_cached_source_index = lru_cache(256)(_source_index)
SHORT = 4096  # slices up to which a plan is cached
FEW = 2048  # elements up to which copying in stretches takes more calls than it saves


@op.general(name="pad", node="name", method=False, holomorphic=False)
def _pad_with_copies(input: Tensor, dim: int, before: int, after: int, mode: str, name: str = "") -> Tensor:
    """One dimension padded with slices of the tensor itself."""
    n = input.shape[dim]
    if input.size < FEW:
        index = _cached_source_index(n, before, after, mode)
        if input.flags.c_contiguous or mode == "circular" or not is_channels_last(input):
            return input.take(index, dim)
        return channels_outside(channels_inside(input).take(index, dim - 1 if dim else 0))
    if dim == input.ndim - 1:
        index = (_cached_source_index if n + before + after <= SHORT else _source_index)(n, before, after, mode)
        fast = kernels.run("pad", "pad_rows", input.size, input, before, after, index)
        if fast is not None:
            return fast
    whole = (*input.shape[:dim], n + before + after, *input.shape[dim + 1 :])
    if mode != "circular" and is_channels_last(input):
        out = channels_outside(np.empty((whole[0], *whole[2:], whole[1]), input.dtype))
    else:
        out = np.empty(whole, input.dtype)
    for into, of in (_cached_copies if n + before + after <= SHORT else _copies)(n, before, after, mode):
        out[basic_index(dim, into)] = input[basic_index(dim, of)]
    return out


@op.general(name="pad_backward", method=False, holomorphic=False)
def _pad_backward(input: Tensor, n: int, dim: int, before: int, after: int, mode: str) -> Tensor:
    """The transpose of that: the gradients of copies added to those of the slices they were copied from."""
    index = _source_index(n, before, after, mode)
    lo, hi = max(before, 0), len(index) - max(after, 0)
    out = _zeros_like_layout(input, (*input.shape[:dim], n, *input.shape[dim + 1 :]))
    if lo < hi:
        out[basic_index(dim, slice(index[lo], index[lo] + hi - lo))] = input[basic_index(dim, slice(lo, hi))]
    for k in [*range(lo), *range(hi, len(index))]:
        out[basic_index(dim, index[k])] += input[basic_index(dim, k)]
    return out


_pad_with_copies.vjp(
    input=lambda g, input_shape, dim, before, after, mode: _pad_backward(g, input_shape[dim], dim, before, after, mode)
)
_pad_backward.vjp(
    input=lambda g, dim, before, after, mode: _pad_with_copies(g, dim, before, after, mode, "SliceBackward0")
)
_pad_with_copies.op.zero_second_derivative_nodes = ("Refl", "Repl")


@lru_cache(256)
def _check_copied_pad(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> list[tuple[int, int, int]]:
    """:func:`_pad_per_dim` for modes that copy slices; refuses padding larger than the input allows."""
    n, sides = len(shape), _pad_per_dim(pad, len(shape))
    for d, before, after in sides:
        most = max(before, after)
        if mode == "reflect" and most >= shape[d]:
            raise RuntimeError(
                f"Argument #{2 * (n - d) + 2}: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({before}, {after}) at dimension {d} of input {list(shape)}"
            )
        if mode == "circular" and most > shape[d]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        left = shape[d] + (min(before, 0) + min(after, 0) if mode == "circular" else before + after)
        if left <= 0 or not shape[d]:
            raise RuntimeError(
                f"The padding ({before}, {after}) leaves nothing of dimension {d} of input {list(shape)}"
            )
    return sides


MODES = {"reflect": "ReflectionPad{}DBackward0", "replicate": "ReplicationPad{}DBackward0", "circular": "CopySlices"}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """The tensor with a border.

    Args:
        pad: how much before and after the last dimension, before and after the one before it, and so on. Negative: cut
            away.
        mode: ``"constant"``: of one ``value`` (default 0). Or copies of the tensor's own slices, in all but the first
            one or two dimensions: ``"reflect"`` mirrors it without repeating the edge, ``"replicate"`` repeats the
            edge, ``"circular"`` goes on from the other end.

    Raises:
        RuntimeError: where there are too few slices to reflect, or to go round.

    >>> import pullback as torch
    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    n, dims = input.ndim, len(pad) // 2
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if dims > n:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {n}"
        )
    if mode == "constant":
        if value:  # is a float, whatever the input's type
            value = value if isinstance(value, complex) else float(value)
        return constant_pad_nd(input, pad, value or 0)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if dims not in (1, 2, 3) or n - dims not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {n}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    for d, before, after in _check_copied_pad(input._array.shape, tuple(map(integer, pad)), mode):
        input = _pad_with_copies(input, d, before, after, mode, MODES[mode].format(dims))
    return input
