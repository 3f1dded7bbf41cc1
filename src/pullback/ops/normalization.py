"""Normalization by statistics: ``batch_norm``, ``layer_norm``, ``group_norm``, ``instance_norm``, ``rms_norm``.

Batch, layer, group, instance and RMS normalization are one primitive: subtract the mean over some dimensions, divide
by the standard deviation, then scale and shift. They differ in the dimensions (Ioffe and Szegedy 2015; Ba et al.
2016; Wu and He 2018; Ulyanov et al. 2016; Zhang and Sennrich 2019). Mean and variance are outputs of it, too, for its
derivative; where that is differentiated again, they are recomputed from the input.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index as integer
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.device import channels_last, channels_last_3d
from ..base.dtypes import FLOATING, HALVES, OF_NUMPY
from ..base.errors import with_notes
from ..base.layout import as_channels_last, as_contiguous, is_channels_last
from ..base.shape import Size
from ..core import versions
from ..core.level import innermost_level
from ..core.tensor import Tensor
from ..kernels.dispatch import wide
from . import half
from .arithmetic import elementwise_sub
from .avg_pool import avg_pool2d
from .complex import is_complex
from .memory import clone, contiguous
from .pad import pad
from .pointwise import addcmul, elementwise_addcmul, rsqrt
from .reduce import mean, sum_array, sum_dims, sum_of_squares, sum_to
from .statistics import var_mean
from .view import reshape

__all__ = [
    "group_norm",
    "layer_norm",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "rms_norm",
]
__all_functional__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "rms_norm",
]

Shape = Sequence[int]
# ranks of inputs whose memory format (channels_last) the result of these nodes keeps
CHANNELS_LAST_RANKS = {"NativeBatchNormBackward0": (4, 5), "FusedRmsNormBackward0": (4, 5)}


@half.general(name="standardize", outputs="out mean var", differentiable="out", method=False, node="node")
def _standardize(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    dims: Shape = (),
    shape: Shape = (),
    eps: float = 1e-5,
    centre: bool = True,
    node: str = "",
) -> Any:
    """``(input - mean) / sqrt(var + eps) * weight + bias``, with the mean and the (biased) variance over ``dims``.

    Args:
        dims: not negative. They stay in ``mean`` and ``var``, with size 1.
        shape: of weight and bias, to broadcast with the input.
        centre: False: the mean is taken as 0, and the variance as the mean square (RMS norm).
        node: the name of the graph's node.
    """
    if dims == CHANNEL_DIMS.get(input.ndim) and is_channels_last(input) and centre:
        return _standardize_channels(input, weight, bias, dims, shape, eps)
    x: Any = as_contiguous(input)
    fast = kernels.run("normalization", "standardize", x.size, x, weight, bias, dims, shape, eps, centre)
    if fast is not None:
        return as_channels_last(input, fast[0], CHANNELS_LAST_RANKS.get(node, ())), *fast[1:]
    n = math.prod([x.shape[d] for d in dims])
    mean = sum_array(x, dims, True) / n if centre else np.zeros((1,) * x.ndim, x.dtype)
    out = x - mean if centre else x.copy()
    var = sum_of_squares(out, dims, True) / n
    out *= 1 / np.sqrt(var + eps)
    if weight is not None:
        out *= weight if weight.shape == shape[-weight.ndim :] else weight.reshape(shape)
    if bias is not None:
        out += bias if bias.shape == shape[-bias.ndim :] else bias.reshape(shape)
    return as_channels_last(input, out, CHANNELS_LAST_RANKS.get(node, ())), mean, var


CHANNEL_DIMS = {4: (0, 2, 3), 5: (0, 2, 3, 4)}  # the dimensions that a batch norm of images reduces


def _standardize_channels(x: np.ndarray, weight: Any, bias: Any, dims: Shape, shape: Shape, eps: float) -> Any:
    """The same of ``channels_last`` images over all but their channels, which stay where they are in memory."""
    n = math.prod([x.shape[d] for d in dims])
    mean = sum_array(x, dims, True) / n
    apart = elementwise_sub.op.impl_any(x, mean)
    var = sum_of_squares(apart, dims, True) / n
    scale = 1 / np.sqrt(var + eps)
    scale = scale if weight is None else scale * weight.reshape(shape)
    shift = np.zeros_like(mean) if bias is None else bias.reshape(shape)
    return elementwise_addcmul.op.impl(shift, apart, scale, 1), mean, var


@_standardize.vjp_all
def _standardize_vjp(
    g: Any,
    wanted: Any,
    input: Any,
    weight: Any,
    bias_shape: Any,
    dims: Shape,
    shape: Shape,
    eps: float,
    centre: bool,
    mean: Any,
    var: Any,
) -> Any:
    """With z the standardized input, u the gradient at it, s the standard deviation and n the number of elements:

    ``(u - mean(u) - z * mean(u * z)) / s``
    """
    n = math.prod([input.shape[d] for d in dims])
    if g.__class__ is input.__class__ is np.ndarray:
        if g.dtype in HALVES:  # sums of it are for parameters that may be float32
            g, input = wide(g), wide(input)
            weight = wide(weight)
        fast = kernels.run(
            "normalization",
            "standardize_backward",
            g.size,
            g,
            wanted,
            input,
            weight,
            bias_shape,
            dims,
            shape,
            eps,
            centre,
            mean,
            var,
        )
        if fast is not None:
            return fast
        apart = input - mean
    else:
        g, x = g.to(var.dtype), input.to(var.dtype)  # not in half precision
        apart = x - sum_dims(x, dims, True) / n if centre else x
        var = sum_dims(apart * apart, dims, True) / n
    scale = rsqrt(var + eps)
    z = apart * scale
    # A weight that is constant over the normalized dimensions is factored out of the sums, which are then the ones that
    # the gradients of weight and bias need.
    w = 1 if weight is None else reshape(weight, shape)
    several = any(shape[d] != 1 for d in dims)
    u, w = (g * w, 1) if several else (g, w)
    total = sum_dims(u, dims, True)
    along = sum_dims(u * z, dims, True)
    of_weight = of_bias = None
    if wanted[1]:
        of_weight = reshape(sum_to(g * z if several else along, shape), weight.shape)
    if wanted[2]:
        of_bias = reshape(sum_to(g if several else total, shape), bias_shape)
    if not wanted[0]:
        return None, of_weight, of_bias
    w = w * scale
    of_input = u * w - z * (w * along / n)
    return of_input - w * total / n if centre else of_input, of_weight, of_bias


def _require_floats(input: Tensor, kernel: str, *parameters: Tensor | None) -> None:
    d = OF_NUMPY[input._array.dtype]
    if d.category != FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.type_name(d)}'")
    for p in parameters:
        if (
            p is not None
            and p._array.dtype is not d.numpy
            and p.dtype is not d
            and not (d.itemsize == 2 and p.dtype is dtypes.float32)
        ):
            raise with_notes(
                RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of {dtypes.type_name(d)}"),
                f"it has {dtypes.type_name(OF_NUMPY[p._array.dtype])}",
            )


# --- layer, RMS and group ---------------------------------------------------------------------------------------


def _normalized_dims(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None
) -> tuple[Shape, Shape]:
    """The dimensions of ``normalized_shape``, the last ones, and that shape as it broadcasts with the input."""
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    return _check_normalized_shape(
        input._array.shape, tuple(normalized_shape), *[None if p is None else p._array.shape for p in (weight, bias)]
    )


@lru_cache(256)
def _check_normalized_shape(sizes: Shape, normalized_shape: Shape, *parameters: Shape | None) -> tuple[Shape, Shape]:
    normalized, rank = list(map(integer, normalized_shape)), len(sizes)
    if not normalized:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
            "got normalized_shape = []"
        )
    for name, p in zip(("weight", "bias"), parameters):
        if p is not None and list(p) != normalized:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(p)} "
                f"and normalized_shape = {normalized}"
            )
    if list(sizes[rank - len(normalized) :]) != normalized or len(normalized) > rank:
        raise RuntimeError(
            f"Given normalized_shape={normalized}, expected input with shape [*, {str(normalized)[1:-1]}], but got "
            f"input of size{list(sizes)}"
        )
    return tuple(range(rank - len(normalized), rank)), (1,) * (rank - len(normalized)) + tuple(normalized)


def layer_norm(
    input: Tensor,
    normalized_shape: Shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Each sample to mean 0 and variance 1 over its last dimensions, then ``* weight + bias``.

    Args:
        input: ``(..., *normalized_shape)``.
        normalized_shape: the sizes of the last dimensions.
        weight, bias: of that shape.
        eps: added to the variance.

    Raises:
        RuntimeError: for shapes that do not fit.

    >>> import pullback as torch
    >>> torch.layer_norm(torch.tensor([[1.0, 3.0], [0.0, 10.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    dims, shape = _normalized_dims(input, normalized_shape, weight, bias)
    _require_floats(input, "LayerNormKernelImpl", weight, bias)
    return _standardize.op.call_ordered(input, weight, bias, dims, shape, eps, True, "NativeLayerNormBackward0").out


def rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions.

    Args:
        input: ``(..., *normalized_shape)``.
        normalized_shape: the sizes of the last dimensions.
        weight: of that shape.
        eps: machine epsilon unless given (float32's for half precision).

    >>> import pullback as torch
    >>> torch.rms_norm(torch.tensor([[3.0, 4.0, 0.0, 0.0]]), (4,))
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]])
    """
    dims, shape = _normalized_dims(input, normalized_shape, weight, None)
    eps = dtypes.finfo(dtypes.promote_types(input.dtype, dtypes.float32).to_real()).eps if eps is None else eps
    if is_complex(input):  # PyTorch uses x * x, not abs(x) ** 2
        result = input * rsqrt(mean(input * input, dims, True) + eps)
        return result if weight is None else result * weight
    _require_floats(input, "rms_norm", weight)
    return _standardize.op.call_ordered(input, weight, None, dims, shape, eps, False, "FusedRmsNormBackward0").out


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Each group of channels of each sample to mean 0 and variance 1, then ``* weight + bias`` per channel.

    Args:
        input: ``(batch, channels, ...)``.
        num_groups: divides the number of channels.
        weight, bias: ``(channels,)``.
        eps: added to the variance.

    Raises:
        RuntimeError: for shapes that do not fit.
        ValueError: if a group has one element only.

    >>> import pullback as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 0.0, 10.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    sizes = input._array.shape
    grouped, dims, shape = _group_dims(
        sizes, num_groups, *[None if p is None else p._array.shape for p in (weight, bias)]
    )
    _require_floats(input, "GroupNormKernelImpl", weight, bias)
    out = reshape(
        _standardize.op.call_ordered(
            reshape(input, grouped), weight, bias, dims, shape, eps, True, "NativeGroupNormBackward0"
        ).out,
        sizes,
    )
    return clone(out, channels_last if len(sizes) == 4 else channels_last_3d) if _is_batch_of_images(input) else out


