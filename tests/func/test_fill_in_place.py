"""Tensors made inside of a transform and filled there: they are batched, and have tangents, as what is written is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: Any) -> Any:
    return pytest.importorskip(request.param)


def elements(t: Any, x: Any) -> Any:
    o = t.zeros(3, dtype=x.dtype)
    o[0] = x[0] * x[1]
    o[2] += x[1]
    return o


def whole(t: Any, x: Any) -> Any:
    o = t.zeros(2, dtype=x.dtype)
    o.copy_(x.sin())
    o *= x
    return o


def index_add(t: Any, x: Any) -> Any:
    return t.zeros(3, dtype=x.dtype).index_add_(0, t.tensor([0, 2]), x**3)


def scatter(t: Any, x: Any) -> Any:
    return t.ones(2, 2, dtype=x.dtype).scatter_(0, t.tensor([[0, 1]]), (x**2)[None])


def masked(t: Any, x: Any) -> Any:
    return t.zeros(2, 2, dtype=x.dtype).masked_fill_(t.eye(2, dtype=t.bool), x[0] ** 2)


def accumulated(t: Any, x: Any) -> Any:
    return t.ones(2, dtype=x.dtype).index_put_((t.tensor([0, 0]),), x * x, accumulate=True)


def diagonal(t: Any, x: Any) -> Any:
    o = t.zeros(2, 2, dtype=x.dtype)
    o.diagonal().copy_(x**2)
    return o


def view_of_view(t: Any, x: Any) -> Any:
    o = t.ones(2, 2, dtype=x.dtype)
    o.view(-1)[1:3] *= x**2
    return o


def strided(t: Any, x: Any) -> Any:
    o = t.arange(6, dtype=x.dtype)
    o.as_strided((2,), (3,), 1).add_(x.cos())
    return o


def earlier_views(t: Any, x: Any) -> Any:
    o = t.ones(2, 3, dtype=x.dtype)
    row, column, detached = o[0], o.T[1], o.detach()
    o[:, 1] = x**2
    row.mul_(x[0])
    return t.cat([o.reshape(-1), row, column, row[1:], detached.reshape(-1) * 0])


def after_a_number(t: Any, x: Any) -> Any:
    o = t.zeros(2, dtype=x.dtype)
    part = o[:1]
    o += x
    part.fill_(3)
    return o * x


def of_a_transform(t: Any, x: Any) -> Any:
    """The argument of an inner transform is written into once that has ended."""
    w = t.ones(2, dtype=x.dtype)
    w -= 0.1 * t.func.grad(lambda w: ((w * w) ** 2).sum())(w) * x
    return w


FILLED: dict[Callable, Callable] = {  # out of place
    elements: lambda t, x: t.stack([x[0] * x[1], x[0] * 0, x[1]]),
    whole: lambda t, x: x.sin() * x,
    index_add: lambda t, x: t.stack([x[0] ** 3, 0 * x[0], x[1] ** 3]),
    scatter: lambda t, x: t.stack([x[0] ** 2, 0 * x[0] + 1, 0 * x[0] + 1, x[1] ** 2]).reshape(2, 2),
    masked: lambda t, x: t.eye(2, dtype=x.dtype) * x[0] ** 2,
    accumulated: lambda t, x: t.stack([1 + (x * x).sum(), 0 * x[0] + 1]),
    diagonal: lambda t, x: t.eye(2, dtype=x.dtype) * x**2,
    view_of_view: lambda t, x: t.stack([0 * x[0] + 1, x[0] ** 2, x[1] ** 2, 0 * x[0] + 1]).reshape(2, 2),
    strided: lambda t, x: t.arange(6, dtype=x.dtype) + t.cat([0 * x[:1], x.cos()])[t.tensor([0, 1, 0, 0, 2, 0])],
    earlier_views: lambda t, x: t.cat(
        [
            t.stack([x[0], x[0] ** 3, x[0], x[0] * 0 + 1, x[1] ** 2, x[0] * 0 + 1]),
            t.stack([x[0], x[0] ** 3, x[0], x[0] ** 3, x[1] ** 2, x[0] ** 3, x[0]]),
            0 * x.sum() + t.zeros(6, dtype=x.dtype),
        ]
    ),
    after_a_number: lambda t, x: t.stack([3 * x[0], x[1] ** 2]),
    of_a_transform: lambda t, x: 1 - 0.4 * x,
}


def summed(f: Callable) -> Callable:
    return lambda x: (f(x) ** 2).sum()


def along(t: Any, f: Callable) -> Callable:
    return lambda x: t.func.jvp(f, (x,), (t.ones_like(x),))


# those of PyTorch's that do not refuse; the batched ones it refuses all
UNBATCHED: dict[str, Callable[[Any, Callable, Any], Any]] = {
    "jacrev": lambda t, f, x: t.func.jacrev(f)(x),
    "jvp": lambda t, f, x: along(t, f)(x),
    "jacfwd": lambda t, f, x: t.func.jacfwd(f)(x),
    "hessian": lambda t, f, x: t.func.hessian(summed(f))(x),
    "jacfwd of jacrev": lambda t, f, x: t.func.jacfwd(t.func.jacrev(summed(f)))(x),
    "jacrev of jacfwd": lambda t, f, x: t.func.jacrev(t.func.jacfwd(summed(f)))(x),
    "jacfwd of jacfwd": lambda t, f, x: t.func.jacfwd(t.func.jacfwd(summed(f)))(x),
    "forward-mode jacobian": lambda t, f, x: t.autograd.functional.jacobian(
        f, x, strategy="forward-mode", vectorize=True
    ),
    "vectorized hessian": lambda t, f, x: t.autograd.functional.hessian(
        summed(f), x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}
BATCHED: dict[str, Callable[[Any, Callable, Any], Any]] = {
    "vmap": lambda t, f, x: t.vmap(f)(t.stack([x, x + 1])),
    "vmap in chunks": lambda t, f, x: t.vmap(f, chunk_size=1)(t.stack([x, x + 1])),
    "vmap of vmap": lambda t, f, x: t.vmap(lambda a: t.vmap(lambda b: f(a * b))(t.stack([x, x + 1])))(
        t.stack([x, x + 1, x + 2])
    ),
    "vmap of jvp": lambda t, f, x: t.vmap(along(t, f))(t.stack([x, x + 1])),
    "jvp of vmap": lambda t, f, x: along(t, t.vmap(f))(t.stack([x, x + 1])),
    "vmap of jacrev": lambda t, f, x: t.vmap(t.func.jacrev(f))(t.stack([x, x + 1])),
    "jacrev of vmap": lambda t, f, x: t.func.jacrev(t.vmap(f))(t.stack([x, x + 1])),
    "vmap of jacfwd": lambda t, f, x: t.vmap(t.func.jacfwd(f))(t.stack([x, x + 1])),
    "vmap of hessian": lambda t, f, x: t.vmap(t.func.hessian(summed(f)))(t.stack([x, x + 1])),
}
REFUSED_BY_PYTORCH = (strided, earlier_views, after_a_number)  # in some of them


@pytest.mark.parametrize("f", FILLED)
@pytest.mark.parametrize("transform", [*UNBATCHED, *BATCHED])
def test_as_if_out_of_place(torch: Any, f: Callable, transform: str) -> None:
    if torch.__name__ == "torch" and (transform in BATCHED or f in REFUSED_BY_PYTORCH):
        pytest.skip("PyTorch refuses it")
    run = (UNBATCHED | BATCHED)[transform]
    x = torch.tensor([0.7, -0.4], dtype=torch.float64)
    got, expected = run(torch, lambda a: f(torch, a), x), run(torch, lambda a: FILLED[f](torch, a), x)
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, expected)], strict=True):
        torch.testing.assert_close(a, b)


def test_what_lies_outside_stays_refused(torch: Any) -> None:
    """Also where a part of it is written, or it is an outer transform's, or its detached self was made inside."""
    outside, x = torch.zeros(2), torch.ones(3, 2)

    def inner(a: Any, made: Any) -> Any:
        made[0] = a[0]
        return made

    for f in (
        lambda a: outside.copy_(a),
        lambda a: outside[1:].add_(a[1:]),
        lambda a: inner(a, outside.detach()),
        lambda a: outside.view(1, 2)[0].fill_(a[0]),
        lambda a: torch.vmap(lambda b: inner(b, outside))(x),
        lambda a: (lambda made: torch.vmap(lambda b: inner(b, made))(x))(torch.zeros(2)),
    ):
        with pytest.raises(RuntimeError, match="(inplace arithmetic|fill_).* is not possible|the broadcast shape"):
            torch.vmap(f)(x)
    assert outside.tolist() == [0, 0]


