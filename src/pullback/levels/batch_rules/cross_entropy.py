"""Batching rules of ``cross_entropy`` and ``nll_loss``: the examples become more rows of one batch."""

from __future__ import annotations

from math import prod
from typing import Any

from ...ops.cross_entropy import _class_shares, _cross_entropy, _nll
from ...ops.reduce import sum_dims
from ...ops.where import clamp
from .registry import batch_rule, ensure_batched


@batch_rule(_class_shares)
def class_shares_rule(
    op: Any, size: int, batched: list[Any], target: Any, weight: Any, classes: int, ignored: int, mean: bool, d: Any
) -> Any:
    """The mean is that of each example, so are the shares in it."""
    if weight is not None:
        return NotImplemented
    target, shares = op.call(target, None, classes, ignored, False, d)
    dims = tuple(range(1, len(shares.shape)))
    if mean and prod(shares.shape[1:]) > 1:
        shares = shares / clamp(sum_dims(shares, dims, True), 1)
    return target, shares


@batch_rule(_nll, _cross_entropy)
def class_loss_rule(
    op: Any, size: int, batched: list[Any], x: Any, target: Any, shares: Any, each: bool, node: str
) -> Any:
    x, target, shares = (ensure_batched(a, b, size) for a, b in zip((x, target, shares), batched))
    rows = len(x.shape) > 2
    lead = tuple(x.shape[:2])
    if rows:
        x, target, shares = (a.reshape((-1, *a.shape[2:])) for a in (x, target, shares))
    out = op.call(x, target, shares, True, node)
    outs = list(out) if isinstance(out, tuple) else [out]
    if rows:
        outs = [o.reshape((*lead, *o.shape[1:])) for o in outs]
    if not each and len(outs[0].shape) > 1:
        outs[0] = sum_dims(outs[0], tuple(range(1, len(outs[0].shape))), False)
    return outs if isinstance(out, tuple) else outs[0]
