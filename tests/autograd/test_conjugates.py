"""``x.conj()`` is a view: writes into either reach the other, and so does their history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback


def matrix(torch: Any) -> Any:
    return torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 + 0j]], dtype=torch.complex128)


WRITES: dict[str, Callable[[Any, Any], None]] = {
    "whole": lambda x, c: c.mul_(2j),
    "row": lambda x, c: c[0].fill_(1j),
    "transposed": lambda x, c: c.T[1].add_(1j),
    "imaginary part": lambda x, c: c.imag.mul_(3),
    "real part": lambda x, c: c.real.add_(1),
    "back": lambda x, c: c.conj().add_(1j),
    "item": lambda x, c: c.__setitem__((0, 1), 5j),
    "mask": lambda x, c: c.masked_fill_(c.imag > 0, 1j),
    "tensor": lambda x, c: x.mul_(1j),
    "itself": lambda x, c: x.copy_(c),
    "strides": lambda x, c: c.as_strided((2,), (1,), 2).mul_(1j),
    "data": lambda x, c: c.data.mul_(1j),
    "tensor's data": lambda x, c: x.data.mul_(1j),
    "detached": lambda x, c: c.detach().zero_(),
    "another": lambda x, c: x.conj().mul_(1j),
    "random": lambda x, c: c.normal_(),
    "adjoint": lambda x, c: x.mH.mul_(1j),
}


@pytest.mark.parametrize("write", WRITES)
def test_values_stay_conjugates(torch: Any, write: str) -> None:
    x = matrix(torch)
    c, column = x.conj(), x[:, 1].conj()
    before = x.clone()
    WRITES[write](x, c)
    assert not torch.equal(x, before)
    assert torch.equal(c, x.conj_physical()) and torch.equal(column, c[:, 1]) and torch.equal(c.imag, -x.imag)
    assert c._version == x._version


def test_what_it_is(torch: Any) -> None:
    x = matrix(torch)
    c = x.conj()
    assert (
        c._base is x
        and c.is_conj()
        and c.data_ptr() == x.data_ptr()
        and c.T.stride() == (1, 2)
        and c[1].storage_offset() == 2
    )
    for conjugate in (c[0], c.mT, x.mH, x.adjoint(), x.H, c.detach(), c.reshape(-1), c.expand(2, 2, 2), c.contiguous()):
        assert conjugate.is_conj()
    for other in (
        c.conj(),
        c.mH,
        c.clone(),
        c * 1,
        c[[0]],
        c.resolve_conj(),
        c.conj_physical(),
        torch.empty_like(c),
        x.real.conj(),
    ):
        assert not other.is_conj() and other.resolve_conj() is other
    assert c.imag.is_neg() and not c.real.is_neg() and not c.imag.resolve_neg().is_neg() and not x.imag.is_neg()
    assert c.imag.clone().is_neg() is False and c.real.numpy()[0, 0] == 1


def test_arrays_that_would_be_cut_off_are_refused(torch: Any) -> None:
    c = matrix(torch).conj()
    for take in (c.numpy, c.__array__):
        with pytest.raises(RuntimeError, match=r"conjugate bit set. Use tensor.resolve_conj\(\).numpy"):
            take()
    with pytest.raises(RuntimeError, match=r"negative bit set. Use tensor.resolve_neg\(\).numpy"):
        c.imag.numpy()
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(c)
    for x, what in ((c, "conjugate view tensors"), (c.imag, "tensors with negative bit set")):
        with pytest.raises(RuntimeError, match=f"not supported for {what} when converting"):
            x.view(torch.int64)
    with pytest.raises(BufferError, match="conjugate bit"):
        c.__dlpack__()
    assert c.numpy(force=True)[0, 0] == 1 - 2j and c.resolve_conj().numpy()[0, 0] == 1 - 2j


HISTORIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "through it": lambda p, x, c: (c.mul_(p), x)[1],
    "under it": lambda p, x, c: (x.mul_(p), c)[1],
    "imaginary part": lambda p, x, c: (c.imag.mul_(p.real), x)[1],
    "under the imaginary part": lambda p, x, c: (c.imag, x.mul_(p))[0],
    "rows": lambda p, x, c: (x[0].mul_(p[1]), c.T[0].mul_(p[0]), x * c)[2],
    "adjoint": lambda p, x, c: (x.mH.exp_(), x + c)[1],
    "back": lambda p, x, c: (c.conj().mul_(p), c * x)[1],
    "column": lambda p, x, c: (x[:, 0].conj().copy_(p[1]), x)[1],
    "of the real part": lambda p, x, c: (x.real.conj().mul_(p.imag), c)[1],
    "twice": lambda p, x, c: (c[0].mul_(p[1]), x.mul_(p), c.imag.add_(p.real), x + c.conj() * c)[3],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_history(name: str) -> None:
    """Gradients through writes, first and second, against differences, and forward against reverse."""
    p = matrix(pullback).requires_grad_()

    def f(p: Any) -> Any:
        x = p * 1
        return HISTORIES[name](p, x, x.conj())

    assert pullback.autograd.gradcheck(f, p, check_forward_ad=True, check_batched_grad=True)
    assert pullback.autograd.gradgradcheck(f, p)


@pytest.mark.torch
@pytest.mark.parametrize("name", HISTORIES)
def test_history_is_pytorchs(name: str) -> None:
    found = []
    for torch in (pullback, pytest.importorskip("torch")):
        p = matrix(torch).requires_grad_()
        x = p * 1
        y = HISTORIES[name](p, x, x.conj())
        (y * torch.arange(1, 1 + y.numel()).view(y.shape)).abs().pow(2).sum().backward()
        found.append(p.grad.resolve_conj().tolist())
    assert found[0] == [[pytest.approx(z) for z in row] for row in found[1]]


def test_history_under_transforms() -> None:
    torch = pullback

    def f(x: Any) -> Any:
        y = x * 1
        y.conj().mul_(x[..., :1])
        return y

    x, t = matrix(torch), matrix(torch) * 1j
    out, tangent = torch.func.jvp(f, (x,), (t,))
    assert torch.allclose(out, x * x[:, :1].conj()) and torch.allclose(
        tangent, t * x[:, :1].conj() + x * t[:, :1].conj()
    )
    assert torch.allclose(torch.vmap(f)(x), out)
    _, pull = torch.func.vjp(f, x)
    assert torch.allclose((pull(t)[0].conj() * t).real.sum(), (t.conj() * tangent).real.sum())


def test_writes_from_inside_a_transform_are_refused() -> None:
    out = matrix(pullback)
    with pytest.raises(RuntimeError, match="write the conjugate into the tensor"):
        pullback.func.jvp(lambda x: out.conj().mul_(x), (matrix(pullback),), (matrix(pullback),))


def test_operands_and_saved_values(torch: Any) -> None:
    """What backward needs is not silently another value after a write into the tensor."""
    p = matrix(torch).requires_grad_()
    x = p * 1
    y = x.conj().square()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.abs().sum().backward()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        p.conj().mul_(2)
    with torch.no_grad():
        p.conj().mul_(1j)
    assert torch.allclose(p.detach(), matrix(torch) * -1j)


def test_an_operand_that_is_the_conjugate_of_what_is_written() -> None:
    """PyTorch refuses backward here."""
    p = matrix(pullback).requires_grad_()
    assert pullback.autograd.gradcheck(lambda p: (x := p * 1).mul_(x.conj()), p)


def test_mirrors_go_with_their_views() -> None:
    x = matrix(pullback)
    for _ in range(3):
        c = x[0].conj()
    assert len(pullback.core.versions.conj_views_of(x._array)) == 2
    c.mul_(2)
    assert x[0, 0] == 2 + 4j


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: y.conj().mul_(x),
        lambda y, x: y.conj()[0].mul_(x[1]),
        lambda y, x: y.imag.mul_(x.real),
        lambda y, x: y.conj().imag.mul_(x.real),
        lambda y, x: y.mul_(x),
    ],
)
def test_compiled(write: Callable[[Any, Any], Any]) -> None:
    """Also of writes into parts of complex numbers."""

    def f(x: Any) -> Any:
        y = x * 1
        c = y.conj()
        write(y, x)
        return y + c * 2j

    compiled = pullback.compile(f)
    for factor in (1, 2, 3j):
        x = matrix(pullback) * factor
        assert pullback.allclose(compiled(x), f(x))


# --- negatives --------------------------------------------------------------------------------------------------


def test_negative_views() -> None:
    x = pullback.arange(4.0).view(2, 2)
    y = pullback._neg_view(x)
    assert y.is_neg() and y._base is x._base and y.data_ptr() == x.data_ptr() and y.tolist() == [[0, -1], [-2, -3]]
    y.add_(10)
    assert x.tolist() == [[-10, -9], [-8, -7]]
    y[0].mul_(2)
    x[1, 1] = 50
    assert x.tolist() == [[-20, -18], [-8, 50]] and y.tolist() == [[20, 18], [8, -50]]
    for view in (y[0], y.t(), y.view(-1), y.detach(), pullback._neg_view(pullback.arange(3))):
        assert view.is_neg()
    for other in (y.clone(), y + 1, pullback._neg_view(y), y.resolve_neg(), y.double(), pullback.zeros_like(y)):
        assert not other.is_neg() and other.resolve_neg() is other
    assert pullback._neg_view(y).data_ptr() == x.data_ptr()
    z = pullback.tensor([1 + 2j, 3 + 4j])
    parts = [pullback._neg_view(z.real), pullback._neg_view(z.imag), pullback._neg_view(z.conj().imag)]
    for part in parts:
        part.add_(10)
    assert [p.is_neg() for p in parts] == [True, True, False]
    assert z.tolist() == [-9 + 2j, -7 + 4j]
    with pytest.raises(RuntimeError, match="negative bit set. Use"):
        y.numpy()
    with pytest.raises(NotImplementedError, match="neg_cpu"):
        pullback._neg_view(pullback.ones(2) > 0)
    with pytest.raises(NotImplementedError, match="complex"):
        pullback._neg_view(z)
    with pytest.raises(NotImplementedError, match="resolve_neg"):
        pullback.view_as_complex(y)


NEGATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "through it": lambda p, x: (pullback._neg_view(x).mul_(p), x)[1],
    "under it": lambda p, x: (pullback._neg_view(x), x.mul_(p))[0],
    "rows": lambda p, x: (pullback._neg_view(x[0]).mul_(p[1]), pullback._neg_view(x).T[0].exp_(), x * p)[2],
    "back": lambda p, x: (pullback._neg_view(pullback._neg_view(x)).mul_(p), x)[1],
    "real part": lambda p, x: (z := pullback.complex(x, p), pullback._neg_view(z.real).mul_(p), z.real * z.imag)[2],
    "imaginary part": lambda p, x: (z := pullback.complex(x, p), pullback._neg_view(z.imag).exp_(), z.imag * x)[2],
    "of a conjugate": lambda p, x: (
        c := pullback.complex(x, p).conj(),
        pullback._neg_view(c.real).mul_(p),
        pullback._neg_view(c.imag).mul_(x),
        c.real * c.imag,
    )[3],
}


@pytest.mark.parametrize("name", NEGATIVES)
def test_history_of_negatives(name: str) -> None:
    """Gradients through writes against differences, twice, eagerly and compiled."""
    draw = pullback.Generator().manual_seed(3)
    p, x = (pullback.rand(2, 2, generator=draw, dtype=pullback.float64).requires_grad_() for _ in range(2))
    function = lambda p, x: NEGATIVES[name](p, x * 1)
    assert pullback.autograd.gradcheck(function, (p, x)) and pullback.autograd.gradgradcheck(function, (p, x))
    gradients = [
        pullback.autograd.grad(f(p, x).sum(), (p, x), allow_unused=True) for f in (function, pullback.compile(function))
    ]
    for eager, compiled in zip(*gradients):
        np.testing.assert_allclose(compiled.numpy(), eager.numpy())
