"""The graph: what it keeps and for how long, when it is recorded, hooks on it, and several threads in it."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from typing import Any

from .declare import program, refused

# --- the graph's life -------------------------------------------------------------------------------------------


@program
def second_time(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    say(refused(lambda: y.sum().backward()))
    z = -(x + 1)
    s = z.sum()
    s.backward()
    s.backward()  # nothing was saved
    say(x.grad)
    w = x.exp().sum()
    w.backward(retain_graph=True)
    w.backward()
    say(x.grad)


@program
def only_what_is_needed_is_saved(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 1
    z = y * 3
    y.add_(100)
    z.sum().backward()
    say(x.grad)


@program
def overwritten_value(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    say(refused(lambda: y.sum().backward(), 190))
    w = torch.ones(2)
    z = x * w
    w.mul_(2)
    say(refused(lambda: z.sum().backward(), 150))
    say(x.grad)


@program
def overwritten_through_a_view(torch: Any, say: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    w = torch.ones(4)
    y = x * w
    w[:2].mul_(3)
    say(refused(lambda: y.sum().backward(), 100))
    v = torch.ones(4)
    part = v[1:3]
    z = x[1:3] * part
    v.zero_()
    say(refused(lambda: z.sum().backward(), 100))


@program
def writing_into_data_goes_unnoticed(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2)
    y = x * w
    w.data.mul_(3)
    y.sum().backward()
    say(x.grad)


@program
def versions(torch: Any, say: Any) -> None:
    x = torch.zeros(4)
    v = x[1:]
    say(x._version, v._version)
    v.add_(1)
    x.mul_(2)
    say(x._version, v._version, x.detach()._version)
    say((x * 2)._version)


@program
def memory_returns_without_the_collector(torch: Any, say: Any) -> None:
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(3, requires_grad=True)
        y = (x * 2).exp()
        ref, node = weakref.ref(y), y.grad_fn
        z = (y * y).sum()
        z.backward()
        del y, z, node
        say(ref() is None)
    finally:
        gc.enable()


# --- modes ------------------------------------------------------------------------------------------------------


@program
def modes_switch_recording(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        say((x * 2).requires_grad, torch.is_grad_enabled())
        with torch.enable_grad():
            say((x * 2).requires_grad)
    with torch.set_grad_enabled(False):
        say((x * 2).requires_grad)
    torch.set_grad_enabled(False)
    say(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    say(torch.is_grad_enabled())
    with torch.inference_mode():
        say((x * 2).requires_grad, torch.is_inference_mode_enabled())


@program
def modes_decorate(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def f() -> Any:
        return (x * 2).requires_grad

    @torch.no_grad()
    def g() -> Any:
        yield (x * 2).requires_grad
        yield torch.is_grad_enabled()

    say(f(), f.__name__)
    for v in g():
        say(v, torch.is_grad_enabled())


@program
def mode_survives_an_exception(torch: Any, say: Any) -> None:
    try:
        with torch.no_grad():
            raise KeyError
    except KeyError:
        say(torch.is_grad_enabled())


@program
def modes_are_per_thread(torch: Any, say: Any) -> None:
    seen = []
    with torch.no_grad():
        t = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        t.start()
        t.join()
    say(seen)


@program
def requires_grad_rules(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    say(x.is_leaf, y.is_leaf, x.grad_fn, y.grad_fn.name())
    say(refused(lambda: setattr(y, "requires_grad", False), 100))
    say(refused(lambda: torch.ones(2, dtype=torch.int64).requires_grad_(), 80))
    say(refused(lambda: torch.tensor([1, 2], requires_grad=True), 80))
    say(y.detach().requires_grad, y.detach().is_leaf)
    z = torch.ones(2).requires_grad_()
    z.requires_grad = False
    say((z * 2).requires_grad)
    say((x > 0).requires_grad)


# --- hooks ------------------------------------------------------------------------------------------------------


@program
def tensor_hooks(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    h = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: say("y got", g))
    x.register_hook(lambda g: say("x got", g))
    y.sum().backward(retain_graph=True)
    say(x.grad)
    h.remove()
    y.sum().backward()
    say(x.grad)


@program
def hook_results_are_checked(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: torch.ones(3))
    say(refused(lambda: (x * 2).sum().backward(), 20))
    say(x.grad)
    say(refused(lambda: torch.ones(2).register_hook(lambda g: g)))


@program
def hook_that_raises(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def hook(g: Any) -> None:
        raise ValueError("from the hook")

    y.register_hook(hook)
    say(refused(lambda: y.sum().backward()))
    say(x.grad)


@program
def hooks_in_order(torch: Any, say: Any) -> None:
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    z = y * 3
    x.register_hook(lambda g: say("x"))
    x.register_post_accumulate_grad_hook(lambda t: say("accumulated", t.grad))
    y.register_hook(lambda g: say("y"))
    y.grad_fn.register_prehook(lambda g: say("before y's node"))
    y.grad_fn.register_hook(lambda i, o: say("after y's node", i, o))
    z.register_hook(lambda g: say("z"))
    z.backward()


@program
def leaves_finish_early(torch: Any, say: Any) -> None:
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = a * 2
    z = y * b
    for name, t in (("a", a), ("b", b), ("y", y), ("z", z)):
        t.register_hook(lambda g, name=name: say(name))
    z.backward()


@program
def retained_gradients(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    say(y.retains_grad, x.retains_grad)
    (y * y).sum().backward()
    say(y.grad, x.grad)
    say(refused(lambda: torch.ones(2).retain_grad()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say((x * 2).grad)
    say([str(w.message)[:60] for w in caught])


@program
def node_hooks_change_gradients(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (g[0] * 5,))
    y.grad_fn.register_hook(lambda i, o: (i[0] + 1, None))
    y.sum().backward()
    say(x.grad)


@program
def graph_can_be_walked(torch: Any, say: Any) -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (x * w).sum()
    node = y.grad_fn
    say(node.name(), type(node).__name__)
    ((mul, index),) = node.next_functions
    say(mul.name(), index)
    say([(n.name() if n else None, i) for n, i in mul.next_functions])
    acc = mul.next_functions[0][0]
    say(acc.variable is x, acc is mul.next_functions[0][0], acc.next_functions)
    acc.register_hook(lambda i, o: say("accumulated", x.grad))
    y.backward()


# --- threads, backward inside backward --------------------------------------------------------------------------


@program
def threads_share_leaves(torch: Any, say: Any) -> None:
    x = torch.ones(50, requires_grad=True)

    def work() -> None:
        for _ in range(20):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say(x.grad.unique())


@program
def backward_inside_backward(torch: Any, say: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with torch.enable_grad():
                w = torch.ones(2, requires_grad=True)
                (w * w).sum().backward()
            return g * w.grad

    x = torch.ones(2, requires_grad=True)
    F.apply(x).sum().backward()
    say(x.grad)


# --- printing ---------------------------------------------------------------------------------------------------


@program
def printing_says_where_from(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    say(x, x * 2, (x * 2).sum(), x.exp(), x[0], x[:1], x.view(2, 1), x.detach(), x + 1, x - 1, x / 2, x**2, -x)
