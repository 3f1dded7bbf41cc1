"""Lowerings of cat and stack: loops that store each tensor, as it is computed, at its place in the result."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...ops import concat as ops
from ..fusion import Fusion
from ..ir import Ref
from ..schedule import MemRef
from .registry import lowering


@lowering(ops.cat)
def _cat(fusion: Fusion, outs: Sequence[int], tensors: list[Any], dim: int = 0) -> bool:
    v, given = fusion.value(Ref(outs[0])), [fusion.value(t) for t in tensors]
    if fusion.loop_type([t.number for t in tensors]) is None or any(g.dtype != v.dtype for g in given):
        return False
    if any(len(g.shape) != len(v.shape) or 0 in g.shape for g in given):
        return False
    ends = list(accumulate([g.shape[dim] for g in given], initial=0))
    return _store_side_by_side(fusion, outs[0], tensors, dim, [slice(a, b) for a, b in pairwise(ends)])


@lowering(ops.stack)
def _stack(fusion: Fusion, outs: Sequence[int], tensors: list[Any], dim: int = 0) -> bool:
    v, given = fusion.value(Ref(outs[0])), [fusion.value(t) for t in tensors]
    if fusion.loop_type([t.number for t in tensors]) is None or any(g.dtype != v.dtype for g in given) or 0 in v.shape:
        return False
    return _store_side_by_side(fusion, outs[0], tensors, dim, range(len(tensors)))


def _store_side_by_side(fusion: Fusion, out: int, tensors: list[Any], dim: int, places: Sequence[Any]) -> bool:
    """Let loops copy each to its place along a dimension of the result."""
    v = fusion.value(Ref(out))
    result = MemRef(out, np.empty(v.shape, v.dtype), 0)
    before = (slice(None),) * (dim % len(v.shape))
    targets = [result.view(result.like[(*before, place, ...)]) for place in places]
    last = max([fusion.store_at(t.number, target) for t, target in zip(tensors, targets)])
    fusion.allocate_at(out, result.like, last)
    return True
