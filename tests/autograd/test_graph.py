"""The graph as programs see it, edges as outputs and inputs, and what lives how long."""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
import weakref
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

import pullback

from .test_hooks import doubler


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_next_functions(torch: Any) -> None:
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    a = x + y
    kinds = [(type(f).__name__, n) for f, n in a.grad_fn.next_functions]
    assert kinds == [("AccumulateGrad", 0), ("AccumulateGrad", 0)]
    assert a.grad_fn.next_functions[0][0].variable is x and a.grad_fn is a.grad_fn
    b = a + 5
    assert b.grad_fn.next_functions[0][0] is a.grad_fn and b.grad_fn.next_functions[1][0] is None
    assert [x.unbind()[0].grad_fn.name(), a.grad_fn.next_functions[0][0].name()] == [
        "UnbindBackward0",
        "torch::autograd::AccumulateGrad",
    ]
    Node = torch.autograd.graph.Node
    assert (
        isinstance(a.grad_fn, Node)
        and isinstance(a.grad_fn.next_functions[0][0], Node)
        and issubclass(type(a.grad_fn), Node)
    )
    assert not isinstance(None, Node) and not isinstance(1, Node) and not isinstance(Node, Node)
    a.grad_fn.metadata["note"] = 1
    assert a.grad_fn.metadata == {"note": 1}


def test_input_metadata(torch: Any) -> None:
    x = torch.rand(3, 3, requires_grad=True)
    (m,) = (x * x).grad_fn._input_metadata
    assert list(m.shape) == [3, 3] and m.dtype is torch.float32 and m.device.type == "cpu"
    var, _ = torch.var_mean(x, dim=0)
    assert [list(m.shape) for m in var.grad_fn._input_metadata] == [[3], [3]]


