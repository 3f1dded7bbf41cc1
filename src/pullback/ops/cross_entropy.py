"""Classification losses: ``nll_loss``, ``cross_entropy``, ``linear_cross_entropy``.

Cross entropy goes from logits to the loss in one op: its derivative is softmax less the target (Bridle 1990). The
maximum is subtracted before anything is exponentiated, and kept apart, so that logits of any size are exact. With class
indices, ``shares`` are the loss weights: the factor of each target's loss in the result, the mean's division included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, INT64, OF_NUMPY
from ..base.errors import with_notes
from ..core import op, record
from ..core.level import concrete_array, innermost_level, is_level_value
from ..core.tensor import Tensor
from ..core.views import gradient_edge
from ..kernels.dispatch import as_type, wide
from . import half
from .index import all_in_range, index_array, open_grid, sum_at, take_at
from .linear import linear
from .loss import MEAN, NONE, SUM, resolve_reduction, weighted
from .pointwise import exp
from .reduce import sum, sum_array
from .softmax import log_softmax, max_keepdim, softmax
from .values.meta import Meta
from .view import expand, reshape, unsqueeze
from .where import where

__all_functional__ = ["cross_entropy", "linear_cross_entropy", "nll_loss"]


def _class_axis(shape: Sequence[int]) -> int:
    return 1 if len(shape) > 1 else 0


def _target_index(target: Any, axis: int) -> list[np.ndarray]:
    """The advanced index of each target's class in the input."""
    classes = index_array(target)
    if axis == 0:
        return [classes]
    first, *rest = open_grid(classes.shape)
    return [first, classes, *rest]


@lru_cache(256)
def _row_offsets(rows: int, n: int) -> np.ndarray:
    """The flat index at which each row begins."""
    return np.arange(0, rows * n, n or 1)


