"""Writing into what an argument of a transform was made of, while the transform runs: the argument follows, with its
history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is")


@pytest.fixture(params=["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: Any) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture
def leaf(torch: Any) -> Any:
    return torch.tensor([[0.5, 0.7, 0.9], [0.3, 0.2, 0.1]], dtype=torch.float64, requires_grad=True)


@pytest.fixture
def by(torch: Any) -> Any:
    return torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)


def same_gradients(torch: Any, got: Any, expected: Any, *inputs: Any) -> None:
    for a, b in zip(got, expected, strict=True):
        assert torch.allclose(a, b)
        for g, h in zip(
            *[torch.autograd.grad((y**2).sum(), inputs, allow_unused=True, retain_graph=True) for y in (a, b)],
            strict=True,
        ):
            assert (g is None) is (h is None) and (g is None or torch.allclose(g, h))


def whole(x: Any, by: Any) -> None:
    x.mul_(by)


def through_a_view(x: Any, by: Any) -> None:
    x[..., 1:].mul_(by[1:])


def one_row(x: Any, by: Any) -> None:
    x[1] = by


WRITTEN: dict[Callable, Callable] = {
    whole: lambda torch, x, by: x * by,
    through_a_view: lambda torch, x, by: torch.cat([x[..., :1], x[..., 1:] * by[1:]], -1),
    one_row: lambda torch, x, by: torch.stack([x[0], by]),
}


@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("in_dim", [0, 1])
def test_a_batch_follows(torch: Any, leaf: Any, by: Any, write: Callable, in_dim: int) -> None:
    x = leaf.clone()

    def f(a: Any) -> Any:
        part = a[1:]
        write(x, by)
        return a * a, part * part

    after = WRITTEN[write](torch, leaf, by).movedim(in_dim, 0)
    same_gradients(torch, torch.vmap(f, in_dim)(x), (after**2, after[:, 1:] ** 2), leaf, by)


def test_an_inner_batch_follows_an_outer_one(torch: Any, leaf: Any) -> None:
    def f(b: Any) -> Any:
        def g(a: Any) -> Any:
            b.mul_(3)
            return a * a

        return torch.vmap(g)(b)

    x = leaf.clone()
    same_gradients(torch, (torch.vmap(f)(x), x), ((3 * leaf) ** 2, 3 * leaf), leaf)


@pytest.mark.parametrize("write", WRITTEN)
def test_a_dual_tensor_follows(torch: Any, leaf: Any, by: Any, write: Callable) -> None:
    """Its primal as its tangent."""
    fwad = torch.autograd.forward_ad
    x, t = leaf.clone(), leaf.sin()
    with fwad.dual_level():
        d = fwad.make_dual(x, t)
        part = d[:1]
        write(x, by)
        write(t, by)
        got = [value for y in (d * d, part * part) for value in fwad.unpack_dual(y)]
    p, s = (WRITTEN[write](torch, y, by) for y in (leaf, leaf.sin()))
    same_gradients(torch, got, (p * p, 2 * p * s, (p * p)[:1], (2 * p * s)[:1]), leaf, by)


@pytest.mark.parametrize("made", [lambda d: d, lambda d: d * 2])
def test_an_unpacked_part_is_a_view(torch: Any, leaf: Any, by: Any, made: Callable) -> None:
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        d = made(fwad.make_dual(leaf.clone(), leaf.sin()))
        primal, tangent = fwad.unpack_dual(d)
        primal.mul_(by)
        tangent.mul_(by)
        d.mul_(by[0])
        got = (*fwad.unpack_dual(d * d), primal * primal, tangent * tangent)
    p, s = made(leaf) * by * by[0], made(leaf.sin()) * by * by[0]
    same_gradients(torch, got, (p * p, 2 * p * s, p * p, s * s), leaf, by)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_dual_tensor_outlives_its_level_as_a_view(torch: Any, leaf: Any, by: Any, recorded: bool, order: int) -> None:
    fwad = torch.autograd.forward_ad
    x = leaf.clone() if recorded else leaf.detach().clone()
    with fwad.dual_level():
        pair = x, fwad.make_dual(x, torch.ones_like(x))
    for y in pair[::order] if recorded else pair[:1]:
        y.mul_(by)
    after = leaf * by * by if recorded else leaf.detach() * by
    same_gradients(torch, pair, (after, after), leaf, by)


def test_two_arguments_of_the_same_memory(torch: Any, leaf: Any) -> None:
    x = leaf.clone()
    same_gradients(torch, (torch.vmap(lambda a, b: a.mul_(3) * b)(x, x), x), ((3 * leaf) ** 2, 3 * leaf), leaf)


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev"])
def test_what_is_differentiated_by_must_not_change_from_outside(torch: Any, leaf: Any, transform: str) -> None:
    x = leaf.detach().clone()

    def f(a: Any) -> Any:
        x.mul_(3)
        return (a * a).sum()

    with pytest.raises(RuntimeError, match="that would mutate a captured Tensor. This is not supported"):
        torch.func.vjp(f, x) if transform == "vjp" else getattr(torch.func, transform)(f)(x)
    assert torch.equal(x, leaf)
    _, pull = torch.func.vjp(lambda a: 3 * a, x)
    x.mul_(3)  # afterwards it may
    assert pull(torch.ones_like(x))[0].eq(3).all()


VIEWS: dict[str, Callable] = {
    "view": lambda a: a.view(-1),
    "T": lambda a: a.T,
    "diagonal": lambda a: a.diagonal(),
    "select": lambda a: a.select(1, 1),
    "unsqueeze": lambda a: a.unsqueeze(0),
    "narrow": lambda a: a.narrow(0, 0, 1),
    "itself": lambda a: a,
}
LEFT: dict[str, Callable] = {
    **{
        f"vmap {i} {o}": lambda torch, f, h, i=i, o=o: torch.func.vmap(f, i, o)(h.movedim(0, i))
        for i in (0, 1)
        for o in (0, 1)
    },
    "vmap twice": lambda torch, f, h: torch.func.vmap(torch.func.vmap(f))(h[None]),
    "captured": lambda torch, f, h: torch.func.vmap(lambda _: f(h[0]), out_dims=None)(torch.ones(3)),
    "jvp": lambda torch, f, h: torch.func.jvp(f, (h[0],), (torch.ones(2, 2),))[0],
    "tangent": lambda torch, f, h: torch.func.jvp(f, (torch.ones(2, 2, 2)[0],), (h[0],))[1],
    "vjp": lambda torch, f, h: torch.func.vjp(f, h[0])[0],
    "aux": lambda torch, f, h: torch.func.grad(lambda a: ((a * a).sum(), f(a)), has_aux=True)(h[0])[1],
}


@pytest.mark.parametrize("leave", LEFT)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_leaves_a_transform_stays_one(torch: Any, view: str, leave: str) -> None:
    numbers = torch.arange(1.0, 9.0).reshape(2, 2, 2)
    by = torch.tensor(3.0)

    def left(h: Any) -> Any:
        return LEFT[leave](torch, VIEWS[view], h)

    shown = left(torch.arange(8).double().reshape(2, 2, 2)).flatten().long()  # which elements
    mask = torch.zeros(8).index_fill(0, shown, 1.0).reshape(2, 2, 2)
    both = 2 * numbers * (1 + 8 * mask)

    x = numbers.clone().requires_grad_()
    h = x * 1
    left(h).mul_(by)
    assert torch.equal(torch.autograd.grad((h * h).sum(), x)[0], both)
    h = x * 1
    o = left(h)
    h.mul_(by)
    assert torch.equal(torch.autograd.grad((o * o).sum(), x)[0], both * mask)

    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        left(x).mul_(by)

    x, by = numbers.clone(), by.requires_grad_()
    left(x).mul_(by)
    assert x.requires_grad
    assert torch.equal(torch.autograd.grad((x * x).sum(), by)[0], (6 * numbers**2 * mask).sum())


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_leaves_a_batch_within_a_transform(torch: Any, view: str) -> None:
    def f(x: Any) -> Any:
        h = x * 1
        torch.func.vmap(VIEWS[view])(h).mul_(3)
        return (h * h).sum()

    x = torch.arange(1.0, 9.0).reshape(2, 2, 2)
    shown = torch.func.vmap(VIEWS[view])(torch.arange(8).reshape(2, 2, 2)).flatten()
    expected = 2 * x * (1 + 8 * torch.zeros(8).index_fill(0, shown, 1.0).reshape(2, 2, 2))
    for derivative in (torch.func.grad, torch.func.jacrev, torch.func.jacfwd):
        assert torch.equal(derivative(f)(x), expected)
    assert torch.func.jvp(f, (x,), (x,))[1] == (x * expected).sum()


def test_what_a_batch_gives_back(torch: Any) -> None:
    x = torch.ones(2, 2, 2)
    assert torch.func.vmap(lambda a: a)(x) is x and torch.func.vmap(lambda a: a, 1, 1)(x) is x
    assert torch.func.vmap(lambda a: a.T)(x)._base is x
    h = x.requires_grad_() * 1
    with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
        torch.func.vmap(lambda a: a.chunk(2))(h)[0].mul_(3)
    whole, flat = torch.func.vmap(lambda a: (b := a * 1, b.view(-1)))(h)  # views of what was made inside
    flat.mul_(3)
    assert torch.equal(torch.autograd.grad((whole**2).sum(), x)[0], 18 * torch.ones(2, 2, 2))


def test_what_is_written_into_what_vjp_returned_does_not_change_the_pullback(torch: Any) -> None:
    h = torch.ones(2, 2, requires_grad=True) * 1
    y, pull = torch.func.vjp(lambda a: a.view(4), h)
    y.mul_(3)
    assert torch.equal(pull(torch.ones(4))[0], torch.ones(2, 2))
