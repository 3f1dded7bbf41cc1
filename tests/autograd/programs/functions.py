"""Custom Functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .declare import program, refused

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
