"""Convolutions beyond the table of samples: many shapes against loops and PyTorch, blocks, memory, infinities,
types.
"""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.nn import functional as F
from pullback.ops import conv_products, convolution

CASES = range(60)


def draw(seed: int) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray | None, dict[str, Any]]:
    """A random convolution: (transposed, input, weight, bias, options)."""
    rng = np.random.default_rng(seed)
    n, groups, transposed = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3])), bool(rng.integers(2))
    numbers = lambda low, high: [int(v) for v in rng.integers(low, high, n)]
    kernel, stride, dilation = numbers(1, 4), numbers(1, 4) if rng.integers(2) else [1] * n, numbers(1, 4)
    options: dict[str, Any] = {"stride": stride, "dilation": dilation, "groups": groups}
    if transposed:
        options["output_padding"] = [int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation)]
    extent = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    options["padding"] = [int(rng.integers(0, (e + 1) // 2)) for e in extent]
    spatial = numbers(1, 4) if transposed else [e + int(rng.integers(0, 4)) for e in extent]
    inputs, outputs = (groups * int(rng.integers(1, 4)) for _ in range(2))
    shape = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    input, weight = rng.standard_normal((2, inputs, *spatial)), rng.standard_normal((*shape, *kernel))
    return transposed, input, weight, rng.standard_normal(outputs) if rng.integers(2) else None, options


def by_loops(
    transposed: bool, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, options: dict[str, Any]
) -> np.ndarray:
    """The definition, one element of the kernel and one window at a time."""
    stride, padding, dilation, groups = (options[k] for k in ("stride", "padding", "dilation", "groups"))
    spatial, kernel, n = x.shape[2:], w.shape[2:], x.ndim - 2
    extra = options.get("output_padding", [0] * n)
    each = list(zip(spatial, kernel, stride, padding, dilation, extra))
    if transposed:
        size = [(i - 1) * s - 2 * p + d * (k - 1) + 1 + z for i, k, s, p, d, z in each]
    else:
        size = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d, _ in each]
    outputs = w.shape[1] * groups if transposed else w.shape[0]
    y = np.zeros((len(x), outputs, *size))
    few = spatial if transposed else size
    for at in itertools.product(*map(range, few)):
        for tap in itertools.product(*map(range, kernel)):
            where = tuple(j * s + k * d - p for j, k, s, d, p in zip(at, tap, stride, dilation, padding))
            if any(not 0 <= v < m for v, m in zip(where, size if transposed else spatial)):
                continue
            source, target = (at, where) if transposed else (where, at)
            for g in range(groups):
                a, b = (slice(g * c // groups, (g + 1) * c // groups) for c in (x.shape[1], outputs))
                matrix = w[(a if transposed else b, slice(None), *tap)]
                values = x[(slice(None), a, *source)]
                y[(slice(None), b, *target)] += values @ (matrix if transposed else matrix.T)
    return y if bias is None else y + bias.reshape(-1, *[1] * n)


def function(root: Any, transposed: bool, n: int) -> Any:
    return getattr(root, f"conv_transpose{n}d" if transposed else f"conv{n}d")


@pytest.fixture(params=["at once", 1 << 20, 300])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """How it is computed: all windows at once, which is for small ones, in one block of outputs, or in many."""
    planned = convolution._geometry, conv_products.small_im2col, conv_products.small_col2im
    if request.param != "at once":
        monkeypatch.setattr(conv_products, "BLOCK", request.param)
        monkeypatch.setattr(conv_products, "SMALL", 0)
        monkeypatch.setattr(conv_products, "FEW", 0)
    for plan in planned:
        plan.cache_clear()
    yield
    for plan in planned:
        plan.cache_clear()


@pytest.mark.parametrize("seed", CASES)
def test_equals_the_definition(seed: int, way: None) -> None:
    """Any stride, padding, dilation, grouping."""
    transposed, x, w, bias, options = draw(seed)
    arguments = [None if a is None else torch.from_numpy(a) for a in (x, w, bias)]
    got = function(torch, transposed, x.ndim - 2)(*arguments, **options)
    np.testing.assert_allclose(got.numpy(), by_loops(transposed, x, w, bias, options), rtol=1e-9, atol=1e-9)


def second_order(root: Any, transposed: bool, arrays: list[Any], options: dict[str, Any]) -> list[np.ndarray]:
    """Value, gradients, and gradients of the gradients by everything, for fixed random cotangents."""
    rng = np.random.default_rng(0)
    like = lambda t: root.from_numpy(rng.standard_normal(tuple(t.shape)))
    leaves = [root.from_numpy(a.copy()).requires_grad_() for a in arrays]
    y = function(root, transposed, arrays[0].ndim - 2)(*leaves, **options)
    seed = like(y).requires_grad_()
    first = root.autograd.grad(y, leaves, seed, create_graph=True)
    again = root.autograd.grad(first, [*leaves, seed], [like(g) for g in first], allow_unused=True)
    return [t.detach().numpy() for t in (y, *first, *again) if t is not None]


@pytest.mark.torch
@pytest.mark.parametrize("seed", CASES)
def test_second_order_is_pytorchs(seed: int, way: None) -> None:
    """Random convolutions to second order."""
    judge = pytest.importorskip("torch")
    transposed, x, w, bias, options = draw(seed)
    arrays = [a for a in (x, w, bias) if a is not None]
    expected = second_order(judge, transposed, arrays, options)
    for a, b in zip(second_order(torch, transposed, arrays, options), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def test_options_after_a_plan() -> None:
    """A geometry that is known does not let wrong types or options pass."""
    x, w = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    assert torch.conv1d(x, w).tolist() == [[[2.0, 2.0]]]
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.conv1d(x, w.double())
    with pytest.raises(TypeError):
        torch.conv1d(x, w, stride=1.0)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="expected stride to be a single integer"):
        torch.conv1d(x, w, stride=[1, 1])
    with pytest.raises(NotImplementedError, match="Bool"):
        torch.conv1d(x.bool(), w.bool())


def test_an_infinite_weight_stays_at_its_places() -> None:
    """Zeros that only stand between the elements of a transposed convolution's input meet no weight."""
    w = torch.tensor([[[1.0, torch.inf]]])
    assert torch.conv_transpose1d(torch.ones(1, 1, 2), w, stride=3).tolist() == [
        [[1.0, torch.inf, 0.0, 1.0, torch.inf]]
    ]


def test_no_large_temporaries() -> None:
    """Windows are laid out by blocks: 75 MB of them here, of which a few at a time exist."""
    x, w = torch.ones(8, 16, 128, 128).requires_grad_(), torch.ones(4, 16, 3, 3).requires_grad_()
    tracemalloc.start()
    y = torch.conv2d(x, w, padding=1)
    forward = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    y.sum().backward()
    backward = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = x.numel() * 4, y.numel() * 4
    assert forward < 2 * sum(sizes) + (4 << 20)
    assert backward < 4 * sum(sizes) + (4 << 20)


def test_only_what_is_needed_is_kept_and_computed() -> None:
    x, w = torch.ones(1, 1, 4), torch.ones(1, 1, 2, requires_grad=True)
    y = torch.conv1d(x, w)
    assert y.grad_fn._saved_weight is None and y.grad_fn._saved_input is not None
    assert torch.conv1d(x.requires_grad_(), w.detach()).grad_fn._saved_input is None
    y.sum().backward()
    assert x.grad is None and w.grad.tolist() == [[[3.0, 3.0]]]


def test_names_of_nodes() -> None:
    x, w = torch.ones(1, 2, 4, 4, requires_grad=True), torch.ones(2, 2, 2, 2)
    assert torch.conv2d(x, w).grad_fn.name() == "ConvolutionBackward0"
    assert torch.conv2d(x[0], w).grad_fn.name() == "SqueezeBackward1"
    assert F.unfold(x, 2).grad_fn.name() == "Im2ColBackward0"
    assert F.fold(F.unfold(x, 2), (4, 4), 2).grad_fn.name() == "Col2ImBackward0"


def test_infinity_stays_in_its_windows() -> None:
    """An infinite element reaches the outputs and weights that meet it, and makes NaN of no other."""
    x = torch.zeros(1, 1, 5, 5)
    x[0, 0, 0, 0] = float("inf")
    w = torch.ones(1, 1, 3, 3, requires_grad=True)
    y = torch.conv2d(x, w)
    assert y[0, 0, 0, 0].item() == float("inf") and (y.flatten()[1:] == 0).all()
    y.backward(torch.ones(1, 1, 3, 3))
    assert w.grad[0, 0, 0, 0].item() == float("inf") and (w.grad.flatten()[1:] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype: Any) -> None:
    """Rounded once, at the end: 0.1 counted 4096 times would stop growing far below."""
    x, w = torch.full((1, 4096, 3), 0.1, dtype=dtype), torch.ones(1, 4096, 2, dtype=dtype)
    y = torch.conv1d(x, w, torch.ones(1, dtype=dtype))
    exact = torch.conv1d(x.double(), w.double(), torch.ones(1).double()).to(dtype)
    assert y.dtype is dtype and torch.equal(y, exact)


def test_integers() -> None:
    x, w = torch.arange(6).reshape(1, 1, 6), torch.tensor([[[1, -1]]])
    assert torch.conv1d(x, w).tolist() == [[[-1] * 5]]
    assert torch.conv_transpose1d(x, w).tolist() == [[[0, 1, 1, 1, 1, 1, -5]]]


def test_odd_same_padding_has_its_larger_half_behind() -> None:
    x, w = torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[1.0, 10.0]]])
    assert torch.conv1d(x, w, padding="same").tolist() == [[[21.0, 32.0, 3.0]]]
    w = torch.tensor([[[1.0, 10.0, 100.0, 1000.0]]])
    assert torch.conv1d(x, w, padding="same").tolist() == [[[3210.0, 321.0, 32.0]]]


def test_no_channels() -> None:
    """A sum over nothing is zero, and the bias remains."""
    x = torch.ones(2, 0, 4, requires_grad=True)
    w = torch.ones(3, 0, 2, requires_grad=True)
    y = torch.conv1d(x, w, torch.tensor([1.0, 2.0, 3.0]))
    assert y.shape == (2, 3, 3) and y[0, :, 0].tolist() == [1.0, 2.0, 3.0]
    y.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape


def test_the_operands_are_of_one_type() -> None:
    x, w = torch.ones(1, 1, 4), torch.ones(1, 1, 2)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.conv1d(x, w.double())
    with pytest.raises(RuntimeError, match=r"Input type \(float32\) and bias type \(float64\) should be the same"):
        torch.conv1d(x, w, torch.ones(1).double())
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        torch.conv1d(x.bool(), w.bool())


def test_folding_blocks_counts_how_many_there_are() -> None:
    ones = torch.ones(1, 1, 3, 4)
    counted = F.fold(F.unfold(ones, 2), (3, 4), 2)
    assert counted[0, 0].tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [1, 2, 2, 1]]


