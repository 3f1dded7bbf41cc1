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
    if len(w.shape) != 2 or fusion.kind_of([x.number, weight.number]) is None:
        return False
    if bias is None:
        return matmul(fusion, outs[0], x, fusion.turned(weight))
    product = fusion.fresh(v.shape, v.dtype)
    return matmul(fusion, product, x, fusion.turned(weight)) and fusion.elementwise(
        lambda a, b: a + b, [Ref(product), bias], outs[0], None
    )


def are_rows(fusion: Fusion, v: Any, indices: Ref) -> bool:
    """Whether kernels look up rows of such a table by such numbers."""
    fits = len(v.shape) == 2 and v.dtype in TYPES and 0 not in (*v.shape, *fusion.value(indices).shape)
    return fits and fusion.value(indices).dtype == np.int64 and are_contiguous(fusion, indices)


@lowering(ops._embedding)
def _embedding(fusion: Fusion, outs: Sequence[int], weight: Ref, indices: Ref, *options: Any) -> bool:
    v = fusion.value(weight)
    if not are_rows(fusion, v, indices):
        return False
    fusion.checked(ops.check_rows, indices, v.shape[0])
    weights, at, out = fusion.in_rows(weight), fusion.in_rows(indices), fusion.result(outs[0])
    fusion.kernel(
        "take_rows", kernels.take_kernel(v.dtype), [math.prod(at.like.shape), v.shape[1], weights, at, out], [out]
    )
    return True
