"""Cross entropy of scores of which each rank has those of some classes: only numbers for each example travel."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.record import wrap
from ...core.tensor import Tensor
from ...ops.where import where
from .. import collectives
from ..reduce_op import ReduceOp
from .layouts import Add
from .placement_types import Replicate, Shard, part_of

__all__ = ["cut_cross_entropy", "loss_parallel"]


class _State(threading.local):
    enabled = False


_state = _State()


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside, ``cross_entropy`` takes scores that are cut along the classes, and leaves them so; backward too.

    Example::

        with loss_parallel():
            loss = F.cross_entropy(scores, labels)  # a DTensor with Shard(1)
            loss.backward()
    """
    before, _state.enabled = _state.enabled, True
    try:
        yield
    finally:
        _state.enabled = before


def _plain(x: Any) -> Any:
    return x.full_tensor() if hasattr(x, "placements") else x


def cut_cross_entropy(
    kind: Any,
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of a distributed tensor, of class ``kind``, that is cut along the classes.

    Returns:
        The loss, whole on all ranks; ``NotImplemented`` where :func:`loss_parallel` is not on, or it lies otherwise.
    """
    placements: Sequence[Any] = getattr(input, "placements", ())
    classes = 1 if len(input.shape) > 1 else 0
    cut = [dim for dim, placement in enumerate(placements) if placement == Shard(classes)]
    others = [p for p in placements if p != Shard(classes)]
    if not _state.enabled or len(cut) != 1 or not all(isinstance(p, Replicate) for p in others):
        return NotImplemented
    if label_smoothing or size_average is not None or reduce is not None:
        raise NotImplementedError("cross_entropy under loss_parallel: label_smoothing is not supported")
    mesh, group = input.device_mesh, input.device_mesh.get_group(cut[0])
    target, weight, local = _plain(target), _plain(weight), input.to_local()
    losses = _losses(local, target, classes, part_of(input.shape[classes], group.size(), group.rank()), group)
    counted = target != ignore_index
    share = counted.to(losses.dtype) if weight is None else where(counted, weight[where(counted, target, 0)], 0)
    losses = where(counted, losses, 0) * share
    result = losses if reduction == "none" else losses.sum()
    return kind(result / share.sum() if reduction == "mean" else result, mesh, [Replicate()] * mesh.ndim, result.shape)


def _losses(x: Tensor, target: Tensor, classes: int, bounds: tuple[int, int], group: Any) -> Tensor:
    """The cross entropy of each example: the logarithm of a sum over all ranks, less the score of one rank."""
    begin, end = bounds
    largest = x.detach().amax(classes) if end > begin else x.new_full(target.shape, -float("inf"))
    largest = wrap(largest._array.copy())
    collectives.all_reduce(largest, ReduceOp.MAX, group)
    shifted = x - largest.unsqueeze(classes)
    total = Add.apply(shifted.exp().sum(classes), "sum", group)
    mine = (target >= begin) & (target < end)
    place = where(mine, target - begin, 0).unsqueeze(classes)
    score = shifted.gather(classes, place).squeeze(classes) if end > begin else shifted.sum(classes)
    return total.log() - Add.apply(where(mine, score, 0), "sum", group)
