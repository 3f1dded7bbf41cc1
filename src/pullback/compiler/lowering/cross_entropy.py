"""Lowerings of cross entropy with class indices: log-sum-exp of each row in a kernel, weighting and sum in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels import cross_entropy as kernels
from ...kernels.codegen.kernel_builder import TYPES
from ...kernels.codegen.scalar import where
from ...ops import cross_entropy as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import GradNumbers, are_contiguous, lowering, vjp_lowering
from .softmax import is_along_rows


def _are_classes(fusion: Fusion, input: Ref, target: Ref) -> bool:
    """Whether kernels take these: a matrix of logits, and class indices."""
    fits = (
        len(fusion.value(input).shape) == 2
        and is_along_rows(fusion, input, 1)
        and fusion.value(target).dtype == np.int64
    )
    return fits and are_contiguous(fusion, target)


def _by_share(losses: Any, shares: Any) -> Any:
    """Weighted losses; those with weight 0 do not count even if they are infinite."""
    return where(shares == 0, 0.0, losses * shares)


@lowering(ops._class_shares)
def _class_shares(
    fusion: Fusion,
    outs: Sequence[int],
    target: Ref,
    weight: Any,
    classes: int,
    ignore_index: int,
    mean: bool,
    dtype: Any,
) -> bool:
    v = fusion.value(target)
    if weight is not None or dtype not in TYPES or 0 in v.shape or not are_contiguous(fusion, target):
        return False
    fusion.check_range(ops.check_classes, target, classes, ignore_index)
    given, counted, shares = fusion.materialize(target.number), fusion.allocate(outs[0]), fusion.allocate(outs[1])
    integers = [1, math.prod(v.shape), ignore_index, int(mean)]
    fusion.call_kernel(
        "class_shares", kernels.class_shares_kernel(dtype), [*integers, given, counted, shares], [counted, shares]
    )
    return True


@lowering(ops._cross_entropy)
def _cross_entropy(
    fusion: Fusion, outs: Sequence[int], input: Ref, target: Ref, shares: Ref, each: bool, node: str
) -> bool:
    if not _are_classes(fusion, input, target):
        return False
    v = fusion.value(input)
    x, t = fusion.contiguous(input), fusion.contiguous(target)
    top, logsum, losses = fusion.allocate(outs[1]), fusion.allocate(outs[2]), fusion.scratch(v.shape[:1], v.dtype)
    fusion.call_kernel(
        "cross_entropy",
        kernels.cross_entropy_kernel(v.dtype),
        [*v.shape, x, t, top, logsum, losses],
        [top, logsum, losses],
    )
    shared = outs[0] if each else fusion.new_value(v.shape[:1], v.dtype)
    return fusion.elementwise(_by_share, [Ref(losses.root), shares], shared, None) and (
        each or fusion.sum(shared, (0,), outs[0])
    )


@vjp_lowering(ops._cross_entropy)
def _cross_entropy_vjp(
    fusion: Fusion, outs: GradNumbers, g: Any, input: Ref, target: Ref, shares: Ref, top: Ref, logsum: Ref
) -> bool:
    if not _are_classes(fusion, input, target) or outs[0] is None:
        return False
    v = fusion.value(input)
    by_share, spread = fusion.new_value(v.shape[:1], v.dtype), fusion.new_value(v.shape, v.dtype)
    if not fusion.elementwise(lambda g, shares: g * shares, [g, shares], by_share, None):
        return False
    given = [fusion.contiguous(r) for r in (input, target, top, logsum, Ref(by_share))]
    out = fusion.allocate(spread)
    fusion.call_kernel(
        "cross_entropy_backward", kernels.cross_entropy_backward_kernel(v.dtype), [*v.shape, *given, out], [out]
    )
    of_row = fusion.as_column(shares)
    return fusion.elementwise(
        lambda spread, share: where(share == 0, 0.0, spread), [Ref(spread), of_row], outs[0], None
    )
