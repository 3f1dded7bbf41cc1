"""Inference mode: tensors that take no part in autograd, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PLACES: list[tuple[str, Callable[[Any], Any]]] = [
    ("add_", lambda x: x.add_(2)),
    ("transpose_", lambda x: x.transpose_(0, 1)),
    ("copy_", lambda x: x.copy_(x + 1)),
]
inplace = pytest.mark.parametrize("write", [f for _, f in PLACES], ids=[n for n, _ in PLACES])
grad = pytest.mark.parametrize("wanted", [True, False])


def test_mode_nests(torch: Any) -> None:
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


@grad
@pytest.mark.parametrize("form", ["call", "keyword", "bare", "false"])
def test_decorates(torch: Any, form: str, wanted: bool) -> None:
    def double(x: Any) -> Any:
        return x * x

    mode = torch.inference_mode
    f = {
        "call": lambda: mode()(double),
        "keyword": lambda: mode(mode=True)(double),
        "bare": lambda: mode(double),
        "false": lambda: mode(False)(double),
    }[form]()
    y = f(torch.ones(2, requires_grad=wanted))
    assert torch.is_inference(y) == (form != "false")
    assert y.requires_grad == (wanted and form == "false")


@grad
def test_what_is_made_inside(torch: Any, wanted: bool) -> None:
    with torch.inference_mode():
        x = torch.ones(2, 3, requires_grad=wanted)
        made = [
            torch.ones(2),
            torch.tensor([1.0]),
            torch.rand(2),
            x * x,
            x.sum(),
            x.view(-1),
            x[0],
            x.detach(),
            x.clone(),
            x @ x.t(),
            torch.cat([x, x]),
            *x.unbind(),
            x.max(0).values,
            x.to(torch.float64),
            torch.Tensor([1.0]),
        ]
    assert x.requires_grad == wanted and torch.is_inference(x)
    for y in made:
        assert y.is_inference() and not y.requires_grad and not y._is_view() and y.is_leaf
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            y._version  # noqa: B018


@grad
@inplace
def test_written_inside(torch: Any, write: Any, wanted: bool) -> None:
    with torch.inference_mode():
        x = torch.ones(2, 2, requires_grad=wanted)
        write(x)
        assert x.is_inference() and x.requires_grad == wanted


@inplace
def test_not_written_outside(torch: Any, write: Any) -> None:
    with torch.inference_mode():
        x = torch.ones(2, 2)
    for mode in (torch.no_grad, torch.enable_grad):
        with (
            mode(),
            pytest.raises(
                RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"
            ),
        ):
            write(x)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
        x.requires_grad_()
    assert not x.clone().is_inference() and x[0].is_inference() and not (x + 1).is_inference()


def test_not_saved_for_backward(torch: Any) -> None:
    with torch.inference_mode():
        c = torch.ones(2)
        m = torch.ones(2, 2)
    s = torch.ones(2, requires_grad=True)
    assert (s + c).requires_grad and not (c * c).requires_grad
    for use in (
        lambda: c * s,
        lambda: s / c,
        lambda: s.clone().mul_(c),
        lambda: torch.nn.functional.linear(s, m),
        lambda: torch.dot(s, c),
    ):
        with pytest.raises(
            RuntimeError, match="Inference tensors cannot be saved for backward. Please do not use Tensors created in"
        ):
            use()
    with pytest.raises(RuntimeError, match="out=... arguments don't support automatic differentiation"):
        torch.mul(s, s, out=c)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        torch.mul(s.detach(), s.detach(), out=c)
    (s * c.clone()).sum().backward()
    assert s.grad.tolist() == [1, 1]


def test_leaf_that_wants_a_gradient(torch: Any) -> None:
    with torch.inference_mode():
        c = torch.ones(2, requires_grad=True)
    (c + 1).backward(torch.ones(2))
    assert c.grad.tolist() == [1, 1]


def test_saved_values_are_watched(torch: Any) -> None:
    a = torch.ones(2, requires_grad=True).clone()
    y = a * a
    with torch.inference_mode():
        a.add_(2)
    assert not a.is_inference()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


@grad
@inplace
def test_normal_tensors_stay_normal(torch: Any, write: Any, wanted: bool) -> None:
    a = torch.ones(2, 2, requires_grad=wanted).clone()
    with torch.inference_mode():
        write(a)
        view = a.view(-1) if a.is_contiguous() else a.reshape(4)
        assert not a.is_inference() and a.requires_grad == wanted
        if view._is_view():
            assert not view.is_inference() and view.requires_grad == wanted


@grad
def test_views_of_normal_tensors(torch: Any, wanted: bool) -> None:
    a = torch.ones(2, 2, requires_grad=wanted).clone()
    with torch.inference_mode():
        v = a.view(-1)
        w = v.view(4)
        assert all(t._is_view() and t.requires_grad == wanted and t.is_leaf and not t.is_inference() for t in (v, w))
        w.add_(1)
        assert a._version == w._version
    v = a.detach().requires_grad_(wanted).clone()
    with torch.inference_mode():
        v = v.view(-1)
    assert (v * v).requires_grad == wanted
    if wanted:
        with pytest.raises(
            RuntimeError, match="A view was created in inference mode and is being modified inplace in normal mode"
        ):
            v.add_(1)
    else:
        v.add_(1)


@grad
def test_base_moves_on_without_the_view(torch: Any, wanted: bool) -> None:
    a = torch.ones(2, 2, requires_grad=wanted).clone()
    with torch.inference_mode():
        v = a.view(-1)
    a.add_(1)
    if wanted:
        with pytest.raises(
            RuntimeError, match="A view was created in inference mode and its base or another view of its base has"
        ):
            v.grad_fn  # noqa: B018
        assert "grad_fn=<Invalid>" in repr(v)
    else:
        assert v.grad_fn is None


def test_view_of_such_a_view(torch: Any) -> None:
    for mode, words in ((torch.no_grad, "no_grad mode"), (torch.inference_mode, "inference mode")):
        x = torch.zeros(2)
        with mode():
            y = x.view(2)
        z = y.requires_grad_().view(2)
        with pytest.raises(
            RuntimeError, match=f"is a view of a view which was created in {words} and is being modified inplace"
        ):
            z /= 2


def test_increment_version(torch: Any) -> None:
    a = torch.ones(2, requires_grad=True)
    before = a._version
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, torch.zeros(2, dtype=torch.int32)])
    assert a._version == before + 2
    with torch.inference_mode():
        b = torch.ones(2)
        torch.autograd.graph.increment_version(b)
    torch.autograd.graph.increment_version(b)
