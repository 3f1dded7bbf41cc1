"""``multi_margin_loss``, ``hinge_embedding_loss``, ``triplet_margin_loss``, ...; ``cosine_similarity``.

Losses that are 0 once one score, or distance, exceeds another by the margin; and ``pairwise_distance``, which some of
them use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.dtypes import FLOATING
from ..base.layout import as_contiguous
from ..core.tensor import Tensor
from . import half
from .activation import logsigmoid
from .index import check_bounds, index_array, put_at, take_at
from .loss import MEAN, reduce_losses, resolve_reduction, weighted
from .norm import unit_vectors, vector_norm
from .reduce import sum, sum_array, sum_dims
from .view import broadcast_tensors, reshape, unsqueeze, wrap_dim
from .where import clamp_min, minimum, where

__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "pairwise_distance",
    "triplet_margin_loss",
]
__all_functional__ = [
    *__all__,
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_with_distance_loss",
]

# --- scores -----------------------------------------------------------------------------------------------------


def _as_batch(input: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """Scores as ``(batch, classes)``, and their own shape, which may also be ``(classes,)`` or ``()``."""
    shape = input._array.shape
    if len(shape) == 2 and shape[1]:
        return input, shape
    if len(shape) > 2 or shape and shape[-1] == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    return reshape(input, [1, -1]), shape


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``sum(max(0, margin - input[y] + input[i]) ** p) / classes`` over the other classes i, for the target y.

    Args:
        input: ``(batch, classes)`` or ``(classes,)``.
        target: class indices, ``(batch,)`` or ``()``.
        p: 1 or 2.
        margin: by how much the target's score should exceed the others.
        weight: ``(classes,)``: a factor for each target.

    >>> import pullback as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([0.0, 0.5]), torch.tensor(1))
    tensor(0.2500)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    scores, shape = _as_batch(input)
    if weight is not None and len(weight.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    places = target._array.shape
    if len(places) > 1 or math.prod(places) != scores.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            "size). "
            f"Expected target size {list(shape[:1])}, but got {list(target.shape)}. Input has shape {list(shape)}."
        )
    if weight is not None and weight.shape != scores.shape[1:]:
        raise RuntimeError(f"inconsistent weight size, expected {scores.shape[1]} but got {list(weight.shape)}")
    target = reshape(target, scores.shape[:1])
    losses = _multi_margin(scores, target, p, margin).out
    if weight is not None:
        losses = weighted(losses, take_at(weight, [target._array]))
    return reduce_losses(reshape(losses, places), reduction)


@half.general(
    name="multi_margin", outputs="out short", differentiable="out", node="MultiMarginLossBackward0", method=False
)
def _multi_margin(input: Tensor, target: Tensor, p: int, margin: float) -> Any:
    """For each row, how far the other scores come within ``margin`` of the target's (``short``), and the mean of these
    to the power of ``p``.
    """
    check_bounds(target, input.shape[1], 0, words="target out of range")
    fast = kernels.run("margin", "multi_margin", input.size, input, target, p, margin)
    if fast is not None:
        return fast
    at = np.arange(len(target)), target
    short = np.maximum(margin - input[at][:, None] + input, 0)
    short[at] = 0
    return sum_array(short if p == 1 else short * short, (1,)) / input.shape[1], short


@_multi_margin.vjp_all
def _multi_margin_vjp(g: Any, wanted: Any, input: Any, target: Any, p: int, margin: float, short: Any) -> Any:
    at = [np.arange(short.shape[0]), index_array(target)]
    each = (g * (p / short.shape[1]))[:, None]
    if p == 2:
        # differentiable again
        each = each * (short if input.__class__ is np.ndarray else margin - unsqueeze(take_at(input, at), 1) + input)
    each = where(short > 0, each, 0)
    return put_at(each, -sum_dims(each, (1,), False), at), None


_multi_margin.op.zero_second_derivative_nodes = ("",)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = MEAN
) -> Tensor:
    """``sum(max(0, 1 - (input[y] - input[i]))) / classes`` over targets y and all i that are no targets.

    Args:
        input: ``(batch, classes)`` or ``(classes,)``.
        target: class indices, of the same shape; a row counts up to its first -1.

    >>> import pullback as torch
    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.5, 0.0]), torch.tensor([0, -1]))
    tensor(0.2500)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input.shape != target.shape and {tuple(input.shape), tuple(target.shape)} != {(), (1,)}:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    scores, shape = _as_batch(input)
    losses = _multilabel_margin(scores, target if len(shape) == 2 else reshape(target, [1, -1])).out
    return reduce_losses(losses if len(shape) == 2 else reshape(losses, ()), reduction)


