"""Checkpoints: the same gradients, what runs again and when it stops, what is refused, and selective ones."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import warnings
import weakref
from typing import Any

import pytest


@pytest.fixture
def cp(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def gradients(torch: Any, f: Any, *inputs: Any) -> list[Any]:
    return [g.tolist() for g in torch.autograd.grad(f(*inputs).sum(), inputs)]


@pytest.mark.parametrize("reentrant", [True, False])
def test_same_gradients(torch: Any, cp: Any, reentrant: bool) -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2), torch.nn.Sigmoid()
    )
    x = torch.randn(5, 3, requires_grad=True)

    def run(call: Any) -> list[Any]:
        net.zero_grad()
        x.grad = None
        torch.manual_seed(1)
        call().sum().backward()
        return [p.grad.clone() for p in (*net.parameters(), x)]

    plain = run(lambda: net(x))
    for call in (
        lambda: cp.checkpoint(net, x, use_reentrant=reentrant),
        lambda: cp.checkpoint_sequential(net, 2, x, use_reentrant=reentrant),
        lambda: cp.checkpoint_sequential(net, 4, x, use_reentrant=reentrant),
    ):
        assert all(torch.equal(a, b) for a, b in zip(plain, run(call)))


def test_any_structure_of_inputs_and_outputs(torch: Any, cp: Any) -> None:
    a, b = leaf(torch, 2.0), leaf(torch, 3.0)

    def f(k: int, args: dict, b: Any, g: Any, factor: Any = None) -> Any:
        return {"y": g(k * args["a"] * b.exp() * factor)}, 1, "abc"

    call = functools.partial(cp.checkpoint, f, use_reentrant=False, factor=b)
    out, one, text = call(3, {"a": a}, b, lambda x: x.sin())
    assert (one, text) == (1, "abc")
    expected = f(3, {"a": a}, b, lambda x: x.sin(), b)[0]["y"]
    got = [g.item() for g in torch.autograd.grad(out["y"].sum(), (a, b))]
    assert got == pytest.approx([g.item() for g in torch.autograd.grad(expected.sum(), (a, b))])
    with pytest.raises(ValueError, match="Unexpected keyword arguments: factor"):
        cp.checkpoint(f, 3, a, use_reentrant=True, factor=b)


def test_grad_and_inputs_work_unless_reentrant(torch: Any, cp: Any) -> None:
    a = leaf(torch, 1.0, 2.0)
    assert gradients(torch, lambda a: cp.checkpoint(torch.exp, a, use_reentrant=False), a) == gradients(
        torch, torch.exp, a
    )
    with pytest.raises(
        RuntimeError, match="When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad"
    ):
        torch.autograd.grad(cp.checkpoint(torch.exp, a, use_reentrant=True).sum(), a)
    cp.checkpoint(torch.exp, a, use_reentrant=True).sum().backward()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        cp.checkpoint(torch.exp, a.detach(), use_reentrant=True)


@pytest.mark.parametrize("reentrant", [True, False])
def test_nothing_recorded_inside(torch: Any, cp: Any, reentrant: bool) -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            return x * 2

    a = leaf(torch, 1.0)
    out = cp.checkpoint(f, a, use_reentrant=reentrant)
    out = out + a
    if reentrant:
        with pytest.raises(RuntimeError, match="none of output has requires_grad=True, this checkpoint"):
            out.sum().backward()
    else:
        out.sum().backward()
        assert a.grad.tolist() == [1]


def test_warns_if_not_told(torch: Any, cp: Any) -> None:
    a = leaf(torch, 1.0)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        cp.checkpoint(torch.exp, a)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        cp.checkpoint_sequential([torch.exp, torch.exp], 1, a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp.checkpoint(torch.exp, a, use_reentrant=False)


def counted(torch: Any, f: Any) -> tuple[Any, list[int]]:
    count = [0]

    def g(*args: Any) -> Any:
        count[0] += 1
        return f(*args)

    return g, count


def test_runs_again_once_for_each_backward(torch: Any, cp: Any) -> None:
    f, count = counted(torch, lambda a: (a * a * a, a.exp()))
    a = leaf(torch, 1.0)
    y, z = cp.checkpoint(f, a, use_reentrant=False)
    assert count == [1]
    z.grad_fn._saved_result  # noqa: B018
    z.grad_fn._saved_result  # noqa: B018
    assert count == [3]
    (y + z).sum().backward()
    assert count == [4]
    with pytest.raises(RuntimeError, match="or directly access saved tensors after they have already been freed"):
        z.grad_fn._saved_result  # noqa: B018


def test_groups_of_backwards_share(torch: Any, cp: Any) -> None:
    for grouped in (True, False):

        def f(x: Any) -> Any:
            y = x.sin().cos()
            return y, y.sin().cos()

        f, count = counted(torch, f)
        x = leaf(torch, 1.0, 2.0)
        y, z = cp.checkpoint(f, x, use_reentrant=False)
        with cp.GraphExecGroup() if grouped else contextlib.nullcontext():
            (gy,) = torch.autograd.grad(z, y, torch.ones(2))
            torch.autograd.grad(y, x, gy)
        assert count == [2 if grouped else 3]
    out = cp.checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)
    with cp.GraphExecGroup():
        out.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            out.sum().backward()


def test_early_stop(torch: Any, cp: Any) -> None:
    def run(**how: Any) -> int:
        clone, count = counted(torch, lambda x: x.clone())
        outer = how.pop("outer", [])
        with contextlib.ExitStack() as stack:
            for enabled in outer:
                stack.enter_context(cp.set_checkpoint_early_stop(enabled))
            out = cp.checkpoint(lambda x: clone(x.sin().cos()), leaf(torch, 1.0), use_reentrant=False, **how)
        out.sum().backward()
        return count[0]

    assert [run(), run(early_stop=False), run(early_stop=True), run(outer=[False]), run(outer=[True])] == [
        1,
        2,
        1,
        2,
        1,
    ]
    assert [
        run(outer=[False, True], early_stop=False),
        run(outer=[False], early_stop=True),
        run(outer=[True], early_stop=False),
    ] == [1, 2, 1]


def test_early_stop_spares_the_last_operation(torch: Any, cp: Any) -> None:
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Sines(dispatch.TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.count += func == torch.ops.aten.sin.default
            return func(*args, **(kwargs or {}))

    counts = []
    for early in (True, False):
        f, called = counted(torch, lambda x: x.sin())
        with Sines() as sines:
            cp.checkpoint(f, leaf(torch, 1.0), use_reentrant=False, early_stop=early).sum().backward()
        counts.append((called[0], sines.count))
    assert counts == [(2, 1), (2, 2)]
    f, called = counted(torch, lambda x: x.clone())  # saves nothing, so nothing is run again
    cp.checkpoint(f, leaf(torch, 1.0), use_reentrant=False).sum().backward()
    assert called == [1]


def changing(first: Any, then: Any) -> Any:
    runs = iter([first])
    return lambda x: next(runs, then)(x)


def test_differences_are_noticed(torch: Any, cp: Any) -> None:
    a = leaf(torch, 0.5)
    three, two = (lambda x: x.sin().exp().sin()), (lambda x: x.sin().exp())
    other = lambda x: x.sin() * torch.tensor([1.0, 2.0])  # noqa: E731

    def run(first: Any, then: Any, **how: Any) -> None:
        cp.checkpoint(changing(first, then), a, use_reentrant=False, **how).sum().backward()

    with pytest.raises(RuntimeError, match="A different number of tensors was saved"):
        run(three, two)
    with pytest.raises(RuntimeError, match="trying to save more tensors during recomputation"):
        run(two, three, early_stop=False)
    run(two, three)
    for how in ({}, {"debug": True}):
        words = (
            "You are seeing this error because you passed `debug=True`"
            if how
            else "Recomputed values for the following tensors"
        )
        with pytest.raises(cp.CheckpointError, match=words):
            run(two, other, **how)
    with pytest.raises(RuntimeError, match="You are seeing this error because"), cp.set_checkpoint_debug_enabled(True):
        run(two, other)
    with pytest.raises(RuntimeError, match="tensors have different metadata"), cp.set_checkpoint_debug_enabled(False):
        run(two, other, debug=True)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        cp.checkpoint(two, a, use_reentrant=True, debug=True)


def test_saved_tensors_are_given_once(torch: Any, cp: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            w = x * y
            ctx.save_for_backward(x, y, w)
            return w + w

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, _ = ctx.saved_tensors
            with pytest.raises(
                RuntimeError, match="Unpack is being triggered for a tensor that was already unpacked once"
            ):
                ctx.saved_tensors  # noqa: B018
            return 2 * g * y, 2 * g * x

    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    cp.checkpoint(lambda x, y: F.apply(x * y, y), x, y, use_reentrant=False).sum().backward()
    assert (x.grad.item(), y.grad.item()) == (18, 24)


def test_constants_keep_their_identity(torch: Any, cp: Any) -> None:
    seen: list[Any] = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.extend(ctx.saved_tensors)
            return g, None

    a, b = leaf(torch, 1.0), torch.tensor(1.0)
    cp.checkpoint(F.apply, a, b, use_reentrant=False).sum().backward()
    assert seen[0] is b


def test_hooks_outside_and_inside(torch: Any, cp: Any) -> None:
    a = leaf(torch, 1.1, 1.2)
    expected = gradients(torch, lambda a: a.pow(2).pow(2).pow(2).pow(2), a)[0]

    def outside(a: Any) -> Any:
        with torch.autograd.graph.save_on_cpu():
            return cp.checkpoint(lambda x: x.pow(2).pow(2), a.pow(2), use_reentrant=False).pow(2)

    def inside(a: Any) -> Any:
        with torch.autograd.graph.save_on_cpu():
            h = a.pow(2).pow(2)
        return h.pow(2).pow(2)

    assert gradients(torch, outside, a)[0] == pytest.approx(expected)
    assert gradients(torch, lambda a: cp.checkpoint(inside, a, use_reentrant=False), a)[0] == pytest.approx(expected)
    w, count = leaf(torch, 2.0, 2.0), []
    w.register_hook(count.append)
    cp.checkpoint(lambda x: w * x, w * a, use_reentrant=False).sum().backward()
    assert len(count) == 1


@pytest.mark.parametrize("early_stop", [True, False])
def test_nested_with_derivatives_inside(torch: Any, cp: Any, early_stop: bool) -> None:
    def c(f: Any) -> Any:
        return lambda x: cp.checkpoint(f, x, use_reentrant=False)

    def d(f: Any) -> Any:
        def derivative(x: Any) -> Any:
            with torch.enable_grad():
                return torch.autograd.grad(f(x), x, create_graph=True)[0]

        return derivative

    def f(x: Any) -> Any:
        return x.sin().exp().sin()

    def g(x: Any) -> Any:
        torch.autograd.grad(x.sin().exp(), x)
        return x.sin()

    x = torch.tensor(0.7, requires_grad=True)
    with cp.set_checkpoint_early_stop(early_stop):
        for h in (f, g):
            for plain, wrapped in (
                (h, (c(h), c(c(h)))),
                (d(h), (d(c(h)), d(c(c(h))))),
                (d(d(h)), (d(c(d(h))), c(d(d(c(h)))), d(c(d(c(h)))))),
                (d(d(d(h))), (d(c(d(d(c(h))))), d(c(d(c(d(c(h)))))))),
            ):
                for k in wrapped:
                    assert k(x).item() == pytest.approx(plain(x).item(), abs=1e-6)


def test_backward_in_a_hook_of_the_original_graph(torch: Any, cp: Any) -> None:
    a = torch.tensor(1.0, requires_grad=True)

    def f(a: Any) -> Any:
        x = a.sin().cos()
        return x, x.sin()

    x, out = cp.checkpoint(f, a, use_reentrant=False)
    out.grad_fn.register_hook(lambda *_: x.backward(retain_graph=True))
    out.backward(retain_graph=True)


def test_context_fn(torch: Any, cp: Any) -> None:
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Names(dispatch.TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    first, second = Names(), Names()
    a = torch.tensor(1.0, requires_grad=True)
    out = cp.checkpoint(lambda x: x.exp(), a, use_reentrant=False, context_fn=lambda: (first, second))
    assert first.names == ["exp.default"] and second.names == []
    out.backward()
    assert second.names[0] == "exp.default"
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        cp.checkpoint(torch.exp, a, use_reentrant=True, context_fn=lambda: (first, second))


def test_nothing_stays(torch: Any, cp: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.clone()
            ctx.save_for_backward(y)
            refs.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.saved_tensors  # noqa: B018
            return None

    refs: list[Any] = []
    gc.disable()
    try:
        cp.checkpoint(F.apply, leaf(torch, 1.0), use_reentrant=False).sum().backward()
        assert len(refs) == 2 and all(ref() is None for ref in refs)
    finally:
        gc.enable()


# --- selective -------------------------------------------------------------------------------------------------


def selective(torch: Any, cp: Any, f: Any, x: Any, policy: Any, **how: Any) -> Any:
    contexts = functools.partial(cp.create_selective_checkpoint_contexts, policy, **how)
    return cp.checkpoint(f, x, use_reentrant=False, context_fn=contexts)


def test_policies(torch: Any, cp: Any) -> None:
    x = torch.rand(3, 3, requires_grad=True)
    aten = torch.ops.aten

    def f(x: Any) -> Any:
        return torch.mm(x.cos(), x).sin() * torch.var_mean(x)[0]

    expected = torch.autograd.grad(f(x).sum(), x)[0]
    always = [
        lambda ctx, op, *a, p=p, **k: p for p in (cp.CheckpointPolicy.PREFER_RECOMPUTE, cp.CheckpointPolicy.MUST_SAVE)
    ]
    kept = [aten.cos.default, aten.var_mean.correction]
    for policy in ([aten.mm.default], lambda ctx, op, *a, **k: op == aten.mm.default, kept, *always):
        out = selective(torch, cp, f, x, policy)
        assert torch.allclose(torch.autograd.grad(out.sum(), x)[0], expected)


def test_kept_results_are_given_once(torch: Any, cp: Any) -> None:
    x = leaf(torch, 1.0)
    keep = [torch.ops.aten.sin.default]
    out = selective(torch, cp, lambda x: x.sin().cos().exp(), x, keep)
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.sum().backward(retain_graph=True)
    write = lambda x: x.sin().mul_(2).cos().exp()  # noqa: E731
    with pytest.raises(RuntimeError, match="has been mutated"):
        selective(torch, cp, write, x, keep).sum().backward()
    selective(torch, cp, write, x, keep, allow_cache_entry_mutation=True).sum().backward()


def test_policies_are_checked(torch: Any, cp: Any) -> None:
    for bad, error, words in (
        ([2], ValueError, "Expected op in `op_list` to be an OpOverload"),
        ([torch.ops.aten.sin], ValueError, "update the OpOverloadPacket to a specific OpOverload"),
        (2, TypeError, "either a function or a list of ops."),
    ):
        with pytest.raises(error, match=words):
            cp.create_selective_checkpoint_contexts(bad)


def test_kept_results_are_computed_once() -> None:
    import pullback as torch
    from pullback.utils import checkpoint as cp
    from pullback.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            Count.count += func == torch.ops.aten.mm.default
            return func(*args, **(kwargs or {}))

    x = torch.rand(3, 3, requires_grad=True)
    with Count():
        selective(torch, cp, lambda x: torch.mm(x.cos(), x).sin().sum(), x, [torch.ops.aten.mm.default]).backward()
    assert Count.count == 1


def test_kept_results_go_with_the_graph_and_with_backward(torch: Any, cp: Any) -> None:
    policy, kept = [torch.ops.aten.exp.default], []

    def contexts() -> Any:
        first, second = cp.create_selective_checkpoint_contexts(policy)
        assert isinstance(first, cp._CachingTorchDispatchMode) and isinstance(second, cp._CachedTorchDispatchMode)
        kept.append(first.storage)
        return first, second

    def values_left() -> int:
        gc.collect()
        return sum(hasattr(entry, "val") for entry in kept[-1].get(policy[0], {}).values())

    def run() -> Any:
        return cp.checkpoint(lambda x: x.cos().exp().sin(), leaf(torch, 1.0), use_reentrant=False, context_fn=contexts)

    out = run()
    (entry,) = kept[-1][policy[0]].values()
    assert not entry.val.requires_grad and values_left() == 1
    gone = weakref.ref(entry.val)
    kept.clear()
    del out, entry
    gc.collect()
    assert gone() is None
    run().sum().backward(retain_graph=True)
    assert values_left() == 0


def test_operations_are_one_object_each(torch: Any) -> None:
    mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode
    aten = torch.ops.aten
    assert aten.sin is aten.sin and aten.sin.default is aten.sin.default
    seen = []

    class See(mode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return aten.cos.default(*args) if func is aten.sin.default else func(*args, **(kwargs or {}))

    x = leaf(torch, 0.0, 1.0)
    with See():
        y = x.sin()
    assert len(seen) == 1 and seen[0].overloadpacket is aten.sin
    assert torch.equal(y.detach(), x.detach().cos())
    y = aten.sin.default(x)  # outside of a mode it is the public function
    assert y.requires_grad and torch.equal(y, x.sin())


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("reentrant", [True, False])
def test_the_repeated_call_casts_as_the_first(torch: Any, cp: Any, enabled: bool, reentrant: bool) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = torch.mm(x, x)
        seen.append(y.dtype)
        return y.sin()

    x = torch.randn(3, 3, requires_grad=True)
    autocast = importlib.import_module(f"{torch.__name__}.amp").autocast
    with autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        loss = cp.checkpoint(f, x, use_reentrant=reentrant).sum()
    loss.backward()
    assert set(seen) == {torch.bfloat16 if enabled else torch.float32} and len(seen) == 2