def _flat_target_index(target: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """:func:`_target_index` as flat indices."""
    if len(shape) == 2:
        return target + (_row_offsets if shape[0] < 1024 else _row_offsets.__wrapped__)(*shape)
    axis = _class_axis(shape)
    images, places = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    classes = target.reshape(images, places)
    at = classes * places + np.arange(images)[:, None] * (shape[axis] * places) + np.arange(places)
    return at.reshape(target.shape)


def _loss_weights(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, classes: int
) -> tuple[Tensor, Any]:
    """Targets, with class 0 for ignored ones, and the loss weight of each.

    That is its class weight, for the mean divided by their sum; 0 if it is ignored. One number if all are equal.

    Raises:
        IndexError: for a target that is not a class.
    """
    x, t = input._array, target._array
    weights = None if weight is None else weight._array
    level = innermost_level((t, x, weights)) if thread_state.slow_path_reasons else None
    if level is None and weights is None and _none_ignored(t, classes, ignore_index):
        return target, 1 / t.size if reduction == MEAN else 1.0
    d = FLOAT64 if x.dtype == FLOAT64 else FLOAT32
    if target.is_meta:
        return target, record.wrap(Meta(target.shape, d))
    if level is None:
        both = loss_weights_of_arrays(t, weights, classes, ignore_index, reduction == MEAN, d)
        return record.wrap(both[0]), record.wrap(both[1])
    if (
        thread_state.local.trace is None
        and weights is None
        and _none_ignored(concrete_array(target._array), classes, ignore_index)
    ):
        return target, record.wrap(_equal_weights(target.shape, reduction == MEAN, d))
    if level is thread_state.local.trace or level.batches and weights is None:  # compiled: each call has other targets
        return _class_shares(target, weight, classes, ignore_index, reduction == MEAN, d)
    return _loss_weights_of_tensors(input, target, weight, ignore_index, reduction, classes)


def check_classes(t: np.ndarray, classes: int, ignore_index: int) -> None:
    """Refuse targets that are neither a class nor ignored."""
    if not all_in_range(t, classes):
        wrong = (t != ignore_index) & ((t < 0) | (t >= classes))
        if wrong.any():
            raise with_notes(
                IndexError(f"Target {t[wrong][0]} is out of bounds."), f"there are {classes} classes, counted from 0"
            )


def _none_ignored(t: np.ndarray, classes: int, ignore_index: int) -> bool:
    return not 0 <= ignore_index < classes and t.size > 0 and all_in_range(t, classes)


def _equal_weights(shape: Sequence[int], mean: bool, d: np.dtype) -> np.ndarray:
    """The loss weights of targets that all count equally."""
    shares = np.empty(shape, d)
    shares.fill(1 / math.prod(shape) if mean else 1)
    return shares


def loss_weights_of_arrays(
    t: Any, weight: Any, classes: int, ignore_index: int, mean: bool, d: np.dtype
) -> tuple[Any, Any]:
    if weight is None and _none_ignored(t, classes, ignore_index):
        return t, _equal_weights(t.shape, mean, d)
    check_classes(t, classes, ignore_index)
    counts = t != ignore_index
    t = np.where(counts, t, 0)
    shares = counts.astype(d) if weight is None else np.where(counts, weight[t], 0).astype(d)
    if mean:
        shares /= shares.sum() or 1
    return t, shares


@op.general(name="class_shares", outputs="target shares", method=False)
def _class_shares(
    target: Tensor,
    weight: Tensor | None = None,
    classes: int = 0,
    ignore_index: int = -100,
    mean: bool = True,
    dtype: Any = None,
) -> Any:
    return loss_weights_of_arrays(target, weight, classes, ignore_index, mean, dtype)


def _loss_weights_of_tensors(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, classes: int
) -> Any:
    """:func:`_loss_weights` by operations on tensors, for vmap and forward mode."""
    check_classes(concrete_array(target._array, True), classes, ignore_index)
    counts = target != ignore_index
    target = where(counts, target, 0)
    shares = where(counts, 1.0 if weight is None else take_at(weight, [target._array]), 0.0).to(input.dtype)
    return target, shares / sum(shares) if reduction == MEAN else shares


def _weighted_losses(losses: np.ndarray, shares: Any, each: bool) -> Any:
    """Losses times their weights, summed unless ``each``. A weight of 0 drops even an infinite loss."""
    if shares.__class__ is float:
        return losses if each else np.add.reduce(losses, None) * shares
    losses = losses * shares if np.count_nonzero(shares) == shares.size else np.where(shares == 0, 0, losses * shares)
    return losses if each else np.add.reduce(losses, None)


@op.general(name="nll_loss", node="node", method=False)
def _nll(input: Tensor, target: Tensor, shares: Tensor, each: bool, node: str) -> Tensor:
    losses = -wide(input.take(_flat_target_index(target, input.shape)))
    return as_type(np.asarray(_weighted_losses(losses, wide(shares), each)), input.dtype, copy=False)


def _at_target(values: Any, target: Any, shape: Sequence[int]) -> Any:
    """Zeros of that shape, with each target's value at its class."""
    axis = _class_axis(shape)
    if target.__class__ is np.ndarray and not isinstance(values, Tensor):  # no index repeats
        out = np.zeros(shape, values.dtype)
        out.reshape(-1)[_flat_target_index(target, shape)] = values
        return out
    if not is_level_value(getattr(target, "_array", None)):
        return sum_at(
            values if values.shape == target.shape else expand(values, target.shape), _target_index(target, axis), shape
        )
    classes = reshape(record.wrap(np.arange(shape[axis])), [-1] + [1] * (len(shape) - 1 - axis))
    return where(unsqueeze(target, axis) == classes, unsqueeze(values, axis), 0)


_nll.vjp(input=lambda g, input_shape, target, shares: _at_target(g * -shares, target, input_shape))
_nll.op.zero_second_derivative_nodes = ("",)


@half.general(name="cross_entropy", outputs="out top logsum", differentiable="out", node="node", method=False)
def _cross_entropy(input: Tensor, target: Tensor, shares: Tensor, each: bool, node: str) -> Any:
    """``nll_loss(log_softmax(input))``. ``logsum`` is that of ``exp(input - top)``, ``top`` the maximum."""
    fast = kernels.run("cross_entropy", "cross_entropy", input.size, input, target)
    if fast is not None:
        losses, top, logsum = fast
        return _weighted_losses(losses, shares, each), top, logsum
    axis = _class_axis(input.shape)
    top = max_keepdim(input, axis) if input.size else np.zeros_like(input).sum(axis, keepdims=True)
    below = np.asarray(input - top)
    of_target = below[tuple(_target_index(target, axis))]
    logsum = np.log(sum_array(np.exp(below, out=below), (axis,), True))
    return _weighted_losses(logsum.squeeze(axis) - of_target, shares, each), top, logsum


@_cross_entropy.vjp_all
def _cross_entropy_vjp(g: Any, wanted: Any, input: Any, target: Any, shares: Any, top: Any, logsum: Any) -> Any:
    """Softmax less the target, times the loss weight."""
    axis = _class_axis(input.shape)
    by_share, alike = g * shares, shares.__class__ is float
    if input.__class__ is g.__class__ is np.ndarray:
        spread = kernels.run(
            "cross_entropy", "cross_entropy_backward", input.size, input, target, top, logsum, by_share
        )
        if spread is not None:
            if not alike and not shares.all():
                spread[shares == 0] = 0  # an ignored row may be infinite
            return spread, None, None
    # by operations that can be differentiated again
    shown = exp(input - top - logsum) if input.__class__ is np.ndarray else softmax(input, axis)
    if not alike:
        shown = where(unsqueeze(shares, axis) == 0, 0, shown)  # an ignored row may be infinite
    spread = shown * (unsqueeze(by_share, axis) if by_share.shape else by_share)
    if spread.__class__ is np.ndarray:
        spread[tuple(_target_index(target, axis))] -= by_share  # as below, in place
        return spread, None, None
    return spread - _at_target(by_share, target, spread.shape), None, None


def _nan_if_all_ignored(loss: Tensor, reduction: str, shares: Any) -> Tensor:
    if shares.__class__ is float or isinstance(shares._array, Meta):
        return loss
    if reduction == MEAN and thread_state.local.trace is not None:
        whole = sum(shares)
        return loss + ((whole - whole) / whole).to(loss.dtype)
    return loss + math.nan if reduction == MEAN and not concrete_array(shares._array).any() else loss


def _check_targets(input: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, int, str]:
    """The target as int64, the number of classes, and the node's name; refuses shapes and dtypes that do not match."""
    if len(input._array.shape) == 1 and target._array.shape == (1,):
        target = reshape(target, ())
    x, t = input._array, target._array
    classes, node = _check_shapes(x.shape, t.shape, x.dtype, t.dtype)
    if t.dtype != INT64:
        target = record.wrap(t.astype(INT64))
    if weight is None:
        return target, classes, node
    _check_weight(weight, classes)
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {dtypes.type_name(input.dtype)} but found {dtypes.type_name(weight.dtype)}"
        )
    if gradient_edge(weight) is not None:
        raise RuntimeError(
            "The function 'nll_loss_forward' is not differentiable with respect to argument 'weight'. This input "
            "cannot have requires_grad True."
        )
    return target, classes, node


