"""Connectionist temporal classification (A. Graves et al., *ICML* 2006): the loss of a sequence of classes.

A path goes through blank, class, blank, class, ..., blank. The forward algorithm (equations 5 to 8) has the probability
to be in each of its places after each step; the backward algorithm (9 to 11) that of the steps that follow. Their
product, over the probability of all paths, is the share of a place in the derivative.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import kernels
from ..core import record
from ..core.tensor import Tensor
from . import half
from .concat import stack
from .index import sum_at, take_at
from .loss import MEAN, SUM, resolve_reduction
from .pad import pad
from .pointwise import exp, logaddexp
from .reduce import mean, sum
from .view import unsqueeze
from .where import where

__all_functional__ = ["ctc_loss"]

LOG_ZERO = -1e30  # log(0), finite so that derivatives are


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: minus the logarithm of the probability of a target sequence.

    That is the sum over all paths that give the target when repeated classes are merged and blanks are dropped, by the
    forward algorithm (Graves et al. 2006, equations 5 to 8). The derivative is with respect to ``log_probs`` as they
    are; PyTorch's adds ``exp(log_probs)``, which makes no difference behind ``log_softmax``.

    Args:
        log_probs: ``(steps, batch, classes)`` or ``(steps, classes)``, such as from ``log_softmax``.
        targets: classes, ``(batch, longest)``, or all targets one after the other.
        input_lengths, target_lengths: ``(batch,)`` or ``()``: how many steps and how many classes count.
        blank: the class of the blank label.
        reduction: ``"none"``, ``"sum"``, or ``"mean"`` of the losses over the target lengths.
        zero_infinity: 0 instead of the infinite loss (and gradient) of a target that is too long for its input.

    Raises:
        RuntimeError: for lengths that do not fit.

    >>> import pullback as torch
    >>> p = torch.full((2, 1, 2), 0.5).log()  # of the paths over two steps, three give [1]: 01, 10 and 11
    >>> torch.nn.functional.ctc_loss(p, torch.tensor([[1]]), (2,), (1,)).exp()
    tensor(1.3333)
    """
    reduction = resolve_reduction(reduction)
    batched = log_probs.dim() == 3
    scores = log_probs if batched else unsqueeze(log_probs, 1)
    steps, batch, classes = scores.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    if log_probs.is_meta:
        losses = sum(exp(scores), (0, 2))
        return (
            mean(losses) if reduction == MEAN else sum(losses) if reduction == SUM else losses if batched else losses[0]
        )
    lengths, sizes = (
        _lengths(name, x, batch) for name, x in (("input_lengths", input_lengths), ("target_lengths", target_lengths))
    )
    if lengths.max(initial=0) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {lengths.max()} (while checking "
            "arguments for ctc_loss_allocate_outputs)"
        )
    path = np.full((batch, 2 * sizes.max(initial=0) + 1), blank)  # blank, class, blank, class, ..., blank
    path[:, 1::2] = _pad_targets(targets._array, sizes, batch, blank)
    skips = np.zeros(path.shape, bool)  # where a path may skip the blank before
    skips[:, 2:] = (path[:, 2:] != blank) & (path[:, 2:] != path[:, :-2])
    losses = -_log_probabilities(scores, path, skips, lengths, sizes)
    losses = where(losses > -LOG_ZERO / 2, 0.0 if zero_infinity else math.inf, losses)
    if reduction == MEAN:
        return mean(losses / record.wrap(np.maximum(sizes, 1).astype(losses._array.dtype)))
    return sum(losses) if reduction == SUM else losses if batched else losses[0]


def _emitted(scores: Any, path: np.ndarray) -> Any:
    """The scores of each place, ``(steps, batch, places)``."""
    return take_at(scores, [slice(None), np.arange(len(path))[:, None], path])


def _masked(mask: np.ndarray, a: Any, b: Any) -> Any:
    """``where``, of arrays as of tensors."""
    array = a.__class__ is np.ndarray or b.__class__ is np.ndarray
    return where(mask if array else record.wrap(mask), a, b)


def _shifted(x: Any, by: int) -> Any:
    """Places moved on, or back where negative; log(0) comes in."""
    if x.shape[1] <= abs(by):
        return x * 0 + LOG_ZERO
    return pad(x, (by, -by), value=LOG_ZERO)


def _forward(emitted: Any, skips: np.ndarray, steps: int) -> list[Any]:
    """The logarithms of the probabilities to be in each place after each step."""
    places = np.broadcast_to(np.arange(skips.shape[1]), skips.shape)
    rows = [_masked(places < 2, emitted[0], LOG_ZERO)]
    for t in range(1, steps):
        before = logaddexp(rows[-1], _shifted(rows[-1], 1))
        rows.append(logaddexp(before, _masked(skips, _shifted(rows[-1], 2), LOG_ZERO)) + emitted[t])
    return rows


