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
from pullback.core.tensor import on_detach
from pullback.engine import hooks
from pullback.nn.modules.hooks import watchers

F = nn.functional


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def nobody_listens() -> bool:
    return not (hooks.observers or hooks.begin_observers or watchers or on_detach)


def doubling(backward):
    """A custom Function that doubles, with this derivative."""
    members = {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(backward)}
    return type("Doubling", (torch.autograd.Function,), members).apply


def test_the_seed_program():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    e = torch.explain(y, torch.tensor([1.0, 0.5]))
    (step,) = e.steps
    assert (step.op, step.title, step.name, step.shape, step.dtype) == ("MulBackward0", "mul", "y", (2,), "float32")
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
    with torch.explain() as e:
        loss = net(x).square().mean()
        loss.backward()
    assert nobody_listens()
    assert calls == [1]
    for p, g in zip(net.parameters(), expected):
        np.testing.assert_array_equal(p.grad.numpy(), g)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert [s.module for s in e.steps] == [None, None, "net.2", "net.1", "net.0"]


def test_where_gradients_go():
    x = torch.ones(2, requires_grad=True)
    h = x.exp()
    with torch.explain() as e:
        torch.autograd.grad((h * h).sum(), h)
    assert e.complete and "→ returned" in str(e) and "leaves" not in str(e).replace("0 leaves", "")
    w = x.exp()
    loss = (w * w).sum()
    w.add_(1)
    with torch.explain() as e, pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert not e.complete and "Backward pass 1, broken off" in str(e) and "→ broken off" in str(e)
    assert e.to_dict()["complete"] is False and '"complete":false' in e.to_html()


def test_blocks_that_overlap_in_any_order():
    net = network()
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
    assert nobody_listens()


