"""Kernels of grid_sample against NumPy: every mode, points everywhere, infinities and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.ops.grid_sample import SamplingOptions, moved, sampled, unsampled  # noqa: E402

from . import using  # noqa: E402

SHAPES = [
    ((2, 3, 4, 5), (5, 3)),
    ((1, 1, 1, 2), (1, 1)),
    ((2, 2, 3, 2, 4), (2, 3, 1)),
    ((3, 2, 4, 4), (0, 2)),
    ((2, 0, 4, 4), (2, 2)),
    ((1, 2, 7, 6), (40, 41)),
]


def results(mode: str, image: np.ndarray, grid: np.ndarray, seed: np.ndarray, how: SamplingOptions) -> list[np.ndarray]:
    """The samples, and the gradients of image and grid."""
    with using(mode), np.errstate(all="ignore"):
        return [
            sampled.op.raw(image, grid, how, 0),
            unsampled.op.raw(seed, grid, image.shape[2:], how, 0),
            moved.op.raw(seed, image, grid, how, 0),
        ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_modes(mode: str, padding_mode: str, align_corners: bool, dtype: Any) -> None:
    """Also far outside, and at points that are not finite."""
    rng, how = np.random.default_rng(0), SamplingOptions(mode, padding_mode, align_corners)
    for shape, points in SHAPES:
        n = len(points)
        if n == 3 and mode == "bicubic":
            continue
        image = rng.standard_normal(shape).astype(dtype)
        grid = (1.5 * rng.standard_normal((shape[0], *points, n))).astype(dtype)
        if grid.size > 8:
            grid.reshape(-1)[1:8:2] = np.nan, np.inf, 1e4, -1.0
        seed = rng.standard_normal((*shape[:2], *points)).astype(dtype)
        fast, plain = (results(way, image, grid, seed, how) for way in ("always", "off"))
        for a, b in zip(fast, plain):
            assert a.dtype == b.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-4 if dtype is np.float32 else 1e-11)


def test_order_of_memory() -> None:
    rng, how = np.random.default_rng(1), SamplingOptions("bilinear", "zeros", False)
    image = rng.standard_normal((5, 4, 3, 2)).T
    grid, seed = rng.standard_normal((2, 6, 4, 2))[:, ::2], rng.standard_normal((4, 3, 3, 2)).T[:, :, :3, :]
    seed = np.broadcast_to(seed[:, :1, :, :1], (2, 3, 3, 4))
    for a, b in zip(results("always", image, grid, seed, how), results("off", image, grid, seed, how)):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_kernels_serve_small_images_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ran, plain = [], kernels.run

    def noting(kind: str, name: str, *args: Any) -> Any:
        out = plain(kind, name, *args)
        ran.append((kind, name, out is not None))
        return out

    monkeypatch.setattr(kernels, "run", noting)
    with using("on"):
        x, grid = torch.ones(1, 1, 2, 2, requires_grad=True), torch.zeros(1, 1, 1, 2, requires_grad=True)
        torch.nn.functional.grid_sample(x, grid, align_corners=False).sum().backward()
    assert ran == [("grid_sample", name, True) for name in ("grid_sample", "input_gradient", "grid_gradient")]
    assert x.grad is not None and x.grad.tolist() == [[[[0.25, 0.25], [0.25, 0.25]]]]
