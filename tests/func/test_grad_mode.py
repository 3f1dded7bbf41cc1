"""Grad mode belongs to a level: a transform differentiates in any case, what is outside of it only if that is on."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import pullback

OFF: dict[str, Callable] = {
    "no_grad": lambda t: t.no_grad(),
    "set_grad_enabled": lambda t: t.set_grad_enabled(False),
    "inference_mode": lambda t: t.inference_mode(),
}
MODES: dict[str, Callable] = {
    **OFF,
    "enable_grad": lambda t: t.enable_grad(),
    "set_grad_enabled(True)": lambda t: t.set_grad_enabled(True),
    "none": lambda t: nullcontext(),
}


def vector(t: Any, requires_grad: bool = True) -> Any:
    return t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=requires_grad)


def ones(t: Any) -> Any:
    return t.ones(2, dtype=t.float64)


def cubes(x: Any) -> Any:
    return (x**3).sum()


# name: the transform of a function of one vector, and what it gives for the sum of cubes at (1, 2)
TRANSFORMS: dict[str, tuple[Callable, Any]] = {
    "grad": (lambda t, f, x: t.func.grad(f)(x), [3.0, 12.0]),
    "grad_and_value": (lambda t, f, x: t.func.grad_and_value(f)(x)[1], 9.0),
    "aux": (lambda t, f, x: t.func.grad(lambda y: (f(y), y * 2), has_aux=True)(x)[1], [2.0, 4.0]),
    "vjp": (lambda t, f, x: t.func.vjp(f, x)[0], 9.0),
    "pull": (lambda t, f, x: t.func.vjp(f, x)[1](t.ones((), dtype=t.float64))[0], [3.0, 12.0]),
    "jacrev": (lambda t, f, x: t.func.jacrev(f)(x), [3.0, 12.0]),
    "rows": (lambda t, f, x: t.func.jacrev(lambda y: t.stack([f(y), f(2 * y)]))(x), [[3.0, 12.0], [24.0, 96.0]]),
    "jacfwd": (lambda t, f, x: t.func.jacfwd(f)(x), [3.0, 12.0]),
    "hessian": (lambda t, f, x: t.func.hessian(f)(x), [[6.0, 0.0], [0.0, 12.0]]),
    "grad of grad": (lambda t, f, x: t.func.grad(lambda y: t.func.grad(f)(y).sum())(x), [6.0, 12.0]),
    "vmap": (lambda t, f, x: t.vmap(t.func.grad(f))(x[None])[0], [3.0, 12.0]),
    "jvp": (lambda t, f, x: t.func.jvp(f, (x,), (ones(t),))[1], 15.0),
}


@pytest.mark.parametrize("mode", OFF)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_mode_outside_cuts(name: str, mode: str) -> None:
    """What a transform gives has no history, be it of the argument or of something captured."""
    transform, right = TRANSFORMS[name]
    x, factor = vector(pullback), pullback.ones((), dtype=pullback.float64, requires_grad=True)
    with OFF[mode](pullback):
        y = transform(pullback, cubes, x)
        z = transform(pullback, lambda x: cubes(x * factor), x.detach())
    assert y.tolist() == z.tolist() == right
    assert not y.requires_grad and not z.requires_grad
    assert transform(pullback, cubes, x).requires_grad


# squares or triples, which are not recorded
UNRECORDED: dict[str, Callable] = {
    "power": lambda t, x: x**2,
    "grad": lambda t, x: t.func.grad(lambda y: y**3)(x) / x,
    "jacrev": lambda t, x: t.func.jacrev(lambda y: y**3)(x) / x,
    "vjp": lambda t, x: t.func.vjp(lambda y: y**3, x)[0] / x,
    "jvp": lambda t, x: t.func.jvp(lambda y: y**3, (x,), (t.ones(()),))[1] / x,
    "vmap": lambda t, x: t.vmap(lambda y: y**3)(x[None])[0] / x,
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
@pytest.mark.parametrize("name", UNRECORDED)
@pytest.mark.parametrize("module", ["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_hessian_is_forward_over_reverse_whatever_is_not_recorded(name: str, module: str) -> None:
    t = pytest.importorskip(module)

    def f(x: Any) -> Any:
        with t.no_grad():
            z = UNRECORDED[name](t, x)
        return z * x**2

    for hessian in (t.func.hessian(f), t.func.jacfwd(t.func.jacrev(f))):
        assert hessian(t.tensor(2.0)) == 24
        assert t.func.hessian(lambda x: f(x[0]))(t.tensor([2.0, 1.0])).tolist() == [[24, 0], [0, 0]]


@pytest.mark.parametrize("module", ["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def test_what_is_pulled_back_outside_of_the_mode_is_recorded(module: str) -> None:
    t = pytest.importorskip(module)
    w = vector(t)
    with t.no_grad():
        y, pull = t.func.vjp(lambda w: w**3, w)
        assert not y.requires_grad and not pull(ones(t))[0].requires_grad
    (g,) = pull(ones(t))
    assert t.autograd.grad(g.sum(), w)[0].tolist() == [6.0, 12.0]


def test_first_order_maml() -> None:
    w = vector(pullback)
    with pullback.no_grad():
        g = pullback.func.grad(cubes)(w)
    (outer,) = pullback.autograd.grad(((w - 0.1 * g) ** 2).sum(), w)
    assert outer.tolist() == pytest.approx([1.4, 1.6])


@pytest.mark.parametrize("mode", [*OFF, "none"])
@pytest.mark.parametrize("outer", ["grad", "jvp", "jacrev", "vmap"])
def test_an_inner_transform(outer: str, mode: str) -> None:
    """It differentiates though the mode around it is off; to the outer one its result is then a constant."""
    t = pullback

    def f(x: Any) -> Any:
        with MODES[mode](t):
            g = t.func.grad(cubes)(x)
        return (g * x).sum()

    x, v = vector(t, False), ones(t)
    once, twice = [3.0, 12.0], [9.0, 36.0]
    backward, forward = (twice, 45.0) if mode == "none" else (once, 15.0 if mode == "inference_mode" else 45.0)
    if outer == "jvp":
        assert t.func.jvp(f, (x,), (v,))[1].item() == forward
    elif outer == "vmap":
        assert t.vmap(t.func.grad(f))(x[None]).tolist() == [backward]
    else:
        assert getattr(t.func, outer)(f)(x).tolist() == backward


def test_an_inner_jvp_where_tangents_are_off() -> None:
    t = pullback

    def f(x: Any) -> Any:
        with t.inference_mode():
            along = t.func.jvp(lambda y: (y * y * x).sum(), (x,), (ones(t),))[1]
        return (along * x).sum()

    assert t.func.jvp(f, (vector(t),), (ones(t),))[1].item() == 20.0


@pytest.mark.parametrize("mode", OFF)
def test_a_pull_back_outside_of_the_mode(mode: str) -> None:
    """It sees as constants what was computed in the mode, and what is older as it is."""
    t = pullback
    w, x, g = vector(t), vector(t), ones(t).requires_grad_()
    with OFF[mode](t):
        value, pull = t.func.vjp(lambda x: x * w * (w * 2), x)
        square = t.func.vjp(lambda x: x * x, x)[1]
    (r,) = pull(g)
    assert not value.requires_grad and r.tolist() == [2.0, 8.0]
    of_w, of_g = t.autograd.grad(r.sum(), (w, g))
    assert of_w.tolist() == [2.0, 4.0] and of_g.tolist() == [2.0, 8.0]
    assert t.autograd.grad(square(g)[0].sum(), x)[0].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("mode", OFF)
def test_pulling_back_in_the_mode(mode: str) -> None:
    t = pullback
    pull = t.func.vjp(lambda x: x * x, vector(t))[1]
    with OFF[mode](t):
        (r,) = pull(ones(t).requires_grad_())
    assert r.tolist() == [2.0, 4.0] and not r.requires_grad


def test_an_argument_that_is_returned_is_the_one_that_was_given() -> None:
    w = vector(pullback)
    with pullback.no_grad():
        _, aux = pullback.func.grad(lambda x: (cubes(x), (x, w)), has_aux=True)(w)
    assert aux[0] is w and aux[1] is w and pullback.func.vjp(lambda x: x, w)[0] is w


def test_inference_mode_is_off_inside_and_stays_on_around() -> None:
    t = pullback
    w, seen = vector(t), []

    def f(x: Any) -> Any:
        seen.append((t.is_grad_enabled(), t.is_inference_mode_enabled()))
        return (x * made * w).sum()

    with t.inference_mode():
        made = w * 2
        g, (_, along) = t.func.grad(f)(made), t.func.jvp(f, (w,), (ones(t),))
        with t.enable_grad():  # nothing is recorded all the same
            y = w * 2
        assert t.is_inference_mode_enabled()
    assert seen == [(True, False), (False, False)] and g.tolist() == [2.0, 8.0] and along.item() == 10.0
    assert not y.requires_grad and y.is_inference() and not g.is_inference()


# --- random programs beside PyTorch -------------------------------------------------------------------------------

STEPS: dict[str, Callable] = {
    "sin": lambda t, a, b: a.sin(),
    "mul": lambda t, a, b: a * b * 0.5,
    "add": lambda t, a, b: a + b,
    "where": lambda t, a, b: t.where(a > b, a * 1.5, b * 0.5),
}


def pulled(t: Any, f: Callable, x: Any, mode: Callable = lambda t: nullcontext()) -> Any:
    with mode(t):
        value, pull = t.func.vjp(f, x)
    return pull(value)[0] + value * 0.1


NESTED: dict[str, Callable] = {
    "grad": lambda t, f, x: t.func.grad(lambda y: f(y).sum())(x),
    "aux": lambda t, f, x: sum(t.func.grad(lambda y: (f(y).sum(), f(y)), has_aux=True)(x)),
    "vjp": pulled,
    "vjp under no_grad": lambda t, f, x: pulled(t, f, x, OFF["no_grad"]),
    "jacrev": lambda t, f, x: t.func.jacrev(f)(x).sum(0),
    "jacfwd": lambda t, f, x: t.func.jacfwd(f)(x).sum(0),
    "hessian": lambda t, f, x: t.func.hessian(lambda y: f(y).sum())(x).sum(0),
    "jvp": lambda t, f, x: sum(t.func.jvp(f, (x,), (ones(t),))),
    "vmap": lambda t, f, x: t.vmap(f)(t.stack([x, x * 0.5])).sum(0),
}


def random_steps(r: random.Random, depth: int, names: list[str]) -> list[Any]:
    """Steps of a function: (what, the new name, its operands, the steps inside)."""
    steps = []
    for k in range(r.randint(2, 4)):
        new = f"{names[-1]}{k}"
        kind = STEPS if depth == 0 or r.random() < 0.4 else r.choice([MODES, NESTED])
        what, operands = r.choice(list(kind)), (r.choice(names), r.choice(names))
        inside = [] if kind is STEPS else random_steps(r, depth - 1, [*names, new])
        steps.append((what, new, operands, inside))
        names = [*names, new]
    return steps


def run_steps(t: Any, steps: list[Any], env: dict[str, Any]) -> Any:
    for what, new, (a, b), inside in steps:
        if what in STEPS:
            env[new] = STEPS[what](t, env[a], env[b])
        elif what in MODES:
            env[new] = env[a]
            with MODES[what](t):
                run_steps(t, inside, env)
        else:
            outer = dict(env)
            env[new] = NESTED[what](t, lambda y: run_steps(t, inside, {**outer, new: y}) + y * 0.5, env[b])  # noqa: B023
    return env[steps[-1][1]] + env[steps[0][1]]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    torch = pytest.importorskip("torch")
    steps, results = random_steps(random.Random(seed), 3, ["x", "w", "c"]), []
    for t in (torch, pullback):
        x, w = vector(t), t.tensor([0.7, -0.4], dtype=t.float64, requires_grad=True)
        try:
            y = run_steps(t, steps, {"x": x, "w": w, "c": t.tensor([0.3, 0.9], dtype=t.float64)})
        except RuntimeError as error:
            assert t is torch and "nference" in str(error)  # noqa: PT017 -- Pullback takes them inside of transforms
            return
        grads = t.autograd.grad(y.sum(), (x, w), allow_unused=True) if y.requires_grad else (None, None)
        results.append([y.tolist(), *[[0.0, 0.0] if g is None else g.tolist() for g in grads]])
    for theirs, ours in zip(*results):
        assert ours == pytest.approx(theirs, nan_ok=True)
