"""``mse_loss``, ``l1_loss``, ``huber_loss``, ``binary_cross_entropy``, ``kl_div``, ``poisson_nll_loss``, ...

Each compares an input with a target and reduces by ``reduction``: ``"none"`` keeps the shape, ``"sum"`` adds,
``"mean"`` averages. The common ones are one op with the reduction inside; the rest are composites. Classification
losses are in :mod:`pullback.ops.cross_entropy`, those with a margin in :mod:`pullback.ops.margin`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.errors import with_notes
from ..base.thread_state import no_grad
from ..core import op, record
from ..core.level import check_values, concrete_array
from ..core.tensor import Tensor
from ..kernels import dispatch
from . import half
from .activation import hardtanh, logsigmoid
from .compare import not_implemented
from .complex import abs
from .pointwise import exp, log, sigmoid, sign
from .reduce import mean, sum, sum_of_squares
from .special import xlogy
from .view import broadcast_tensors, unsqueeze
from .where import clamp, clamp_min, clip_array, fast_where, where

__all__ = ["binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss"]
__all_functional__ = [
    *__all__,
    "binary_cross_entropy",
    "gaussian_nll_loss",
    "huber_loss",
    "l1_loss",
    "mse_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
]

NONE, MEAN, SUM = "none", "mean", "sum"


# --- reductions -------------------------------------------------------------------------------------------------


def resolve_reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction, given by name or by the two deprecated flags.

    Raises:
        ValueError: for an unknown name.
    """
    if size_average is not None or reduce is not None:
        reduction = NONE if reduce is False else MEAN if size_average is not False else SUM
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            UserWarning,
            stacklevel=3,
        )
    if reduction not in (NONE, MEAN, SUM):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


MANY = 1 << 14  # squares from which on their sum needs more care than a dot product takes


def reduce_losses(losses: Any, reduction: str) -> Any:
    """A tensor of elementwise losses, reduced."""
    return losses if reduction == NONE else mean(losses) if reduction == MEAN else sum(losses)


def _reduce_arrays(losses: np.ndarray, reduction: str) -> Any:
    """:func:`reduce_losses` for arrays."""
    if reduction == NONE:
        return losses
    total = np.add.reduce(losses, None)
    return total / losses.size if reduction == MEAN else total


def reduction_vjp(g: Any, input: Any, reduction: str) -> Any:
    """The gradient of each element's loss, given that of the reduced loss."""
    return g * (1 / max(math.prod(input.shape), 1)) if reduction == MEAN else g


def _square_vjp(g: Any, x: Any, y: Any, reduction: str) -> Any:
    """The gradient of ``(x - y) ** 2`` for x."""
    return (x - y) * (2 / max(math.prod(x.shape), 1) if reduction == MEAN else 2.0) * g


def _of_one_shape(input: Tensor, target: Tensor, stacklevel: int = 3) -> tuple[Tensor, Tensor]:
    """Input and target, broadcast (with a warning)."""
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=stacklevel,
        )
        return broadcast_tensors(input, target)
    return input, target


def _broadcast_pair(input: Tensor, target: Tensor, kernel: str = "", stacklevel: int = 3) -> tuple[Tensor, Tensor]:
    """Input and target, broadcast (with a warning) and of one type."""
    input, target = _of_one_shape(input, target, stacklevel + 1)
    if input._array.dtype is not target._array.dtype and input.dtype is not target.dtype:
        common = dtypes.result_type_of((input._array, target._array))
        input, target = input.to(common), target.to(common)
    if kernel and OF_NUMPY[input._array.dtype].category != FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.type_name(input.dtype)}'")
    return input, target


def weighted_array(x: Any, weight: Any) -> Any:
    """``x * weight``, and 0 where the weight is 0 and x infinite: what has no weight does not count."""
    return fast_where((weight == 0) & (np.abs(x) == np.inf), 0, x) * weight


@op.elementwise(name="weighted", numpy_impl=weighted_array, method=False)
def weighted(input: Tensor, weight: Tensor) -> Tensor: ...


weighted.vjp(
    input=lambda g, weight: g * weight,
    weight=lambda g, input, weight: g * where((weight == 0) & (abs(input) == math.inf), 0, input),
)


