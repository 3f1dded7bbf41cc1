"""Numbers in formulas, sums at leaves, forward values, and gradients for other seeds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.explain.live import units


def seed_program():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    return y.explain(gradient=torch.tensor([1.0, 0.5]))


def test_the_seed_program_in_numbers():
    text = str(seed_program())
    assert "a = x = [2, 3], b = x, out = [4, 9]" in text
    assert "da = g · b  =  [1, 0.5] · [2, 3]  =  [2, 1.5]  → x" in text
    assert "[2, 1.5] + [2, 1.5] = [4, 3]" in text


def test_values_of_the_forward_pass_are_those_of_then():
    w = nn.Parameter(torch.tensor([2.0, -1.0]))
    optimizer = torch.optim.SGD([w], lr=1.0)
    with torch.explain() as e:
        (w * torch.tensor([3.0, 4.0])).sum().backward()
        optimizer.step()
    (operands, _) = e.forward_values[1]
    assert [o.value.values for o in operands if o.name == "w"] == [[2.0, -1.0]]


@pytest.mark.parametrize(
    ("make", "figures"),
    [
        (lambda x: (x * 3 - 1) ** 2, "1 · 2 · 5"),
        (lambda x: torch.relu(-x), "{0 if 0 ≤ 0 else 1}"),
        (lambda x: x.exp() * 0 + x, None),
    ],
)
def test_names_are_replaced_by_values(make, figures):
    x = torch.tensor(2.0, requires_grad=True)
    text = str(make(x).explain())
    assert figures is None or figures in text


def test_what_a_gradient_would_be():
    torch.manual_seed(0)
    w, x = torch.randn(4, 2, requires_grad=True), torch.randn(3, 4)
    e = (x @ w).clamp(-0.5, 0.5).mul(2).sum().explain()
    clamp = next(s.number for s in e.steps if s.title == "clamp")
    free = w.detach().requires_grad_()
    (x @ free).mul(2).sum().backward()
    np.testing.assert_allclose(e.what_if("w", without=clamp), free.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(e.what_if(w, seed=3.0), 3 * e.gradient(w), rtol=1e-6)
    with pytest.raises(ValueError, match="changes the shape"):
        e.what_if(w, without=1)
    with pytest.raises(ValueError, match="the seed has shape"):
        e.what_if(w, seed=torch.ones(2))


def test_two_passes_side_by_side():
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(2, 3)
    made = []
    for data in (x, x, torch.where(torch.arange(3) == 1, torch.nan, x)):
        with torch.explain() as e:
            net(data).sum().backward()
        made.append(e)
    good, same, bad = made
    assert good.compare(same) == []
    first = good.compare(bad)[0]
    assert "linear 3→4 in net.0" in first.text and "0 NaN and 0 infinities here, 2 and 0 there" in first.text
    with torch.explain() as e:
        torch.relu(net[0](x)).sum().backward()
    assert "The programs part" in good.compare(e)[0].text


def run_of(lr_times=1.0, without_detach=(), steps=4):
    torch.manual_seed(0)
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer, x = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1), torch.ones(2, 3)
    with torch.explain(lr_times=lr_times, without_detach=without_detach) as e:
        for _ in range(steps):
            optimizer.zero_grad()
            hidden = torch.tanh(first(x)).detach()
            second(hidden).square().mean().backward()
            optimizer.step()
    assert [g["lr"] for g in optimizer.param_groups] == [0.1]
    return e, first, second


DETACHED = run_of.__code__.co_firstlineno + 7


def test_runs_with_another_learning_rate_part_after_the_first_step():
    (good, *_), (bad, *_), (same, *_) = run_of(), run_of(lr_times=10.0), run_of()
    assert good.compare(same) == []
    found = good.compare(bad)
    assert "part in pass 2" in found[0].text and "the loss is" in found[0].text and found[0].line
    assert "`second.weight` in linear 3→1" in found[1].text
    assert bad._recorder.course.steps[0].rates == [1.0]
    assert "there are 4 passes here and 3 there" in good.compare(run_of(steps=3)[0])[0].text


@pytest.mark.parametrize("line", [DETACHED, f"test_in_numbers.py:{DETACHED}", [1, DETACHED]])
def test_what_a_detach_cuts(line):
    (cut, first, _), (whole, attached, _) = run_of(steps=1), run_of(steps=1, without_detach=line)
    assert first.weight.grad is None and attached.weight.grad.norm() > 0
    assert [f.kind for f in cut.findings] == ["no-gradient"] and whole.findings == []
    assert "only one of them has" in cut.compare(whole)[0].text or "programs part" in cut.compare(whole)[0].text
    torch.manual_seed(0)
    first, second = nn.Linear(3, 3), nn.Linear(3, 1)
    second(torch.tanh(first(torch.ones(2, 3)))).square().mean().backward()
    np.testing.assert_allclose(attached.weight.grad.numpy(), first.weight.grad.numpy(), 1e-6)


def test_other_lines_detach_as_ever_and_nothing_stays_changed():
    x = torch.ones(2, requires_grad=True)
    with torch.explain(without_detach=1):
        assert not (x * 2).detach().requires_grad and not (x * 2).detach_().requires_grad
    with torch.explain(without_detach=sys._getframe().f_lineno + 1):
        assert (x * 2).detach().requires_grad and (x * 2).detach_().requires_grad and x.detach().requires_grad
    assert not (x * 2).detach().requires_grad
    with pytest.raises(ValueError, match="computed already"):
        torch.explain(x.sum(), lr_times=2.0)


def test_gradients_for_each_element_of_the_seed():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), torch.randn(2, 3)
    y, v = net(x), torch.randn(2, 2)
    e = y.explain(gradient=v)
    found = units(e)
    assert found.elements == ["y[0, 0]", "y[0, 1]", "y[1, 0]", "y[1, 1]"]
    other = torch.randn(2, 2)
    again = net(x).explain(gradient=other)
    for mine, theirs in zip(e.leaves, again.leaves):
        made = other.numpy().reshape(-1) @ np.asarray(found.gradients[id(mine.gradient)])
        np.testing.assert_allclose(made, np.asarray(theirs.gradient.elements).reshape(-1), 1e-4, 1e-6)


def test_sparse_gradients_have_pages_too():
    table = nn.Embedding(4, 2, sparse=True)
    found = units(table(torch.tensor([0, 2, 2])).explain(gradient=torch.ones(3, 2)))
    assert found is not None and any(len(row) == 8 for rows in found.gradients.values() for row in rows)


def test_what_is_not_linear_or_too_large_is_not_recorded():
    x = torch.ones(3, requires_grad=True)
    h = x * 2
    h.register_hook(lambda g: g * g)
    with torch.explain() as e:
        h.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert units(e) is None
    assert units((torch.ones(17, requires_grad=True) * 2).explain(torch.ones(17))) is None
