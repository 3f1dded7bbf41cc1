"""Why ``backward`` takes a gradient: the three programs of the second question."""

from typing import Any, assert_type

import pullback as torch
import pullback.nn as nn
from pullback import Tensor

# Backward from a loss
linear_layer = torch.nn.Linear(10, 1)
input_data = torch.randn(1, 10, requires_grad=True)
output = linear_layer(input_data)
target = torch.randn(1, 1)
loss = torch.nn.functional.mse_loss(output, target)
loss.backward()
assert_type(output, Tensor)
assert_type(loss, Tensor)
assert_type(linear_layer.weight, nn.Parameter)
print(linear_layer.weight.grad)


# A backward of one's own
class MyCustomFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_tensor: Tensor) -> Tensor:
        ctx.save_for_backward(input_tensor)
        return input_tensor * 2

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (input_tensor,) = ctx.saved_tensors
        assert input_tensor.shape == grad_output.shape
        return grad_output * 2


input_data = torch.tensor([2.0], requires_grad=True)
output = MyCustomFunction.apply(input_data)
loss = torch.sum((output - 4) ** 2)
loss.backward()
assert_type(loss, Tensor)
print(input_data.grad)


# A network that is seeded by hand
class MyNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(10, 5)
        self.fc2 = nn.Linear(5, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


net = MyNet()
input_data = torch.randn(1, 10, requires_grad=True)
output = net(input_data)
gradient_value = torch.ones_like(output)
output.backward(gradient_value)
assert_type(net(input_data), Tensor)
assert_type(net.fc1, nn.Linear)
assert_type(gradient_value, Tensor)
print(net.fc1.weight.grad)
print(net.fc2.weight.grad)
print(input_data.grad)
