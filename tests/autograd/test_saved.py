"""What is saved for backward: packed by hooks, watched, let go, and allowed to be written into."""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any

import pytest

same = lambda t: t  # noqa: E731


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def hooks(torch: Any, pack: Any = same, unpack: Any = same) -> Any:
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_packed_and_unpacked_once_for_each_saved_value(torch: Any) -> None:
    log: list[str] = []
    with hooks(torch, lambda t: log.append("pack") or t, lambda t: log.append("unpack") or t):
        a = leaf(torch, 2.0)
        b = torch.tensor([3.0])
        y = a * b  # only b is saved
    assert log == ["pack"]
    y.sum().backward()
    assert log == ["pack", "unpack"] and a.grad.tolist() == [3.0]
    with hooks(torch, lambda t: log.append("more") or t):
        (a * a).sum()
    assert log[2:] == ["more", "more"]


def test_hooks_change_what_backward_sees(torch: Any) -> None:
    for pack, unpack, factor in ((lambda t: 2 * t, lambda t: t / 2, 1), (lambda t: 2 * t, same, 2)):
        with hooks(torch, pack, unpack):
            a = leaf(torch, 1.0, 2.0)
            y = a * a
            assert (y.grad_fn._saved_self == factor * a).all() and (y.grad_fn._saved_other == factor * a).all()
            y.sum().backward()
        assert a.grad.tolist() == (2 * factor * a).tolist()
    with hooks(torch, lambda t: t.numpy(force=True).tolist(), lambda v: torch.tensor(v)):
        a = leaf(torch, 1.0, 2.0)
        y = a.exp() + a.sin()
    y.sum().backward()
    assert torch.allclose(a.grad, a.exp() + a.cos())


def test_numbers_are_not_packed(torch: Any) -> None:
    def refuse(t: Any) -> Any:
        raise AssertionError("called")

    with hooks(torch, refuse, refuse):
        y = (leaf(torch, 1.0) * 3 + 2).sum()
    y.backward()


def test_innermost_hooks_count(torch: Any) -> None:
    with hooks(torch, lambda t: 3 * t, lambda t: 3 * t):
        b = leaf(torch, 1.0)
        with hooks(torch, lambda t: 5 * t, lambda t: 5 * t):
            a = leaf(torch, 1.0)
            y = a * a
        z = b * b
    c = leaf(torch, 1.0)
    (y + z + c * c).sum().backward()
    assert (a.grad.item(), b.grad.item(), c.grad.item()) == (50, 18, 2)


def test_second_derivatives_with_hooks(torch: Any) -> None:
    for around_second, factor in ((False, 2), (True, 8)):
        a = leaf(torch, 1.5)
        with hooks(torch, lambda t: 2 * t):
            s = (a**3).sum()
        with hooks(torch, lambda t: 2 * t) if around_second else contextlib.nullcontext():
            (g,) = torch.autograd.grad(s, a, create_graph=True)
            g.sum().backward()
        assert a.grad.item() == 6 * factor * 1.5


def test_history_of_unpacked_values(torch: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    for x in (a, a + 1):
        y = x * x
        y.grad_fn._raw_saved_self.register_hooks(lambda t: 2 * t, lambda t: t / 2)
        assert y.grad_fn._saved_self.tolist() == x.tolist() and (x is a or y.grad_fn._saved_self.grad_fn is x.grad_fn)
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    assert torch.allclose(a.grad, y)


def test_saved_values_of_inputs_are_the_leaves(torch: Any) -> None:
    a = leaf(torch, 1.0)
    b = a * a
    assert b.grad_fn._saved_self is a and b.grad_fn._saved_other is a
    d = a.exp()
    assert d.grad_fn._saved_result is not d and d.grad_fn._saved_result.tolist() == d.tolist()
    b.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        b.grad_fn._saved_self  # noqa: B018


def test_register_hooks_refuses(torch: Any) -> None:
    a = leaf(torch, 1.0)
    y = a * a
    for bad in ((same,), (1, 1)):
        with pytest.raises(TypeError, match=r"register_hooks\(\): incompatible function arguments"):
            y.grad_fn._raw_saved_self.register_hooks(*bad)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        (a * a).grad_fn._raw_saved_self.register_hooks(lambda t, u: t, same)
    y = (a + 1) * a
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.add_(1), same)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(same, lambda t: 1)
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.grad_fn._saved_self  # noqa: B018
    y = a * a
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_each_index_is_shown_and_takes_hooks(torch: Any) -> None:
    a, i, seen = leaf(torch, [1.0, 2.0], [3.0, 4.0]), torch.tensor([0, 1, 1]), []
    y = a[:, i]
    none, kept = y.grad_fn._raw_saved_indices
    assert none.data is None and kept.data.tolist() == [0, 1, 1]
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor with value None is forbidden"):
        none.register_hooks(same, same)
    kept.register_hooks(lambda t: t.tolist(), lambda saved: seen.append(saved) or torch.tensor(saved))
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_indices[1].register_hooks(same, same)
    y.sum().backward()
    assert seen == [[0, 1, 1]] and a.grad.tolist() == [[1, 2], [1, 2]]


