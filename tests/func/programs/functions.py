"""Custom Functions under transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declare import forward_ad, program, refused, rows


def function(t: Any, **methods: Callable[..., Any]) -> Any:
    """A custom Function with these static methods."""
    attributes = {name: staticmethod(m) if callable(m) else m for name, m in methods.items()}
    return type("Custom", (t.autograd.Function,), attributes)


@program
def without_jvp_or_vmap(torch: Any, say: Any) -> None:
    old = function(torch, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2)
    new = function(torch, forward=lambda x: x * 2, setup_context=lambda ctx, i, o: None, backward=lambda ctx, g: g * 2)
    both = function(
        torch,
        forward=lambda x: x,
        setup_context=lambda ctx, i, o: None,
        vmap=lambda info, dims, x: (x, 0),
        generate_vmap_rule=True,
    )
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
    returns = [
        lambda t: t.sum(),
        lambda t: (t, t),
        lambda t: 3,
        lambda t: t.expand(3, 2),
        lambda t: [t],
        lambda t: (t,),
    ]
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
        say(
            refused(
                lambda: function(torch, forward=lambda ctx, x: x.view(-1), jvp=lambda ctx, t: t.view(-1) * 2).apply(d)
            )
        )
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
    returns = [
        lambda x: (x, 0),
        lambda x: (x, None),
        lambda x: (x, 1),
        lambda x: (x, (0,)),
        lambda x: (x, 0, 0),
        lambda x: [x, 0],
        lambda x: ((x, x), 0),
        lambda x: ((x, x), (0, 1)),
        lambda x: ((x, x), (0, 0, 0)),
    ]
    for give in returns:
        g = custom(lambda info, in_dims, x, give=give: give(x))
        say(refused(lambda g=g: torch.vmap(g.apply)(x)))


@program
def functions_in_every_order_of_transforms(torch: Any, say: Any) -> None:
    """Rules of NumPy's, whose derivative no transform could find by itself; one whose forward, backward and jvp are at
    odds.
    """
    product = function(
        torch,
        forward=lambda x, y: torch.tensor(x.detach().numpy() * y.detach().numpy()),
        setup_context=lambda ctx, i, o: (ctx.save_for_backward(*i), ctx.save_for_forward(*i))[0],
        backward=lambda ctx, g: tuple(product.apply(g, s) for s in reversed(ctx.saved_tensors)),
        jvp=lambda ctx, a, b: product.apply(a, ctx.saved_tensors[1]) + product.apply(b, ctx.saved_tensors[0]),
        vmap=lambda info, dims, *xs: (
            product.apply(
                *[x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0) for x, d in zip(xs, dims)]
            ),
            0,
        ),
    )

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    cube = function(
        torch,
        forward=lambda x: (torch.tensor(x.detach().numpy() ** 3), torch.tensor(3 * x.detach().numpy() ** 2)),
        setup_context=setup,
        backward=lambda ctx, g, h: product.apply(g, ctx.saved_tensors[1]) + 6 * product.apply(h, ctx.saved_tensors[0]),
        jvp=lambda ctx, t: (product.apply(t, ctx.saved_tensors[1]), 6 * product.apply(t, ctx.saved_tensors[0])),
        vmap=lambda info, dims, x: (cube.apply(x), (dims[0], dims[0])),
    )
    power = function(
        torch,
        forward=lambda x: (x**3, 3 * x**2),
        setup_context=setup,
        generate_vmap_rule=True,
        backward=lambda ctx, g, h: g * ctx.saved_tensors[1] + 6 * h * ctx.saved_tensors[0],
        jvp=lambda ctx, t: (t * ctx.saved_tensors[1], 6 * t * ctx.saved_tensors[0]),
    )
    at_odds = function(
        torch,
        forward=lambda x: x.round(),
        setup_context=lambda ctx, i, o: None,
        backward=lambda ctx, g: g * 7,
        jvp=lambda ctx, t: t * 3,
        generate_vmap_rule=True,
    )

    def keep_result(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(*inputs)
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    def grow(info: Any, in_dims: Any, x: Any) -> Any:
        exp_.apply(x)
        return x, in_dims[0]

    exp_ = function(
        torch,
        forward=lambda x: x.exp_(),
        setup_context=keep_result,
        vmap=grow,
        backward=lambda ctx, g: g * ctx.saved_tensors[0],
        jvp=lambda ctx, t: t.mul_(ctx.saved_tensors[0]),
    )
    functions = {
        "cube": lambda x: cube.apply(x)[0] * cube.apply(x)[1],
        "power": lambda x: power.apply(x)[0] * x,
        "at odds": lambda x: at_odds.apply(x) * x,
        "product": lambda x: product.apply(x, x.sin()),
        "exp_": lambda x: exp_.apply(x.clone()),
    }
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
        return (
            table
            if writes
            else table
            | {  # else jvp would write a batch into a tangent without one
                "vmap jvp": lambda: vmap(push(f))(x),
                "vmap jvp grad": lambda: vmap(push(fn.grad(g)))(x),
                "vmap grad jvp": lambda: vmap(fn.grad(total(push(f))))(x),
                "grad vmap jvp": lambda: fn.grad(total(vmap(push(f))))(x),
                "vmap hessian": lambda: vmap(fn.hessian(g))(x),
                "jacrev jacfwd": lambda: fn.jacrev(fn.jacfwd(g))(v),
            }
        )

    for name, f in functions.items():
        for order, run in orders(f, name == "exp_").items():
            say(name, order, refused(run))
        w = x.clone().requires_grad_()
        vmap(f)(w).sum().backward()
        say(name, "backward", w.grad)


@program
def what_examples_share(torch: Any, say: Any) -> None:
    """Tensors made inside of a transform from something outside, which differ from example to example no more than that
    does.
    """
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
