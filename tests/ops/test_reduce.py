"""What is special about reductions, orders and scans: rounding, ties, zeros, NaN, infinities, empty and 0-d tensors."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import grad, gradcheck, gradgradcheck
from pullback.ops.reduce import sum_array

from ..kernels import using

inf, nan = math.inf, math.nan


def leaf(values: Any, dtype: Any = torch.float64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def slope(f: Any, values: Any) -> Any:
    """The gradient of what ``f`` returns (of its first result, if there are several), each element weighing 1."""
    x = leaf(values)
    y = f(x)
    y = y[0] if isinstance(y, tuple) else y
    return grad(y.sum(), x)[0].tolist()


def second(f: Any, values: Any, weights: Any) -> Any:
    """The gradient of the weighted gradient."""
    x = leaf(values)
    (g,) = grad(f(x).sum(), x, create_graph=True)
    return grad((g * torch.tensor(weights, dtype=torch.float64)).sum(), x)[0].tolist()


# --- rounding -----------------------------------------------------------------------------------------------


def layouts(x: np.ndarray) -> Any:
    """The same numbers in memory of other orders, and with gaps."""
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield x[::-1][::-1]
    if x.ndim == 3:
        yield np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [(100003,), (20000, 3), (3, 20000), (129, 257), (5, 2000, 4), (300, 1, 70), (1, 9000), (40, 30, 20)],
    ids=str,
)
def test_sums_are_as_accurate_as_pairwise_ones(shape: tuple[int, ...], dtype: Any) -> None:
    """Along any dimensions, in any memory layout, errors stay near those of the last addition."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype) + dtype(1)
    wide = x.astype(np.longdouble)
    for dims in itertools.chain.from_iterable(itertools.combinations(range(x.ndim), k) for k in range(x.ndim + 1)):
        exact, scale = wide.sum(axis=dims), np.abs(wide).sum(axis=dims)
        for a in layouts(x):
            got = sum_array(a, dims)
            assert got.dtype == dtype and got.shape == exact.shape
            assert np.max(np.abs(got - exact) / scale) < 8 * np.finfo(dtype).eps
            np.testing.assert_array_equal(sum_array(a, dims, True).reshape(exact.shape), got)


def test_sums_of_repetitions_are_products() -> None:
    x = np.broadcast_to(np.arange(3, dtype=np.float32)[:, None], (3, 100000))
    np.testing.assert_array_equal(sum_array(x, (1,)), np.arange(3, dtype=np.float32) * 100000)
    np.testing.assert_array_equal(sum_array(x, (0,)), np.full(100000, 3, np.float32))
    assert sum_array(np.broadcast_to(np.float32(2), (70, 80)), (0, 1)) == 11200


def test_a_sum_over_no_dimension_is_a_copy() -> None:
    x = np.zeros((50, 60), np.float32)
    assert not np.shares_memory(sum_array(x, ()), x) and not np.shares_memory(sum_array(x[:, :1], (1,)), x)


def test_sums_of_squares_are_as_accurate() -> None:
    x = np.random.default_rng(0).standard_normal((1003, 101)).astype(np.float32)
    exact = np.square(x.astype(float))
    for a in (x, x.T):
        assert abs(torch.from_numpy(a).norm().item() ** 2 / exact.sum() - 1) < 1e-6
    np.testing.assert_allclose(torch.from_numpy(x).norm(dim=0).numpy() ** 2, exact.sum(0), rtol=1e-6)
    np.testing.assert_allclose(torch.from_numpy(x).var().item(), x.astype(float).var(ddof=1), rtol=1e-6)


def test_sums_of_complex_numbers_and_of_half_precision() -> None:
    z = (np.random.default_rng(0).standard_normal((3000, 5)) + 1j).astype(np.complex64)
    np.testing.assert_allclose(sum_array(z, (0,)), z.astype(complex).sum(0), rtol=1e-6)
    np.testing.assert_allclose(sum_array(z.T, (0,), True), z.astype(complex).sum(1)[None], rtol=1e-6)
    assert torch.ones(5000, dtype=torch.float16).sum().item() == 5000  # one by one it would stop at 2048
    assert torch.ones(5000, 2, dtype=torch.bfloat16).sum(0).tolist() == [4992, 4992]  # rounded once
    assert torch.tensor([60000.0, 60000.0], dtype=torch.float16).mean().item() == 60000