@lru_cache(256)
def _group_dims(sizes: Shape, num_groups: int, *parameters: Shape | None) -> tuple[Shape, Shape, Shape]:
    """The input's shape with the channels split into groups, the dimensions to normalize over, and the parameters'
    shape as it broadcasts with that.
    """
    if len(sizes) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(sizes)}")
    batch, channels, *spatial = sizes
    num_groups = integer(num_groups)
    if batch * (channels // num_groups) * math.prod(spatial) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(sizes)}")
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(sizes)} and num_groups={num_groups}"
        )
    for name, p in zip(("weight", "bias"), parameters):
        if p is not None and p != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(p)} and input of shape {list(sizes)}"
            )
    grouped = (batch, num_groups, channels // num_groups, *spatial)
    return grouped, tuple(range(2, len(grouped))), (1, num_groups, channels // num_groups, *[1] * len(spatial))


def _is_batch_of_images(x: Tensor) -> bool:
    return x._array.__class__ is np.ndarray and is_channels_last(x._array)


# --- batch and instance, with running statistics ----------------------------------------------------------------


def _shapes(*parameters: Tensor | None) -> list[Shape | None]:
    return [None if p is None else p._array.shape for p in parameters]


def _check_channels(channels: int, *parameters: Shape | None) -> None:
    for name, shape in zip(("running_mean", "running_var", "weight", "bias"), parameters):
        if shape is not None and math.prod(shape) != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {math.prod(shape)}")


@lru_cache(256)
def _batch_dims(sizes: tuple[int, ...], training: bool, *parameters: Shape | None) -> tuple[Shape, Shape, int]:
    """The dimensions to normalize over, the parameters' shape as it broadcasts with the input, and the number of values
    per channel.
    """
    channels = sizes[1] if len(sizes) > 1 else 0
    n = math.prod(sizes[:1] + sizes[2:])
    if training and n == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {Size(sizes)}")
    if not training and None in parameters[:2]:
        raise RuntimeError(f"running_{'mean' if parameters[0] is None else 'var'} must be defined in evaluation mode")
    _check_channels(channels, *parameters)
    if len(sizes) == 1 and n:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    return *_channel_shape(sizes), n


def _channel_shape(sizes: Shape) -> tuple[Shape, Shape]:
    return (0, *range(2, len(sizes))), (1, *sizes[1:2], *[1] * (len(sizes) - 2))


def _update_running_stats(momentum: float, *statistics: tuple[Tensor | None, Tensor, float]) -> None:
    """Move running statistics towards new values, times a factor each, in place."""
    moved = []
    for running, new, factor in statistics:
        if running is None:
            continue
        array, value = running._array, new._array
        if array.__class__ is np.ndarray is value.__class__:
            array *= 1 - momentum
            array += (value * (momentum * factor)).reshape(array.shape)
            moved.append(array)
        else:
            _update_in_level(running, new, factor, momentum)
    if moved:
        versions.bump_version(*moved)


def _update_in_level(running: Tensor, new: Tensor, factor: float, momentum: float) -> None:
    """:func:`_update_running_stats` of one statistic inside a transform, on level values."""
    level = innermost_level([new._array])
    if level is not None and level.batches and innermost_level([running._array]) is not level:
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using a module and do not need eval mode, please set "
            "`track_running_stats` to be False.If you are using a prebuilt module and do not need eval mode, please "
            "see "
            "the functorch website for resources on how to patch your module to work with vmap"
        )
    running.copy_((1 - momentum) * running.detach() + momentum * factor * new.detach().reshape(running.shape))


def _normalize_by_running(
    input: Tensor, mean: Any, var: Any, weight: Tensor | None, bias: Tensor | None, shape: Shape, eps: float
) -> Tensor:
    mean, var = (s.detach() if s.requires_grad else s for s in (mean, var))
    scale = rsqrt(var + eps)
    scale = scale if weight is None else scale * weight
    shift = -(mean * scale) if bias is None else bias - mean * scale
    out = addcmul(reshape(shift, shape), input, reshape(scale, shape))
    return out if out.dtype is input.dtype else out.to(input.dtype)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel to mean 0 and variance 1, then ``* weight + bias``.

    Args:
        input: ``(batch, channels, ...)``.
        running_mean, running_var: ``(channels,)``. In training they move towards this batch's statistics (the unbiased
            variance), in place; otherwise they are used instead of them.
        weight, bias: ``(channels,)``.
        training: use this batch's statistics.
        momentum: the share of the new value in the running statistics.
        eps: added to the variance.

    Raises:
        RuntimeError: for shapes that do not fit, and without running statistics in evaluation.
        ValueError: if training sees one value a channel only.

    >>> import pullback as torch
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    x = input._array
    dims, shape, n = _batch_dims(x.shape, training, *_shapes(running_mean, running_var, weight, bias))
    _require_floats(input, "batch_norm", weight, bias, running_mean, running_var)
    if not x.size:
        scaled = input * 1 if weight is None else input * reshape(weight, shape)
        return scaled if bias is None else scaled + reshape(bias, shape)
    if not training:
        x = input if _is_batch_of_images(input) else contiguous(input)
        return _normalize_by_running(x, running_mean, running_var, weight, bias, shape, eps)
    out, mean, var = _standardize.op.call_ordered(
        input, weight, bias, dims, shape, eps, True, "NativeBatchNormBackward0"
    )
    _update_running_stats(momentum, (running_mean, mean, 1), (running_var, var, n / (n - 1)))
    return out


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample to mean 0 and variance 1, then ``* weight + bias``.

    Args:
        input: ``(batch, channels, ...)``.
        running_mean, running_var: ``(channels,)``, moved in place towards the mean of the samples' statistics, or used
            instead of them.
        weight, bias: ``(channels,)``.
        use_input_stats: False uses the running statistics.
        momentum: the share of the new value in the running statistics.
        eps: added to the variance.

    >>> import pullback as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [0.0, 10.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    sizes = list(input.shape)
    n = math.prod(sizes[2:])
    if use_input_stats and n == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    _check_channels(sizes[1], *_shapes(running_mean, running_var, weight, bias))
    _require_floats(input, "batch_norm", weight, bias)
    input = contiguous(input)
    dims, shape = tuple(range(2, len(sizes))), (1, sizes[1], *[1] * (len(sizes) - 2))
    if not use_input_stats:
        return _normalize_by_running(input, running_mean, running_var, weight, bias, shape, eps)
    out, mean, var = _standardize.op.call_ordered(
        input, weight, bias, dims, shape, eps, True, "NativeBatchNormBackward0"
    )
    if running_mean is not None:
        _update_running_stats(momentum, (running_mean, mean.detach().mean(0), 1))
    if running_var is not None:
        _update_running_stats(momentum, (running_var, var.detach().mean(0), n / (n - 1) if n > 1 else 1))
    return out


# --- with their statistics --------------------------------------------------------------------------------------


def native_layer_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`layer_norm`, the means, and the reciprocal standard deviations.

    >>> import pullback as torch
    >>> torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    dims, shape = _normalized_dims(input, normalized_shape, weight, bias)
    _require_floats(input, "LayerNormKernelImpl", weight, bias)
    out, mean, var = _standardize.op.call_ordered(
        input, weight, bias, dims, shape, eps, True, "NativeLayerNormBackward0"
    )
    return out, mean.to(input.dtype), rsqrt(var + eps).to(input.dtype)


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`group_norm` of N samples with C channels of HxW elements, the means ``(N, group)``, and the reciprocal
    standard deviations.

    >>> import pullback as torch
    >>> torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    grouped, shape = reshape(input, (N, group, C // group, HxW)), (1, group, C // group, 1)
    out, _, _ = _standardize.op.call_ordered(
        grouped, weight, bias, (2, 3), shape, eps, True, "NativeGroupNormBackward0"
    )
    # as tensors: unlike the other norms', these outputs are differentiable
    var, mean = var_mean(grouped.float() if input.itemsize == 2 else grouped, (2, 3), correction=0)
    return reshape(out, input.shape), mean.to(input.dtype), rsqrt(var + eps).to(input.dtype)


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`batch_norm`, and in training the means and the reciprocal standard deviations, ``(channels,)``.

    >>> import pullback as torch
    >>> torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    if not training:
        out = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        return out, input.new_zeros((0,)), input.new_zeros((0,))
    sizes = input._array.shape
    channels, n = sizes[1], math.prod(sizes) // max(sizes[1], 1)
    dims, shape = _channel_shape(sizes)
    out, mean, var = _standardize.op.call_ordered(
        input, weight, bias, dims, shape, eps, True, "NativeBatchNormBackward0"
    )
    _update_running_stats(momentum, (running_mean, mean, 1), (running_var, var, n / max(n - 1, 1)))
    mean, scale = (reshape(v, (channels,)).to(input.dtype) for v in (mean, rsqrt(var + eps)))
    return out, mean, scale


# --- across neighbouring channels -----------------------------------------------------------------------------------


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * mean of squares of neighbouring channels) ** beta`` (Krizhevsky et al. 2012).

    Args:
        input: ``(batch, channels, ...)``, at least 3-d.
        size: the number of neighbouring channels; beyond the ends there are zeros.

    >>> import pullback as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 1, 1), 1, alpha=3.0, beta=1.0)
    tensor([[[0.2500]]])
    """
    sizes = list(input.shape)
    if len(sizes) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {len(sizes)} dimensions)")
    if not math.prod(sizes):
        return input
    if size <= 0:
        raise RuntimeError(f"local_response_norm: size should be greater than zero, but got {size}")
    if input.dtype.category < FLOATING:
        input = input.to(dtypes.get_default_dtype())
    squares = pad(reshape(input * input, [sizes[0], 1, sizes[1], -1]), (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool2d(squares, (size, 1), 1)
    return input / (reshape(means, sizes) * alpha + k) ** beta
