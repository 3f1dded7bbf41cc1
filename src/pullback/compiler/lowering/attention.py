"""Lowerings of attention without a mask ("flash"): a kernel forward, and one for all three gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.layout import side_by_side
from ...kernels import attention as kernels
from ...ops import attention as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import GradNumbers, lowering, vjp_lowering


@lowering(ops._flash)
def _flash(fusion: Fusion, outs: Sequence[int], query: Ref, key: Ref, value: Ref, causal: bool, scale: float) -> bool:
    q, k, v = (fusion.in_layout(kernels.has_contiguous_rows, x) for x in (query, key, value))
    made = fusion.value(Ref(outs[0]))
    out, logsum = fusion.allocate(outs[0], side_by_side(made.shape, made.dtype)), fusion.allocate(outs[1])
    call, integers = kernels.kernel(q.like, k.like, v.like, [out.like], causal)
    fusion.call_kernel("attention", call, [*integers, scale, q, k, v, out, logsum], [out, logsum])
    return True


@vjp_lowering(ops._flash)
def _flash_vjp(
    fusion: Fusion,
    outs: GradNumbers,
    g: Any,
    query: Ref,
    key: Ref,
    value: Ref,
    causal: bool,
    scale: float,
    result: Ref,
    logsum: Ref,
) -> bool:
    given = [fusion.in_layout(kernels.has_contiguous_rows, x) for x in (query, key, value, result, g)]
    sums = fusion.contiguous(logsum)
    made = [side_by_side(fusion.value(x).shape, fusion.value(x).dtype) for x in (query, key, value)]
    grads = [
        fusion.scratch(like.shape, like.dtype, like) if n is None else fusion.allocate(n, like)
        for n, like in zip(outs, made)
    ]
    q, k, v, *others = [m.like for m in (*given, *grads)]
    call, integers = kernels.kernel(q, k, v, others, causal)
    fusion.call_kernel("attention_backward", call, [*integers, scale, *given, *grads, sums], grads)
    return True
