"""Hand-written kernels against NumPy: values and gradients, over shapes that do not fit vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels import embedding  # noqa: E402

from . import using  # noqa: E402

F = torch.nn.functional
TYPES = (torch.float32, torch.float64)


def compare(
    f: Callable[..., Any], *shapes: Any, dtype: Any, permute: Any = None, uses: str = "", mode: str = "always"
) -> None:
    """Values and gradients of a function of random tensors are the same with kernels and without.

    Args:
        uses: ``module.function`` of a kernel that has to take part.
        mode: "on" for those that small sizes alone have.
    """
    rng, results, ran = np.random.default_rng(0), [], []
    arrays = [rng.standard_normal(s) if isinstance(s, tuple) else s for s in shapes]
    plain = kernels.run

    def noting(kind: str, name: str, size: int, *args: Any) -> Any:
        out = plain(kind, name, size, *args)
        if out is not None:
            ran.append(f"{kind}.{name}")
        return out

    for each in ("off", mode):
        with using(each), pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "run", noting)
            leaves = [
                torch.from_numpy(a.astype(dtype.numpy)).requires_grad_() if isinstance(s, tuple) else s
                for a, s in zip(arrays, shapes)
            ]
            given = [x.permute(permute) if permute and x is leaves[0] else x for x in leaves]
            out = f(*given)
            seed = torch.from_numpy(np.random.default_rng(1).standard_normal(tuple(out.shape)).astype(dtype.numpy))
            out.backward(seed)
            results.append(
                [
                    out.detach().numpy(),
                    *[x.grad.numpy() for x in leaves if isinstance(x, torch.Tensor) and x.grad is not None],
                ]
            )
    for got, expected in zip(*results[::-1], strict=True):
        assert got.dtype == expected.dtype
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(got, expected, rtol=0, atol=scale * (3e-5 if dtype is torch.float32 else 1e-12))
    for name in uses.split():
        assert name in ran, f"{name} did not run, but {set(ran)}"


# --- rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 8), (5, 33), (2, 3, 130), (1, 1000), (200, 17), (70, 64)])
def test_rows(shape: tuple[int, ...], dtype: Any) -> None:
    n = shape[-1:]
    compare(
        lambda x, w, b: F.layer_norm(x, n, w, b),
        shape,
        n,
        n,
        dtype=dtype,
        uses="normalization.standardize normalization.standardize_backward",
    )
    compare(lambda x: F.layer_norm(x, n), shape, dtype=dtype, uses="normalization.standardize")
    compare(lambda x, w: F.rms_norm(x, n, w), shape, n, dtype=dtype, uses="normalization.standardize_backward")
    compare(lambda x: torch.softmax(x, -1), shape, dtype=dtype, uses="softmax.softmax softmax.softmax_backward")
    compare(
        lambda x: torch.log_softmax(x * 30, -1),
        shape,
        dtype=dtype,
        uses="softmax.softmax softmax.softmax_backward",
    )


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(4, 6, 9), (3, 6, 5, 7), (2, 6, 3, 4, 5), (1, 12, 16, 16)])
def test_normalization_of_channels(shape: tuple[int, ...], dtype: Any) -> None:
    c = shape[1:2]
    both = "normalization.standardize normalization.standardize_backward"
    compare(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), shape, c, c, dtype=dtype, uses=both)
    compare(lambda x: F.batch_norm(x, None, None, training=True), shape, dtype=dtype, uses=both)
    compare(lambda x, w, b: F.group_norm(x, 3, w, b), shape, c, c, dtype=dtype, uses=both)
    compare(lambda x, w, b: F.instance_norm(x, None, None, w, b), shape, c, c, dtype=dtype, uses=both)


def test_order_of_memory() -> None:
    """Rows that do not lie together."""
    compare(lambda x: torch.softmax(x, -1), (40, 9), dtype=torch.float64, permute=(1, 0), uses="softmax.softmax")
    compare(
        lambda x: F.layer_norm(x, (40,)), (40, 9), dtype=torch.float64, permute=(1, 0), uses="normalization.standardize"
    )


def in_both_ways(f: Callable[[Any], Any], x: np.ndarray) -> Any:
    """What a function gives with kernels and without, of a tensor and of parts of it that have gaps, another order or
    no elements.
    """
    x = torch.from_numpy(x)
    for given in (x, x[..., ::2], x.transpose(0, -1), x[:0]):
        results = []
        for mode in ("off", "always"):
            with using(mode):
                out = f(given)
                results.append([t.numpy() for t in (out if isinstance(out, tuple) else (out,))])
        yield from zip(*results, strict=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "shape, dim",
    [((3, 40), 1), ((17, 9), 1), ((4, 5, 21), 1), ((30, 3), 0), ((2, 3, 4, 5), -1), ((1,), 0), ((1, 2), 1)],
)
def test_scans(shape: tuple[int, ...], dim: int, dtype: Any) -> None:
    compare(lambda x: torch.cumsum(x, dim), shape, dtype=dtype, uses="scan.accumulate")
    compare(lambda x: torch.cumprod(x, dim), shape, dtype=dtype, uses="scan.accumulate")
    compare(lambda x: torch.cummax(x, dim).values, shape, dtype=dtype, uses="scan.extremes")
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype.numpy)
    x.ravel()[5::7], x.ravel()[3::7] = np.nan, -0.0
    for f in (torch.cummax, torch.cummin, torch.cumsum, torch.cumprod):
        for a, b in in_both_ways(lambda x, f=f: f(x, dim), x):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize(
    "shape, dim",
    [
        ((3, 4), None),
        ((5, 1), 1),
        ((9, 67), 0),
        ((2, 3, 130), (0, -1)),
        ((4, 5, 6), (2, 1)),
        ((7,), -1),
        ((300, 300), 0),
    ],
)
def test_moments(shape: tuple[int, ...], dim: Any, dtype: Any) -> None:
    """Mean and variance are within a rounding of those of NumPy in double precision."""
    compare(
        lambda x: torch.var(x, dim, correction=0),
        shape,
        dtype=dtype,
        uses="statistics.var_mean" if np.prod(shape) < 1 << 16 else "",
    )
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype.numpy) * 3 + 100
    for first in (x.flat[0], np.nan, np.inf):
        x.flat[0] = first
        for f, correction in ((torch.var_mean, 1.5), (torch.std_mean, 9)):
            for a, b in in_both_ways(lambda x, f=f, c=correction: f(x, dim, correction=c, keepdim=c == 9), x):
                np.testing.assert_allclose(a, b, rtol=(1 if a.dtype == np.float32 else 8) * np.finfo(a.dtype).eps)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "shape, dim",
    [((3, 5), 1), ((3, 5), 0), ((2, 3, 4), (2, 1)), ((2, 3, 4), (0, 1)), ((2, 3, 4), (0, 2)), ((4, 1, 2), 1)],
)
def test_lengths(shape: tuple[int, ...], dim: Any, dtype: Any) -> None:
    uses = "norm.vector_norm" if dim != (0, 2) else ""
    compare(lambda x: torch.linalg.vector_norm(x, 2, dim), shape, dtype=dtype, uses=uses)
    compare(lambda x: torch.linalg.vector_norm(x, 2, dim, True), shape, dtype=dtype, permute=[*range(len(shape))][::-1])
    compare(lambda x: F.normalize(x, dim=dim), shape, dtype=dtype, uses=uses)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unusual_rows(dtype: Any) -> None:
    """NaN makes a row NaN; infinities and large numbers do what they do in NumPy."""
    rows = np.zeros((7, 21))
    rows[1, 3], rows[2, 20], rows[3], rows[4, 0], rows[5] = np.nan, np.inf, -np.inf, -np.inf, 1e30
    rows[6] = np.linspace(-500, 500, 21)
    for f in (torch.softmax, torch.log_softmax):
        results = []
        for mode in ("off", "always"):
            with using(mode):
                results.append(f(torch.from_numpy(rows.astype(dtype.numpy)), -1).numpy())
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("reduction", ("mean", "sum", "none"))
def test_cross_entropy(reduction: str, dtype: Any) -> None:
    target = torch.tensor([0, 64, 3, 9, -100, 1, 2])
    uses = "cross_entropy.cross_entropy cross_entropy.cross_entropy_backward"
    compare(lambda x: F.cross_entropy(x * 20, target, reduction=reduction), (7, 65), dtype=dtype, uses=uses)
    weight = torch.linspace(0.5, 2, 65, dtype=dtype)
    compare(lambda x: F.cross_entropy(x, target, weight, reduction=reduction), (7, 65), dtype=dtype, uses=uses)


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
def test_half_precision(dtype: Any) -> None:
    """Elementwise operations and their gradients in 16 bits: within a rounding or two of NumPy's way."""
    results = []
    for mode in ("off", "always"):
        with using(mode):
            x, y = (torch.linspace(a, b, 99).to(dtype).requires_grad_() for a, b in ((-2, 2), (0.5, 3)))
            z = torch.sigmoid(x * y) + F.gelu(x) / y - torch.tanh(x) * 0.5 + y.sqrt()
            z.sum().backward()
            assert z.dtype is x.grad.dtype is dtype
            results.append([t.detach().float().numpy() for t in (z, x.grad, y.grad)])
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=0, atol=0.05 if dtype is torch.bfloat16 else 5e-3)


