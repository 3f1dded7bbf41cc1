"""The compiled backward loop: gradients are those of the loop in Python, to the bit, and no reference leaks."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.core import record
from pullback.core.graph import LEAF, AccumulateGrad
from pullback.core.tensor import Tensor
from pullback.engine import graph_task
from pullback.engine.hooks import observe

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.eager import backward_loop as machine  # noqa: E402

from .test_small_operators import held  # noqa: E402

WALK, KEEP = machine.run_nodes(graph_task, Tensor), machine.accumulate_grad(Tensor, LEAF)
calls: list[Any] = []


def counting(*args: Any) -> Any:
    calls.append(args[0])
    return WALK(*args)


class Odd(torch.autograd.Function):
    """Two outputs, of which one may go unused, and an argument without a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, times: int) -> Any:
        ctx.times = times
        return x * times, x + 1

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * ctx.times + h, None


def chain(x: Any, y: Any) -> Any:
    return [((x * y).sin() * x - y / 3).sum()]


def branches(x: Any, y: Any) -> Any:
    a = x.exp()
    b = a * y
    return [(a * b + b.tanh() * a).sum()]


def broadcast(x: Any, y: Any) -> Any:
    return [((x + y[:1]) * y[:, :1]).mean()]


def outputs(x: Any, y: Any) -> Any:
    first, *_, last = (x * 2).unbind(1)
    a, b = Odd.apply(y, 3)
    values, _ = (x * y).max(1)
    return [(first * last).sum() + a.sum() + (b * b).sum() + values.sum()]


def one_unused(x: Any, y: Any) -> Any:
    return [Odd.apply(x * y, 2)[1].sum()]


def doubles(x: Any, y: Any) -> Any:
    return [(x.double() * 2).sum() + y.sum()]


def complex_numbers(x: Any, y: Any) -> Any:
    return [((x + 1j * y) * (x - 2j)).abs().sum()]


def large(x: Any, y: Any) -> Any:
    return [(x.repeat(40, 20) * 2).sigmoid().sum() + y.sum()]


def seeded(x: Any, y: Any) -> Any:
    return [x * y, x - y, x]


def same_again(x: Any, y: Any) -> Any:
    return [(x + x + x.T.T + y.view(-1).view(3, 4)).sum()]


def hooked(x: Any, y: Any) -> Any:
    a = x * y
    a.register_hook(lambda g: g * 2)
    a.retain_grad()
    b = a.exp()
    b.grad_fn.register_hook(lambda ins, outs: tuple(g + 1 for g in ins))
    return [b.sum()]


def layers(x: Any, y: Any) -> Any:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4, bias=False), nn.Sigmoid())
    return [nn.functional.mse_loss(net(x), y), *(p.sum() for p in net.parameters())]


PROGRAMS = [
    chain,
    branches,
    broadcast,
    outputs,
    one_unused,
    doubles,
    complex_numbers,
    large,
    seeded,
    same_again,
    hooked,
    layers,
]


def go_by(walk: Callable | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_task, "native_walk", walk)
    monkeypatch.setattr(graph_task, "native_accumulate", None if walk is None else KEEP)


@pytest.fixture
def by_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    go_by(WALK, monkeypatch)


