"""What ``SyncBatchNorm`` computes: batch normalization with the mean and the variance of the batches of all ranks."""

from __future__ import annotations

from typing import Any

from ..base import thread_state
from ..base.dtypes import HALVES, float32
from ..core.tensor import Tensor
from ..core.views import current_array
from ..ops.concat import cat
from .nn.functional import all_reduce
from .world import is_initialized, resolved


def batch_norm(layer: Any, input: Tensor, average: float) -> Tensor | None:
    """Normalize a batch of ``(N, C, ...)`` with the statistics of all ranks' batches, which may have different sizes.

    Args:
        layer: the ``SyncBatchNorm``.
        average: the weight of this batch in the running statistics.

    Returns:
        None without other ranks.
    """
    if not is_initialized():
        return None
    group = resolved(layer.process_group)
    if group.size() == 1:
        return None
    x = input.to(float32) if current_array(input).dtype in HALVES else input
    dims = (0, *range(2, x.ndim))
    shape = (1, -1, *[1] * (x.ndim - 2))
    number = x.new_full((1,), x.numel() // x.shape[1])
    sums = all_reduce(cat([x.sum(dims), number]), group=group)
    total = sums[-1].detach()
    if total < 2:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    mean = sums[:-1] / total
    centered = x - mean.reshape(shape)
    variance = all_reduce((centered * centered).sum(dims), group=group) / total
    result = centered * (variance + layer.eps).rsqrt().reshape(shape)
    if layer.weight is not None:
        result = result * layer.weight.reshape(shape)
    if layer.bias is not None:
        result = result + layer.bias.reshape(shape)
    if layer.running_mean is not None:
        with thread_state.set_grad_enabled(False):
            layer.running_mean.lerp_(mean.detach().to(layer.running_mean.dtype), average)
            unbiased = variance.detach() * (total / (total - 1))
            layer.running_var.lerp_(unbiased.to(layer.running_var.dtype), average)
    return result.to(input.dtype)
