"""Small programs about forward mode, ``vmap`` and ``torch.func``, which print the same under Pullback as under PyTorch.

Each takes the package and a ``say`` function. What it said under PyTorch 2.13 stands in ``tests/golden/func.json``
(``record_func.py`` writes it). A refusal is said by :func:`refused`: the exception's type and text.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[..., None]] = {}


def program(fn: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[fn.__name__] = fn
    return fn


def refused(fn: Callable[[], Any]) -> str:
    """What a call gave, or how it was refused."""
    try:
        return f"accepted {fn()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def forward_ad(t: Any) -> Any:
    return importlib.import_module(t.__name__ + ".autograd.forward_ad")


def functional(t: Any) -> Any:
    return importlib.import_module(t.__name__ + ".autograd.functional")


def rows(t: Any) -> Any:
    return t.arange(6.0).view(2, 3)


def row(t: Any) -> Any:
    return t.arange(1.0, 4.0)


def layer(t: Any) -> Any:
    return t.nn.Linear(2, 2)


def tied(t: Any) -> Any:
    """A module whose weight, and whose buffer, stand in two places."""

    class Tied(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l1, self.l2 = t.nn.Linear(1, 1, bias=False), t.nn.Linear(1, 1, bias=False)
            self.l2.weight = self.l1.weight
            self.register_buffer("buf", t.ones(1))
            self.register_buffer("tied_buf", self.buf)
            with t.no_grad():
                self.l1.weight.fill_(2.0)

        def forward(self, x: Any) -> Any:
            return self.l2(self.l1(x) + self.tied_buf) + self.buf

    return Tied()


def cases(name: str, table: list[Callable[[Any], Any]]) -> None:
    """A program that says what each of these calls gives, and nothing of warnings."""

    def run(torch: Any, say: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for case in table:
                torch.manual_seed(0)
                say(refused(lambda case=case: case(torch)))

    run.__name__ = name
    program(run)


# --- custom Functions -------------------------------------------------------------------------------------------


def function(t: Any, **methods: Callable[..., Any]) -> Any:
    """A custom Function with these static methods."""
    attributes = {name: staticmethod(m) if callable(m) else m for name, m in methods.items()}
    return type("Custom", (t.autograd.Function,), attributes)


@program
def without_jvp_or_vmap(torch: Any, say: Any) -> None:
    old = function(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)
    new = function(torch, forward=lambda x: x * 2, setup_context=lambda ctx, i, o: None, backward=lambda ctx, g: g * 2)
    both = function(torch, forward=lambda x: x, setup_context=lambda ctx, i, o: None, vmap=lambda info, dims, x: (x, 0),
                    generate_vmap_rule=True)  # fmt: skip
    x, fwd = torch.ones(2), forward_ad(torch)
    with fwd.dual_level():
        d = fwd.make_dual(x, x * 3)
        say(refused(lambda: old.apply(d)))
        say(refused(lambda: new.apply(d)))
        with torch.no_grad():
            say(refused(lambda: old.apply(d)))
        say(old.apply(x))
    say(refused(lambda: torch.func.jvp(new.apply, (x,), (x,))))
    say(refused(lambda: torch.vmap(old.apply)(x)))
    say(refused(lambda: torch.vmap(new.apply)(x)))
    say(refused(lambda: torch.vmap(both.apply)(x)))
    say(refused(lambda: torch.vmap(lambda a: new.apply(x))(x)))


@program
def tangents_in_jvp(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)

    def forward(ctx: Any, x: Any, s: Any, i: Any, y: Any) -> Any:
        ctx.save_for_forward(x, y)
        ctx.s = s
        return x * y * s, x + 1

    def jvp(ctx: Any, x_t: Any, s_t: Any, i_t: Any, y_t: Any) -> Any:
        say("jvp", x_t, s_t, i_t, y_t, torch.is_grad_enabled(), type(ctx).__name__)
        x, y = ctx.saved_tensors
        return x_t * y * ctx.s + x * y_t * ctx.s + 7, x_t

    custom = function(torch, forward=forward, jvp=jvp, backward=lambda ctx, a, b: (a, None, None, b))
    x, y = torch.ones(2), torch.full((2,), 3.0)
    with fwd.dual_level():
        d = fwd.make_dual(x, x * 3)
        for args in ((d, 2.0, torch.arange(2), y), (y, 2.0, torch.arange(2), d), (d, 2.0, torch.arange(2), d * 2)):
            a, b = custom.apply(*args)
            say(fwd.unpack_dual(a), fwd.unpack_dual(b), a.requires_grad)


@program
def what_jvp_returns(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)
    returns = [lambda t: t.sum(), lambda t: (t, t), lambda t: 3, lambda t: t.expand(3, 2), lambda t: [t], lambda t: (t,)]
    with fwd.dual_level():
        d = fwd.make_dual(torch.ones(2), torch.ones(2) * 3)
        for jvp in returns:
            one = function(torch, forward=lambda ctx, x: x * 2, jvp=lambda ctx, t, jvp=jvp: jvp(t))
            say(refused(lambda one=one: one.apply(d)))
        two = function(torch, forward=lambda ctx, x: (x * 2, x * 3), jvp=lambda ctx, t: t)
        say(refused(lambda: two.apply(d)))

        def forward(ctx: Any, x: Any) -> Any:
            constant = x + 0
            ctx.mark_non_differentiable(constant)
            return x * 2, constant

        for second in (None, 1):
            constant = function(torch, forward=forward, jvp=lambda ctx, t, second=second: (t * 2, second and t))
            say(refused(lambda constant=constant: [fwd.unpack_dual(v).tangent for v in constant.apply(d)]))


@program
def dirty_inputs_and_views_in_jvp(torch: Any, say: Any) -> None:
    fwd = forward_ad(torch)

    def double(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    in_place = function(torch, forward=double, jvp=lambda ctx, t: t.mul_(2))
    with fwd.dual_level():
        t = torch.ones(2) * 3
        d = fwd.make_dual(torch.ones(2), t)
        r = in_place.apply(d)
        say(r is d, fwd.unpack_dual(d), t)
        d = fwd.make_dual(torch.ones(2), torch.ones(2))
        say(refused(lambda: function(torch, forward=double, jvp=lambda ctx, t: t * 2).apply(d)))
        base = fwd.make_dual(torch.ones(2, 2), torch.ones(2, 2))
        view = base[0]
        in_place.apply(view)
        say(fwd.unpack_dual(base), fwd.unpack_dual(view))
        d = fwd.make_dual(torch.ones(2, 2), torch.ones(2, 2) * 3)
        r = function(torch, forward=lambda ctx, x: x.view(-1), jvp=lambda ctx, t: t.view(-1)).apply(d)
        say(fwd.unpack_dual(r), r._is_view())
        say(refused(lambda: function(torch, forward=lambda ctx, x: x.view(-1), jvp=lambda ctx, t: t.view(-1) * 2).apply(d)))
        r = function(torch, forward=lambda ctx, x: x, jvp=lambda ctx, t: t.view_as(t)).apply(d)
        say(r is d, fwd.unpack_dual(r))
        say(refused(lambda: function(torch, forward=lambda ctx, x: x, jvp=lambda ctx, t: t * 2).apply(d)))


@program
def what_vmap_is_told_and_returns(torch: Any, say: Any) -> None:
    def custom(vmap: Callable[..., Any], outputs: int = 1) -> Any:
        return function(torch, forward=lambda *xs: tuple(xs), setup_context=lambda ctx, i, o: None, vmap=vmap)

    def told(info: Any, in_dims: Any, x: Any, nest: Any, k: Any) -> Any:
        say(info.batch_size, info.randomness, info._fields, in_dims, x.shape, nest["a"].shape, k)
        return x.movedim(in_dims[0], 0), 0

    f = custom(told)
    x = rows(torch)
    torch.vmap(lambda a, b: f.apply(a, {"a": b}, 2.0), in_dims=(1, 0))(x, torch.ones(3, 4))
    torch.vmap(lambda a: f.apply(a, {"a": torch.ones(1)}, None), randomness="same")(x)
    returns = [lambda x: (x, 0), lambda x: (x, None), lambda x: (x, 1), lambda x: (x, (0,)), lambda x: (x, 0, 0), lambda x: [x, 0],
               lambda x: ((x, x), 0),
               lambda x: ((x, x), (0, 1)), lambda x: ((x, x), (0, 0, 0))]  # fmt: skip
    for give in returns:
        g = custom(lambda info, in_dims, x, give=give: give(x))
        say(refused(lambda g=g: torch.vmap(g.apply)(x)))


@program
def functions_in_every_order_of_transforms(torch: Any, say: Any) -> None:
    """Rules of NumPy's, whose derivative no transform could find by itself; one whose forward, backward and jvp are at odds."""
    product = function(
        torch, forward=lambda x, y: torch.tensor(x.detach().numpy() * y.detach().numpy()),
        setup_context=lambda ctx, i, o: (ctx.save_for_backward(*i), ctx.save_for_forward(*i))[0],
        backward=lambda ctx, g: tuple(product.apply(g, s) for s in reversed(ctx.saved_tensors)),
        jvp=lambda ctx, a, b: product.apply(a, ctx.saved_tensors[1]) + product.apply(b, ctx.saved_tensors[0]),
        vmap=lambda info, dims, *xs: (product.apply(*[x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
                                                      for x, d in zip(xs, dims)]), 0))  # fmt: skip

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    cube = function(
        torch, forward=lambda x: (torch.tensor(x.detach().numpy() ** 3), torch.tensor(3 * x.detach().numpy() ** 2)), setup_context=setup,
        backward=lambda ctx, g, h: product.apply(g, ctx.saved_tensors[1]) + 6 * product.apply(h, ctx.saved_tensors[0]),
        jvp=lambda ctx, t: (product.apply(t, ctx.saved_tensors[1]), 6 * product.apply(t, ctx.saved_tensors[0])),
        vmap=lambda info, dims, x: (cube.apply(x), (dims[0], dims[0])))  # fmt: skip
    power = function(
        torch, forward=lambda x: (x**3, 3 * x**2), setup_context=setup, generate_vmap_rule=True,
        backward=lambda ctx, g, h: g * ctx.saved_tensors[1] + 6 * h * ctx.saved_tensors[0],
        jvp=lambda ctx, t: (t * ctx.saved_tensors[1], 6 * t * ctx.saved_tensors[0]))  # fmt: skip
    at_odds = function(torch, forward=lambda x: x.round(), setup_context=lambda ctx, i, o: None, backward=lambda ctx, g: g * 7,
                       jvp=lambda ctx, t: t * 3, generate_vmap_rule=True)  # fmt: skip

    def keep_result(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(*inputs)
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    def grow(info: Any, in_dims: Any, x: Any) -> Any:
        exp_.apply(x)
        return x, in_dims[0]

    exp_ = function(torch, forward=lambda x: x.exp_(), setup_context=keep_result, vmap=grow,
                    backward=lambda ctx, g: g * ctx.saved_tensors[0], jvp=lambda ctx, t: t.mul_(ctx.saved_tensors[0]))  # fmt: skip
    functions = {"cube": lambda x: cube.apply(x)[0] * cube.apply(x)[1], "power": lambda x: power.apply(x)[0] * x,
                 "at odds": lambda x: at_odds.apply(x) * x, "product": lambda x: product.apply(x, x.sin()),
                 "exp_": lambda x: exp_.apply(x.clone())}  # fmt: skip
    fn, vmap = torch.func, torch.vmap
    x = torch.tensor([[0.5, 1.5], [2.0, -1.0], [0.3, 0.7]], dtype=torch.float64)
    v, t, ts = x[0], torch.tensor([1.0, -2.0], dtype=torch.float64), x.sin()
    push = lambda h: lambda a: fn.jvp(h, (a,), (t,))[1]
    total = lambda h: lambda a: h(a).sum()

    def orders(f: Callable[[Any], Any], writes: bool) -> dict[str, Callable[[], Any]]:
        g = total(f)
        table: dict[str, Callable[[], Any]] = {
            "vmap": lambda: (vmap(f)(x), vmap(f, in_dims=1, out_dims=1)(x), vmap(vmap(f))(x)),
            "grad": lambda: (fn.grad(g)(v), fn.grad(total(fn.grad(g)))(v), fn.jacrev(f)(v)),
            "jvp": lambda: (push(f)(v), fn.jacfwd(f)(v)),
            "jvp grad": lambda: push(fn.grad(g))(v),
            "grad jvp": lambda: fn.grad(total(push(f)))(v),
            "vmap grad": lambda: vmap(fn.grad(g))(x),
            "grad vmap": lambda: fn.grad(total(vmap(f)))(x),
            "jvp vmap": lambda: fn.jvp(vmap(f), (x,), (ts,)),
            "jvp vmap grad": lambda: fn.jvp(vmap(fn.grad(g)), (x,), (ts,)),
            "hessian": lambda: (fn.hessian(g)(v), fn.jacrev(fn.jacrev(g))(v)),
            "grad jvp vmap": lambda: fn.grad(lambda a: fn.jvp(vmap(f), (a,), (ts,))[1].sum())(x),
            "jvp grad vmap": lambda: fn.jvp(fn.grad(total(vmap(f))), (x,), (ts,)),
        }
        return table if writes else table | {  # else jvp would write a batch into a tangent without one
            "vmap jvp": lambda: vmap(push(f))(x),
            "vmap jvp grad": lambda: vmap(push(fn.grad(g)))(x),
            "vmap grad jvp": lambda: vmap(fn.grad(total(push(f))))(x),
            "grad vmap jvp": lambda: fn.grad(total(vmap(push(f))))(x),
            "vmap hessian": lambda: vmap(fn.hessian(g))(x),
            "jacrev jacfwd": lambda: fn.jacrev(fn.jacfwd(g))(v),
        }  # fmt: skip

    for name, f in functions.items():
        for order, run in orders(f, name == "exp_").items():
            say(name, order, refused(run))
        w = x.clone().requires_grad_()
        vmap(f)(w).sum().backward()
        say(name, "backward", w.grad)


@program
def what_examples_share(torch: Any, say: Any) -> None:
    """Tensors made inside of a transform from something outside, which differ from example to example no more than that does."""
    x, t, batch = torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0]), torch.arange(6.0).view(3, 2)

    def pushed(w: Any) -> Any:
        (a, b), (along, _) = torch.func.jvp(lambda x: (x * (w * 2), w * 2), (x,), (t,))
        return a.sum() + b.sum() * 10 + along.sum() * 100

    def reused(w: Any) -> Any:
        def f(x: Any) -> Any:
            y = (w * 2).sin()
            return x * y, y, y * 2 + x

        a, b, c = torch.func.jvp(f, (x,), (t,))[0]
        along = torch.func.jvp(f, (x,), (t,))[1][0]
        p, q, r = torch.vmap(f)(batch)
        s, u, _ = torch.vmap(f, out_dims=(0, None, 0))(batch)
        return (a * b + c).sum() + along.sum() + (p * q).sum() + (r * batch).sum() + (s.sum(0) * u).sum()

    for f in (pushed, reused):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        f(w).backward()
        say(w.grad, torch.func.grad(f)(w.detach()))


