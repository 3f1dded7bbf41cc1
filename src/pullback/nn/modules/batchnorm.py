"""Batch normalisation (Ioffe & Szegedy 2015): mean 0 and variance 1 over the batch, then a scale and a shift."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import int64
from ...core import slots
from ...core.tensor import Tensor
from ...ops.create import empty, ones, tensor, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Channels with running statistics and a learned scale and shift."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    ranks: tuple[int, ...] = ()  # the numbers of dimensions that an input may have
    weight: Parameter
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, value)
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            value = make(num_features, device=device, dtype=dtype) if track_running_stats else None
            self.register_buffer(name, value)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Forget the running statistics, the scale and the shift."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.ranks:
            expected = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:  # saved before batches were counted
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return self._normalized(input, self._count_batch())

    def _count_batch(self) -> float:
        """Count a batch; the weight that it has in the running statistics."""
        average = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                average = 1.0 / float(self.num_batches_tracked)
        return average

    def _normalized(self, input: Tensor, average: float) -> Tensor:
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        updates = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if updates else None,
            self.running_var if updates else None,
            self.weight,
            self.bias,
            of_batch,
            average,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``(N, C)`` or ``(N, C, L)``.

    In training with the statistics of the batch, otherwise with the running ones.

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: weight of the newest batch in the running statistics; None: plain average over all batches.
        affine: whether to learn a scale and (with ``bias``) a shift for each channel.
        track_running_stats: whether to keep running statistics.

    >>> import pullback as torch
    >>> torch.nn.BatchNorm1d(3)(torch.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of ``(N, C, H, W)``; see :class:`BatchNorm1d`."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of ``(N, C, D, H, W)``; see :class:`BatchNorm1d`."""

    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any ``(N, C, ...)`` with the statistics of the batches of all ranks.

    Args:
        process_group: the ranks; by default all.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalized(self, input: Tensor, average: float) -> Tensor:
        result = slots.sync_batch_norm(self, input, average) if self.training else None
        return super()._normalized(input, average) if result is None else result

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with each batch norm replaced by a ``SyncBatchNorm`` of the same parameters and buffers."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name, value in (*module._parameters.items(), *module._buffers.items()):
                setattr(converted, name, value)
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# --- channels counted on the first input --------------------------------------------------------------------


class _LazyNormBase(LazyModuleMixin, _NormBase):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        for name, p in list(self._parameters.items()):
            if p is not None:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.size(1)
            t: Any
            for t in (self.weight, self.bias, self.running_mean, self.running_var):
                if t is not None:
                    t.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """:class:`BatchNorm1d` without ``num_features``, which the first input tells."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """:class:`BatchNorm2d` without ``num_features``, which the first input tells."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """:class:`BatchNorm3d` without ``num_features``, which the first input tells."""

    cls_to_become = BatchNorm3d
