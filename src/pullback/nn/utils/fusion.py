"""Fold an evaluation-mode batch norm into the convolution or linear layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ...core.tensor import Tensor
from ...ops.create import ones_like, zeros_like
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what ``conv`` (``transpose``: a transposed one) and then ``bn`` do in evaluation."""
    fused = _checked_copy(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what ``linear`` and then ``bn`` do in evaluation mode."""
    fused = _checked_copy(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def _checked_copy(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copy.deepcopy(layer)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias for :func:`fuse_conv_bn_eval`, from those of both layers."""
    channels = [1, -1] if transpose else [-1, 1]
    return _fold_batch_norm(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, channels + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias for :func:`fuse_linear_bn_eval`, from those of both layers."""
    return _fold_batch_norm(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fold_batch_norm(
    w: Tensor,
    b: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    b = zeros_like(mean) if b is None else b
    factor = (var + eps).rsqrt() * (ones_like(mean) if scale is None else scale)
    bias = (b - mean) * factor + (zeros_like(mean) if shift is None else shift)
    weight = (w * factor.reshape(shape)).to(w.dtype)
    return Parameter(weight.detach(), w.requires_grad), Parameter(bias.detach().to(b.dtype), b.requires_grad)