def test_options_that_are_no_integers_are_refused() -> None:
    """Also where an equal integer was there before, and without a trace: the next call with integers is as ever."""
    x, w = torch.ones(2, 3, 5, 4), torch.ones(3, 1, 2, 2)
    for _ in range(2):
        for groups, stride, padding in ((3.0, 1, 0), (3, (1.5, 2), 0), (3, 1, (0, "1"))):
            with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
                F.conv2d(x, w, None, stride, padding, 1, groups)  # type: ignore[arg-type]
        assert F.conv2d(x, w, groups=3).unique().tolist() == [4.0]
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        F.max_pool2d(x, (1.5, 2))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolution_without_results(rank: int) -> None:
    """Padding may take all of it away: nothing comes out, gradients are 0."""
    x, w, b = (torch.ones(s, requires_grad=True) for s in ([2, 3] + [1] * rank, [3, 4] + [2] * rank, [4]))
    y = getattr(F, f"conv_transpose{rank}d")(x, w, b, padding=1)
    assert y.shape == (2, 4, *[0] * rank)
    for operand, g in zip((x, w, b), torch.autograd.grad(y.sum(), (x, w, b))):
        assert g.shape == operand.shape and (g == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 2, 9, 9), (2, 16, 19, 19)])
def test_infinity_reaches_only_the_windows_it_is_in(shape: Any, dtype: Any) -> None:
    """In results and gradients, by any algorithm: not the rest of its tile, nor by a product with the padding."""
    x, w = torch.ones(shape, dtype=dtype), torch.ones((4, shape[1], 3, 3), dtype=dtype)
    x[0, 0, 0, 4] = float("inf")
    x.requires_grad_(), w.requires_grad_()
    y = F.conv2d(x, w, padding=1)
    touched = torch.zeros(y.shape, dtype=torch.bool)
    touched[0, :, :2, 3:6] = True
    assert (y.isinf() == touched).all()
    gx, gw = torch.autograd.grad(y.sum(), (x, w))
    assert gx.isfinite().all()
    assert gw[:, 0, :2].isinf().all() and gw[:, 0, 2].isfinite().all()
    assert gw[:, 1:].isfinite().all()
    z = F.conv_transpose2d(x.detach(), w.detach().transpose(0, 1), padding=1)
    assert z[0, :, :2, 3:6].isinf().all() and z.isinf().sum() == 4 * 6
