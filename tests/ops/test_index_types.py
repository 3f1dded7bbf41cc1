"""Indices and counts are int64, also where NumPy's are not: in WebAssembly, where these tests run, too."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as torch

X = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
MANY = torch.arange(2000.0).sin()
CALLS = {
    "argmax": lambda: (X.argmax(), X.argmin(1)),
    "extremes": lambda: (X.max(1).indices, X.min(0).indices, X.cummax(0).indices, X.cummin(1).indices),
    "sorts": lambda: (X.sort().indices, X.argsort(descending=True), X.topk(2).indices, X.kthvalue(2).indices),
    "many": lambda: (MANY.sort().indices, MANY.topk(3).indices, MANY.double().topk(3).indices),
    "medians": lambda: (X.median(1).indices, torch.nanmedian(X, 1).indices, X.mode().indices),
    "nonzero": lambda: (X.nonzero(), *X.nonzero(as_tuple=True), *torch.where(X > 1), X.count_nonzero()),
    "unique": lambda: torch.unique(X, return_inverse=True, return_counts=True)[1:],
    "consecutive": lambda: torch.unique_consecutive(X, return_inverse=True, return_counts=True)[1:],
    "places": lambda: (torch.searchsorted(X[0].sort().values, X), torch.bucketize(X, X[0].sort().values)),
    "bincount": lambda: (torch.bincount(torch.tensor([1, 1, 3])),),
    "pool": lambda: (torch.nn.functional.max_pool2d(X[None], 2, return_indices=True)[1],),
    "adaptive": lambda: (torch.nn.functional.adaptive_max_pool1d(X, 2, return_indices=True)[1],),
    "random": lambda: (torch.randperm(9), torch.multinomial(X, 1), torch.multinomial(X[0], 2)),
    "repeated": lambda: (torch.repeat_interleave(torch.tensor([1, 2])),),
    "sparse": lambda: (X.to_sparse().indices(), X.to_sparse_csr().crow_indices()),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_indices_are_int64(call: Any) -> None:
    results = call()
    assert [r.dtype for r in results] == [torch.int64] * len(results)


def test_permutations_are_whole() -> None:
    """Also of numbers that are computed with 64 bits."""
    torch.manual_seed(0)
    assert torch.randperm(5000).sort().values.tolist() == list(range(5000))
