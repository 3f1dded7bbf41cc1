"""The programs whose pages are looked at: the seed program, an MLP, a CNN, a transformer block, an LSTM, a cell that is
called fifty times, and a very deep network.
"""

from __future__ import annotations

import pullback as torch
from pullback import nn

F = nn.functional


def seed():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    with torch.explain() as e:
        y.backward(gradient=torch.tensor([1.0, 0.5]))
    return e


def classify(net, x):
    with torch.explain() as e:
        loss = F.cross_entropy(net(x), torch.arange(len(x)) % 3)
        loss.backward()
    return e


def mlp():
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3))
    return classify(net, torch.randn(8, 10))


def cnn():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(400, 10),
    )
    return classify(net, torch.randn(4, 1, 16, 16))


def transformer():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
    x = torch.randn(2, 5, 16)
    with torch.explain() as e:
        loss = model(x).square().mean()
        loss.backward()
    return e


class LSTM(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, xs):
        h = c = torch.zeros(xs.shape[1], self.hidden)
        for x in xs:
            i, f, o, g = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


def lstm():
    model = LSTM(3, 8)
    xs, target = torch.randn(6, 4, 3), torch.randn(4, 1)
    with torch.explain() as e:
        loss = F.mse_loss(model(xs), target)
        loss.backward()
    return e


def cell():
    cell, head = nn.LSTMCell(3, 8), nn.Linear(8, 1)
    xs, target = torch.randn(50, 4, 3), torch.randn(4, 1)
    with torch.explain() as e:
        h = c = torch.zeros(4, 8)
        for x in xs:
            h, c = cell(x, (h, c))
        F.mse_loss(head(h), target).backward()
    return e


def deep(blocks=1000):
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 8), nn.Tanh()) for _ in range(blocks)]
    )
    with torch.explain() as e:
        model(torch.randn(2, 8)).sum().backward()
    return e


MODELS = {f.__name__: f for f in (seed, mlp, cnn, transformer, lstm, cell, deep)}
