"""What looks at values is compiled all the same: cut there, or module by module."""

from __future__ import annotations

from typing import Any

import pytest

import pullback
from pullback import nn


def newton(a: Any) -> Any:
    x, n = a, 0
    while (x * x - a).abs().max() > 1e-3:
        x, n = (x + a / x) / 2, n + 1
    return x, n


def test_versions_share_what_comes_before_a_branch() -> None:
    compiled = pullback.compile(newton)
    for value in (2.0, 1000.0, 2.0, 1000.0, 30.0):
        given = pullback.tensor([value])
        (x, n), (expected, steps) = compiled(given), newton(given)
        assert n == steps
        pullback.testing.assert_close(x, expected)
    assert not compiled.given_up
    short, long = sorted([v.segments for v in compiled.versions], key=len)[::2]
    assert len(short) < len(long)
    assert all(a is b for a, b in zip(short, long))


def test_numbers_that_are_returned_need_no_branch() -> None:
    compiled = pullback.compile(lambda x: (x.sum().item() * 2, (x > 0).sum().item()))
    for values in ([1.0, 2.0], [3.0, -4.0], [-1.0, -1.0]):
        assert compiled(pullback.tensor(values)) == (2 * sum(values), sum(v > 0 for v in values))
    assert len(compiled.versions) == 1 and not compiled.versions[0].segments


def test_a_step_that_returns_its_loss_is_one_plan() -> None:
    w = pullback.tensor([1.0, 2.0], requires_grad=True)
    optimizer = pullback.optim.SGD([w], lr=0.25)

    @pullback.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    assert [step(pullback.ones(2)) for _ in range(3)] == [3.0, 2.5, 2.0]
    assert len(step.versions) == 1 and not step.versions[0].segments


def test_a_number_that_is_another_each_time_is_given_up() -> None:
    compiled = pullback.compile(lambda x: [0] * x.sum().item())
    for n in range(40):
        assert compiled(pullback.tensor([n])) == [0] * n
    assert "other values" in compiled.given_up and not compiled.versions


def test_modules_of_a_function_with_effects_are_compiled() -> None:
    net, log = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), []

    @pullback.compile
    def step(x: Any) -> Any:
        log.append(1)
        return net(x)

    for _ in range(4):
        given = pullback.randn(5, 2)
        pullback.testing.assert_close(step(given), net(given))
    assert len(log) == 4
    assert "log" in step.given_up
    assert len(step.modules.compiled[net].versions) == 1
    assert "Sequential: compiled: 2 instructions" in pullback.compiler.explain(step, given)


def test_a_mask_of_an_encoder() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2)
    mask = pullback.tensor([[False, False, True], [False, False, False]])
    compiled = pullback.compile(lambda x: encoder(x, src_key_padding_mask=mask), fullgraph=True)
    for _ in range(2):
        x = pullback.randn(2, 3, 8)
        pullback.testing.assert_close(compiled(x), encoder(x, src_key_padding_mask=mask))


def test_explain_names_the_cuts() -> None:
    def f(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    text = pullback.compiler.explain(f, pullback.ones(2))
    assert "test_values.py:" in text and "is True" in text


def test_stances() -> None:
    compiled = pullback.compile(lambda x: x + 1)
    with pullback.compiler.set_stance("force_eager"):
        compiled(pullback.ones(2))
    assert not compiled.versions
    compiled(pullback.ones(2))
    with pullback.compiler.set_stance("eager_on_recompile"):
        compiled(pullback.ones(3)), compiled(pullback.ones(3))
    assert len(compiled.versions) == 1
    with pullback.compiler.set_stance("fail_on_recompile"):
        compiled(pullback.ones(2))
        with pytest.raises(RuntimeError, match="Detected recompile"):
            compiled(pullback.ones(3))

    @pullback.compiler.set_stance("force_eager")
    def eagerly() -> Any:
        return pullback.compile(lambda x: x * 2)(pullback.ones(1))

    assert eagerly().item() == 2
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        pullback.compiler.set_stance("fast")
