"""Backward inside of backward, callbacks, several threads, and grad modes wherever they may be entered and left."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def in_threads(fn: Any, n: int = 8, *args: Any) -> list[Any]:
    start = threading.Barrier(n)

    def run() -> Any:
        start.wait()
        return fn(*args)

    with ThreadPoolExecutor(n) as pool:
        return [f.result() for f in [pool.submit(run) for _ in range(n)]]


def chain(torch: Any, order: list[str] | None = None) -> Any:
    class Chain(torch.autograd.Function):
        """Counts down: each backward runs another forward and backward."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if order is not None:
                order.append("chain")
            if ctx.x < 0:
                return g
            with torch.enable_grad():
                Chain.apply(ctx.x).sum().backward()
            return g

    return Chain.apply


def test_deep_backward_inside_of_backward(torch: Any) -> None:
    for depth in (2000.0, 200.0):
        x = torch.tensor(depth, requires_grad=True)
        chain(torch)(x).sum().backward()
        assert x.grad.item() == 1


def test_inner_backward_goes_first(torch: Any) -> None:
    order: list[str] = []

    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            order.append("note")
            return g

    a = Note.apply(torch.tensor(6.0, requires_grad=True))
    b = chain(torch, order)(torch.tensor(9.0, requires_grad=True))
    (a * b).backward()
    assert order == ["chain"] * 10 + ["note"]


def test_inner_backward_uses_and_restores_modes(torch: Any) -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            before = torch.is_grad_enabled()
            with torch.enable_grad():
                y = torch.ones(1, requires_grad=True)
                (h,) = torch.autograd.grad(y**3, y, g)
                assert torch.is_grad_enabled()
            assert torch.is_grad_enabled() == before
            return h

    x = leaf(torch, 1.0)
    Cube.apply(x).sum().backward()
    assert x.grad.item() == 3
    torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)