# --- dual numbers -----------------------------------------------------------------------------------------------


@program
def levels(torch: Any, say: Any) -> None:
    fwd, one = forward_ad(torch), torch.ones(1)
    say(fwd._current_level, refused(lambda: fwd.exit_dual_level()))
    level = fwd.enter_dual_level()
    say(level, fwd._current_level, refused(lambda: fwd.enter_dual_level()), refused(lambda: fwd.exit_dual_level(level=3)))
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
        for primal, tangent in ((torch.arange(2), torch.ones(2)), (torch.ones(2), torch.arange(2)), (torch.ones(2), torch.ones(3)),
                                (d, torch.zeros(2)), (torch.zeros(2), d)):  # fmt: skip
            say(refused(lambda primal=primal, tangent=tangent: fwd.make_dual(primal, tangent)))
        primal, tangent = torch.rand(2), torch.rand(2)
        d = fwd.make_dual(primal, tangent)
        p, t = fwd.unpack_dual(d)
        say(d.data_ptr() == primal.data_ptr(), p.data_ptr() == primal.data_ptr(), t.data_ptr() == tangent.data_ptr(), p is primal)
        for primal, tangent in ((torch.ones(2, 3), torch.ones(3).expand(2, 3)), (torch.ones(3, 2).t(), torch.arange(6.0).view(2, 3))):
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
        for write in (lambda d: d.add_(1), lambda d: d.zero_(), lambda d: d.fill_(2.0), lambda d: d.copy_(torch.ones(3))):
            say(fwd.unpack_dual(write(dual(3))))
        for write in (lambda p: p.mul_(dual(3)), lambda p: p.copy_(dual(3)), lambda p: p.index_add_(0, torch.tensor([0]), dual(1))):
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
    "rand": lambda t, x: t.rand(3), "randn": lambda t, x: t.randn(2), "randint": lambda t, x: t.randint(10, (3,)),
    "randperm": lambda t, x: t.randperm(5), "normal": lambda t, x: t.normal(0.0, 1.0, (2,)), "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x), "randint_like": lambda t, x: t.randint_like(x, 10),
    "bernoulli": lambda t, x: t.bernoulli(t.full((4,), 0.5)), "bernoulli of a batch": lambda t, x: t.bernoulli(x * 0.1 + 0.5),
    "bernoulli p": lambda t, x: t.bernoulli(x, 0.5), "normal_ shared": lambda t, x: t.zeros(3).normal_(), "normal_": lambda t, x: x.clone().normal_(),
    "uniform_": lambda t, x: x.clone().uniform_(), "multinomial": lambda t, x: t.multinomial(t.tensor([0.2, 0.3, 0.5]), 2),
    "multinomial of a batch": lambda t, x: t.multinomial(x + 1, 2), "dropout": lambda t, x: t.nn.functional.dropout(x + 1, 0.5),
    "dropout shared": lambda t, x: t.nn.functional.dropout(t.ones(4), 0.5), "Dropout": lambda t, x: t.nn.Dropout(0.5)(x + 1),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.view(1, 3, 1, 1) + t.ones(1, 3, 2, 2), 0.5),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x + 1, 0.5, training=True), "poisson": lambda t, x: t.poisson(x),
    "exponential_": lambda t, x: x.clone().exponential_(), "normal of a batch": lambda t, x: t.normal(x, 1.0),
    "normal of two": lambda t, x: t.normal(x, x + 1), "random_": lambda t, x: x.clone().random_(5),
    "geometric_": lambda t, x: x.clone().geometric_(0.5),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x), "cauchy_": lambda t, x: x.clone().cauchy_(),
    "no dropout": lambda t, x: t.nn.functional.dropout(x, 0.5, training=False),
}  # fmt: skip


