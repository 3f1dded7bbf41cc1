"""``torch.func``: transforms against each other, against mathematics, and against PyTorch where it is installed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.utils._pytree import tree_leaves

RNG = np.random.default_rng(0)
x, X, Y, W = RNG.normal(size=5), RNG.normal(size=(4, 5)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 5))
AT = np.array([[0, 2, 1], [1, 1, 4], [3, 0, 2], [0, 0, 0]])
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}  # name -> program(torch, tensor)


def program(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


def squares(t: Any, p: Any) -> Callable[[Any], Any]:
    return lambda a: (t.tanh(p(W) @ a) ** 2).sum()


@program
def third_derivative(t, p):
    return t.func.grad(t.func.grad(t.func.grad(lambda a: a**5)))(p(np.float64(1.5)))


@program
def jacobians(t, p):
    f = lambda a: t.softmax(p(W) @ a, 0)
    return t.func.jacrev(f)(p(x)), t.func.jacfwd(f)(p(x))


@program
def hessians(t, p):
    f, fn = squares(t, p), t.func
    nested = [outer(inner(f))(p(x)) for outer in (fn.jacrev, fn.jacfwd) for inner in (fn.jacrev, fn.jacfwd)]
    return [fn.hessian(f)(p(x)), *nested]


@program
def jacobians_of_nests(t, p):
    f = lambda a, b: {"product": a * b, "sum": a.sum()}
    return t.func.jacrev(f, argnums=(0, 1))(p(x), p(x * 2)), t.func.jacfwd(f, argnums=(0, 1))(p(x), p(x * 2))


@program
def gradient_with_aux(t, p):
    return t.func.grad_and_value(lambda d: ((d["a"] * d["b"]).sum(), d["a"] + 1), has_aux=True)(
        {"a": p(x), "b": p(x * 2)}
    )


@program
def pull_and_push(t, p):
    f = lambda a: t.tanh(p(W) @ a)
    return t.func.vjp(f, p(x))[1](p(Y[0])), t.func.jvp(f, (p(x),), (p(x),)), t.func.linearize(f, p(x))[1](p(x))


@program
def forward_over_reverse(t, p):
    return t.func.jvp(t.func.grad(squares(t, p)), (p(x),), (p(x),))


@program
def per_sample_gradients(t, p):
    loss = lambda w, a, b: ((t.tanh(w @ a) - b) ** 2).sum()
    return t.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(p(W), p(X), p(Y))


@program
def per_sample_gradients_of_a_module(t, p):
    m = t.nn.Sequential(t.nn.Linear(5, 4), t.nn.Tanh(), t.nn.Linear(4, 3)).double()
    rng = np.random.default_rng(1)
    params = {k: p(rng.normal(size=tuple(v.shape))) for k, v in m.named_parameters()}

    def loss(params, a, label):
        return t.nn.functional.cross_entropy(t.func.functional_call(m, params, (a.unsqueeze(0),)), label.unsqueeze(0))

    return t.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(params, p(X), p(np.array([0, 1, 2, 0])))


@program
def nested_batches(t, p):
    outer = t.vmap(t.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(p(X[:, 0]), p(Y[:, 0]))
    return outer, t.vmap(lambda a: t.outer(a, a), in_dims=1, out_dims=2)(p(X)), t.vmap(t.sin, chunk_size=3)(p(X))


@program
def backward_through_a_batch(t, p):
    w = p(W).requires_grad_()
    (t.vmap(lambda a: t.tanh(w @ a))(p(X)) ** 2).sum().backward()
    return w.grad


@program
def backward_through_a_push(t, p):
    w = p(W).requires_grad_()
    value, along = t.func.jvp(lambda a: t.tanh(w @ a), (p(x),), (p(x * x),))
    (value.sum() + (along**2).sum()).backward()
    return w.grad


@program
def backward_through_per_sample_gradients(t, p):
    w, v = p(W).requires_grad_(), p(x).requires_grad_()
    g = t.vmap(t.func.grad(lambda a, w: t.tanh(w @ a).sum()), in_dims=(0, None))(p(X) * v, w)
    (g**2).sum().backward()
    return w.grad, v.grad


@program
def batched_seeds(t, p):
    a = p(X).requires_grad_()
    y = t.softmax(a, -1) * a.sum()
    (g,) = t.autograd.grad(
        y, a, p(np.random.default_rng(3).normal(size=(7, 4, 5))), is_grads_batched=True, create_graph=True
    )
    return g, t.autograd.grad(g.pow(2).sum(), a)


@program
def indices_of_each_example(t, p):
    rows = lambda w, i: (t.nn.functional.embedding(i, w) ** 2).sum()
    return (
        t.vmap(lambda a, i: a[i] * 2)(p(X), p(AT)),
        t.vmap(lambda a, i: t.gather(a, 0, i))(p(X), p(AT)),
        t.vmap(lambda i: p(x)[i])(p(AT)),
        t.vmap(t.func.grad(lambda a, i: (a[i] ** 2).sum()))(p(X), p(AT)),
        t.vmap(t.func.grad(rows), in_dims=(None, 0))(p(W.T.copy()), p(AT)),
    )


def doubled_part(a):
    b = a.clone()
    b[1:3].mul_(a[0])
    b[4] = a[0] * 2
    return b


@program
def writes_in_place(t, p):
    into_zeros = lambda a: doubled_part(t.zeros(5, dtype=t.float64) + a)
    return (
        t.vmap(doubled_part)(p(X)),
        t.vmap(t.func.grad(lambda a: (doubled_part(a) ** 2).sum()))(p(X)),
        t.func.jvp(doubled_part, (p(x),), (p(x),)),
        t.func.jvp(into_zeros, (p(x),), (p(x),)),
    )


@program
def an_ensemble(t, p):
    models = [t.nn.Linear(5, 3).double() for _ in range(3)]
    rng = np.random.default_rng(1)
    with t.no_grad():
        for m in models:
            for q in m.parameters():
                q.copy_(p(rng.normal(size=tuple(q.shape))))
    params, buffers = t.func.stack_module_state(models)
    return t.vmap(lambda a, b, c: t.func.functional_call(models[0], (a, b), (c,)), in_dims=(0, 0, None))(
        params, buffers, p(X)
    )


@program
def a_function_of_the_users(t, p):
    class Square(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a):
            return a**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * ctx.saved_tensors[0] * tangent

    f = lambda a: Square.apply(a).sin().sum()
    return t.func.grad(f)(p(x)), t.func.hessian(f)(p(x)), t.vmap(t.func.grad(f))(p(X)), t.func.jvp(f, (p(x),), (p(x),))


@program
def dual_numbers(t, p):
    import importlib

    fwd = importlib.import_module(t.__name__ + ".autograd.forward_ad")
    a = p(x).requires_grad_()
    with fwd.dual_level():
        d = fwd.make_dual(a, p(x * x))
        (g,) = t.autograd.grad((d**3).sum(), a)
        second = fwd.unpack_dual(g).tangent
        fwd.unpack_dual((d**3).sum()).tangent.backward()
        z = t.zeros(5, dtype=t.float64)
        z.copy_(d)
        tangent = fwd.unpack_dual(z).tangent
    assert d.shape == (5,)  # an ordinary tensor again
    return second, a.grad, tangent, (d * 2)


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_against_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours = tree_leaves(PROGRAMS[name](pullback, lambda a: pullback.tensor(np.asarray(a))))
    theirs = tree_leaves(PROGRAMS[name](torch, torch.tensor))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


# --- mathematics ------------------------------------------------------------------------------------------------


def test_every_order_of_transforms_gives_the_hessian_of_a_quadratic() -> None:
    A = pullback.tensor(RNG.normal(size=(5, 5)))
    for H in PROGRAMS["hessians"](pullback, lambda a: pullback.tensor(np.asarray(a))):
        np.testing.assert_allclose(H.numpy(), H.T.numpy(), atol=1e-12)
    f = lambda a: a @ A @ a / 2
    for outer in (pullback.func.jacrev, pullback.func.jacfwd):
        for inner in (pullback.func.jacrev, pullback.func.jacfwd):
            np.testing.assert_allclose(outer(inner(f))(pullback.tensor(x)).numpy(), ((A + A.T) / 2).numpy(), atol=1e-12)


def test_a_batch_of_gradients_adds_up_to_the_gradient_of_the_sum() -> None:
    p = lambda a: pullback.tensor(np.asarray(a))
    each = PROGRAMS["per_sample_gradients"](pullback, p)
    total = pullback.func.grad(lambda w: ((pullback.tanh(p(X) @ w.T) - p(Y)) ** 2).sum())(p(W))
    np.testing.assert_allclose(each.sum(0).numpy(), total.numpy(), atol=1e-12)


def test_what_is_differentiated_inside_is_no_constant_outside() -> None:
    """d/dx [x · d/dy (x + y)] is 1: the two levels may not be confused."""
    one = pullback.tensor(1.0)
    inner = lambda x: x * pullback.func.jvp(lambda y: x + y, (one,), (one,))[1]
    assert pullback.func.grad(inner)(one).item() == 1.0
    assert pullback.func.jvp(inner, (one,), (one,))[1].item() == 1.0


def test_the_cost_of_levels_ends_with_them() -> None:
    import gc

    from pullback.base import thread_state

    gc.collect()
    before = thread_state.slow_path_reasons
    a = pullback.tensor(X, requires_grad=True)
    y = pullback.vmap(pullback.sin)(a).sum()
    assert thread_state.slow_path_reasons == before + 1  # the graph still holds values of the level
    y.backward()
    del y
    assert thread_state.slow_path_reasons == before
    np.testing.assert_allclose(a.grad.numpy(), np.cos(X))


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, a: f.grad(lambda v: v)(a), RuntimeError, "Expected f(*args) to return a scalar Tensor"),
        (lambda f, a: f.grad(lambda v: 1.0)(a), RuntimeError, "Expected f(*args) to return a Tensor"),
        (
            lambda f, a: f.grad(lambda v: v.sum(), argnums=1)(a),
            RuntimeError,
            "Got argnum=1, but only 1 positional inputs",
        ),
        (lambda f, a: f.jvp(lambda v: v, a, a), RuntimeError, "Expected primals to be a tuple"),
        (lambda f, a: f.vmap(lambda v: v)(), ValueError, "got no inputs"),
        (lambda f, a: f.vmap(lambda v: v, in_dims=2)(a), ValueError, "is a Tensor of dimensionality 1"),
        (
            lambda f, a: f.vmap(lambda u, v: u + v)(a, a[:2]),
            ValueError,
            "Expected all tensors to have the same size in the mapped dimension",
        ),
        (lambda f, a: f.vmap(lambda v: v.item())(a), RuntimeError, "It looks like you're calling .item"),
        (lambda f, a: f.vmap(lambda v: 1)(a), ValueError, "must only return Tensors"),
        (lambda f, a: f.vmap(pullback.zeros(2).add_)(a), RuntimeError, "inplace arithmetic"),
        (lambda f, a: f.jacrev(pullback.abs)(a * 1j), RuntimeError, "jacrev: Expected all inputs to be real"),
        (lambda f, a: f.jacfwd(pullback.abs)(a * 1j), RuntimeError, "jacfwd: Expected all inputs to be real"),
        (lambda f, a: f.jacrev(lambda v: v * 1j)(a), RuntimeError, "jacrev: Expected all outputs to be real"),
        (lambda f, a: f.jacfwd(lambda v: v * 1j)(a), RuntimeError, "jacfwd: Expected all outputs to be real"),
        (lambda f, a: f.vmap(pullback.sin, randomness="any")(a), RuntimeError, "Only allowed values for randomness"),
    ],
)
def test_refused(call: Callable, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        call(pullback.func, pullback.tensor(x))


@pytest.mark.parametrize("transform", ["vmap", "grad", "vmap of grad", "jacrev", "jacfwd", "hessian"])
def test_modules_with_backward_hooks(transform: str) -> None:
    """The hooks see the gradients of reverse mode, whichever transform asks for them."""
    m = pullback.nn.Linear(2, 1, dtype=pullback.float64)
    x = pullback.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=pullback.float64)
    f, func = lambda a: (m(a) ** 2).sum(), pullback.func
    run = {
        "vmap": lambda: pullback.autograd.grad((pullback.vmap(m)(z := x.clone().requires_grad_()) ** 2).sum(), z)[0],
        "grad": lambda: func.grad(f)(x[0]),
        "vmap of grad": lambda: pullback.vmap(func.grad(f))(x),
        "jacrev": lambda: func.jacrev(f)(x),
        "jacfwd": lambda: func.jacfwd(f)(x[0]),
        "hessian": lambda: func.jacfwd(func.jacrev(f))(x[0]),
    }[transform]
    expected = run()
    m.register_full_backward_pre_hook(lambda module, grads: tuple(3 * g for g in grads))
    m.register_full_backward_hook(lambda module, inputs, outputs: tuple(2 * g for g in inputs))
    pullback.testing.assert_close(run(), expected if transform == "jacfwd" else 6 * expected)


@pytest.mark.parametrize("look", ["untyped_storage", "storage", "share_memory_"])
def test_a_batch_gives_away_no_storage(look: str) -> None:
    with pytest.raises(NotImplementedError, match="Cannot access storage of BatchedTensorImpl"):
        pullback.vmap(lambda row: (getattr(row, look)(), row)[1])(pullback.ones(2, 3))
    shared = pullback.ones(3)
    assert pullback.vmap(lambda row: (getattr(shared, look)(), row)[1])(pullback.ones(2, 3)).shape == (2, 3)


@pytest.mark.parametrize("transform", ["vmap", "jvp"])
def test_set_takes_no_part_of_what_a_transform_holds(transform: str) -> None:
    """It would be the memory of the first example, or lose the tangent."""

    def f(x: Any) -> Any:
        return pullback.empty(0).set_(x, 0, (2,))

    x = pullback.arange(6.0).reshape(2, 3)
    with pytest.raises(RuntimeError, match="set_ is not possible inside of a transform"):
        pullback.vmap(f)(x) if transform == "vmap" else pullback.func.jvp(f, (x[0],), (x[1],))