def test_what_was_saved_is_listed(torch: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    for y, names in (
        (a * a, {"self", "other"}),
        (a.exp(), {"result"}),
        (a.sum(), {"self_sym_sizes"}),
        (a[torch.tensor([0])], {"indices"}),
        (torch.stack([a, a], 1), {"dim"}),
        (torch.cat([a, a]), {"dim"}),
        (a[1:], {"self_sym_sizes"}),
    ):
        listed = [name for name in dir(y.grad_fn) if name.startswith("_saved_")]
        assert names <= {name.removeprefix("_saved_") for name in listed}
        hash(tuple(getattr(y.grad_fn, name) for name in listed))  # graph drawing programs put them into sets
    assert a.sum().grad_fn._saved_self_sym_sizes == (2,)


def test_pack_hook_must_not_write(torch: Any) -> None:
    a = leaf(torch, 1.0)
    with (
        hooks(torch, lambda t: t.add_(1)),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        a.exp()


def test_exceptions_keep_their_type(torch: Any) -> None:
    class Mine(Exception):
        pass

    def fail(t: Any) -> Any:
        raise Mine("here")

    a = leaf(torch, 1.0)
    with hooks(torch, fail), pytest.raises(Mine, match="here"):
        torch.sin(a)
    with hooks(torch, same, fail):
        y = torch.sin(a)
    with pytest.raises(Mine, match="here"):
        y.sum().backward()


def test_hooks_are_refused_where_disabled(torch: Any) -> None:
    graph = torch.autograd.graph
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"), hooks(torch):
            pass
        with pytest.raises(RuntimeError, match="outer"), hooks(torch):
            pass
    with hooks(torch), pytest.raises(RuntimeError, match="message"), graph.disable_saved_tensors_hooks("message"):
        pass
    with hooks(torch):
        pass


def test_exit_without_enter_and_while_unpacking() -> None:
    import pullback as torch

    inner = hooks(torch)

    def unpack(t: Any) -> Any:
        inner.__exit__()
        return t

    with hooks(torch):
        outer = hooks(torch, same, unpack)
        outer.__enter__()
        leaf(torch, 1.0).sin().sum().backward()
    for _ in range(3):
        inner.__exit__()
    y = leaf(torch, 1.0).exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)  # nobody else has


def test_hooks_entered_while_unpacking_end_with_it(torch: Any) -> None:
    entered = hooks(torch)

    def unpack(t: Any) -> Any:
        entered.__enter__()
        return t

    with hooks(torch, same, unpack):
        leaf(torch, 1.0).sin().sum().backward()
    y = leaf(torch, 1.0).exp()
    y.grad_fn._raw_saved_result.register_hooks(same, same)  # nobody else has


def test_save_on_cpu(torch: Any) -> None:
    a = leaf(torch, 1.0, 3.0)
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        y = a * a
        assert (y.grad_fn._saved_self == a).all() and y.grad_fn._saved_self.dtype is a.dtype
    y.sum().backward()
    assert a.grad.tolist() == [2, 6]


def test_hooks_and_custom_functions(torch: Any) -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, nothing = ctx.saved_tensors
            assert nothing is None
            return 2 * g * x

    log: list[str] = []
    with hooks(torch, lambda t: log.append("pack") or 3 * t, lambda t: log.append("unpack") or t):
        a = leaf(torch, 2.0)
        y = Square.apply(a)
    assert log == ["pack"]
    y.sum().backward()
    assert a.grad.tolist() == [12.0] and log == ["pack", "unpack"]

    y = Square.apply(a)
    assert y.grad_fn.saved_tensors[0] is a and y.grad_fn.saved_tensors[1] is None
    raw = y.grad_fn._raw_saved_tensors
    with pytest.raises(RuntimeError, match="None is forbidden"):
        raw[1].register_hooks(same, same)
    raw[0].register_hooks(lambda t: 3 * t, same)
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_tensors[0].register_hooks(same, same)
    a.grad = None
    y.sum().backward()
    assert a.grad.tolist() == [12.0]
    for name in ("saved_tensors", "_raw_saved_tensors"):
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(y.grad_fn, name)


def test_unpacked_value_has_its_own_version(torch: Any) -> None:
    class Writes(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            before = a._version
            x.add_(1)
            assert a._version == before
            return g

    a = leaf(torch, 1.0)
    other = a.clone()
    with hooks(torch, lambda t: other, same):
        y = Writes.apply(a)
    y.sum().backward()


# --- writing into saved values --------------------------------------------------------------------------------


def test_mutation_is_noticed_or_allowed(torch: Any) -> None:
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    for write in (
        lambda b: b.sin_(),
        lambda b: b.view_as(b).sin_(),
        lambda b: b[:1].mul_(10),
        lambda b: torch.no_grad()(b.mul_)(3),
    ):
        a = leaf(torch, 1.0, 2.0)
        b = a.clone()
        y = (b**2).sum()
        write(b)
        with pytest.raises(
            RuntimeError, match="variables needed for gradient computation has been modified by an inplace"
        ):
            y.backward()
        with allow() as context:
            b = a.clone()
            y = (b**2).sum()
            write(b)
            y.backward()
            assert not len(context.cloned)
        assert a.grad.tolist() == [2, 4]


def test_saved_view_and_written_base(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = leaf(torch, 1.0, 2.0)
        b = a.clone()
        y = (b[:] ** 2).sum()
        b *= 2
        y.backward()
    assert a.grad.tolist() == [2, 4]


def test_copies_are_made_late_once_and_let_go(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = leaf(torch, 1.0, 2.0).clone()
        y = (a**2).sum()
        assert len(context.tid_to_weakhandle) == 1 and not len(context.cloned)
        y.backward()
        a.sin_()
        assert not len(context.cloned)
        y, z = a**2, a**2
        a.sin_()
        assert len(context.cloned) == 1
        w = a**2
        a.sin_()
        assert len(context.cloned) == 2
        del y, z
        assert len(context.cloned) == 1
        del w
        assert not len(context.cloned)


def test_out_is_a_write(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a, b = leaf(torch, 1.0), torch.tensor([3.0])
        y = a * b
        torch.sin(torch.tensor([2.0]), out=b)
        assert len(context.cloned) == 1
        y.backward()
    assert a.grad.item() == 3


def test_mutation_context_ends(torch: Any) -> None:
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        y = (leaf(torch, 1.0) ** 2).sum()
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"), allow():
            pass
    with pytest.raises(
        AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        y.backward()
    with allow(), pytest.raises(AssertionError, match="Trying to backward outside"):
        y.backward()


def test_second_derivative_after_a_write(torch: Any) -> None:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        a = leaf(torch, 1.0, 2.0)
        b = a.clone()
        y = (b**2).sum()
        b.sin_()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        assert torch.autograd.grad(g.sum(), a)[0].tolist() == [2, 2]


def test_hooks_do_not_outlive_their_graph(torch: Any) -> None:
    class Value:
        pass

    gc.disable()
    try:
        value = Value()
        ref = weakref.ref(value)
        with hooks(torch, lambda t, v=value: (t, v), lambda p: p[0]):
            y = leaf(torch, 1.0).exp()
        del value
        assert ref() is not None
        y.sum().backward()
        del y
        assert ref() is None
    finally:
        gc.enable()