@program
def random_numbers(torch: Any, say: Any) -> None:
    for name, draw in RANDOM.items():
        f = lambda x, draw=draw: draw(torch, x)
        for randomness in ("error", "different", "same"):
            torch.manual_seed(1)
            say(name, randomness, refused(lambda f=f, randomness=randomness: torch.vmap(f, randomness=randomness)(rows(torch))))
        both = torch.vmap(torch.vmap(f, randomness="different"), randomness="same")
        say(name, refused(lambda both=both: both(rows(torch).view(2, 1, 3)).shape))


# --- one call each -------------------------------------------------------------------------------------------------

BATCHES = [  # of ``vmap``
    lambda t: t.vmap(lambda x: x if x.sum() > 0 else -x)(rows(t)),
    lambda t: t.vmap(lambda x: float(x.sum()))(rows(t)),
    lambda t: t.vmap(lambda x: int(x.sum()))(rows(t)),
    lambda t: t.vmap(lambda x: x.sum().item())(rows(t)),
    lambda t: t.vmap(lambda x: x.tolist())(rows(t)),
    lambda t: t.vmap(lambda x: x.numpy())(rows(t)),
    lambda t: t.vmap(lambda x: t.nonzero(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.masked_select(x, x > 0))(rows(t)),
    lambda t: t.vmap(lambda x: x[x > 0])(rows(t)),
    lambda t: t.vmap(lambda x: t.unique(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.where(x > 0))(rows(t)),
    lambda t: t.vmap(lambda x: t.where(x > 0, x, -x))(rows(t)),
    lambda t: t.vmap(lambda x: t.equal(x, x))(rows(t)),
    lambda t: t.vmap(lambda x: t.allclose(x, x))(rows(t)),
    lambda t: t.vmap(lambda x: (x > 1).any())(rows(t)),
    lambda t: t.vmap(lambda x: t.bincount(x.long()))(rows(t)),
    lambda t: t.vmap(lambda x: x.repeat_interleave(t.tensor([1, 2, 3])))(rows(t)),
    lambda t: t.vmap(lambda x: x.sum().backward())(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=(0, 0))(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=((0,),))(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=[0])(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims="a")(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=2)(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=-3)(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=-1)(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=None)(rows(t)),
    lambda t: t.vmap(lambda x: x, in_dims=(None,))(rows(t)),
    lambda t: t.vmap(lambda x, y: x + y)(rows(t), 2.0),
    lambda t: t.vmap(lambda x, y: x + y, in_dims=(0, None))(rows(t), 2.0),
    lambda t: t.vmap(lambda x, y: x + y, in_dims=(0, 0))(rows(t), 2.0),
    lambda t: t.vmap(lambda x, y: x + y)(rows(t), t.ones(3)),
    lambda t: t.vmap(lambda x: x)(t.tensor(1.0)),
    lambda t: t.vmap(lambda: 1)(),
    lambda t: t.vmap(lambda x: x, out_dims=2)(rows(t)),
    lambda t: t.vmap(lambda x: x, out_dims=(0, 0))(rows(t)),
    lambda t: t.vmap(lambda x: x, out_dims=(1,))(rows(t)),
    lambda t: t.vmap(lambda x: (x, x), out_dims=(0, 1))(rows(t)),
    lambda t: t.vmap(lambda x: (x, x), out_dims=1)(rows(t)),
    lambda t: t.vmap(lambda x: {"a": x}, out_dims={"a": 1})(rows(t)),
    lambda t: t.vmap(lambda x: [x, (x, x)], out_dims=[0, (1, -1)])(rows(t)),
    lambda t: t.vmap(lambda x: x, out_dims=None)(rows(t)),
    lambda t: t.vmap(lambda x: t.ones(2), out_dims=None)(rows(t)),
    lambda t: t.vmap(lambda x: t.ones(2))(rows(t)),
    lambda t: t.vmap(lambda x: (x, 3))(rows(t)),
    lambda t: t.vmap(lambda x: None)(rows(t)),
    lambda t: t.vmap(lambda x: x, out_dims="a")(rows(t)),
    lambda t: t.vmap(lambda x: x, randomness="x")(rows(t)),
    lambda t: t.vmap(lambda x: x, chunk_size=0)(rows(t)),
    lambda t: t.vmap(lambda x: x, chunk_size=-1)(rows(t)),
    lambda t: t.vmap(lambda x: x * 2, chunk_size=1, out_dims=1)(rows(t)),
    lambda t: t.vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": [None]},))({"a": rows(t), "b": [t.ones(3)]}),
    lambda t: t.vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0},))({"a": rows(t), "b": [t.ones(3)]}),
    lambda t: t.vmap(lambda x, k=None: x + k)(rows(t), k=rows(t)),
    lambda t: t.vmap(lambda x, k=None: x + k)(rows(t), k=2.0),
    lambda t: t.vmap(lambda x: x.add_(t.ones(3)))(rows(t)),
    lambda t: t.vmap(lambda x: t.zeros(3).copy_(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.zeros(3).mul_(2) + x)(rows(t)),
    lambda t: t.vmap(lambda x: x.new_zeros(3).add_(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.zeros_like(x).add_(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.empty_like(x).copy_(x))(rows(t)),
    lambda t: t.vmap(lambda x: x.fill_(2))(rows(t)),
    lambda t: t.vmap(lambda x: x.new_zeros(2, 2).fill_diagonal_(1) + x[0])(rows(t)),
    lambda t: t.vmap(lambda x: x.new_empty(3).copy_(x))(rows(t)),
    lambda t: t.vmap(lambda x: x.new_ones(2).mul_(x[0]))(rows(t)),
    lambda t: t.vmap(lambda x: x.shape[0] + x.dim() * t.ones(1))(rows(t)),
    lambda t: t.vmap(lambda x: t.tensor([x.numel(), x.stride(0), x.size(0), x.is_contiguous(), x.storage_offset()]))(rows(t)),
    lambda t: t.vmap(lambda x: t.as_tensor(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.stack([x, t.tensor([1., 2., 3.])]))(rows(t)),
    lambda t: t.vmap(lambda x: t.tensor([x[0], 1.0]))(rows(t)),
    lambda t: t.vmap(lambda x: [1, 2][x[0].long()])(rows(t)),
    lambda t: t.vmap(lambda x: t.ones(6)[x[0].long()])(rows(t)),
    lambda t: t.vmap(lambda x: t.arange(9)[x.long()])(rows(t)),
    lambda t: t.vmap(lambda x: x[int(x[0])])(rows(t)),
    lambda t: t.vmap(lambda x: x.data * 2)(rows(t)),
    lambda t: t.vmap(lambda x: x.detach() * 2)(rows(t)),
    lambda t: t.vmap(lambda x: x.requires_grad_().sum())(rows(t)),
    lambda t: t.vmap(lambda x: t.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0])(rows(t)),
    lambda t: t.vmap(lambda x: t.sum(x, 5))(rows(t)),
    lambda t: t.vmap(lambda x: t.cat([x, x], 1))(rows(t)),
    lambda t: t.vmap(lambda x: x.nope)(rows(t)),
    lambda t: t.vmap(lambda x: t.chunk(x, 2))(rows(t)),
    lambda t: t.vmap(lambda x: t.split(x, 2))(rows(t)),
    lambda t: t.vmap(lambda x: tuple(x))(rows(t)),
    lambda t: t.vmap(lambda x: len(x) * x)(rows(t)),
    lambda t: t.vmap(lambda x: sum(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.is_tensor(x) * x)(rows(t)),
    lambda t: t.vmap(lambda x: x.clone().contiguous() if x.is_floating_point() else x)(rows(t)),
    lambda t: t.vmap(lambda x: x.as_strided((2,), (1,), 1))(rows(t)),
    lambda t: t.vmap(lambda x: x.T)(rows(t)),
    lambda t: t.vmap(lambda x: x.expand(2, 3))(rows(t)),
    lambda t: t.vmap(lambda x: x.to(t.float64))(rows(t)),
    lambda t: t.vmap(t.nn.BatchNorm1d(3))(t.ones(2, 4, 3)),
    lambda t: t.vmap(t.nn.BatchNorm1d(3), randomness="different")(t.ones(2, 4, 3)),
    lambda t: t.vmap(lambda x: t.nn.functional.one_hot(x.long(), 6))(rows(t)),
    lambda t: t.vmap(lambda x: t.nn.functional.one_hot(x.long()))(rows(t)),
    lambda t: t.vmap(lambda x: t.linspace(0, 1, 3) + x)(rows(t)),
    lambda t: t.vmap(lambda x: t.arange(x[0]))(rows(t)),
    lambda t: t.vmap(lambda x: t.full((2,), x[0]))(rows(t)),
    lambda t: t.vmap(lambda x: x.clamp(min=x.mean()))(rows(t)),
    lambda t: t.vmap(lambda x: (x.sort().values, x.topk(2).indices, x.max(0)))(rows(t)),
    lambda t: t.vmap(lambda x: x.is_nonzero())(rows(t)),
    lambda t: t.vmap(lambda x: not x[0])(rows(t)),
    lambda t: t.vmap(lambda x: t.vmap(lambda y: x * y)(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.vmap(lambda y: y.item())(x))(rows(t)),
    lambda t: t.func.vmap(t.func.vmap(lambda x: x, in_dims=1))(rows(t)),
    lambda t: t.vmap(lambda x: t.quantile(x, 0.5))(rows(t)),
    lambda t: t.vmap(lambda x: t.histc(x))(rows(t)),
    lambda t: t.vmap(lambda x: x.tolist(), )(t.ones(2)),
    lambda t: t.vmap(lambda x: x.bool() or x)(t.ones(2)),
    lambda t: t.vmap(lambda x: x.data_ptr())(rows(t)),
    lambda t: t.vmap(lambda x: x.sum(), in_dims=0)(t.ones(0, 3)),
    lambda t: t.vmap(lambda x: x.unbind())(rows(t)),
    lambda t: t.vmap(lambda x: x.index_put((x.long() % 3,), t.ones(3)))(rows(t)),
    lambda t: t.vmap(lambda x: x.masked_fill(x > 2, 0.))(rows(t)),
    lambda t: t.vmap(lambda x: x.scatter(0, (x.long() % 3), x))(rows(t)),
]
cases("batches", BATCHES)

FUNCTIONAL = [  # of ``torch.autograd.functional``
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), vectorize=True, strategy="forward-mode"),
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), strategy="forward-mode"),
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), vectorize=True, strategy="forward-mode", create_graph=True),
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), vectorize=True, strict=True),
    lambda t: functional(t).jacobian(lambda x: x ** 2, row(t), vectorize=True, strategy="x"),
    lambda t: functional(t).jacobian(lambda x, y: (x * y, x.sum()), (row(t), row(t)), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: t.ones(2), row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: t.ones(2), row(t), vectorize=True, strategy="forward-mode"),
    lambda t: functional(t).jacobian(lambda x: (x, t.ones(2)), row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x * 1j, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x.sum(), t.ones(2, 2), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x.item(), row(t)),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t), vectorize=True),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t), vectorize=True, outer_jacobian_strategy="forward-mode"),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t), outer_jacobian_strategy="forward-mode"),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t), outer_jacobian_strategy="x"),
    lambda t: functional(t).hessian(lambda x, y: (x * y ** 2).sum(), (row(t), row(t)), vectorize=True),
    lambda t: functional(t).hessian(lambda x: x * 2, row(t)[:1], vectorize=True),
    lambda t: functional(t).hessian(lambda x: x * 2, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x * 2, row(t).requires_grad_(), create_graph=True, vectorize=True),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t).requires_grad_(), create_graph=True, vectorize=True),
    lambda t: functional(t).hessian(lambda x: (x ** 3).sum(), row(t).requires_grad_(), create_graph=True, vectorize=True,
                                    outer_jacobian_strategy="forward-mode"),
    lambda t: functional(t).jvp(lambda x: x ** 2, row(t), row(t), strict=True),
]
cases("jacobians_of_functional", FUNCTIONAL)

