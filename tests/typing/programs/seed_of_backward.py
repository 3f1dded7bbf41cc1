"""The role of ``gradient=`` in ``backward``: the three programs of the first question."""

from typing import assert_type

import pullback as torch
from pullback import Tensor

# A scalar loss: the seed is 1
x = torch.tensor(2.0, requires_grad=True)
y = x * x
loss = y * 3
loss.backward()
assert_type(loss, Tensor)
assert_type(x.grad, Tensor | None)
print(f"Gradient of x with scalar loss: {x.grad}")

# A vector loss without a seed is refused
x = torch.tensor([2.0, 3.0], requires_grad=True)
y = x * x
try:
    y.backward()
except RuntimeError as error:
    print(f"RuntimeError: {error}")
if x.grad is None:
    print("Gradient of x without explicit gradient: x.grad is None.")

# A vector loss and its seed
gradient = torch.tensor([1.0, 0.5])
y.backward(gradient=gradient)
assert_type(gradient, Tensor)
assert x.grad is not None
assert_type(x.grad[1].item() > 0, bool)
print(f"Gradient of x with explicit gradient: {x.grad}")
