import torch

torch.manual_seed(0)
F = torch.nn.functional
pictures = torch.randn(4, 5)
labels = torch.tensor([[1.0, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1]])
model = torch.nn.Linear(5, 3)

losses = F.binary_cross_entropy_with_logits(model(pictures), labels, reduction="none")
importance = torch.tensor([1.0, 2.0, 0.5])  # of each label
losses.backward(gradient=importance.expand(4, 3) / 4)