def test_an_argument_of_a_running_transform_is_not_replaced() -> None:
    torch = pytest.importorskip("pullback")

    def f(a: Any) -> Any:
        made = torch.zeros(2)
        return torch.vmap(lambda row: made[0].copy_(a) + row)(made.expand(2, 2)[:, 0])

    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        torch.vmap(f)(torch.ones(3))


SHARED: dict[str, Callable[[Any, Any], Any]] = {  # their tangents may be those of what they are made from
    "add": lambda t, x: x + 1,
    "sub": lambda t, x: x - t.ones(2),
    "add nothing": lambda t, x: x + t.zeros(()),
    "where": lambda t, x: t.where(t.tensor([True, True]), x, 0.0),
    "clone": lambda t, x: x.clone(),
    "cat": lambda t, x: t.cat([x]),
    "addcmul": lambda t, x: t.addcmul(x, t.ones(2), t.ones(2)),
    "lerp": lambda t, x: t.lerp(x, t.ones(2), 0.0),
    "to": lambda t, x: x.to(t.float32, copy=True),
    "masked_fill": lambda t, x: x.masked_fill(t.tensor([False, False]), 0.0),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_result_has_a_tangent_of_its_own(torch: Any, name: str) -> None:
    """Writing into it, or into what it was made from, leaves the other's as it is."""
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])

    def result_written(a: Any) -> Any:
        y = SHARED[name](torch, a)
        y.mul_(3)
        return a * 1

    def operand_written(a: Any) -> Any:
        a = a * 1
        y = SHARED[name](torch, a)
        a.mul_(3)
        return y

    for f in (result_written, operand_written):
        assert torch.func.jvp(f, (x,), (t,))[1].tolist() == [1, 10]
        assert torch.func.jvp(torch.func.jacrev(summed(f)), (x,), (t,))[1].tolist() == [2, 20]
    assert t.tolist() == [1, 10]


