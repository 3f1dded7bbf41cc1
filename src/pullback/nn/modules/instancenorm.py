"""Instance normalisation (Ulyanov et al. 2016): like batch normalisation, each sample by itself."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self.ranks[1]
        at, channels = int(batched), input.size(int(batched))
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={at} to match num_features ({self.num_features}), but got: {channels}."
            )
        if channels != self.num_features:
            warnings.warn(
                f"input's size at dim={at} does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        out = F.instance_norm(
            input if batched else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out if batched else out.squeeze(0)

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
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            stale = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stale:
                names, kind = " and ".join(f'"{key}"' for key in stale), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. "
                    "A checkpoint from before PyTorch 0.4.0 may hold them: remove these keys, or set "
                    f"track_running_stats=True in {kind} to use them."
                )
            for key in stale:
                del state_dict[key]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of ``(N, C, L)`` or ``(C, L)``.

    Args:
        num_features, eps, momentum, affine, track_running_stats, bias: as :class:`BatchNorm1d` has them, but
            with neither scale and shift nor running statistics unless asked for.
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of ``(N, C, H, W)`` or ``(C, H, W)``; see :class:`InstanceNorm1d`."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see :class:`InstanceNorm1d`."""

    ranks = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """:class:`InstanceNorm1d` without ``num_features``, which the first input tells."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """:class:`InstanceNorm2d` without ``num_features``, which the first input tells."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """:class:`InstanceNorm3d` without ``num_features``, which the first input tells."""

    cls_to_become = InstanceNorm3d
