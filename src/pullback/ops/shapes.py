"""The shapes of results for tensors on ``meta`` that are too large to compute with zeros (:mod:`.values.meta`).

Most operations copy the sizes of their results from those of their arguments. They are *scaled down*: each large size
becomes a small one of its own, the operation computes with zeros, and the sizes of what comes out become large again.
That is done twice, with other small sizes, and counts only if both agree. Where sizes are computed (padding,
convolutions, indices), a rule here computes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from operator import index as integer
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import OF_NUMPY, promote_types
from ..core.level import wrap_value
from ..core.op import OpTable
from .activation import _glu
from .concat import _block_diag, _cartesian_prod, _matrix_shape, _repeated, cat, repeat, stack
from .convolution import convolution, convolution_weight, layout_and_shape
from .distance import _pdist
from .fft import fft_c2r, fft_r2c
from .fold import fold as col2im
from .fold import folded_shape, unfolded_shape
from .fold import unfold as im2col
from .grid_sample import affine_moments, affine_points
from .index import put_at, sum_at, take_at
from .interpolate import channel_shuffle, pick, pixel_shuffle, pixel_unshuffle, place, resample
from .max_windows import maxima
from .pad import _pad_backward, _pad_with_copies, constant_pad_nd
from .recurrent import elman, gru, lstm
from .scan import neighbours
from .slices import blank_part, place_part, read_part, view_part, write_part
from .slicing_views import _as_strided, unfold, unfold_backward
from .values.meta import LARGE, Meta
from .view import _reshape_alias, _unsafe_view, expand, view_shape

KEPT = 6  # sizes up to this one stay when others are scaled down
shape_rule = OpTable()  # the result of operations that compute sizes


def described(op: Any, values: Sequence[Any]) -> Any:
    """The result by the rules for shapes; None if there is none, or so little that computing with zeros is exact in
    every detail, its strides and errors included.
    """
    large = any([w.size > LARGE for v in values for w in (v if v.__class__ is list else (v,)) if isinstance(w, Meta)])
    rule = shape_rule.get(op) or ((as_view if op.kind == "view" else scaled) if large else None)
    if rule is None:
        return None
    try:
        with thread_state.no_grad():
            result = rule(op, *values)
    except Exception:  # the operation itself says what is wrong
        return None
    large = large or any([m.size > LARGE for m in (result if result.__class__ is list else [result])])
    return result if large else None


# --- scaled down ------------------------------------------------------------------------------------------------


def scaled(op: Any, *values: Any) -> Any:
    """What an operation gives, from what it gives for small sizes.

    Raises:
        ValueError: if it computes sizes.
    """
    first, second = (_scaled(op, values, start) for start in (KEPT + 1, 2 * KEPT + 1))
    alike = [[m.shape for m in (r if r.__class__ is list else [r])] for r in (first, second)]
    if alike[0] != alike[1]:
        raise ValueError(f"{op.name} computes sizes")
    return first


def _scaled(op: Any, values: Sequence[Any], start: int) -> Any:
    flat = list(_flat(values))
    sizes = {n for a in flat if isinstance(a, (Meta, np.ndarray)) for n in a.shape}
    options = {v for v in flat if v.__class__ is int} - sizes
    taken = sizes | options | {len(v) for v in values if v.__class__ is list}
    free = (n for n in range(start, 1 << 20) if n not in taken)
    small = dict(zip(sorted([n for n in sizes if n > KEPT]), free))
    large = {n: n for n in [*range(KEPT + 1), *options]} | {m: n for n, m in small.items()}

    def shrink(value: Any) -> Any:
        if value.__class__ in (list, tuple):
            return value.__class__([shrink(v) for v in value])
        if isinstance(value, Meta):
            order = sorted(range(value.ndim), key=lambda d: (-value.strides[d], d))
            laid = np.zeros([small.get(value.shape[d], value.shape[d]) for d in order], value.dtype)
            return laid.transpose(np.argsort(order)) if order else laid
        if isinstance(value, np.ndarray):
            return np.zeros([small.get(n, n) for n in value.shape], value.dtype)
        return small.get(value, value) if value.__class__ is int else value

    def grow(result: Any) -> Meta:
        array = result._array
        if not all(n in large for n in array.shape):
            raise ValueError(f"{op.name} computes sizes")
        shape = [large[n] for n in array.shape]
        return Meta(shape, array.dtype, _dense_strides(shape, array.strides, array.itemsize))

    args = [shrink(v) for v in values]
    if op.takes_tensor_list:
        args[0] = [wrap_value(a) for a in args[0]]
    result = op.call(
        *[wrap_value(a) if i in op.tensors and isinstance(a, np.ndarray) else a for i, a in enumerate(args)]
    )
    return [grow(r) for r in result] if isinstance(result, (tuple, list)) else grow(result)


def _flat(values: Any) -> Iterator[Any]:
    for v in values:
        if v.__class__ in (list, tuple):
            yield from _flat(v)
        else:
            yield v


def _dense_strides(shape: Sequence[int], like: Sequence[int], itemsize: int) -> list[int]:
    """Strides without gaps, in the order of others."""
    strides, step = [0] * len(shape), itemsize
    for d in sorted(range(len(shape)), key=lambda d: (like[d], -d)):
        strides[d] = step
        step *= shape[d]
    return strides


# --- views ------------------------------------------------------------------------------------------------------


def as_view(op: Any, x: Meta, *options: Any) -> Any:
    """What a view of memory is, from one of memory that is not there: nothing is read."""
    result = op.impl(x.hollow(), *options)
    return [Meta.of(r) for r in result] if isinstance(result, (list, tuple)) else Meta.of(result)


@shape_rule(view_shape, _reshape_alias)
def _view(op: Any, x: Meta, shape: Sequence[int]) -> Meta:
    return Meta.of(np.reshape(x.hollow(), _sizes(x, shape), copy=False))


@shape_rule(_unsafe_view)
def _copied_view(op: Any, x: Meta, shape: Sequence[int]) -> Meta:
    return Meta(_sizes(x, shape), x.dtype)


def _sizes(x: Meta, shape: Sequence[int]) -> list[int]:
    sizes = [integer(n) for n in shape]
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.size // max(1, -prod(sizes))
    if prod(sizes) != x.size or min(sizes, default=0) < 0:
        raise ValueError
    return sizes


@shape_rule(unfold)
def _unfold(op: Any, x: Meta, dimension: int, size: int, step: int) -> Meta:
    d = dimension % x.ndim
    shape = (*x.shape[:d], (x.shape[d] - size) // step + 1, *x.shape[d + 1 :], size)
    return Meta(shape, x.dtype, (*x.strides[:d], x.strides[d] * step, *x.strides[d + 1 :], x.strides[d]))


@shape_rule(_as_strided)
def _strided(op: Any, x: Meta, geometry: tuple[Any, ...]) -> Meta:
    return Meta(geometry[2], x.dtype, geometry[3])


@shape_rule(view_part)
def _part(op: Any, x: Meta, part: Any, name: str = "") -> Meta:
    if part.__class__ is tuple:
        return as_view(op, x, part, name)
    return Meta(_part_shape(x.shape, part), x.dtype)


@shape_rule(read_part)
def _read(op: Any, x: Meta, part: Any, name: str = "") -> Meta:
    return Meta(_part_shape(x.shape, part), x.dtype)


def _part_shape(shape: Sequence[int], part: Any) -> tuple[int, ...]:
    if part.__class__ is not tuple:
        return tuple(part.shape)
    return np.broadcast_to(np.empty((), bool), shape)[part].shape


# --- parts and indices ------------------------------------------------------------------------------------------


@shape_rule(place_part)
def _placed(op: Any, x: Meta, part: Any, shape: Sequence[int], name: str = "") -> Meta:
    return Meta(shape, x.dtype)


@shape_rule(unfold_backward)
def _unfolded(op: Any, x: Meta, shape: Sequence[int], *options: Any) -> Meta:
    return Meta(shape, x.dtype)


@shape_rule(sum_at)
def _sum_at(op: Any, x: Meta, at: Any, shape: Sequence[int], dim: Any = None) -> Meta:
    return Meta(shape, x.dtype)


@shape_rule(blank_part, write_part, put_at)
def _written(op: Any, x: Meta, *options: Any) -> Meta:
    return Meta(x.shape, x.dtype)


@shape_rule(take_at)
def _taken(op: Any, x: Meta, at: Any, name: str = "", dim: Any = None) -> Meta:
    last = at[-1]
    if dim is not None and dim.__class__ is int and 0 <= dim < x.ndim and last.ndim != x.ndim:
        return Meta(x.shape[:dim] + last.shape + x.shape[dim + 1 :], x.dtype)
    if dim is not None:  # of a flat index, or one for each element
        return Meta(last.shape, x.dtype)
    index = tuple([np.broadcast_to(np.zeros((), i.dtype), i.shape) if isinstance(i, Meta) else i for i in at])
    arrays = [i for i in index if isinstance(i, np.ndarray)]
    if any(a.dtype.kind == "b" for a in arrays):
        raise ValueError
    gathered = np.broadcast_shapes(*[a.shape for a in arrays])
    places = [d for d, i in enumerate(index) if isinstance(i, np.ndarray)]
    plain = [len(range(*i.indices(n))) for i, n in zip(index, x.shape) if isinstance(i, slice)]
    if not all(isinstance(i, (slice, np.ndarray)) for i in index):
        raise ValueError
    together = places == list(range(places[0], places[-1] + 1))
    before = len([i for i in index[: places[0]] if isinstance(i, slice)]) if together else 0
    return Meta((*plain[:before], *gathered, *plain[before:], *x.shape[len(index) :]), x.dtype)


# --- sizes that are computed ------------------------------------------------------------------------------------


@shape_rule(expand)
def _expand(op: Any, x: Meta, size: Sequence[int]) -> Meta:
    return as_view(op, x, size)


@shape_rule(cat)
def _cat(op: Any, tensors: list[Any], dim: int = 0) -> Meta:
    kept = [t for t in tensors if t.shape != (0,)]
    like = kept[0]
    shape = list(like.shape)
    shape[dim] = sum([t.shape[dim] for t in kept])
    return Meta(shape, _promoted_type(tensors))


def _promoted_type(tensors: list[Any]) -> np.dtype:
    return reduce(promote_types, [OF_NUMPY[t.dtype] for t in tensors]).numpy


@shape_rule(stack)
def _stacked(op: Any, tensors: list[Any], dim: int = 0) -> Meta:
    (shape,) = {t.shape for t in tensors}
    d = dim % (len(shape) + 1)
    return Meta((*shape[:d], len(tensors), *shape[d:]), _promoted_type(tensors))


@shape_rule(_block_diag)
def _blocks(op: Any, tensors: list[Any]) -> Meta:
    shapes = [_matrix_shape(t.shape) for t in tensors]
    return Meta([sum(n) for n in zip(*shapes)], _promoted_type(tensors))


@shape_rule(_cartesian_prod)
def _choices(op: Any, tensors: list[Any]) -> Meta:
    return Meta((prod([t.size for t in tensors]), len(tensors)), tensors[0].dtype)


@shape_rule(_pdist)
def _pairs(op: Any, x: Meta, p: float) -> Meta:
    n = x.shape[0]
    return Meta((n * (n - 1) // 2,), x.dtype)


@shape_rule(repeat)
def _repeat(op: Any, x: Meta, repeats: Sequence[int]) -> Meta:
    shape = (1,) * (len(repeats) - x.ndim) + tuple(x.shape)
    return Meta([n * integer(r) for n, r in zip(shape, repeats)], x.dtype)


@shape_rule(_repeated)
def _repeat_each(op: Any, x: Meta, times: int, dim: int) -> Meta:
    return Meta((*x.shape[:dim], x.shape[dim] * times, *x.shape[dim + 1 :]), x.dtype)


@shape_rule(constant_pad_nd)
def _pad(op: Any, x: Meta, pad: Sequence[int], value: Any = 0) -> Meta:
    shape = list(x.shape)
    for k in range(len(pad) // 2):
        shape[-1 - k] += integer(pad[2 * k]) + integer(pad[2 * k + 1])
    if min(shape, default=0) < 0:
        raise ValueError
    return Meta(shape, x.dtype)


@shape_rule(_pad_with_copies)
def _pad_copies(op: Any, x: Meta, dim: int, before: int, after: int, *options: Any) -> Meta:
    return Meta((*x.shape[:dim], x.shape[dim] + before + after, *x.shape[dim + 1 :]), x.dtype)


@shape_rule(_pad_backward)
def _pad_gradient(op: Any, x: Meta, n: int, dim: int, *options: Any) -> Meta:
    return Meta((*x.shape[:dim], n, *x.shape[dim + 1 :]), x.dtype)


@shape_rule(convolution)
def _convolution(op: Any, x: Meta, weight: Any, bias: Any = None, *options: Any) -> Meta:
    options = tuple([tuple(v) if v.__class__ is list else v for v in options])
    _, shape = layout_and_shape(x.shape, weight.shape, None if bias is None else bias.shape, *options)
    return Meta(shape, x.dtype)


@shape_rule(convolution_weight)
def _weight(op: Any, x: Meta, output: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Meta:
    return Meta((output.shape[1], x.shape[1] // groups, *kernel), x.dtype)


@shape_rule(maxima)
def _maxima(op: Any, x: Meta, windows: Any, name: str) -> list[Meta]:
    shape = (*x.shape[: x.ndim - len(windows.spatial)], *windows.size)
    return [Meta(shape, x.dtype), Meta(shape, np.int64)]


@shape_rule(resample)
def _resample(op: Any, x: Meta, lines: Any, name: str) -> Meta:
    return Meta((*x.shape[: x.ndim - len(lines.lines)], *[line.size[0] for line in lines.lines]), x.dtype)


@shape_rule(affine_points)
def _points(op: Any, theta: Meta, spatial: Sequence[int], *options: Any) -> Meta:
    return Meta((theta.shape[0], prod(spatial), theta.shape[1]), theta.dtype)


@shape_rule(affine_moments)
def _moments(op: Any, grid: Meta, *options: Any) -> Meta:
    return Meta((grid.shape[0], grid.shape[2], grid.shape[2] + 1), grid.dtype)


@shape_rule(pick)
def _pick(op: Any, x: Meta, index: Any, n: int) -> Meta:
    return Meta((*x.shape[: x.ndim - n], *index.shape[index.ndim - n :]), x.dtype)


@shape_rule(place)
def _place(op: Any, x: Meta, index: Any, size: Sequence[int], *options: Any) -> Meta:
    return Meta((*x.shape[: x.ndim - len(size)], *size), x.dtype)


@shape_rule(pixel_shuffle)
def _shuffle(op: Any, x: Meta, r: int) -> Meta:
    *lead, c, h, w = x.shape
    if c % (r * r):
        raise ValueError
    return Meta((*lead, c // (r * r), h * r, w * r), x.dtype)


@shape_rule(pixel_unshuffle)
def _unshuffle(op: Any, x: Meta, r: int) -> Meta:
    *lead, c, h, w = x.shape
    if h % r or w % r:
        raise ValueError
    return Meta((*lead, c * r * r, h // r, w // r), x.dtype)


@shape_rule(channel_shuffle)
def _same(op: Any, x: Meta, groups: int) -> Meta:
    return Meta(x.shape, x.dtype)


@shape_rule(im2col)
def _columns(op: Any, x: Meta, *options: Any) -> Meta:
    return Meta(unfolded_shape(x.shape, *options)[1], x.dtype)


@shape_rule(col2im)
def _images(op: Any, x: Meta, *options: Any) -> Meta:
    return Meta(folded_shape(x.shape, *options)[1], x.dtype)


@shape_rule(neighbours)
def _differences(op: Any, x: Meta, sign: int, dim: int) -> Meta:
    return Meta((*x.shape[:dim], max(0, x.shape[dim] - 1), *x.shape[dim + 1 :]), x.dtype)


@shape_rule(_glu)
def _halved(op: Any, x: Meta, dim: int = -1) -> Meta:
    shape = list(x.shape)
    shape[dim] //= 2
    if shape[dim] * 2 != x.shape[dim]:
        raise ValueError
    return Meta(shape, x.dtype)


@shape_rule(elman)
def _elman(op: Any, x: Meta, hidden: Any, *options: Any) -> Meta:
    return Meta((x.shape[0], hidden.shape[1]), x.dtype)


@shape_rule(gru)
def _gru(op: Any, x: Meta, hidden: Any, *options: Any) -> list[Meta]:
    return [Meta((x.shape[0], n), x.dtype) for n in (hidden.shape[1], 0)]


@shape_rule(lstm)
def _lstm(op: Any, x: Meta, hidden: Any, cell: Any, *options: Any) -> list[Meta]:
    return [Meta((x.shape[0], n), x.dtype) for n in (hidden.shape[1], cell.shape[1], 0)]


@shape_rule(fft_r2c)
def _half(op: Any, x: Meta, dim: Sequence[int], *options: Any) -> Meta:
    shape = list(x.shape)
    shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return Meta(shape, np.result_type(x.dtype, np.complex64))


@shape_rule(fft_c2r)
def _whole(op: Any, x: Meta, dim: Sequence[int], factor: Any, forward: Any, n: int) -> Meta:
    shape = list(x.shape)
    shape[dim[-1]] = n
    return Meta(shape, np.empty(0, x.dtype).real.dtype)
