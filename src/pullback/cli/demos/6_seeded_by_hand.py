import torch
import torch.nn as nn


# Define a simple network
class MyNet(nn.Module):
    def __init__(self):
        super(MyNet, self).__init__()
        self.fc1 = nn.Linear(10, 5)
        self.fc2 = nn.Linear(5, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


# Instantiate the network
net = MyNet()

# Create a dummy input tensor
input_data = torch.randn(1, 10, requires_grad=True)

# Forward pass
output = net(input_data)

# Define a target (for comparison purposes, but not used for actual training)
target = torch.randn(1, 1)

# We manually backpropagate, setting grad_output ourselves, not using a loss.
gradient_value = torch.ones_like(output)
output.backward(gradient_value)

# Check gradient of parameters
print(net.fc1.weight.grad)
print(net.fc2.weight.grad)

# Check input gradient
print(input_data.grad)
