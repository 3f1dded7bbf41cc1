"""A Wasserstein GAN with gradient penalty that learns eight Gaussians on a circle, and a plot of what it learned.

Gulrajani et al., 2017: the critic's gradient is held near length 1 between real and made-up points, so its loss
contains a gradient, and `backward` differentiates that once more. The penalty counts 0.1, as in their toy examples.
"""

import argparse
import math

import torch
from progress import report, training
from torch import nn


def network(inputs, outputs, hidden=64):
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )


def mixture(count):
    angle = torch.randint(8, (count,)) * (2 * math.pi / 8)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def gradient_penalty(critic, real, fake):
    part = torch.rand(len(real), 1)
    between = (part * real + (1 - part) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def plot(real, fake, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    axes.scatter(real[:, 0], real[:, 1], s=4, label="mixture")
    axes.scatter(fake[:, 0], fake[:, 1], s=4, label="generator")
    axes.set_aspect("equal")
    axes.legend(loc="center")
    figure.savefig(path, dpi=120)
    print(f"1000 points of each drawn in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--critic-steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", default="wgan_gp.png")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    generator, critic = network(2, 2), network(2, 1)
    adam_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    adam_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))
    slower = [torch.optim.lr_scheduler.LinearLR(adam, 1, 0.05, args.steps) for adam in (adam_g, adam_c)]
    for step in training(args.steps):
        for _ in range(args.critic_steps):
            real, fake = mixture(args.batch_size), generator(torch.randn(args.batch_size, 2)).detach()
            distance = critic(real).mean() - critic(fake).mean()
            penalty = gradient_penalty(critic, real, fake)
            adam_c.zero_grad()
            (0.1 * penalty - distance).backward()
            adam_c.step()
        loss = -critic(generator(torch.randn(args.batch_size, 2))).mean()
        adam_g.zero_grad()
        loss.backward()
        adam_g.step()
        for schedule in slower:
            schedule.step()
        report(step, 250, distance=distance.item(), penalty=penalty.item(), generator=loss.item())

    with torch.no_grad():
        real, fake = mixture(1000), generator(torch.randn(1000, 2))
    sector = torch.atan2(fake[:, 1], fake[:, 0]).div(math.pi / 4).round()  # that of the nearest centre
    centre = torch.stack([(sector * math.pi / 4).cos(), (sector * math.pi / 4).sin()], dim=1)
    near = (fake - centre).norm(dim=1) < 0.2
    found = sector[near].remainder(8).unique()
    print(f"{near.float().mean():.0%} of the points near a centre, {len(found)} of 8 centres found")
    plot(real, fake, args.plot)


if __name__ == "__main__":
    main()
