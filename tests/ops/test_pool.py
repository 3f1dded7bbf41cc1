"""Pooling and interpolation beyond the table of samples: ties, NaN, infinities, linear maps, many shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.nn import functional as F
from pullback.ops import grid_sample as grid_module
from pullback.ops import interpolate, max_windows
from pullback.ops.interpolate import LinearMap

INF, NAN = float("inf"), float("nan")


# --- which maximum ----------------------------------------------------------------------------------------------


def test_the_first_of_equal_maxima_gets_the_gradient() -> None:
    x = torch.tensor([[[1.0, 3.0, 3.0], [3.0, 3.0, 0.0]]], requires_grad=True)
    value, index = F.max_pool2d(x, (2, 3), return_indices=True)
    assert value.item() == 3 and index.item() == 1
    value.backward()
    assert x.grad.tolist() == [[[0, 1, 0], [0, 0, 0]]]


def test_nan_is_above_everything_and_the_last_one_counts() -> None:
    value, index = F.max_pool1d(torch.tensor([[1.0, NAN, INF, NAN, 2.0, 3.0]]), 3, return_indices=True)
    assert np.isnan(value[0, 0].item()) and np.isnan(value[0, 1].item()) and index.tolist() == [[1, 3]]
    value, index = F.adaptive_max_pool2d(torch.tensor([[[NAN, NAN, 1.0], [NAN, 1.0, NAN]]]), 1, return_indices=True)
    assert np.isnan(value.item()) and index.item() == 5


def test_padding_is_never_the_maximum() -> None:
    """Not even where everything else is -inf, or the least integer."""
    x = torch.full((1, 2, 2), -INF)
    value, index = F.max_pool2d(x, 2, padding=1, return_indices=True)
    assert (value == -INF).all() and index.tolist() == [[[0, 1], [2, 3]]]
    least = torch.iinfo(torch.int8).min
    value, index = F.max_pool2d(torch.full((1, 2, 2), least, dtype=torch.int8), 2, padding=1, return_indices=True)
    assert (value == least).all() and index.tolist() == [[[0, 1], [2, 3]]]


def test_windows_of_padding_alone() -> None:
    """Dilation can step over the whole input: no element is the maximum of nothing."""
    value, index = F.max_pool1d(torch.arange(4.0).reshape(1, 4), 2, padding=1, dilation=5, return_indices=True)
    assert value.item() == -INF and 0 <= index.item() < 4


def test_overlapping_windows_add_their_gradients() -> None:
    x = torch.tensor([[0.0, 5.0, 1.0]], requires_grad=True)
    F.max_pool1d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[0, 2, 0]]


def test_many_planes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 5, 6, 7)))
    whole = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    monkeypatch.setattr(max_windows, "BLOCK", 50)
    for a, b in zip(F.max_pool2d(x, 3, 2, 1, return_indices=True), whole):
        assert torch.equal(a, b)


def test_more_elements_in_a_window_than_a_byte_counts() -> None:
    x = torch.zeros(1, 20, 20)
    x[0, 19, 18] = 1
    assert F.max_pool2d(x, 20, return_indices=True)[1].item() == 19 * 20 + 18


# --- back in place ----------------------------------------------------------------------------------------------


def test_unpooling_writes_where_pooling_read() -> None:
    x = torch.from_numpy(np.random.default_rng(0).permutation(np.arange(1.0, 33)).reshape(1, 2, 4, 4))
    value, index = F.max_pool2d(x, 2, return_indices=True)
    placed = F.max_unpool2d(value, index, 2)
    assert torch.equal(placed, torch.where(placed == 0, 0.0, x)) and (placed != 0).sum().item() == value.numel()


def test_repeated_indices_are_written_not_added() -> None:
    x = torch.tensor([[0.0, 5.0, 1.0]])
    value, index = F.max_pool1d(x, 2, 1, return_indices=True)
    assert F.max_unpool1d(value, index, 2, 1).tolist() == [[0, 5, 0]]


def test_indices_are_int64() -> None:
    with pytest.raises(RuntimeError, match="elements in indices should be type int64 but got: Int"):
        F.max_unpool1d(torch.ones(1, 2), torch.tensor([[0, 2]], dtype=torch.int32), 2)


# --- averages ---------------------------------------------------------------------------------------------------


def test_infinity_stays_in_its_windows() -> None:
    x = torch.zeros(1, 1, 7)
    x[0, 0, 3] = INF
    assert F.avg_pool1d(x, 2, 2, 1).tolist() == [[[0, 0, INF, 0]]]
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[0, INF, 0]]]
    assert F.interpolate(x, 14).tolist() == [[[0] * 6 + [INF] * 2 + [0] * 6]]


def test_whole_numbers_have_exact_means() -> None:
    """Sums are divided, not multiplied by a reciprocal: thirds of threes are whole."""
    x = torch.arange(9.0).reshape(1, 3, 3) * 3
    assert F.avg_pool2d(x, 3).item() == 12 and F.avg_pool2d(x, (1, 3)).flatten().tolist() == [3, 12, 21]
    assert F.adaptive_avg_pool2d(x, (3, 1)).flatten().tolist() == [3, 12, 21]
    assert F.avg_pool1d(torch.tensor([[7, 8]]), 2).tolist() == [[7]]


def test_nothing_asked_for() -> None:
    x = torch.ones(2, 3, 4, 4, requires_grad=True)
    for function in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        y = function(x, (0, 3))
        assert y.shape == (2, 3, 0, 3)
        assert (torch.autograd.grad(y.sum(), x)[0] == 0).all()


def test_half_precision_is_summed_in_single() -> None:
    x = torch.full((1, 4096), 0.1, dtype=torch.float16)
    assert F.avg_pool1d(x, 4096).item() == x[0, 0].item()


# --- linear maps along one dimension ----------------------------------------------------------------------------


def dense(line: LinearMap) -> np.ndarray:
    return line(np.eye(line.size[1]), 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_line_is_a_sparse_matrix(seed: int) -> None:
    """Repeated entries add up, and the transposed line is the transposed matrix."""
    rng = np.random.default_rng(seed)
    out, into, count = (int(v) for v in rng.integers(1, 9, 3) * [1, 1, 3])
    rows, columns, weights = rng.integers(0, out, count), rng.integers(0, into, count), rng.integers(-2, 3, count)
    matrix = np.zeros((out, into))
    np.add.at(matrix, (rows, columns), weights)
    line = LinearMap((out, into), rows, columns, weights)
    np.testing.assert_array_equal(dense(line), matrix)
    np.testing.assert_array_equal(dense(line.transposed), matrix.T)
    assert line.transposed.transposed is line
    x = rng.standard_normal((2, into, 3))
    np.testing.assert_allclose(line(x, 1), matrix @ x)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_whole_ratios_need_no_index_arrays(mode: str) -> None:
    """Doubling and halving are made of slices, forward and backward."""
    from pullback.ops.interpolate import _interpolation_map

    for size, into in ((6, 12), (12, 6)):
        line = _interpolation_map(mode, size, into, False, None, False, False, False)
        for steps in (line.steps, line.transposed.steps):
            assert all(type(part) is slice for rows, columns, _ in steps for part in (rows, columns))


def test_constants_are_interpolated_to_constants() -> None:
    for mode in ("bilinear", "bicubic", "lanczos"):
        for size in ((3, 2), (11, 8)):
            for antialias in {True, mode == "lanczos"}:
                y = F.interpolate(torch.ones(1, 1, 7, 5).double(), size, mode=mode, antialias=antialias)
                np.testing.assert_allclose(y.numpy(), 1, rtol=1e-12)


def test_straight_lines_stay_straight() -> None:
    x = torch.arange(5.0).reshape(1, 1, 5)
    assert F.interpolate(x, 9, mode="linear", align_corners=True).flatten().tolist() == [i / 2 for i in range(9)]


def test_bytes_are_rounded() -> None:
    x = torch.tensor([[[[0, 255], [10, 20]]]], dtype=torch.uint8)
    y = F.interpolate(x, (2, 3), mode="bilinear")
    assert y.dtype is torch.uint8 and y.tolist() == [[[[0, 128, 255], [10, 15, 20]]]]


def test_the_identity_map_samples_the_image_itself() -> None:
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 2, 4, 5)))
    theta = torch.eye(2, 3, dtype=torch.float64).reshape(1, 2, 3)
    for align_corners in (False, True):
        grid = F.affine_grid(theta, x.shape, align_corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            np.testing.assert_allclose(
                F.grid_sample(x, grid, mode, align_corners=align_corners).numpy(), x.numpy(), atol=1e-12
            )


def test_points_that_are_nowhere_read_zeros() -> None:
    grid = torch.tensor([[[[NAN, 0.0], [INF, 0.0], [-1e30, 0.0]]]])
    y = F.grid_sample(torch.ones(1, 1, 3, 3), grid, "nearest", align_corners=False)
    assert y.tolist() == [[[[0, 0, 0]]]]


def test_warnings_about_defaults() -> None:
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2))
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="upsample` is deprecated"):
        assert F.upsample(torch.ones(1, 1, 2), scale_factor=2).shape == (1, 1, 4)


# --- PyTorch as the judge ---------------------------------------------------------------------------------------


def second_order(root: Any, function: Any, x: np.ndarray) -> list[np.ndarray]:
    """Values, gradient, and the gradient's gradient by the seed (by the input it is zero or None)."""
    rng = np.random.default_rng(0)
    like = lambda t: root.from_numpy(rng.standard_normal(tuple(t.shape)))
    leaf = root.from_numpy(x.copy()).requires_grad_()
    outs = function(root.nn.functional, leaf)
    outs = outs if isinstance(outs, tuple) else (outs,)
    seed = like(outs[0]).requires_grad_()
    (first,) = root.autograd.grad(outs[0], leaf, seed, create_graph=True)
    (again,) = root.autograd.grad(first, seed, like(first))
    return [t.detach().numpy() for t in (*outs, first, again)]


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(60))
def test_pools_are_pytorchs(seed: int) -> None:
    """Random windows on inputs with ties, to second order."""
    judge = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    numbers = lambda low, high: [int(v) for v in rng.integers(low, high, n)]
    kernel, stride, ceil = numbers(1, 4), numbers(1, 4), bool(rng.integers(2))
    padding, size = [int(rng.integers(0, k // 2 + 1)) for k in kernel], numbers(1, 6)
    x = np.round(rng.standard_normal((2, 3, *[k + int(rng.integers(0, 5)) for k in kernel])) * 2)
    include = bool(rng.integers(2))
    for function in (
        lambda F, x: getattr(F, f"max_pool{n}d")(x, kernel, stride, padding, 1, ceil, True),
        lambda F, x: getattr(F, f"avg_pool{n}d")(x, kernel, stride, padding, ceil, include),
        lambda F, x: getattr(F, f"adaptive_max_pool{n}d")(x, size, True),
        lambda F, x: getattr(F, f"adaptive_avg_pool{n}d")(x, size),
    ):
        for a, b in zip(second_order(torch, function, x), second_order(judge, function, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.torch
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_interpolation_is_pytorchs(seed: int, single: bool) -> None:
    """Random sizes and scales in all modes; in float32 the same pixels are nearest."""
    judge = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    mode = str(rng.choice(["nearest", "nearest-exact", "bilinear", "bicubic", "area"]))
    options: dict[str, Any] = {"mode": mode}
    if mode.startswith("bi"):
        options |= {"align_corners": bool(rng.integers(2)), "antialias": bool(rng.integers(2))}
    if rng.integers(2):
        options["size"] = [int(v) for v in rng.integers(2, 14, 2)]
    else:
        options["scale_factor"] = [float(v) for v in rng.choice([2, 3, 0.5, 0.7, 2.5], 2)]
    x = rng.standard_normal((2, 3, int(rng.integers(4, 10)), int(rng.integers(4, 10)))).astype(
        np.float32 if single else np.float64
    )
    results = [root.nn.functional.interpolate(root.from_numpy(x), **options).numpy() for root in (torch, judge)]
    np.testing.assert_allclose(*results, rtol=1e-5 if single else 1e-10, atol=1e-5 if single else 1e-10)


# --- all at once, or one after the other ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_few_windows_are_pooled_like_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties, NaN and infinities included; means differ in rounding only."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, (2, *rng.integers(4, 9, 2))).astype(np.float64)
    values[rng.random(values.shape) < 0.1] = rng.choice([NAN, INF, -INF])
    size, stride = tuple(map(int, rng.integers(2, 5, 2))), tuple(map(int, rng.integers(1, 4, 2)))
    found = []
    for few in (0, 1 << 40):
        monkeypatch.setattr(max_windows, "FEW", few)
        monkeypatch.setattr(interpolate, "FEW", few)
        x = torch.from_numpy(values).requires_grad_()
        greatest = F.max_pool2d(x, size, stride, 1, return_indices=True)
        means = F.avg_pool2d(x, size, stride, 1, ceil_mode=True), F.interpolate(x[None], size=size, mode="bicubic")
        found.append([a.detach().numpy() for a in (*greatest, *means, *torch.autograd.grad(means[0].sum(), x))])
    for few_at_once, one_by_one in zip(*found):
        np.testing.assert_allclose(few_at_once, one_by_one, rtol=1e-12, atol=1e-12)


def test_long_windows_of_few_results() -> None:
    """A window is read once, however long it is; and so is its gradient."""
    x = torch.arange(2 * 30_001.0).reshape(1, 2, 30_001).requires_grad_()
    value, index = F.adaptive_max_pool1d(x, 2, return_indices=True)
    assert index.tolist() == [[[15_000, 30_000]] * 2] and value[0, 0].tolist() == [15_000, 30_000]
    (slope,) = torch.autograd.grad(F.adaptive_avg_pool1d(x, 2).sum(), x)
    np.testing.assert_allclose(slope[0, 0, [0, 15_000, 30_000]], np.array([1, 2, 1]) / 15_001, rtol=1e-6)
    assert max(len(line.transposed.steps) for line in interpolate.adaptive_mean_map((30_001,), (2,)).lines) == 2


# --- sampling at points ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_points_outside_see_nothing_of_the_image(mode: str) -> None:
    """Not even of infinities: what is not read is not multiplied by 0 either."""
    image = torch.tensor([[[[INF, 1.0], [1.0, 1.0]]]], requires_grad=True)
    grid = torch.full((1, 1, 1, 2), 9.0, requires_grad=True)
    out = F.grid_sample(image, grid, mode=mode, align_corners=False)
    assert out.item() == 0
    for slope in torch.autograd.grad(out, (image, grid), torch.tensor([[[[INF]]]])):
        assert slope.count_nonzero() == 0


def test_the_nearest_pixel_has_no_slope_even_if_it_is_infinite() -> None:
    grid = torch.zeros(1, 1, 1, 2, requires_grad=True)
    out = F.grid_sample(torch.full((1, 1, 3, 3), INF), grid, mode="nearest", align_corners=True)
    assert out.item() == INF and torch.autograd.grad(out, grid)[0].tolist() == [[[[0, 0]]]]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_sampling_has_derivatives_of_any_order(mode: str) -> None:
    """Along a parabola's image, third-order mixed derivatives by points agree with differences of second-order ones."""
    rng = np.random.default_rng(0)
    image = torch.from_numpy(rng.standard_normal((1, 2, 4, 5))).requires_grad_()
    points = torch.from_numpy(rng.uniform(-0.6, 0.6, (1, 2, 1, 2))).requires_grad_()

    def squared_slopes(image: Any, points: Any) -> Any:
        sampled = F.grid_sample(image, points, mode=mode, align_corners=True)
        return torch.autograd.grad((sampled**2).sum(), (image, points), create_graph=True)

    assert torch.autograd.gradgradcheck(squared_slopes, (image, points))


def test_points_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    image, points = rng.standard_normal((2, 3, 5, 4)), rng.uniform(-1.2, 1.2, (2, 20, 10, 2))
    found = []
    for block in (1, 1 << 40):
        monkeypatch.setattr(grid_module, "BLOCK", block)
        inputs = torch.from_numpy(image).requires_grad_(), torch.from_numpy(points).requires_grad_()
        out = F.grid_sample(*inputs, align_corners=False)
        found.append([out.detach(), *torch.autograd.grad((out**2).sum(), inputs)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "shape, into, place, source",
    [
        ((1, 1, 2), 41, 20, 1),
        ((1, 1, 8), 41, 20, 3),  # 4 without rounding
        ((1, 1, 2, 1), (41, 1), 20, 0),  # another loop of PyTorch's, another rounding
        ((1, 1, 2, 1), (41, 88), 20, 1),
        ((1, 1, 2, 1, 1), (41, 1, 1), 20, 1),
    ],
)
def test_nearest_pixels_are_rounded_as_in_pytorch(shape: Any, into: Any, place: int, source: int) -> None:
    pixels = torch.arange(shape[2], dtype=torch.float32).reshape(shape)
    y = F.interpolate(pixels, into, mode="nearest-exact")
    assert y[0, 0, place].flatten()[0].item() == source


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("rank, sizes", [(1, range(1, 90, 3)), (2, range(1, 90, 5)), (3, range(1, 60, 7))])
def test_nearest_pixels_of_many_sizes_against_pytorch(rank: int, sizes: range, dtype: str) -> None:
    judge = pytest.importorskip("torch")
    rest = [1] * (rank - 1)
    for size in sizes:
        for into in range(1, 61, 2):
            for mode in ("nearest", "nearest-exact"):
                for options in ({"size": [into, *rest]}, {"scale_factor": [into / size + 1e-6, *rest]}):
                    ours, theirs = (
                        root.nn.functional.interpolate(
                            root.arange(size).to(getattr(root, dtype)).reshape([1, 1, size, *rest]),
                            mode=mode,
                            **options,
                        ).flatten()
                        for root in (torch, judge)
                    )
                    assert ours.tolist() == theirs.tolist(), (size, into, mode, options)
