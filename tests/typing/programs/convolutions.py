"""A small convolutional network, saved and loaded again."""

import io
from typing import assert_type

import pullback as torch
import pullback.nn as nn
import pullback.nn.functional as F
from pullback import Tensor


class ConvNet(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, (3, 3), stride=2, bias=False)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(p=0.25)
        self.fc = nn.Linear(8, classes)

    def features(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.norm(self.conv1(x))))
        return F.adaptive_avg_pool2d(self.conv2(x).relu_(), 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.dropout(self.features(x).flatten(1)))


net = ConvNet()
images = torch.rand(2, 1, 12, 12)
logits = net(images)
assert_type(logits, Tensor)
assert_type(net.conv1, nn.Conv2d)
assert_type(net.conv1.weight, nn.Parameter)
assert_type(net.norm.running_mean, Tensor | None)
assert_type(net.conv2.kernel_size, tuple[int, ...])
assert_type(logits.shape, torch.Size)
assert_type(logits.shape[0], int)
assert_type(logits.shape[1:], torch.Size)
assert_type(logits.size(), torch.Size)
assert_type(logits.size(-1), int)

pooled, where = F.max_pool2d(images, 2, return_indices=True)
assert_type(pooled, Tensor)
assert_type(where, Tensor)
assert_type(F.max_pool2d(images, 2), Tensor)
padded = F.pad(images, (1, 1, 1, 1), mode="reflect")
resized = F.interpolate(padded, scale_factor=2.0, mode="bilinear", align_corners=False)
assert_type(resized, Tensor)

loss = nn.CrossEntropyLoss(label_smoothing=0.1)(logits, torch.tensor([1, 2]))
assert_type(loss, Tensor)
loss.backward()
buffer = io.BytesIO()
torch.save(net.state_dict(), buffer)
buffer.seek(0)
print(net.load_state_dict(torch.load(buffer, weights_only=True)))
values, indices = logits.topk(3, dim=1)
assert_type(values, Tensor)
print(values.shape, sum(p.numel() for p in net.parameters()), net.train(False).training)