@pytest.mark.parametrize("x", [[inf, 1.0], [inf, -inf], [nan, 1.0]], ids=str)
def test_blocks_keep_infinities_and_nan_apart(x: list[float]) -> None:
    a = np.zeros((2000, 3), np.float32)
    a[[5, 1500], 1] = x
    got = sum_array(a, (0,))
    assert got[0] == got[2] == 0
    np.testing.assert_equal(got[1], np.float32(sum(x)))


def test_running_sums_of_single_precision_are_computed_in_double() -> None:
    x = np.full(1 << 20, 0.1, np.float32)
    got = torch.from_numpy(x).cumsum(0)
    assert got.dtype is torch.float32
    assert abs(got[-1].item() / (float(x[0]) * len(x)) - 1) < 1e-7


# --- types, shapes, names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32])
def test_integers_are_summed_and_multiplied_in_int64(dtype: torch.dtype) -> None:
    x = torch.tensor([1, 1, 1], dtype=dtype)
    for y in (x.sum(), x.sum(0), x.prod(), x.cumsum(0), x.cumprod(0)):
        assert y.dtype is torch.int64
    assert torch.full((300,), 1, dtype=dtype).sum().item() == 300
    assert x.sum(dtype=torch.float32).dtype is torch.float32
    assert torch.tensor([1, 2]).mean(dtype=torch.float64).item() == 1.5


def test_sums_of_nothing() -> None:
    assert torch.zeros(0).sum().item() == 0 and torch.zeros(0).prod().item() == 1
    assert torch.zeros(2, 0).sum(1).tolist() == [0, 0]
    assert math.isnan(torch.zeros(0).mean().item()) and math.isnan(torch.zeros(0).median().item())
    assert torch.zeros(0).logsumexp(0).item() == -inf
    assert torch.zeros(0).all().item() is True and torch.zeros(0).any().item() is False


def test_no_dimensions_mean_all_but_in_tests() -> None:
    x = torch.ones(2, 3)
    assert x.sum(()).item() == x.sum([]).item() == 6 and x.amax(()).item() == 1 and x.var([]).item() == 0
    assert x.all(()).shape == x.any([]).shape == (2, 3)


def test_numpys_spellings() -> None:
    x = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert x.sum(axis=1).tolist() == [6, 5] and x.sum(axis=0, keepdims=True).tolist() == [[4, 7]]
    assert x.max(axis=1).indices.tolist() == [1, 0] and x.std(axis=0, correction=0).tolist() == [1, 1.5]
    assert torch.mean(x, axis=0, keepdims=True).tolist() == [[2, 3.5]] and x.argmax(axis=1).tolist() == [1, 0]


def test_three_forms_of_max_and_min() -> None:
    x, y = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([2.0, 4.0])
    assert x.max().item() == 5 and torch.max(x, y).tolist() == torch.max(x, other=y).tolist() == [[2, 5], [3, 4]]
    values, indices = x.min(dim=1, keepdim=True)
    assert values.tolist() == [[1], [2]] and indices.tolist() == [[0], [1]] and x.max(1)[1].tolist() == [1, 0]
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.max(2, y)


def test_several_results_print_and_pickle_as_named_tuples() -> None:
    result = torch.tensor([1.0, 3.0]).max(0)
    assert repr(result) == "torch.return_types.max(\nvalues=tensor(3.),\nindices=tensor(1))"
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result) is torch.return_types.max and again.indices.item() == 1
    assert torch.return_types.sort is not torch.return_types.topk


