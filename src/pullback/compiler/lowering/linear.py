"""Lowering of linear: a matrix product, and a loop that adds the bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.linear import _linear as linear
from ..fusion import Fusion
from ..ir import Ref
from .matmul import matmul
from .registry import lowering


@lowering(linear)
def _linear(fusion: Fusion, outs: Sequence[int], x: Ref, weight: Ref, bias: Any = None) -> bool:
    w, v = fusion.value(weight), fusion.value(Ref(outs[0]))
    if len(w.shape) != 2 or fusion.loop_type([x.number, weight.number]) is None:
        return False
    if bias is None:
        return matmul(fusion, outs[0], x, fusion.transposed(weight))
    product = fusion.new_value(v.shape, v.dtype)
    return matmul(fusion, product, x, fusion.transposed(weight)) and fusion.elementwise(
        lambda a, b: a + b, [Ref(product), bias], outs[0], None
    )
