import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 16, 3)
)
pictures, classes = torch.randn(6, 1, 8, 8), torch.arange(6) % 3
nn.functional.cross_entropy(model(pictures), classes).backward()
