"""Dual numbers, level by level, and random numbers under ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declare import forward_ad, program, refused, rows


@program
def levels(torch: Any, say: Any) -> None:
    fwd, one = forward_ad(torch), torch.ones(1)
    say(fwd._current_level, refused(lambda: fwd.exit_dual_level()))
    level = fwd.enter_dual_level()
    say(
        level,
        fwd._current_level,
        refused(lambda: fwd.enter_dual_level()),
        refused(lambda: fwd.exit_dual_level(level=3)),
    )
    say(refused(lambda: fwd.make_dual(one, one, level=-1)), refused(lambda: fwd.unpack_dual(one, level=-1)))
    fwd.exit_dual_level(level=level)
    say(fwd._current_level, refused(lambda: fwd.make_dual(one, one)), fwd.unpack_dual(one))
    try:
        with fwd.dual_level():
            raise ValueError
    except ValueError:
        say(fwd._current_level)
    with fwd.dual_level():
        d = fwd.make_dual(one, one)
        y = d * 3
    say(fwd.unpack_dual(d).tangent, y)
    with fwd.dual_level():
        say(fwd.unpack_dual(y * 2).tangent, fwd.unpack_dual(fwd.make_dual(d, d) * y))


@program
def making_duals(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)
    with fwd.dual_level():
        d = fwd.make_dual(torch.ones(2), torch.ones(2))
        for primal, tangent in (
            (torch.arange(2), torch.ones(2)),
            (torch.ones(2), torch.arange(2)),
            (torch.ones(2), torch.ones(3)),
            (d, torch.zeros(2)),
            (torch.zeros(2), d),
        ):
            say(refused(lambda primal=primal, tangent=tangent: fwd.make_dual(primal, tangent)))
        primal, tangent = torch.rand(2), torch.rand(2)
        d = fwd.make_dual(primal, tangent)
        p, t = fwd.unpack_dual(d)
        say(
            d.data_ptr() == primal.data_ptr(),
            p.data_ptr() == primal.data_ptr(),
            t.data_ptr() == tangent.data_ptr(),
            p is primal,
        )
        for primal, tangent in (
            (torch.ones(2, 3), torch.ones(3).expand(2, 3)),
            (torch.ones(3, 2).t(), torch.arange(6.0).view(2, 3)),
        ):
            d = fwd.make_dual(primal, tangent)
            say(fwd.unpack_dual(d).tangent, fwd.unpack_dual(d).tangent.stride())
            say(fwd.unpack_dual(d.mul_(2)).tangent)


@program
def printed(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)
    with fwd.dual_level():
        d = fwd.make_dual(torch.tensor([0.5, 0.25]), torch.tensor([1.0, 2.0]))
        say(d, d * 2, d.double(), d.requires_grad_())
        say(fwd.make_dual(torch.ones(2, 3), torch.ones(2, 3)))
    say(d)
    for f in (lambda x: say(x) or x, torch.vmap(lambda x: say(x) or x)):
        torch.vmap(f)(torch.ones(2, 3))
    torch.vmap(lambda x: say(x) or x, in_dims=1)(rows(torch))


@program
def writes_into_duals(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)
    dual = lambda *shape: fwd.make_dual(torch.ones(shape), torch.ones(shape))
    with fwd.dual_level():
        x, t = torch.ones(3), torch.tensor([1.0, 2.0, 3.0])
        d = fwd.make_dual(x, t)
        d.mul_(2)
        say(fwd.unpack_dual(d), x, t)
        for write in (
            lambda d: d.add_(1),
            lambda d: d.zero_(),
            lambda d: d.fill_(2.0),
            lambda d: d.copy_(torch.ones(3)),
        ):
            say(fwd.unpack_dual(write(dual(3))))
        for write in (
            lambda p: p.mul_(dual(3)),
            lambda p: p.copy_(dual(3)),
            lambda p: p.index_add_(0, torch.tensor([0]), dual(1)),
        ):
            say(fwd.unpack_dual(write(torch.ones(3))))
        p = torch.ones(2, 3)
        view, earlier = p[0], p[:, 1:]
        view.mul_(dual(3))
        say(fwd.unpack_dual(p), fwd.unpack_dual(view), fwd.unpack_dual(earlier * 1).tangent)
        p = torch.ones(2, 3)
        p[0] = dual(3)
        say(fwd.unpack_dual(p))
        d = dual(2, 3)
        view = d[0]
        view.mul_(5)
        say(fwd.unpack_dual(d), fwd.unpack_dual(view))
        d = dual(2, 3)
        view = d.t()
        d.mul_(5)
        say(fwd.unpack_dual(view))
        d = fwd.make_dual(torch.ones(4), torch.arange(4.0))
        d.view(2, 2)[0].mul_(3)
        d.narrow(0, 1, 2).zero_()
        say(fwd.unpack_dual(d), [fwd.unpack_dual(v).tangent for v in d.chunk(2)])


@program
def tangents_lost_and_kept(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)
    tangent = lambda x: fwd.unpack_dual(x).tangent
    with fwd.dual_level():
        d = fwd.make_dual(torch.ones(2), torch.ones(2))
        say(*[tangent(x) for x in (d.detach(), d.data, d.clone(), d.view_as(d), d > 0, d.long(), d.double())])
        with torch.no_grad():
            say(tangent(d * 2))
        with torch.inference_mode():
            say(tangent(d * 2), tangent(fwd.make_dual(torch.ones(2), torch.ones(2))))
        with fwd._set_fwd_grad_enabled(False):
            say(tangent(d), tangent(d * 2), refused(lambda: fwd.make_dual(torch.ones(2), torch.ones(2))))
        with fwd._set_fwd_grad_enabled(True):
            say(tangent(d * 2))
        say(refused(lambda: torch.add(d, 1, out=torch.empty(2))), d.numpy(), d.tolist(), d[0].item())
        e = d.clone()
        say(tangent(e.detach_()))
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (fwd.make_dual(x, torch.tensor([1.0, 0.0])) ** 3).sum()
        say(fwd.unpack_dual(torch.autograd.grad(y, x, retain_graph=True)[0]))
        y.backward()
        say(tangent(x.grad))
    say(x.grad)


RANDOM: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda t, x: t.rand(3),
    "randn": lambda t, x: t.randn(2),
    "randint": lambda t, x: t.randint(10, (3,)),
    "randperm": lambda t, x: t.randperm(5),
    "normal": lambda t, x: t.normal(0.0, 1.0, (2,)),
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 10),
    "bernoulli": lambda t, x: t.bernoulli(t.full((4,), 0.5)),
    "bernoulli of a batch": lambda t, x: t.bernoulli(x * 0.1 + 0.5),
    "bernoulli p": lambda t, x: t.bernoulli(x, 0.5),
    "normal_ shared": lambda t, x: t.zeros(3).normal_(),
    "normal_": lambda t, x: x.clone().normal_(),
    "uniform_": lambda t, x: x.clone().uniform_(),
    "multinomial": lambda t, x: t.multinomial(t.tensor([0.2, 0.3, 0.5]), 2),
    "multinomial of a batch": lambda t, x: t.multinomial(x + 1, 2),
    "dropout": lambda t, x: t.nn.functional.dropout(x + 1, 0.5),
    "dropout shared": lambda t, x: t.nn.functional.dropout(t.ones(4), 0.5),
    "Dropout": lambda t, x: t.nn.Dropout(0.5)(x + 1),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.view(1, 3, 1, 1) + t.ones(1, 3, 2, 2), 0.5),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x + 1, 0.5, training=True),
    "poisson": lambda t, x: t.poisson(x),
    "exponential_": lambda t, x: x.clone().exponential_(),
    "normal of a batch": lambda t, x: t.normal(x, 1.0),
    "normal of two": lambda t, x: t.normal(x, x + 1),
    "random_": lambda t, x: x.clone().random_(5),
    "geometric_": lambda t, x: x.clone().geometric_(0.5),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "cauchy_": lambda t, x: x.clone().cauchy_(),
    "no dropout": lambda t, x: t.nn.functional.dropout(x, 0.5, training=False),
}


@program
def random_numbers(torch: Any, say: Any) -> None:
    for name, draw in RANDOM.items():
        f = lambda x, draw=draw: draw(torch, x)
        for randomness in ("error", "different", "same"):
            torch.manual_seed(1)
            say(
                name,
                randomness,
                refused(lambda f=f, randomness=randomness: torch.vmap(f, randomness=randomness)(rows(torch))),
            )
        both = torch.vmap(torch.vmap(f, randomness="different"), randomness="same")
        say(name, refused(lambda both=both: both(rows(torch).view(2, 1, 3)).shape))
