"""Gradients of inner values and of single uses, beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def forward(lib, weight, bias, x):
    h = lib.tanh(x @ weight + bias)
    k = lib.softmax(h @ weight, 1)
    loss = (k * k).sum() + h.mean()
    return h, k, loss


def test_inner_gradients_without_retain_grad():
    generator = np.random.default_rng(0)
    w, b, x = (generator.standard_normal(s).astype(np.float32) for s in ((4, 4), (4,), (3, 4)))
    theirs = [torch.tensor(v, requires_grad=v is not x) for v in (w, b, x)]
    h, k, loss = forward(torch, *theirs)
    h.retain_grad()
    k.retain_grad()
    loss.backward()
    ours = [pullback.tensor(v, requires_grad=v is not x) for v in (w, b, x)]
    with pullback.explain() as e:
        hidden, soft, total = forward(pullback, *ours)
        total.backward()
    for mine, other in ((hidden, h.grad), (soft, k.grad), (ours[0], theirs[0].grad), (ours[1], theirs[1].grad)):
        np.testing.assert_allclose(e.gradient(mine), other.numpy(), rtol=1e-4, atol=1e-6)
    assert len(e.paths(ours[0], by="use")) == 2


def test_jacobian():
    x = np.array([0.5, -1.0, 2.0], np.float32)
    f = lambda lib, v: lib.stack([v.prod(), (v * v).sum(), lib.sin(v[0]) * v[2]])  # noqa: E731
    truth = torch.autograd.functional.jacobian(lambda v: f(torch, v), torch.tensor(x))
    mine = pullback.tensor(x, requires_grad=True)
    effect = pullback.explain(f(pullback, mine), pullback.ones(3)).seed(mine)
    np.testing.assert_allclose(effect.jacobian, truth.numpy(), rtol=1e-5, atol=1e-6)