@lru_cache(256)
def _check_shapes(sizes: tuple[int, ...], places: tuple[int, ...], d: np.dtype, of_target: np.dtype) -> tuple[int, str]:
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(sizes) > 1 and sizes[:1] != places[:1]:
        raise ValueError(
            f"Expected input batch_size ({sizes[0]}) to match target batch_size ({places[0] if places else 0})."
        )
    if len(sizes) < 3 and len(places) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(sizes) == len(places) == 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {places[0]}")
    axis = _class_axis(sizes)
    if places != sizes[:axis] + sizes[axis + 1 :]:
        raise RuntimeError(f"Expected target size {[*sizes[:axis], *sizes[axis + 1 :]]}, got {list(places)}")
    kind = dtypes.type_name(OF_NUMPY[of_target])
    if kind not in ("Long", "Byte"):
        raise with_notes(
            RuntimeError(f"expected target dtype to be Long or Byte, but got {kind}"),
            "Class indices are integers: target.long()",
        )
    if OF_NUMPY[d].category != FLOATING:
        raise NotImplementedError(
            f"\"log_softmax_lastdim_kernel_impl\" not implemented for '{dtypes.type_name(OF_NUMPY[d])}'"
        )
    return sizes[axis], "NllLossBackward0" if len(sizes) < 3 else "NllLoss2DBackward0"