def test_results_written_into_out() -> None:
    x, out = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.empty(2)
    for f in (torch.sum, torch.mean, torch.amax, torch.nansum, torch.std, torch.logsumexp):
        assert f(x, 1, out=out) is out and out.tolist() == f(x, 1).tolist()
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    assert values.tolist() == [5, 3] and indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.sum(None, True), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.prod(), "ProdBackward0"),
        (lambda x: x.prod(0), "ProdBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0)[0], "MaxBackward0"),
        (lambda x: x.median(), "MedianBackward0"),
        (lambda x: x.median(0)[0], "MedianBackward1"),
        (lambda x: x.amin(), "AminBackward0"),
        (lambda x: x.sort()[0], "SortBackward0"),
        (lambda x: x.sort(stable=True)[0], "SortBackward1"),
        (lambda x: x.std(), "StdBackward0"),
        (lambda x: x.norm(), "LinalgVectorNormBackward0"),
        (lambda x: x.logsumexp(0), "LogsumexpBackward0"),
        (lambda x: x.cumsum(0), "CumsumBackward0"),
        (lambda x: torch.var_mean(x)[1], "VarMeanBackward0"),
    ],
)
def test_nodes_have_pytorchs_names(f: Any, name: str) -> None:
    assert f(torch.ones(3, 2, requires_grad=True)).grad_fn.name() == name


def test_a_sum_keeps_no_array_and_notes_the_users_line() -> None:
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    assert not any(isinstance(v, np.ndarray) for v in y.grad_fn._saved)
    assert (x * 2).sum().grad_fn._code.co_name == "test_a_sum_keeps_no_array_and_notes_the_users_line"


def test_sums_of_views_detached_tensors_and_without_recording() -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    x[1].sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [1, 1, 1]]
    with torch.no_grad():
        assert x.sum().grad_fn is None
    assert x.detach().sum().grad_fn is None


# --- ties and kinks -----------------------------------------------------------------------------------------


def test_equal_elements_share_the_gradient_unless_an_index_tells() -> None:
    x = [1.0, 3.0, 3.0]
    for f in (torch.max, torch.amax, lambda x: x.aminmax().max, lambda x: x.median() * 1, lambda x: x.nanmedian()):
        assert slope(f, x) == [0, 0.5, 0.5]
    assert slope(lambda x: x.max(0), x) == slope(lambda x: x.median(0), x) == [0, 1, 0]
    assert slope(lambda x: x.amin((0, 1)), [[1.0, 3.0], [1.0, 1.0]]) == [[1 / 3, 0], [1 / 3, 1 / 3]]
    assert slope(lambda x: x.cummax(0), x) == [1, 1, 1] and slope(lambda x: x.cummin(0), [3.0, 1.0, 1.0, 2.0]) == [
        1,
        1,
        2,
        0,
    ]
    assert slope(lambda x: x.norm(inf), [0.0, -2.0, 2.0]) == [0, -0.5, 0.5]


def test_the_first_of_equal_elements_is_found() -> None:
    x = torch.tensor([[2, 1, 2, 1]])
    assert x.argmax().item() == x.max(1).indices.item() == 0 and x.argmin(1).item() == x.min(1).indices.item() == 1


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, inf])
def test_norms_have_the_subgradient_0_at_0(p: float) -> None:
    assert slope(lambda x: x.norm(p), [0.0, 0.0]) == [0, 0]
    assert second(lambda x: x.norm(p), [0.0, 0.0], [1.0, 2.0]) == [0, 0]
    assert np.isfinite(second(lambda x: x.norm(p), [0.0, -2.0, 1.0], [1.0, 2.0, 3.0])).all()


def test_deviations_of_equal_elements_have_the_gradient_0() -> None:
    assert slope(torch.std, [2.0, 2.0, 2.0]) == [0, 0, 0]
    assert second(torch.std, [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]) == [0, 0, 0]


def test_too_few_elements_for_a_variance() -> None:
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0"):
        assert math.isnan(torch.tensor([2.0]).var().item())
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert slope(lambda x: x.var(correction=2), [2.0, 1.0]) == [inf, inf]


# --- zeros --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [
        [2.0, 0.0, 3.0, 4.0],
        [0.0, 2.0, 0.0, 3.0],
        [0.0, 0.0, 0.0, 3.0],
        [1e-200, 1e-200, 0.0, 1.0],
        [1.0, 2.0, 3.0, 4.0],
    ],
    ids=str,
)
def test_products_with_zeros_are_differentiable_to_any_order(x: list[float]) -> None:
    """Against the same products written out, whose factors differentiate by the product rule."""

    def running(x: torch.Tensor) -> list[torch.Tensor]:
        return list(itertools.accumulate(x, lambda a, b: a * b))

    rng = np.random.default_rng(0)
    w = [torch.tensor(rng.standard_normal(4)) for _ in range(3)]
    results = []
    for product, scan in (
        (torch.prod, lambda x: x.cumprod(0)),
        (lambda x: running(x)[-1], lambda x: torch.stack(running(x))),
    ):
        t = leaf(x)
        for y in (product(t), product(t.reshape(4, 1)) * 1, (scan(t) * w[0]).sum()):
            for order in range(3):
                (y,) = grad(y, t, create_graph=True)
                results.append(y.tolist())
                y = (y * w[order]).sum()
    half = len(results) // 2
    np.testing.assert_allclose(results[:half], results[half:], rtol=1e-12, atol=1e-300)