@half.general(
    name="multilabel_margin",
    outputs="out slope",
    differentiable="out",
    node="MultilabelMarginLossBackward0",
    method=False,
)
def _multilabel_margin(input: Tensor, target: Tensor) -> Any:
    """For each row, how far the other scores come within 1 of its targets', summed over pairs, and the derivative."""
    rows, classes = input.shape
    t: Any = target
    if t.size and (t.item(t.argmin()) < -1 or t.item(t.argmax()) >= classes):
        raise RuntimeError("argument #2 'target' is out of range")
    fast = kernels.run("margin", "multilabel_margin", input.size, input, target)
    if fast is not None:
        return fast
    step = max(BLOCK // classes, 1)
    parts = [_multilabel_margin_block(input[i : i + step], target[i : i + step]) for i in range(0, max(rows, 1), step)]
    return tuple(map(np.concatenate, zip(*parts)))


BLOCK = 1 << 16  # scores at a time, so that temporaries stay in the cache


def _multilabel_margin_block(input: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """:func:`_multilabel_margin` of some rows, target by target, as (classes, rows), so that NumPy's loops are long."""
    rows, classes = input.shape
    x = np.ascontiguousarray(input.T) if rows > classes else as_contiguous(input).T
    short, slope, others, losses = np.empty_like(x), np.zeros_like(x), np.ones_like(x, bool), np.zeros(rows, x.dtype)
    bits, listed, targets = short.view(f"i{x.itemsize}"), np.ones(rows, bool), []
    step, starts = x.strides[0] // x.itemsize, np.arange(rows) * (x.strides[1] // x.itemsize)
    for labels in target.T:
        listed = listed & (labels >= 0)
        if not listed.any():
            break
        places = np.where(listed, labels, 0) * step + starts
        is_other = others.ravel("K")
        is_other[places] = is_other.take(places) & ~listed
        targets.append((listed, places))
    for listed, places in targets:
        np.add(1 - x.ravel("K").take(places), x, out=short)
        np.maximum(short, 0, out=short)
        bits *= others & listed  # 0 where there is no pair, even for NaN
        losses += short.sum(0)
        close = short > 0
        slope += close
        slope.ravel("K")[places] -= close.sum(0, dtype=x.dtype)
    return losses / classes, as_contiguous(slope.T) / classes


_multilabel_margin.vjp(input=lambda g, slope: unsqueeze(g, 1) * slope)
_multilabel_margin.op.zero_second_derivative_nodes = ("",)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """Mean over the last dimension of ``-(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))``.

    >>> import pullback as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    losses = -(weighted(logsigmoid(input), target) + weighted(logsigmoid(-input), 1 - target))
    if weight is not None:
        losses = weighted(losses, weight)
    dim = wrap_dim(-1, len(input.shape))
    return reduce_losses(sum(losses, dim) / (input.shape[dim] if input.shape else 1), reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    >>> import pullback as torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.2, 0.2]), torch.tensor([1, -1]), reduction="none")
    tensor([0.2000, 0.8000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    losses = where(target != 1, clamp_min(margin - input, 0), 0) + where(target != -1, input, 0)
    return reduce_losses(losses, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 says that ``input1`` should be the larger.

    >>> import pullback as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not len(input1.shape) == len(input2.shape) == len(target.shape):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduce_losses(clamp_min(-target * (input1 - input2) + margin, 0), reduction)


# --- distances of vectors ---------------------------------------------------------------------------------------


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``sum(x1 * x2) / (max(norm(x1), eps) * max(norm(x2), eps))`` along a dimension.

    >>> import pullback as torch
    >>> torch.cosine_similarity(torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0]), dim=0)
    tensor(0.9600)
    """
    common = dtypes.promote_types(x1.dtype, x2.dtype)
    if common.category != FLOATING:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtypes.type_name(common)}"
        )
    x1, x2 = (x if x.dtype is common else x.to(common) for x in (x1, x2))
    if x1._array.shape != x2._array.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    return sum(unit_vectors(x1, 2, dim, eps) * unit_vectors(x2, 2, dim, eps), dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension.

    >>> import pullback as torch
    >>> torch.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]]))
    tensor([5.0000])
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1; cos is the cosine of the two inputs.

    Args:
        input1, input2: ``(batch, n)`` or ``(n,)``.
        target: ``(batch,)`` or ``()``.

    >>> import pullback as torch
    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([3.0, 4.0]), torch.tensor([4.0, 3.0]), torch.tensor(1))
    tensor(0.0400)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    rank = len(target.shape)
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not len(input1.shape) == len(input2.shape) == rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    small = 1e-12
    product, square1, square2 = (sum(a * b, -1) for a, b in ((input1, input2), (input1, input1), (input2, input2)))
    cosine = product / ((square1 + small) * (square2 + small)) ** 0.5
    near, far = target == 1, target == -1
    return reduce_losses(where(near, 1 - cosine, 0) + where(far, clamp_min(cosine - margin, 0), 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = MEAN,
) -> Tensor:
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`` (Balntas et al. 2016).

    Args:
        anchor, positive, negative: ``(batch, n)`` or ``(n,)``.
        margin: positive.
        p, eps: of :func:`pairwise_distance`.
        swap: use the distance from positive to negative where that is smaller.

    >>> import pullback as torch
    >>> torch.nn.functional.triplet_margin_loss(torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = [len(x.shape) for x in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        margin=margin,
        swap=swap,
        reduction=reduction,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = MEAN,
) -> Tensor:
    """:func:`triplet_margin_loss` with any distance of two tensors (default: :func:`pairwise_distance`).

    >>> import pullback as torch
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> torch.nn.functional.triplet_margin_with_distance_loss(
    ...     torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2), distance_function=distance)
    tensor(1.)
    """
    reduction = resolve_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_losses(clamp_min(near - far + margin, 0), reduction)
