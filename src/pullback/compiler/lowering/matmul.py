"""Lowering of matmul to matrix products of two or more dimensions, with sizes and strides known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.codegen.llvm_ir import I1
from ...ops import matmul as ops
from ..fusion import Fusion
from ..ir import Ref
from ..schedule import SCALAR_TYPES, MatMul
from .registry import lowering


@lowering(ops._matmul)
def _matmul(fusion: Fusion, outs: Sequence[int], x: Ref, y: Ref) -> bool:
    return matmul(fusion, outs[0], x, y)


def matmul(fusion: Fusion, out: int, x: Ref, y: Ref) -> bool:
    """Add the step ``out = x @ y``; vectors are matrices of one row or column."""
    a, b = fusion.value(x), fusion.value(y)
    if fusion.loop_type([x.number]) is None or a.dtype != b.dtype or SCALAR_TYPES[a.dtype] == I1:
        return False
    if 0 in a.shape or 0 in b.shape:
        return False
    at_once = len(a.shape) > 2 >= len(b.shape)  # one product of all rows
    left, right = fusion.contiguous(x) if at_once else fusion.materialize(x.number), fusion.materialize(y.number)
    p, q = left.like, right.like
    if p.ndim == 1:
        p = p[None]
    if q.ndim == 1:
        q = q[:, None]
    if at_once:
        p = p.reshape(-1, p.shape[-1])
    batch = np.broadcast_shapes(p.shape[:-2], q.shape[:-2])
    p, q = np.broadcast_to(p, batch + p.shape[-2:]), np.broadcast_to(q, batch + q.shape[-2:])
    memory = fusion.allocate(out)
    product = memory.like.reshape(batch + (p.shape[-2], q.shape[-1]))
    fusion.steps.append(MatMul(left.view(p), right.view(q), memory.view(product)))
    return True
