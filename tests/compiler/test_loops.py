"""Loops of plans that threads share: the same results for every number of threads, wherever the loop is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import compiler, kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not kernels.start(), reason="no kernels here")


def sums(x: Any, y: Any) -> list[Any]:
    a = (x * y).tanh()
    return [a * 2, a.sum(), *[a.sum(d) for d in range(a.dim())], (x - y).mean(-1)]


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize(
    "shape", [(100_003,), (1024, 96), (1000, 77), (16, 3000), (3, 700, 50), (2, 60_000), (20_000, 9)], ids=str
)
def test_results_do_not_depend_on_threads(shape: tuple[int, ...], dtype: Any) -> None:
    torch.manual_seed(0)
    x, y = (torch.randn(*shape, dtype=dtype) for _ in range(2))
    compiled = compiler.compile(sums)
    compiled(x, y)
    assert "pullback_share" in compiled.llvm()
    results, before = [], torch.get_num_threads()
    try:
        for n in (1, 2, 3):
            kernels.set_num_threads(n)
            results.append([r.numpy() for r in compiled(x, y)])
    finally:
        kernels.set_num_threads(before)
    for i, expected in enumerate(sums(x, y)):
        for found in results:
            np.testing.assert_array_equal(found[i], results[0][i])
        scale = max(1.0, float(expected.abs().max()))
        np.testing.assert_allclose(
            results[0][i], expected.numpy(), rtol=0, atol=scale * (2e-4 if dtype is torch.float32 else 1e-12)
        )


def test_small_loops_are_not_shared() -> None:
    compiled = compiler.compile(sums)
    compiled(torch.randn(30, 7), torch.randn(30, 7))
    assert "pullback_share" not in compiled.llvm()
