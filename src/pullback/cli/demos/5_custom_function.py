import torch


class MyCustomFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input_tensor):
        ctx.save_for_backward(input_tensor)
        return input_tensor * 2  # Simple example transformation

    @staticmethod
    def backward(ctx, grad_output):
        (input_tensor,) = ctx.saved_tensors
        grad_input = grad_output * 2
        return grad_input


# Create Input
input_data = torch.tensor([2.0], requires_grad=True)

# Apply our custom function
output = MyCustomFunction.apply(input_data)

# compute the loss
loss = torch.sum((output - 4) ** 2)

# Backpropagate through the loss
loss.backward()

# We can now observe the gradients of our input data and of custom function.

print(input_data.grad)
