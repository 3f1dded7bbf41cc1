"""Writing in place inside of transforms: derivatives are those of the same program that writes out of place.

That goes for what the transform returns, and for the tensor outside whose memory the function has written into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(params=["pullback", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: Any) -> Any:
    return pytest.importorskip(request.param)


def whole(torch: Any, a: Any) -> Any:
    a.sin_().add_(1)
    return a * a


def parts(torch: Any, a: Any) -> Any:
    a[..., :1].mul_(3)
    a[..., 1:].sin_()
    return a * a


def early_view(torch: Any, a: Any) -> Any:
    first, rest = a[..., :1], a[..., 1:]
    a.sin_().add_(1)
    return torch.cat([first * first, rest * rest], -1)


WRITTEN: dict[Callable, Callable] = {  # what the argument holds afterwards; what is returned is its square
    whole: lambda torch, a: a.sin() + 1,
    parts: lambda torch, a: torch.cat([a[..., :1] * 3, a[..., 1:].sin()], -1),
    early_view: lambda torch, a: a.sin() + 1,
}


def pushed(torch: Any, f: Callable, x: Any) -> Any:
    return torch.func.jvp(f, (x,), (torch.ones_like(x),))


TRANSFORMS: dict[str, Callable[[Any, Callable, Any], Any]] = {
    "vmap": lambda t, f, x: t.vmap(f)(x),
    "jvp": pushed,
    "jacfwd": lambda t, f, x: t.func.jacfwd(f)(x),
    "vmap of vmap": lambda t, f, x: t.vmap(t.vmap(f))(x[None])[0],
    "vmap of jvp": lambda t, f, x: t.vmap(lambda a: pushed(t, f, a))(x),
    "jvp of vmap": lambda t, f, x: pushed(t, t.vmap(f), x),
    "jvp of jvp": lambda t, f, x: pushed(t, lambda a: pushed(t, f, a), x),
    "jvp of jacfwd": lambda t, f, x: pushed(t, t.func.jacfwd(f), x),
    "jacfwd of vmap": lambda t, f, x: t.func.jacfwd(t.vmap(f))(x),
}


def flat(results: Any) -> list[Any]:
    return [x for r in results for x in flat(r)] if isinstance(results, tuple) else [results]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
@pytest.mark.parametrize("f", WRITTEN)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_as_if_out_of_place(torch: Any, f: Callable, transform: str) -> None:
    after = lambda a: WRITTEN[f](torch, a)  # noqa: E731
    leaf = torch.tensor([[0.5, 0.7, 0.9], [0.3, 0.2, 0.1]], dtype=torch.float64, requires_grad=True)
    x = leaf.clone()
    got = [*flat(TRANSFORMS[transform](torch, lambda a: f(torch, a), x)), x]
    y = leaf.clone()
    expected = [*flat(TRANSFORMS[transform](torch, lambda a: after(a) ** 2, y)), after(y)]
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert torch.allclose(a, b)
        (g,) = torch.autograd.grad((a**2).sum(), leaf, retain_graph=True)
        (h,) = torch.autograd.grad((b**2).sum(), leaf, retain_graph=True)
        assert torch.allclose(g, h)
    totals = [torch.autograd.grad(sum((a**2).sum() for a in values), leaf)[0] for values in (got, expected)]
    assert torch.allclose(*totals)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_a_tangent_is_written_into_with_its_history(torch: Any) -> None:
    fwad = torch.autograd.forward_ad
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    t = leaf.clone()
    saved = t * t
    with fwad.dual_level():
        fwad.make_dual(torch.ones(2), t).mul_(3)
    assert t.tolist() == [3, 6]
    assert torch.autograd.grad((t * t).sum(), leaf, retain_graph=True)[0].tolist() == [18, 36]
    with pytest.raises(
        RuntimeError,
        match="one of the variables needed for gradient computation has been modified by an inplace operation",
    ):
        saved.sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_leaves_are_not_written_into(torch: Any) -> None:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    for transform in ("vmap", "jvp", "jacfwd"):
        for f in (lambda a: a.mul_(3), lambda a: a[..., :1].mul_(3) * a):
            with pytest.raises(
                RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"
            ):
                TRANSFORMS[transform](torch, f, leaf[None] if transform == "vmap" else leaf)
    assert leaf.tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_a_tangent_that_repeats_its_memory_is_not_written_into(torch: Any) -> None:
    def f(a: Any) -> Any:
        a[1:].mul_(torch.tensor([2.0, 3.0]))
        return a * 1

    ones = torch.ones(1).expand(3)
    assert torch.func.jvp(f, (torch.ones(3),), (ones,))[1].tolist() == [1, 2, 3]
    assert ones.tolist() == [1, 1, 1]
    grown = lambda s: (s + torch.zeros(3)).mul_(torch.tensor([1.0, 2.0, 3.0]))  # noqa: E731
    assert torch.func.jvp(grown, (torch.tensor(5.0),), (torch.tensor(1.0),))[1].tolist() == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_an_outer_tangent_is_written_into_a_part(torch: Any) -> None:
    def outer(b: Any) -> Any:
        def inner(a: Any) -> Any:
            part = a[1:]
            part.mul_(b)
            return a * a, part * part

        return torch.func.jvp(inner, (torch.ones(3),), (torch.ones(3),))

    _, along = torch.func.jvp(outer, (torch.tensor([2.0, 3.0]),), (torch.ones(2),))
    assert [x.tolist() for x in flat(along)] == [[0, 4, 6], [4, 6], [0, 8, 12], [8, 12]]


VIEWED: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda a: a.chunk(2)[1],
    "select": lambda a: a.select(0, 1),
    "T": lambda a: a.T,
    "diagonal": lambda a: a.diagonal(),
    "unbind": lambda a: a.unbind()[0],
    "unfold": lambda a: a.unfold(0, 2, 1)[0],
    "as_strided": lambda a: a.as_strided((2,), (4,), 1),
    "as_strided without an offset": lambda a: a[1:].as_strided((2, 2), (1, 2)),
    "reshape": lambda a: a[:, ::2].reshape(1, 2, 2),
    "view": lambda a: a.view(-1)[2:],
    "view of the bits": lambda a: a.view(a.dtype),
    "expand": lambda a: a.expand(1, 2, 4)[0],
}


@pytest.mark.parametrize("name", VIEWED)
@pytest.mark.parametrize("in_dim", [0, 2])
def test_a_view_of_an_example_is_a_view(torch: Any, name: str, in_dim: int) -> None:
    """What is written into it is written into the batch; its result shares the batch's memory."""
    x = torch.arange(24.0).reshape(3, 2, 4).movedim(0, in_dim).contiguous()
    if in_dim and name in ("as_strided", "as_strided without an offset", "view"):
        pytest.skip("examples lie otherwise in memory")
    expected = x.movedim(in_dim, 0).clone()
    for example in expected:
        own = example.clone()
        VIEWED[name](own).mul_(-1)
        example.copy_(own)
    y = torch.vmap(lambda a: VIEWED[name](a).mul_(-1), in_dim)(x)
    assert torch.equal(x.movedim(in_dim, 0), expected)
    y.zero_()
    assert not torch.equal(x.movedim(in_dim, 0), expected)


