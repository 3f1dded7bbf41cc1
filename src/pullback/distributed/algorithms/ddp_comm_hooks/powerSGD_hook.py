"""PowerSGD (Vogels, Karimireddy & Jaggi 2019): gradients as products of two thin matrices, which are what travels.

A gradient ``M`` of shape ``(n, m)`` becomes ``P Q^T``, with ``P = M Q`` averaged over the ranks and orthonormalized,
and ``Q = M^T P`` averaged: one step of a power iteration, which starts at the ``Q`` of the step before. What the
product lacks is added to the next gradient (error feedback).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.errors import with_notes
from ....compat.futures import Future
from ....core.record import wrap
from ....core.views import current_array
from ....ops.random import Generator, randn
from ...collectives import start_all_reduce
from ...gradient_buckets import GradBucket
from ...reduce_op import ReduceOp
from ...world import resolved
from . import default_hooks

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hook keeps between steps.

    Args:
        matrix_approximation_rank: the width of the thin matrices.
        start_powerSGD_iter: steps at first in which gradients are averaged as they are.
        min_compression_rate: gradients that would not become smaller by this factor travel as they are.
        use_error_feedback, warm_start: whether the two are used.
        orthogonalization_epsilon: added to norms that are divided by.
        random_seed: of the first ``Q``, the same on all ranks.

    Raises:
        ValueError: error feedback or a warm start from the first step on.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise with_notes(
                ValueError(
                    "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because "
                    "PowerSGD can only be applied after the first two iterations in DDP."
                ),
                f"It is {start_powerSGD_iter}.",
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.errors: dict[int, np.ndarray] = {}
        self.starts: dict[tuple[int, int], np.ndarray] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """The factor by which gradients became smaller, and their sizes before and after."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0.0), before, after


def orthonormalized(matrix: np.ndarray, epsilon: float) -> np.ndarray:
    """The columns made orthonormal, one after the other (Gram & Schmidt)."""
    result = matrix.copy()
    for i in range(result.shape[1]):
        column = result[:, i]
        norm = np.linalg.norm(column) + epsilon
        column /= norm if norm else 1
        result[:, i + 1 :] -= np.outer(column, column @ result[:, i + 1 :])
    return result


def _summed(state: PowerSGDState, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The sums of arrays over the ranks."""
    if not arrays:
        return []
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    start_all_reduce(resolved(state.process_group), [wrap(flat)], ReduceOp.SUM, "all_reduce").wait()
    ends = np.cumsum([a.size for a in arrays])[:-1]
    return [part.reshape(a.shape) for part, a in zip(np.split(flat, ends), arrays)]


def _done(bucket: GradBucket) -> Future:
    future = Future()
    future.set_result(bucket.buffer())
    return future


def _reduce(state: PowerSGDState, index: int, parts: list[np.ndarray]) -> None:
    """Replace gradients by the averages of their approximations; those that are thin, by their averages."""
    ranks, width = resolved(state.process_group).size(), state.matrix_approximation_rank
    matrices, plain = [], []
    for place, part in enumerate(parts):
        matrix = part.reshape(part.shape[0], -1)
        narrow = min(width, *matrix.shape)
        if sum(matrix.shape) * narrow * state.min_compression_rate < matrix.size:
            matrices.append((place, matrix, narrow))
            state.total_numel_after_compression += sum(matrix.shape) * narrow
        else:
            plain.append(part)
            state.total_numel_after_compression += part.size
        state.total_numel_before_compression += part.size
    for part, total in zip(plain, _summed(state, plain)):
        part[...] = total / ranks
    known = state.starts if state.warm_start else {}
    new = any((index, place) not in known for place, _, _ in matrices)
    random = Generator().manual_seed(int(state.rng.randint(1_000_000_000))) if new else None
    starts = []
    for place, matrix, narrow in matrices:
        start = known.get((index, place))
        if start is None:
            start = randn(matrix.shape[1], narrow, generator=random)._array.astype(matrix.dtype)
        starts.append(orthonormalized(start, state.orthogonalization_epsilon))
    lefts = _summed(state, [matrix @ start for (_, matrix, _), start in zip(matrices, starts)])
    lefts = [orthonormalized(left, state.orthogonalization_epsilon) for left in lefts]
    rights = _summed(state, [matrix.T @ left for (_, matrix, _), left in zip(matrices, lefts)])
    for (place, matrix, _), left, right in zip(matrices, lefts, rights):
        right = right / matrix.dtype.type(ranks)
        matrix[...] = left @ right.T
        state.starts[index, place] = right


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average the gradients, each approximated by itself."""
    return _approximated(
        state, bucket, lambda flat: _reduce(state, bucket.index(), [g._array for g in bucket.gradients()])
    )


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Average the gradients, all those of a bucket approximated as one square matrix."""

    def reduce(flat: np.ndarray) -> None:
        side = int(np.ceil(np.sqrt(flat.size)))
        square = np.zeros((side, side), flat.dtype)
        square.reshape(-1)[: flat.size] = flat
        _reduce(state, bucket.index(), [square])
        flat[...] = square.reshape(-1)[: flat.size]

    return _approximated(state, bucket, reduce)


def _approximated(state: PowerSGDState, bucket: GradBucket, reduce: Callable[[np.ndarray], None]) -> Future:
    """Average the gradients; from a certain step on by ``reduce``, which approximates, with what it left corrected."""
    if state.iter < state.start_powerSGD_iter:
        future = default_hooks.allreduce_hook(state.process_group, bucket)
    else:
        flat = current_array(bucket.buffer())
        before = _with_error(state, bucket, flat)
        reduce(flat)
        if before is not None:
            state.errors[bucket.index()] = before - flat
        future = _done(bucket)
    if bucket.is_last():
        state.iter += 1
    return future


def _with_error(state: PowerSGDState, bucket: GradBucket, flat: np.ndarray) -> np.ndarray | None:
    """Add to gradients what the last step left of them; a copy of what they are then, to learn what this one leaves."""
    if not state.use_error_feedback:
        return None
    error = state.errors.get(bucket.index())
    if error is not None and error.size == flat.size:
        flat += error
    return flat.copy()