def gradients(program: Callable, walk: Callable | None, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[Any]:
    go_by(walk, monkeypatch)
    rng = np.random.default_rng(0)
    x, y = (torch.tensor(rng.normal(size=(3, 4)), dtype=torch.float32, requires_grad=True) for _ in range(2))
    roots = program(x, y)
    for _ in range(2 if options.get("retain_graph") else 1):
        torch.autograd.backward(roots, [torch.full_like(r, 1.5) for r in roots], **options)
    return [None if t.grad is None else (t.grad.tolist(), t.grad.dtype, t.grad.stride()) for t in (x, y)]


@pytest.mark.parametrize("options", [{}, {"retain_graph": True}], ids=["once", "twice"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_python(
    program: Callable, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls.clear()
    ours = gradients(program, counting, monkeypatch, **options)
    assert calls
    assert ours == gradients(program, None, monkeypatch, **options)


@pytest.mark.parametrize("program", PROGRAMS)
def test_observers_are_told_the_same(program: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each node, with what it still holds, what reached it and what it gives."""

    def told(walk: Callable | None) -> Any:
        seen: list[Any] = []

        def note(node: Any, came: Any, left: Any) -> None:
            arrays = [[None if g is None else (g.dtype, g.tolist()) for g in gs] for gs in (came, left)]
            seen.append((node.name(), node._saved is not graph_task.FREED, *arrays))

        with observe(note):
            return gradients(program, walk, monkeypatch), seen

    assert told(WALK) == told(None)


def identity(name: str, backward: Callable) -> Callable:
    """A custom Function with this backward."""
    methods = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), methods).apply


@pytest.mark.usefixtures("by_machine")
def test_the_running_node_is_known() -> None:
    """By its name and number, and hooks that its rule puts on it are called."""

    def asks(ctx: Any, g: Any) -> Any:
        node = torch._C._current_autograd_node()
        met.append((node.name(), node is y.grad_fn))
        node.register_hook(lambda results, gradients: (results[0] * 10,))
        return g

    met: list[Any] = []
    x = torch.ones(3, requires_grad=True)
    y = identity("Asks", asks)(x.exp())
    (y * 2).sum().backward()
    assert met == [("AsksBackward", True)]
    assert np.allclose(x.grad, 20 * np.e)


@pytest.mark.usefixtures("by_machine")
def test_gradients_own_their_memory() -> None:
    x, y, seed = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True), torch.ones(3)
    (x + y).backward(seed)
    x.grad.add_(1)
    assert y.grad.tolist() == seed.tolist() == [1, 1, 1]


@pytest.mark.usefixtures("by_machine")
def test_what_observers_are_told_belongs_to_nobody_else() -> None:
    handed: list[Any] = []
    x = torch.ones(3, requires_grad=True)
    with observe(lambda node, came, left: handed.extend(left)):
        (x.exp() * 3).sum().backward()
    x.grad.zero_()
    assert np.allclose(handed[-1], 3 * np.e)


def failing(x: Any, y: Any) -> Any:
    def fails(ctx: Any, g: Any) -> Any:
        raise KeyError("no gradient today")

    return (identity("Fails", fails)(x * y) * 2).sum()


@pytest.mark.usefixtures("by_machine")
def test_errors_name_the_line_and_change_nothing() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(KeyError, match="no gradient today"):
        failing(x, x.exp()).backward()
    assert x.grad is None
    z = (x.exp() * x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()
    w = x.exp()
    loss = (w * w).sum()
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert np.allclose(x.grad.numpy(), 2 * np.e)


def refusing(node: Any, came: Any, left: Any) -> None:
    if node._saved and not isinstance(node, AccumulateGrad):
        raise KeyError("an observer's own")


@pytest.mark.usefixtures("by_machine")
@pytest.mark.parametrize(
    "observer", [None, lambda node, came, left: None, refusing], ids=["alone", "observed", "refused"]
)
@pytest.mark.parametrize("program", [*PROGRAMS, failing])
def test_references_are_given_back(
    program: Callable, observer: Callable | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_count", -float("inf"))  # nothing is loaded on the way
    x, y = torch.ones(3, 4, requires_grad=True), torch.full((3, 4), 2.0, requires_grad=True)
    watched = (
        x,
        y,
        x._array,
        y._array,
        graph_task.FREED,
        Tensor,
        graph_task.deliver,
        graph_task.add_grads,
        graph_task.unbroadcast_for_edge,
    )

    def once() -> None:
        x.grad = y.grad = None
        roots = program(x, y)
        with observe(observer), contextlib.suppress(KeyError):
            torch.autograd.backward(roots, [torch.ones_like(r) for r in roots] if isinstance(roots, list) else None)

    once()
    gc.collect()
    before = len(gc.get_objects())
    assert held(once, *watched) == [0] * len(watched)
    assert len(gc.get_objects()) - before < 20