def test_edges_as_inputs(torch: Any) -> None:
    edge = torch.autograd.graph.get_gradient_edge

    def check(out: Any, x: Any) -> None:
        assert (
            torch.autograd.grad(out.sum(), edge(x), retain_graph=True)[0].tolist()
            == torch.autograd.grad(out.sum(), x)[0].tolist()
        )

    x = torch.rand(2, requires_grad=True)
    check(x.clone(), x)
    x = x.clone()
    check(x.clone(), x)
    x = torch.var_mean(x)[1]
    check(x * 2, x)
    x = torch.rand(2, requires_grad=True).clone()
    before = edge(x)
    x *= 2
    old, new = torch.autograd.grad(x.sum(), (before, x))
    assert old.tolist() == [2, 2] and new.tolist() == [1, 1]
    x, y = (torch.rand(2, requires_grad=True).clone() for _ in range(2))
    made = [torch.autograd.graph.GradientEdge(t.grad_fn, t.output_nr) for t in (x, y)]
    assert [g.tolist() for g in torch.autograd.grad((x + 2 * y).sum(), made)] == [[1, 1], [2, 2]]
    out = x.clone()
    torch.autograd.grad(out.sum(), (made[0], y), allow_unused=True, materialize_grads=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(x.clone().sum(), (x, made[1]), allow_unused=True, materialize_grads=True)
    for inputs in ((made[0], y), (x, made[1]), tuple(made)):
        torch.autograd.backward(x.clone().sum(), inputs=inputs)
    with pytest.raises(RuntimeError, match="for a Tensor that does not require gradients"):
        edge(torch.ones(1))


def test_edges_as_outputs(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)

    def f(reduce: bool) -> tuple[Any, Any]:
        y = x.sin().cos()
        y = y.sum() if reduce else y
        return y.exp().clone().sin().sum(), torch.autograd.graph.get_gradient_edge(y)

    grad = torch.autograd.grad
    out, edge = f(True)
    (gy,) = grad(out, edge)
    in_two = grad(edge, x, grad_outputs=gy)[0]
    assert in_two.tolist() == pytest.approx(grad(f(True)[0], x)[0].tolist())
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar output"):
        grad(f(False)[1], x)
    grad(f(True)[1], x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(f(True)[1], x, grad_outputs=torch.ones(4))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        grad(f(True)[1], x, grad_outputs=torch.rand_like(gy, dtype=torch.complex64))
    edge = f(True)[1]
    torch.autograd.backward(edge, retain_graph=True)
    torch.autograd.backward((edge,), retain_graph=True)
    assert x.grad.tolist() == pytest.approx((2 * grad(edge, x)[0]).tolist())
    other, last = f(True)[1], f(True)[0]
    torch.autograd.backward((other, last))


def test_edges_hold_the_graph(torch: Any) -> None:
    out = torch.rand(1, requires_grad=True).clone().clone()
    edge = torch.autograd.graph.get_gradient_edge(out)
    torch.autograd.backward(edge)
    del out
    torch.autograd.backward(edge)


def test_bad_calls(torch: Any) -> None:
    x = torch.ones(1)
    y = x**2
    for call in (x.backward, lambda: torch.autograd.grad(x, y), lambda: torch.autograd.grad(y, x)):
        with pytest.raises(RuntimeError, match="does not require grad"):
            call()
    x = torch.ones(1, requires_grad=True)
    y = x.exp()
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(y, [])
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.backward(y, inputs=[])
    for args in ((x.detach(), x.detach()), ()):
        with pytest.raises(TypeError, match="expected 1 arguments, got . instead"):
            y.grad_fn(*args)
    assert x.exp().grad_fn(x.detach()).item() == pytest.approx(2.7182818)
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when"):
        torch.autograd.grad(y, x, allow_unused=False, materialize_grads=True)


def test_materialised_gradients(torch: Any) -> None:
    x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    (g,) = torch.autograd.grad(x * a, x, create_graph=True)
    assert torch.autograd.grad(g, x, allow_unused=True, retain_graph=True) == (None,)
    (h,) = torch.autograd.grad(g, x, create_graph=True, materialize_grads=True)
    assert h.item() == 0 and torch.autograd.grad(h, x, materialize_grads=True)[0].item() == 0
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for g in torch.autograd.grad((x**2).sum(), (x, y), materialize_grads=True):
        assert not g.requires_grad


def test_batched_seeds_are_checked(torch: Any) -> None:
    x = torch.randn(2, 2, requires_grad=True)
    seeds = torch.arange(3.0).expand(2, 2, 3).transpose(0, 2)
    (g,) = torch.autograd.grad(x.clone(), x, (seeds,), is_grads_batched=True)
    assert g.tolist() == seeds.tolist()
    for out, seed in ((x.clone(), torch.ones(2, 2)), (x.sum(), torch.ones(2, 1))):
        with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first"):
            torch.autograd.grad(out, x, (seed,), is_grads_batched=True)


def test_batched_seeds_pass_through_functions_without_a_rule_for_batches(torch: Any) -> None:
    twice = doubler(torch)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, noisy: bool) -> Any:
            ctx.save_for_backward(x)
            ctx.noisy = noisy
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return twice(g) * x + (torch.rand(2) if ctx.noisy else 0), None

    x = torch.tensor([3.0, 5.0], requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x, False), x, torch.eye(2), is_grads_batched=True, create_graph=True)
    assert g.tolist() == [[6, 0], [0, 10]]
    with pytest.raises(RuntimeError, match="vmap: We do not yet support calling random operations inside of vmap"):
        torch.autograd.grad(Square.apply(x, True), x, torch.eye(2), is_grads_batched=True)