def _check_weight(weight: Tensor, classes: int) -> None:
    if list(weight.shape) != [classes]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
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
    reduction = resolve_reduction(reduction, size_average, reduce)
    target, classes, node = _check_targets(input, target, weight)
    target, shares = _loss_weights(input, target, weight, ignore_index, reduction, classes)
    return _nan_if_all_ignored(_nll(input, target, shares, reduction == NONE, node), reduction, shares)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = MEAN,
    label_smoothing: float = 0.0,
) -> Tensor:
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
    >>> scores = torch.tensor([[0.0, 0.0], [0.0, 1000.0]])
    >>> torch.nn.functional.cross_entropy(scores, torch.tensor([1, 1]), reduction="none")
    tensor([0.6931, 0.0000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._array.shape == target._array.shape:
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    given, classes, node = _check_targets(input, target, weight)
    target, shares = _loss_weights(input, given, weight, ignore_index, reduction, classes)
    if not label_smoothing:
        return _nan_if_all_ignored(
            _cross_entropy(input, target, shares, reduction == NONE, node).out, reduction, shares
        )
    axis = _class_axis(input.shape)
    log_p = log_softmax(input, axis)
    exact = _nll(log_p, target, shares, reduction == NONE, node)
    counts = given != ignore_index
    even = where(counts, -sum(log_p if weight is None else weighted(log_p, _broadcast_weight(weight, input)), axis), 0)
    if reduction == SUM:
        even = sum(even)
    elif reduction == MEAN:
        even = sum(even) / sum(counts if weight is None else take_at(weight, [target._array]) * counts)
    smooth = label_smoothing / classes
    return _nan_if_all_ignored(exact * (1 - label_smoothing) + even * smooth, reduction, shares)


def _broadcast_weight(weight: Tensor, input: Tensor) -> Tensor:
    """Class weights, shaped to broadcast with the input."""
    return reshape(weight, [1, -1, *[1] * (len(input.shape) - 2)]) if len(input.shape) > 1 else weight


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, label_smoothing: float
) -> Tensor:
    """Cross entropy with probabilities for targets."""
    if OF_NUMPY[target._array.dtype].category != FLOATING:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {dtypes.type_name(target.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    axis = _class_axis(input.shape)
    classes = max(input.shape[axis], 1)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = weighted(log_softmax(input, axis), target)
    if weight is not None:
        _check_weight(weight, input.shape[axis])
        products = weighted(products, _broadcast_weight(weight, input))
    if reduction == NONE:
        return -sum(products, axis)
    return -sum(products) if reduction == SUM else -sum(products) / (math.prod(input.shape) / classes)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = MEAN,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """:func:`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    Args:
        input: ``(batch, n)`` or ``(n,)``.
        linear_weight: ``(classes, n)``, or ``(classes, ..., n)`` for logits ``(batch, classes, ...)``.
        target: class indices, or probabilities of the logits' shape.
        linear_bias: of linear_weight's shape without the last dimension.
        weight, reduction, ignore_index, label_smoothing: see :func:`cross_entropy`.
        options: accepted; there is one way to compute it here.

    >>> import pullback as torch
    >>> torch.nn.functional.linear_cross_entropy(torch.ones(1, 2), torch.zeros(2, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"input must be 1- or 2-dimensional, got {input.dim()}-dimensional")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[0]}), got unbatched input with shape {tuple(input.shape)}"
        )
    logits_shape = (*input.shape[:-1], *linear_weight.shape[:-1])
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    flat_weight = reshape(linear_weight, (-1, linear_weight.shape[-1]))
    flat_bias = None if linear_bias is None else reshape(linear_bias, (-1,))
    logits = reshape(linear(input, flat_weight, flat_bias), logits_shape)
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
