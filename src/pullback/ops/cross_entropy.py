"""Losses of classes: the negative log-likelihood of class indices, and cross entropy.

Cross entropy goes from logits to the loss at once: its derivative is softmax less the target (Bridle 1990). The
maximum is subtracted before anything is exponentiated, and kept apart, so that logits of any size are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import op
from ..complaint import noted
from ..dtypes import FLOATING, INT64, OF_NUMPY
from ..storage import edge_of
from ..tensor import Tensor
from . import half
from .activation import largest, log_softmax
from .index import index_array, put_at, sum_at
from .loss import MEAN, NONE, SUM, chosen
from .pointwise import exp, where
from .reduce import sum, total
from .view import reshape, unsqueeze

__all_functional__ = ["cross_entropy", "nll_loss"]


def _class_axis(shape: Sequence[int]) -> int:
    return 1 if len(shape) > 1 else 0


def _picks(target: Any, axis: int) -> list[np.ndarray]:
    """The place of each target's class in the input, as an advanced index."""
    classes = index_array(target)
    if axis == 0:
        return [classes]
    grid = [np.arange(len(classes))] if classes.ndim == 1 else np.ogrid[tuple(map(slice, classes.shape))]
    return [grid[0], classes, *grid[1:]]


def _shares(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> tuple[Tensor, Tensor]:
    """Targets with class 0 in the place of ignored ones, and by what each one's loss enters the result.

    That is its weight, or for the mean the fraction that it is of all weights; 0 if it is ignored.

    Raises:
        IndexError: for a target that is not a class.
    """
    t, d, classes = target._array, input._array.dtype, input.shape[_class_axis(input.shape)]
    d = np.result_type(d, np.float32)
    if weight is None and not 0 <= ignore_index < classes and t.size and t.view(np.uint64).max() < classes:  # negative is large
        return target, op.wrap(np.full(t.shape, 1 / t.size if reduction == MEAN else 1, d))
    counts = t != ignore_index
    wrong = counts & ((t < 0) | (t >= classes))
    if wrong.any():
        raise noted(IndexError(f"Target {t[wrong][0]} is out of bounds."), f"there are {classes} classes, counted from 0")
    t = np.where(counts, t, 0)
    shares = counts.astype(d) if weight is None else np.where(counts, weight._array[t], 0).astype(d)
    if reduction == MEAN:
        shares /= shares.sum() or 1
    return op.wrap(t), op.wrap(shares)


def _shared_out(losses: np.ndarray, shares: np.ndarray, each: bool) -> Any:
    """Losses by share, summed unless each is wanted. What has no share does not count, be it infinite."""
    losses = losses * shares if shares.all() else np.where(shares == 0, 0, losses * shares)
    return losses if each else np.add.reduce(losses, None)


def _class_node(input: Any, *rest: Any) -> str:
    return "NllLossBackward0" if input.ndim < 3 else "NllLoss2DBackward0"


@half.general(name="nll_loss", node=_class_node, method=False)
def _nll(input: Tensor, target: Tensor, shares: Tensor, each: bool) -> Tensor:
    return _shared_out(-input[tuple(_picks(target, _class_axis(input.shape)))], shares, each)


_nll.vjp(input=lambda g, input_shape, target, shares: (
    sum_at(-(g * shares), _picks(target, _class_axis(input_shape)), input_shape)))  # fmt: skip


@half.general(name="cross_entropy", outputs="out top logsum", differentiable="out logsum", node=_class_node, method=False)
def _cross_entropy(input: Tensor, target: Tensor, shares: Tensor, each: bool) -> Any:
    """``nll_loss(log_softmax(input))``. ``logsum`` is that of ``exp(input - top)``, ``top`` the maximum."""
    axis = _class_axis(input.shape)
    top = largest(input, axis) if input.size else np.zeros_like(input).sum(axis, keepdims=True)
    below = np.asarray(input - top)
    of_target = below[tuple(_picks(target, axis))]
    logsum = np.log(total(np.exp(below, out=below), (axis,), True))
    return _shared_out(logsum.squeeze(axis) - of_target, shares, each), top, logsum


@_cross_entropy.vjp_all
def _of_cross_entropy(g: Any, wanted: Any, input: Any, target: Any, shares: Any, top: Any, logsum: Any) -> Any:
    """Softmax less the target, by share."""
    g, g_logsum = g
    axis = _class_axis(input.shape)
    by_share = g * shares
    spread = exp(input - top - logsum) * (unsqueeze(by_share, axis) + g_logsum)
    at = _picks(target, axis)
    if spread.__class__ is np.ndarray:
        spread[tuple(at)] -= by_share  # the same in place
        return spread, None, None
    return put_at(spread, -by_share, at, True), None, None


def _mean_of_nothing(loss: Tensor, reduction: str, shares: Tensor) -> Tensor:
    return loss + math.nan if reduction == MEAN and not shares._array.any() else loss


def _checked(input: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """The target as int64, once all shapes and types have turned out to make a classification."""
    sizes, places = list(input.shape), list(target.shape)
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(sizes) > 1 and sizes[0] != (places[0] if places else None):
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({places[0] if places else 0}).")
    if places != sizes[:1] * (len(sizes) > 1) + sizes[2:]:
        raise RuntimeError(f"Expected target size {sizes[:1] * (len(sizes) > 1) + sizes[2:]}, got {places}")
    if op.type_name(target.dtype) not in ("Long", "Byte"):
        raise noted(RuntimeError(f"expected target dtype to be Long or Byte, but got {op.type_name(target.dtype)}"),
                    "Class indices are integers: target.long()")  # fmt: skip
    if OF_NUMPY[input._array.dtype].category != FLOATING:
        raise NotImplementedError(f"\"log_softmax_lastdim_kernel_impl\" not implemented for '{op.type_name(input.dtype)}'")
    if target._array.dtype != INT64:
        target = op.wrap(target._array.astype(INT64))
    if weight is None:
        return target
    classes = sizes[_class_axis(input.shape)]
    if list(weight.shape) != [classes]:
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
                           f"shape: {list(weight.shape)}")  # fmt: skip
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {op.type_name(input.dtype)} but found {op.type_name(weight.dtype)}")
    if edge_of(weight) is not None:
        raise RuntimeError("The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'. This input "
                           "cannot have requires_grad True.")  # fmt: skip
    return target


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = MEAN) -> Tensor:  # fmt: skip
    """Negative log-likelihood: ``-input[n, target[n]]``, by the weight of the class.

    Args:
        input: log-probabilities, ``(classes,)`` or ``(batch, classes, ...)``.
        target: class indices, ``()`` or ``(batch, ...)``, int64.
        weight: ``(classes,)``.
        ignore_index: a target that does not count.
        reduction: ``"none"``, ``"mean"`` (by weight) or ``"sum"``.

    Raises:
        IndexError: for a target that is not a class.
        ValueError, RuntimeError: for shapes and types that do not fit.

    >>> import pullback as torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), torch.tensor([1, 0]))
    tensor(2.5000)
    """
    reduction = chosen(reduction, size_average, reduce)
    target = _checked(input, target, weight)
    target, shares = _shares(input, target, weight, ignore_index, reduction)
    return _mean_of_nothing(_nll(input, target, shares, reduction == NONE), reduction, shares)


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = MEAN,
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Cross entropy between the target and ``softmax(input)``.

    Args:
        input: logits, ``(classes,)`` or ``(batch, classes, ...)``.
        target: class indices, ``()`` or ``(batch, ...)``, int64; or probabilities, of input's shape.
        weight: ``(classes,)``.
        ignore_index: a target that does not count.
        reduction: ``"none"``, ``"mean"`` (by weight, for class indices) or ``"sum"``.
        label_smoothing: how much of the target is spread evenly over all classes (Szegedy et al. 2015).

    Raises:
        IndexError: for a target that is not a class.
        ValueError, RuntimeError: for shapes and types that do not fit.

    >>> import pullback as torch
    >>> torch.nn.functional.cross_entropy(torch.tensor([[0.0, 0.0], [0.0, 1000.0]]), torch.tensor([1, 1]), reduction="none")
    tensor([0.6931, 0.0000])
    """
    reduction = chosen(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.shape == target.shape:
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    target = _checked(input, target, weight)
    axis = _class_axis(input.shape)
    counts = target._array != ignore_index
    target, shares = _shares(input, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return _mean_of_nothing(_cross_entropy(input, target, shares, reduction == NONE).out, reduction, shares)
    log_p = log_softmax(input, axis)
    exact = _nll(log_p, target, shares, reduction == NONE)
    even = where(op.wrap(counts), -sum(log_p if weight is None else log_p * _along(weight, input), axis), 0)
    if reduction == SUM:
        even = sum(even)
    elif reduction == MEAN:
        even = sum(even) / (counts if weight is None else weight._array[target._array] * counts).sum().item()
    smooth = label_smoothing / input.shape[axis]
    return _mean_of_nothing(exact * (1 - label_smoothing) + even * smooth, reduction, shares)


def _along(weight: Tensor, input: Tensor) -> Tensor:
    """Class weights, shaped to broadcast with the input."""
    return reshape(weight, [1, -1, *[1] * (len(input.shape) - 2)]) if len(input.shape) > 1 else weight


def _soft_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
                        label_smoothing: float) -> Tensor:  # fmt: skip
    """Cross entropy with probabilities for targets."""
    if OF_NUMPY[target._array.dtype].category != FLOATING:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {op.type_name(target.dtype)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    axis = _class_axis(input.shape)
    classes = input.shape[axis]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = log_softmax(input, axis) * target
    if weight is not None:
        products = products * _along(weight, input)
    if reduction == NONE:
        return -sum(products, axis)
    return -sum(products) if reduction == SUM else -sum(products) / (math.prod(input.shape) / classes)
