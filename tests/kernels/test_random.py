"""Kernels for random numbers give what NumPy gives, to the last bit, and leave the stream at the same place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from . import using  # noqa: E402

DRAWS: dict[str, Callable[[int, Any], Any]] = {
    "rand": lambda n, d: torch.rand(n, dtype=d),
    "randn": lambda n, d: torch.randn(n, dtype=d),
    "uniform": lambda n, d: torch.empty(n, dtype=d).uniform_(-3, 7),
    "uniform_up_to_the_end": lambda n, d: torch.empty(n, dtype=d).uniform_(1, 1 + 2**-20),
    "normal": lambda n, d: torch.empty(n, dtype=d).normal_(1.5, 2.75),
    "coins": lambda n, d: torch.empty(n, dtype=d).bernoulli_(0.3),
    "coins_of_bool": lambda n, d: torch.empty(n, dtype=torch.bool).bernoulli_(0.7),
    "heads": lambda n, d: torch.empty(n, dtype=d).bernoulli_(1.0),
    "tails": lambda n, d: torch.empty(n, dtype=d).bernoulli_(0.0),
    "dropout": lambda n, d: torch.nn.functional.dropout(torch.ones(n, dtype=d), 0.2),
    "slopes": lambda n, d: torch.nn.functional.rrelu(-torch.ones(n, dtype=d), training=True),
    "integers": lambda n, d: torch.randint(-5, 1000, (n,)),
    "permutation": lambda n, d: torch.randperm(n),
    "exponential": lambda n, d: torch.empty(n, dtype=d).exponential_(),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_the_same_numbers_with_kernels(name: str, dtype: Any) -> None:
    results: list[list[Any]] = []
    for mode in ("off", "always"):
        with using(mode):
            torch.manual_seed(5)
            found = [DRAWS[name](n, dtype) for n in (1, 2, 15, 16, 17, 40, 623, 625, 3000, 40_000)]
            results.append([x.view(torch.uint8).numpy() for x in [*found, torch.get_rng_state()]])
    for expected, got in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_stream_goes_on_from_a_state_and_in_a_copy() -> None:
    with using("always"):
        g = torch.Generator().manual_seed(1)
        torch.rand(1000, generator=g)
        state, copy = g.get_state(), g.clone_state()
        first = torch.randn(2000, generator=g)
        assert (torch.randn(2000, generator=copy) == first).all()
        assert (torch.randn(2000, generator=g.set_state(state)) == first).all()


@pytest.mark.torch
def test_as_pytorch() -> None:
    judge = pytest.importorskip("torch")
    for T in (judge, torch):
        T.manual_seed(9)
    draws = [
        lambda T, n: T.randn(n),
        lambda T, n: T.rand(n),
        lambda T, n: T.empty(n).bernoulli_(0.1),
        lambda T, n: T.randperm(n),
    ]
    for n in (100_000, 40_003):
        for draw in draws:
            np.testing.assert_array_equal(draw(torch, n).numpy(), draw(judge, n).numpy())
    assert torch.get_rng_state().tolist() == judge.get_rng_state().tolist()
