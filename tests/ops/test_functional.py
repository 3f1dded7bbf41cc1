"""Products, activations, normalization and layers beyond the table of samples: extremes, ties, streams, memory."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.nn import functional as F
from pullback.ops import attention, einsum, fft
from pullback.ops.softmax import max_keepdim

from ..kernels import using

INF, NAN = float("inf"), float("nan")
rng = np.random.default_rng(0)


def rand(*shape: int, grad: bool = True, dtype: Any = np.float64) -> Any:
    return torch.from_numpy(np.array(rng.standard_normal(shape), dtype)).requires_grad_(grad)


def grads(loss: Any, *leaves: Any, **kwargs: Any) -> list[np.ndarray]:
    return [g.detach().numpy() for g in torch.autograd.grad(loss, leaves, **kwargs)]


def close(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    a, b = (x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in (a, b))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# --- products ---------------------------------------------------------------------------------------------------


def test_a_product_that_does_not_fit_says_which_transpose_would() -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(8x3 and 5x3\)") as caught:
        torch.ones(8, 3) @ torch.ones(5, 3)
    assert str(caught.value) == "mat1 and mat2 shapes cannot be multiplied (8x3 and 5x3)"
    assert any("Did you mean other.T?  Its shape would be (3, 5)." in note for note in caught.value.__notes__)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3, 8) @ torch.ones(2, 3, 5)
    assert any("input.mT?  Its shape would be (2, 8, 3)." in note for note in caught.value.__notes__)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(8, 3) @ torch.ones(4, 5)
    assert not any("Did you mean" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("size", (5, 5000))
@pytest.mark.parametrize("slope", (0.25, 1.0, 0.0, -2.0, 1.5, math.inf, -math.inf, math.nan))
def test_slopes_below_zero(slope: float, size: int) -> None:
    """``leaky_relu`` and ``prelu`` are the choice by the sign, however they are computed: kinks, infinities and NaN."""
    x = np.resize(
        np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -1e-45], np.float32), (size, 11)
    )
    with np.errstate(all="ignore"), using("off"):
        expected = np.where(x > 0, x, x * np.float32(slope))
        results = [
            F.leaky_relu(torch.from_numpy(x), slope),
            F.prelu(torch.from_numpy(x), torch.tensor([slope])),
            F.prelu(torch.from_numpy(x), torch.full((11,), slope)),
        ]
    for result in results:
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((2, 3), (3, 2), "expected m1 and m2 to have the same dtype, but got: float != double"),
        ((3,), (3,), "dot : expected both vectors to have same dtype, but found Float and Double"),
        ((1, 2, 3), (1, 3, 2), "expected scalar type Float but found Double"),
    ],
)
def test_types_do_not_mix_in_products(a: Any, b: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.ones(a) @ torch.ones(b, dtype=torch.float64)


def test_linear_does_not_mix_types() -> None:
    x, w = torch.ones(2, 3), torch.ones(4, 3)
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != double"):
        F.linear(x, w.double())
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Float and Double"):
        F.linear(x, w.double(), torch.ones(4))


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16))
def test_products_and_convolutions_do_not_mix_half_and_single_precision(dtype: Any) -> None:
    def half(*shape: int) -> Any:
        return torch.ones(shape, dtype=dtype)

    one = torch.ones
    calls = [
        lambda: F.conv1d(half(1, 2, 4), one(3, 2, 2)),
        lambda: F.conv1d(half(1, 2, 4), half(3, 2, 2), one(3)),
        lambda: F.conv_transpose1d(half(1, 2, 4), one(2, 3, 2)),
        lambda: torch.addmm(half(2, 2), one(2, 2), one(2, 2)),
        lambda: torch.addmm(half(2, 2), half(2, 2), one(2, 2)),
        lambda: torch.addmv(half(2), half(2, 2), one(2)),
        lambda: torch.baddbmm(half(1, 2, 2), one(1, 2, 2), one(1, 2, 2)),
        lambda: torch.addbmm(half(2, 2), half(1, 2, 2), one(1, 2, 2)),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="same|expected scalar type"):
            call()


def test_names_of_products() -> None:
    a, v = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    batch = torch.ones(3, 2, 2, requires_grad=True)
    names = [(x @ y).grad_fn.name() for x, y in ((v, v), (a, v), (a, a), (batch, a))]
    assert names == ["DotBackward0", "MvBackward0", "MmBackward0", "BmmBackward0"]
    assert F.linear(a, a, v).grad_fn.name() == "AddmmBackward0" and F.linear(a, a).grad_fn.name() == "MmBackward0"
    assert torch.addmm(v, a, a).grad_fn.name() == "AddmmBackward0"


def test_a_product_keeps_only_what_its_gradients_need() -> None:
    x, w = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True)
    for out in (x @ w, F.linear(x, w.detach().T.clone().requires_grad_())):
        node = out.grad_fn
        assert node._saved_input is not None
        assert (
            getattr(node, "_saved_other", None) is None if hasattr(node, "_saved_other") else node._saved_weight is None
        )


def test_fast_and_general_paths_agree_and_honour_no_grad() -> None:
    x, w, b = rand(5, 3), rand(4, 3), rand(4)
    fast, slow = F.linear(x, w, b), x @ w.mT + b
    close(fast, slow)
    for g, h in zip(grads(fast.sum(), x, w, b), grads(slow.sum(), x, w, b)):
        close(g, h)
    with torch.no_grad():
        assert not F.linear(x, w, b).requires_grad and not (x @ w.mT).requires_grad
    assert not F.linear(x.detach(), w.detach()).requires_grad


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype: Any) -> None:
    """A sum of 4096 ones would stop at 2048 (256) in float16 (bfloat16)."""
    ones = torch.ones(1, 4096, dtype=dtype)
    added = torch.addmm(torch.zeros(1, dtype=dtype), ones, ones.T)
    for out in (ones @ ones.T, F.linear(ones, ones), added, torch.einsum("ij,kj->ik", ones, ones)):
        assert out.dtype is dtype and out.item() == 4096


def test_integers_are_multiplied_exactly_and_bools_not_at_all() -> None:
    big = torch.tensor([[2**40 + 1]])
    assert (big @ torch.tensor([[3]])).item() == 3 * 2**40 + 3
    # scalars are cut
    assert torch.addmm(torch.tensor([10]), big, torch.tensor([[1]]), beta=1.9, alpha=1.5).item() == 2**40 + 11
    with pytest.raises(NotImplementedError, match="\"addmm_impl_cpu_\" not implemented for 'Bool'"):
        torch.ones(2, 2).bool() @ torch.ones(2, 2).bool()


def test_one_matrix_meets_a_batch() -> None:
    """Folded into one product where memory allows, in the forward and in the gradient of the matrix; the same
    otherwise.
    """
    x, w = rand(3, 4, 5), rand(5, 2)
    y = rand(3, 5, 4)
    for a in (x, y.mT, x[:, ::2]):
        close(a @ w, np.matmul(a.detach().numpy(), w.detach().numpy()))
        seed = rand(*(a @ w).shape, grad=False)
        (g,) = grads(a @ w, w, grad_outputs=seed)
        close(g, np.einsum("bij,bik->jk", a.detach().numpy(), seed.numpy()))


def test_beta_zero_does_not_look_at_the_input() -> None:
    nan = torch.tensor([NAN], requires_grad=True)
    for out in (
        torch.addmm(nan, torch.ones(1, 2), torch.ones(2, 1), beta=0),
        torch.addr(nan, torch.ones(2), torch.ones(2), beta=0),
    ):
        assert not out.isnan().any()
        assert grads(out.sum(), nan)[0].tolist() == [0.0]


def test_operators_leave_foreign_types_alone() -> None:
    with pytest.raises(TypeError):
        torch.ones(2, 2) @ "x"
    assert (np.ones((2, 2)) @ torch.ones(2, 2).double()).tolist() == [[2, 2], [2, 2]]


def test_einsum_sublists_ellipsis_and_more_than_two_operands() -> None:
    a, b, c = rand(2, 3), rand(3, 4), rand(4, 2)
    close(torch.einsum(a, [0, 1], b, [1, 2], [2, 0]), (a @ b).T)
    close(torch.einsum(a, [..., 1], [1, ...]), a.T)
    close(torch.einsum("ij,jk,ki->", a, b, c), torch.trace(a @ b @ c))
    close(torch.einsum("ij,jk,ki", [a, b, c]), torch.trace(a @ b @ c))
    whole = [torch.ones(shape, dtype=torch.int32) for shape in ((2, 1, 2, 4), (2, 4, 2))]
    assert torch.einsum("...ij,...jk->...ik", *whole).dtype is torch.int32
    with pytest.raises(ValueError, match=r"subscript in subscript list is not within the valid range \[0, 52\)"):
        torch.einsum(a, [0, 52])


def test_matrix_chain_takes_the_cheapest_order(monkeypatch: pytest.MonkeyPatch) -> None:
    costs: list[int] = []
    product = einsum.matmul
    monkeypatch.setattr(
        einsum, "matmul", lambda a, b: costs.append(a.shape[0] * a.shape[1] * b.shape[1]) or product(a, b)
    )
    chain = [rand(30, 35), rand(35, 15), rand(15, 5), rand(5, 10), rand(10, 20), rand(20, 25)]
    out = einsum.multi_dot(chain)
    assert sum(costs) == 15125  # the example of Cormen et al., Introduction to Algorithms, 15.2
    close(out, np.linalg.multi_dot([m.detach().numpy() for m in chain]), 1e-10)
    with pytest.warns(UserWarning, match="torch.chain_matmul is deprecated"):
        close(torch.chain_matmul(*chain), out, 1e-10)


def test_coinciding_points_have_distance_gradient_zero() -> None:
    for mode in ("donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist"):
        x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
        d = torch.cdist(x, x.detach(), compute_mode=mode)
        assert (d == 0).all() and (grads(d.sum(), x)[0] == 0).all()
    for p in (0.0, 0.5, 1.0, 3.0, INF):
        x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
        assert (grads(torch.cdist(x, x.detach(), p).sum(), x)[0] == 0).all()


@pytest.mark.parametrize("p", [1.5, 3.0, 100.0, 1000.0, 1e19, 1e39])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distances_of_powers_that_overflow(p: float, dtype: Any) -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1e-25, 0.0], [0.0, 2e25]], dtype=dtype, requires_grad=True)
    size = abs(x.detach()[:, None] - x.detach()).double()
    top = size.amax(-1, True).clamp(min=1e-300)
    expected = (((size / top) ** p).sum(-1) ** (1 / p) if p < 1e18 else 1) * top[..., 0]
    expected.fill_diagonal_(0)
    rtol = 1e-4 if dtype is torch.float32 else 1e-11
    of_all, of_pairs = torch.cdist(x, x, p), torch.pdist(x, p)
    np.testing.assert_allclose(of_all.detach(), expected, rtol=rtol)
    np.testing.assert_allclose(of_pairs.detach(), expected[np.triu_indices(4, 1)], rtol=rtol)
    (slope,) = grads(of_pairs.sum(), x)
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(grads(of_all.sum() / 2, x)[0], slope, rtol=1e-3, atol=1e-4)


# --- activations ------------------------------------------------------------------------------------------------


def test_derivatives_at_kinks() -> None:
    """PyTorch's choice of a side."""
    for fn, at, slope in (
        (F.relu, 0.0, 0),
        (F.relu6, 6.0, 0),
        (F.hardtanh, -1.0, 0),
        (F.hardtanh, 1.0, 0),
        (F.leaky_relu, 0.0, 0.01),
        (F.hardshrink, 0.5, 0),
        (F.softshrink, -0.5, 0),
        (F.hardsigmoid, 3.0, 0),
        (F.hardswish, -3.0, 0),
        (F.hardswish, 3.0, 1),
        (F.elu, 0.0, 1),
        (F.celu, 0.0, 1),
        (F.hardsigmoid, NAN, 0),
    ):
        x = torch.tensor(at, requires_grad=True)
        for create_graph in (False, True):
            (g,) = torch.autograd.grad(fn(x), x, create_graph=create_graph)
            assert g.item() == pytest.approx(slope), fn.__name__


