"""A physics-informed network that solves the heat equation, beside the exact solution.

    u_t = k u_xx   for x in [0, 1], t in [0, 1];   u(x, 0) = sin(pi x);   u(0, t) = u(1, t) = 0

has the solution u = exp(-k pi^2 t) sin(pi x). The network sees the equation alone: its own derivatives are in the
loss (Raissi, Perdikaris and Karniadakis, 2019). Adam begins, LBFGS finishes.
"""

import argparse
import math

import torch
from progress import report, training
from torch import nn

K = 0.1


def exact(x, t):
    return torch.exp(-K * math.pi**2 * t) * torch.sin(math.pi * x)


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def residual(model, x, t):
    """How far the network is from obeying the equation at each point."""
    x, t = x.requires_grad_(), t.requires_grad_()
    u = model(torch.cat([x, t], dim=1))
    return derivative(u, t) - K * derivative(derivative(u, x), x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000, help="of Adam")
    parser.add_argument("--finish", type=int, default=20, help="calls of LBFGS, of up to 20 iterations each")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    inside = torch.rand(256, 1), torch.rand(256, 1)
    x, t = torch.rand(64, 1), torch.rand(64, 1)
    border = torch.cat(
        [
            torch.cat([x, torch.zeros_like(t)], dim=1),
            torch.cat([torch.zeros_like(x), t], dim=1),
            torch.cat([torch.ones_like(x), t], dim=1),
        ]
    )
    value = exact(border[:, :1], border[:, 1:]) * (border[:, 1:] == 0)

    def loss_of_equation_and_border():
        return residual(model, *inside).square().mean(), (model(border) - value).square().mean()

    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in training(args.steps):
        equation, at_border = loss_of_equation_and_border()
        adam.zero_grad()
        (equation + at_border).backward()
        adam.step()
        report(step, 100, equation=equation.item(), border=at_border.item())

    lbfgs = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = sum(loss_of_equation_and_border())
        loss.backward()
        return loss

    for step in training(args.finish):
        loss = lbfgs.step(closure)
        report(step, 10, lbfgs=loss.item())

    x, t = torch.meshgrid(torch.linspace(0, 1, 50), torch.linspace(0, 1, 50), indexing="ij")
    with torch.no_grad():
        u = model(torch.stack([x, t], dim=-1)).squeeze(-1)
    error = (u - exact(x, t)).abs()
    print(f"against the exact solution: largest error {error.max():.2e}, mean {error.mean():.2e}")


if __name__ == "__main__":
    main()
