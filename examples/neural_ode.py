"""A neural ODE: a network that is the right-hand side of a differential equation, fitted to a spiral.

Chen et al., 2018. The classical Runge-Kutta method is written out below, and `backward` goes through its steps.
"""

import argparse

import torch
from progress import report, training
from torch import nn


def odeint(f, y, times):
    """y(t) for each of `times`, of shape (len(times), *y.shape), where dy/dt = f(y)."""
    path = [y]
    for h in times.diff():
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return torch.stack(path)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for layer in self.net[::2]:
            nn.init.normal_(layer.weight, mean=0, std=0.1)
            nn.init.constant_(layer.bias, 0)

    def forward(self, y):
        return self.net(y**3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--batch-time", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    times = torch.linspace(0, 10, 401)
    spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        truth = odeint(lambda y: y**3 @ spiral, torch.tensor([[2.0, 0.0]]), times)

    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=2e-3)
    for step in training(args.steps):
        starts = torch.randperm(len(times) - args.batch_time)[: args.batch_size]
        seen = torch.stack([truth[starts + i] for i in range(args.batch_time)])
        predicted = odeint(field, seen[0], times[: args.batch_time])
        loss = (predicted - seen).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, 100, loss=loss.item())

    with torch.no_grad():
        error = (odeint(field, truth[0], times) - truth).abs().mean()
    print(f"mean error along the whole spiral {error:.4f}")


if __name__ == "__main__":
    main()