def test_products_along_a_dimension_with_zeros() -> None:
    x = leaf([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]])
    for f in (lambda x: x.prod(1), lambda x: x.prod(0, keepdim=True), lambda x: x.cumprod(0), lambda x: x.cumprod(-1)):
        assert gradcheck(f, x) and gradgradcheck(f, x)


# --- infinities and NaN -------------------------------------------------------------------------------------


def test_nan_is_what_extremes_find_first() -> None:
    x = torch.tensor([1.0, nan, 2.0, nan])
    for values, indices in (x.max(0), x.min(0), x.median(0)):
        assert math.isnan(values.item()) and indices.item() == 1
    for y in (x.max(), x.amin(), x.aminmax().min, x.median(), x.std(), x.logsumexp(0), torch.quantile(x, 0.5)):
        assert math.isnan(y.item())
    assert x.argmax().item() == x.argmin().item() == 1
    assert torch.tensor([1.0, nan], dtype=torch.bfloat16).argmax().item() == 1
    assert (
        x.nanmedian().item() == 1
        and x.nanmedian(0).indices.item() == 0
        and x.nansum().item() == 3
        and x.nanmean().item() == 1.5
    )
    assert slope(torch.max, [1.0, nan, nan]) == [0, 0.5, 0.5] and slope(torch.median, [3.0, 3.0, nan]) == [0, 0, 1]
    assert np.isnan(slope(lambda x: x.amax(0), [1.0, nan])).all()
    assert slope(torch.nansum, [1.0, nan]) == [1, 0]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "pick",
    [
        lambda x: x.max(),
        lambda x: x.amax((0,)),
        lambda x: -(-x).min(),
        lambda x: x.aminmax().max,
        lambda x: torch.cat([x, torch.tensor([3.0, 4.0])]).median(),
        lambda x: torch.cat([x, torch.tensor([3.0, 4.0, nan])]).nanmedian(),
        lambda x: x.norm(inf),
        lambda x: torch.segment_reduce(x, "max", lengths=torch.tensor([3])),
        lambda x: torch.zeros(1).scatter_reduce(0, torch.tensor([0, 0, 0]), x, "amax"),
        lambda x: torch.zeros(1).index_reduce(0, torch.tensor([0, 0, 0]), x, "amax"),
    ],
)
@pytest.mark.parametrize("infinite", [inf, nan])
def test_infinite_gradients_of_extremes_reach_nothing_else(pick: Any, infinite: float, create_graph: bool) -> None:
    x = leaf([0.0, 2.0, 1.0], torch.float32)
    y = pick(x)
    (g,) = torch.autograd.grad(y, x, torch.full_like(y, infinite), create_graph=create_graph)
    np.testing.assert_array_equal(g.tolist(), [0, infinite, 0])


def test_nan_is_sorted_behind_all_numbers() -> None:
    x = torch.tensor([3.0, nan, -inf, inf, nan])
    assert x.argsort().tolist() == [2, 0, 3, 1, 4] and x.argsort(descending=True).tolist() == [1, 4, 3, 0, 2]
    assert x.topk(3).indices.tolist() == [1, 4, 3] and x.kthvalue(3).indices.item() == 3
    assert torch.unique(x, return_counts=True)[1].tolist() == [1, 1, 1, 1, 1]
    assert torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([nan, 1.5])).tolist() == [2, 1]


