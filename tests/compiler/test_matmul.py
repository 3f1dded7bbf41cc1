"""Matrix products in plans: written out, by kernels, and of factors that have to be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import compiler, kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not kernels.start(), reason="no kernels here")


def check(f: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = torch.float32, steps: int = 1) -> None:
    """A compiled function gives what it gives as it is, and its plan is of products, not calls of Python."""
    torch.manual_seed(0)
    given = [torch.randn(*s, dtype=dtype) for s in shapes]
    compiled = compiler.compile(f)
    expected, got = f(*given), compiled(*given)
    scale = max(1.0, float(expected.abs().max()))
    np.testing.assert_allclose(
        got.numpy(), expected.numpy(), rtol=0, atol=scale * (1e-4 if dtype is torch.float32 else 1e-12)
    )
    plan = str(compiled.plan())
    assert plan.count("product") == steps and "call" not in plan, plan


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize(
    "m, k, n",
    [(1, 1, 1), (3, 5, 7), (1, 40, 1), (1, 300, 200), (300, 200, 1), (33, 65, 129), (64, 700, 200), (10, 90, 128)],
)
def test_layouts(m: int, k: int, n: int, dtype: Any) -> None:
    check(lambda a, b: a @ b, (m, k), (k, n), dtype=dtype)
    check(lambda a, b: a.T @ b, (k, m), (k, n), dtype=dtype)
    check(lambda a, b: a @ b.T, (m, k), (n, k), dtype=dtype)
    check(lambda a, b: a.T @ b.T, (k, m), (n, k), dtype=dtype)


@pytest.mark.parametrize("size", (4, 50))
def test_batches(size: int) -> None:
    check(lambda a, b: a @ b, (3, size, 40), (3, 40, size))
    check(lambda a, b: a @ b, (2, 3, size, 40), (3, 40, size))
    check(lambda a, b: a @ b, (2, 1, size, 40), (1, 3, 40, size))
    check(lambda a, b: a @ b.mT, (2, 1, 2, size, 40), (3, 1, size, 40))
    check(lambda a, b: a.permute(0, 2, 1, 3) @ b.permute(0, 2, 3, 1), (2, size, 3, 40), (2, size, 3, 40))
    check(lambda a, b: (a.permute(2, 0, 1, 3) @ b).sum((0, 1)), (3, 2, size, 40), (40, size))


@pytest.mark.parametrize("size", (5, 70))
def test_factors_that_lie_apart_are_copied(size: int) -> None:
    check(lambda a, b: a[:, ::2] @ b[:, ::2], (size, 80), (40, 2 * size))
    check(lambda a, b: a[::2, ::2].T @ b[::3, ::2].T, (80, 2 * size), (3 * size, 80))
    check(lambda a, b: a[..., ::2] @ b[..., ::3], (2, size, 80), (2, 40, 3 * size))
    check(lambda a, b: a[:, 3:] @ b[2:, 5:], (size, 43), (42, 5 + size))


def test_a_factor_that_is_repeated() -> None:
    check(lambda a, b: a.expand(60, 50) @ b, (1, 50), (50, 70))
    check(lambda a, b: a @ b.expand(50, 70), (60, 50), (50, 1))


def test_threads_do_not_change_results() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(200, 300), torch.randn(150, 300)
    before, results = kernels.get_num_threads(), []
    try:
        for n in (1, 2):
            kernels.set_num_threads(n)
            results.append(compiler.compile(lambda a, b: a @ b.T)(a, b).numpy())
    finally:
        kernels.set_num_threads(before)
    np.testing.assert_array_equal(*results)
