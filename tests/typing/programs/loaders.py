"""Datasets, samplers and loaders."""

from collections.abc import Iterator
from typing import NamedTuple, assert_type

import numpy as np

import pullback as torch
from pullback import Tensor
from pullback.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
    random_split,
)


class Squares(Dataset[tuple[Tensor, int]]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        if not 0 <= index < self.n:
            raise IndexError(index)
        return torch.tensor([float(index), float(index**2)]), index % 2


class Countdown(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(5, 0, -1)


class Batch(NamedTuple):
    points: Tensor
    labels: Tensor


def gather(examples: list[tuple[Tensor, int]]) -> Batch:
    points, labels = zip(*examples)
    return Batch(torch.stack(points), torch.as_tensor(np.array(labels)))


squares = Squares(10)
train, valid = random_split(squares, [8, 2], generator=torch.Generator().manual_seed(1))
assert_type(train, Subset[tuple[Tensor, int]])
assert_type(squares[3], tuple[Tensor, int])
loader = DataLoader(train, batch_size=4, shuffle=True, collate_fn=gather)
assert_type(loader, DataLoader[tuple[Tensor, int]])
for batch in loader:
    points: Tensor = batch.points
    print(points.mean(dim=0), batch.labels.sum())
for features, labels in DataLoader(valid, batch_size=2, num_workers=0, drop_last=True):
    print(features.shape, labels)

arrays = TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 1, 0]))
assert_type(arrays[0], tuple[Tensor, ...])
both = ConcatDataset([squares, Squares(2)])
print(len(both), len(loader), [int(number) for number in DataLoader(Countdown(), batch_size=None)])
print(list(RandomSampler(arrays, replacement=True, num_samples=2, generator=torch.Generator().manual_seed(0))))
