"""Lowerings of sum and mean: loops that add up, fused with what computes the summands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...base.dtypes import WIDE
from ...ops import reduce as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import lowering


@lowering(ops.sum_all)
def _sum_all(fusion: Fusion, outs: Sequence[int], x: Ref, dtype: Any = None) -> bool:
    return dtype is None and fusion.sum(x.number, range(len(fusion.value(x).shape)), outs[0])


@lowering(ops.sum_dims)
def _sum_dims(fusion: Fusion, outs: Sequence[int], x: Ref, dims: Any, keepdim: bool, dtype: Any = None) -> bool:
    return dtype is None and fusion.sum(x.number, dims, outs[0])


@lowering(ops.mean)
def _mean(
    fusion: Fusion, outs: Sequence[int], x: Ref, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> bool:
    v, o = fusion.value(x), fusion.value(Ref(outs[0]))
    if dtype is not None:
        return False
    dims = ops.canonical_dims(dim, len(v.shape))
    total = fusion.new_value(o.shape, WIDE.get(o.dtype, o.dtype))
    count = math.prod([v.shape[d] for d in dims])
    return fusion.sum(x.number, dims, total) and fusion.elementwise(lambda a: a / count, [Ref(total)], outs[0], None)
