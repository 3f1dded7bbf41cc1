"""Calls of ``vmap``, ``torch.autograd.functional`` and ``torch.func``, a line each: what each gives, or how it is
refused.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from .declare import program, refused, rows


def functional(t: Any) -> Any:
    return importlib.import_module(t.__name__ + ".autograd.functional")


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
    lambda t: (lambda outside: t.vmap(lambda x: outside.copy_(x))(rows(t)))(t.zeros(3)),
    lambda t: t.vmap(lambda x: t.zeros(3).mul_(2) + x)(rows(t)),
    lambda t: t.vmap(lambda x: x.new_zeros(3).add_(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.zeros_like(x).add_(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.empty_like(x).copy_(x))(rows(t)),
    lambda t: t.vmap(lambda x: x.fill_(2))(rows(t)),
    lambda t: t.vmap(lambda x: x.new_zeros(2, 2).fill_diagonal_(1) + x[0])(rows(t)),
    lambda t: t.vmap(lambda x: x.new_empty(3).copy_(x))(rows(t)),
    lambda t: t.vmap(lambda x: x.new_ones(2).mul_(x[0]))(rows(t)),
    lambda t: t.vmap(lambda x: x.shape[0] + x.dim() * t.ones(1))(rows(t)),
    lambda t: t.vmap(lambda x: t.tensor([x.numel(), x.stride(0), x.size(0), x.is_contiguous(), x.storage_offset()]))(
        rows(t)
    ),
    lambda t: t.vmap(lambda x: t.as_tensor(x))(rows(t)),
    lambda t: t.vmap(lambda x: t.stack([x, t.tensor([1.0, 2.0, 3.0])]))(rows(t)),
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
    lambda t: t.vmap(
        lambda x: x.tolist(),
    )(t.ones(2)),
    lambda t: t.vmap(lambda x: x.bool() or x)(t.ones(2)),
    lambda t: t.vmap(lambda x: x.data_ptr())(rows(t)),
    lambda t: t.vmap(lambda x: x.sum(), in_dims=0)(t.ones(0, 3)),
    lambda t: t.vmap(lambda x: x.unbind())(rows(t)),
    lambda t: t.vmap(lambda x: x.index_put((x.long() % 3,), t.ones(3)))(rows(t)),
    lambda t: t.vmap(lambda x: x.masked_fill(x > 2, 0.0))(rows(t)),
    lambda t: t.vmap(lambda x: x.scatter(0, (x.long() % 3), x))(rows(t)),
]
cases("batches", BATCHES)

FUNCTIONAL = [  # of ``torch.autograd.functional``
    lambda t: functional(t).jacobian(lambda x: x**2, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x**2, row(t), vectorize=True, strategy="forward-mode"),
    lambda t: functional(t).jacobian(lambda x: x**2, row(t), strategy="forward-mode"),
    lambda t: functional(t).jacobian(
        lambda x: x**2, row(t), vectorize=True, strategy="forward-mode", create_graph=True
    ),
    lambda t: functional(t).jacobian(lambda x: x**2, row(t), vectorize=True, strict=True),
    lambda t: functional(t).jacobian(lambda x: x**2, row(t), vectorize=True, strategy="x"),
    lambda t: functional(t).jacobian(lambda x, y: (x * y, x.sum()), (row(t), row(t)), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: t.ones(2), row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: t.ones(2), row(t), vectorize=True, strategy="forward-mode"),
    lambda t: functional(t).jacobian(lambda x: (x, t.ones(2)), row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x * 1j, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x.sum(), t.ones(2, 2), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x.item(), row(t)),
    lambda t: functional(t).hessian(lambda x: (x**3).sum(), row(t), vectorize=True),
    lambda t: functional(t).hessian(
        lambda x: (x**3).sum(), row(t), vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    lambda t: functional(t).hessian(lambda x: (x**3).sum(), row(t), outer_jacobian_strategy="forward-mode"),
    lambda t: functional(t).hessian(lambda x: (x**3).sum(), row(t), outer_jacobian_strategy="x"),
    lambda t: functional(t).hessian(lambda x, y: (x * y**2).sum(), (row(t), row(t)), vectorize=True),
    lambda t: functional(t).hessian(lambda x: x * 2, row(t)[:1], vectorize=True),
    lambda t: functional(t).hessian(lambda x: x * 2, row(t), vectorize=True),
    lambda t: functional(t).jacobian(lambda x: x * 2, row(t).requires_grad_(), create_graph=True, vectorize=True),
    lambda t: functional(t).hessian(lambda x: (x**3).sum(), row(t).requires_grad_(), create_graph=True, vectorize=True),
    lambda t: functional(t).hessian(
        lambda x: (x**3).sum(),
        row(t).requires_grad_(),
        create_graph=True,
        vectorize=True,
        outer_jacobian_strategy="forward-mode",
    ),
    lambda t: functional(t).jvp(lambda x: x**2, row(t), row(t), strict=True),
]
cases("jacobians_of_functional", FUNCTIONAL)

TRANSFORMS = [  # of ``torch.func``
    lambda t: t.func.jacrev(lambda x: x**2, chunk_size=2)(row(t)),
    lambda t: t.func.jacrev(lambda x: x**2, chunk_size=0)(row(t)),
    lambda t: t.func.jacrev(lambda x: x**2, chunk_size=1)(row(t)),
    lambda t: t.func.jacrev(lambda x: (x**2, x), has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: x**2, has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: (x, x, x), has_aux=True)(row(t)),
    lambda t: t.func.jacrev(lambda x: 1)(row(t)),
    lambda t: t.func.jacrev(lambda x: None)(row(t)),
    lambda t: t.func.jacrev(lambda x: ())(row(t)),
    lambda t: t.func.jacrev(lambda x: (x, 1))(row(t)),
    lambda t: t.func.jacfwd(lambda x: 1)(row(t)),
    lambda t: t.func.jacfwd(lambda x: (x, 1))(row(t)),
    lambda t: t.func.jacfwd(lambda x: (x**2, x), has_aux=True)(row(t)),
    lambda t: t.func.jacfwd(lambda x: x**2, has_aux=True)(row(t)),
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
    lambda t: t.func.grad(lambda x, y: x, argnums=(0, 1))(t.tensor(1.0), t.tensor(2.0)),
    lambda t: t.func.grad(lambda x: t.ones(()))(t.tensor(1.0)),
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
    lambda t: t.func.hessian(lambda x: (x.detach() * x**2).sum())(row(t)),
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
    lambda t: t.func.grad(t.func.grad(lambda x: x**3))(t.tensor(2.0, requires_grad=True)),
    lambda t: t.func.grad(lambda x: x**3)(t.tensor(2.0, requires_grad=True)),
    lambda t: (lambda w: t.func.grad(lambda x: x * w)(t.tensor(2.0)))(t.tensor(3.0, requires_grad=True)),
    lambda t: (lambda w: t.func.grad_and_value(lambda x: x * w)(t.tensor(2.0)))(t.tensor(3.0, requires_grad=True)),
    lambda t: [t.no_grad().__enter__(), t.func.grad(lambda x: x**2)(t.tensor(2.0)), t.set_grad_enabled(True)][1],
    lambda t: t.func.grad(lambda x: [t.no_grad().__enter__(), x**2, t.set_grad_enabled(True)][1])(t.tensor(2.0)),
    lambda t: t.func.jvp(lambda x: t.func.jvp(t.sin, (x,), (t.ones(3),))[1], (row(t),), (row(t),)),
]
cases("transforms", TRANSFORMS)

MODULES = [  # of modules
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2)}, (t.ones(2),)).shape,
    lambda t: t.func.functional_call(layer(t), {"weight": t.ones(2, 2)}, (t.ones(2),), strict=True),
    lambda t: t.func.functional_call(
        layer(t), {"weight": t.ones(2, 2), "bias": t.zeros(2), "foo": t.ones(2)}, (t.ones(2),), strict=True
    ),
    lambda t: t.func.functional_call(
        layer(t), {"weight": t.ones(2, 2), "bias": t.zeros(2), "foo": t.ones(2)}, (t.ones(2),)
    ),
    lambda t: t.func.functional_call(layer(t), ({"weight": t.ones(2, 2)}, {"bias": t.zeros(2)}), (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), ({"weight": t.ones(2, 2)}, {"weight": t.zeros(2)}), (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), ("a",), (t.ones(2),)),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.0]])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"l2.weight": t.tensor([[3.0]])}, (t.ones(1),)),
    lambda t: t.func.functional_call(tied(t), {"l1.weight": t.tensor([[3.0]])}, (t.ones(1),), tie_weights=False),
    lambda t: t.func.functional_call(
        tied(t), {"l1.weight": t.tensor([[3.0]]), "l2.weight": t.tensor([[4.0]])}, (t.ones(1),)
    ),
    lambda t: t.func.functional_call(tied(t), {"buf": t.tensor([5.0])}, (t.ones(1),)),
    lambda t: t.func.functional_call(
        tied(t), {"l1.weight": t.tensor([[3.0]]), "buf": t.tensor([5.0])}, (t.ones(1),), strict=True
    ),
    lambda t: t.func.functional_call(tied(t), {"a": 3}, (t.ones(1),)),
    lambda t: t.func.functional_call("x", {}, (t.ones(1),)),
    lambda t: t.func.functional_call(layer(t), {"weight": 3}, (t.ones(2),)),
    lambda t: t.func.functional_call(layer(t), {}, t.ones(2)).shape,
    lambda t: t.func.functional_call(layer(t), {}, kwargs={"input": t.ones(2)}).shape,
    lambda t: t.func.stack_module_state([]),
    lambda t: t.func.stack_module_state([layer(t), layer(t).eval()]),
    lambda t: t.func.stack_module_state([layer(t), t.nn.ReLU()]),
    lambda t: t.func.stack_module_state([layer(t), layer(t).requires_grad_(False)]),
    lambda t: {
        k: (v.shape, v.requires_grad, v.is_leaf) for k, v in t.func.stack_module_state([layer(t), layer(t)])[0].items()
    },
]
cases("modules", MODULES)
