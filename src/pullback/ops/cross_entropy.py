"""Losses of classes: the negative log-likelihood of class indices, and cross entropy.

Cross entropy goes from logits to the loss at once: its derivative is softmax less the target (Bridle 1990). The
maximum is subtracted before anything is exponentiated, and kept apart, so that logits of any size are exact.
"""

from __future__ import annotations

import math
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

def _class_axis(input: Any) -> int:
    return 1 if len(input.shape) > 1 else 0


def _picks(target: Any, axis: int, ignore_index: int) -> list[np.ndarray]:
    """The index of each target's class in the input; class 0 in the place of ignored ones."""
    target = index_array(target)
    classes = np.where(target == ignore_index, 0, target)
    if axis == 0:
        return [classes]
    grid = np.ogrid[tuple(slice(n) for n in target.shape)] if target.ndim > 1 else [np.arange(len(target))]
    return [grid[0], classes, *grid[1:]]


def _shares(target: np.ndarray, weight: np.ndarray | None, classes: int, ignore_index: int, reduction: str,
            dtype: Any) -> np.ndarray:  # fmt: skip
    """By what each sample's loss enters the result: its weight, as a fraction of all where the mean is taken.

    Raises:
        IndexError: for a target that is not a class.
    """
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        raise noted(IndexError(f"Target {target[wrong].reshape(-1)[0]} is out of bounds."),
                    f"there are {classes} classes, counted from 0")  # fmt: skip
    shares = counts.astype(dtype) if weight is None else np.where(counts, weight[np.where(counts, target, 0)], 0).astype(dtype)
    if reduction == MEAN:
        shares /= max(shares.sum(), np.finfo(dtype).tiny)
    return shares


def _weighted_sum(losses: np.ndarray, shares: np.ndarray, reduction: str) -> Any:
    if reduction == NONE:
        return np.where(shares == 0, 0, losses * shares)
    if reduction == MEAN and not shares.any():
        return losses.dtype.type(math.nan)  # the mean of nothing
    return np.add.reduce(np.where(shares == 0, 0, losses * shares), None)


def _class_node(input: Any, *rest: Any) -> str:
    return "NllLossBackward0" if input.ndim < 3 else "NllLoss2DBackward0"


@half.general(name="nll_loss", outputs="out shares", differentiable="out", node=_class_node, method=False)
def _nll(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = MEAN) -> Any:
    axis = _class_axis(input)
    shares = _shares(target, weight, input.shape[axis], ignore_index, reduction, input.dtype)
    return _weighted_sum(-input[tuple(_picks(target, axis, ignore_index))], shares, reduction), shares


@_nll.vjp_all
def _of_nll(g: Any, wanted: Any, input_shape: tuple[int, ...], target: Any, ignore_index: int, shares: Any) -> Any:
    axis = 1 if len(input_shape) > 1 else 0
    return sum_at(-(g * shares), _picks(target, axis, ignore_index), input_shape), None, None


@half.general(name="cross_entropy", outputs="out top logsum shares", differentiable="out logsum", node=_class_node, method=False)
def _cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100,
                   reduction: str = MEAN) -> Any:  # fmt: skip
    """``nll_loss(log_softmax(input))``. ``logsum`` is that of ``exp(input - top)``, ``top`` the maximum."""
    axis = _class_axis(input)
    shares = _shares(target, weight, input.shape[axis], ignore_index, reduction, input.dtype)
    top = largest(input, axis) if input.size else np.zeros([1 if i == axis else n for i, n in enumerate(input.shape)], input.dtype)
    below = input - top
    of_target = below[tuple(_picks(target, axis, ignore_index))]
    logsum = np.log(total(np.exp(below, out=below), (axis,), True))
    return _weighted_sum(np.squeeze(logsum, axis) - of_target, shares, reduction), top, logsum, shares


@_cross_entropy.vjp_all
def _of_cross_entropy(g: Any, wanted: Any, input: Any, target: Any, ignore_index: int, top: Any, logsum: Any, shares: Any) -> Any:
    """Softmax less the target, by share."""
    g, g_logsum = g
    axis = _class_axis(input)
    each = g * shares
    softmax = exp(input - top - logsum)
    spread = softmax * (unsqueeze(each, axis) + g_logsum)
    return put_at(spread, -each, _picks(target, axis, ignore_index), True), None, None


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
    classes = sizes[_class_axis(input)]
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
    return _nll(input, target, weight, ignore_index, reduction).out


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
    if not label_smoothing:
        return _cross_entropy(input, target, weight, ignore_index, reduction).out
    axis = _class_axis(input)
    log_p = log_softmax(input, axis)
    counts = op.wrap(target._array != ignore_index)
    even = where(counts, -sum(log_p if weight is None else log_p * _along(weight, input), axis), 0)
    if reduction == NONE:
        smooth = even
    else:
        weights = _shares(target._array, None if weight is None else weight._array, input.shape[axis], ignore_index, SUM, np.float64)
        smooth = sum(even) / (weights.sum().item() or math.nan) if reduction == MEAN else sum(even)
    exact = _nll(log_p, target, weight, ignore_index, reduction).out
    return exact * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[axis])


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
    axis = _class_axis(input)
    classes = input.shape[axis]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = log_softmax(input, axis) * target
    if weight is not None:
        products = products * _along(weight, input)
    if reduction == NONE:
        return -sum(products, axis)
    return -sum(products) if reduction == SUM else -sum(products) / (math.prod(input.shape) / classes)