# --- reductions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "shape, dim",
    [
        ((5, 33), 1),
        ((3, 40_000), 1),
        ((300, 33), 0),
        ((65, 2100), 0),
        ((3, 7, 50), 1),
        ((2, 40, 3, 35), (1, 2)),
        ((4, 9, 33), (2, 1)),
        ((70, 130), None),
        ((3, 4, 64), (0, 2)),
        ((64, 3), 0),
    ],
)
def test_reductions(shape: tuple[int, ...], dim: Any, dtype: Any) -> None:
    neighbours = dim != (0, 2) and shape[-1] != 3
    uses = "reduce.reduce_dims" if neighbours else ""
    for p in (1, 2, 3, math.inf, -math.inf):
        short = p in (1, 2) and math.prod(shape) < 1024 and dim != (0, 2)
        compare(
            lambda x, p=p: torch.linalg.vector_norm(x, p, dim),
            shape,
            dtype=dtype,
            uses="norm.vector_norm" if short else uses if p != 3 else "",
        )
    compare(lambda x: torch.amax(x, () if dim is None else dim), shape, dtype=dtype, uses=uses)
    compare(lambda x: torch.amin(x, () if dim is None else dim, keepdim=True), shape, dtype=dtype, uses=uses)
    if dim is None or isinstance(dim, int):
        compare(lambda x: torch.prod(1 + x / 8, *[] if dim is None else [dim]), shape, dtype=dtype, uses=uses)
    compare(
        lambda x: torch.logsumexp(x * 30, tuple(range(len(shape))) if dim is None else dim),
        shape,
        dtype=dtype,
        uses=uses,
    )


