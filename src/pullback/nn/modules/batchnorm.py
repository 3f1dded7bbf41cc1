"""Batch normalisation (Ioffe & Szegedy 2015): each channel gets mean 0 and variance 1 over the batch, then a learned scale and shift."""

from __future__ import annotations

from typing import Any

from ...dtypes import int64
from ...ops.create import empty, ones, tensor, zeros
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Channels with running statistics and a learned scale and shift."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    dims: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name in ("weight", "bias"):
            self.register_parameter(name, Parameter(empty(num_features, device=device, dtype=dtype)) if affine else None)
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics, the scale and the shift."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            expected = " or ".join(f"{d}D" for d in self.dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")  # fmt: skip

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any,
                              unexpected_keys: Any, error_msgs: Any) -> None:  # fmt: skip
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            state_dict.setdefault(prefix + "num_batches_tracked", tensor(0, dtype=int64))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        average = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                average = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        updates = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if updates else None, self.running_var if updates else None, self.weight,
                            self.bias, of_batch, average, self.eps)  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``(N, C)`` or ``(N, C, L)``.

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: weight of the newest batch in the running statistics; None: plain average over all batches.
        affine: whether to learn a scale and a shift. track_running_stats: whether to keep running statistics.

    >>> import pullback as torch
    >>> torch.nn.BatchNorm1d(3)(torch.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of ``(N, C, H, W)``; see :class:`BatchNorm1d`."""

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of ``(N, C, D, H, W)``; see :class:`BatchNorm1d`."""

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any ``(N, C, ...)``; in one process the same as the others."""

    dims = (2, 3, 4, 5)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module itself: there is one process."""
        return module
