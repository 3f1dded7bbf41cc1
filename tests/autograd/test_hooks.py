"""Hooks of tensors, nodes and leaves: order, what they may change, and on which version of a tensor they stay."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from functools import partial
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def one(torch: Any) -> Any:
    return torch.tensor(1.0, requires_grad=True)


def accumulator(x: Any) -> Any:
    return x.view_as(x).grad_fn.next_functions[0][0]


def doubler(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Double.apply


def test_order_at_a_leaf(torch: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    node = accumulator(x)

    def after(inputs: Any, outputs: Any) -> None:
        assert inputs == ()
        x.grad = outputs[0].mul(10)

    node.register_hook(after)
    x.register_post_accumulate_grad_hook(lambda t: [t.grad.add_(0.5)] and None)
    node.register_prehook(lambda gs: (gs[0].div(5.0),))
    x.register_hook(lambda g: g.sub(2.0))
    x.sum().backward()
    assert x.grad.tolist() == pytest.approx([3.0] * 3)  # ((1 - 2) / 5 + 0.5) * 10


def test_order_at_the_leaves_of_a_layer(torch: Any) -> None:
    log: list[str] = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    for name, p in net.named_parameters():
        p.register_hook(lambda g, name=name: log.append(name))
    net(torch.ones(4, 2)).sum().backward()
    assert log == ["1.bias", "1.weight", "0.bias", "0.weight"]


def test_order_at_a_node_and_what_grad_runs(torch: Any) -> None:
    log: list[int] = []
    first = lambda g: log.append(1) or g * 3  # noqa: E731
    second = lambda gs: log.append(2) or tuple(g * 2 for g in gs)  # noqa: E731
    a = one(torch)
    b = a.clone()
    b.grad_fn.register_prehook(second)
    b.register_hook(first)
    b.grad_fn.register_prehook(second)
    node = b.grad_fn.next_functions[0][0]
    a.register_hook(first)
    node.register_prehook(second)
    a.register_hook(first)
    b.sum().backward(retain_graph=True)
    assert log == [1, 2, 2, 1, 1, 2]
    log.clear()
    torch.autograd.grad(b.sum(), a, retain_graph=True)
    assert log == [1, 2, 2, 1, 1]
    log.clear()
    b.sum().backward(inputs=(b,))
    assert log == [1, 2, 2] and b.grad.item() == 3


def test_hooks_of_nodes_that_do_not_run(torch: Any) -> None:
    a = one(torch)
    b = a * 2
    c = b * 2
    counts = {"tensor": 0, "pre": 0, "post": 0}

    def count(name: str, *_: Any) -> None:
        counts[name] += 1

    for t in (a, b):
        t.register_hook(partial(count, "tensor"))
    for node in (b.grad_fn, b.grad_fn.next_functions[0][0]):
        node.register_hook(partial(count, "post"))
        node.register_prehook(partial(count, "pre"))

    def counted(run: Any) -> list[int]:
        counts.update(dict.fromkeys(counts, 0))
        run()
        return list(counts.values())

    assert counted(lambda: torch.autograd.grad(c, b, retain_graph=True)) == [1, 0, 0]
    assert counted(lambda: torch.autograd.grad(c, (a, b), retain_graph=True)) == [2, 1, 1]
    assert counted(lambda: c.backward(retain_graph=True)) == [2, 2, 2]
    assert counted(lambda: c.backward(inputs=(a, b), retain_graph=True)) == [2, 2, 2]


def test_hooks_elsewhere_do_not_run(torch: Any) -> None:
    def fail(*args: Any) -> None:
        raise AssertionError

    a, b = one(torch), one(torch)
    a.register_hook(fail)
    c = a.clone()
    accumulator(a).register_hook(fail)
    (a + b + c).sum().backward(inputs=[b])
    assert b.grad.item() == 1


@pytest.mark.parametrize("custom", [True, False])
def test_hooks_of_nodes_change_gradients(torch: Any, custom: bool) -> None:
    mul = doubler(torch) if custom else lambda x: x * 2
    a = leaf(torch, 1.0)
    b = mul(a)
    counts = [0, 0]

    def after(inputs: Any, outputs: Any) -> Any:
        assert outputs[0].tolist() == [8] and inputs[0].tolist() == [16] and counts[0] == 3
        counts[1] += 1
        return inputs

    def before(gs: Any) -> Any:
        counts[0] += 1
        return (gs[0] * 2,)

    b.grad_fn.register_hook(after)
    b.grad_fn.register_hook(after)
    for hook in (before, lambda gs: None, before, before, lambda gs: gs):
        b.grad_fn.register_prehook(hook)
    b.sum().backward()
    assert counts == [3, 2] and a.grad.tolist() == [16]


@pytest.mark.parametrize("custom", [True, False])
def test_hooks_removed_while_they_run(torch: Any, custom: bool) -> None:
    mul = doubler(torch) if custom else lambda x: x * 2
    counted: list[int] = []
    b = mul(leaf(torch, 1.0))
    handles: list[Any] = []
    b.grad_fn.register_prehook(lambda gs: [h.remove() for h in handles] and None)
    handles += [b.grad_fn.register_prehook(lambda gs: counted.append(1)) for _ in range(2)]
    handles[1].remove()
    b.sum().backward()
    assert counted == [1]  # removed too late for this time
    x = leaf(torch, 1.0)
    handle = x.register_hook(lambda g: counted.append(2))
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: counted.append(3)):
        x.sum().backward()
    x.sum().backward()
    assert counted == [1, 3]


def test_several_outputs(torch: Any) -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any, y: Any) -> Any:
            return k * x, k, k * y

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any, h: Any) -> Any:
            return g * 3, None, h * 3

    def before(gs: Any) -> Any:
        g, nothing, h = gs
        assert nothing is None
        return g * 2, None, h * 2

    a, b = leaf(torch, 1.0), leaf(torch, 1.0)
    c, _, d = Two.apply(a, 3, b)
    c.grad_fn.register_prehook(before)
    (c + d).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (6, 6)
    x = torch.rand(3, 3, requires_grad=True)
    var, mean = torch.var_mean(x, dim=0)
    mean.grad_fn.register_prehook(lambda gs: (gs[0] * 2, gs[1] * 2))
    (var + mean).sum().backward()
    y = x.detach().requires_grad_()
    var, mean = torch.var_mean(y, dim=0)
    (2 * var + 2 * mean).sum().backward()
    assert torch.allclose(x.grad, y.grad)


def test_results_of_hooks_are_checked(torch: Any) -> None:
    for bad, error, words in (
        (lambda g: 1, TypeError, "expected"),
        (lambda g: g.sum(), RuntimeError, "has changed the size of value"),
        (lambda g: g.double(), RuntimeError, "has changed the type of value"),
    ):
        y = leaf(torch, 1.0, 2.0) * 2
        y.register_hook(bad)
        with pytest.raises(error, match=words):
            y.sum().backward()

    class Callable:  # has no __name__
        def __call__(self, g: Any) -> Any:
            return g.clone()

    y = leaf(torch, 1.0) * 2
    y.register_hook(Callable())
    y.sum().backward()
    x = leaf(torch, 1.0)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None."):
        x.sum().backward()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(lambda t: None)
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError, match="doesn't require gradient"):
            getattr(torch.ones(1), register)(lambda g: None)


def test_a_hook_put_on_a_node_while_it_runs(torch: Any) -> None:
    def unpack(t: Any) -> Any:
        def halve(results: Any, gradients: Any) -> Any:
            seen.append(gradients)
            return tuple([None if r is None else r / 2 for r in results])

        torch._C._current_autograd_node().register_hook(halve)
        return t

    seen: list[Any] = []
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp()
    y.sum().backward()
    assert torch.allclose(x.grad, x.exp() / 2) and seen == [()]


def test_hooks_as_an_attribute(torch: Any) -> None:
    x = torch.ones(2)
    x._backward_hooks = hooks = OrderedDict()
    hooks[0] = lambda g: g * 3
    assert x._backward_hooks is hooks
    (x * torch.ones(2, requires_grad=True)).sum().backward()  # x wants no gradient


def test_hooks_stay_with_their_version(torch: Any) -> None:
    seen: list[Any] = []
    a = leaf(torch, 1.0)
    b = a.clone()
    b.register_hook(lambda g: seen.append(g.item()) or g * 2)
    b.mul_(2)
    b.register_hook(lambda g: seen.append(g.item()) or g * 2)
    b.sum().backward()
    assert seen == [1, 4] and a.grad.item() == 8
    for two in (partial(torch.var_mean, dim=0), lambda x: (x * 2, x * 3)):
        seen.clear()
        x, y = two(torch.rand(3, 3, requires_grad=True))
        x.register_hook(lambda g: seen.append(g.flatten()[0].item()))
        y.register_hook(lambda g: seen.append(g.flatten()[0].item()))
        x.mul_(2)
        x.register_hook(lambda g: seen.append(g.flatten()[0].item()))
        (x + y * 3).sum().backward()
        assert sorted(seen) == [1, 2, 3]


def test_retained_gradients_follow_the_newest_version(torch: Any) -> None:
    a = leaf(torch, 1.0).clone()
    a.retain_grad()
    a.mul_(2)
    a.mul_(2)
    a.sum().backward()
    assert a.grad.tolist() == [1]
    x = leaf(torch, 1.0).clone()
    x.retain_grad()
    view = x[:]
    view *= 2
    x *= 2
    x.sum().backward()
    assert x.grad.tolist() == [1]
    base = leaf(torch, 1.0).clone()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    assert view.grad.tolist() == other.grad.tolist() == [1]

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 3

    for f in (Two.apply, partial(torch.var_mean, dim=0)):
        var, mean = f(torch.rand(3, 3, requires_grad=True))
        var.retain_grad()
        mean.retain_grad()
        var.mul_(2)
        (var + mean).sum().backward()
        assert bool((var.grad == 1).all()) and bool((mean.grad == 1).all())


def test_retained_gradients_see_all_hooks_and_accumulate(torch: Any) -> None:
    for early in (True, False):
        b = one(torch).clone()
        for step in (b.retain_grad, lambda: b.register_hook(lambda g: g * 2))[:: 1 if early else -1]:  # noqa: B023
            step()
        b.register_hook(lambda g: g * 2)
        b.clone().backward()
        assert b.grad.item() == 4
    x = leaf(torch, 1.0)
    h = x * 3
    h.retain_grad()
    h.retain_grad()
    x.retain_grad()
    y = (h * h).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert h.grad.item() == 12 and h.retains_grad and not x.retains_grad
    ref = (lambda y: (y.retain_grad(), weakref.ref(y))[1])(x * 2)
    assert ref() is None


def test_hooks_of_views_after_a_write(torch: Any) -> None:
    def fail(g: Any) -> None:
        raise AssertionError("this version is not on the way")

    base = leaf(torch, 1.0).clone()
    view, other = base[:], base[:]
    view.register_hook(fail)
    other.register_hook(fail)
    view.mul_(2)
    other.grad_fn  # noqa: B018  (looks at where it is now)
    seen: list[Any] = []
    other.register_hook(lambda g: seen.append(g.item()))
    (view + other).sum().backward()
    assert seen == [1]


def test_post_accumulate_hooks(torch: Any) -> None:
    x = torch.rand(3, requires_grad=True)
    before = x.detach().clone()

    def step(t: Any) -> None:
        with torch.no_grad():
            t.sub_(t.grad)

    def four(t: Any) -> None:
        with torch.no_grad():
            t.mul_(4.0)

    x.register_post_accumulate_grad_hook(step)
    handle = x.register_post_accumulate_grad_hook(four)
    x.sum().backward()
    assert torch.allclose(x, 4 * (before - 1))
    handle.remove()


def test_hooks_live_as_long_as_what_they_hang_on(torch: Any) -> None:
    class Value:
        pass

    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        value, x = Value(), torch.rand(3, requires_grad=True)
        getattr(x, register)(lambda t, v=value: None)
        x.sum().backward()
        ref = weakref.ref(value)
        del value
        gc.collect()
        assert ref() is not None
        del x
        gc.collect()
        assert ref() is None


@pytest.mark.parametrize("on_tensor", [True, False])
@pytest.mark.parametrize("custom", [True, False])
def test_a_hook_that_holds_its_node(torch: Any, custom: bool, on_tensor: bool) -> None:
    class Value:
        pass

    calls: list[int] = []

    def scope() -> tuple[Any, Any]:
        a = one(torch)
        b = doubler(torch)(a) if custom else a.clone()
        node, value = b.grad_fn, Value()
        hook = lambda *_: calls.append(id(node) + id(value))  # noqa: E731
        (b if on_tensor else node).register_hook(hook)
        return b.clone(), weakref.ref(value)

    gc.disable()
    try:
        out, ref = scope()
        out.backward(retain_graph=True)
        gc.collect()
        out.backward(retain_graph=True)
        assert len(calls) == 2 and ref() is not None
        del out
        gc.collect()
        assert ref() is None
    finally:
        gc.enable()


# --- several tensors -------------------------------------------------------------------------------------------


def test_all_gradients_at_once(torch: Any) -> None:
    register = torch.autograd.graph.register_multi_grad_hook
    a, b, c, d = (leaf(torch, 1.0) for _ in range(4))
    a, b = a.mul(2), doubler(torch)(b)
    seen: list[Any] = []
    handle = register((a, b, c, d), lambda gs: seen.append([g is not None for g in gs]))
    out = (b * c).sum()
    out.backward(inputs=(b, c), retain_graph=True)
    out.backward(inputs=(a, d), retain_graph=True)
    out.backward(inputs=(a, c), retain_graph=True)
    assert seen == [[False, True, True, False], [False, False, True, False]]
    handle.remove()
    out.backward(inputs=(b, c))
    assert len(seen) == 2
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        register((a, b), lambda g: None, mode="foo")


def test_first_gradient_of_any(torch: Any) -> None:
    order: list[str] = []
    x = torch.randn(2, 3)
    lin = torch.nn.Linear(3, 3)

    def module(x: Any, name: str) -> Any:
        z = lin(x)
        out = z.sin(), z.cos()
        z.register_hook(lambda g: order.append(name))
        return out, torch.autograd.graph.register_multi_grad_hook(
            out, lambda g: order.append(f"any of {name}"), mode="any"
        )

    (a, b), first = module(x, "1")
    (c, d), second = module(a + b, "2")
    (c + d).sum().backward(retain_graph=True)
    assert order == ["any of 2", "2", "any of 1", "1"]
    first.remove()
    second.remove()
    (c + d).sum().backward()
    assert order[4:] == ["2", "1"]


# --- gradients as objects ---------------------------------------------------------------------------------------


def mark(g: Any) -> None:
    g.tag = 1


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_what_a_hook_sets_on_a_gradient_is_there_for_the_next(torch: Any, create_graph: bool) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y + 1
    first: list[Any] = []
    seen: dict[str, bool] = {}

    def look(name: str) -> Any:
        return lambda g, *_: seen.update({name: hasattr(g[0] if isinstance(g, tuple) else g, "tag")})

    z.register_hook(first.append)
    z.register_hook(mark)
    z.register_hook(look("the next hook"))
    z.grad_fn.register_prehook(look("a hook of the node"))
    z.grad_fn.register_hook(lambda came, went: look("what came in, afterwards")(went))
    y.register_hook(look("the node before, whose gradient is the same"))
    x.register_hook(look("a product: another gradient"))
    z.sum().backward(create_graph=create_graph)
    another = "a product: another gradient"
    assert hasattr(first[0], "tag")
    assert not seen.pop(another)
    assert len(seen) == 4 and all(seen.values()), seen
    assert not hasattr(x.grad, "tag")


def test_functions_and_modules_are_shown_what_hooks_set_and_hooks_what_functions_set(torch: Any) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            marked.append(hasattr(g, "tag"))
            result = g * 2
            mark(result)
            return result

    x = torch.ones(1, 2, requires_grad=True)
    y = x * 3
    marked: list[bool] = []
    y.register_hook(lambda g: marked.append(hasattr(g, "tag")))
    z = Doubled.apply(y)
    z.register_hook(mark)
    (gradient,) = torch.autograd.grad(z.sum(), y)
    assert marked == [True, True]
    assert hasattr(gradient, "tag")

    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_pre_hook(lambda module, g: mark(g[0]))
    layer.register_full_backward_hook(lambda module, i, o: marked.append(hasattr(o[0], "tag")))
    layer(x).sum().backward()
    assert marked == [True, True, True]


def test_gradients_that_are_shown_are_not_kept(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    kept: list[Any] = []
    y = x * 2
    y.register_hook(lambda g: kept.append(weakref.ref(g)))
    x.register_hook(lambda g: kept.append(kept[0]()))
    (y * 3).sum().backward()
    assert kept[1] is None