def test_batches_of_seeds_are_differentiated_through_functions() -> None:
    """The second derivative, which PyTorch loses here."""
    import pullback as torch

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return CubeBackward.apply(x, g)

    class CubeBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, g: Any) -> Any:
            ctx.save_for_backward(x, g)
            return 3 * x * x * g

        @staticmethod
        def backward(ctx: Any, h: Any) -> Any:
            x, g = ctx.saved_tensors
            return 6 * x * g * h, 3 * x * x * h

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seeds = torch.tensor([[1.0, 3.0], [2.0, 5.0]], requires_grad=True)
    for f in (Cube.apply, lambda x: x**3):
        (g,) = torch.autograd.grad(f(x), x, seeds, is_grads_batched=True, create_graph=True)
        by_x, by_seeds = torch.autograd.grad((g * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), (x, seeds))
        assert by_x.tolist() == [6 * (1 + 6), 12 * (6 + 20)]
        assert by_seeds.tolist() == [[3, 24], [9, 48]]


def test_parts_of_a_graph_do_not_run(torch: Any) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise AssertionError("not on the way")

    y, z = leaf(torch, 1.0), leaf(torch, 1.0)
    x = Fails.apply(leaf(torch, 1.0) * 2)
    assert torch.autograd.grad(x.sum(), y, allow_unused=True) == (None,)
    gy, gz = torch.autograd.grad((x + z).sum(), (y, z), allow_unused=True)
    assert gy is None and gz is not None
    torch.autograd.backward(x.sum(), inputs=(y,))
    assert y.grad is None


def test_outputs_of_one_node_captured_together(torch: Any) -> None:
    x, called = torch.randn(4, 2, requires_grad=True), []
    a, b = x.chunk(2)
    x.register_hook(called.append)
    ga, gb = torch.autograd.grad((a + 2 * b).sum(), [a, b])
    assert ga.tolist() == [[1, 1]] * 2 and gb.tolist() == [[2, 2]] * 2 and not called and x.grad is None