@pytest.mark.parametrize("dim", (0, 1))
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unusual_reductions(dtype: Any, dim: int) -> None:
    """NaN wins everywhere; infinities and numbers whose squares overflow do what they do in NumPy."""
    x = np.ones((80, 80))
    at = np.arange(5)
    for numbers in ([np.nan] * 5, [np.inf] * 5, [-np.inf] * 5, [np.nan, np.inf, -np.inf, 1, np.nan], [1e30] * 5):
        x[at, at * 13 % 80] = numbers
        at = at + 7
    x[:, 79] = x[79] = -np.inf
    results = []
    for mode in ("off", "always"):
        with using(mode):
            t = torch.from_numpy(x.astype(dtype.numpy))
            out = [f(t, dim=dim) for f in (torch.amax, torch.amin, torch.logsumexp, torch.norm)]
            results.append(
                [
                    o.numpy()
                    for o in (*out, *torch.aminmax(t, dim=dim), torch.norm(t, math.inf, dim), torch.norm(t, 1, dim))
                ]
            )
    for a, b in zip(*results):
        np.testing.assert_allclose(b, a, rtol=1e-5)


# --- convolution and pooling ------------------------------------------------------------------------------------

CONVOLUTIONS = [  # input, weight, options
    ((2, 3, 9, 11), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 9, 11), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 3, 40, 37), (17, 3, 5, 5), {"padding": 2}),
    ((2, 4, 12, 9), (6, 2, 3, 2), {"groups": 2, "dilation": (2, 1), "stride": (1, 3), "padding": (2, 0)}),
    ((2, 5, 8, 8), (5, 1, 3, 3), {"groups": 5, "padding": 1}),
    ((2, 3, 9, 8), (4, 3, 1, 1), {"stride": 2}),
    ((3, 2, 31), (4, 2, 5), {"stride": 3, "padding": 4, "dilation": 2}),
    ((2, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"stride": (1, 2, 1), "padding": (1, 0, 1)}),
    ((1, 2, 3, 3), (2, 2, 3, 3), {"padding": 3}),
    ((2, 3, 7, 7), (4, 3, 2, 2), {"stride": 4}),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution(case: Any, dtype: Any) -> None:
    x, w, options = case
    f = {3: torch.conv1d, 4: torch.conv2d, 5: torch.conv3d}[len(x)]
    uses = "convolution.correlate convolution.spread convolution.correlate_weight"
    compare(lambda x, w, b: f(x, w, b, **options), x, w, w[:1], dtype=dtype, uses=uses)
    compare(lambda x, w: f(x, w, **options), x, w, dtype=dtype, uses=uses)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "stride, padding, more, dilation, groups", [(1, 0, 0, 1, 1), (2, 1, 1, 1, 1), (3, 2, 2, 2, 2), (2, 0, 0, 3, 1)]
)
def test_transposed_convolution(stride: int, padding: int, more: int, dilation: int, groups: int, dtype: Any) -> None:
    f = lambda x, w: torch.conv_transpose2d(x, w, None, stride, padding, more, groups, dilation)  # noqa: E731
    compare(
        f,
        (2, 4, 6, 5),
        (4, 3, 3, 2),
        dtype=dtype,
        uses="convolution.spread convolution.correlate convolution.correlate_weight",
    )


