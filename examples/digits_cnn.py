"""A convolutional network that reads handwritten digits: above 98 % of those it has not seen.

The 1797 digits of 8 by 8 pixels come with scikit-learn. A quarter of them is kept for the test.
"""

import argparse

import torch
import torch.nn.functional as F
from progress import report, training
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, kernel_size=3, padding=1)
        self.norm1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3, padding=1)
        self.norm2 = nn.BatchNorm2d(64)
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(64 * 4 * 4, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        x = self.dropout(F.max_pool2d(x, 2).flatten(1))
        return self.out(self.dropout(F.relu(self.hidden(x))))


def forever(loader):
    while True:
        yield from loader


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32).unsqueeze(1)
    train, test = random_split(TensorDataset(images, torch.tensor(digits.target)), [0.75, 0.25])
    batches = forever(DataLoader(train, args.batch_size, shuffle=True, drop_last=True))

    model = Reader().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=args.steps)
    for step in training(args.steps):
        x, y = (part.to(device) for part in next(batches))
        loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        report(step, 50, loss=loss.item())

    model.eval()
    with torch.no_grad():
        right = sum((model(x.to(device)).argmax(1).cpu() == y).sum().item() for x, y in DataLoader(test, 256))
    print(f"test accuracy {100 * right / len(test):.2f} % ({right} of {len(test)})")


if __name__ == "__main__":
    main()
