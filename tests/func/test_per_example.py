"""Gradients for each example of a batch are those of each example alone: layers, losses, shared and own parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.core import boundary
from pullback.engine import engine
from pullback.func import grad, jvp, per_example, vjp
from pullback.levels import batch_backward
from pullback.levels.vmap import Batch
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


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((2, 3), (4, 3, 2)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((1, 3), (3, 40)),
    ],
)
def test_products(a: tuple[int, ...], b: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x, y: (x @ y).tanh().sum()  # noqa: E731
    compare(f, (tensor(5, *a), tensor(5, *b)), ())
    compare(f, (tensor(5, *a),), (tensor(*b),))
    compare(lambda y, x: f(x, y), (tensor(5, *b),), (tensor(*a),))
    monkeypatch.setattr(engine, "run", None)  # no step is left to the engine
    pullback.vmap(grad(f, (0, 1)))(tensor(5, *a), tensor(5, *b))


def test_a_bias_of_one_number_for_each_example() -> None:
    x, w, b = tensor(3, 3, 4), tensor(2, 4), tensor(3)
    together = pullback.vmap(F.linear, in_dims=(0, None, 0))(x, w, b)
    np.testing.assert_allclose(together, F.linear(x, w) + b.reshape(3, 1, 1))


def test_operations_run_on_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one batch is all there is; where two are, the same rules run on tensors."""
    seen: list[tuple[str, bool]] = []
    apply_rule = Batch._apply_rule

    def watched(level: Any, rule: Any, op: Any, batched: Any, args: Any) -> Any:
        seen.append((op.name, any(isinstance(a, pullback.Tensor) for a in (args[0] if op.takes_tensor_list else args))))
        return apply_rule(level, rule, op, batched, args)

    def f(x: Any) -> Any:
        y = pullback.cat([x.T, x.mT.softmax(0)], 1)[1:, [0, 2]].unsqueeze(0)
        return F.cross_entropy((y @ x[:2, :3] + x.amax(1).sum()).squeeze(0).cumsum(1), pullback.tensor([1, 0, 2]))

    monkeypatch.setattr(Batch, "_apply_rule", watched)
    x = tensor(2, 5, 4, 4)
    together = pullback.vmap(f)(x[0])
    names = {name for name, _ in seen}
    assert (
        not any(is_tensor for _, is_tensor in seen) and {"cat", "index", "matmul", "softmax", "cross_entropy"} <= names
    )
    seen.clear()
    twice = pullback.vmap(pullback.vmap(f))(x)
    assert any(is_tensor for _, is_tensor in seen)
    np.testing.assert_allclose(together, [f(a) for a in x[0]])
    np.testing.assert_allclose(twice[0], together)


