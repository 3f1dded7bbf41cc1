"""Gather, scatter and scatter-add in vectors: NumPy's results, for elements of every size and any last vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("llvmlite")

TYPES = (np.bool_, np.int16, np.float32, np.int64)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", ((3, 1), (7, 9), (33, 17), (2, 65)), ids=str)
def test_gather_and_scatter(shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 100, shape).astype(dtype) for _ in range(2))
    for dim in (0, 1):
        index = rng.permuted(
            np.broadcast_to(np.arange(shape[dim]).reshape(-1, 1) if dim == 0 else np.arange(shape[1]), shape), axis=dim
        )
        a, b, i = (torch.from_numpy(v) for v in (x, y, index))
        np.testing.assert_array_equal(a.gather(dim, i), np.take_along_axis(x, index, dim))
        put = x.copy()
        np.put_along_axis(put, index, y, dim)
        np.testing.assert_array_equal(a.scatter(dim, i, b), put)
        rows = torch.from_numpy(index[:, 0] if dim == 0 else index[0])
        np.testing.assert_array_equal(a.index_select(dim, rows), x.take(rows.numpy(), dim))


@pytest.mark.parametrize("dtype", (torch.bool, torch.uint8, torch.int16, torch.float16, torch.bfloat16, torch.float32))
@pytest.mark.parametrize("size", (3, 300))
def test_adding_at_repeated_places(size: int, dtype: torch.dtype) -> None:
    """Narrow types, too: bools are OR, integers go round, half precision is rounded once."""
    index, values = torch.arange(size) % 2, torch.ones(size, 3).to(dtype)
    expected = torch.tensor([[float(size - size // 2)] * 3, [float(size // 2)] * 3]) % (
        256 if dtype is torch.uint8 else 1 << 15
    )
    zeros = torch.zeros(2, 3, dtype=dtype)
    for out in (zeros.index_add(0, index, values), zeros.index_put((index,), values, accumulate=True)):
        torch.testing.assert_close(out, expected.to(dtype))
    wide = index[:, None].expand(size, 3)
    torch.testing.assert_close(zeros.scatter_add(0, wide, values), expected.to(dtype))


@pytest.mark.parametrize("size", (4, 80))
def test_reducing_into_a_transposed_tensor(size: int) -> None:
    x, y = torch.randn(size, size + 1), torch.randn(size, size + 1)
    index = torch.randint(0, size, (size, size + 1))
    turned = x.t().contiguous().t()
    for how in ("amax", "prod", "mean"):
        torch.testing.assert_close(turned.scatter_reduce(0, index, y, how), x.scatter_reduce(0, index, y, how))


@pytest.mark.parametrize("large", (3, 1 << 40))
def test_products_of_integers(large: int) -> None:
    """Exact, in float64 where they are small, and modulo 2**64 where not."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-large, large, (70, 70)) for _ in range(2))
    expected = (x.astype(object) @ y.astype(object) + 2**63) % 2**64 - 2**63
    np.testing.assert_array_equal(torch.from_numpy(x) @ torch.from_numpy(y), expected.astype(np.int64))
    image, w = torch.from_numpy(x[None, None]), torch.from_numpy(y[:3, :3][None, None].copy())
    out = torch.nn.functional.conv2d(image, w)[0, 0, 0, 0].item()
    exact = int((x[:3, :3].astype(object) * y[:3, :3].astype(object)).sum())
    assert out == (exact + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
@pytest.mark.parametrize("sides", ((1, 2), (4, 0), (0, 3)), ids=str)
def test_padding_by_copies(mode: str, sides: tuple[int, int]) -> None:
    x = np.arange(2 * 3 * 5 * 5.0).reshape(2, 3, 5, 5)
    numpys = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    expected = np.pad(x, ((0, 0), (0, 0), (1, 1), sides), numpys)
    t = torch.from_numpy(x)
    for image in (t, t.contiguous(memory_format=torch.channels_last)):
        np.testing.assert_array_equal(torch.nn.functional.pad(image, (*sides, 1, 1), mode=mode), expected)
