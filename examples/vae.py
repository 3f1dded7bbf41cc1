"""A variational autoencoder of handwritten digits, and a picture of digits that it makes up."""

import argparse

import torch
import torch.nn.functional as F
from progress import report, training
from sklearn.datasets import load_digits
from torch import nn


class VAE(nn.Module):
    """Kingma and Welling, 2014: pixels to a distribution over codes, and a code back to pixels."""

    def __init__(self, pixels=64, hidden=256, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(code), mean, log_variance


def picture(images, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = images.view(8, 8, 8, 8)  # row and column of the picture, then of the digit
    plt.imsave(path, rows.transpose(1, 2).reshape(64, 64), cmap="gray_r")
    print(f"64 samples drawn in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", default="vae.png")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    data = torch.from_numpy(load_digits().data).float() / 16
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in training(args.steps):
        x = data[torch.randperm(len(data))[: args.batch_size]]
        scores, mean, log_variance = model(x)
        missed = F.binary_cross_entropy_with_logits(scores, x, reduction="sum") / len(x)
        divergence = -0.5 * torch.sum(1 + log_variance - mean**2 - log_variance.exp()) / len(x)
        loss = missed + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, 100, loss=loss.item(), missed=missed.item(), divergence=divergence.item())

    with torch.no_grad():
        picture(model.decoder(torch.randn(64, 8)).sigmoid(), args.picture)


if __name__ == "__main__":
    main()