def _weighted(losses: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Elementwise losses times weights; the mean is weighted."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    losses = weighted(losses, weight)
    return sum(losses) / sum(weight) if reduction == MEAN else reduce_losses(losses, reduction)


def per_element(at_any_size: bool = False) -> Callable[[Callable], Callable]:
    """The losses of elements, by a kernel or in blocks where there are many; see :func:`dispatch.kernel_if_large`."""
    return lambda formula: dispatch.kernel_if_large(
        formula.__name__, formula, formula.__code__.co_argcount, at_any_size=at_any_size
    )


# --- distances of numbers ---------------------------------------------------------------------------------------


@half.general(name="mse_loss", method=False)
def _mse(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    apart = input - target
    if reduction == NONE:
        return apart * apart
    flat = apart.reshape(-1)
    total = flat.dot(flat) if flat.size < MANY else sum_of_squares(flat, (0,))
    return total / flat.size if reduction == MEAN else total


_mse.vjp(
    input=lambda g, input, target, reduction: _square_vjp(g, input, target, reduction),
    target=lambda g, input, target, reduction: _square_vjp(g, target, input, reduction),
)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target) ** 2``.

    Args:
        input, target: of one shape; others broadcast, with a warning.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: of the same shape; the mean is then by weight.

    >>> import pullback as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    input, target = _broadcast_pair(input, target, "mse_cpu")
    if weight is not None:
        return _weighted(_mse(input, target, NONE), input, weight, reduction)
    return _mse(input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
    weight: Tensor | None = None,
) -> Tensor:
    """``abs(input - target)``. Derivative: 0 where they are equal.

    >>> import pullback as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    input, target = _of_one_shape(input, target)
    losses = abs(input - target)
    return reduce_losses(losses, reduction) if weight is None else _weighted(losses, input, weight, reduction)


@per_element()
def _huber_losses(input: Any, target: Any, delta: float) -> Any:
    apart = input - target
    near = clip_array(apart, -delta, delta)
    apart -= 0.5 * near
    apart *= near
    return apart


@half.general(name="smooth_l1_loss", method=False)
def _smooth_l1(input: Tensor, target: Tensor, beta: float, reduction: str) -> Tensor:
    losses = _huber_losses(input, target, beta)
    return _reduce_arrays(losses if beta == 1 else losses / beta, reduction)


def _smooth_l1_vjp(g: Any, input: Any, target: Any, beta: float, reduction: str) -> Any:
    return hardtanh((input - target) / beta, -1.0, 1.0) * reduction_vjp(g, input, reduction)


_smooth_l1.vjp(
    input=_smooth_l1_vjp,
    target=lambda g, input, target, beta, reduction: _smooth_l1_vjp(g, target, input, beta, reduction),
)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
    beta: float = 1.0,
) -> Tensor:
    """``d ** 2 / (2 beta)`` where ``d = abs(input - target)`` is below ``beta``, else ``d - beta / 2`` (Girshick 2015).

    >>> import pullback as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 5.0]), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _broadcast_pair(input, target, "smooth_l1_cpu")
    return _smooth_l1(input, target, beta, reduction) if beta else reduce_losses(abs(input - target), reduction)


@half.general(name="huber_loss", method=False)
def _huber(input: Tensor, target: Tensor, delta: float, reduction: str) -> Tensor:
    return _reduce_arrays(_huber_losses(input, target, delta), reduction)


def _huber_derivative(apart: Any, delta: float) -> Any:
    """Where the pieces meet, the second derivative is that of the linear one."""
    return (
        where(abs(apart) >= delta, delta * sign(apart), apart)  # NaN stays NaN
        if isinstance(apart, Tensor)
        else clamp(apart, -delta, delta)
    )


_huber.vjp(
    input=lambda g, input, target, delta, reduction: (
        _huber_derivative(input - target, delta) * reduction_vjp(g, input, reduction)
    ),
    target=lambda g, input, target, delta, reduction: (
        _huber_derivative(target - input, delta) * reduction_vjp(g, input, reduction)
    ),
)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = MEAN, delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``d ** 2 / 2`` where ``d = abs(input - target)`` is at most ``delta``, else ``delta * (d - delta / 2)`` (Huber
    1964).

    >>> import pullback as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 5.0]), reduction="none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    reduction = resolve_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _broadcast_pair(input, target, "huber_cpu")
    if weight is None:
        return _huber(input, target, delta, reduction)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduce_losses(weighted(_huber(input, target, delta, NONE), weight), reduction)


# --- probabilities of two classes -------------------------------------------------------------------------------


@per_element(at_any_size=True)
def _bce_losses(input: Any, target: Any) -> Any:
    return (target - 1) * np.maximum(np.log1p(-input), -100) - target * np.maximum(np.log(input), -100)


