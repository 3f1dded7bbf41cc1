"""Lowering of mse_loss: one loop that squares differences and adds them up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ops import loss as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import lowering


@lowering(ops._mse)
def _mse(fusion: Fusion, outs: Sequence[int], x: Ref, y: Ref, reduction: str) -> bool:
    v = fusion.value(x)
    if reduction == "none" or fusion.loop_type([x.number, y.number]) is None or 0 in v.shape:
        return False
    square, total = fusion.new_value(v.shape, v.dtype), fusion.new_value((), v.dtype)
    count = math.prod(v.shape) if reduction == "mean" else 1
    return (
        fusion.elementwise(lambda a, b: (a - b) * (a - b), [x, y], square, None)
        and fusion.sum(square, range(len(v.shape)), total)
        and fusion.elementwise(lambda a: a / count, [Ref(total)], outs[0], None)
    )