def test_rows_are_distinct_and_in_order_whatever_their_bytes() -> None:
    """Signs, both zeros, infinities and NaN, in every type; a row with NaN equals none."""
    x = torch.tensor([[1.0, 0.0], [-2.0, inf], [-1.0, 5.0], [-2.0, -inf], [1.0, -0.0], [nan, 0.0], [nan, 0.0]])
    rows, inverse, counts = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    assert rows[:4].tolist() == [[-2, -inf], [-2, inf], [-1, 5], [1, 0]] and counts.tolist() == [1, 1, 1, 2, 1, 1]
    assert inverse.tolist() == [3, 1, 2, 0, 3, 4, 5]
    for d in (torch.int8, torch.int64, torch.float16, torch.bfloat16, torch.float64):
        y = torch.tensor([[3, -1, 3], [-100, 7, -100]]).to(d)
        assert torch.unique(y, dim=1).tolist() == [[-1, 3], [7, -100]]
        assert torch.unique(y, dim=0).tolist() == [[-100, 7, -100], [3, -1, 3]]


def test_running_extremes_keep_nan() -> None:
    values, indices = torch.tensor([1.0, 3.0, 3.0, nan, 2.0, nan, 4.0]).cummax(0)
    np.testing.assert_equal(values.tolist(), [1, 3, 3, nan, nan, nan, nan])
    assert indices.tolist() == [0, 1, 2, 3, 3, 5, 5]


@pytest.mark.parametrize("mode", ["off", "always"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_running_extremes_are_the_elements_at_their_indices(dtype: torch.dtype, mode: str) -> None:
    """With the sign of a zero that the processor would rather not keep."""
    x = torch.tensor([[0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, -0.0, 1.0]], dtype=dtype)
    with using(mode):
        for op in (torch.cummax, torch.cummin):
            values, indices = op(x, 1)
            assert indices[0].tolist() == [0, 1, 2, 3]
            assert torch.equal(values.signbit(), x.gather(1, indices).signbit())


def test_logarithms_of_sums_at_infinity() -> None:
    for f in (lambda x: x.logsumexp(0), lambda x: x.logcumsumexp(0)):
        assert slope(f, [-inf, -inf]) == [0, 0]
        assert second(f, [-inf, -inf], [1.0, 2.0]) == [0, 0]
        assert np.isfinite(slope(f, [-inf, 1.0, 1000.0])).all()
    assert torch.tensor([inf, 1.0]).logsumexp(0).item() == inf
    for x, expected in (
        ([0.0, inf, 1.0], [1, nan, 0]),
        ([inf, 0.0, inf], [nan, 0, nan]),
        ([-inf, 0.0, inf, inf, 2.0], [0, 1, nan, nan, 0]),
    ):
        np.testing.assert_array_equal(slope(lambda x: x.logcumsumexp(0), x), expected)
    assert torch.tensor([-1000.0, -1000.0]).logcumsumexp(0)[1].item() == pytest.approx(-1000 + math.log(2))


# --- order --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.uint8, torch.bool])
def test_sorting_is_stable_in_both_directions(dtype: torch.dtype, descending: bool) -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 2 if dtype is torch.bool else 5, (4, 50))).to(dtype)
    values, indices = x.sort(1, descending)
    keys = x.float().numpy()
    expected = np.argsort(-keys if descending else keys, axis=1, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.float().numpy(), np.take_along_axis(keys, expected, 1))
    assert values.dtype is dtype


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("n", "k", "dim"), [(5, 5, 0), (200, 3, 0), (200, 3, 1), (200, 150, -1), (7, 0, 1)])
def test_the_k_largest_are_the_first_of_the_sorted(n: int, k: int, dim: int, largest: bool) -> None:
    x = torch.from_numpy(np.random.default_rng(0).permutation(n * n).reshape(n, n).astype(float))
    got, expected = x.topk(k, dim, largest), x.sort(dim, largest)
    assert got.values.tolist() == expected.values.narrow(dim, 0, k).tolist()
    assert got.indices.tolist() == expected.indices.narrow(dim, 0, k).tolist()


def test_modes_are_the_smallest_of_the_most_frequent_where_they_are_last() -> None:
    for x, value, index in (([5, 2, 5, 2, 7], 2, 3), ([3, 1, 3, 1, 1], 1, 4), ([2, 2, 1], 2, 1), ([4], 4, 0)):
        result = torch.tensor(x).mode()
        assert (result.values.item(), result.indices.item()) == (value, index)


