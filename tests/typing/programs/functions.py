"""Functions with a backward of their own, hooks, and gradients of gradients."""

from typing import Any, assert_type

import pullback as torch
from pullback import Tensor
from pullback.autograd import Function
from pullback.autograd.function import FunctionCtx, once_differentiable


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        result: Tensor = ctx.saved_tensors[0]
        return grad_output * result


class Scale(Function):
    """An option beside the tensor, and ``setup_context``."""

    @staticmethod
    def forward(x: Tensor, factor: float) -> Tensor:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, None]:
        return (grad_output * ctx.factor if ctx.needs_input_grad[0] else None), None


class Both(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, y)
        return x + y, x * y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        x, y = ctx.saved_tensors
        return grads[0] + grads[1] * y, grads[0] + grads[1] * x


def cube(x: Tensor) -> Tensor:
    return x**3


def total_cube(x: Tensor) -> Tensor:
    return cube(x).sum()


x = torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_()
y: Tensor = Scale.apply(Exp.apply(x), 3.0)
handle = y.register_hook(lambda g: g * 2)
y.sum().backward()
handle.remove()
total, product = Both.apply(x, y.detach())
(first,) = torch.autograd.grad(total.sum() + product.sum(), x)
assert_type(first, Tensor)
assert_type(x, Tensor)

(slope,) = torch.autograd.grad(cube(x).sum(), [x], create_graph=True)
(curvature,) = torch.autograd.grad(slope.sum(), x)
assert_type(slope, Tensor)
assert_type(curvature, Tensor)
assert_type(torch.autograd.gradcheck(cube, (x,)), bool)
print(torch.autograd.functional.jacobian(cube, x.detach()).shape)
print(torch.autograd.functional.hvp(total_cube, x.detach(), torch.ones_like(x))[1])

with torch.enable_grad(), torch.autograd.set_grad_enabled(True):
    print(torch.is_grad_enabled())
if x.grad_fn is None and y.grad_fn is not None:
    print(y.grad_fn.name(), [str(edge[0]) for edge in y.grad_fn.next_functions])


@torch.inference_mode()
def predict(v: Tensor, *, times: int = 1) -> list[Tensor]:
    return [cube(v) for _ in range(times)]


assert_type(predict(x, times=2), list[Tensor])
