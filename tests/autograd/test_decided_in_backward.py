"""What backward decides when it runs, not when the graph is recorded: which leaves accumulate, what can run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback


@pytest.fixture(params=["cold", "warm"])
def speed(torch: Any, request: Any) -> None:
    """Once as a program begins, and once after it has recorded so much that machine code is used."""
    if request.param == "warm":
        x = torch.ones(2, requires_grad=True)
        for _ in range(2600):
            y = x * x
        y.sum().backward()


@pytest.fixture(params=[2, 5000])
def leaves(torch: Any, speed: None, request: Any) -> Any:
    """Two leaves, and a function that tells what arrived for tensors: the first element of ``.grad``."""
    w = torch.full((request.param,), 3.0, requires_grad=True)
    v = torch.full((request.param,), 2.0, requires_grad=True)
    return w, v, lambda *xs: [None if x.grad is None else x.grad[0].item() for x in xs]


FREEZE: dict[str, Callable] = {
    "requires_grad_": lambda w: w.requires_grad_(False),
    "detach_": lambda w: w.detach_(),
    "requires_grad": lambda w: setattr(w, "requires_grad", False),
}


@pytest.mark.parametrize("freeze", FREEZE)
def test_a_frozen_leaf_does_not_accumulate(freeze: str, torch: Any, leaves: Any) -> None:
    w, v, grads = leaves
    product, power = (w * v).sum(), (2**w).sum()
    FREEZE[freeze](w)
    product.backward(retain_graph=True)
    power.backward()
    assert grads(w, v) == [None, 3.0]
    w.grad = torch.ones_like(w)
    product.backward(retain_graph=True)
    assert grads(w, v) == [1.0, 6.0]
    w.requires_grad_()
    product.backward()
    assert grads(w, v) == [3.0, 9.0]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_by_every_way_into_the_engine(torch: Any, leaves: Any) -> None:
    w, v, grads = leaves
    edge = torch.autograd.graph.get_gradient_edge(w)
    y, view = (w * v).sum(), w.view(-1)
    w.requires_grad_(False)
    y.backward(create_graph=torch.__name__ == "pullback", retain_graph=True)  # PyTorch warns only once
    (view * v).sum().backward()
    assert grads(w, v) == [None, 6.0]
    y.backward(inputs=[edge], retain_graph=True)
    assert grads(w) == [None] and torch.autograd.grad(y, edge, retain_graph=True)[0][0] == 2.0
    assert torch.autograd.grad(y, v, retain_graph=True)[0][0] == 3.0
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        torch.autograd.grad(y, w, retain_graph=True)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        y.backward(inputs=[v, w])
    assert grads(w, v) == [None, 6.0]


def test_second_derivatives(torch: Any, leaves: Any) -> None:
    w, v, grads = leaves
    (g,) = torch.autograd.grad((w * w * v).sum(), v, create_graph=True)
    w.requires_grad_(False)
    g.sum().backward()
    assert grads(w, v) == [None, None]


@pytest.mark.parametrize("freeze", FREEZE)
def test_hooks_of_a_frozen_leaf_are_called(freeze: str, torch: Any, leaves: Any) -> None:
    w, v, grads = leaves
    y, called = (w * v).sum(), []
    w.register_hook(lambda g: called.append("tensor"))
    w.register_post_accumulate_grad_hook(lambda w: called.append("accumulated"))
    FREEZE[freeze](w)
    y.backward()
    assert called == ["tensor", "accumulated"] and grads(w, v) == [None, 3.0]


def test_a_hook_that_freezes(torch: Any, leaves: Any) -> None:
    w, v, grads = leaves
    h = w * 1
    h.register_hook(lambda g: setattr(w, "requires_grad", False))
    (h * v).sum().backward()
    assert grads(w, v) == [None, 3.0]


def test_a_leaf_that_became_a_result(torch: Any, leaves: Any) -> None:
    """Written into with a history, it cannot accumulate any more; others do."""
    w, v, _ = leaves
    y = (w + v).sum()
    w.requires_grad_(False)
    w.mul_(v)
    assert torch.autograd.grad(y, v, retain_graph=True)[0][0] == 1.0
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.backward()


def test_inputs_that_are_no_leaves_accumulate_once(torch: Any, leaves: Any) -> None:
    """Asked for twice, or by ``retain_grad``, too; and from then on in every backward."""
    w, v, grads = leaves
    h = w * 2
    h.retain_grad()
    y = (h * v).sum()
    y.backward(inputs=[h, h], retain_graph=True)
    assert grads(w, v, h) == [None, None, 2.0]
    z = w * 5
    (z + v).sum().backward(inputs=[z], retain_graph=True)
    assert z.retains_grad and grads(z) == [1.0]
    (z + v).sum().backward()
    assert grads(z) == [2.0]


# name: what saves nothing that backward needs, of a matrix with gradient
TWICE: dict[str, Callable] = {
    "cat": lambda t, x: t.cat([x.sum_to_size(1, 1)] * 2),
    "stack": lambda t, x: t.stack([x, x], 1),
    "hstack": lambda t, x: t.hstack([x, t.ones(2, 1)]),
    "block_diag": lambda t, x: t.block_diag(x, x),
    "lerp": lambda t, x: t.lerp(x, x + 1, 0.3),
    "addmm": lambda t, x: t.addmm(x, t.ones(2, 4), t.ones(4, 3)),
    "linear": lambda t, x: t.nn.functional.linear(t.ones(2, 4), t.ones(3, 4), x[0]),
    "addcmul": lambda t, x: t.addcmul(x, x.detach(), x.detach(), value=2),
    "fmod": lambda t, x: t.fmod(x, t.ones(3)),
    "affine_grid": lambda t, x: t.nn.functional.affine_grid(x[None], (1, 1, 4, 5), align_corners=False),
}


@pytest.mark.parametrize("name", TWICE)
def test_backward_twice_where_nothing_was_saved(name: str, torch: Any) -> None:
    x = torch.rand(2, 3).requires_grad_()
    y = TWICE[name](torch, x).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert torch.equal(x.grad, 2 * once)


def test_backward_twice_through_what_was_saved(torch: Any) -> None:
    x, y = torch.rand(2, 3).requires_grad_(), torch.rand(2, 3)
    for z in (
        x * y,
        x * 2,
        2 / (x + 1),
        (x + 0).mul_(2),
        x.exp(),
        torch.einsum("ij,ij->i", x, y),
        x[torch.tensor([0, 1])],
    ):
        z.sum().backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            z.sum().backward()


def test_data_that_was_replaced() -> None:
    """Backward computes with what forward saw; PyTorch uses the new values."""
    w, v = pullback.tensor([3.0], requires_grad=True), pullback.tensor([2.0], requires_grad=True)
    y = (w * v).sum()
    w.data = pullback.tensor([7.0])
    y.backward()
    assert (w.grad.item(), v.grad.item()) == (2.0, 3.0)