@pytest.mark.parametrize("range", [None, (-1.0, 0.5), (-9.0, 9.0)], ids=["of data", "narrow", "wide"])
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("dims, bins", [(1, [4]), (2, [2, 3]), (3, [1, 5, 2])])
def test_histograms_are_numpys(dims: int, bins: list[int], density: bool, range: Any) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((60, dims)), rng.random(60)
    given = None if range is None else [range] * dims
    flat = None if range is None else [*range] * dims
    for w in (None, weight):
        expected, edges = np.histogramdd(x, bins, given, density, w)
        for how in (bins, [torch.tensor(e) for e in edges]):
            hist, made = torch.histogramdd(torch.tensor(x), how, flat, w if w is None else torch.tensor(w), density)
            np.testing.assert_allclose(hist.numpy(), expected)
            for a, b in zip(made, edges, strict=True):
                np.testing.assert_allclose(a.numpy(), b, atol=1e-15)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "softmax", "log_softmax", "softmin", "median"])
def test_masked_functions_of_one_dimension_take_the_first(name: str) -> None:
    x, mask = torch.tensor([[1.0, 2.0], [4.0, 5.0]]), torch.tensor([[True, False], [True, True]])
    f = getattr(torch.masked, name)
    assert f(x, None, mask=mask).tolist() == f(x, (0, 1), mask=mask).tolist() == f(x, 0, mask=mask).tolist()


def test_quantiles_lie_where_asked() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0], [nan, 5.0, 4.0]], dtype=torch.float64)
    q = torch.tensor([0.0, 0.25, 1.0], dtype=torch.float64)
    np.testing.assert_equal(torch.quantile(x, q, dim=1).tolist(), [[1, nan], [1.5, nan], [3, nan]])
    assert torch.nanquantile(x, q, dim=1, keepdim=True).tolist() == [[[1], [4]], [[1.5], [4.25]], [[3], [5]]]
    assert torch.quantile(torch.tensor(3.0), 0.5).item() == 3
    weight = leaf(0.3)
    torch.quantile(x[0], weight).backward()
    assert weight.grad.item() == pytest.approx(2)  # between two of three samples the rank moves by 2 q


def test_quantiles_of_gaps_move_with_what_is_known() -> None:
    """The gradient by the rank counts the elements that are known."""
    rows, q = torch.tensor([[1.0, nan, 3.0], [1.0, 2.0, 4.0]]), torch.tensor([0.2, 0.7], requires_grad=True)
    torch.nanquantile(rows, q, dim=1).sum().backward()
    assert q.grad.tolist() == [2 + 2, 2 + 4]


def test_a_product_of_one_factor_has_a_second_derivative() -> None:
    """It is 0, not absent."""
    x, c = torch.tensor([[2.0], [0.0]], requires_grad=True), torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(x.prod(1), x, c, create_graph=True)
    again, by_c = torch.autograd.grad(g.sum(), (x, c))
    assert g.tolist() == [[1], [1]] and again.tolist() == [[0], [0]] and by_c.tolist() == [1, 1]


def test_distinct_elements_have_no_gradient() -> None:
    y = torch.unique(torch.tensor([1.0, 1.0, 2.0], requires_grad=True))
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="derivative"):
        y.sum().backward()


def test_histograms_count_both_ends() -> None:
    x = torch.tensor([0.0, 0.5, 1.0, 2.0, 5.0])
    assert x.histc(2, 0, 2).tolist() == [2, 2]
    hist, edges = torch.histogram(x, torch.tensor([0.0, 1.0, 2.0]))
    assert hist.tolist() == [2, 2] and edges.tolist() == [0, 1, 2]
    assert torch.histogram(x, 2, range=(0, 2), density=True).hist.tolist() == [0.5, 0.5]


# --- scans --------------------------------------------------------------------------------------------------


def test_slopes_of_parabolas_are_exact_on_uneven_grids() -> None:
    t = torch.tensor([0.0, 1.0, 3.0, 4.0, 7.0], dtype=torch.float64)
    (slopes,) = torch.gradient(t * t, spacing=(t,), edge_order=2)
    np.testing.assert_allclose(slopes.numpy(), 2 * t.numpy(), rtol=1e-14)