@half.general(name="binary_cross_entropy", method=False)
def _bce(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = MEAN) -> Tensor:
    x: Any
    for name, x in (("input", input), ("target", target)):
        if x.size and not (x.item(x.argmin()) >= 0 and x.item(x.argmax()) <= 1):
            raise with_notes(
                RuntimeError(f"all elements of {name} should be between 0 and 1"),
                f"they lie between {x.min()} and {x.max()}; of logits take binary_cross_entropy_with_logits",
            )
    losses = _bce_losses(input, target)
    return _reduce_arrays(losses if weight is None else losses * weight, reduction)


def _weighted_reduction_vjp(g: Any, input: Any, weight: Any, reduction: str) -> Any:
    g = reduction_vjp(g, input, reduction)
    return g if weight is None else g * weight


_bce.vjp(
    input=lambda g, input, target, weight, reduction: (
        _weighted_reduction_vjp(g, input, weight, reduction) * (input - target) / clamp_min(input * (1 - input), 1e-12)
    ),
    target=lambda g, input, weight, reduction: (
        _weighted_reduction_vjp(g, input, weight, reduction)
        * (clamp_min(log(1 - input), -100) - clamp_min(log(input), -100))
    ),
)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, logarithms clamped to at least -100.

    Args:
        input: probabilities.
        target: probabilities, of the same shape and type.
        weight: broadcasts to that shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        RuntimeError: for an input outside ``[0, 1]``.
        ValueError: for differing shapes.

    >>> import pullback as torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 1.0]), torch.tensor([1.0, 1.0]), reduction="sum")
    tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {dtypes.type_name(target.dtype)} but expected {dtypes.type_name(input.dtype)}")
    if input._array.dtype.kind == "c":
        raise not_implemented("binary_cross_entropy", input._array)
    if weight is not None:
        weight = weight.expand(input.shape)
    return _bce(input, target, weight, reduction)


def _logit_loss(input: Any, if_true: Any, if_false: Any, both: Any) -> Any:
    """``if_true * softplus(-input) + if_false * softplus(input)``, where softplus(x) is x + softplus(-x); what has no
    weight does not count, however large the input.
    """
    size, factor = np.abs(input), np.where(input < 0, if_true, if_false)
    far = np.where((factor == 0) & (size == math.inf), 0, size) * factor
    return far + both * np.log1p(np.exp(-size))


_logit_losses = dispatch.kernel_if_large("logit_losses", lambda x, y: _logit_loss(x, y, 1 - y, 1), 2)
_logit_losses_weighted = dispatch.kernel_if_large(
    "logit_losses_weighted", lambda x, y, weight: _logit_loss(x, weight * y, 1 - y, weight * y + (1 - y)), 3
)


@half.general(name="binary_cross_entropy_with_logits", method=False)
def _bce_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: str = MEAN
) -> Tensor:
    if pos_weight is None:
        losses = _logit_losses(input, target)
    else:
        losses = _logit_losses_weighted(input, target, pos_weight)
    return _reduce_arrays(losses if weight is None else weighted_array(losses, weight), reduction)