TRANSFORMS = [  # of ``torch.func``
    lambda t: t.func.jacrev(lambda x: x ** 2, chunk_size=2)(row(t)),
    lambda t: t.func.jacrev(lambda x: x ** 2, chunk_size=0)(row(t)),
    lambda t: t.func.jacrev(lambda x: x ** 2, chunk_size=1)(row(t)),
    lambda t: t.func.jacrev(lambda x: (x ** 2, x), has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: x ** 2, has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: (x, x, x), has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: 1)(row(t)),
    lambda t: t.func.jacrev(lambda x: None)(row(t)),
    lambda t: t.func.jacrev(lambda x: ())(row(t)),
    lambda t: t.func.jacrev(lambda x: (x, 1))(row(t)),
    lambda t: t.func.jacfwd(lambda x: 1)(row(t)),
    lambda t: t.func.jacfwd(lambda x: (x, 1))(row(t)),
    lambda t: t.func.jacfwd(lambda x: (x ** 2, x), has_aux=True)(row(t)),
    lambda t: t.func.jacfwd(lambda x: x ** 2, has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=2)(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=-1)(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=())(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=(0, 0))(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=(0.5,))(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums="x")(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x, y: x * y, argnums=(0,))(row(t), row(t)),
    lambda t: t.func.jacfwd(lambda x, y: x * y, argnums=(1, 0))(row(t), row(t)),
    lambda t: t.func.jacfwd(lambda x, y: x * y, argnums=2)(row(t), row(t)),
    lambda t: t.func.jacrev(lambda x: x * 2)(3.0),
    lambda t: t.func.grad(lambda x: x * 2)(3.0),
    lambda t: t.func.grad(lambda x: x.sum())(t.arange(3)),
    lambda t: t.func.grad(lambda x: x * 2)(row(t)),
    lambda t: t.func.grad(lambda x: (x.sum(), 1))(row(t)),
    lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(row(t)),
    lambda t: t.func.grad(lambda x: (x.sum(), x), has_aux=True)(row(t)),
    lambda t: t.func.grad(lambda x: (x.sum(), x, x), has_aux=True)(row(t)),
    lambda t: t.func.grad(lambda x: (x, x), has_aux=True)(row(t)),
    lambda t: t.func.grad(lambda x: (2.0, x), has_aux=True)(row(t)),
    lambda t: t.func.grad(lambda x, y: x, argnums=(0, 1))(t.tensor(1.), t.tensor(2.)),
    lambda t: t.func.grad(lambda x: t.ones(()))(t.tensor(1.)),
    lambda t: t.func.grad_and_value(lambda x: (x.sum(), {"a": x}), has_aux=True)(row(t)),
    lambda t: t.func.vjp(lambda x: x * 2, row(t))[1](t.ones(2)),
    lambda t: t.func.vjp(lambda x: x * 2, row(t))[1](3.0),
    lambda t: t.func.vjp(lambda x: (x * 2, x), row(t))[1]((t.ones(3), t.ones(3))),
    lambda t: t.func.vjp(lambda x: {"a": x * 2}, row(t))[1]({"a": t.ones(3)}),
    lambda t: t.func.vjp(lambda x: 1, row(t)),
    lambda t: t.func.vjp(lambda x: (x, 1), row(t)),
    lambda t: t.func.vjp(lambda x: x, row(t), has_aux=True),
    lambda t: t.func.vjp(lambda x: (x, {"k": x + 1}), row(t), has_aux=True)[2],
    lambda t: t.func.vjp(lambda x: x, 3.0),
    lambda t: t.func.jvp(lambda x: x, row(t), row(t)),
    lambda t: t.func.jvp(lambda x: x, (row(t),), row(t)),
    lambda t: t.func.jvp(lambda x: x, (row(t),), (row(t), row(t))),
    lambda t: t.func.jvp(lambda x: x, (row(t),), (t.ones(2),)),
    lambda t: t.func.jvp(lambda x: x, (), ()),
    lambda t: t.func.jvp(lambda x: x, (3.0,), (1.0,)),
    lambda t: t.func.jvp(lambda x: 1, (row(t),), (row(t),)),
    lambda t: t.func.jvp(lambda x: (x, 1), (row(t),), (row(t),)),
    lambda t: t.func.jvp(lambda x: None, (row(t),), (row(t),)),
    lambda t: t.func.jvp(lambda x: t.ones(2), (row(t),), (row(t),)),
    lambda t: t.func.jvp(lambda x: t.ones(2), (row(t),), (row(t),), strict=True),
    lambda t: t.func.jvp(lambda x: (x, x * 2), (row(t),), (row(t),), has_aux=True),
    lambda t: t.func.jvp(lambda x: x, (row(t),), (row(t),), has_aux=True),
    lambda t: t.func.jvp(lambda d: d["a"] * 2, ({"a": row(t)},), ({"a": row(t)},)),
    lambda t: t.func.jvp(lambda d: d["a"] * 2, ({"a": row(t)},), ({"b": row(t)},)),
    lambda t: t.func.jvp(lambda x: x.detach() * x, (row(t),), (row(t),)),
    lambda t: t.func.hessian(lambda x: (x.detach() * x ** 2).sum())(row(t)),
    lambda t: t.func.linearize(t.sin, row(t))[1](row(t)),
    lambda t: t.func.linearize(t.sin, row(t))[1](row(t), row(t)),
    lambda t: t.func.linearize(t.sin, row(t))[1](t.ones(2)),
    lambda t: t.func.linearize(t.sin, row(t))[1](t.ones(3).double()),
    lambda t: t.func.linearize(lambda x, y: (x * y, {"s": x + y}), row(t), row(t))[1](row(t), t.ones(3)),
    lambda t: t.func.linearize(lambda d: d["a"].sin(), {"a": row(t)})[1]({"b": row(t)}),
    lambda t: t.vmap(lambda x: t.func.grad(lambda y: y.requires_grad_().sum())(x))(row(t)),
    lambda t: t.func.grad(lambda x: x.requires_grad_().sum())(row(t)),
    lambda t: t.func.grad(lambda x: (x.sum().backward(), x.sum())[1])(row(t)),
    lambda t: t.func.grad(lambda x: functional(t).jacobian(t.sin, x).sum())(row(t)),
    lambda t: t.vmap(lambda x: functional(t).vjp(t.sin, x, x)[1])(row(t)),
    lambda t: t.func.grad(lambda x: (x * x.detach()).sum())(row(t)),
    lambda t: t.func.grad(lambda x: t.func.grad(lambda y: (x.detach() * y * y).sum())(x).sum())(row(t)),
    lambda t: t.func.grad(lambda x: x.data.sum())(row(t)),
    lambda t: t.func.vjp(lambda x: x.exp(), row(t))[1](row(t), create_graph=True),
    lambda t: t.func.grad(t.func.grad(lambda x: x ** 3))(t.tensor(2., requires_grad=True)),
    lambda t: t.func.grad(lambda x: x ** 3)(t.tensor(2., requires_grad=True)),
    lambda t: (lambda w: t.func.grad(lambda x: x * w)(t.tensor(2.)))(t.tensor(3., requires_grad=True)),
    lambda t: (lambda w: t.func.grad_and_value(lambda x: x * w)(t.tensor(2.)))(t.tensor(3., requires_grad=True)),
    lambda t: [t.no_grad().__enter__(), t.func.grad(lambda x: x ** 2)(t.tensor(2.)), t.set_grad_enabled(True)][1],
    lambda t: t.func.grad(lambda x: [t.no_grad().__enter__(), x ** 2, t.set_grad_enabled(True)][1])(t.tensor(2.)),
    lambda t: t.func.jvp(lambda x: t.func.jvp(t.sin, (x,), (t.ones(3),))[1], (row(t),), (row(t),)),
]
cases("transforms", TRANSFORMS)

