"""Gradients for each example of a batch are those of each example alone: layers, losses, shared and own parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.func import grad, plain
from pullback.nn import functional as F

RNG = np.random.default_rng(0)


def tensor(*shape: int, dtype: str = "f8") -> Any:
    return pullback.from_numpy(RNG.standard_normal(shape).astype(dtype))


def compare(f: Callable, own: tuple[Any, ...], shared: tuple[Any, ...], tolerance: float = 1e-9) -> None:
    """Gradients by all arguments, the first of which differ from example to example."""
    which = tuple(range(len(own) + len(shared)))
    g = grad(f, which)
    together = pullback.vmap(g, in_dims=(0,) * len(own) + (None,) * len(shared))(*own, *shared)
    for k in range(len(own[0])):
        for a, b in zip(together, g(*[x[k] for x in own], *shared)):
            np.testing.assert_allclose(a[k], b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4), (0, 4)])
@pytest.mark.parametrize("own_weights", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_linear_maps(shape: tuple[int, ...], own_weights: bool, dtype: str) -> None:
    n = 5
    lead = (n,) if own_weights else ()
    x, w, b = tensor(n, *shape, dtype=dtype), tensor(*lead, 6, 4, dtype=dtype), tensor(*lead, 6, dtype=dtype)
    f = lambda x, w, b: F.linear(x, w, b).tanh().square().sum()  # noqa: E731
    tolerance = 1e-4 if dtype == "f4" else 1e-9
    compare(f, (x, w, b) if own_weights else (x,), () if own_weights else (w, b), tolerance)
    compare(lambda x, w: F.linear(x, w).sum(), (x, w) if own_weights else (x,), () if own_weights else (w,), tolerance)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("rows", [(), (1,), (4,)])
def test_losses_of_classes(reduction: str, rows: tuple[int, ...]) -> None:
    n, classes = 6, 3
    x, y = tensor(n, *rows, classes), pullback.from_numpy(RNG.integers(0, classes, (n, *rows)))
    y[0] = 1
    for ignored in (-100, 1):
        f = lambda x, y, ignored=ignored: F.cross_entropy(x, y, reduction=reduction, ignore_index=ignored).sum()  # noqa: E731
        g = lambda x, y, ignored=ignored: F.nll_loss(F.log_softmax(x, -1), y, reduction=reduction, ignore_index=ignored).sum()  # noqa: E731
        for loss in (f, g):
            together = pullback.vmap(grad(loss))(x, y)
            for k in range(n):
                np.testing.assert_allclose(together[k], grad(loss)(x[k], y[k]), rtol=1e-9, atol=1e-12, equal_nan=True)


def test_a_classifier_against_one_example_at_a_time() -> None:
    nn = pullback.nn
    net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, y = tensor(70, 8, dtype="f4"), pullback.from_numpy(RNG.integers(0, 3, 70))

    def loss(p: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(pullback.func.functional_call(net, p, (x.unsqueeze(0),)), y.unsqueeze(0))

    together = pullback.vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for k in (0, 33, 69):
        alone = grad(loss)(params, x[k], y[k])
        for name, g in alone.items():
            np.testing.assert_allclose(together[name][k], g, rtol=1e-4, atol=1e-5)


def test_the_short_way_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives results here, so that the tests above test it; and declines batches of batches and what is recorded."""
    outcomes: list[bool] = []
    way = plain.pulled

    def watched(*args: Any) -> Any:
        result = way(*args)
        outcomes.append(result is not None)
        return result

    monkeypatch.setattr(plain, "pulled", watched)
    x, w = tensor(5, 4), tensor(6, 4)
    loss = lambda x, w: F.linear(x, w).tanh().mean()  # noqa: E731
    pullback.vmap(grad(loss, 1), in_dims=(0, None))(x, w)
    assert outcomes and all(outcomes)
    outcomes.clear()
    twice = lambda x, w: pullback.vmap(grad(loss, 1), in_dims=(0, None))(x, w)  # noqa: E731
    nested = pullback.vmap(twice, in_dims=(0, None))(tensor(2, 5, 4), w)
    assert nested.shape == (2, 5, 6, 4) and not any(outcomes)


def test_of_no_examples() -> None:
    g = pullback.vmap(grad(lambda x, w: F.linear(x, w).sum(), 1), in_dims=(0, None))(pullback.zeros(0, 4), pullback.ones(2, 4))
    assert g.shape == (0, 2, 4)
