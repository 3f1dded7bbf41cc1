"""Cache blocking on NumPy alone gives the same numbers."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pullback.core.op import REGISTRY
from pullback.kernels.numpy_blocks import BLOCK, Blocks

START = 2 * BLOCK
N = 5 * BLOCK // 8 + 3  # a few blocks and a rest, in either type


def counted(function: Callable) -> tuple[Callable, list[int]]:
    """The function, and the sizes that it is called with."""
    sizes: list[int] = []

    def call(*values: Any) -> Any:
        sizes.append(max(np.size(v) for v in values))
        return function(*values)

    return call, sizes


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("name", ("silu", "softplus", "mish", "gelu_tanh"))
def test_blocks_give_the_same_numbers(name: str, dtype: Any) -> None:
    op = REGISTRY[name]
    x = np.linspace(-30, 30, N, dtype=dtype)
    x[:3] = np.nan, np.inf, -np.inf
    options = (1.0, 20.0)[: len(op.params) - 1]
    for function, values in ((op.call.__wrapped__, (x,)), (op.rules["input"], (np.cos(x), x))):
        in_blocks, sizes = counted(function)
        result = Blocks(in_blocks, START)(*values, *options)
        size = BLOCK // x.itemsize
        assert max(sizes) == size and sum(sizes) >= N
        blocks = [function(*[v[i : i + size] for v in values], *options) for i in range(0, N, size)]
        np.testing.assert_array_equal(result, np.concatenate(blocks))
        # some of NumPy's loops round numbers at the ends of an array otherwise
        np.testing.assert_allclose(result, function(*values, *options), rtol=0, atol=16 * np.finfo(dtype).eps)


def test_what_is_not_gone_through_in_blocks() -> None:
    """Small arrays, broadcasting, other layouts, and results that are an argument."""
    x = np.linspace(-1, 1, 2 * N).reshape(2, N)
    row = x[0].copy()
    for values in ((x[:, :9], x[:, :9]), (x, row), (x.T, x.T)):
        twice, sizes = counted(lambda a, b: a * b + b)
        np.testing.assert_array_equal(Blocks(twice, START)(*values), values[0] * values[1] + values[1])
        assert sizes == [values[0].size]
    assert Blocks(lambda g: g, START)(row) is row
    assert np.shares_memory(Blocks(lambda g: g[::1], START)(row), row)
    assert Blocks(lambda a, b: None, START)(row, row) is None


def test_short_rows_go_by_columns() -> None:
    """Also where a column is repeated along them, or nobody has the whole shape."""
    n = BLOCK // 4
    x, row, column, y = (
        np.linspace(-1, 1, 3 * n).reshape(n, 3),
        np.arange(3.0),
        np.linspace(0, 2, n)[:, None],
        np.linspace(2, 3, n).reshape(n, 1, 1),
    )
    for values in ((x, row), (row, x), (x, column), (column, row), (x, 2.5, row), (y, x[:2]), (x, column, row)):
        summed, sizes = counted(lambda *v: functools.reduce(np.add, v))
        result = Blocks(summed)(*values)
        np.testing.assert_array_equal(result, functools.reduce(np.add, values))
        assert len(sizes) == 3 and result.flags.c_contiguous
    for values in ((x[:, ::2], row[:2]), (np.empty((n, 9)), np.ones(9)), (np.empty((n, 0)), column), (x[:9], row)):
        summed, sizes = counted(np.add)
        np.testing.assert_array_equal(Blocks(summed)(*values), np.add(*values))
        assert len(sizes) == 1
    assert Blocks(lambda g, x: g)(row, x) is row
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        Blocks(np.add)(x, np.ones(4))


def test_a_number_is_handed_to_every_block() -> None:
    x, scale = np.linspace(-1, 1, N), np.array([3.0])
    np.testing.assert_array_equal(Blocks(lambda g, x, k: g * x + k, START)(scale, x, 2), scale * x + 2)


def test_everything_works_where_llvmlite_can_not_be_imported() -> None:
    """Formulas of large arrays are known without it."""
    program = """
import sys
sys.modules["llvmlite"] = None
import pullback as torch
net = torch.nn.Sequential(torch.nn.Linear(200, 300), torch.nn.GELU(), torch.nn.LayerNorm(300), torch.nn.Linear(300, 3))
x = torch.ones(400, 200, requires_grad=True)
(net(x).exp() * net(x).sigmoid()).sum().backward()
fast = torch.compile(lambda x: (x.exp() * 2).sum())
print(torch.kernels.info()["running"], bool(x.grad.isfinite().all()), fast(x.detach()).item() == fast(x.detach()).item())
"""  # noqa: E501
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr
