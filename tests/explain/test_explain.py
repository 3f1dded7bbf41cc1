"""What `explain` gathers, and that it changes nothing in the program it looks at."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.autograd import engine

F = nn.functional


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def test_the_seed_program():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    e = torch.explain(y, torch.tensor([1.0, 0.5]))
    (step,) = e.steps
    assert (step.op, step.title, step.name, step.shape, step.dtype) == ("MulBackward0", "Mul", "y", (2,), "float32")
    assert step.code == "y = x * x" and step.file == __file__
    assert step.upstream[0].values == [1.0, 0.5]
    handed = [(d.argument, d.leaf, d.step, d.gradient.values) for d in step.downstream]
    assert handed == [("input", "x", None, [2.0, 1.5]), ("other", "x", None, [2.0, 1.5])]
    assert step.bytes == 16
    (leaf,) = e.leaves
    assert (leaf.name, leaf.gradient.values, len(leaf.uses)) == ("x", [4.0, 3.0], 2)
    (root,) = e.roots
    assert (root.name, root.step, root.seed.values, root.given) == ("y", 1, [1.0, 0.5], True)


def test_looking_changes_nothing():
    net, x = network(), torch.randn(5, 4)
    calls = []
    loss = net(x).square().mean()
    loss.register_hook(lambda g: calls.append("tensor"))
    net[0].weight.register_hook(lambda g: calls.append("leaf"))
    e = loss.explain()
    assert calls == [] and all(p.grad is None for p in net.parameters())
    assert "<lambda>" in e.steps[0].hooks
    loss.backward()  # the graph is still there
    assert calls == ["tensor", "leaf"]
    for leaf in e.recorded.leaves:
        np.testing.assert_array_equal(e.recorded.leaves[leaf][0], leaf.grad.numpy())
    with pytest.raises(RuntimeError, match="second time"):
        loss.explain()


def test_watching_changes_nothing():
    net, x = network(), torch.randn(5, 4)
    net(x).square().mean().backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    calls = []
    net[2].weight.register_hook(lambda g: calls.append(1))
    before = nn.Module.__call__, torch.Tensor.detach
    with torch.explain() as e:
        loss = net(x).square().mean()
        loss.backward()
    assert (nn.Module.__call__, torch.Tensor.detach) == before and not engine.observers and not engine.beginnings
    assert calls == [1]
    for p, g in zip(net.parameters(), expected):
        np.testing.assert_array_equal(p.grad.numpy(), g)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert [s.module for s in e.steps] == [None, None, "net.2", "net.1", "net.0"]


def test_blocks_that_overlap_in_any_order():
    net, before = network(), (nn.Module.__call__, torch.Tensor.detach)
    first, second = torch.explain(), torch.explain()
    first.__enter__()
    net(torch.randn(2, 4)).sum().backward()
    second.__enter__()
    net(torch.randn(2, 4)).sum().backward()
    first.__exit__(None, None, None)
    net(torch.randn(2, 4)).sum().backward()
    second.__exit__(None, None, None)
    assert [p.number for p in first.passes] == [p.number for p in second.passes] == [1, 2]
    assert [s.module for s in second.steps] == [None, "net.2", "net.1", "net.0"]
    assert (nn.Module.__call__, torch.Tensor.detach) == before


def test_nothing_is_loaded_when_not_used():
    program = """
import sys
import pullback as torch
net = torch.nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
loaded = [m for m in sys.modules if m.startswith("pullback.explain") or m == "rich"]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_what_is_watched_is_let_go():
    def watched():
        net = network()
        with torch.explain() as e:
            net(torch.randn(5, 4)).sum().backward()
        assert e.steps and e.findings == []
        return weakref.ref(e.recorded), weakref.ref(net[0].weight)

    recorded, weight = watched()
    gc.collect()
    assert recorded() is None and weight() is None


def test_modules_calls_and_names():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x):
            return torch.tanh(self.inner(torch.tanh(self.inner(x))))

    model = nn.Sequential(Twice())
    with torch.explain() as e:
        model(torch.randn(2, 3)).sum().backward()
    assert [(s.title, s.module, s.call) for s in e.steps] == [
        ("Sum", None, None), ("Tanh", "model.0", 1),
        ("Addmm", "model.0.inner", 2), ("Tanh", "model.0", 1), ("Addmm", "model.0.inner", 1)]  # fmt: skip
    assert {leaf.name: len(leaf.uses) for leaf in e.leaves} == {"model.0.inner.weight": 2, "model.0.inner.bias": 2}


