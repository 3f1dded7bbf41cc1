"""Contributions add up to gradients, and seeds to vᵀJ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as torch
from pullback import nn


def check(e, x, limit=100):
    paths = e.paths(x, limit)
    total = e.gradient(x)
    scale = 1e-5 * (1 + sum(float(np.abs(p.contribution).sum()) for p in paths))
    np.testing.assert_allclose(sum(p.contribution for p in paths), total, rtol=1e-4, atol=scale)
    assert paths.residue <= scale
    norms = [np.linalg.norm(p.contribution) for p in paths]
    assert norms == sorted(norms, reverse=True)
    if np.any(total):
        assert sum(p.share for p in paths) == pytest.approx(1, abs=1e-3 + scale / float(np.linalg.norm(total)))
    return paths


def test_two_paths():
    x = torch.tensor(2.0, requires_grad=True)
    paths = check(torch.explain(x.exp() + 3 * x), x)
    assert [p.contribution.item() for p in paths] == pytest.approx([np.exp(2), 3])
    assert [p.steps for p in paths] == [(1, 3), (1, 2)]
    assert [p.count for p in paths] == [1, 1]


def test_both_operands_are_paths():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    paths = check(torch.explain(x * x, torch.ones(2)), x)
    assert [p.arguments for p in paths] == [("input",), ("other",)]


def test_a_shared_weight_by_use():
    torch.manual_seed(0)
    w = torch.randn(3, 3, requires_grad=True)
    h = torch.ones(3)
    for _ in range(5):
        h = torch.tanh(h @ w)
    e = h.sum().explain()
    uses = e.paths(w, by="use")
    assert len(uses) == 5 == len(e.leaves[0].uses)
    np.testing.assert_allclose(sum(p.contribution for p in uses), e.gradient(w), rtol=1e-5)
    truth = []
    for k in range(5):  # the gradient of one use: the others' weights are constants
        ws = [w.detach().clone() for _ in range(5)]
        ws[k].requires_grad_()
        h = torch.ones(3)
        for v in ws:
            h = torch.tanh(h @ v)
        h.sum().backward()
        truth.append(ws[k].grad.numpy())
    for p in uses:
        assert any(np.allclose(p.contribution, t, rtol=1e-5) for t in truth)


def test_many_paths_stay_in_groups_and_still_add_up():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x
    for _ in range(30):
        h = h + 0.1 * torch.sin(h)
    paths = check(h.sum().explain(), x, limit=20)
    assert 2 <= len(paths) <= 25
    assert sum(p.count for p in paths) == 2**30


def test_several_outputs_of_an_operation():
    x = torch.tensor([[3.0, 1.0], [4.0, 2.0]], requires_grad=True)
    values, _ = x.max(1)
    a, b = (x * 2).unbind(0)
    e = ((a * b).sum() + values.sum()).explain()
    check(e, x)
    check(e, values)


def test_inner_values_have_paths_too():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    e = (h.exp() + h * h).sum().explain()
    assert len(check(e, h)) == 3
    assert e.paths("h")[0].steps == e.paths(h)[0].steps


def test_a_hook_ends_the_paths():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.register_hook(lambda g: g * 10)
    with torch.explain() as e:
        (h + h.exp()).sum().backward()
    (path,) = e.paths(x)
    assert path.hooked
    np.testing.assert_array_equal(path.contribution, x.grad.numpy())
    assert "hook" in str(e.paths(x))


def test_custom_functions_are_pulled_back_again():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Cube.apply(x)
    with torch.explain() as e:
        (y.exp() + y.sin()).sum().backward()
    assert len(check(e, x)) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2)
        ),
        lambda: nn.Sequential(
            nn.Flatten(), nn.Linear(36, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2)
        ),
        lambda: nn.Sequential(nn.Flatten(1, 2), nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True)),
    ],
)
def test_networks(make):
    torch.manual_seed(0)
    net, x = make(), torch.randn(3, 1, 6, 6, requires_grad=True)
    with torch.explain() as e:
        net(x).square().mean().backward()
    check(e, x, 30)
    for leaf in e.recorded.leaves:
        check(e, leaf, 30)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "sin": lambda a, b: a.sin(),
    "scale": lambda a, b: a * 0.7,
}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12
    ),
    st.integers(1, 40),
)
def test_random_graphs(program, limit):
    x = torch.tensor([0.5, -0.25], dtype=torch.float64, requires_grad=True)
    values = [x]
    for name, i, j in program:
        a, b = values[i % len(values)], values[j % len(values)]
        values.append(OPERATIONS[name](a, b))
    check((values[-1] + x).sum().explain(), x, limit)


def test_an_overwritten_value_is_refused():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    k = torch.tensor([3.0, 4.0])
    y = x * k
    with torch.explain() as e:
        (y + y.exp()).sum().backward()
    k.zero_()
    with pytest.raises(RuntimeError, match="overwritten since the backward pass"):
        e.paths(x)


def test_no_gradient():
    x, z = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(KeyError, match="no gradient reached"):
        x.sum().explain().paths(z)


# --- seeds


def test_jacobian_seed_and_product():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.stack([x.sum(), (x * x).sum(), x.prod()])
    v = torch.tensor([1.0, 0.5, -1.0])
    e = torch.explain(y, v)
    s = e.seed(x)
    np.testing.assert_allclose(s.jacobian, [[1, 1, 1], [2, 4, 6], [6, 3, 2]])
    np.testing.assert_allclose(s.gradient, v.numpy() @ s.jacobian)
    np.testing.assert_allclose(s.gradient, e.gradient(x))
    np.testing.assert_allclose(s.contributions, v.numpy()[:, None] * s.jacobian)
    assert s.elements == ["y[0]", "y[1]", "y[2]"]
    text = str(s)
    assert "vᵀJ" in text and "-4" in text


def test_each_label_of_a_multi_label_loss():
    torch.manual_seed(0)
    w = torch.randn(4, 3, requires_grad=True)
    x, t = torch.randn(4), torch.tensor([1.0, 0.0, 1.0])
    losses = nn.functional.binary_cross_entropy_with_logits(x @ w, t, reduction="none")
    s = torch.explain(losses, torch.tensor([1.0, 2.0, 0.0])).seed(w)
    assert s.contributions.shape == (3, 4, 3)
    for k in range(3):  # a label moves its own column only
        assert not np.any(np.delete(s.contributions[k], k, axis=1))
    assert not np.any(s.contributions[2])


def test_too_many_outputs_for_a_jacobian():
    x = torch.ones(300, requires_grad=True)
    with pytest.raises(ValueError, match="300 elements"):
        torch.explain(x * 2, torch.ones(300)).seed(x)
