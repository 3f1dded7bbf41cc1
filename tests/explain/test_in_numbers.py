"""Numbers in formulas, sums at leaves, forward values, and gradients for other seeds."""

from __future__ import annotations

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


def test_what_is_not_linear_or_too_large_is_not_recorded():
    x = torch.ones(3, requires_grad=True)
    h = x * 2
    h.register_hook(lambda g: g * g)
    with torch.explain() as e:
        h.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert units(e) is None
    assert units((torch.ones(17, requires_grad=True) * 2).explain(torch.ones(17))) is None