def test_modules_by_their_parameters_where_the_forward_was_not_seen():
    net = network()
    e = net(torch.randn(2, 4)).sum().explain()
    assert [s.module for s in e.steps] == [None, "net.2", None, "net.0"]


def test_several_passes():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.explain(passes=2) as e:
        for k in range(4):
            (w * k).sum().backward()
    assert [p.number for p in e.passes] == [3, 4] and e.number == 4
    assert [p.leaves[0].gradient.values for p in e.passes] == [[2.0, 2.0], [3.0, 3.0]]
    assert e.leaves[0].before == pytest.approx(np.sqrt(2) * 3)


def test_autograd_grad_is_seen_too():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.explain() as e:
        (g,) = torch.autograd.grad((x**2).sum(), x)
    assert e.leaves[0].gradient.values == g.tolist() and x.grad is None


def test_second_order():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.explain() as e:
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    assert len(e.passes) == 2
    assert e.leaves[0].gradient.values == [6.0, 12.0]


def test_a_backward_inside_a_backward():
    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                y = ctx.saved_tensors[0].detach().requires_grad_()
                (inner,) = torch.autograd.grad((y * 2).sum(), y)
            return g * inner

    x = torch.ones(3, requires_grad=True)
    with torch.explain() as e:
        (Outer.apply(x) * 5).sum().backward()
    assert [[s.title for s in p.steps] for p in e.passes] == [["Sum", "Mul", "Outer"], ["Sum", "Mul"]]
    assert e.passes[0].leaves[0].gradient.values == [10.0] * 3


def test_a_pass_that_fails_is_explained_as_far_as_it_went():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no"), torch.explain() as e:
        Fails.apply(x).sum().backward()
    assert [s.title for s in e.steps] == ["Sum"] and e.leaves == []
    with torch.explain() as e:
        (x * 2).sum().backward()
    assert [s.title for s in e.steps] == ["Sum", "Mul"]


def test_inputs_limit_what_runs():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = a * 2
    y = (h * b).sum()
    e = y.explain(inputs=[b])
    assert [leaf.name for leaf in e.leaves] == ["b"] and [s.title for s in e.steps] == ["Sum", "Mul"]
    e = y.explain(inputs=h)
    np.testing.assert_array_equal(e.gradient(h), [1.0, 1.0])
    assert e.findings == []


def test_gradients_of_inner_values_by_tensor_and_by_name():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    hidden = torch.relu(x)
    first, second = (hidden * 3).split(1)
    with torch.explain() as e:
        (first * 5 + second).sum().backward()
    np.testing.assert_array_equal(e.gradient(hidden), [15.0, 3.0])
    np.testing.assert_array_equal(e.gradient("hidden"), [15.0, 3.0])
    np.testing.assert_array_equal(e.gradient(second), [1.0])
    np.testing.assert_array_equal(e.gradient("x"), [15.0, 0.0])
    with pytest.raises(KeyError, match="no variable 'nothing'"):
        e.gradient("nothing")


def test_several_outputs_and_seeds():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    e = torch.explain([x * 2, (x * x).sum()], [torch.tensor([1.0, 10.0]), None])
    assert [r.given for r in e.roots] == [True, False]
    assert e.leaves[0].gradient.values == [4.0, 24.0]


UNUSUAL = {"0-d": torch.tensor(3.0), "empty": torch.zeros(0, 4), "complex": torch.tensor([1 + 2j, 3j]), "half": torch.ones(3).half()}


@pytest.mark.parametrize("value", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_tensors(value):
    x = value.requires_grad_()
    e = torch.explain(x * x, torch.ones_like(x))
    assert e.leaves[0].gradient.shape == tuple(x.shape)
    assert str(e) and e.to_json()


def test_a_leaf_as_output():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    e = x.explain(torch.tensor([3.0, 4.0]))
    assert e.steps == [] and e.leaves[0].gradient.values == [3.0, 4.0]
    assert len(e.paths(x)) == 1 and str(e.paths(x))


def test_recorded_values_survive_the_optimizer():
    net, x = network(), torch.randn(5, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=10.0)
    with torch.explain() as e:
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    for leaf in e.recorded.leaves:
        total = sum(p.contribution for p in e.paths(leaf))
        np.testing.assert_allclose(total, e.recorded.leaves[leaf][0], rtol=1e-5, atol=1e-7)
        assert np.any(total)


def test_nothing_seen():
    e = torch.explain()
    assert repr(e) == "<Explanation: nothing seen yet>"
    with pytest.raises(RuntimeError, match="no backward pass"):
        e.steps  # noqa: B018


def test_refusals_are_those_of_backward():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.explain(x * 2)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.explain(x * 2, torch.ones(2))
