"""Lowering of sums at an index (``index_accumulate``), as embedding's gradient makes them: rows added by a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernels import embedding as kernels
from ...ops import index as ops
from ...ops.linear_embedding import check_rows
from ..fusion import Fusion
from ..ir import Ref
from .linear_embedding import are_rows
from .registry import lowering


@lowering(ops.sum_at)
def _sum_at(
    fusion: Fusion, outs: Sequence[int], input: Ref, at: Sequence[Any], shape: tuple[int, ...], dim: int | None
) -> bool:
    """At row numbers that embedding was called with, whose range is checked already."""
    v = fusion.value(Ref(outs[0]))
    if dim is not None or len(at) != 1 or at[0].__class__ is not Ref or not are_rows(fusion, v, at[0]):
        return False
    if not fusion.is_range_checked(check_rows, at[0], shape[0]):
        return False
    x, numbers, out = fusion.contiguous(input), fusion.contiguous(at[0]), fusion.allocate(outs[0])
    integers = [kernels.blocks(v.dtype, shape[1]), math.prod(numbers.like.shape), shape[1], shape[0]]
    fusion.call_kernel("add_rows", kernels.add_kernel(v.dtype), [*integers, x, numbers, out], [out])
    return True