MODULES = [  # of modules
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2)}, (t.ones(2),)).shape,
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2)}, (t.ones(2),), strict=True),
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2), "bias": t.zeros(2), "foo": t.ones(2)}, (t.ones(2),), strict=True),
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2), "bias": t.zeros(2), "foo": t.ones(2)}, (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), ({"weight": t.ones(2, 2)}, {"bias": t.zeros(2)}), (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), ({"weight": t.ones(2, 2)}, {"weight": t.zeros(2)}), (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), ("a",), (t.ones(2),)),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.]])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"l2.weight": t.tensor([[3.]])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.]])}, (t.ones(1),), tie_weights=False),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.]]), "l2.weight": t.tensor([[4.]])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"buf": t.tensor([5.])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.]]), "buf": t.tensor([5.])}, (t.ones(1),), strict=True),
    lambda t: t.func.functional_call(tied(t), {"a": 3}, (t.ones(1),)),
    lambda t: t.func.functional_call("x", {}, (t.ones(1),)),
    lambda t: t.func.functional_call(layer(t), {"weight": 3}, (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), {}, t.ones(2)).shape,
    lambda t: t.func.functional_call(layer(t), {}, kwargs={"input": t.ones(2)}).shape,
    lambda t: t.func.stack_module_state([]),
    lambda t: t.func.stack_module_state([layer(t), layer(t).eval()]),
    lambda t: t.func.stack_module_state([layer(t), t.nn.ReLU()]),
    lambda t: t.func.stack_module_state([layer(t), layer(t).requires_grad_(False)]),
    lambda t: {k: (v.shape, v.requires_grad, v.is_leaf) for k, v in t.func.stack_module_state([layer(t), layer(t)])[0].items()},
]
cases("modules", MODULES)