def test_view_refuses_what_needs_a_copy(torch: Any) -> None:
    for f, in_dim in (
        (lambda a: a.view(-1), 1),
        (lambda a: a.T.view(8), 0),
        (lambda a: a.T.view_as(torch.zeros(8)), 0),
    ):
        with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
            torch.vmap(f, in_dim)(torch.zeros(2, 3, 4) if in_dim else torch.zeros(3, 2, 4))
    with pytest.raises(
        RuntimeError, match="This is not supported inside of vmap, please try to rewrite the `as_strided`"
    ):
        torch.vmap(lambda a: a.as_strided((2,), (10,)))(torch.zeros(3, 2, 4))


def test_the_bits_of_another_type(torch: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for dtype in (torch.int32, torch.int16):
        assert torch.equal(torch.vmap(lambda a, d=dtype: a.view(d))(x), x.view(dtype))


def test_memory_of_examples(torch: Any) -> None:
    contiguous = lambda a: torch.tensor(a.is_contiguous())  # noqa: E731
    x = torch.zeros(2, 3, 4)
    assert torch.vmap(torch.vmap(contiguous))(x).all() and torch.vmap(torch.vmap(contiguous), 1)(x).all()
    assert not torch.vmap(contiguous, 2)(x).any() and not torch.vmap(torch.vmap(contiguous, 1))(x).any()
    made = torch.vmap(lambda a: a.new_empty_strided((2, 3), (1, 2)))(torch.zeros(4, 5))
    assert (made.shape, made.stride()) == ((4, 2, 3), (6, 1, 2))