def test_convolution_of_permuted_input() -> None:
    compare(
        lambda x, w: torch.conv2d(x, w, padding=1),
        (2, 9, 8, 3),
        (4, 3, 3, 3),
        dtype=torch.float64,
        permute=(0, 3, 1, 2),
        uses="convolution.correlate",
    )


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 1},
        {"kernel_size": 2, "dilation": 2},
        {"kernel_size": 3, "ceil_mode": True},
        {"kernel_size": 2, "stride": 3},
    ],
    ids=str,
)
def test_max_pool(options: dict[str, Any], dtype: Any) -> None:
    compare(
        lambda x: F.max_pool2d(x, **options), (2, 3, 20, 37), dtype=dtype, uses="max_pool.max_pool interpolate.place"
    )
    compare(lambda x: F.max_pool1d(x, **options), (2, 3, 37), dtype=dtype, uses="max_pool.max_pool")
    compare(lambda x: F.max_pool3d(x, **options), (1, 2, 7, 8, 9), dtype=dtype, uses="max_pool.max_pool")


def test_maxima_among_equals_and_nan() -> None:
    """The first of equal ones, the last of several NaN, and never the padding."""
    x = np.zeros((1, 1, 8, 8), np.float32)
    x[0, 0, :2, 2:4], x[0, 0, 0, 4], x[0, 0, 1, 5], x[0, 0, 4:] = 1, np.nan, np.nan, -np.inf
    results = []
    for mode in ("off", "always"):
        with using(mode):
            values, indices = F.max_pool2d(torch.from_numpy(x), 2, return_indices=True)
            padded, where = F.max_pool2d(torch.from_numpy(x), 3, 2, 1, return_indices=True)
            results.append([t.numpy() for t in (values, indices, padded, where)])
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


# --- products, attention, recurrence ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (5, 3, 7), (13, 17, 33), (200, 5, 70), (9, 260, 65), (400, 1, 3)])
def test_linear(m: int, k: int, n: int, dtype: Any) -> None:
    compare(lambda x, w, b: F.linear(x, w, b), (m, k), (n, k), (n,), dtype=dtype, uses="matmul.product")
    compare(lambda x, w: F.linear(x, w), (2, m, k), (n, k), dtype=dtype, uses="matmul.product")
    compare(lambda x, y: x @ y, (m, k), (k, n), dtype=dtype, uses="matmul.product")


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(
    "q, k, v",
    [
        ((2, 3, 12, 8), (2, 3, 12, 8), (2, 3, 12, 8)),
        ((3, 37, 5), (3, 20, 5), (3, 20, 9)),
        ((13, 70), (40, 70), (40, 33)),
        ((1, 2, 7, 16), (1, 2, 50, 16), (1, 2, 50, 16)),
        ((2, 57, 12), (2, 30, 12), (2, 30, 60)),
    ],
)
@pytest.mark.parametrize("causal", (False, True))
def test_attention(q: Any, k: Any, v: Any, causal: bool, dtype: Any) -> None:
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
    compare(f, q, k, v, dtype=dtype, uses="attention.attend attention.attend_backward")


def test_attention_of_permuted_heads() -> None:
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)  # noqa: E731
    compare(
        f,
        (2, 9, 3, 8),
        (2, 3, 9, 8),
        (2, 3, 9, 8),
        dtype=torch.float64,
        permute=(0, 2, 1, 3),
        uses="attention.attend_backward",
    )


