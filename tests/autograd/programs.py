"""Small programs about autograd, which print the same under Pullback as under PyTorch.

Each takes the package and a ``say`` function. What it said under PyTorch 2.13 stands in ``tests/golden/autograd.json``
(``record_autograd.py`` writes it). A refusal is said by :func:`refused`: the exception's type and PyTorch's first words.
"""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[..., None]] = {}


def program(fn: Callable[..., None]) -> Callable[..., None]:
    PROGRAMS[fn.__name__] = fn
    return fn


def refused(fn: Callable[[], Any], words: int = 60) -> str:
    """How a call was refused."""
    try:
        fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:words]}"
    return "accepted"


# --- seeds ------------------------------------------------------------------------------------------------------


@program
def seed_scales_each_element(torch: Any, say: Any) -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (x * x).backward(gradient=torch.tensor([1.0, 0.5]))
    say(x.grad)


@program
def seed_left_out_for_one_element(torch: Any, say: Any) -> None:
    for shape in ((), (1,), (1, 1)):
        x = torch.full(shape, 3.0, requires_grad=True)
        (x * x).backward()
        say(x.grad)


@program
def seed_missing(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    say(refused(lambda: (x * 2).backward()))
    say(x.grad)


@program
def seed_of_wrong_shape(torch: Any, say: Any) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    for shape in ((3,), (2, 1), (1, 2, 3), (6,), ()):
        say(refused(lambda shape=shape: (x * 2).backward(torch.ones(shape)), 120))
    say(x.grad)


@program
def seed_of_wrong_type(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    say(refused(lambda: (x * 2).backward([1.0, 1.0])))
    say(refused(lambda: (x * 2).backward(torch.ones(2, dtype=torch.complex64)), 90))
    say(x.grad)


@program
def seed_of_another_precision(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.ones(2, dtype=torch.float64))
    say(x.grad, x.grad.dtype)


@program
def seed_at_a_leaf(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    seed = torch.tensor([1.0, 2.0])
    x.backward(seed)
    seed.zero_()
    say(x.grad)


@program
def complex_scalar_needs_a_seed(torch: Any, say: Any) -> None:
    z = torch.tensor(1 + 2j, requires_grad=True)
    say(refused(lambda: (z * z).backward(), 80))
    (z * z).backward(torch.tensor(1 + 0j))
    say(z.grad)


@program
def several_outputs(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.backward([x.sum(), x * x], [None, torch.tensor([1.0, 10.0])])
    say(x.grad)
    say(refused(lambda: torch.autograd.backward([x.sum(), x * x], [torch.tensor(1.0)])))


@program
def nothing_requires_grad(torch: Any, say: Any) -> None:
    x = torch.ones(2)
    say(refused(lambda: x.sum().backward(), 80))
    say(refused(lambda: torch.autograd.grad(x.sum(), x), 80))
    y = torch.ones(2, requires_grad=True)
    say(refused(lambda: torch.autograd.grad((y * 2).sum(), x), 80))


# --- accumulation -----------------------------------------------------------------------------------------------


@program
def accumulates_in_place(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    (x * 3).sum().backward()
    say(x.grad, g is x.grad, g)


@program
def accumulates_out_of_place_with_create_graph(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (x**3).sum().backward(create_graph=True)
    say(g is x.grad, g, x.grad, [str(w.message)[:60] for w in caught])
    x.grad = None


@program
def diamond(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a = x * 2
    b = a * x + a
    c = a + b * a
    (b + c).sum().backward()
    say(x.grad)


@program
def leaf_used_many_times(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(5):
        y = y * x + x
    y.sum().backward()
    say(x.grad)


@program
def gradients_do_not_share_memory(torch: Any, say: Any) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seed = torch.ones(2)
    (x + y).backward(seed)
    x.grad.mul_(5)
    say(x.grad, y.grad, seed)


@program
def assigning_grad(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.tensor([5.0, 6.0])
    (x * 2).sum().backward()
    say(x.grad)
    say(refused(lambda: setattr(x, "grad", torch.ones(3))), refused(lambda: setattr(x, "grad", 1.0)))
    say(refused(lambda: setattr(x, "grad", torch.ones(2, dtype=torch.float64)), 35))
    x.grad = None
    say(x.grad)


@program
def broadcasting_sums(torch: Any, say: Any) -> None:
    a, b, c = (torch.ones(s, requires_grad=True) for s in ((2, 3), (3,), (2, 1)))
    (a * b + c).backward(torch.arange(6.0).reshape(2, 3))
    say(a.grad, b.grad, c.grad)


@program
def promotion_is_undone(torch: Any, say: Any) -> None:
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = a * b
    y.sum().backward()
    say(y.dtype, a.grad.dtype, b.grad.dtype)
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    (a * z).backward(torch.tensor([1 + 2j, 3 - 1j]))
    say(a.grad, z.grad)


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


# --- grad -------------------------------------------------------------------------------------------------------


@program
def grad_of_leaves_and_others(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    say(torch.autograd.grad(z, [x, y]), x.grad)


@program
def grad_unused(torch: Any, say: Any) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    say(refused(lambda: torch.autograd.grad((x * 2).sum(), [x, y]), 80))
    say(torch.autograd.grad((x * 2).sum(), [x, y], allow_unused=True))
    say(torch.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True))
    say(refused(lambda: torch.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True, allow_unused=False)))
    say(refused(lambda: torch.autograd.grad((x * 2).sum(), [])))


@program
def grad_to_any_order(torch: Any, say: Any) -> None:
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x**5
    for _ in range(5):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        say(y.item())


@program
def grad_batched(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    say(torch.autograd.grad(x * x, x, torch.eye(2), is_grads_batched=True))


@program
def backward_to_some_inputs(torch: Any, say: Any) -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * w
    y.sum().backward(inputs=[w])
    say(x.grad, w.grad)
    h = x * 3
    (h * w).sum().backward(inputs=[h])
    say(h.grad, w.grad)
    say(refused(lambda: (x * w).sum().backward(inputs=[])))


@program
def grad_does_not_touch_other_leaves(torch: Any, say: Any) -> None:
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.autograd.grad((x * w).sum(), x)
    say(x.grad, w.grad)


@program
def gradient_penalty(torch: Any, say: Any) -> None:
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    y = (w * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    say(w.grad, x.grad)


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
    (mul, index), = node.next_functions
    say(mul.name(), index)
    say([(n.name() if n else None, i) for n, i in mul.next_functions])
    acc = mul.next_functions[0][0]
    say(acc.variable is x, acc is mul.next_functions[0][0], acc.next_functions)
    acc.register_hook(lambda i, o: say("accumulated", x.grad))
    y.backward()


# --- in place ---------------------------------------------------------------------------------------------------


@program
def in_place_moves_history(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    same = y.mul_(3)
    say(same is y, y.grad_fn.name())
    y += x
    y -= 1
    y.sum().backward()
    say(y, x.grad)


@program
def in_place_on_leaves(torch: Any, say: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    say(refused(lambda: x.add_(1), 90), refused(lambda: x[:2].add_(1), 90))
    say(refused(lambda: x.__setitem__(0, 1.0), 90))
    with torch.no_grad():
        x.add_(1)
        x[0] = 7
    say(x)


@program
def in_place_makes_a_constant_differentiable(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2)
    y.add_(x * 3)
    say(y.requires_grad, y.is_leaf)
    (y * y).sum().backward()
    say(x.grad)


@program
def in_place_needs_its_old_value(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    say(x.grad, w.grad)


@program
def in_place_refuses_shapes_and_types(torch: Any, say: Any) -> None:
    x = torch.ones(2)
    say(refused(lambda: x.add_(torch.ones(3, 2)), 70), refused(lambda: torch.ones(2, dtype=torch.int64).add_(1.5), 80))
    say(x)


@program
def writes_through_views(torch: Any, say: Any) -> None:
    x = torch.arange(6.0, requires_grad=True)
    y = x * 2
    v = y.view(2, 3)
    v[0].mul_(10)
    y[4:].add_(x[:2])
    say(y, v.grad_fn is not None)
    (y * torch.arange(6.0)).sum().backward()
    say(x.grad)


@program
def views_follow_their_base(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    a, b = y[:2], y[1:3]
    y.mul_(3)
    (a.sum() + 2 * b.sum()).backward()
    say(a, b, x.grad)


@program
def views_of_views(torch: Any, say: Any) -> None:
    x = torch.arange(8.0, requires_grad=True)
    y = x * 1
    a = y.view(2, 4)
    b = a.t()
    c = b[1:3]
    c.mul_(5)
    a.add_(1)
    (y * y).sum().backward()
    say(y, a._base is y, c._base is y, x.grad)


@program
def constant_base_takes_gradients_through_a_view(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    base = torch.zeros(2, 2)
    row = base[1]
    row.copy_(x * 3)
    other = base[0]
    say(base.requires_grad, row.requires_grad)
    base.sum().backward()
    say(x.grad, other)


@program
def assignment_by_index(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * 2
    y[1] = x[0] * 5
    y[2:] = 1.0
    say(y)
    y.sum().backward()
    say(x.grad)


@program
def assignment_by_mask_and_list(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    v = torch.tensor([10.0, 20.0], requires_grad=True)
    y = x * 2
    y[torch.tensor([True, False, False, True])] = v
    y[[1]] = 3.0
    (y * torch.arange(1.0, 5.0)).sum().backward()
    say(y, x.grad, v.grad)


@program
def several_views_refuse_writes(torch: Any, say: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    a, b = (x * 2).chunk(2)
    say(refused(lambda: a.add_(1), 90))
    with torch.no_grad():
        v = (x * 2).detach()[:2]
    v.add_(1)
    y = x * 2
    with torch.no_grad():
        w = y[:2]
    say(refused(lambda: w.add_(1), 90))


@program
def detached_tensors_share_memory(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    d = y.detach()
    d.zero_()
    say(y, refused(lambda: y.sum().backward(), 100))


# --- Function ---------------------------------------------------------------------------------------------------


@program
def function_old_style(torch: Any, say: Any) -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            say(ctx.needs_input_grad, x)
            return g * ctx.factor, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Scale.apply(x, 3.0)
    say(y.grad_fn.name(), type(y.grad_fn).__name__)
    y.backward(torch.tensor([1.0, 10.0]))
    say(x.grad)


@program
def function_new_style(torch: Any, say: Any) -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    say(g, torch.autograd.grad(g.sum(), x))


@program
def function_with_several_outputs(torch: Any, say: Any) -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3, x.argmax()

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any, c: Any) -> Any:
            say(a, b, None if c is None else c.sum())
            return a * 2 + b * 3

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b, c = Two.apply(x)
    say(c.requires_grad)
    b.sum().backward()
    say(x.grad)


@program
def function_without_materialised_gradients(torch: Any, say: Any) -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            say(a, b)
            return None if b is None else b * 3

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Two.apply(x)[1].sum().backward()
    say(x.grad)


@program
def function_marks_non_differentiable(torch: Any, say: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mask = (x > 1).float()
            ctx.mark_non_differentiable(mask)
            ctx.save_for_backward(mask)
            return x * mask, mask

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            (mask,) = ctx.saved_tensors
            return g * mask

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, mask = F.apply(x)
    say(y.requires_grad, mask.requires_grad)
    y.sum().backward()
    say(x.grad)


@program
def function_marks_dirty(torch: Any, say: Any) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = Double.apply(y)
    say(z is y, y.grad_fn.name())
    z.sum().backward()
    say(y, x.grad)


@program
def function_returns_its_input(torch: Any, say: Any) -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 5

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Same.apply(x)
    say(y is x)
    y.sum().backward()
    say(x.grad)


@program
def function_errors(torch: Any, say: Any) -> None:
    def make(result: Callable[[Any], Any]) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, k: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return result(g)

        return F

    x = torch.ones(2, requires_grad=True)
    say(refused(lambda: make(lambda g: g).apply(x, 1).sum().backward(), 70))
    say(refused(lambda: make(lambda g: (g, g)).apply(x, 1).sum().backward(), 70))
    say(refused(lambda: make(lambda g: (g, None, None)).apply(x, 1).sum().backward(), 70))
    say(refused(lambda: make(lambda g: (torch.ones(3), None)).apply(x, 1).sum().backward(), 70))
    say(refused(lambda: make(lambda g: (1.0, None)).apply(x, 1).sum().backward(), 30))
    say(x.grad)


@program
def function_saves_an_output(torch: Any, say: Any) -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return g * y

    x = torch.zeros(2, requires_grad=True)
    (g,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    say(g, h)
    y = Exp.apply(x)
    y.add_(1)
    say(refused(lambda: y.sum().backward(), 90))


@program
def function_saved_twice(torch: Any, say: Any) -> None:
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * len(ctx.saved_tensors)

    x = torch.ones(2, requires_grad=True)
    y = F.apply(x)
    y.sum().backward()
    say(refused(lambda: y.sum().backward(), 60))


@program
def function_differentiable_once(torch: Any, say: Any) -> None:
    from importlib import import_module

    once = import_module(torch.__name__ + ".autograd.function").once_differentiable

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    say(refused(lambda: torch.autograd.grad(g.sum(), x), 60))


# --- checks -----------------------------------------------------------------------------------------------------


@program
def gradcheck_accepts_and_refuses(torch: Any, say: Any) -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    say(torch.autograd.gradcheck(lambda x: x.exp() * x, (x,)), torch.autograd.gradgradcheck(lambda x: x**3, (x,)))
    say(torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False))
    say(refused(lambda: torch.autograd.gradcheck(Wrong.apply, (x,)), 60))


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


@program
def printing_says_where_from(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    say(x, x * 2, (x * 2).sum(), x.exp(), x[0], x[:1], x.view(2, 1), x.detach(), x + 1, x - 1, x / 2, x**2, -x)
