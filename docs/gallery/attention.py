import torch

torch.manual_seed(0)
words = torch.randn(4, 3, requires_grad=True)
query, key, value = (torch.randn(3, 3, requires_grad=True) for _ in range(3))

scores = (words @ query) @ (words @ key).T / 3**0.5
weights = scores.softmax(dim=-1)
mixed = weights @ (words @ value)
mixed.backward(gradient=torch.ones(4, 3))