def _arrays(*values: Any) -> list[Any]:
    """What is the same for all paths: of one example of several, tensors."""
    return [v._array if isinstance(v, Tensor) else v for v in values]


def _at_ends(x: Any, sizes: np.ndarray) -> Any:
    """The logarithms of the sums of the last two places: the last class and the blank behind it."""
    at = np.arange(len(sizes))
    before = _masked(sizes > 0, take_at(x, [at, np.maximum(2 * sizes - 1, 0)]), LOG_ZERO)
    return logaddexp(take_at(x, [at, 2 * sizes]), before)


@half.general(method=False, node="CtcLossBackward0")
def _log_probabilities(
    input: Tensor, path: np.ndarray, skips: np.ndarray, lengths: np.ndarray, sizes: np.ndarray
) -> Tensor:
    """The logarithms of the probabilities of all paths, ``(batch,)``."""
    path, skips, lengths, sizes = _arrays(path, skips, lengths, sizes)
    batch, out = np.arange(len(path)), np.where(sizes == 0, 0, LOG_ZERO).astype(input.dtype)  # in no steps
    some = lengths > 0
    if not some.any():
        return out
    made = kernels.run("ctc", "rows", input.size, input, path, skips, lengths, LOG_ZERO)
    if made is not None:
        last = made[batch, np.maximum(lengths - 1, 0), 2:]
    else:
        rows = np.stack(_forward(_emitted(input, path), skips, int(lengths.max())))
        last = rows[np.maximum(lengths - 1, 0), batch]
    return np.where(some, _at_ends(np.where(some[:, None], last, LOG_ZERO).astype(input.dtype), sizes), out)


def _log_probabilities_vjp(g: Any, input: Any, out: Any, path: Any, skips: Any, lengths: Any, sizes: Any) -> Any:
    # with create_graph, what was saved comes as tensors
    path, skips, lengths, sizes = _arrays(path, skips, lengths, sizes)
    possible = (out > LOG_ZERO / 2) if out.__class__ is np.ndarray else (out > LOG_ZERO / 2)._array
    g, total = _masked(possible, g, 0.0), _masked(possible, out, 0.0)
    if g.__class__ is input.__class__ is np.ndarray:
        made = kernels.run("ctc", "gradient", input.size, g, total, input, path, skips, lengths, sizes, LOG_ZERO)
        if made is not None:
            return made
    steps = int(lengths.max(initial=0))
    if not steps:
        return input * 0
    emitted, places, ends = _emitted(input, path), np.arange(path.shape[1]), 2 * sizes[:, None]
    final = np.where((places == ends) | (places == ends - 1), 0, LOG_ZERO)
    rows, shares, following = _forward(emitted, skips, steps), [None] * steps, emitted[0] * 0
    for t in range(steps - 1, -1, -1):
        onward = _shifted(_masked(skips, following, LOG_ZERO), -2)
        rest = logaddexp(logaddexp(following, _shifted(following, -1)), onward)
        rest = _masked(np.broadcast_to((lengths == t + 1)[:, None], path.shape), following * 0 + final, rest)
        shares[t] = _masked(
            np.broadcast_to((lengths > t)[:, None], path.shape),
            exp(rows[t] + rest - unsqueeze(total, 1)) * unsqueeze(g, 1),
            0.0,
        )
        following = rest + emitted[t]
    whole = stack(shares)
    return sum_at(whole, [slice(0, steps), np.arange(len(path))[:, None], path], tuple(input.shape))


_log_probabilities.vjp(input=_log_probabilities_vjp)


def _lengths(name: str, lengths: Any, batch: int) -> np.ndarray:
    array = np.atleast_1d(lengths._array if isinstance(lengths, Tensor) else np.array(lengths, np.int64))
    if array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    if array.shape != (batch,):
        raise RuntimeError(f"{name} must be of size batch_size")
    return array.astype(np.int64)


def _pad_targets(targets: np.ndarray, sizes: np.ndarray, batch: int, blank: int) -> np.ndarray:
    """Targets as rows, padded with blanks."""
    longest, inside = sizes.max(initial=0), np.arange(sizes.max(initial=0)) < sizes[:, None]
    rows = np.full(inside.shape, blank)
    if targets.ndim == 2:
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
                "argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
            )
        rows[inside] = targets[:, :longest][inside]
        return rows
    if len(targets) != sizes.sum():
        raise RuntimeError(
            f"Expected tensor to have size {sizes.sum()} at dimension 0, but got size {len(targets)} for argument #2 "
            "'targets' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    rows[inside] = targets
    return rows
