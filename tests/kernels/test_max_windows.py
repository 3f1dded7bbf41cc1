"""Kernels driven by index tables against NumPy: maxima of windows, resampling, scattering, small convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.ops.max_windows import adaptive_windows  # noqa: E402

from . import using  # noqa: E402
from .test_written import compare  # noqa: E402

F = torch.nn.functional
TYPES = (torch.float32, torch.float64)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 7, 5), (1, 1, 1, 1), (3, 1, 4, 6)])
def test_pools(shape: tuple[int, ...], dtype: Any) -> None:
    samples = torch.tensor(np.random.default_rng(0).random((*shape[:2], 2)), dtype=dtype)
    compare(lambda x: F.adaptive_max_pool2d(x, 3), shape, dtype=dtype, uses="max_windows.gather_max interpolate.place")
    compare(
        lambda x: F.fractional_max_pool2d(x, 1, output_size=1, _random_samples=samples),
        shape,
        dtype=dtype,
        uses="max_windows.fractional_max",
    )
    compare(lambda x: F.adaptive_avg_pool2d(x, (3, 2)), shape, dtype=dtype, uses="interpolate.resample")
    compare(lambda x: F.avg_pool2d(x, 3, 2, 1), shape, dtype=dtype, uses="interpolate.resample")
    compare(
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False, divisor_override=7),
        shape,
        dtype=dtype,
    )
    compare(lambda x: F.interpolate(x, size=(4, 3), mode="bilinear"), shape, dtype=dtype, uses="interpolate.resample")
    compare(lambda x: F.interpolate(x, scale_factor=2), shape, dtype=dtype, uses="interpolate.resample")


def test_of_equal_elements_the_first_and_of_nan_the_last() -> None:
    x = np.array([[1.0, 1.0, 0.0, np.nan, 5.0, np.nan, -np.inf, -np.inf]])
    found = []
    for mode in ("off", "always"):
        with using(mode):
            found.append(adaptive_windows((8,), (4,)).maxima(x))
            found.append(adaptive_windows((8,), (3,)).maxima(x))
    for (values, indices), (more, others) in zip(found[:2], found[2:]):
        np.testing.assert_array_equal(values, more)
        np.testing.assert_array_equal(indices, others)
    assert found[0][1].tolist() == [[0, 3, 5, 6]]


def test_order_of_memory() -> None:
    compare(lambda x: F.adaptive_max_pool2d(x, 2), (5, 4, 3, 2), dtype=torch.float64, permute=(3, 2, 1, 0))
    compare(lambda x: F.adaptive_avg_pool2d(x, 2), (5, 4, 3, 2), dtype=torch.float64, permute=(3, 2, 1, 0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32])
def test_other_types_take_numpys_way_or_are_widened(dtype: Any) -> None:
    x = torch.arange(30).reshape(1, 1, 5, 6).to(dtype)
    values, indices = F.adaptive_max_pool2d(x, 3, return_indices=True)
    assert values.dtype is dtype and indices.flatten().tolist() == values.long().flatten().tolist()
    assert F.avg_pool2d(x, 2).dtype is dtype


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_small_convolutions(seed: int, transposed: bool, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    batch, channels, features = (int(v) for v in rng.integers(1, 2 if n == 3 else 3, 3))
    spatial, kernel, stride, dilation = (
        tuple(rng.integers(low, high, n).tolist()) for low, high in ((3, 7 - n), (1, 3), (1, 3), (1, 3))
    )
    padding = tuple(rng.integers(0, 2, n).tolist())
    x, bias = (batch, channels * groups, *spatial), (features * groups,)
    w = (channels * groups, features, *kernel) if transposed else (features * groups, channels, *kernel)

    def convolved(x: Any, w: Any, b: Any = None) -> Any:
        return torch.convolution(x, w, b, stride, padding, dilation, transposed, 0, groups)

    given = {"dtype": dtype, "uses": "conv_tables.correlate", "mode": "on"}
    compare(convolved, x, w, **given)
    compare(convolved, x, w, bias, **given)
    order = tuple(range(n + 2))[::-1]
    compare(convolved, x[::-1], w, bias, **given, permute=order)


@pytest.mark.parametrize("transposed", [False, True])
def test_small_convolutions_of_what_is_not_finite(transposed: bool) -> None:
    """Padding counts as zeros, which times infinity are NaN."""
    x, w = np.ones((1, 1, 5)), np.array([[[np.inf, 1.0, np.nan]]])
    x[0, 0, 1] = -np.inf
    found = []
    for mode in ("off", "on"):
        with using(mode):
            weight = torch.tensor(w, requires_grad=True)
            out = torch.convolution(torch.tensor(x), weight, None, 1, 1, 1, transposed, 0, 1)
            out.backward(torch.tensor([[[np.inf, 1.0, 2.0, 3.0, -np.inf]]]))
            found.append((out.detach().numpy(), weight.grad.numpy()))
    for got, expected in zip(*found):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unpooling_repeated_indices_and_orders_of_memory(dtype: Any) -> None:
    at = torch.from_numpy(np.random.default_rng(0).integers(0, 24, (2, 3, 2, 3)))
    compare(lambda x: F.max_unpool2d(x, at, 2), (2, 3, 2, 3), dtype=dtype, uses="interpolate.place")
    compare(lambda x: F.max_unpool2d(x, at, 2), (3, 2, 3, 2), dtype=dtype, permute=(1, 0, 3, 2))
    values = np.array([[1.0, np.nan, -0.0, np.inf]])
    for mode in ("off", "always"):
        with using(mode):
            placed = F.max_unpool1d(torch.tensor(values), torch.tensor([[0, 3, 0, 7]]), 2).numpy()
        np.testing.assert_array_equal(placed, [[-0.0, 0, 0, np.nan, 0, 0, 0, np.inf]])
        assert np.signbit(placed[0, 0])
