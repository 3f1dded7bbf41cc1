"""The op ``reduce_at`` behind ``scatter_reduce`` and ``index_reduce``: sum, mean, prod, amax, amin at an index."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..base.dtypes import BOOLEAN, FLOAT32, FLOAT64, INT64
from ..core import op
from ..core.level import primal
from ..core.tensor import Tensor
from .index import RowIndex, put_at, sum_at, take_at
from .minmax import real_only
from .where import where

__all__ = ["_segment_reduce", "segment_reduce"]

WIDE = {"i": INT64, "u": INT64, "b": BOOLEAN, "c": np.dtype(np.complex128)}  # what sums and products are kept in
FEW = 64  # elements up to which ufunc.at is faster
REDUCTIONS = {
    "sum": (np.add, 0),
    "mean": (np.add, 0),
    "prod": (np.multiply, 1),
    "amax": (np.maximum, None),
    "amin": (np.minimum, None),
}


@op.general(name="reduce_at", node="name", method=False, holomorphic=False)
def reduce_at(input: Tensor, src: Tensor, at: list[Any], reduce: str, include_self: bool, name: str) -> Tensor:
    """The input, reduced at an advanced index with the elements of ``src``."""
    combine, neutral = REDUCTIONS[reduce]
    if neutral is None:
        real_only(input, f"{combine.__name__}_cpu")
    wide = input.dtype if neutral is None else WIDE.get(input.dtype.kind, FLOAT64)
    out, index = np.atleast_1d(input.astype(wide, "C")), tuple(at)
    if not include_self:
        if neutral is None:  # amax, amin: start from any of the new elements
            out[index] = src
        else:
            out[index] = neutral
    rows = RowIndex(at, out.shape) if src.size > FEW else None
    if rows is None or rows.columns > 1:
        combine.at(out, index, src)
    else:  # flat indices are several times as fast
        combine.at(out.reshape(-1), rows.flat.reshape(-1), np.broadcast_to(src, rows.given).reshape(-1))
    if reduce == "mean":
        count = np.maximum(_counts(input, src, at, include_self), 1)
        out = out.reshape(input.shape)
        out = out // count if out.dtype.kind in "iu" else out / count
    return out.reshape(input.shape).astype(input.dtype)


def _counts(input: np.ndarray, src: np.ndarray, at: list[Any], include_self: bool) -> np.ndarray:
    """The number of elements reduced to each result."""
    count = np.ones(input.shape or (1,), INT64)
    if not include_self:
        count[tuple(at)] = 0
    np.add.at(count, tuple(at), np.ones(src.shape, INT64))
    return count.reshape(input.shape)


def _occurrence_numbers(chosen: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each chosen element its number, 0, 1, ..., among those of the same position; -1 for the others."""
    turns, places = np.full(chosen.shape, -1), places[chosen]
    order = np.argsort(places, kind="stable")
    turns[chosen] = (np.arange(len(order)) - np.searchsorted(places[order], places[order]))[np.argsort(order)]
    return turns


@reduce_at.vjp_all
def _reduce_at_vjp(
    g: Any,
    wanted: list[bool],
    input: Any,
    src: Any,
    at: list[Any],
    reduce: str,
    include_self: bool,
    name: str,
    out: Any,
) -> Any:
    """The gradients of the old elements and of the new ones.

    Sum: that of the result. Mean: divided by the number of elements. Extremes: ties share equally. Product: times the
    product of the others, by division, or for zeros by leaving them out, one after the other where several share a
    position, so that derivatives of any order are right.
    """
    take = lambda v: take_at(v, at)  # noqa: E731
    old = lambda v: v if include_self else put_at(v, 0, at)  # for old elements that took part  # noqa: E731
    a, b, result = (v if isinstance(v, np.ndarray) else primal(v._array) for v in (input, src, out))
    if reduce == "sum":
        of_old, of_new = lambda: g, lambda: take(g)
    elif reduce == "mean":
        share = g / _counts(a, b, at, include_self).astype(FLOAT64 if a.dtype.itemsize == 8 else FLOAT32)
        of_old, of_new = lambda: share, lambda: take(share)
    elif reduce == "prod":
        x, rest = where(a == 0, 1, input), lambda x, y: g * reduce_at(x, y, at, "prod", include_self, name)
        of_old = lambda: rest(x, src) / x  # noqa: E731
        places = take(np.arange(a.size).reshape(a.shape))
        turns = _occurrence_numbers(np.broadcast_to(b == 0, places.shape), places)

        def of_new() -> Any:
            share = take(g * out) / where(turns >= 0, 1, src)
            # for the value alone one zero is enough
            for turn in range(turns.max(initial=-1) + 1 if isinstance(src, Tensor) else 1):
                share = where(turns == turn, take(rest(input, where(turns == turn, 1, src))), share)
            return share
    else:
        old_ties, new_ties = old((a == result).astype(a.dtype)), (b == take(result)).astype(a.dtype)
        share = g / (old_ties + sum_at(new_ties, at, a.shape))
        of_old, of_new = lambda: where(old_ties > 0, share, 0), lambda: where(new_ties > 0, take(share), 0)
    return old(of_old()) if wanted[0] else None, of_new() if wanted[1] else None


@op.composite(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """Each of the segments that follow each other along a dimension, reduced.

    Args:
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: of the segments, with the dimensions before ``axis`` in front.
        offsets: instead, where each segment begins, and the end.
        initial: what a segment begins with; of an empty one it is the result.
        unsafe: without effect: lengths are checked.

    Raises:
        RuntimeError: unless the lengths add up to the size of the dimension.

    >>> import pullback as torch
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 3.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    start, combine = _of_segments(reduce) if initial is None else (initial, _of_segments(reduce)[1])
    if combine is None:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    counts = lengths if lengths is not None else offsets.diff(dim=-1)  # type: ignore[union-attr]
    if counts.ndim != axis + 1:
        raise RuntimeError("segment_reduce(): Expected lengths to have one dimension more than there are before axis")
    if (counts < 0).any():
        raise RuntimeError("lengths contains negative value!")
    if (counts.sum(-1) != data.shape[axis]).any():
        raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(axis).")
    if axis:
        return ops.concat.stack(
            [
                segment_reduce(x, reduce, lengths=n, axis=axis - 1, initial=initial)
                for x, n in zip(data.unbind(0), counts.unbind(0))
            ]
        )
    rows = []
    for part in ops.slicing_views.split_with_sizes(data, counts.tolist(), 0):
        if reduce == "mean":
            total = part.sum(0)
            rows.append((total + (initial or 0)) / len(part) if len(part) else total + start)
        elif reduce in ("max", "min") and len(part):
            found = combine(part, 0)
            if initial is not None:  # of which a tie leaves the gradient to the elements
                beaten = found < initial if reduce == "max" else found > initial
                found = where(beaten | math.isnan(initial), initial, found)
            rows.append(found)
        else:
            part = ops.concat.cat([ops.create.full((1, *data.shape[1:]), start, dtype=data.dtype), part])
            rows.append(combine(part, 0))
    return ops.concat.stack(rows) if rows else data[:0]


_segment_reduce = segment_reduce  # its older name


def _of_segments(reduce: str) -> tuple[float, Any]:
    """What an empty segment gives, and the function that reduces one."""
    if reduce in ("max", "min"):
        return (-math.inf, ops.minmax.amax) if reduce == "max" else (math.inf, ops.minmax.amin)
    if reduce == "prod":
        return 1.0, ops.reduce.prod
    return (0.0, ops.reduce.sum) if reduce == "sum" else (math.nan, ops.reduce.mean if reduce == "mean" else None)
