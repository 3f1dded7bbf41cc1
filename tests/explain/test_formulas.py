"""Rules as mathematics: read from the rules themselves."""

from __future__ import annotations

import pytest

import pullback as torch
from pullback import nn
from pullback.base import thread_state
from pullback.explain import source_to_formula

F = nn.functional
x = torch.tensor([0.5, 0.25], requires_grad=True)
m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def rules(y):
    return [d.rule for d in torch.explain(y, torch.ones_like(y)).steps[0].downstream]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.sin(x), ["dx = g · cos(x)"]),
        (lambda: torch.exp(x), ["dx = g · out"]),
        (lambda: torch.tanh(x), ["dx = g · (1 - out²)"]),
        (lambda: torch.sigmoid(x), ["dx = g · out · (1 - out)"]),
        (lambda: torch.log10(x), ["dx = g / (x · ln 10)"]),
        (lambda: torch.relu(x), ["dx = {0 if out ≤ 0 else g}"]),
        (lambda: x * 3, ["da = g · 3"]),
        (lambda: x * x, ["da = g · b", "db = g · a"]),
        (lambda: x / m, ["da = sum(g / b, 0)", "db = -g · a / b²"]),
        (lambda: x - m, ["da = sum(g, 0)", "db = -g"]),
        (lambda: x**3, ["dx = g · 3 · x²"]),
        (lambda: x**2, ["dx = g · 2 · x"]),
        (lambda: x**1.5, ["dx = g · 1.5 · x^0.5"]),
        (lambda: m @ m, ["da = g @ bᵀ", "db = aᵀ @ g"]),
        (lambda: x.sum(), ["dx = expand(g)"]),
        (lambda: m.mean(), ["dx = expand(g) / 4"]),
        (lambda: m.T, ["dx = permute(g, (1, 0))"]),
        (lambda: F.silu(x), ["dx = g · s · (1 + x · (1 - s)), where s = sigmoid(x)"]),
        (lambda: torch.floor(x), ["dx = 0"]),
        (lambda: F.linear(m, m), ["dx = g @ W", "dW = gᵀ @ x"]),
        (lambda: F.mse_loss(m, torch.zeros(2, 2)), ["dx = 2 · (x - target) · g / 4"]),
        (lambda: m.softmax(1), ["dx = out · (g - sum(g · out, 1))"]),
    ],
)
def test_rules(make, expected):
    assert rules(make()) == expected


def test_the_branch_that_was_taken_is_shown():
    with_zero, without = torch.tensor([0.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = rules(with_zero.prod(0)), rules(without.prod(0))
    assert "products_of_others" in a[0] and "products_of_others" not in b[0]
    assert "out / x" in b[0].replace("out, (1,)", "out") or "/" in b[0]


def test_results_that_no_gradient_reached_are_left_out():
    """Decompositions have more results than most programs use."""
    told = torch.explain(torch.linalg.svd(m)[1], torch.ones(2))
    step = told.steps[0]
    assert [g is None for g in step.upstream] == [True, False, True]
    (rule,) = [d.rule for d in step.downstream]
    assert "g_S" in rule and "g_U" not in rule and "g_Vh" not in rule
    assert "g =" in str(told) and "g0" not in str(told)
    values, logs = torch.linalg.slogdet(m)
    assert rules(logs) and torch.explain((values, logs), (torch.ones(()), torch.ones(()))).steps


def test_what_does_not_count_is_shown_where_there_is_such():
    """Cross entropy is softmax less the target; a class that is ignored has a share of 0."""
    rows, target = torch.ones(2, 3, requires_grad=True), torch.tensor([0, 2])
    assert rules(F.cross_entropy(rows, target, reduction="sum")) == ["dx = (softmax(x, 1) - onehot(target, 1)) · g"]
    (rule,) = rules(F.cross_entropy(rows, target, ignore_index=2, reduction="sum"))
    assert rule == "dx = (softmax(x, 1) - onehot(target, 1)) · g · weight(target)"


def test_custom_functions_are_read_and_not_run():
    calls = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor):
            ctx.save_for_backward(tensor)
            return tensor * 2

        @staticmethod
        def backward(ctx, grad_output):
            (tensor,) = ctx.saved_tensors
            scaled = grad_output * 2
            return scaled

    class Branches(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor):
            return tensor * 2

        @staticmethod
        def backward(ctx, grad_output):
            calls.append(1)
            if len(calls) > 5:
                return None
            return grad_output * 2

    assert rules(Double.apply(x)) == ["dtensor = g · 2"]
    assert rules(Branches.apply(x)) == ["dtensor = Branches.backward(g)"] and calls == [1]


def test_every_rule_in_the_registry_has_a_source():
    """Whatever cannot be read as a formula is at least found: no rule is unknown to the reader."""
    from pullback.core.op import REGISTRY

    missing = []
    for name, op in REGISTRY.items():
        for rule in [op.joint_vjp] if op.joint_vjp is not None else op.rules.values():
            if rule is not None:
                try:
                    source_to_formula.definition(rule.__code__)
                except source_to_formula.Unreadable:
                    missing.append(name)
    assert missing == []


def test_formulas_depend_on_shapes():
    assert rules(torch.ones(3, requires_grad=True).mean()) == ["dx = expand(g) / 3"]
    assert rules(torch.ones(7, requires_grad=True).mean()) == ["dx = expand(g) / 7"]


def test_what_a_frozen_operand_leaves_unsaved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow path through a call, which is taken while levels live, saves only what the wanted gradients need."""
    monkeypatch.setattr(thread_state, "slow_path_reasons", 1)
    x, weight = torch.ones(3, 2, requires_grad=True), torch.ones(4, 2)
    with torch.explain() as e:
        torch.nn.functional.linear(x, weight).sum().backward()
    assert "dx = g @ W" in str(e) and not e.findings
