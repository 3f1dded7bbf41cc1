"""Datasets: map-style, iterable-style, and combinations of them.

A dataset need not subclass anything here: :class:`~pullback.utils.data.DataLoader` takes any object with
``__getitem__`` and ``__len__``. Only the iterable kind is recognised by its class.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...core.tensor import Tensor
from ...ops.random import Generator, default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of datasets that give the sample at an index; subclasses define ``__getitem__`` and usually
    ``__len__``.

    One that fetches several samples faster than one by one may define ``__getitems__(indices)``, which returns a list.

    >>> from pullback.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, i): return i * i
    >>> both = Squares() + Squares(); len(both), both[5]
    (8, 1)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Base class of datasets that are streams: subclasses define ``__iter__``.

    With several workers each has a copy of the dataset and would yield all of it: let ``__iter__`` choose a part by
    :func:`~pullback.utils.data.get_worker_info`.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples that are tuples of rows, one row of each tensor.

    Raises:
        AssertionError: the tensors differ in the size of their first dimension.

    >>> import pullback as torch
    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.eye(3))[1]
    (tensor(1), tensor([0., 1., 0.]))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError(
                f"Size mismatch between tensors: their first dimensions are {[t.size(0) for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _many(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """The samples at several indices, at once if the dataset can do that."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class StackDataset(Dataset[Any]):
    """Datasets of one length side by side: a sample is the tuple (or, named, the dict) of theirs.

    Raises:
        ValueError: for none, for both kinds at once, or if the lengths differ.

    >>> from pullback.utils.data import StackDataset
    >>> StackDataset(image=[10, 11], label=["a", "b"])[1]
    {'image': 11, 'label': 'b'}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(d) for d in self._parts()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {lengths}")
        self._length = lengths[0]

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, items: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, items)) if isinstance(self.datasets, dict) else tuple(items)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([d[index] for d in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        return [self._sample(items) for items in zip(*[_many(d, indices) for d in self._parts()])]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Raises:
        AssertionError: for none, or if one of them is iterable only.
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each dataset ends."""
        return list(itertools.accumulate([len(d) for d in sequence]))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    Raises:
        AssertionError: when it reaches one that is not an :class:`IterableDataset`.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d

    def __iter__(self) -> Iterator[Any]:
        for d in self._checked():
            yield from d

    def __len__(self) -> int:
        return sum([len(d) for d in self._checked()])


class Subset(Dataset[T_co]):
    """The samples of a dataset at the given indices, in that order.

    Raises:
        NotImplementedError: for a subclass that defines ``__getitem__`` but not ``__getitems__``, which loaders ask
            first.
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__.\n"
                "  A DataLoader asks for whole batches: define __getitems__(self, indices) too, for example as\n"
                "  return [self[i] for i in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)  # type: ignore[attr-defined]
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Split a dataset at random into parts that do not overlap.

    Args:
        lengths: of the parts, which add up to that of the dataset; or fractions that add up to 1, which are rounded
            down, and what is left over goes to the first parts, one sample each.
        generator: default: the one that ``manual_seed`` seeds. The order is PyTorch's for a seed.

    Raises:
        ValueError: if the lengths do not add up, or a fraction is not between 0 and 1.

    >>> import pullback as torch
    >>> g = torch.Generator().manual_seed(0)
    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.75, 0.25], generator=g)]
    [8, 2]
    """
    size = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(size * fraction) for fraction in lengths]
        for i in range(size - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
        for i, length in enumerate(sizes):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(lengths) != size:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!\n"
            f"  It is {sum(lengths)}, and the dataset has {size} samples."
        )
    order = (generator or default_generator).randperm(size).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]
