"""``torch.func``: gradients, Jacobians, batches and functional modules."""

from typing import assert_type

import pullback as torch
from pullback import Tensor, nn
from pullback.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)


def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    return (x.sin() * scale).sum()


def stretch(x: Tensor) -> Tensor:
    return torch.stack([x.sum(), x.prod()])


x = torch.linspace(0, 1, 3)
slope: Tensor = grad(energy)(x, scale=2.0)
gradient, value = grad_and_value(energy)(x)
curvature: Tensor = hessian(energy)(x)
print(slope, gradient, value, curvature.diagonal())

batch = torch.randn(4, 3)
assert_type(vmap(energy)(batch), Tensor)
assert_type(torch.vmap(stretch, in_dims=0, chunk_size=2)(batch), Tensor)
per_example: Tensor = vmap(grad(energy), in_dims=(0, None))(batch, 1.0)
jacobian: Tensor = vmap(jacrev(stretch))(batch)
print(per_example.shape, jacobian.shape, torch.allclose(jacfwd(stretch)(x), jacrev(stretch)(x)))

output, pull_back = vjp(stretch, x)
assert_type(output, Tensor)
(pulled,) = pull_back(torch.ones(2))
primal, tangent = jvp(stretch, (x,), (torch.ones(3),))
print(pulled, primal, tangent)

models = [nn.Linear(3, 1) for _ in range(2)]
parameters, buffers = stack_module_state(models)


def predict(p: dict[str, Tensor], b: dict[str, Tensor], inputs: Tensor) -> Tensor:
    result: Tensor = functional_call(models[0], (p, b), (inputs,))
    return result


ensemble = vmap(predict, in_dims=(0, 0, None))(parameters, buffers, batch)
assert_type(ensemble, Tensor)
print(ensemble.shape)
