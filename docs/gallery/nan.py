import torch

lengths = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
norms = (lengths * lengths).sum(1).sqrt()
loss = torch.where(norms > 0, 1 / norms, 0.0).sum()
loss.backward()