def test_central_differences_skip_the_sample_in_the_middle() -> None:
    np.testing.assert_equal(
        torch.gradient(torch.tensor([3.0, 1.0, 3.0, nan, 2.0]))[0].tolist(), [-2, 0, nan, -0.5, nan]
    )


def test_running_totals_in_place() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y.cumsum_(0).cumprod_(0)
    assert y.tolist() == [1, 3, 18]
    y.sum().backward()
    assert x.grad.tolist() == [22 + 7 + 3, 7 + 3, 3]  # 1 + 3 + 18 and 1 + 6 and 3 for the three running sums


# --- PyTorch ------------------------------------------------------------------------------------------------

VALUES = (
    [[1.0, 3.0, 3.0], [3.0, -2.0, 0.0]],
    [3.0, 1.0, 3.0, nan, 2.0],
    [nan, nan, 1.0],
    [-inf, 1.0, 2.0],
    2.5,
    [5.0],
    [2.0, 2.0, 2.0],
)
CALLS = {
    "sum": "x.sum() + x.sum(-1)",
    "mean": "x.mean(0, True)",
    "max": "x.max(-1).values",
    "min": "x.min()",
    "amin": "x.amin(-1)",
    "var": "x.var(0, correction=0.5)",
    "std": "x.std(-1, unbiased=False)",
    "norm1": "x.norm(1)",
    "norm3": "x.norm(3, dim=0)",
    "norminf": "x.norm(float('inf'))",
    "logsumexp": "x.logsumexp(-1)",
    "nanmean": "x.nanmean()",
    "median": "x.median(0).values",
    "nanmedian": "x.nanmedian()",
    "kthvalue": "x.kthvalue(1).values",
    "sort": "x.sort(0, True).values",
    "cumsum": "x.cumsum(-1)",
    "cummax": "x.cummax(0).values",
    "cummin": "x.cummin(-1).values",
    "prod": "x.prod(0)",
    "aminmax": "x.aminmax().max",
    "topk": "x.topk(1).values",
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_ties_nan_and_infinities_as_in_pytorch(name: str, values: Any) -> None:
    theirs = pytest.importorskip("torch")
    results = []
    for root in (theirs, torch):
        x = root.tensor(values, dtype=root.float64, requires_grad=True)
        y = eval(CALLS[name], {"x": x, "float": float})
        weights = np.random.default_rng(0).standard_normal(tuple(y.shape))
        (g,) = root.autograd.grad(y, x, root.from_numpy(np.asarray(weights)))
        results.append((y.tolist(), g.tolist()))
    better = name == "prod" and not np.isfinite(values).all() or name == "kthvalue" and values == [2.0, 2.0, 2.0]
    for a, b in zip(*results) if not better else [(results[0][0], results[1][0])]:
        np.testing.assert_allclose(a, b, rtol=1e-12)


# --- many elements in few steps ---------------------------------------------------------------------------------

WIDE = [
    ((1000, 3, 4), 1),
    ((1000, 3, 4), -1),
    ((4, 2000), 0),
    ((5, 40, 100), 1),
    ((1000, 0), 1),
    ((600, 30, 2), 1),
    ((600, 20, 9), 1),
]


@pytest.mark.parametrize("shape, dim", WIDE)
def test_running_results_of_many_elements(shape: tuple[int, ...], dim: int) -> None:
    """Whole slices at once give the bits that going element by element gives."""
    a = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    a.flat[7:9] = nan
    x = torch.from_numpy(a)
    with using("off"):
        check_running(x, a, dim)


def check_running(x: torch.Tensor, a: np.ndarray, dim: int) -> None:
    assert x.cumsum(dim).numpy().tobytes() == np.add.accumulate(a, dim).tobytes()
    assert x.cumprod(dim).numpy().tobytes() == np.multiply.accumulate(a, dim).tobytes()
    values, indices = x.cummax(dim)
    assert values.numpy().tobytes() == np.maximum.accumulate(a, dim).tobytes()
    assert np.array_equal(np.take_along_axis(a, indices.numpy(), dim), values.numpy(), equal_nan=True)
    assert x.numpy().tobytes() == a.tobytes()


@pytest.mark.parametrize("shape, dim", WIDE)
def test_bools_of_many_elements(shape: tuple[int, ...], dim: int) -> None:
    whole = np.random.default_rng(0).integers(0, 2, shape).astype(bool)
    for a, along in itertools.product((whole, whole[:, ::2], whole.T, whole & False, whole | True), (dim, None)):
        x = torch.from_numpy(a)
        for got, expected in ((x.all, a.all), (x.any, a.any), (x.sum, a.sum)):
            assert np.array_equal(got(along, True).numpy(), expected(along, keepdims=True)), got
        assert np.array_equal(torch.count_nonzero(x, along).numpy(), np.count_nonzero(a, along)) and x.any().shape == ()
        assert along is None or np.array_equal(x.diff(dim=along).numpy(), np.diff(a, axis=along))


@pytest.mark.parametrize("shape, dim", WIDE)
def test_neighbours_of_many_elements(shape: tuple[int, ...], dim: int) -> None:
    """Rows that are short go by columns."""
    a = np.random.default_rng(0).standard_normal(shape)
    for x in (torch.from_numpy(a), torch.from_numpy(a)[:, ::2], torch.from_numpy(a).transpose(0, 1)):
        assert x.diff(dim=dim).numpy().tobytes() == np.diff(x.numpy(), axis=dim).tobytes()
        np.testing.assert_allclose(
            torch.trapezoid(x, dim=dim), np.trapezoid(x.numpy(), axis=dim), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (2, 5, 5), (2, 900, 6)])
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles(shape: tuple[int, ...], diagonal: int) -> None:
    a = np.random.default_rng(0).standard_normal(shape)
    x = torch.from_numpy(a)
    for got, expected in ((x.tril(diagonal), np.tril(a, diagonal)), (x.triu(diagonal), np.triu(a, diagonal))):
        assert got.is_contiguous() and np.array_equal(got.numpy(), expected)


