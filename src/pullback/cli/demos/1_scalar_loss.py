import torch

# Define input tensor requiring gradient computation
x = torch.tensor(2.0, requires_grad=True)

# Perform some simple operation
y = x * x

# Assume we have a standard scalar loss calculation here.
loss = y * 3

# Calculate gradients (implicit dl = 1, same as loss.backward())
loss.backward()

# Print gradient of x
print(f"Gradient of x with scalar loss: {x.grad}")
