"""Several gradients in one pass give what they give one by one, for every operation, or decline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback
from pullback.core.views import gradient_edge
from pullback.levels import multi_seed_vjp

from ..ops.samples import SAMPLES, Sample
from ..ops.test_rules import as_function
from .test_hooks import doubler

HERE = {
    "add",
    "mul",
    "tanh",
    "exp",
    "sum",
    "mean",
    "softmax",
    "log_softmax",
    "logsumexp",
    "matmul",
    "reshape",
    "transpose",
    "permute",
    "flip",
    "cumsum",
    "expand",
    "squeeze",
    "unsqueeze",
    "cat",
    "stack",
    "tril",
    "narrow",
    "where",
}


def at_once(y: Any, xs: Any, seeds: np.ndarray, create: bool) -> Any:
    given = pullback.tensor(seeds) if create else seeds
    found = multi_seed_vjp.vjp_rows([(gradient_edge(y), given)], [gradient_edge(x) for x in xs], create)
    return found if found is None or create else [None if g is None else pullback.tensor(g) for g in found]


def one_by_one(y: Any, xs: Any, seeds: np.ndarray, create: bool) -> Any:
    found = [
        pullback.autograd.grad(y, xs, pullback.tensor(s), retain_graph=True, create_graph=create, allow_unused=True)
        for s in seeds
    ]
    return [None if column[0] is None else pullback.stack(list(column)) for column in zip(*found)]


@pytest.mark.parametrize("sample", [s for s in SAMPLES if not s.complex], ids=str)
def test_rows_are_the_gradients_of_each_seed(sample: Sample) -> None:
    f, xs = as_function(sample)
    rng = np.random.default_rng(0)
    checked = False
    for y in f(*xs):
        if y.dtype is not pullback.float64:
            continue
        for count in (1, 2, 3):
            seeds = rng.standard_normal((count, *y.shape))
            found = at_once(y, xs, seeds, False)
            if found is None:
                continue
            checked = True
            for a, b in zip(found, one_by_one(y, xs, seeds, False)):
                assert (a is None) is (b is None)
                assert a is None or a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
            recorded = at_once(y, xs, seeds, True) if sample.second and count == 2 else None
            if recorded is None:
                continue
            for a, b in zip(recorded, one_by_one(y, xs, seeds, True)):
                if b is None or not b.requires_grad:
                    continue
                weights = pullback.tensor(rng.standard_normal(tuple(b.shape)))
                first, second = (
                    pullback.autograd.grad(r, xs, weights, retain_graph=True, allow_unused=True) for r in (a, b)
                )
                for p, q in zip(first, second):
                    assert np.allclose(
                        0 if p is None else p, 0 if q is None else q, rtol=1e-9, atol=1e-9, equal_nan=True
                    )
    over_none = [] in [v for v in (*sample.args, sample.kwargs.get("dim")) if isinstance(v, list)]
    if sample.name in HERE and all(x.ndim and x.numel() for x in xs) and not over_none:
        assert checked


def leaf(*shape: int) -> Any:
    return pullback.tensor(np.random.default_rng(1).standard_normal(shape), requires_grad=True)


def test_products_of_all_ranks() -> None:
    for a, b in [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((2, 3), (4, 3, 2)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
    ]:
        xs = leaf(*a), leaf(*b)
        y = xs[0] @ xs[1]
        seeds = np.random.default_rng(2).standard_normal((3, *y.shape))
        for p, q in zip(at_once(y, xs, seeds, False), one_by_one(y, xs, seeds, False)):
            assert p.shape == q.shape and np.allclose(p, q)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3)])
@pytest.mark.parametrize("weight", [(5, 3), (3,)])
def test_linear_maps(shape: tuple[int, ...], weight: tuple[int, ...]) -> None:
    xs = leaf(*shape), leaf(*weight), leaf(*weight[:-1])
    y = pullback.nn.functional.linear(*xs)
    seeds = np.random.default_rng(2).standard_normal((6, *y.shape))
    for p, q in zip(at_once(y, xs, seeds, False), one_by_one(y, xs, seeds, False)):
        assert p.shape == q.shape and np.allclose(p, q)


def test_hooks_custom_functions_and_complex_numbers_are_left_to_the_general_way() -> None:
    double = doubler(pullback)
    x, seeds = leaf(3), np.eye(3)
    hooked = x * 2
    hooked.register_hook(lambda g: g * 10)
    assert at_once(hooked * 1, [x], seeds, False) is None
    assert at_once(double(x), [x], seeds, False) is None
    assert at_once((x * 1j).abs(), [x], seeds, False) is None
    jacobian = pullback.autograd.functional.jacobian(lambda a: double(a) * a, x.detach())
    assert np.allclose(jacobian, np.diag(4 * x.detach()))


def test_every_row_of_a_jacobian_calls_a_hook_as_before() -> None:
    calls = []

    def f(a: Any) -> Any:
        b = a * 2
        b.register_hook(lambda g: calls.append(tuple(g.shape)))
        return b * b

    pullback.autograd.functional.jacobian(f, pullback.tensor([1.0, 2.0, 3.0]))
    assert calls == [(3,)] * 3


def test_a_saved_value_that_was_overwritten_is_refused() -> None:
    def f(a: Any) -> Any:
        b = a * 2
        y = b * b
        b.mul_(2)
        return y

    for jacobian in (lambda a: pullback.func.jacrev(f)(a), lambda a: pullback.autograd.functional.jacobian(f, a)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            jacobian(pullback.tensor([1.0, 2.0]))


def test_results_share_no_memory() -> None:
    a, b = pullback.autograd.functional.jacobian(lambda x, y: x + y, (pullback.ones(3), pullback.ones(3)))
    a.mul_(2)
    assert np.allclose(b, np.eye(3))
    c = pullback.autograd.functional.jacobian(lambda x: x.sum().expand(2), pullback.ones(3))
    c[0, 0] = 5
    assert c.tolist() == [[5, 1, 1], [1, 1, 1]]


def test_writes_in_place_and_leaves_met_twice() -> None:
    def f(a: Any) -> Any:
        b = a.clone()
        b[1:] *= a[:-1]
        return b.cumsum(0) + a.sum()

    x = pullback.tensor([1.0, 2.0, 3.0], dtype=pullback.float64)
    expected = pullback.func.jacfwd(f)(x)
    assert np.allclose(pullback.func.jacrev(f)(x), expected)
    assert np.allclose(pullback.autograd.functional.jacobian(f, x), expected)


def test_hessians_agree_with_forward_over_reverse() -> None:
    def f(a: Any, b: Any) -> Any:
        return (a.tanh() @ b.exp()).softmax(0).log().mul(a.sum()).mean()

    a, b = leaf(3, 2).detach(), leaf(2).detach()
    fn = pullback.func
    for p, q in zip(fn.hessian(f, (0, 1))(a, b), fn.jacfwd(fn.jacrev(f, (0, 1)), (0, 1))(a, b)):
        for r, s in zip(p, q):
            assert r.shape == s.shape and np.allclose(r, s)
    g = lambda a: {"y": (a**3).sum(0), "z": a.prod()}
    p, q = fn.hessian(g)(a), fn.jacfwd(fn.jacrev(g))(a)
    assert all(np.allclose(p[k], q[k]) for k in "yz")


def test_what_a_jacobian_is_recorded_for_can_be_differentiated() -> None:
    net = pullback.nn.Sequential(pullback.nn.Linear(3, 4), pullback.nn.Tanh(), pullback.nn.Linear(4, 2)).double()
    x = leaf(3)
    w = net[0].weight
    jacobian = pullback.func.jacrev(net)(x)
    by_rows = pullback.autograd.grad((jacobian**2).sum(), (w, x))
    jacobian = pullback.func.jacfwd(net)(x)
    for p, q in zip(by_rows, pullback.autograd.grad((jacobian**2).sum(), (w, x))):
        assert np.allclose(p, q)


def test_an_input_that_another_one_was_made_from() -> None:
    x = leaf(3)
    y = x * x
    z = (y * x).sin()
    seeds = np.eye(3)
    for p, q in zip(at_once(z, [y, x, z], seeds, False), one_by_one(z, [y, x, z], seeds, False)):
        assert np.allclose(p, q)