def test_usual_operations_are_called_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what asks every value for its level; where two batches are about, the same call leaves them to that."""
    nn = pullback.nn
    with pullback.inference_mode():
        of_inference = pullback.ones(3, 2, dtype=pullback.float64)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    params, x, y = {k: v.detach() for k, v in net.named_parameters()}, tensor(6, 4), tensor(6, 3)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return F.mse_loss(pullback.func.functional_call(net, p, (x,)) * 2, y)

    gradients = pullback.vmap(grad(loss), in_dims=(None, 0, 0))
    nested = pullback.vmap(gradients, in_dims=(None, 0, 0))(params, x.reshape(2, 3, 4), y.reshape(2, 3, 3))
    monkeypatch.setattr(Batch, "compute", None)
    for name, g in gradients(params, x, y).items():
        np.testing.assert_allclose(g, nested[name].reshape(g.shape), rtol=1e-9)
        np.testing.assert_allclose(g[4], grad(loss)(params, x[4], y[4])[name], rtol=1e-9)
    monkeypatch.undo()
    kept = pullback.vmap(grad(lambda a: F.linear(a, of_inference).sum()))(tensor(5, 2))
    np.testing.assert_array_equal(kept, 3 * np.ones((5, 2)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 4)])
def test_squared_distances(reduction: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x, y: (F.mse_loss(x.sin(), y.cos(), reduction=reduction) * x.square()).sum()  # noqa: E731
    compare(f, (tensor(6, *shape), tensor(6, *shape)), ())
    compare(f, (tensor(6, *shape),), (tensor(*shape),))
    compare(lambda y, x: f(x, y), (tensor(6, *shape),), (tensor(*shape),))
    compare(f, (tensor(6, *shape, dtype="f4"), tensor(6, *shape, dtype="f4")), (), 1e-5)
    monkeypatch.setattr(boundary, "tensors", None)  # no rule runs on tensors
    pullback.vmap(grad(f, (0, 1)))(tensor(6, *shape), tensor(6, *shape))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("rows", [(), (1,), (4,)])
def test_losses_of_classes(reduction: str, rows: tuple[int, ...]) -> None:
    n, classes = 6, 3
    x, y = tensor(n, *rows, classes), pullback.from_numpy(RNG.integers(0, classes, (n, *rows)))
    y[0] = 1
    for ignored in (-100, 1):
        f = lambda x, y, ignored=ignored: F.cross_entropy(x, y, reduction=reduction, ignore_index=ignored).sum()  # noqa: E731
        g = lambda x, y, ignored=ignored: F.nll_loss(
            F.log_softmax(x, -1), y, reduction=reduction, ignore_index=ignored
        ).sum()  # noqa: E731
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
    way = batch_backward.apply_vjps

    def watched(*args: Any) -> Any:
        result = way(*args)
        outcomes.append(result is not None)
        return result

    monkeypatch.setattr(batch_backward, "apply_vjps", watched)
    x, w = tensor(5, 4), tensor(6, 4)
    loss = lambda x, w: F.linear(x, w).tanh().mean()  # noqa: E731
    pullback.vmap(grad(loss, 1), in_dims=(0, None))(x, w)
    assert outcomes and all(outcomes)
    outcomes.clear()
    twice = lambda x, w: pullback.vmap(grad(loss, 1), in_dims=(0, None))(x, w)  # noqa: E731
    nested = pullback.vmap(twice, in_dims=(0, None))(tensor(2, 5, 4), w)
    assert nested.shape == (2, 5, 6, 4) and not any(outcomes)


def _in_place(x: Any, w: Any) -> Any:
    y = x * w
    y[1:].mul_(2)
    return (y * x).sum()


def _twice(x: Any, w: Any) -> Any:
    y, pull = vjp(lambda w: (x * w).tanh(), w)
    return (pull(y)[0] * pull(x)[0]).sum()


# What per-example gradients are asked of: several uses, several results, what is known to no short way, other
# transforms inside.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "several_uses": lambda x, w: (x * w + x * x + w * w).sum() + w.sum(),
    "several_results": lambda x, w: (
        (lambda a, b: (a * b).sum())(*pullback.var_mean(x * w, 0)) + (x * w).max(0)[0] * w.unbind()[1]
    ),
    "one_of_several_results": lambda x, w: (
        (x * w).sort(descending=True)[0][:2].prod() + pullback.split(x + w, 2)[0].exp().sum()
    ),
    "products": lambda x, w: x @ pullback.outer(w, x) @ w,
    "indices": lambda x, w: (x * w)[pullback.tensor([0, 0, 2])].cumsum(0).logsumexp(0),
    "a_slope_inside": lambda x, w: jvp(lambda a: (a * w).sin(), (x,), (w,))[1].sum(),
    "a_gradient_inside": lambda x, w: grad(lambda a: (a * w).sin().sum())(x).sum(),
    "pulled_twice": _twice,
    "written_in_place": _in_place,
    "nothing_of_the_first": lambda x, w: (w * w).sum() + x.detach().sum(),
    "single": lambda x, w: (x.float() * w).sin().sum().double(),
    "half": lambda x, w: ((x.half() * w.half()).float()).sum().double(),
    "complex": lambda x, w: (pullback.complex(x, w) ** 3).abs().sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_against_one_example_at_a_time(name: str) -> None:
    compare(
        PROGRAMS[name], (tensor(5, 4),), (tensor(4),), 1e-2 if name == "half" else 1e-5 if name == "single" else 1e-9
    )
    compare(
        PROGRAMS[name], (tensor(5, 4), tensor(5, 4)), (), 1e-2 if name == "half" else 1e-5 if name == "single" else 1e-9
    )


def test_the_engine_is_spared_what_it_need_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not spared hooks, custom Functions, and what is differentiated further."""
    runs: list[Any] = []
    run = engine.run
    monkeypatch.setattr(engine, "run", lambda *args, **kwargs: runs.append(args) or run(*args, **kwargs))

    def of(f: Callable, *args: Any) -> int:
        runs.clear()
        pullback.vmap(grad(f, 1), in_dims=(0, None))(*args)
        return len(runs)

    class Double(pullback.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return 2 * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    heard: list[tuple[int, ...]] = []

    def hooked(x: Any, w: Any) -> Any:
        y = x * w
        y.register_hook(lambda g: heard.append(tuple(g.shape)) or 3 * g)
        return y.sum()

    x, w = tensor(5, 4), tensor(4)
    assert [of(f, x, w) for f in PROGRAMS.values()][:5] == [0] * 5
    assert of(lambda x, w: Double.apply(x * w).sum(), x, w) > 0
    assert of(hooked, x, w) > 0 and heard == [(4,)]
    np.testing.assert_allclose(pullback.vmap(grad(hooked, 1), in_dims=(0, None))(x, w), 3 * x)
    assert of(lambda x, w: (x * w).sum(), x, w.requires_grad_()) > 0


def test_what_examples_share_they_share_afterwards() -> None:
    """A gradient that does not depend on the example has no batch."""
    w = tensor(4)
    f = lambda x, w: (w * w).sum() + (x * x).sum()  # noqa: E731
    shared = pullback.vmap(grad(f, 1), in_dims=(0, None), out_dims=None)(tensor(5, 4), w)
    np.testing.assert_allclose(shared, 2 * w)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        pullback.vmap(grad(lambda x, w: (x * w).sum(), 1), in_dims=(0, None), out_dims=None)(tensor(5, 4), w)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("of_bags", [False, True])
def test_bags_of_rows_with_keywords(mode: str, of_bags: bool) -> None:
    """Functions that run for each example in turn take keywords apart, too, and keep apart what all examples share."""
    at, options = pullback.tensor([[1, 2, 4], [5, 4, 1]]), {"mode": mode}
    if not of_bags:
        at, options = at.reshape(-1), {"offsets": pullback.tensor([0, 4]), **options}

    def f(table: Any, weights: Any) -> Any:
        more = {"per_sample_weights": weights.reshape(at.shape)} if mode == "sum" else {}
        return (F.embedding_bag(at, table * weights.sum(), **options, **more) ** 2).sum()

    tables, weights = tensor(3, 6, 2), tensor(3, 6)
    compare(f, (tables, weights), ())
    compare(f, (tables,), (weights[0],))
    compare(lambda weights, table: f(table, weights), (weights,), (tables[0],))
    forward = lambda table: jvp(lambda t: f(t, weights[0]), (table,), (tables[1],))[1]
    np.testing.assert_allclose(pullback.vmap(forward)(tables), [forward(t) for t in tables])


PICKED: dict[str, Callable] = {
    "index_select": lambda x, i: pullback.index_select(x, 1, i[0]),
    "take": lambda x, i: pullback.take(x, i),
    "take_along_dim": lambda x, i: pullback.take_along_dim(x, i, 1),
    "index_add": lambda x, i: x.index_add(1, i[0], x[:, :2].sin()),
    "index_copy": lambda x, i: x.index_copy(1, i[0], x[:, :2] * 2),
    "index_fill": lambda x, i: x.index_fill(1, i[0], 2.0),
    "put": lambda x, i: x.put(i, x[:, :2].exp()),
    "index_reduce": lambda x, i: x.index_reduce(1, i[0], x[:, :2] ** 2, "prod"),
    "in place": lambda x, i: (x * (1 + i.sum() * 0)).sin().index_add_(1, i[0], x[:, :2]).put_(i, x[:, 1:3]),
    "scatter": lambda x, i: x.sum().scatter_add(0, i[0, 0] * 0, x[0, 1]),
    "isin": lambda x, i: x[:, :2] * pullback.isin(i, i[0]),
    "searchsorted": lambda x, i: x * pullback.searchsorted(x.detach().sort(1)[0], x.detach() * 0.5),
    "bucketize": lambda x, i: x * pullback.bucketize(x, pullback.tensor([-0.5, 0.5])),
    "margins": lambda x, i: F.multi_margin_loss(x, i[0]),
    "several margins": lambda x, i: F.multilabel_margin_loss(x, pullback.cat([i, i * 0 - 1], 1)),
    "unravel_index": lambda x, i: x[pullback.unravel_index(i, (2, 4))],
}


@pytest.mark.parametrize("name", PICKED)
def test_indices_and_targets_of_each_example(name: str) -> None:
    f, x = PICKED[name], tensor(3, 2, 4)
    i = pullback.tensor([[[0, 1], [2, 3]], [[3, 0], [1, 2]], [[1, 2], [0, 3]]])
    for g in (f, grad(lambda x, i: (f(x, i) ** 2).sum()), lambda x, i: jvp(lambda x: f(x, i), (x,), (x.cos(),))[1]):
        for own, shared in (((x, i), (0, 0)), ((x[0], i), (None, 0))):
            parts = [g(own[0] if shared[0] is None else own[0][k], i[k]) for k in range(3)]
            np.testing.assert_allclose(pullback.vmap(g, in_dims=shared)(*own), [p.numpy() for p in parts], rtol=1e-9)


def test_losses_and_statistics_that_look_at_values() -> None:
    targets, steps, sizes = pullback.tensor([[1, 2]]), pullback.tensor([5]), pullback.tensor([2])
    scores = tensor(3, 5, 1, 4).log_softmax(-1)
    compare(lambda x: F.ctc_loss(x, targets, steps, sizes), (scores,), ())
    compare(lambda x, w: (pullback.cov(x, aweights=w) ** 2).sum(), (tensor(3, 2, 4), tensor(3, 4).abs()), ())
    loss, slope = jvp(lambda x: F.ctc_loss(x, targets, steps, sizes), (scores[0],), (scores[1],))
    np.testing.assert_allclose(
        slope, (grad(lambda x: F.ctc_loss(x, targets, steps, sizes))(scores[0]) * scores[1]).sum()
    )


def test_saved_values_that_were_overwritten_are_noticed() -> None:
    def f(x: Any) -> Any:
        y = x.exp()
        z = (y * y).sum()
        y.add_(1)
        return z

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pullback.vmap(grad(f))(tensor(3, 4))


def test_errors_of_rules_name_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> Any:
        raise ArithmeticError("no")

    monkeypatch.setattr(per_example.batch_backward, "apply_vjps", fails)
    with pytest.raises(ArithmeticError, match="no") as failure:
        pullback.vmap(grad(lambda x: x.sin().sum()))(tensor(3, 4))
    assert "SinBackward0" in "".join(getattr(failure.value, "__notes__", ()))


def test_of_no_examples() -> None:
    g = pullback.vmap(grad(lambda x, w: F.linear(x, w).sum(), 1), in_dims=(0, None))(
        pullback.zeros(0, 4), pullback.ones(2, 4)
    )
    assert g.shape == (0, 2, 4)