@pytest.mark.parametrize("name", ["elu", "celu", "selu", "softplus", "silu", "mish", "gelu", "logsigmoid", "softsign"])
def test_large_arguments_have_finite_derivatives_of_any_order(name: str) -> None:
    x = torch.tensor([-800.0, -30.0, 30.0, 800.0], dtype=torch.float64, requires_grad=True)
    value = getattr(F, name)(x)
    for _ in range(3):
        assert torch.isfinite(value).all()
        if not value.requires_grad:
            break
        (value,) = torch.autograd.grad(value.sum(), x, create_graph=True)


def test_in_place_activations_write_into_their_input() -> None:
    for name, *args in (
        ("relu",),
        ("relu6",),
        ("elu",),
        ("leaky_relu", 0.1),
        ("hardtanh",),
        ("threshold", 0.1, 2.0),
        ("silu",),
        ("mish",),
    ):
        a = rand(3, 4)
        x = a * 1
        out = getattr(F, name)(x, *args, inplace=True)
        expected = getattr(F, name)(a, *args)
        assert out is x and np.array_equal(x.detach().numpy(), expected.detach().numpy())
        close(grads(x.sum(), a)[0], grads(expected.sum(), a)[0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        F.relu(rand(2), inplace=True)


def test_softmax_at_extremes() -> None:
    for shape in ((3,), (300, 3)):  # short, and long enough for the other way to find the maximum
        x = torch.tensor([1e4, 1e4 - 1, -1e4]).expand(shape).clone().requires_grad_()
        p = F.softmax(x, -1)
        close(p, np.broadcast_to(np.array([1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0]), shape), 1e-6)
        close(F.log_softmax(x, -1)[..., 2], np.full(shape[:-1], -2e4 - math.log(1 + math.exp(-1))), 1e-6)
        assert torch.isfinite(torch.autograd.grad(p.sum(), x)[0]).all()
    assert F.softmax(torch.tensor([-INF, 0.0]), 0).tolist() == [0, 1]
    assert (
        F.softmax(torch.tensor([-INF, -INF]), 0).isnan().all() and F.softmax(torch.tensor([NAN, 0.0]), 0).isnan().all()
    )
    assert F.log_softmax(torch.tensor([-INF, 0.0]), 0).tolist() == [-INF, 0]


def test_largest_agrees_with_numpy_whatever_the_size() -> None:
    for shape in ((4, 3), (200, 5), (3, 100, 7)):
        x = rng.standard_normal(shape)
        x.reshape(-1)[5] = NAN
        for dim in range(x.ndim):
            np.testing.assert_array_equal(max_keepdim(x, dim), np.maximum.reduce(x, dim, keepdims=True))
        np.testing.assert_array_equal(max_keepdim(x.T, 0), np.maximum.reduce(x.T, 0, keepdims=True))


def test_softmax_without_a_dimension_warns() -> None:
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        close(F.softmax(torch.zeros(2, 4), None), np.full((2, 4), 0.25))


def test_log_softmax_in_half_precision_is_rounded_once() -> None:
    x = torch.from_numpy((4 * np.random.default_rng(0).standard_normal((200, 5))).astype(np.float16))
    exact = F.log_softmax(x.double(), 1).half()
    assert (F.log_softmax(x, 1) != exact).sum() <= 5


# --- normalization ----------------------------------------------------------------------------------------------


def test_layer_norm_of_one_element_is_its_bias() -> None:
    x, w, b = rand(4, 1), rand(1), rand(1)
    out = F.layer_norm(x, [1], w, b)
    close(out, np.broadcast_to(b.detach().numpy(), (4, 1)))
    gx, gw, gb = grads(out.sum(), x, w, b)
    assert (gx == 0).all() and (gw == 0).all() and gb.tolist() == [4.0]


def test_layer_norm_far_from_zero() -> None:
    """The mean is subtracted before squares are taken."""
    x = torch.from_numpy((1e4 + rng.standard_normal((3, 64))).astype(np.float32))
    close(F.layer_norm(x, [64]), F.layer_norm(x.double(), [64]).numpy(), 2e-3)


def test_batch_norm_moves_running_statistics_in_training_only() -> None:
    x, mean, var = (
        rand(5, 2, 3),
        torch.tensor([1.0, 2.0], dtype=torch.float64),
        torch.tensor([3.0, 4.0], dtype=torch.float64),
    )
    before = mean._version
    F.batch_norm(x, mean, var, training=True, momentum=0.2)
    a = x.detach().numpy()
    close(mean, 0.8 * np.array([1.0, 2.0]) + 0.2 * a.mean((0, 2)))
    close(var, 0.8 * np.array([3.0, 4.0]) + 0.2 * a.var((0, 2), ddof=1))
    assert mean._version > before
    kept = mean.clone(), var.clone()
    out = F.batch_norm(x, mean, var)
    close(out, (a - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5))
    assert torch.equal(mean, kept[0]) and torch.equal(var, kept[1])


def test_instance_norm_moves_statistics_towards_the_mean_of_the_samples() -> None:
    x, mean, var = rand(5, 2, 3), torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    F.instance_norm(x, mean, var, momentum=1.0)
    a = x.detach().numpy()
    close(mean, a.mean((0, 2)))
    close(var, a.var(2, ddof=1).mean(0))


def test_normalization_in_half_precision() -> None:
    x = rand(4, 6, grad=False).half()
    for out in (
        F.layer_norm(x, [6]),
        F.batch_norm(x, None, None, training=True),
        F.rms_norm(x, [6]),
        F.group_norm(x, 2),
    ):
        assert out.dtype is torch.float16
    assert F.layer_norm(x, [6], torch.ones(6)).dtype is torch.float16  # single precision parameters are all right
    with pytest.raises(RuntimeError, match=r"mixed dtype \(CPU\): expect parameter to have scalar type of Float"):
        F.layer_norm(x.float(), [6], torch.ones(6, dtype=torch.float64))


def test_the_zero_vector_is_normalized_to_itself() -> None:
    x = torch.zeros(1, 3, requires_grad=True)
    out = F.normalize(x)
    assert (out == 0).all() and np.isfinite(grads(out.sum(), x)[0]).all()


def test_renorm_of_huge_numbers() -> None:
    a, g = rng.standard_normal((3, 4)).astype(np.float32) * np.float32(1e25), rng.standard_normal((3, 4))
    x, exact = rand(3, 4, dtype=np.float32), rand(3, 4)
    x.data, exact.data = torch.from_numpy(a), torch.from_numpy(a.astype(np.float64))
    (slope,), (expected,) = (grads((torch.renorm(v, 2, 0, 1.0) * torch.from_numpy(g)).sum(), v) for v in (x, exact))
    np.testing.assert_allclose(slope, expected, rtol=1e-4)


# --- layers -----------------------------------------------------------------------------------------------------


def test_embedding_gradients_by_row() -> None:
    rows = torch.tensor([[1, 1], [0, 2]])
    w = rand(4, 2)
    for kwargs, factor in (
        ({}, [1, 2, 1, 0]),
        ({"padding_idx": 1}, [1, 0, 1, 0]),
        ({"padding_idx": -4}, [0, 2, 1, 0]),
        ({"scale_grad_by_freq": True}, [1, 1, 1, 0]),
    ):
        (g,) = grads(F.embedding(rows, w, **kwargs).sum(), w)
        assert g.tolist() == [[f, f] for f in factor]


def test_embedding_scales_long_rows_in_the_table() -> None:
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    out = F.embedding(torch.tensor([0, 1]), w, max_norm=1.0)
    close(out, [[0.6, 0.8], [0.3, 0.4]], 1e-6)
    assert w[2].tolist() == [30, 40] and w._version == 1


def test_embedding_bags() -> None:
    w = torch.tensor([[1.0, 8.0], [2.0, 2.0], [2.0, 9.0]], requires_grad=True)
    rows, offsets = torch.tensor([1, 2, 0, 0]), torch.tensor([0, 3, 3])
    for mode, first in (("sum", [5, 19]), ("mean", [5 / 3, 19 / 3]), ("max", [2, 9])):
        close(F.embedding_bag(rows, w, offsets, mode=mode), [first, [0, 0], [1, 8]], 1e-6)
    (g,) = grads(F.embedding_bag(rows, w, offsets, mode="max").sum(), w)
    assert g.tolist() == [[1, 1], [1, 0], [0, 1]]  # the first of equal maxima
    close(F.embedding_bag(rows, w, offsets, mode="mean", padding_idx=0), [[2, 5.5], [0, 0], [0, 0]])
    (g,) = grads(F.embedding_bag(rows, w, offsets, mode="sum", scale_grad_by_freq=True).sum(), w)
    assert g.tolist() == [[1, 1], [1, 1], [1, 1]]


def test_embedding_bags_in_the_old_order_of_arguments() -> None:
    table, rows, offsets = torch.ones(4, 2, requires_grad=True), torch.tensor([1, 1, 3]), torch.tensor([0, 2])
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        out = F.embedding_bag(table, rows, offsets, mode="sum", sparse=True)
    out.sum().backward()
    assert table.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


def test_dropout_streams() -> None:
    """The numbers of PyTorch 2.13 after ``manual_seed(0)``; elements are drawn in the order of memory."""
    torch.manual_seed(0)
    close(F.dropout(torch.ones(10), 0.4), np.array([0, 0, 1, 0, 0, 0, 1, 1, 1, 1]) / 0.6, 1e-6)
    torch.manual_seed(0)
    assert F.dropout(torch.ones(2, 3).t(), 0.5).tolist() == [[0, 0], [0, 0], [2, 0]]
    torch.manual_seed(0)
    assert F.dropout2d(torch.ones(2, 3, 1, 1), 0.5).flatten().tolist() == [0, 0, 2, 0, 0, 0]
    torch.manual_seed(0)
    close(
        F.alpha_dropout(torch.ones(3), 0.5, True), [-0.7791939377784729, -0.7791939377784729, 1.6655988693237305], 1e-6
    )
    torch.manual_seed(0)
    close(
        F.rrelu(torch.tensor([-1.0, 2.0, -1.0]), training=True), [-0.3270943760871887, 2.0, -0.27246248722076416], 1e-6
    )
    torch.manual_seed(0)
    close(F.gumbel_softmax(torch.zeros(3)), [0.10465075820684433, 0.2984018325805664, 0.5969474911689758], 1e-6)


def test_dropout_leaves_what_it_should() -> None:
    x = rand(3, 4)
    assert F.dropout(x, training=False) is x and F.dropout(x, 0.0) is x
    out = F.dropout(x, 0.5)
    kept = out.detach().numpy() != 0
    close(grads(out.sum(), x)[0], 2.0 * kept)
    whole = F.dropout2d(torch.ones(20, 3, 4, 4))
    assert set((whole == 0).float().mean((2, 3)).flatten().tolist()) == {0.0, 1.0}  # channels go together
    y = x * 1
    assert F.dropout(y, 0.5, inplace=True) is y


def test_hard_gumbel_softmax_is_one_hot_with_the_soft_gradient() -> None:
    x = rand(4, 3)
    torch.manual_seed(1)
    hard = F.gumbel_softmax(x, hard=True)
    torch.manual_seed(1)
    soft = F.gumbel_softmax(x)
    assert torch.equal(hard.argmax(-1), soft.argmax(-1)) and set(hard.detach().round().flatten().tolist()) == {0, 1}
    seed = rand(4, 3, grad=False)
    close(grads(hard, x, grad_outputs=seed)[0], grads(soft, x, grad_outputs=seed)[0])


# --- attention --------------------------------------------------------------------------------------------------


def by_definition(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return F.softmax(scores if mask is None else scores + mask, -1) @ v


@pytest.mark.parametrize("block", [1, 1 << 18])
def test_attention_in_blocks(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Values and gradients to second order are those of its formula, cut into blocks or not."""
    monkeypatch.setattr(attention, "BLOCK", block)
    q, k, v, mask = rand(3, 2, 4, 5), rand(3, 2, 6, 5), rand(3, 2, 6, 7), rand(1, 1, 4, 6)
    seed, u = rand(3, 2, 4, 7), rand(3, 2, 4, 5, grad=False)
    results = []
    for fn in (F.scaled_dot_product_attention, by_definition):
        out = fn(q, k, v, mask)
        first = grads(out, q, k, v, mask, grad_outputs=seed, retain_graph=True)
        (g,) = torch.autograd.grad(out, q, seed, create_graph=True)
        results.append([out, *first, *grads((g * u).sum(), q, k, v, mask, seed)])
    for a, b in zip(*results, strict=True):
        close(a, b, 1e-10)


def test_attention_masks() -> None:
    q, k, v = rand(2, 3, 4), rand(2, 3, 4), rand(2, 3, 5)
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(causal, F.scaled_dot_product_attention(q, k, v, torch.ones(3, 3).tril().bool()))
    close(causal[:, 0], v[:, 0])
    nowhere = torch.ones(3, 3).bool()
    nowhere[1] = False
    out = F.scaled_dot_product_attention(q, k, v, nowhere)
    assert (out[:, 1] == 0).all()
    gq, gk, gv = grads(out.sum(), q, k, v)
    assert (gq[:, 1] == 0).all() and np.isfinite(gk).all() and np.isfinite(gv).all()
    close(F.scaled_dot_product_attention(q, k, v, dropout_p=1.0), np.zeros((2, 3, 5)))


def test_grouped_queries_share_keys() -> None:
    q, k, v = rand(2, 4, 3, 5), rand(2, 2, 3, 5), rand(2, 2, 3, 5)
    shared = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    close(shared, F.scaled_dot_product_attention(q, *(x.repeat_interleave(2, 1) for x in (k, v))))
    with pytest.raises(RuntimeError, match="Number of heads in key and value must divide the number of heads in"):
        F.scaled_dot_product_attention(q, k[:, :1].expand(2, 3, 3, 5), v[:, :1].expand(2, 3, 3, 5), enable_gqa=True)


def heads(q: Any, k: Any, v: Any, **kwargs: Any) -> Any:
    w, b, out = (np.random.default_rng(5).standard_normal(s) for s in ((12, 4), (12,), (4, 4)))
    return F.multi_head_attention_forward(
        q,
        k,
        v,
        4,
        2,
        torch.from_numpy(w),
        torch.from_numpy(b),
        kwargs.pop("bias_k", None),
        kwargs.pop("bias_v", None),
        kwargs.pop("add_zero_attn", False),
        0.0,
        torch.from_numpy(out),
        None,
        **kwargs,
    )


def test_both_ways_through_multi_head_attention_agree() -> None:
    q, k = rand(3, 2, 4), rand(5, 2, 4)
    padding = torch.tensor([[False, False, False, True, True], [False] * 5])
    for kwargs in (
        {},
        {"attn_mask": torch.ones(3, 5).triu(2).bool()},
        {"key_padding_mask": padding},
        {"add_zero_attn": True},
        {"bias_k": rand(1, 1, 4), "bias_v": rand(1, 1, 4), "key_padding_mask": padding},
    ):
        out, weights = heads(q, k, k, **kwargs)
        fused, none = heads(q, k, k, need_weights=False, **kwargs)
        close(out, fused)
        assert none is None
        close(weights.sum(-1), np.ones((2, 3)))
        close(grads(out.sum(), q, k)[0], grads(fused.sum(), q, k)[0])
    alone, weights = heads(q[:, 0], k[:, 0], k[:, 0])
    close(alone, heads(q, k, k)[0][:, 0])
    assert weights.shape == (3, 5)
    close(heads(q, q, q)[0], heads(q, q * 1, q * 1)[0])  # one product for all three maps, or one each


def test_what_multi_head_attention_refuses() -> None:
    q = rand(3, 2, 4)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        heads(q, q, q, is_causal=True)
    with pytest.raises(
        RuntimeError, match=r"The shape of the 2D attn_mask is torch.Size\(\[3, 4\]\), but should be \(3, 3\)"
    ):
        heads(q, q, q, attn_mask=torch.zeros(3, 4))
    with pytest.raises(AssertionError, match="only bool and floating types of attn_mask are supported"):
        heads(q, q, q, attn_mask=torch.zeros(3, 3).long())
    with pytest.raises(AssertionError, match="was expecting embedding dimension of 4, but got 5"):
        heads(*[rand(3, 2, 5)] * 3)


# --- PyTorch as the judge ---------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize(
    "name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"]
)
def test_dropout_drops_what_pytorch_drops(name: str) -> None:
    """In every type, and in any order of memory."""
    judge = pytest.importorskip("torch")
    for dtype, shape in itertools.product(
        ("float32", "float64", "float16"), ((2, 3), (2, 3, 4), (3, 2, 5, 2), (2, 3, 2, 2, 2))
    ):
        if (
            name == "dropout1d"
            and len(shape) > 3
            or name == "dropout3d"
            and len(shape) < 4
            or name == "dropout2d"
            and len(shape) != 4
        ):
            continue
        for order in (list(range(len(shape))), list(range(len(shape)))[::-1]):
            a = np.ones(shape, dtype)
            x, y = torch.from_numpy(a).permute(order), judge.from_numpy(a).permute(order)
            torch.manual_seed(3)
            judge.manual_seed(3)
            got, expected = getattr(F, name)(x, 0.4, True), getattr(judge.nn.functional, name)(y, 0.4, True)
            np.testing.assert_allclose(got.numpy().astype(float), expected.numpy().astype(float), rtol=2e-3)
            assert torch.rand(1).item() == judge.rand(1).item()  # the streams stay in step


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_other_precisions_against_pytorch(dtype: str) -> None:
    judge = pytest.importorskip("torch")
    tolerance = 2e-5 if dtype == "float32" else 4e-3
    for name, shapes, args in (
        ("linear", [(5, 40), (7, 40), (7,)], ()),
        ("layer_norm", [(5, 40)], ([40],)),
        ("softmax", [(30, 40)], (-1,)),
        ("gelu", [(5, 40)], ()),
        ("silu", [(5, 40)], ()),
        ("mse_loss", [(5, 40), (5, 40)], ()),
        ("group_norm", [(4, 6, 5)], (3,)),
        ("softplus", [(5, 40)], ()),
        ("scaled_dot_product_attention", [(2, 3, 8, 4)] * 3, ()),
        ("smooth_l1_loss", [(5, 40), (5, 40)], ()),
    ):
        arrays = [rng.standard_normal(s).astype(dtype) for s in shapes]
        results = []
        for root in (torch, judge):
            leaves = [root.from_numpy(a.copy()).requires_grad_() for a in arrays]
            out = getattr(root.nn.functional, name)(*leaves, *args)
            out.backward(gradient=root.ones_like(out))
            results.append([out.detach().numpy(), *[leaf.grad.numpy() for leaf in leaves]])
        for got, expected in zip(*results):
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.torch
def test_multi_head_attention_against_pytorch() -> None:
    judge = pytest.importorskip("torch")
    shapes = {
        "q": (3, 2, 4),
        "k": (5, 2, 3),
        "v": (5, 2, 6),
        "wq": (4, 4),
        "wk": (4, 3),
        "wv": (4, 6),
        "b": (12,),
        "out": (4, 4),
        "mask": (4, 3, 5),
    }
    arrays = {n: rng.standard_normal(s) for n, s in shapes.items()}
    for need_weights, padding in itertools.product(
        (True, False), (None, np.array([[0, 0, 0, 1, 1], [0, 1, 0, 0, 0]], float))
    ):
        results = []
        for root in (torch, judge):
            t = {n: root.from_numpy(a.copy()).requires_grad_() for n, a in arrays.items()}
            out, weights = root.nn.functional.multi_head_attention_forward(
                t["q"],
                t["k"],
                t["v"],
                4,
                2,
                None,
                t["b"],
                None,
                None,
                False,
                0.0,
                t["out"],
                None,
                use_separate_proj_weight=True,
                q_proj_weight=t["wq"],
                k_proj_weight=t["wk"],
                v_proj_weight=t["wv"],
                attn_mask=t["mask"],
                need_weights=need_weights,
                key_padding_mask=None if padding is None else root.from_numpy(padding),
                average_attn_weights=False,
            )
            out.sum().backward()
            extra = [weights.detach().numpy()] if need_weights else []
            results.append([out.detach().numpy(), *extra, *[x.grad.numpy() for x in t.values()]])
        for got, expected in zip(*results, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_fourier_transforms_do_without_the_inside_of_scipy(norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SciPy that has another library inside is called by its public functions, with the same results."""
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) ** 2
    names = [name + dims for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for dims in ("", "2")]

    def transformed() -> list[Any]:
        return [getattr(torch.fft, name)(x, norm=norm) for name in names]

    direct = transformed()
    monkeypatch.setitem(sys.modules, "scipy.fft._pocketfft", None)
    public = fft._pocketfft.__wrapped__()
    assert public is fft._PublicFFT
    monkeypatch.setattr(fft, "_pocketfft", lambda: public)
    for name, a, b in zip(names, direct, transformed()):
        torch.testing.assert_close(a, b, msg=name)


def test_numbers_beside_tensors_of_one_type() -> None:
    """Numbers stay numbers on the short way of operations of three operands; other types go the long way."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.lerp(x, torch.tensor([3.0, 6.0]), 0.25)
    assert y.dtype == torch.float32 and y.grad_fn.name() == "LerpBackward0"
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.75, 0.75])
    mixed = torch.where(torch.tensor([True, False]), x, torch.tensor([5.0, 6.0], dtype=torch.float64))
    assert mixed.dtype == torch.float64 and mixed.tolist() == [1.0, 6.0]


@pytest.mark.parametrize("number", [3, 300, -1])
def test_whole_numbers_keep_their_type(number: int) -> None:
    """Integers of one type skip the conversions, and wrap round like those that are converted."""
    x = torch.tensor([5, 250], dtype=torch.uint8)
    for result in (x + number, torch.bitwise_left_shift(x, 1), -x):
        assert result.dtype == torch.uint8
    assert (x + number).tolist() == [(5 + number) % 256, (250 + number) % 256]