def _bce_logits_vjp(g: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    p = sigmoid(input)
    slope = p - target if pos_weight is None else (pos_weight * target + (1 - target)) * p - pos_weight * target
    return slope * _weighted_reduction_vjp(g, input, weight, reduction)


def _bce_logits_target_vjp(g: Any, input: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    slope = -input if pos_weight is None else logsigmoid(-input) - weighted(logsigmoid(input), pos_weight)
    return weighted(slope, _weighted_reduction_vjp(g, input, weight, reduction))


_bce_logits.vjp(input=_bce_logits_vjp, target=_bce_logits_target_vjp)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
    pos_weight: Tensor | None = None,
) -> Tensor:
    """:func:`binary_cross_entropy` of ``sigmoid(input)``, exact for inputs of any size.

    Args:
        input: logits.
        target: probabilities, of the same shape.
        weight: broadcasts to that shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        pos_weight: factor of the loss of positive targets; broadcasts.

    >>> import pullback as torch
    >>> scores, target = torch.tensor([0.0, 1000.0]), torch.tensor([1.0, 0.0])
    >>> torch.nn.functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
    tensor([6.9315e-01, 1.0000e+03])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if input._array.dtype.kind == "c":
        raise not_implemented("log_sigmoid_cpu", input._array)
    if OF_NUMPY[target._array.dtype].category < FLOATING:
        a, b = (dtypes.type_name(x.dtype) for x in (input, target))
        raise with_notes(
            RuntimeError(f"result type {a} can't be cast to the desired output type {b}"), "Convert it: target.float()"
        )
    out = _bce_logits(input, target, weight, pos_weight, reduction)
    return out if out.dtype is target.dtype else out.to(target.dtype)


@per_element(at_any_size=True)
def _soft_margin_losses(input: Any, target: Any) -> Any:
    x = target * input
    if x.dtype.kind == "c":  # has no order to keep exp small by
        return np.log1p(np.exp(-x))
    losses = np.log1p(np.exp(-np.abs(x)))
    losses -= np.minimum(x, 0)
    return losses


@half.general(name="soft_margin_loss", method=False)
def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return _reduce_arrays(_soft_margin_losses(input, target).astype(input.dtype, copy=False), reduction)


_soft_margin.vjp(
    input=lambda g, input, target, reduction: target * sigmoid(-(target * input)) * -reduction_vjp(g, input, reduction),
    target=lambda g, input, target, reduction: input * sigmoid(-(target * input)) * -reduction_vjp(g, input, reduction),
)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = MEAN
) -> Tensor:
    """``log(1 + exp(-target * input))``, for targets 1 and -1.

    >>> import pullback as torch
    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        input, target = broadcast_tensors(input, target)
    return _soft_margin(input, target, reduction)


# --- distributions ----------------------------------------------------------------------------------------------


@op.elementwise(method=False)
def _kl_of_logs(input: Tensor, target: Tensor) -> Tensor:
    """``exp(target) * (target - input)``, and 0 where the exponential is."""
    p = np.exp(target)
    return fast_where(p == 0, 0, target - input) * p


_kl_of_logs.vjp(
    input=lambda g, target: g * -exp(target),
    target=lambda g, input, target: g * (_kl_of_logs(input, target) + exp(target)),
)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence ``target * (log(target) - input)``, 0 where the target is.

    Args:
        input: log-probabilities.
        target: probabilities, or their logarithms with ``log_target``.
        reduction: ``"none"``, ``"batchmean"`` (the divergence proper: the sum by the batch), ``"mean"`` or ``"sum"``.

    >>> import pullback as torch
    >>> torch.nn.functional.kl_div(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    by_batch = reduction == "batchmean"
    reduction = resolve_reduction(SUM if by_batch else reduction, size_average, reduce)
    if reduction == MEAN:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            UserWarning,
            stacklevel=2,
        )
    losses = _kl_of_logs(input, target) if log_target else xlogy(target, target) - weighted(input, target)
    result = reduce_losses(losses, reduction)
    return result / input.shape[0] if by_batch and input.shape else result


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """Negative log-likelihood of counts: ``exp(input) - target * input``.

    Args:
        input: logarithms of the rates; rates themselves without ``log_input``: ``input - target * log(input + eps)``.
        target: counts.
        full: add Stirling's approximation of ``log(target!)`` for targets above 1.

    >>> import pullback as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0]), torch.tensor([3.0]))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if log_input:
        losses = exp(input) - weighted(where(input == math.inf, 0, input), target)  # the exponential is far above
    else:
        losses = input - target * log(input + eps)
    if full:
        stirling = target * log(target) - target + 0.5 * log(2 * math.pi * target)
        losses = losses + where(target > 1, stirling, 0)
    return reduce_losses(losses, reduction)


def _refuse_negative(var: np.ndarray) -> None:
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = MEAN
) -> Tensor:
    """Negative log-likelihood of normal distributions: ``(log(var) + (input - target) ** 2 / var) / 2``.

    Args:
        input: expectations.
        target: samples.
        var: variances: of input's shape, or with a last dimension of size 1, or without it; or a number. Clamped to at
            least ``eps``, without an effect on their gradients.
        full: add the constant ``log(2 pi) / 2``.

    Raises:
        ValueError: for negative variances, or of another shape.

    >>> import pullback as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = record.wrap(np.full(input.shape, var, input._array.dtype))
    else:
        check_values(_refuse_negative, var._array)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = unsqueeze(var, -1)
        elif not (len(input.shape) == len(var.shape) and [m for n, m in zip(input.shape, var.shape) if n != m] == [1]):
            raise ValueError("var is of incorrect size")
    if reduction not in (NONE, MEAN, SUM):
        raise ValueError(f"{reduction} is not valid")
    with no_grad():
        missing = clamp_min(var, eps) - var  # added as a constant, so that the gradient passes
    if thread_state.local.trace is not None or missing.is_meta or concrete_array(missing._array).any():
        var = var + missing.detach()
    losses = 0.5 * (log(var) + (input - target) ** 2 / var)
    return reduce_losses(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)
