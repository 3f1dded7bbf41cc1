import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        features = torch.tanh(self.encoder(x)).detach()
        return self.head(features)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(5, 3)).square().mean().backward()
    optimizer.step()
