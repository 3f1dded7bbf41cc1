"""Custom functions: what ctx keeps, what outputs become, what backward may return, and what is refused."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest


def function(torch: Any, forward: Any, backward: Any = None, **more: Any) -> Any:
    """A Function class of these static methods."""
    named = {"forward": forward, "backward": backward or (lambda ctx, *g: g[0]), **more}
    bases = (torch.autograd.Function,)
    return type(torch.autograd.Function)(
        "Mine", bases, {k: staticmethod(v) if callable(v) else v for k, v in named.items()}
    )


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def product(ctx: Any, x: Any, c: Any, y: Any) -> Any:
    ctx.c = c
    ctx.save_for_backward(x, y)
    return x + c * y + x * y


def test_second_order_through_saved_tensors(torch: Any) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g + g * y, None, g * ctx.c + g * x

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = function(torch, product, backward).apply(x, 2, y)
    gx, gy = torch.autograd.grad(z.sum(), (x, y), create_graph=True)
    assert gx.tolist() == [4, 5] and gy.tolist() == [3, 4] and gx.grad_fn is not None
    assert torch.autograd.grad(gx.sum(), y)[0].tolist() == [1, 1]


def test_once_differentiable(torch: Any) -> None:
    seen = []

    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        x, y = ctx.saved_tensors
        return g + g * y, None, g * ctx.c + g * x

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    z = function(torch, product, backward).apply(x, 2, y)
    seed = torch.ones((), requires_grad=True)
    gx, gy = torch.autograd.grad(z.sum(), (x, y), seed, create_graph=True)
    assert seen == [False] and type(gx.grad_fn).__name__ == "Error"
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        gx.sum().backward()


def test_input_returned_as_it_is(torch: Any) -> None:
    same = function(torch, lambda ctx, x: x, lambda ctx, g: g * 2)
    for shape in ((1,), ()):
        x = torch.ones(shape, requires_grad=True)
        y = same.apply(x)
        assert y is not x and y._is_view() and y._base is x
        y.backward()
        same.apply(x.clone()).backward()
        assert x.grad.item() == 4
    both = function(torch, lambda ctx, a, b: (a, a + b), lambda ctx, g, h: (g + h, h))
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    p, q = both.apply(x, y)
    seen: list[Any] = []
    p.register_hook(seen.append)
    (p + q + x).sum().backward()
    assert x.grad.item() == 3 and y.grad.item() == 1 and seen[0].item() == 1


def test_none_stays_undefined(torch: Any) -> None:
    nothing = function(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
    x = leaf(torch, 1.0)
    for y in (nothing.apply(x), nothing.apply(x**2), nothing.apply(x).sum()):
        y.backward()
        assert x.grad is None
    assert torch.autograd.grad(nothing.apply(x), x, allow_unused=True) == (None,)


def test_values_that_are_no_tensors(torch: Any) -> None:
    def backward(ctx: Any, *g: Any) -> Any:
        assert [v is None for v in g] == [True, False, True, True, False, True, False]
        return g[1] + g[4] + g[6], g[1], None

    f = function(torch, lambda ctx, a, b, s: (s, a + b, None, True, a * 1, "bar", a), backward)
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    out = f.apply(a, b, 5)
    assert out[0] == 5 and out[2] is None and out[3] is True and out[5] == "bar"
    torch.autograd.backward([out[1].sum(), out[4].sum(), out[6].sum()])
    assert a.grad.item() == 3 and b.grad.item() == 1
    assert f.apply(0.5, 1.5, 2)[1] == 2.0  # no tensors at all


def test_missing_gradients_become_zeros_unless_refused(torch: Any) -> None:
    seen: list[Any] = []
    for materialize in (True, False):

        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)  # noqa: B023
            return x * 2, x * 3

        f = function(torch, forward, lambda ctx, g, h: seen.append(h) or g * 2)
        f.apply(leaf(torch, 1.0))[0].sum().backward()
    assert seen[0].tolist() == [0] and seen[1] is None


def test_non_differentiable_outputs(torch: Any) -> None:
    seen: list[Any] = []
    for quiet in (False, True):

        def forward(ctx: Any, x: Any) -> Any:
            a, b = x + 1, x + 2
            ctx.mark_non_differentiable(a)
            ctx._materialize_non_diff_grads = not quiet  # noqa: B023
            return a, b

        f = function(torch, forward, lambda ctx, g, h: seen.append(g) or h)
        x = leaf(torch, 1.0)
        a, b = f.apply(x)
        assert not a.requires_grad and b.requires_grad and b.output_nr == 1
        b.sum().backward()
        assert x.grad.item() == 1
    assert seen[0].tolist() == [0] and seen[1] is None
    mask = function(torch, lambda ctx, x: x > 0).apply(leaf(torch, 1.0))
    assert not mask.requires_grad

    def marked(ctx: Any, x: Any) -> Any:
        y = x.clone()
        ctx.mark_non_differentiable(y)
        return y

    x = leaf(torch, 2.0)
    (function(torch, marked, lambda ctx, g: None).apply(x * x) * x).sum().backward()
    assert x.grad.item() == 4


def test_one_output_given_twice(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    f = function(torch, forward, lambda ctx, g, h: g * 2 + h * 2)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    a, b = f.apply(x)
    assert a is b
    assert torch.autograd.gradcheck(lambda x: f.apply(x)[0] + f.apply(x)[1], [x])


def test_needs_input_grad_follows_the_call() -> None:
    """PyTorch says what wanted gradients when the function was applied."""
    import pullback as torch

    seen: list[Any] = []
    f = function(
        torch,
        lambda ctx, x, c, y: seen.append(ctx.needs_input_grad) or x * y * c,
        lambda ctx, g: seen.append(ctx.needs_input_grad) or (g, None, g),
    )
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    f.apply(x, 2, y.detach()).sum().backward()
    torch.autograd.grad(f.apply(x, 2, y).sum(), y)
    f.apply(x, 2, y).sum().backward(inputs=[x])
    assert seen == [
        (True, False, False),
        (True, False, False),
        (True, False, True),
        (False, False, True),
        (True, False, True),
        (True, False, False),
    ]


def test_setup_context(torch: Any) -> None:
    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.y = inputs
        ctx.save_for_backward(x)

    f = function(
        torch,
        lambda x, y=3: x**y,
        lambda ctx, g: (g * ctx.y * ctx.saved_tensors[0] ** (ctx.y - 1), None),
        setup_context=setup,
    )
    x = leaf(torch, 2.0)
    for args, expected in (((x,), 12), ((x, 2), 4)):
        x.grad = None
        f.apply(*args).sum().backward()
        assert x.grad.item() == expected

    class ByClass(torch.autograd.Function):
        @classmethod
        def forward(cls, x: Any, y: int = 3) -> Any:
            return x**y

        @classmethod
        def setup_context(cls, ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.y = inputs
            ctx.save_for_backward(x)

        @classmethod
        def backward(cls, ctx: Any, g: Any) -> Any:
            return g * ctx.y * ctx.saved_tensors[0] ** (ctx.y - 1), None

    assert torch.autograd.grad(ByClass.apply(x).sum(), x)[0].item() == 12
    assert ByClass.generate_vmap_rule is False and hasattr(ByClass, "vmap")


def test_vjp_is_backward(torch: Any) -> None:
    f = function(torch, lambda ctx, x: x.clone(), None, vjp=lambda ctx, g: g * 3)
    del f.backward
    x = leaf(torch, 1.0)
    f.apply(x).sum().backward()
    assert x.grad.item() == 3


def test_what_is_not_implemented(torch: Any) -> None:
    F = torch.autograd.Function
    x = leaf(torch, 1.0)
    with pytest.raises(
        NotImplementedError, match="You must implement the forward function for custom autograd.Function"
    ):
        type(F)("A", (F,), {}).apply(x)
    clone = staticmethod(lambda ctx, x: x.clone())
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        type(F)("A", (F,), {"forward": clone}).apply(x).sum().backward()
    with pytest.raises(
        RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"
    ):
        type(F)("A", (F,), {"forward": clone, "backward": clone, "vjp": clone}).apply(x).sum().backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        f = function(torch, lambda ctx, x: x)()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        f(x)


REFUSED = [
    (lambda ctx, g: (g, g), "returned an incorrect number of gradients (expected 1, got 2)"),
    (lambda ctx, g: 3, "expected Variable or None (got int)"),
    (
        lambda ctx, g: g.new_ones(10),
        "returned an invalid gradient at index 0 - got [10] but expected shape compatible with [2]",
    ),
]


@pytest.mark.parametrize(("backward", "words"), REFUSED)
def test_what_backward_may_not_return(torch: Any, backward: Any, words: str) -> None:
    import re

    with pytest.raises(RuntimeError, match=re.escape(words)):
        function(torch, lambda ctx, x: x * 2, backward).apply(leaf(torch, 1.0, 2.0)).sum().backward()


def test_more_about_what_backward_returns(torch: Any) -> None:
    x = leaf(torch, 1.0)
    # more, if they are None
    function(torch, lambda ctx, x: x, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.item() == 1
    f = function(torch, lambda ctx, x, n: x * 2, lambda ctx, g: (g, g))
    with pytest.raises(
        RuntimeError,
        match="returned a gradient different than None at position 2, but the corresponding forward input was not",
    ):
        f.apply(x, 3).sum().backward()
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        function(torch, lambda ctx, x: ctx.save_for_backward(3)).apply(x)


def test_wrong_shape_is_refused_where_pytorch_sums() -> None:
    import pullback as torch

    with pytest.raises(
        RuntimeError, match=r"invalid gradient at index 0 - got \[5, 2\] but expected shape compatible with \[2\]"
    ):
        function(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(5, 2)).apply(
            leaf(torch, 1.0, 2.0)
        ).sum().backward()


def test_unmodified_programs_have_a_gradient_of_the_broadcast_shape_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    import pullback as torch

    monkeypatch.setattr("pullback.base.thread_state.as_torch", True)
    x = leaf(torch, 1.0, 2.0)
    y = function(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(5, 2) * g).apply(x).sum()
    for create_graph in (False, True):
        assert torch.autograd.grad(y, x, retain_graph=True, create_graph=create_graph)[0].tolist() == [5, 5]
    with pytest.raises(
        RuntimeError, match=r"invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]"
    ):
        function(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3)).apply(
            leaf(torch, 1.0, 2.0)
        ).sum().backward()


def test_nodes_name_their_module(torch: Any) -> None:
    node = function(torch, lambda ctx, x: x * 2).apply(leaf(torch, 1.0)).grad_fn
    assert repr(node).startswith(f"<torch.autograd.function.{node.name()} object at 0x")
    assert type(node).__module__ == "torch.autograd.function"


def test_saved_tensors_are_the_same_objects(torch: Any) -> None:
    kept: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any, c: Any) -> Any:
        out = x * y
        ctx.save_for_backward(x, None, y, c, out)
        return out

    f = function(torch, forward, lambda ctx, g: kept.extend(ctx.saved_tensors) or (g, g, None))
    x, c = leaf(torch, 2.0), torch.ones(1)
    y = x + 1
    z = f.apply(x, y, c)
    z.sum().backward(retain_graph=True)
    assert kept[0] is x and kept[1] is None and kept[2] is y and kept[3] is c
    assert kept[4].grad_fn is z.grad_fn and kept[4].tolist() == z.tolist()
    z.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        z.grad_fn.saved_tensors  # noqa: B018


def test_output_number_of_a_saved_tensor(torch: Any) -> None:
    two = function(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, *g: torch.cat(g))
    b = two.apply(leaf(torch, 1.0, 2.0))[1]
    seen: list[int] = []

    def forward(ctx: Any, b: Any) -> Any:
        ctx.save_for_backward(b)
        return b * 2

    function(torch, forward, lambda ctx, g: seen.append(ctx.saved_tensors[0].output_nr) or g).apply(b).sum().backward()
    assert b.output_nr == 1 and seen == [1]


def test_only_a_read_saved_tensor_is_checked(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    for read in (False, True):
        f = function(torch, forward, (lambda ctx, g: ctx.saved_tensors and g) if read else (lambda ctx, g: g))
        x = leaf(torch, 1.0).clone()
        y = f.apply(x)
        x.add_(1)
        if read:
            with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
                y.sum().backward()
        else:
            y.sum().backward()


def test_saved_tensors_read_once(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.clone()

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        ref = weakref.ref(x)
        del x
        assert ref() is None
        return g

    function(torch, forward, backward, clear_saved_tensors_on_access=True).apply(
        leaf(torch, 1.0).clone()
    ).sum().backward()
    twice = function(
        torch, forward, lambda ctx, g: (ctx.saved_tensors, ctx.saved_tensors) and g, clear_saved_tensors_on_access=True
    )
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        twice.apply(leaf(torch, 1.0)).sum().backward()


def test_old_name_of_saved_tensors(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated"):
        function(torch, forward, lambda ctx, g: ctx.saved_variables and g).apply(leaf(torch, 1.0)).sum().backward()


# --- intermediates --------------------------------------------------------------------------------------------


def kept_on_ctx(ctx: Any, x: Any) -> Any:
    ctx.y = x.exp()
    return ctx.y * x


def kept_in_a_list(ctx: Any, x: Any) -> Any:
    ctx.values = [x.sin(), x.exp()]
    return ctx.values[1] * x


def kept_by_saving(ctx: Any, x: Any) -> Any:
    y = x.exp() + 0
    ctx.save_for_backward(y, x)
    return y * x


def kept_from_several(ctx: Any, x: Any) -> Any:
    ctx.y = x.exp().max(0).values.view(1).unbind()[0] + 0
    return ctx.y * x


def kept_from_a_product(ctx: Any, x: Any) -> Any:
    ctx.y = (x.view(1, 1) @ x.view(1, 1).exp()).view(1).clone()
    return ctx.y * x


INTERMEDIATES = [
    (kept_from_several, lambda ctx, g: g * ctx.y, r"ctx\.y of MineBackward"),
    (kept_from_a_product, lambda ctx, g: g * ctx.y, r"ctx\.y of MineBackward"),
    (kept_on_ctx, lambda ctx, g: g * ctx.y, r"ctx\.y of MineBackward"),
    (kept_in_a_list, lambda ctx, g: g * ctx.values[1], r"ctx\.values\[1\] of MineBackward"),
    (kept_by_saving, lambda ctx, g: g * ctx.saved_tensors[0], r"saved_tensors\[0\] of MineBackward"),
]


@pytest.mark.parametrize(("forward", "backward", "words"), INTERMEDIATES)
def test_second_derivative_through_an_intermediate_is_refused(forward: Any, backward: Any, words: str) -> None:
    """PyTorch gives a wrong value."""
    import pullback as torch

    x = leaf(torch, 1.0)
    f = function(torch, forward, backward)
    f.apply(x).sum().backward()  # first order is right
    assert x.grad.item() == pytest.approx(2.718281828)
    (g,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=f"trying to differentiate twice through {words}, an intermediate"):
        torch.autograd.grad(g.sum(), x)


def test_constants_and_outputs_on_ctx_are_welcome(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = (x > 1.5).to(x.dtype)
        ctx.ones = torch.ones_like(x) * 3
        ctx.out = x.exp()
        return ctx.out

    f = function(torch, forward, lambda ctx, g: g * ctx.out * ctx.mask * ctx.ones)
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    e2 = 7.38905609893
    assert g.tolist() == pytest.approx([0, 3 * e2]) and h.tolist() == pytest.approx([0, 9 * e2])
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):  # or wherever operations are dispatched
        (g,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == pytest.approx([0, 9 * e2])


# --- life ------------------------------------------------------------------------------------------------------


def test_cycles_are_collected(torch: Any) -> None:
    def forward(ctx: Any, x: Any, notes: dict) -> Any:
        ctx.notes = notes
        return x.clone()

    for backward in (False, True):
        notes: dict[str, Any] = {}
        y = function(torch, forward, lambda ctx, g: (g, None)).apply(leaf(torch, 1.0), notes)
        notes["y"] = y
        if backward:
            y.sum().backward()
        ref = weakref.ref(y)
        del y, notes
        gc.collect()
        assert ref() is None


def test_attributes_of_an_instance_and_of_ctx(torch: Any) -> None:
    Node = torch.autograd.graph.Node
    seen: list[bool] = []
    f = function(
        torch,
        lambda ctx, x: seen.append(isinstance(ctx, Node)) or x,
        lambda ctx, g: seen.append(isinstance(ctx, Node)) or g,
    )
    y = f.apply(leaf(torch, 1.0))
    assert (
        isinstance(y.grad_fn, Node)
        and y.grad_fn.name() == "MineBackward"
        and issubclass(torch.autograd.function.BackwardCFunction, Node)
    )
    y.sum().backward()
    assert seen == [True, True]


def test_exceptions_keep_type_and_traceback(torch: Any) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("something")

    with pytest.raises(ValueError, match="something") as caught:
        function(torch, lambda ctx, x: x * 1, backward).apply(leaf(torch, 1.0)).sum().backward()
    assert any(entry.name == "backward" and "test_function" in str(entry.path) for entry in caught.traceback)


def test_grad_mode_inside(torch: Any) -> None:
    seen: list[bool] = []
    f = function(
        torch,
        lambda ctx, x: seen.append(torch.is_grad_enabled()) or x.clone(),
        lambda ctx, g: seen.append(torch.is_grad_enabled()) or g,
    )
    x = leaf(torch, 1.0)
    f.apply(x).sum().backward()
    torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    with torch.no_grad():
        y = f.apply(x)
    assert seen == [False, False, False, True, False] and torch.is_grad_enabled() and not y.requires_grad


def test_subclasses_pass_through(torch: Any) -> None:
    class Named(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Named)
    assert type(function(torch, lambda ctx, x: x).apply(x)) is Named


def test_ctx_can_be_kept_but_not_read_later(torch: Any) -> None:
    kept: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x

    y = function(torch, forward, lambda ctx, g: kept.append(ctx) or g).apply(leaf(torch, 1.0))
    y.sum().backward()
    del y
    with pytest.raises(RuntimeError):
        kept[0].saved_tensors  # noqa: B018


def pushed(torch: Any, forward: Any, jvp: Any, *, through_a_view: bool = False) -> Any:
    """The outputs' tangents where x has the tangent (1, 2, 3), and y has none."""
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(3), torch.tensor([1.0, 2.0, 3.0]))
        out = function(torch, forward, jvp=jvp).apply(x.view_as(x) if through_a_view else x, torch.ones(3))
        return [fwad.unpack_dual(o).tangent.tolist() for o in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_the_tangent_of_a_view_is_a_view_of_the_tangent(torch: Any) -> None:
    part = lambda ctx, x, y: x[:2]  # noqa: E731
    for through_a_view, of_what in ((False, "the given"), (True, "the same base as the given")):
        assert pushed(torch, part, lambda ctx, t, _: t[:2], through_a_view=through_a_view) == [[1, 2]]
        with pytest.raises(RuntimeError, match=f"but the jvp is not returning a view of {of_what} grad input"):
            pushed(torch, part, lambda ctx, t, _: t.clone()[:2], through_a_view=through_a_view)
        with pytest.raises(
            RuntimeError, match=r"is returning a view \(or an input as-is\) but the jvp is not returning a view\."
        ):
            pushed(torch, part, lambda ctx, t, _: t[:2] * 2, through_a_view=through_a_view)
    as_it_is = lambda ctx, x, y: (x + y, x)  # noqa: E731
    assert pushed(torch, as_it_is, lambda ctx, t, u: (t + u, t.view_as(t))) == [[1, 2, 3]] * 2
    with pytest.raises(RuntimeError, match="but the jvp is not returning a view of the given grad input"):
        pushed(torch, as_it_is, lambda ctx, t, u: (t + u, u.view_as(u)))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_the_tangent_of_an_input_without_one_may_be_anything(torch: Any) -> None:
    as_it_is = lambda ctx, x, y: (x + y, y)  # noqa: E731
    assert pushed(torch, as_it_is, lambda ctx, t, u: (t + u, u)) == [[1, 2, 3], [0, 0, 0]]
    assert pushed(torch, as_it_is, lambda ctx, t, u: (t + u, u * 2 + 3)) == [[1, 2, 3], [3, 3, 3]]


def test_hooks_of_ctx_in_backward(torch: Any) -> None:
    """What a repeated double backward computes does not depend on how often it ran."""

    def forward(ctx: Any, x: Any) -> Any:
        y = x.prod()
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y / x

    f = function(torch, forward, backward)
    x = leaf(torch, 2.0, 3.0, 4.0)
    y = f.apply(x)
    results = []
    for _ in range(2):
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        results.append(torch.autograd.grad(g[0], x, retain_graph=True)[0].tolist())
    assert results == [[0, 4, 3]] * 2


def test_no_warnings() -> None:
    import pullback as torch

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(torch, lambda ctx, x: x * 2).apply(leaf(torch, 1.0)).sum().backward()
