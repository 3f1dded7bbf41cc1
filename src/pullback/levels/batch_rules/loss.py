"""Batching rule of losses that compare element by element."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...ops import reduce
from ...ops.loss import _huber, _mse, _smooth_l1
from .registry import batch_rule, ensure_batched


@batch_rule(_mse, _smooth_l1, _huber)
def elementwise_loss_rule(op: Any, size: int, batched: list[Any], x: Any, target: Any, *options: Any) -> Any:
    reduction, options = options[-1], options[:-1]
    x, target = ensure_batched(x, batched[0], size), ensure_batched(target, batched[1], size)
    if x.shape != target.shape:
        return NotImplemented
    each = op.call(x, target, *options, "none")
    if reduction == "none" or len(x.shape) == 1:
        return each
    if each.__class__ is np.ndarray and each.dtype in reduce.ONES:
        sums = reduce.total(each.reshape(size, -1), (1,))
        return sums / max(prod(x.shape[1:]), 1) if reduction == "mean" else sums
    return (reduce.mean if reduction == "mean" else reduce.sum)(each, tuple(range(1, len(x.shape))))