def test_nothing_is_loaded_when_not_used():
    program = """
import sys
import pullback as torch
net = torch.nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
loaded = [m for m in sys.modules if m.startswith("pullback.explain") or m == "rich"]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


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
        ("sum", None, None),
        ("tanh", "model.0", 1),
        ("linear 3→3", "model.0.inner", 2),
        ("tanh", "model.0", 1),
        ("linear 3→3", "model.0.inner", 1),
    ]
    assert {leaf.name: len(leaf.uses) for leaf in e.leaves} == {"model.0.inner.weight": 2, "model.0.inner.bias": 2}


def test_calls_are_counted_in_their_own_pass():
    judge, generator = nn.Linear(2, 1), nn.Linear(3, 2)
    with torch.explain() as e:
        for _ in range(3):
            fake = generator(torch.ones(4, 3))
            (judge(torch.ones(4, 2)) - judge(fake.detach())).mean().backward()
            judge(torch.zeros(4, 2))
            judge(fake).mean().backward()
    of_judge, of_generator = e.passes[-2:]
    assert [s.call for s in of_judge.steps if s.module == "judge"] == [2, 1]
    assert [(s.module, s.call) for s in of_generator.steps if s.module] == [("judge", 1), ("generator", 1)]


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
    def backward(ctx, g):
        with torch.enable_grad():
            y = torch.ones(3, requires_grad=True)
            (inner,) = torch.autograd.grad((y * 2).sum(), y)
        return g * inner

    x = torch.ones(3, requires_grad=True)
    with torch.explain() as e:
        (doubling(backward)(x) * 5).sum().backward()
    assert [[s.title for s in p.steps] for p in e.passes] == [["sum", "mul", "Doubling"], ["sum", "mul"]]
    assert e.passes[0].leaves[0].gradient.values == [10.0] * 3


def test_a_pass_that_fails_is_explained_as_far_as_it_went():
    def backward(ctx, g):
        raise ValueError("no")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no"), torch.explain() as e:
        doubling(backward)(x).sum().backward()
    assert [s.title for s in e.steps] == ["sum"] and e.leaves == []
    with torch.explain() as e:
        (x * 2).sum().backward()
    assert [s.title for s in e.steps] == ["sum", "mul"]


def test_inputs_limit_what_runs():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = a * 2
    y = (h * b).sum()
    e = y.explain(inputs=[b])
    assert [leaf.name for leaf in e.leaves] == ["b"] and [s.title for s in e.steps] == ["sum", "mul"]
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


UNUSUAL = {
    "0-d": torch.tensor(3.0),
    "empty": torch.zeros(0, 4),
    "complex": torch.tensor([1 + 2j, 3j]),
    "half": torch.ones(3).half(),
}


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


# --- what the program writes into afterwards


def test_kernels_compute_the_same_while_somebody_looks():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10)), torch.randn(64, 64)
    F.cross_entropy(net(x), torch.arange(64) % 10).backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    with torch.explain():
        F.cross_entropy(net(x), torch.arange(64) % 10).backward()
    for p, g in zip(net.parameters(), expected):
        assert p.grad.numpy().tobytes() == g.tobytes()


def test_seeds_and_returned_gradients_may_be_overwritten():
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    with torch.explain() as e:
        (x**2).backward(v)
        v.zero_()
        x.grad.zero_()
        (g,) = torch.autograd.grad((x**3).sum(), x)
        g.zero_()
    first, second = e.passes
    assert first.roots[0].seed.values == first.steps[0].upstream[0].values == [1.0, 1.0]
    assert first.leaves[0].gradient.values == [2.0, 4.0]
    assert second.leaves[0].gradient.values == second.steps[-1].downstream[0].gradient.values == [3.0, 12.0]


def test_hooks_that_write_into_what_they_are_shown():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.explain() as e:
        h = x * 2
        h.register_hook(lambda g: [g.mul_(7)] and None)
        h.retain_grad()
        (h * 3).sum().backward()
        h.grad.zero_()
    assert e.steps[1].downstream[0].gradient.values == [3.0, 3.0]
    assert e.steps[2].upstream[0].values == [21.0, 21.0]
    (path,) = e.paths(x)
    assert path.hooked and path.contribution.tolist() == x.grad.tolist()


def test_a_custom_function_that_writes_into_its_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.explain() as e:
        (doubling(lambda ctx, g: g.mul_(2))(x) * 3).sum().backward()
    assert e.steps[1].downstream[0].gradient.values == [3.0, 3.0]
    assert e.leaves[0].gradient.values == [6.0, 6.0]


def test_an_optimizer_that_steps_inside_of_backward():
    torch.manual_seed(0)
    net = network()
    optimizers = {p: torch.optim.SGD([p], lr=1.0) for p in net.parameters()}
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(lambda p: [optimizers[p].step(), optimizers[p].zero_grad()] and None)
    with torch.explain() as e:
        net(torch.randn(5, 4)).square().mean().backward()
    assert len(e.leaves) == 4
    for leaf in e.recorded.leaves:
        total = sum(p.contribution for p in e.paths(leaf))
        np.testing.assert_allclose(total, e.recorded.leaves[leaf][0], rtol=1e-5, atol=1e-6)


# --- other values


def test_sparse_gradients():
    emb = nn.Embedding(10, 3, sparse=True)
    with torch.explain() as e:
        (emb(torch.tensor([1, 2, 1])).sum() * emb(torch.tensor([[2, 5]])).square().sum()).backward()
    (leaf,) = e.leaves
    dense = emb.weight.grad.to_dense().numpy()
    assert leaf.gradient.stored == 9 and [u.gradient.stored for u in leaf.uses] == [6, 6]
    np.testing.assert_allclose(leaf.gradient.values, dense, rtol=1e-6)
    np.testing.assert_allclose(e.gradient(emb.weight), dense, rtol=1e-6)
    np.testing.assert_allclose(sum(p.contribution for p in e.paths(emb.weight)), dense, rtol=1e-5)
    assert "sparse, 9 stored" in str(e)


def test_sparse_gradients_before_they_accumulate():
    emb = nn.Embedding(10, 3, sparse=True)
    e = emb(torch.tensor([1, 2])).sum().explain()
    assert e.leaves[0].gradient.stored == 6 and emb.weight.grad is None
    assert e.seed(emb.weight).gradient.sum() == 6


def test_batches_can_be_looked_at():
    w, x = torch.ones(3, requires_grad=True), torch.randn(5, 3)
    with torch.explain() as e:
        torch.func.vmap(lambda v: (v * w).sum())(x).sum().backward()
    np.testing.assert_allclose(e.leaves[0].gradient.values, w.grad.numpy(), rtol=1e-6)
    assert str(e) and e.to_json() and e.to_html()
    with pytest.raises(RuntimeError, match="not taken apart"):
        e.paths(w)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints(reentrant):
    from pullback.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    net, head, x = network(), nn.Linear(3, 1), torch.randn(2, 4, requires_grad=True)
    with torch.explain() as e:
        head(checkpoint(net, x, use_reentrant=reentrant)).sum().backward()
    assert len(e.passes) == 1 + reentrant and e.number == 1
    # the whole pass, not the checkpoint's own
    assert e.steps[0].title == "sum" and "x" in {leaf.name for leaf in e.leaves}
    rules = {d.rule for p in e.passes for s in p.steps if s.title.startswith("linear") for d in s.downstream}
    assert rules == {"dx = g @ W", "dW = gᵀ @ x", "db = sum(g, 0)"}
    for p in e.passes:
        for leaf in p.recorded.leaves:
            np.testing.assert_allclose(
                sum(q.contribution for q in p.paths(leaf)), p.gradient(leaf), rtol=1e-4, atol=1e-6
            )


def test_a_pass_inside_that_fails():
    def backward(ctx, g):
        with torch.enable_grad(), pytest.raises(RuntimeError):
            y = torch.ones(2, requires_grad=True)
            torch.autograd.grad((y * 2).sum(), torch.ones(2, requires_grad=True))
        return g * 2

    x = torch.ones(2, requires_grad=True)
    with torch.explain() as e:
        doubling(backward)(x * 3).sum().backward()
    assert [s.title for s in e.steps] == ["sum", "Doubling", "mul"] and e.leaves[0].gradient.values == [6.0, 6.0]


def test_what_was_read_is_freed_with_the_explanation():
    net, x = network(), torch.randn(5, 4)
    with torch.explain() as e:
        net(x).square().mean().backward()
    arrays = [weakref.ref(a) for p in e.passes for visit in p.recorded.visits for a in visit.grad_outputs if a.ndim]
    assert str(e) and e.findings == [] and e.passes[0].steps is e.passes[0].steps
    gc.disable()
    try:
        del e
        assert len(arrays) > 3 and all(a() is None for a in arrays)
    finally:
        gc.enable()


def test_a_function_may_drop_its_variables():
    with torch.explain() as e:
        x = torch.ones(2, requires_grad=True)
        mine = locals()
        loss = x.exp().sum()
        loss.backward()
        assert mine["x"] is x  # what the program asked for stays
    seen = weakref.ref(loss)
    del e, loss
    mine.clear()
    assert seen() is None


def test_a_long_training_holds_little():
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.explain(passes=2) as e:
        for _ in range(20):
            optimizer.zero_grad()
            net(torch.randn(2, 4)).sum().backward()
            optimizer.step()
    assert len(e._recorder.calls) <= 8 * 4  # of 80; the first pass is kept, too
    assert [[s.module for s in p.steps] for p in e.passes] == [[None, "net.2", "net.1", "net.0"]] * 2
