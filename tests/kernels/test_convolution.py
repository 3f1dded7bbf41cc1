"""Convolution kernels with vectors of features, and Winograd's method, against NumPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from . import using  # noqa: E402
from .test_written import TYPES, compare  # noqa: E402

F = torch.nn.functional
USES = "convolution.correlate convolution.spread convolution.correlate_weight"
CONVOLUTIONS = [  # input, weight, options
    ((2, 10, 9, 11), (12, 10, 3, 3), {"padding": 1}),
    ((2, 11, 9, 10), (21, 11, 3, 2), {"stride": 2, "padding": 1}),
    ((1, 24, 7, 5), (26, 12, 3, 3), {"groups": 2, "dilation": (2, 1), "stride": (1, 3), "padding": (2, 0)}),
    ((3, 12, 61), (18, 12, 5), {"stride": 3, "padding": 4, "dilation": 2}),
    ((2, 10, 5, 6, 7), (17, 10, 2, 3, 2), {"stride": (1, 2, 1), "padding": (1, 0, 1)}),
    ((1, 16, 3, 3), (16, 16, 3, 3), {"padding": 3}),
    ((2, 12, 9, 9), (12, 12, 2, 2), {"stride": 4}),
    ((1, 3, 30, 29), (33, 3, 7, 7), {"stride": 2, "padding": 3}),
    ((2, 1, 2000), (10, 1, 3), {}),
]
OF_WINOGRAD = [  # images, channels, height, width; features; padding; groups
    ((3, 9, 19, 21), 11, (1, 1), 1),
    ((2, 8, 34, 23), 16, (0, 2), 1),
    ((2, 20, 16, 40), 18, (1, 0), 2),
    ((40, 17, 4, 7), 9, (1, 1), 1),
    ((1, 2, 3, 600), 3, (1, 1), 1),
    ((2, 3, 1, 1), 2, (1, 1), 1),
    ((1, 40, 9, 16), 33, (2, 2), 1),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_many_features(case: Any, dtype: Any) -> None:
    x, w, options = case
    f = {3: torch.conv1d, 4: torch.conv2d, 5: torch.conv3d}[len(x)]
    compare(lambda x, w, b: f(x, w, b, **options), x, w, w[:1], dtype=dtype, uses=USES)
    compare(lambda x, w: f(x, w, **options), x, w, dtype=dtype, uses=USES)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_transposed_with_many_features(dtype: Any) -> None:
    f = lambda x, w: torch.conv_transpose2d(x, w, None, 3, 2, 1, 2, 2)  # noqa: E731
    compare(f, (2, 24, 6, 5), (24, 11, 3, 2), dtype=dtype, uses=USES)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", OF_WINOGRAD, ids=str)
def test_winograd(case: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pullback.kernels import conv_winograd, convolution

    x, features, padding, groups = case
    outcomes, plain = [], conv_winograd.Winograd.__call__
    monkeypatch.setattr(convolution, "pays", lambda *args: True)
    monkeypatch.setattr(conv_winograd.Winograd, "__call__", lambda *args: outcomes.append(plain(*args)) or outcomes[-1])
    w = (features * groups, x[1] // groups, 3, 3)
    compare(lambda x, w, b: torch.conv2d(x, w, b, padding=padding, groups=groups), x, w, w[:1], dtype=dtype, uses=USES)
    assert outcomes == [True, True]  # the convolution, and its gradient by the input
    compare(lambda x, w: torch.conv2d(x, w, padding=padding, groups=groups), x, w, dtype=dtype, uses=USES)


def test_winograd_leaves_what_is_not_finite() -> None:
    """Infinities stay infinities, and with NaN and numbers near the largest are seen where windows have them, and
    nowhere else.
    """
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal((1, 32, 33, 34)).astype(np.float32),
        rng.standard_normal((32, 32, 3, 3)).astype(np.float32),
    )
    x[0, 2, 5, 6], x[0, 3, 20, 9], x[0, 4, 28, 28], x[0, 5, 32, 33] = np.inf, np.nan, 3e38, -np.inf
    results = []
    for mode in ("off", "always"):
        with using(mode):
            leaf = torch.from_numpy(x).requires_grad_()
            out = torch.conv2d(leaf, torch.from_numpy(w), padding=1)
            out.backward(torch.from_numpy(np.ascontiguousarray(x)))
            results.append((out.detach().numpy(), leaf.grad.numpy()))
    for plain, fast in zip(*results):
        assert 0 < (~np.isfinite(plain)).sum() < 1200
        np.testing.assert_array_equal(np.isnan(fast), np.isnan(plain))
        np.testing.assert_allclose(fast, plain, rtol=1e-3, atol=1e-3)


def test_errors_are_those_of_sums() -> None:
    """Against float64: the method of Winograd, and the gradient of a weight, which is a sum over 60000 positions."""
    rng = np.random.default_rng(0)
    x, g, w = *rng.standard_normal((2, 15, 16, 64, 64)), rng.standard_normal((16, 16, 3, 3)) / 12
    results = []
    for d in (np.float32, np.float64):
        with using("always"):
            weight = torch.from_numpy(w.astype(d)).requires_grad_()
            out = torch.conv2d(torch.from_numpy(x.astype(d)), weight, padding=1)
            out.backward(torch.from_numpy(g.astype(d)))
            results.append((out.detach().numpy(), weight.grad.numpy()))
    assert np.abs(results[0][0] - results[1][0]).max() < 4e-6
    assert np.abs(results[0][1] - results[1][1]).max() < 1e-3  # of sums that are around 250


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((7, 16, 20, 20), (16, 16, 3, 3)))
    results = []
    before = torch.get_num_threads()
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            with using("always"):
                a, b = torch.from_numpy(x).requires_grad_(), torch.from_numpy(w).requires_grad_()
                for stride in (1, 2):
                    torch.conv2d(a, b, stride=stride, padding=1).square().sum().backward()
                results.append((a.grad.numpy(), b.grad.numpy()))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for one, same in zip(results[0], other):
            np.testing.assert_array_equal(one, same)


def test_no_images() -> None:
    with using("always"):
        x, w = torch.ones(0, 16, 8, 8, requires_grad=True), torch.ones(16, 16, 3, 3, requires_grad=True)
        out = torch.conv2d(x, w, padding=1)
        out.sum().backward()
    assert out.shape == (0, 16, 8, 8) and x.grad.shape == x.shape and not w.grad.any()


@pytest.mark.torch
@pytest.mark.parametrize(
    "case",
    [((4, 16, 32, 32), 16, 1, 1), ((4, 16, 31, 33), 32, 2, 1), ((2, 64, 8, 8), 64, 1, 1), ((3, 12, 21, 17), 24, 1, 0)],
    ids=str,
)
def test_as_pytorch(case: Any) -> None:
    judge = pytest.importorskip("torch")
    shape, features, stride, padding = case
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal(shape).astype(np.float32),
        rng.standard_normal((features, shape[1], 3, 3)).astype(np.float32),
    )
    results = []
    for T in (judge, torch):
        a, b = T.from_numpy(x).requires_grad_(), T.from_numpy(w).requires_grad_()
        out = T.nn.functional.conv2d(a, b, None, stride, padding)
        out.backward(T.cos(out.detach()))
        results.append([out.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    assert kernels.start() or kernels.MODE == "off"
    for got, expected in zip(*results[::-1]):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-4 * np.abs(expected).max())
