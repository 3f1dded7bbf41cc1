"""``DistributedSampler``: each process of a group gets its share of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from itertools import cycle, islice
from typing import Any

from ...core import slots
from ...ops.random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, starting at ``rank``, of an order that all processes agree on.

    Args:
        num_replicas, rank: how many processes there are and which this is; by default as the process group says.
        shuffle: whether the order is random: that of the seed ``seed + epoch``, see :meth:`set_epoch`.
        drop_last: whether samples are left out, rather than repeated, so that all processes get equally many.

    Raises:
        RuntimeError: without ``num_replicas`` or ``rank``, if there is no process group.
        ValueError: if ``rank`` is not in ``[0, num_replicas)``.

    >>> from pullback.utils.data.distributed import DistributedSampler
    >>> [list(DistributedSampler(range(5), num_replicas=2, rank=r, shuffle=False)) for r in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _group().get_world_size()
        if rank is None:
            rank = _group().get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else -(-size // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order: Any = range(len(self.dataset))
        if self.shuffle:
            order = Generator().manual_seed(self.seed + self.epoch).randperm(len(order)).tolist()
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order for the next pass: call it before every epoch, with the epoch's number."""
        self.epoch = epoch


def _group() -> Any:
    return slots.namespace.distributed
