"""Losses beyond the table of samples: extremes, ignored targets, warnings, types."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.nn import functional as F

from .test_functional import INF, close, grads, rand, rng

nan = math.nan


def test_cross_entropy_of_large_logits_is_exact() -> None:
    x = torch.tensor([[1e4, 1e4 - 1, -1e4], [3e38, -3e38, 0.0]], requires_grad=True)
    losses = F.cross_entropy(x, torch.tensor([1, 0]), reduction="none")
    close(losses, [1 + math.log1p(math.exp(-1)), 0], 1e-6)
    p = 1 / (1 + math.exp(-1))
    close(grads(losses.sum(), x)[0], [[p, -p, 0], [0, 0, 0]], 1e-6)


def test_cross_entropy_is_one_node_that_keeps_the_logits() -> None:
    h = rand(4, 3)
    x = h * 2
    loss = F.cross_entropy(x, torch.tensor([0, 1, 2, 1]))
    node = loss.grad_fn
    assert node.name() == "NllLossBackward0" and node.next_functions[0][0] is x.grad_fn
    assert node._saved_input._array is x._array  # no copy of their size beside them


def test_cross_entropy_agrees_with_its_parts_to_second_order() -> None:
    for shape, places in (((5, 3), (5,)), ((2, 3, 4), (2, 4))):
        target = torch.from_numpy(rng.integers(0, 3, places))
        x, u, v = rand(*shape), rand(*shape, grad=False), rand(*places, grad=False)
        results = []
        for fn in (F.cross_entropy, lambda x, t, reduction: F.nll_loss(F.log_softmax(x, 1), t, reduction=reduction)):
            seed = v.clone().requires_grad_()
            (g,) = torch.autograd.grad(fn(x, target, reduction="none"), x, seed, create_graph=True)
            results.append([g, *torch.autograd.grad((g * u).sum(), (x, seed))])
        for a, b in zip(*results):
            close(a, b)


def test_ignored_targets_have_no_gradient_and_no_say_in_the_mean() -> None:
    x, target = rand(3, 4), torch.tensor([1, -100, 2])
    with torch.no_grad():
        x[1] = INF
    for fn in (F.cross_entropy, F.nll_loss):
        loss = fn(x, target)
        close(loss, fn(x[[0, 2]], target[[0, 2]]))
    assert (grads(F.nll_loss(x, target), x)[0][1] == 0).all()
    y = rand(3, 4)
    nothing = F.cross_entropy(y, torch.full((3,), -100))
    assert nothing.isnan() and (grads(nothing, y)[0] == 0).all()
    assert F.cross_entropy(y, torch.full((3,), -100), reduction="sum").item() == 0


def test_a_target_overwritten_before_backward_is_noticed() -> None:
    x, target = rand(2, 3), torch.tensor([0, 1])
    loss = F.cross_entropy(x, target)
    target[0] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_losses_at_infinity() -> None:
    zero = torch.tensor([0.0], requires_grad=True)
    loss = F.binary_cross_entropy(zero, torch.ones(1))
    assert loss.item() == 100 and np.isfinite(grads(loss, zero)[0]).all()  # the logarithm is held at -100
    close(
        F.binary_cross_entropy_with_logits(torch.tensor([-1e4, 1e4]), torch.tensor([1.0, 1.0]), reduction="none"),
        [1e4, 0],
    )
    close(F.soft_margin_loss(torch.tensor([-1e4]), torch.tensor([1.0])), 1e4, 1e-6)
    x = torch.tensor([-1.0, 0.0], requires_grad=True)
    loss = F.kl_div(x, torch.tensor([0.0, 1.0]), reduction="sum")
    assert loss.item() == 0 and grads(loss, x)[0].tolist() == [0, -1]


@pytest.mark.parametrize(
    "loss, x, y, value, slopes",
    [
        (F.binary_cross_entropy_with_logits, [-INF, INF, -INF], [0.0, 1.0, 1.0], [0, 0, INF], [0, 0, -1]),
        (
            lambda x, y, reduction: F.binary_cross_entropy_with_logits(
                x, y, reduction=reduction, weight=torch.tensor([1.0, 0.0]), pos_weight=torch.tensor(0.0)
            ),
            [-INF, INF],
            [1.0, 0.0],
            [0, 0],
            [0, 0],
        ),
        (F.kl_div, [-INF, -1.0, -INF], [0.0, 0.0, 1.0], [0, 0, INF], [0, 0, -1]),
        (functools.partial(F.kl_div, log_target=True), [-1.0, -INF, INF], [-INF] * 3, [0, 0, 0], [0, 0, 0]),
        (F.poisson_nll_loss, [-INF, INF, -INF], [0.0, 1.0, 2.0], [0, INF, INF], [0, INF, -2]),
        (F.cross_entropy, [[-INF, 0.0], [0.0, INF]], [[0.0, 1.0], [1.0, 0.0]], [0, nan], None),
        (F.multilabel_soft_margin_loss, [[-INF, INF], [-INF, 0.0]], [[0.0, 1.0], [1.0, 1.0]], [0, INF], None),
        (
            lambda x, y, reduction: F.huber_loss(x, y, reduction, weight=torch.tensor([0.0, 1.0])),
            [INF, 1.0],
            [0.0, 1.0],
            [0, 0],
            [0, 0],
        ),
    ],
)
def test_what_has_no_weight_does_not_count_even_at_infinity(
    loss: Any, x: Any, y: Any, value: list[float], slopes: list[float] | None
) -> None:
    x, y = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    losses = loss(x, y, reduction="none")
    np.testing.assert_array_equal(losses.detach(), value)
    of_x, of_y = grads(losses.sum(), x, y)
    if slopes is not None:
        np.testing.assert_array_equal(of_x, slopes)
        assert not np.isnan(of_y).any()


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_gradients_of_nan_are_nan_however_they_are_computed(loss: Any) -> None:
    def f(a: Any) -> Any:
        return loss(a, torch.zeros(()))

    x, one = torch.tensor([nan, 1.0]), torch.tensor(nan)
    np.testing.assert_equal(torch.func.vmap(torch.func.grad(f))(x).tolist(), [nan, 1])
    assert math.isnan(torch.func.jvp(f, (one,), (torch.tensor(0.5),))[1])
    one.requires_grad_()
    for create_graph in (False, True):
        assert math.isnan(torch.autograd.grad(f(one), one, create_graph=create_graph)[0])
    x.requires_grad_()
    torch.compile(lambda a: loss(a, torch.zeros(2)))(x).backward()
    np.testing.assert_equal(x.grad.tolist(), [nan, 0.5])


def test_warnings_of_losses() -> None:
    x = torch.zeros(2, 3)
    with pytest.warns(
        UserWarning, match=r"Using a target size \(torch.Size\(\[3\]\)\) that is different to the input size"
    ):
        assert F.mse_loss(x, torch.ones(3)).item() == 1
    with pytest.warns(
        UserWarning, match="size_average and reduce args will be deprecated, please use reduction='sum' instead"
    ):
        assert F.mse_loss(x, torch.ones(2, 3), size_average=False).item() == 6
    with pytest.warns(UserWarning, match="reduction='none' instead"):
        assert F.l1_loss(x, torch.ones(2, 3), reduce=False).shape == (2, 3)
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(x, torch.ones(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.mse_loss(x, x)


def test_ctc_against_all_paths() -> None:
    """The loss by its definition: the probabilities of all paths that merge to the target, summed."""
    steps, classes = 5, 3
    p = F.softmax(rand(steps, 2, classes), -1)
    targets, lengths, sizes = [[1, 1], [2]], [5, 3], [2, 1]
    expected = []
    for n, target in enumerate(targets):
        total = 0.0
        for path in itertools.product(range(classes), repeat=lengths[n]):
            if [c for c, _ in itertools.groupby(path) if c] == target:
                total += math.prod(p[t, n, c].item() for t, c in enumerate(path))
        expected.append(-math.log(total))
    padded = torch.tensor([[1, 1], [2, 0]])
    close(F.ctc_loss(p.log(), padded, lengths, sizes, reduction="none"), expected, 1e-10)
    close(
        F.ctc_loss(p.log(), torch.tensor([1, 1, 2]), lengths, torch.tensor(sizes)),
        (expected[0] / 2 + expected[1]) / 2,
        1e-10,
    )
    x = rand(steps, 2, classes)
    assert torch.autograd.gradcheck(
        lambda x: F.ctc_loss(F.log_softmax(x, -1), padded, lengths, sizes, reduction="none"), (x,)
    )
    assert torch.autograd.gradgradcheck(
        lambda x: F.ctc_loss(F.log_softmax(x, -1), padded, lengths, sizes), (x,), fast_mode=True
    )


def test_ctc_of_a_target_that_does_not_fit() -> None:
    x = rand(3, 1, 4)
    args = (torch.tensor([[1, 1, 1]]), [3], [3])  # needs blanks between
    assert F.ctc_loss(F.log_softmax(x, -1), *args, reduction="none").tolist() == [INF]
    loss = F.ctc_loss(F.log_softmax(x, -1), *args, zero_infinity=True)
    assert loss.item() == 0 and (grads(loss, x)[0] == 0).all()


def test_cross_entropy_without_classes() -> None:
    for smoothing in (0.0, 0.1):
        assert F.cross_entropy(torch.zeros(2, 0), torch.zeros(2, 0), label_smoothing=smoothing).isnan()
    assert F.cross_entropy(torch.zeros(2, 0), torch.zeros(2, 0), reduction="none").tolist() == [0, 0]


@pytest.mark.parametrize("logits, targets", (("float32", "float64"), ("float64", "float32"), ("bfloat16", "float64")))
def test_binary_cross_entropy_of_logits_is_of_the_type_of_its_target(logits: str, targets: str) -> None:
    x = torch.zeros(2, dtype=getattr(torch, logits), requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, torch.ones(2, dtype=getattr(torch, targets)))
    loss.backward()
    assert loss.dtype is getattr(torch, targets) and x.grad.tolist() == [-0.25, -0.25]


def test_soft_margin_loss_of_complex_scores() -> None:
    x, t = torch.tensor([1 + 2j, -0.5j], requires_grad=True), torch.tensor([1.0, -1.0])
    loss, same = F.soft_margin_loss(x, t, reduction="none"), torch.log1p(torch.exp(-t * x))
    torch.testing.assert_close(loss, same)
    torch.testing.assert_close(torch.autograd.grad(loss.abs().sum(), x), torch.autograd.grad(same.abs().sum(), x))


def test_soft_margin_loss_of_unsigned_targets() -> None:
    """Their negatives would wrap around."""
    x = rand(3)
    slopes = [
        grads(F.soft_margin_loss(x, torch.tensor([1, 0, 2], dtype=dtype)), x)[0]
        for dtype in (torch.uint8, torch.float64)
    ]
    np.testing.assert_array_equal(*slopes)


@pytest.mark.torch
def test_ctc_against_pytorch() -> None:
    judge = pytest.importorskip("torch")
    x = rng.standard_normal((7, 3, 5))
    for reduction, zero in itertools.product(("none", "mean", "sum"), (False, True)):
        results = []
        for root in (torch, judge):
            leaf = root.from_numpy(x.copy()).requires_grad_()
            args = (root.tensor([[1, 2, 3], [1, 1, 4], [2, 0, 0]]), root.tensor([7, 5, 6]), root.tensor([3, 3, 1]))
            loss = root.nn.functional.ctc_loss(
                root.nn.functional.log_softmax(leaf, -1), *args, reduction=reduction, zero_infinity=zero
            )
            loss.sum().backward()
            results.append((loss.detach().numpy(), leaf.grad.numpy()))
        for got, expected in zip(*results):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("loss", (F.nll_loss, F.cross_entropy))
@pytest.mark.parametrize("reduction", ("none", "mean", "sum"))
@pytest.mark.parametrize("options", ({}, {"ignore_index": 1}))
def test_rows_of_a_jacobian_of_losses_of_classes_at_once(loss: Any, reduction: str, options: dict[str, Any]) -> None:
    """Where all targets count alike no array says so, which the rule of a batch of cotangents has to know."""
    random = np.random.default_rng(0)
    for shape in ((5, 3), (3,), (2, 3, 4)):
        x = torch.from_numpy(random.standard_normal(shape))
        places = (shape[0], *shape[2:]) if len(shape) > 1 else ()
        target = torch.arange(math.prod(places)).reshape(places) * 2 % 3
        f = functools.partial(loss, target=target, reduction=reduction, **options)
        jacobian = torch.autograd.functional.jacobian
        torch.testing.assert_close(jacobian(f, x, vectorize=True), jacobian(f, x))
        torch.testing.assert_close(torch.func.jacfwd(f)(x), jacobian(f, x))
        assert torch.autograd.gradgradcheck(f, (x.requires_grad_(),))


def test_one_row_of_classes_and_its_target() -> None:
    """A target of shape (1,) goes with a row without a batch; what else does not fit is refused in PyTorch's words."""
    x, target = torch.tensor([0.5, 1.0, 2.0], requires_grad=True), torch.tensor([1])
    for fn in (F.nll_loss, F.cross_entropy):
        for reduction in ("none", "mean", "sum"):
            loss, alone = (fn(x, t, reduction=reduction) for t in (target, target[0]))
            assert loss.shape == () and loss.item() == alone.item()
            np.testing.assert_array_equal(grads(loss, x)[0], grads(alone, x)[0])
        with pytest.raises(ValueError, match="For 1D input, 1D target must have size 1, but got target size: 2"):
            fn(x, torch.tensor([1, 2]))
        with pytest.raises(RuntimeError, match="0D or 1D target tensor expected, multi-target not supported"):
            fn(x, target[None])
    assert F.multi_margin_loss(x, target, reduction="none").shape == (1,)
    assert F.multi_margin_loss(x, target[0], reduction="none").shape == ()
    assert F.multi_margin_loss(x[None], target[0]).item() == F.multi_margin_loss(x[None], target).item()
    assert F.multilabel_margin_loss(x[:1], torch.tensor(0)).item() == 0