@pytest.mark.parametrize("dtype, power", ((np.float32, 30), (np.float64, 300)))
@pytest.mark.parametrize(
    "dims, keepdim", (((1,), False), ((2,), True), ((1, 2), True), ((0, 2), True), ((0, 1, 2), False))
)
def test_norms_of_tiny_huge_zero_and_usual_rows_at_once(
    dims: tuple[int, ...], keepdim: bool, dtype: Any, power: int
) -> None:
    x = np.random.default_rng(2).standard_normal((4, 3, 5))
    x[0] *= 10.0**-power
    x[1] *= 10.0**power
    x[:2, 1] = 0
    x[2:, :, 2] *= 10.0**-power * 1e-5
    x[3, 0, 0], x[3, 1, 1] = np.nan, -np.inf
    scale = np.abs(x).max(dims, keepdims=True)
    scale = np.where((scale > 0) & (scale < np.inf), scale, 1)
    expected = np.sqrt(((x / scale) ** 2).sum(dims, keepdims=True)) * scale
    got = torch.linalg.vector_norm(torch.from_numpy(x.astype(dtype)), 2, dims, keepdim)
    np.testing.assert_allclose(
        got.numpy(), expected if keepdim else expected.squeeze(dims), rtol=1e-6 if dtype is np.float32 else 1e-14
    )


@pytest.mark.parametrize("dim", (None, 0))
def test_variances_of_single_precision_are_taken_in_double(dim: int | None) -> None:
    """The squares of tiny and huge numbers, and the rounding of a mean far from 0, do not show."""
    a = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    for x in (a, a * np.float32(1e-30), a * np.float32(1e30), a + np.float32(1e6)):
        exact = x.astype(np.float64)
        for std in (torch.std, lambda *args: torch.std_mean(*args)[0]):
            np.testing.assert_allclose(std(torch.from_numpy(x), dim).numpy(), exact.std(dim, ddof=1), rtol=3e-7)
    np.testing.assert_allclose(
        torch.var(torch.from_numpy(a + np.float32(1e6)), dim),
        (a + np.float32(1e6)).astype(float).var(dim, ddof=1),
        rtol=3e-7,
    )
    for dtype, real in ((torch.complex64, torch.float32), (torch.bfloat16, torch.bfloat16)):
        std, mean = torch.std_mean(torch.tensor([1, 3], dtype=dtype), dim)
        assert (std.dtype, mean.dtype) == (real, dtype) and mean.item() == 2
