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


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("any_size", (False, True))
def test_half_precision_is_rounded_as_by_each_operation(dtype: Any, any_size: bool) -> None:
    """Loops compute in single precision what operations do, and round it after each: the same to the bit."""

    def several(x: Any, y: Any, one: Any) -> list[Any]:
        a = (x * y + one).tanh() / 3
        return [
            a,
            a.float() * 0.1,
            (a > y),
            a.to(torch.float16),
            x.t() - y.t(),
            x[:, ::2] * one,
            x == 0.1,
            x < 0.1,
            0.1 >= x,
        ]

    torch.manual_seed(0)
    x, y, one = torch.randn(5, 37).to(dtype), torch.randn(37, 5).to(dtype).t(), torch.randn(5, 1).to(dtype)
    x[0, :4] = torch.tensor([torch.inf, -torch.inf, torch.nan, 0.1])
    compiled = compiler.compile(several, fullgraph=True, dynamic=any_size)
    compiled(x, y, one)
    for found, expected in zip(compiled(x, y, one), several(x, y, one)):
        assert found.dtype is expected.dtype
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert "call" not in compiled.plan()


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
def test_sums_of_half_precision_are_rounded_once(dtype: Any) -> None:
    x = (torch.rand(100, 300) + 1).to(dtype)
    compiled = compiler.compile(lambda x: [x.sum(), x.sum(0), x.mean(1)], fullgraph=True)
    compiled(x)
    assert "call" not in compiled.plan()
    exact = x.double()
    for found, expected in zip(compiled(x), [exact.sum(), exact.sum(0), exact.mean(1)]):
        assert found.dtype is dtype
        torch.testing.assert_close(found, expected.to(dtype), rtol=torch.finfo(dtype).eps, atol=0)