@pytest.mark.skipif(sys.gettrace() is not None, reason="tracing makes long graphs slow")
def test_deep_graphs_are_freed_and_run(torch: Any) -> None:
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x = leaf(torch, 1.0)
    for step, depth in ((lambda y: y + y * 1e-6, 30000), (lambda y: Add.apply(y, y), 20000)):
        y = x.clone()
        for _ in range(depth):
            y = step(y)
        del y
    y = x.clone()
    for _ in range(20000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.item() == 1


def test_nothing_stays_alive(torch: Any) -> None:
    class Value:
        pass

    gc.disable()
    try:
        x = leaf(torch, 1.0)
        for create in (False, True):
            y = x.exp().sin()
            value = Value()
            ref = weakref.ref(value)
            y.grad_fn.metadata["value"] = value
            del value
            torch.autograd.grad(y.sum(), x, create_graph=create)
            assert ref() is not None
            x.grad = None
            del y
            assert ref() is None
    finally:
        gc.enable()


def test_reference_cycles_among_tensors(torch: Any) -> None:
    def scope() -> Any:
        x = torch.randn(10, requires_grad=True)
        y = x.view(10, 1)
        cycle: list[Any] = [y]
        cycle.append(cycle)
        return y.view(10)

    out = scope()
    gc.collect()
    out.backward(torch.ones(10))


def test_copies_and_pickles_of_leaves(torch: Any) -> None:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    x.data = torch.ones(3)
    for protocol in (2, 4):
        a, b = pickle.loads(pickle.dumps([x, y], protocol))
        assert a.tolist() == x.tolist() and (a.requires_grad, b.requires_grad) == (True, False)
    assert deepcopy(x).requires_grad
    with pytest.raises(RuntimeError):
        deepcopy(x * 2)


def test_leaf_gradients_lie_as_their_leaves(torch: Any) -> None:
    for order in (torch.contiguous_format, torch.channels_last):
        a = torch.rand(2, 3, 4, 5).to(memory_format=order).requires_grad_()
        b = torch.rand(2, 3, 4, 5)
        for y in (a.sum(), (a * b).sum(), (a.permute(0, 2, 1, 3) * 2).sum()):
            a.grad = None
            y.backward()
            assert a.grad.stride() == a.stride()
    c = torch.empty_strided((2, 2), (4, 2)).copy_(torch.ones(2, 2)).requires_grad_()
    for y in (c.sum(), (c * torch.ones(2, 2)).sum()):
        c.grad = None
        y.backward()
        assert c.grad.stride() == (2, 1)


@pytest.fixture
def warned_always(torch: Any) -> Iterator[None]:
    """Warnings that come once in a process stay for who looks at them."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("warned_always")
@pytest.mark.filterwarnings("ignore:Using backward")
def test_recorded_gradients_of_leaves_are_their_own(torch: Any) -> None:
    x, y, seed = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), torch.ones(2)
    (x + y).backward(seed, create_graph=True)
    x.grad.mul_(5)
    assert (x.grad.tolist(), y.grad.tolist(), seed.tolist()) == ([5, 5], [1, 1], [1, 1])
    w = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last).requires_grad_()
    w.permute(0, 2, 1, 3).exp().sum().backward(create_graph=True)
    assert w.grad.stride() == w.stride() and type(w.grad.grad_fn).__name__ == "CopyBackwards"
    (again,) = torch.autograd.grad(w.grad.sum(), w)
    assert torch.allclose(again, w.exp())


def test_leaves_given_another_shape_before_backward(torch: Any) -> None:
    def by_data(x: Any) -> None:
        x.data = torch.zeros(3)

    def by_set(x: Any) -> None:
        with torch.no_grad():
            x.set_(torch.zeros(3))

    for change in (by_data, by_set):
        x = torch.ones(2, 3, requires_grad=True)
        y = x * 2
        change(x)
        with pytest.raises(RuntimeError, match="shape"):
            y.sum().backward()
        del y
        (x + torch.ones(2, 3)).sum().backward()
        assert x.grad.tolist() == [2, 2, 2]


def test_index_arrays_and_masks_are_let_go(torch: Any) -> None:
    x, at = leaf(torch, 1.0, 2.0, 3.0), torch.tensor([1, 1])
    for f in (
        lambda x: x[[1, 1]],
        lambda x: x[x > 1],
        lambda x: x.gather(0, at),
        lambda x: x.index_select(0, at),
        lambda x: x.index_add(0, at, x[:2]),
        lambda x: x.index_put((at[:1],), x[0]),
        lambda x: x.masked_fill(x > 1, 0.0),
        lambda x: torch.where(x > 1, x, 0.0),
        lambda x: x.take(at),
        lambda x: x.masked_select(x > 1),
    ):
        y = f(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            y.backward()


def test_warnings(torch: Any) -> None:
    x = leaf(torch, 1.0)
    y = x * 2
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.grad((x * x).sum(), x, create_graph=True)
        y.retain_grad()
        assert x.grad is None and y.grad is None
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        torch.no_grad()(type("A", (), {}))


def test_questions_to_the_engine(torch: Any) -> None:
    C = torch._C
    a, b = torch.tensor(1.0, requires_grad=True), leaf(torch, 1.0)
    c = a * b
    d = c.cos()
    out = c.sum()
    asked: list[Any] = []

    def hook(g: Any) -> None:
        asked.append(
            (
                C._will_engine_execute_node(c.grad_fn),
                C._will_engine_execute_node(d.grad_fn),
                C._current_graph_task_id() >= 0,
            )
        )

    handle = c.register_hook(hook)
    out.backward(retain_graph=True)
    out.backward(inputs=(a,), retain_graph=True)
    torch.autograd.grad(out, a, retain_graph=True)
    assert (
        asked == [(True, False, True)] * 3 and C._current_graph_task_id() == -1 and C._current_autograd_node() is None
    )
    handle.remove()
    for call, words in (
        (C._current_graph_task_execution_order, "should only be called during the backward pass"),
        (lambda: C._will_engine_execute_node(c.grad_fn), "during the backward pass"),
        (lambda: C._will_engine_execute_node(c), "expects an grad_fn"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    y = a.clone().sin().exp()
    y.register_hook(lambda g: asked.append(", ".join(n.name() for n in C._current_graph_task_execution_order())))
    with torch.autograd.set_multithreading_enabled(False):
        y.backward()
    assert asked[-1] == "ExpBackward0, SinBackward0, CloneBackward0, torch::autograd::AccumulateGrad"
    z = C._functions.DelayedError("Boom!", 1)(a)
    with pytest.raises(RuntimeError, match="Boom!"):
        z.sum().backward()
    assert C._functions.UndefinedGrad()(b * 2).requires_grad and isinstance(
        c.grad_fn.next_functions[0][0], C._functions.AccumulateGrad
    )
    ref = C._WeakTensorRef(y)
    assert not ref.expired()
    del y
    assert ref.expired()


def test_linear_maps_show_their_neighbours_as_pytorch_does(torch: Any) -> None:
    x, linear = torch.ones(4, 2, requires_grad=True), torch.nn.Linear(2, 3)
    bias, input, turned = linear(x).grad_fn.next_functions
    assert bias[0].variable is linear.bias and input[0].variable is x
    assert turned[0].name() == "TBackward0" and turned[0].next_functions[0][0].variable is linear.weight
    first, second = (linear(x.detach() * 1).grad_fn for _ in range(2))
    assert first.next_functions[1] == (None, 0) and first.next_functions[2][0] == first.next_functions[2][0]
    plain = torch.nn.Linear(2, 3, bias=False)
    names = [n.name() for n, _ in plain(x).grad_fn.next_functions]
    assert names == ["torch::autograd::AccumulateGrad", "TBackward0"]
    plain.weight.requires_grad_(False)
    assert plain(x).grad_fn.next_functions[1] == (None, 0)
    loss = torch.nn.functional.mse_loss(linear(x).relu(), torch.zeros(4, 3))
    steps, node = [], loss.grad_fn
    while node is not None and node.next_functions:
        steps.append(node.name())
        node = node.next_functions[0][0]
    assert steps == ["MseLossBackward0", "ReluBackward0", "AddmmBackward0"]


def test_hooks_on_the_node_of_a_transposed_weight(torch: Any) -> None:
    x, linear, seen = torch.ones(4, 2), torch.nn.Linear(2, 3), []
    y = linear(x)
    node = y.grad_fn.next_functions[2][0]
    handle = node.register_hook(lambda inputs, outputs: seen.append((tuple(inputs[0].shape), tuple(outputs[0].shape))))
    node.register_prehook(lambda outputs: (outputs[0] * 2,))
    y.sum().backward(retain_graph=True)
    assert seen == [((3, 2), (2, 3))] and linear.weight.grad.tolist() == [[8, 8]] * 3
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1 and linear.weight.grad.tolist() == [[16, 16]] * 3 and linear.bias.grad.tolist() == [8] * 3


def test_a_leaf_that_was_given_memory_of_the_shape_it_was_broadcast_to() -> None:
    """The gradient is of the shape that it had, which nobody can tell from the gradient itself."""
    for f in (lambda x: x + pullback.ones(2, 3), lambda x: x * pullback.ones(2, 3)):
        x = pullback.ones(3, requires_grad=True)
        y = f(x)
        x.data = pullback.zeros(2, 3)
        with pytest.raises(RuntimeError, match="of the shape that it had"):
            y.sum().backward()


def test_a_leaf_whose_memory_was_away_meanwhile(torch: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * torch.ones(2, 3)
    kept, x.data = x.data, torch.zeros(0)
    x.data = kept
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_leaves_are_visited_in_pytorchs_order_only_while_some_have_hooks() -> None:
    torch, graph = pullback, pullback.core.graph
    before = len(graph.hooked_leaves)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: None)
    x.register_hook(lambda g: 2 * g)
    y.register_post_accumulate_grad_hook(lambda t: None)
    assert len(graph.hooked_leaves) == before + 2
    del x, y
    assert len(graph.hooked_leaves) == before
