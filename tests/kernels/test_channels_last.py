"""Images whose channels are innermost: pools and resampling in their own kernels, and the copies that transpose."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.base.layout import is_channels_last  # noqa: E402
from pullback.kernels import transpose  # noqa: E402

from . import using  # noqa: E402
from .test_written import compare  # noqa: E402

F = torch.nn.functional
SHAPES = [(2, 7, 6, 5), (1, 9, 8, 70), (3, 5, 4, 16)]  # in the order of memory
INSIDE = (0, 3, 1, 2)
SUMS: dict[str, Any] = {
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "overlapping": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "without padding": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, 3),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, size=(4, 11), mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(9, 3), mode="bicubic"),
}
MAXIMA: dict[str, Any] = {
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "overlapping": lambda x: F.max_pool2d(x, 3, 2, 1),
    "dilated": lambda x: F.max_pool2d(x, 2, 1, dilation=2),
    "adaptive": lambda x: F.adaptive_max_pool2d(x, (3, 2)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_pools(shape: tuple[int, ...], dtype: Any) -> None:
    for f in SUMS.values():
        compare(f, shape, dtype=dtype, permute=INSIDE, uses="channels_last.resample")
    for f in MAXIMA.values():
        compare(f, shape, dtype=dtype, permute=INSIDE, uses="channels_last.maxima channels_last.place")


def test_rows_and_volumes() -> None:
    for f, shape, order in (
        (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), (2, 7, 5), (0, 2, 1)),
        (lambda x: F.interpolate(x, size=(2, 5, 4), mode="trilinear"), (2, 3, 4, 3, 6), (0, 4, 1, 2, 3)),
    ):
        with using("on"):
            x = torch.from_numpy(np.random.default_rng(0).standard_normal(shape)).permute(order)
            torch.testing.assert_close(f(x), f(x.contiguous()))


@pytest.mark.parametrize("f", [*SUMS.values(), *MAXIMA.values()])
def test_layout_and_unusual_numbers(f: Any) -> None:
    """As of contiguous images; an infinite or undefined pixel reaches no more than its own windows."""
    rng = np.random.default_rng(0)
    array = rng.standard_normal((2, 5, 9, 8)).astype(np.float32)
    array[0, 1, 3, 4], array[1, 2, 0, 0], array[1, 0, 8, 7], array[0, 4, 2, 2] = np.nan, np.inf, -np.inf, -0.0
    with using("always"):
        x = torch.from_numpy(array)
        inside = x.contiguous(memory_format=torch.channels_last)
        expected, got = f(x), f(inside)
    assert is_channels_last(got.numpy())
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_maxima_are_the_first_of_equal_numbers_and_the_last_nan() -> None:
    x = np.zeros((1, 3, 2, 4), np.float32)
    x[0, 1] = np.nan
    x[0, 2, 1, 1] = -np.inf
    with using("always"):
        plain = torch.from_numpy(x)
        expected = F.max_pool2d(plain, 2, return_indices=True)[1]
        got = F.max_pool2d(plain.contiguous(memory_format=torch.channels_last), 2, return_indices=True)[1]
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_borders_and_norms(shape: tuple[int, ...], dtype: Any) -> None:
    c = shape[-1:]
    compare(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), shape, c, c, dtype=dtype, permute=INSIDE)
    compare(lambda x: F.batch_norm(x, None, None, training=True), shape, dtype=dtype, permute=INSIDE)
    compare(lambda x: F.pad(x, (1, 2, 0, -1), value=3), shape, dtype=dtype, permute=INSIDE)
    for mode in ("reflect", "replicate", "circular"):
        compare(lambda x, m=mode: F.pad(x, (1, 2, 0, 1), m), shape, dtype=dtype, permute=INSIDE)
    images = torch.zeros(shape).permute(INSIDE)
    for out in (F.batch_norm(images, None, None, training=True), F.pad(images, (1, 1))):
        assert is_channels_last(out.numpy())


@pytest.mark.parametrize("mode", ["off", "always"])
def test_pixels_for_channels(mode: str) -> None:
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 12, 3, 5)))
    with using(mode):
        inside = x.contiguous(memory_format=torch.channels_last)
        made = F.pixel_shuffle(inside, 2)
        assert torch.equal(made, F.pixel_shuffle(x, 2))
        assert is_channels_last(made.numpy())
        back = F.pixel_unshuffle(made, 2)
        assert torch.equal(back, x)
        assert is_channels_last(back.numpy())


def test_adaptive_maxima_of_many_channels() -> None:
    """Contiguous images go through the same kernel, and the results are contiguous again."""
    x = torch.randn(3, 40, 19, 18)
    with using("off"):
        expected = F.adaptive_max_pool2d(x, 5, return_indices=True)
    got = F.adaptive_max_pool2d(x, 5, return_indices=True)
    for a, b in zip(got, expected):
        assert torch.equal(a, b)
        assert a.is_contiguous()


def test_results_do_not_depend_on_threads() -> None:
    x = torch.randn(3, 33, 20, 20).contiguous(memory_format=torch.channels_last)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            results.append([f(x).numpy().tobytes() for f in (*SUMS.values(), *MAXIMA.values())])
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["?", "int8", "float16", "int32", "float32", "int64", "complex64"])
def test_transposed_copies(dtype: str) -> None:
    """Of every order of dimensions, with gaps, and backwards."""
    made, rng = 0, np.random.default_rng(0)
    with using("always"):
        for shape in ((40, 50), (2, 3, 17, 33), (1, 20, 1, 40), (2, 16, 3, 18)):
            x = (rng.standard_normal(shape) * 50).astype(dtype)
            for order in itertools.permutations(range(len(shape))):
                for view in (x.transpose(order), x[..., ::2].transpose(order), x[::-1].transpose(order)):
                    copy = transpose.contiguous_copy(view)
                    if copy is not None:
                        made += 1
                        assert copy.flags.c_contiguous
                        np.testing.assert_array_equal(copy, view)
    assert made > 20
