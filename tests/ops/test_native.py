"""``torch.*`` forms of functions of neural networks agree with those of ``nn.functional``."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.nn import functional as F


def table() -> pullback.Tensor:
    return pullback.arange(12.0).reshape(4, 3).requires_grad_()


def test_embedding_has_the_table_first() -> None:
    """A row of padding has no gradient; -1 means that there is none, not the last row."""
    for padding, expected in ((-1, [1.0, 2.0, 0.0, 1.0]), (1, [1.0, 0.0, 0.0, 1.0])):
        weight = table()
        out = pullback.embedding(weight, pullback.tensor([0, 1, 1, 3]), padding)
        assert out.tolist() == weight.detach()[[0, 1, 1, 3]].tolist()
        out.sum().backward()
        assert weight.grad.tolist() == [[e] * 3 for e in expected]


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
def test_embedding_bag_has_numbers_for_modes(mode: int, last: bool) -> None:
    indices, offsets = pullback.tensor([0, 1, 2, 2, 3, 1]), pullback.tensor([0, 2, 5, 6] if last else [0, 2, 5])
    out, bags, sizes, _ = pullback.embedding_bag(table(), indices, offsets, mode=mode, include_last_offset=last)
    expected = F.embedding_bag(indices, table(), offsets, mode=["sum", "mean", "max"][mode], include_last_offset=last)
    assert out.tolist() == expected.tolist()
    assert bags.tolist() == [0, 0, 1, 1, 1, 2]
    assert sizes.tolist() == [2, 3, 1]


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_ctc_loss_has_numbers_for_reductions(reduction: int) -> None:
    rng = np.random.default_rng(0)
    log_probs = pullback.tensor(rng.standard_normal((5, 2, 3))).log_softmax(-1)
    args = (log_probs, pullback.tensor([[1, 2], [2, 1]]), pullback.tensor([5, 4]), pullback.tensor([2, 1]))
    expected = F.ctc_loss(*args, reduction=["none", "mean", "sum"][reduction])
    assert pullback.ctc_loss(*args, 0, reduction).tolist() == expected.tolist()


def test_in_place_functions_write_into_their_argument() -> None:
    """``torch.relu_(x)`` is ``x.relu_()``."""
    x = pullback.tensor([-1.0, 4.0])
    assert pullback.relu_(x) is x and x.tolist() == [0.0, 4.0]
    assert pullback.sqrt_(x) is x and x.tolist() == [0.0, 2.0]
    assert pullback.zero_(x) is x and x.tolist() == [0.0, 0.0]


def test_float_power_in_place_needs_the_wide_type() -> None:
    with pytest.raises(
        RuntimeError,
        match="the base given to float_power_ has dtype Float but the operation's result requires dtype Double",
    ):
        pullback.ones(2).float_power_(2)
    assert pullback.tensor([3.0], dtype=pullback.float64).float_power_(2).tolist() == [9.0]


def test_strides_that_were_asked_for() -> None:
    x = pullback.ones(2, dtype=pullback.float64)
    assert x.new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert x.new_empty_strided((2, 3), (1, 2)).dtype is pullback.float64
    assert pullback.empty_permuted((2, 3, 5), (0, 2, 1)).stride() == (15, 1, 3)
    for layout, message in (
        ((0, 1), "does not match the length"),
        ((0, 0, 1), "Duplicate dim"),
        ((0, 1, 3), "Dimension out of range"),
    ):
        with pytest.raises(RuntimeError, match=message):
            pullback.empty_permuted((2, 3, 5), layout)


def test_parameters_of_a_normal_distribution_have_gradient_zero() -> None:
    """As in PyTorch: samples that move with them are in ``torch.distributions``."""
    mean, std = pullback.zeros(3, requires_grad=True), pullback.ones(2, 3, requires_grad=True)
    pullback.normal(mean, std).sum().backward()
    assert mean.grad.tolist() == [0.0] * 3
    assert std.grad.tolist() == [[0.0] * 3] * 2


def test_dropout_says_train() -> None:
    """Everything is dropped with probability 1, nothing outside of training; the forms that end in _ write."""
    for name in ("dropout", "feature_dropout"):
        f, f_ = getattr(pullback, name), getattr(pullback, name + "_")
        x = pullback.ones(2, 3)
        assert f(x, 1.0, train=True).sum() == 0 and f(x, 0.5, train=False) is x
        assert f_(x, 1.0, train=True) is x and x.sum() == 0
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        f, f_ = getattr(pullback, name), getattr(pullback, name + "_")
        x = pullback.ones(64, 8)
        dropped = f(x, 0.5, train=True)
        assert dropped.unique().numel() == 2 and f(x, 0.5, train=False) is x
        assert f_(x, 0.5, train=True) is x and x.unique().numel() == 2


def test_threshold_in_place() -> None:
    x = pullback.tensor([1.0, 3.0])
    assert pullback.threshold_(x, 2.0, 0.0) is x and x.tolist() == [0.0, 3.0]


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (7, 3), (2, 2, 2)], ids=str)
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], wrap: bool) -> None:
    """As NumPy fills it, whatever the order in memory; what was there has no gradient any more."""
    expected = np.zeros(shape, np.float32)
    np.fill_diagonal(expected, 5, wrap=wrap)
    if not wrap:
        expected[shape[-1] :] = 0  # NumPy stops there only since it does not wrap
    assert pullback.zeros(shape).fill_diagonal_(5, wrap).tolist() == expected.tolist()
    turned = pullback.zeros(shape[::-1]).permute(*range(len(shape))[::-1])
    assert turned.fill_diagonal_(5, wrap).tolist() == expected.tolist()
    x = pullback.ones(shape, requires_grad=True)
    x.clone().fill_diagonal_(5, wrap).sum().backward()
    assert x.grad.tolist() == (expected == 0).astype(np.float32).tolist()


def test_fill_diagonal_refuses() -> None:
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        pullback.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        pullback.zeros(2, 3, 3).fill_diagonal_(1)


def test_python_functions_element_by_element() -> None:
    x = pullback.ones(2)
    assert x.apply_(lambda v: v + 1) is x and x.tolist() == [2.0, 2.0]
    assert x.map_(pullback.arange(2.0), lambda a, b: a + b).tolist() == [2.0, 3.0]
    assert x.map2_(pullback.ones(2), pullback.ones(2), lambda a, b, c: a + b + c).tolist() == [4.0, 5.0]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        pullback.ones(2, requires_grad=True).apply_(lambda v: v)


def test_numbers_that_a_type_cannot_hold() -> None:
    """Refused, but for negative numbers in unsigned types, which wrap around as in C."""
    assert pullback.full((2,), -9, dtype=pullback.uint8).tolist() == [247, 247]
    assert pullback.zeros(1, dtype=pullback.uint8).fill_(-3).tolist() == [253]
    assert pullback.full((1,), 3, dtype=pullback.bool).tolist() == [True]
    for make in (
        lambda: pullback.full((2,), 300, dtype=pullback.uint8),
        lambda: pullback.zeros(2, dtype=pullback.int8).fill_(200),
        lambda: pullback.full((2,), 1e10, dtype=pullback.int32),
    ):
        with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
            make()


def test_copies_of_views() -> None:
    """They do not share memory."""
    z = pullback.tensor([1 + 2j])
    pairs = pullback.view_as_real_copy(z)
    assert pairs.tolist() == [[1.0, 2.0]] and pullback.view_as_complex_copy(pairs).tolist() == [1 + 2j]
    assert pairs.data_ptr() != z.data_ptr()
    assert pullback.ones(2, 3).t().dim_order() == (1, 0)
    assert pullback.is_signed(z.real) and not pullback.is_signed(pullback.ones(1, dtype=pullback.uint8))
