import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x**3).sum()
(slope,) = torch.autograd.grad(y, x, create_graph=True)
penalty = (slope.norm() - 1) ** 2
penalty.backward()
