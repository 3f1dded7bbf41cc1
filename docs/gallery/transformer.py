import torch
from torch import nn

torch.manual_seed(0)
block = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
head = nn.Linear(8, 5)
words = torch.randn(2, 4, 8)
following = torch.randint(0, 5, (2, 4))
loss = nn.functional.cross_entropy(head(block(words)).flatten(0, 1), following.flatten())
loss.backward()
