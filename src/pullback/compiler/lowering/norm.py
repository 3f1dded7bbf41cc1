"""Lowering of the 2-norm of vectors: a fused sum of squares, and its root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops import norm as ops
from ...ops.reduce import dims_of
from ..fusion import Fusion
from ..ir import Ref
from .registry import lowering


@lowering(ops.vector_norm)
def _vector_norm(
    fusion: Fusion,
    outs: Sequence[int],
    x: Ref,
    ord: Any = 2.0,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> bool:
    v, o = fusion.value(x), fusion.value(Ref(outs[0]))
    if ord != 2 or dtype is not None or fusion.loop_type([x.number]) is None:
        return False
    square, total = fusion.new_value(v.shape, v.dtype), fusion.new_value(o.shape, o.dtype)
    return (
        fusion.elementwise(lambda a: a * a, [x], square, None)
        and fusion.sum(square, dims_of(dim, len(v.shape)), total)
        and fusion.elementwise(np.sqrt, [Ref(total)], outs[0], None)
    )