def test_inner_backward_that_fails(torch: Any) -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("inner")

    inner = Fails.apply(leaf(torch, 1.0) * 2).sum()

    class Runs(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            inner.backward()
            return g

    with pytest.raises(ValueError, match="inner"):
        Runs.apply(leaf(torch, 1.0) * 1).sum().backward()
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("at_leaf", [True, False])
def test_backward_inside_of_hooks(torch: Any, at_leaf: bool) -> None:
    x = leaf(torch, 1.0, 2.0)
    y = x * x

    def more(g: Any) -> Any:
        handle.remove()
        with torch.enable_grad():
            h = g.detach().requires_grad_()
            (h * 2 + 5).sum().backward()
        return h.grad + g

    handle = (x if at_leaf else y).register_hook(more)
    y.sum().backward()
    assert x.grad.tolist() == ([4, 6] if at_leaf else [6, 12])


@pytest.mark.parametrize("depths", [{0}, {1}, {0, 1}])
def test_callbacks_after_backward(torch: Any, depths: set[int]) -> None:
    engine = torch.autograd.Variable._execution_engine
    counts = [0, 0]

    def note(depth: int) -> Any:
        def callback() -> None:
            counts[depth] += 1

        return callback

    def passing(depth: int, more: Any) -> Any:
        """A Function that changes nothing; its backward does more, and may ask for a callback before that."""

        class Passing(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, g: Any) -> Any:
                if depth in depths:
                    engine.queue_callback(note(depth))
                more(g)
                return g

        return Passing.apply

    inner = passing(1, lambda g: None)

    def another_backward(g: Any) -> None:
        with torch.enable_grad():
            y = inner(g.detach().requires_grad_()).sum()
        y.backward()

    passing(0, another_backward)(torch.rand(3, requires_grad=True)).sum().backward()
    assert counts == [int(0 in depths), int(1 in depths)]


def test_callbacks_may_add_callbacks(torch: Any) -> None:
    engine, called = torch.autograd.Variable._execution_engine, []
    x = leaf(torch, 1.0)
    x.register_hook(lambda g: engine.queue_callback(lambda: (called.append(x.grad.item()), engine_queue(called))))

    def engine_queue(called: list[Any]) -> None:
        if torch.__name__ == "torch":
            engine.queue_callback(lambda: called.append("second"))
        else:
            called.append("second")

    x.sum().backward()
    assert called == [1.0, "second"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(lambda: None)


# --- threads ---------------------------------------------------------------------------------------------------


def test_shared_leaf_loses_nothing(torch: Any) -> None:
    x = torch.ones(50, 50, requires_grad=True)

    def train() -> None:
        for _ in range(20):
            ((x + 3) * (x + 4) * 0.5).sum().backward()

    in_threads(train)
    assert bool((x.grad == 160 * 4.5).all())
    for (g,) in in_threads(lambda: torch.autograd.grad(((x + 3) * (x + 4) * 0.5).sum(), x)):
        assert bool((g == 4.5).all())


def test_shared_graph_needs_to_be_retained(torch: Any) -> None:
    x = torch.ones(5, requires_grad=True)
    y = x + x**2
    outcomes: list[str] = []

    def once() -> None:
        try:
            (y + y**2).sum().backward()
            outcomes.append("done")
        except RuntimeError as error:
            assert "Specify retain_graph=True" in str(error)
            outcomes.append("refused")

    in_threads(once, 5)
    assert "done" in outcomes
    x = torch.ones(5, requires_grad=True)
    y = x + x**2
    in_threads(lambda: (y + y**2).sum().backward(retain_graph=True), 5)
    assert bool((x.grad == 5 * 15).all())


def test_nodes_and_writes_are_counted() -> None:
    import pullback as torch

    x, w = torch.ones(3, requires_grad=True), torch.zeros(3)

    def work() -> list[int]:
        numbers = [(x * 2).grad_fn._sequence_nr() for _ in range(500)]
        for _ in range(500):
            w.add_(1)
        return numbers

    numbers = sum(in_threads(work), [])
    assert len(set(numbers)) == len(numbers) == w._version == 4000


def test_a_late_writer_hides_no_other_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may be held up between taking a number for its write and noting it."""
    import pullback as torch
    from pullback.core import versions

    early = versions.clock()
    x, w, other = torch.ones(3, requires_grad=True), torch.ones(3), torch.ones(3)
    y = x * w
    w.add_(1)
    with monkeypatch.context() as patch:
        patch.setattr(versions, "clock", lambda: early)
        other.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("mode", ["all", "any"])
def test_hooks_on_several_tensors_in_several_threads(torch: Any, mode: str) -> None:
    a, b, c = (torch.rand(2, requires_grad=True) for _ in range(3))
    calls: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda g: calls.append([v is not None for v in g] if mode == "all" else True), mode=mode
    )
    y = (a * b).sum()
    in_threads(lambda: y.backward(inputs=(a, b), retain_graph=True), 5)
    assert calls == [[True, True, False] if mode == "all" else True] * 5


def test_modes_are_per_thread(torch: Any) -> None:
    with torch.no_grad(), torch.inference_mode():
        seen = in_threads(lambda: (torch.is_grad_enabled(), torch.is_inference_mode_enabled()), 2)
    assert seen == [(True, False)] * 2
    packed: list[int] = []
    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        in_threads(lambda: x * x, 2)
        assert packed == []
        x * x  # noqa: B018
    assert packed == [1, 1]


def test_reading_grad_in_threads(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    (x**2).sum().backward()
    assert all(g is x.grad for g in in_threads(lambda: x.grad))


def test_multithreading_switch(torch: Any) -> None:
    enabled = torch.autograd.is_multithreading_enabled
    with torch.autograd.set_multithreading_enabled(False):
        assert not enabled()
        torch.autograd.set_multithreading_enabled(True)
        assert enabled()
    assert enabled()


# --- grad modes ------------------------------------------------------------------------------------------------


def test_decorated_generators_see_their_mode_and_callers_theirs(torch: Any) -> None:
    log: list[Any] = []

    def body(n: int) -> Any:
        for i in range(n):
            log.append(torch.is_grad_enabled())
            try:
                got = yield i
                log.append((torch.is_grad_enabled(), got))
            except KeyError:
                log.append(("thrown", torch.is_grad_enabled()))
            except GeneratorExit:
                log.append(("closed", torch.is_grad_enabled()))
                raise
        return "end"

    for mode, inside, around in ((torch.no_grad, False, torch.enable_grad), (torch.enable_grad, True, torch.no_grad)):
        log.clear()
        with around():
            g = mode()(body)(5)
            assert next(g) == 0 and torch.is_grad_enabled() is not inside
            assert g.send("a") == 1 and torch.is_grad_enabled() is not inside
            assert g.throw(KeyError()) == 2 and torch.is_grad_enabled() is not inside
            g.close()
            assert torch.is_grad_enabled() is not inside
        assert log == [inside, (inside, "a"), inside, ("thrown", inside), inside, ("closed", inside)]
    g = torch.no_grad()(body)(1)
    next(g)
    with pytest.raises(StopIteration) as stop:
        g.send(None)
    assert stop.value.value == "end"

    class Secondary(Exception):
        pass

    @torch.no_grad()
    def fails() -> Any:
        try:
            yield 0
        except KeyError:
            assert not torch.is_grad_enabled()
            raise Secondary from None

    g = fails()
    next(g)
    with pytest.raises(Secondary):
        g.throw(KeyError())
    assert torch.is_grad_enabled()


def test_mutual_recursion_keeps_the_callers_mode(torch: Any) -> None:
    @torch.enable_grad()
    def on(depth: int) -> None:
        assert torch.is_grad_enabled()
        if depth:
            off(depth - 1)
            assert torch.is_grad_enabled()

    @torch.no_grad
    def off(depth: int) -> None:
        assert not torch.is_grad_enabled()
        if depth:
            on(depth - 1)
            assert not torch.is_grad_enabled()

    on(10)
    off(10)
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_function_context_and_decorator(torch: Any) -> None:
    x = leaf(torch, 1.0)
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
        torch.set_grad_enabled(True)
        assert (x * 2).requires_grad
    assert torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def f(x: Any) -> Any:
        return x.sin()

    assert torch.is_grad_enabled() and not f(x).requires_grad
    switch = torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    g = switch(lambda x: x.sin())
    assert torch.is_grad_enabled() and not g(x).requires_grad


def test_asynchronous_functions_run_in_the_mode_they_set() -> None:
    import pullback as torch

    async def f() -> bool:
        with torch.no_grad():
            return torch.is_grad_enabled()

    assert asyncio.run(f()) is False and torch.is_grad_enabled()
