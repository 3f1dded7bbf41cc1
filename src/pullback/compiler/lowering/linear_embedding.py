"""Lowerings of linear, a matrix product and a loop that adds the bias, and of embedding, a kernel that copies rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels import embedding as kernels
from ...kernels.codegen.kernel_builder import TYPES
from ...ops import linear_embedding as ops
from ..fusion import Fusion
from ..ir import Ref
from .matmul import matmul
from .registry import are_contiguous, lowering


@lowering(ops._linear)
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


def are_rows(fusion: Fusion, v: Any, indices: Ref) -> bool:
    """Whether kernels take these: a matrix, and row numbers."""
    fits = len(v.shape) == 2 and v.dtype in TYPES and 0 not in (*v.shape, *fusion.value(indices).shape)
    return fits and fusion.value(indices).dtype == np.int64 and are_contiguous(fusion, indices)


@lowering(ops._embedding)
def _embedding(fusion: Fusion, outs: Sequence[int], weight: Ref, indices: Ref, *options: Any) -> bool:
    v = fusion.value(weight)
    if not are_rows(fusion, v, indices):
        return False
    fusion.check_range(ops.check_rows, indices, v.shape[0])
    weights, at, out = fusion.contiguous(weight), fusion.contiguous(indices), fusion.allocate(outs[0])
    fusion.call_kernel(
        "take_rows", kernels.take_kernel(v.dtype), [math.prod(at.like.shape), v.shape[1], weights, at, out], [out]
    )
    return True