def test_a_number_is_written_with_its_tangent(torch: Any) -> None:
    f = lambda a: torch.zeros(2).fill_(a[0] * a[1])  # noqa: E731
    assert torch.func.jvp(f, (torch.tensor([2.0, 3.0]),), (torch.ones(2),))[1].tolist() == [5, 5]


@pytest.mark.parametrize(
    "write", [lambda v, x: v.masked_fill_(x > 0.3, x.sum()), lambda v, x: v.__setitem__(x > 0.3, x.sum())]
)
def test_masks_of_different_sizes(write: Callable) -> None:
    torch = pytest.importorskip("pullback")

    def f(x: Any) -> Any:
        v = torch.zeros(3)
        write(v, x)
        return (v * x).sum()

    x = torch.tensor([[1.0, 2.0, -1.0], [-3.0, 4.0, -1.0]])
    expected = torch.stack([torch.func.grad(f)(row) for row in x])
    for gradient in (torch.func.grad, torch.func.jacfwd):
        assert torch.equal(torch.vmap(gradient(f))(x), expected)


def test_a_part_scattered_under_two_batches() -> None:
    """As many examples as there are rows: these must not be taken for each other."""
    torch = pytest.importorskip("pullback")
    x, c, index = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2, 3, 2), torch.zeros(1, 2, dtype=torch.int64)
    f = lambda a: torch.vmap(lambda b: b.scatter(0, index, a[None]))(c)  # noqa: E731
    assert torch.equal(torch.vmap(f)(x)[:, :, 0], x[:, None].expand(2, 2, 2))


OVERWRITES: dict[str, Callable[[Any, Any], Any]] = {
    "fill_": lambda t, a: a.fill_(0.7),
    "zero_": lambda t, a: a.zero_(),
    "copy_": lambda t, a: a.copy_(t.ones(2, dtype=a.dtype)),
    "two parts": lambda t, a: (a[:1].fill_(2), a[1:].zero_()),
    "sign_": lambda t, a: a.sign_(),
}
BACK_THROUGH: dict[str, Callable[[Any, Callable, Any], Any]] = {
    "jacrev of jacfwd": lambda t, f, x: t.func.jacrev(t.func.jacfwd(f))(x),
    "jacrev of jacfwd twice": lambda t, f, x: t.func.jacrev(t.func.jacfwd(t.func.jacfwd(f)))(x),
    "grad of jvp": lambda t, f, x: t.func.grad(lambda x: t.func.jvp(f, (x,), (x * 1,))[1])(x),
    "grad of jvp's value": lambda t, f, x: t.func.grad(lambda x: t.func.jvp(f, (x,), (x,))[0])(x),
    "grad of vmap": lambda t, f, x: t.func.grad(lambda x: t.vmap(f)(x[None]).sum())(x),
}


@pytest.mark.parametrize("overwrite", OVERWRITES)
@pytest.mark.parametrize("transform", BACK_THROUGH)
def test_nothing_depends_on_what_is_overwritten(torch: Any, overwrite: str, transform: str) -> None:
    def f(x: Any) -> Any:
        a = x * x
        OVERWRITES[overwrite](torch, a)
        return (a * a).sum()

    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert not BACK_THROUGH[transform](torch, f, x).any()
    both = BACK_THROUGH[transform](torch, lambda x: f(x) + (x**3).sum(), x)
    torch.testing.assert_close(both, BACK_THROUGH[transform](torch, lambda x: (x**3).sum(), x))


@pytest.mark.parametrize(
    "write",
    [
        lambda o, x, i: o.masked_fill_(x > 1.5, 2.0),
        lambda o, x, i: o.scatter_(0, i, 3.0),
        lambda o, x, i: o.index_put_((i,), pullback.tensor(7.0)),
        lambda o, x, i: o.__setitem__(i, 7.0),
        lambda o, x, i: o.__setitem__(x > 1.5, 7.0),
    ],
)
def test_the_same_number_in_places_that_differ(write: Any) -> None:
    x, i = pullback.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 6.0]]), pullback.tensor([[2], [0]])

    def fill(x: Any, i: Any) -> Any:
        o = pullback.zeros(3)
        write(o, x, i)
        return o

    assert pullback.equal(pullback.vmap(fill)(x, i), pullback.stack([fill(*row) for row in zip(x, i)]))
    outer = pullback.zeros(3)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        pullback.vmap(lambda x, i: (write(outer, x, i), x)[1])(x, i)
    assert outer.tolist() == [0, 0, 0]
