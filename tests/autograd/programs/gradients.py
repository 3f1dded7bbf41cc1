"""What gradients are: seeds, accumulation, ``grad``, and the checks of gradients by differences."""

from __future__ import annotations

import warnings
from typing import Any

from .declare import program, refused

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