def test_attention_twice_differentiable() -> None:
    with using("always"):
        x = [torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
        assert torch.autograd.gradcheck(f, tuple(x)) and torch.autograd.gradgradcheck(f, tuple(x))


@pytest.mark.parametrize(
    "name, options",
    [
        ("Adam", {}),
        ("AdamW", {}),
        ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        ("SGD", {"momentum": 0.5, "dampening": 0.1}),
    ],
    ids=str,
)
def test_optimizer_steps_are_the_same_to_the_last_bit(name: str, options: dict[str, Any]) -> None:
    results = []
    for mode in ("off", "always"):
        with using(mode):
            torch.manual_seed(0)
            params = [torch.randn(7, 11, requires_grad=True), torch.randn(5, requires_grad=True)]
            optimizer = getattr(torch.optim, name)(params, lr=0.1, **options)
            for i in range(4):
                for p in params:
                    p.grad = torch.randn(*p.shape)
                optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
                optimizer.step()
            results.append([p.detach().numpy() for p in params])
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "count"), [(1, 1, 1), (9, 3, 4), (70, 16, 5), (33, 65, 100), (20, 130, 2)])
def test_rows_added_at_row_numbers(rows: int, columns: int, count: int, dtype: Any) -> None:
    """As NumPy adds them, one after the other; not at numbers beyond the last row."""
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(rows, 2 * columns)).astype(dtype)[:, ::2], rng.integers(0, count, 2 * rows)[::2]
    x[0, 0] = np.nan
    expected = np.zeros((count, columns), dtype)
    np.add.at(expected, at, x)
    np.testing.assert_array_equal(embedding.add_rows(x, at, count), expected)
    for wrong in (count, -1, 1 << 40):
        assert embedding.add_rows(x, np.where(np.arange(rows) == rows - 1, wrong, at), count) is None


# --- scans ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 8), (20, 33), (2, 3, 19), (1, 300)])
def test_products_with_zeros(shape: tuple[int, ...], dtype: Any) -> None:
    """Where a factor is 0, gradients are products of the others, which nothing divides."""

    def with_zeros(x: Any) -> Any:
        x = x.clone()
        x[..., 1] = 0
        return x

    for dim in [d for d, n in enumerate(shape) if n > 1]:
        compare(lambda x, dim=dim: with_zeros(x).cumprod(dim), shape, dtype=dtype, uses="scan.recurrence")
        compare(lambda x, dim=dim: with_zeros(x).prod(dim), shape, dtype=dtype, uses="scan.products_of_others")
    compare(lambda x: x.logcumsumexp(-1), shape, dtype=dtype, uses="scan.recurrence")


def test_long_products_leave_the_range_of_their_type() -> None:
    """Partial products of float32 do not over- or underflow where the whole one is a number."""
    x = torch.cat([torch.full((5000,), 2.0), torch.full((5000,), 0.5)])
    with using("always"):
        assert x.prod() == 1
        assert x.reshape(100, 100).prod(0).tolist() == [1.0] * 100


# --- triples, borders, long rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_triples_and_borders(dtype: Any) -> None:
    compare(lambda x, y: torch.linalg.cross(x, y), (7, 5, 3), (7, 5, 3), dtype=dtype, uses="cross.cross")
    for mode in ("reflect", "replicate", "circular"):
        compare(lambda x, m=mode: F.pad(x, (3, 1, 2, 0), m), (2, 3, 9, 40), dtype=dtype, uses="pad.pad_rows")
    compare(lambda x: F.pad(x, (-1, 2), "circular"), (2, 3, 9), dtype=dtype)


def test_triples_of_integers() -> None:
    x, y = (torch.randint(-9, 9, (5, 3)) for _ in range(2))
    expected = np.cross(x.numpy(), y.numpy())
    for mode in ("off", "always"):
        with using(mode):
            assert torch.linalg.cross(x, y).tolist() == expected.tolist()


def test_the_spread_of_long_rows() -> None:
    x = np.random.default_rng(0).standard_normal(50_000).astype(np.float32) + 1000
    with using("always"):
        np.testing.assert_allclose(torch.from_numpy(x).var(), x.astype(np.float64).var(ddof=1), rtol=1e-6)


@pytest.mark.parametrize("scale", [1, 1e-30, 1e30])
def test_norms_of_bfloat16(scale: float) -> None:
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32) * scale).bfloat16()
    for dim in (None, 0, 1):
        with using("always"):
            got = x.norm(dim=dim)
        torch.testing.assert_close(got, x.double().norm(dim=dim).bfloat16())
