"""Custom functions that write into their inputs, or return views of them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from .test_function import function, leaf


def dirty(ctx: Any, a: Any, b: Any) -> Any:
    a.add_(b)
    ctx.mark_dirty(a)
    return a


def test_dirty_inputs_stay_the_same_object(torch: Any) -> None:
    f = function(torch, dirty, lambda ctx, g: (g, g))
    a, b = leaf(torch, 1.0, 1.0), leaf(torch, 2.0, 2.0)
    for x in (a.clone(), a.clone().view_as(a), torch.ones(2)):
        b.grad = None
        y = f.apply(x, b)
        assert y is x and type(y.grad_fn) in (f._backward_cls, type(y.grad_fn)) and y.requires_grad
        y += 2
        y.sum().backward()
        assert b.grad.tolist() == [1, 1]


def test_dirty_view_moves_its_base_on(torch: Any) -> None:
    f = function(torch, dirty, lambda ctx, g: (g, g))
    a = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)

    def program(root: Any, b: Any) -> Any:
        x = root.clone()
        f.apply(x.narrow(1, 2, 2).narrow(0, 1, 2), b)
        f.apply(x.narrow(1, 0, 2).narrow(0, 1, 2), b)
        return x * x

    assert torch.autograd.gradcheck(program, [a, b]) and torch.autograd.gradgradcheck(program, [a, b])


def test_dirty_input_without_a_gradient(torch: Any) -> None:
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    a, b = leaf(torch, 1.0), torch.tensor(1.0, requires_grad=True)
    c = a.clone()
    function(torch, forward, lambda ctx, g: (g * 2, None)).apply(c[:], b).backward()
    assert b.grad is None and a.grad.item() == 2


def test_what_may_not_be_dirty(torch: Any) -> None:
    a, b = leaf(torch, 1.0, 1.0), leaf(torch, 2.0, 2.0)
    f = function(torch, dirty, lambda ctx, g: (g, g))
    for x, words in (
        (a, "a leaf Variable that requires grad has been used in an in-place operation"),
        (a.view_as(a), "a view of a leaf Variable that requires grad is being used in an in-place operation"),
        (a.clone().split_with_sizes([1, 1])[0], "This view is the output of a function that returns multiple views"),
    ):
        with pytest.raises(RuntimeError, match=words):
            f.apply(x, b[:1] if x.numel() == 1 else b)

    def two(ctx: Any, a: Any, b: Any) -> Any:
        dirty(ctx, a, b)
        return a, a + b

    g = function(torch, two, lambda ctx, g, h: (g + h, g + h))
    c, d = g.apply(a.clone(), b)
    (c * d).sum().backward()
    with pytest.raises(
        RuntimeError,
        match="If your Function modifies inplace an input that is a view of another Tensor, your Function cannot",
    ):
        g.apply(a.clone().view_as(a), b)

    def copies(ctx: Any, a: Any, b: Any) -> Any:
        return dirty(ctx, a, b).clone()

    with pytest.raises(
        RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"
    ):
        function(torch, copies).apply(a.clone(), b)

    def not_input(ctx: Any, a: Any, view: bool) -> Any:
        out = a.clone().view_as(a) if view else 3 * a
        ctx.mark_dirty(out)
        return out

    with pytest.raises(RuntimeError, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        function(torch, not_input).apply(a.clone(), True)
    with pytest.warns(UserWarning, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        function(torch, not_input).apply(a.clone(), False)


def test_saving_a_dirty_view_makes_no_cycle(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    gc.disable()
    try:
        base = torch.tensor(1.0, requires_grad=True).clone()
        x = base.view_as(base)
        ref = weakref.ref(x)
        function(torch, forward).apply(x)
        del x, base
        assert ref() is None
    finally:
        gc.enable()


def test_views_that_a_function_returns(torch: Any) -> None:
    part = function(torch, lambda ctx, a: a.narrow(0, 0, 2), lambda ctx, g: torch.cat([g, g.new_zeros(1)]))
    pair = function(
        torch, lambda ctx, a: (a.narrow(0, 0, 2), a[:2] * 2), lambda ctx, g, h: torch.cat([g + 2 * h, g.new_zeros(1)])
    )
    temporary = function(torch, lambda ctx, a: a.clone()[:2], lambda ctx, g: torch.cat([g, g.new_zeros(1)]))
    a = leaf(torch, 1.0, 1.0, 1.0)
    for f, words in (
        (part, "This view was created inside a custom Function"),
        (temporary, "This view was created inside a custom Function"),
        (pair, "This view is the output of a function that returns multiple views"),
    ):
        a.grad = None
        out = f.apply(a.clone())
        out = out[0] if isinstance(out, tuple) else out
        (out + 3).sum().backward()
        assert a.grad.tolist() == [1, 1, 0]
        out = f.apply(a.clone())
        out = out[0] if isinstance(out, tuple) else out
        with pytest.raises(
            RuntimeError, match=f"Output 0 of Mine(Backward)? is a view and is being modified inplace. {words}"
        ):
            out += 3
    # also without a gradient of its own
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        part.apply(torch.ones(3)).copy_(leaf(torch, 1.0))


def test_views_without_recording(torch: Any) -> None:
    alias = function(torch, lambda ctx, x: x[:])
    x = leaf(torch, 1.0)
    with torch.no_grad():
        y, z = alias.apply(x), x[:]
    assert y.requires_grad == z.requires_grad
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        y.zero_()
    with torch.no_grad():
        assert not function(torch, lambda ctx, x: x + 1).apply(x).requires_grad


def test_pure_views(torch: Any) -> None:
    called: list[int] = []

    def forward(ctx: Any, a: Any) -> Any:
        ctx._is_pure_view = True
        return a.narrow(0, 0, 2)

    f = function(torch, forward, lambda ctx, g: called.append(1) or torch.cat([g, g.new_zeros(1)]))
    a = leaf(torch, 1.0, 1.0, 1.0)
    (f.apply(a.clone()) * 2).sum().backward()
    out = f.apply(a.clone())
    out += 3  # the graph follows the view without asking the function
    out.sum().backward()
    assert called == [1] and a.grad.tolist() == [3, 3, 0]

    def two(ctx: Any, a: Any) -> Any:
        ctx._is_pure_view = True
        return a[:2], a[2:]

    with pytest.raises(
        RuntimeError, match="Pure view custom Function can only have one input Tensor and one output Tensor"
    ):
        function(torch, two).apply(a.clone())


@pytest.mark.parametrize("name", ["Mine", "Backward", "BackwardPass", "MyBackward", "MyBackward2"])
def test_the_name_of_a_function_in_messages(name: str, torch: Any) -> None:
    """All of it, whatever it is called."""
    methods = {"forward": staticmethod(lambda ctx, x: x[:]), "backward": staticmethod(lambda ctx, g: g)}
    view = type(name, (torch.autograd.Function,), methods).apply(leaf(torch, 1.0).clone())
    with pytest.raises(RuntimeError, match=f"^Output 0 of {name} is a view and is being modified inplace"):
        view.mul_(2)
