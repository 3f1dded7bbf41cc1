"""Gradients that PyTorch gets wrong, or gives as NaN. ``docs/differences.md`` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import grad, gradcheck, gradgradcheck

INF = float("inf")


def double(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def first(f: Callable[..., Any], *inputs: Any) -> list[Any]:
    return [g.tolist() for g in grad(f(*inputs).sum(), inputs)]


def second(f: Callable[..., Any], x: Any) -> list[float]:
    (g,) = grad(f(x).sum(), x, create_graph=True)
    return grad(g.sum(), x)[0].tolist()


@pytest.mark.parametrize("det", [torch.det, torch.linalg.det])
def test_determinant_of_a_singular_matrix(det: Any) -> None:
    """Its gradient is the matrix of cofactors, of any rank."""
    (g,) = first(det, double([1.0, 2.0], [2.0, 4.0]))
    assert np.allclose(g, [[4, -2], [-2, 1]])
    (g,) = first(det, double([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 5.0]))
    assert np.allclose(g, [[14, -10, 2], [-7, 5, -1], [0, 0, 0]])
    (g,) = first(det, double([0.0, 0.0], [0.0, 0.0]))
    assert np.allclose(g, 0)


def test_ctc_loss_to_log_probabilities() -> None:
    """Also where they do not come out of log_softmax."""
    log_probs = torch.log_softmax(
        torch.tensor([[[0.1, 0.2, 0.3]], [[0.3, 0.1, 0.2]], [[0.5, 0.1, 0.9]]], dtype=torch.float64), -1
    )

    def loss(x: Any) -> Any:
        return torch.nn.functional.ctc_loss(x, torch.tensor([[1, 2]]), torch.tensor([3]), torch.tensor([2]))

    assert gradcheck(loss, (log_probs.requires_grad_(),))


def test_layer_norm_over_one_element() -> None:
    """The result is constant."""
    x = torch.tensor([[3.1], [5.3]], requires_grad=True)
    assert first(lambda x: torch.nn.functional.layer_norm(x, (1,)), x) == [[[0.0], [0.0]]]


def test_two_writes_to_one_slot() -> None:
    """Only the write that survived has a gradient."""

    def write(v: Any) -> Any:
        y = torch.zeros(2, dtype=torch.float64)
        y[[0, 0]] = v
        return y

    assert first(write, double(1.0, 2.0)) == [[0.0, 1.0]]


def test_second_derivative_of_sinc_at_zero() -> None:
    assert second(torch.sinc, double(0.0)) == pytest.approx([-(np.pi**2) / 3])
    assert gradgradcheck(torch.sinc, (double(0.5, -2.0),))


def test_sums_of_exponentials_of_nothing() -> None:
    assert first(lambda x: torch.logsumexp(x, 0), double(-INF, -INF)) == [[0, 0]]
    assert first(torch.logaddexp, double(-INF), double(-INF)) == [[0.5], [0.5]]
    assert first(lambda x: torch.logcumsumexp(x, 0), double(-INF, -INF, 0.0)) == [[0, 0, 1]]


def test_an_ignored_row_of_infinities() -> None:
    x = double([-INF, -INF], [1.0, 2.0])
    (g,) = first(lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([-100, 1])), x)
    assert g[0] == [0, 0] and np.allclose(g[1], [0.26894142, -0.26894142])
    x = double([-INF] * 2000, [1.0, 2.0] * 1000)  # large enough for a kernel
    (g,) = first(lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([-100, 1])), x)
    assert g[0] == [0] * 2000 and np.isclose(sum(g[1]), 0)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("f", [torch.scatter_reduce, torch.index_reduce])
def test_product_of_several_zeros_in_one_place(f: Callable[..., Any], include_self: bool) -> None:
    """PyTorch refuses its second derivative: that by two of the zeros is the product of all others."""
    index, src = torch.tensor([0, 0, 0, 1, 1, 1]), double(0.0, 0.0, 3.0, 0.0, 0.0, 0.0)

    def reduced(input: Any, src: Any) -> Any:
        return f(input, 0, index, src, "prod", include_self=include_self)

    assert gradcheck(reduced, (double(2.0, 5.0), src)) and gradgradcheck(reduced, (double(2.0, 5.0), src))
    h = torch.func.hessian(lambda src: reduced(double(2.0, 5.0).detach(), src).sum())(src.detach())
    assert h[0, 1] == h[1, 0] == (6 if include_self else 3) and h.abs().sum() == 2 * h[0, 1].item()


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: torch.nn.functional.layer_norm(x, (4,)),
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
        lambda x: torch.nn.functional.instance_norm(x[None])[0],
    ],
    ids=["layer", "batch", "instance"],
)
def test_third_derivative_of_norms(norm: Callable[..., Any]) -> None:
    x, seed = (
        double(*np.random.default_rng(0).standard_normal((3, 4)).tolist()),
        torch.arange(12.0, dtype=torch.float64).reshape(3, 4).sin(),
    )
    assert gradgradcheck(lambda x: grad(norm(x), x, seed, create_graph=True)[0], x)
