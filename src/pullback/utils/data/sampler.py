"""Samplers: the order in which a ``DataLoader`` visits its dataset; after ``manual_seed`` it is PyTorch's.

A sampler is any iterable of indices, or of lists of indices where it samples whole batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ...base.dtypes import float64
from ...core.tensor import Tensor
from ...ops.create import as_tensor
from ...ops.random import Generator, default_generator, multinomial

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Any = None) -> int:
    """A seed for another stream: a number in [0, 2**63) from this one (default: the one that ``manual_seed`` seeds)."""
    return int((generator or default_generator).random(()))


class Sampler(Generic[T_co]):
    """Base class of samplers; subclasses define ``__iter__``, and ``__len__`` if they know it."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2 and so on, up to the length of ``data_source``."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, drawn as they are asked for: ``num_samples`` may be as large as you like.

    Args:
        data_source: whatever has the length.
        replacement: whether an index may come again before all others came.
        num_samples: how many (default: the length of ``data_source``); beyond that length, one random order follows
            another.
        generator: default: a new stream, whose seed is drawn from that of ``manual_seed`` at the start of each pass.

    Raises:
        TypeError, ValueError: ``replacement`` is not a bool, or ``num_samples`` not a positive int.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(5)))
    [1, 3, 4, 2, 0]
    """

    BLOCK = 32  # numbers drawn at a time with replacement

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, generator = len(self.data_source), self.generator or Generator().manual_seed(draw_seed())
        block = self.BLOCK if self.replacement else n
        full, rest = divmod(self.num_samples, block)
        for count in _then(full, block, rest):
            if self.replacement:
                yield from generator.random((count,), "int64", 0, n).tolist()
            else:
                yield from generator.randperm(n).tolist()[:count]

    def __len__(self) -> int:
        return self.num_samples


def _then(times: int, value: int, last: int) -> Iterator[int]:
    """``value`` so many times, then ``last``, which counts even if it is 0: a permutation is drawn for it, as in
    PyTorch.
    """
    for _ in range(times):
        yield value
    yield last


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in (self.generator or default_generator).randperm(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn by weight.

    Args:
        weights: 1-d, not negative; they need not add up to 1.
        num_samples: how many one pass gives.
        replacement: whether an index may be drawn again.

    Raises:
        ValueError: where an argument is not what it should be.

    >>> import pullback as torch
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of ``batch_size``.

    Args:
        sampler: any iterable of indices.
        drop_last: whether a last list that would be shorter is left out.

    Raises:
        ValueError: where an argument is not what it should be.

    >>> from pullback.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
