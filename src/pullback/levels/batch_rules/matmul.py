"""Batching rule of ``matmul``."""

from __future__ import annotations

from typing import Any

from ...ops.matmul import _matmul
from ...ops.view import squeeze, unsqueeze
from .registry import batch_rule, pad_to_rank


@batch_rule(_matmul)
def matmul_rule(op: Any, size: int, batched: list[Any], a: Any, b: Any) -> Any:
    na, nb = len(a.shape) - batched[0], len(b.shape) - batched[1]
    if na == 0 or nb == 0:
        return NotImplemented
    if not batched[1] and nb <= 2:  # many rows, one matrix
        if na == 1:
            return op.call(a, b)
        if nb == 2:
            return op.call(a.reshape((-1, a.shape[-1])), b).reshape((*a.shape[:-1], b.shape[-1]))
        return op.call(a, b)
    if not batched[0] and na <= 2 and nb == 1:
        return op.call(b, a.mT if na == 2 else a)
    a = unsqueeze(a, -2) if na == 1 else a
    b = unsqueeze(b, -1) if nb == 1 else b
    rank = max(len(a.shape) - batched[0], len(b.shape) - batched[1])
    a, b = (pad_to_rank(x, rank) if is_batched else x for x, is_batched in ((a, batched[0]), (b, batched[1])))
    out = op.call(a, b)
    out = squeeze(out, -2) if na == 1 else out
    return squeeze(out, -1) if nb == 1 else out
