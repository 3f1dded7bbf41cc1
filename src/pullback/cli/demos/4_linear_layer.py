import torch

# Define a simple linear layer
linear_layer = torch.nn.Linear(10, 1)

# Create dummy input
input_data = torch.randn(1, 10, requires_grad=True)

# Forward pass
output = linear_layer(input_data)

# Define target
target = torch.randn(1, 1)

# Calculate loss
loss = torch.nn.functional.mse_loss(output, target)

# Backpropagate from the loss directly
loss.backward()

# Access gradients
print(linear_layer.weight.grad)
