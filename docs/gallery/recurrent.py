import torch

torch.manual_seed(0)
w_in, w = torch.randn(1, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
inputs = torch.tensor([[1.0], [0.0], [-1.0], [0.5]])

h = torch.zeros(3)
for x in inputs:
    h = torch.tanh(x @ w_in + h @ w)
loss = (h**2).sum()
loss.backward()
