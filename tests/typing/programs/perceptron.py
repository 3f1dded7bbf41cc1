"""A perceptron learns exclusive or."""

from typing import assert_type

import pullback as torch
import pullback.nn as nn
import pullback.nn.functional as F
from pullback import Tensor

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], device=device)
labels = torch.tensor([0, 1, 1, 0], device=device)

model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses: list[float] = []
for step in range(100):
    optimizer.zero_grad()
    logits: Tensor = model(inputs)
    loss = F.cross_entropy(logits, labels)
    assert_type(loss, Tensor)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of the examples that the network gets right."""
    net.eval()
    predicted = net(x).argmax(dim=1)
    return float((predicted == y).float().mean())


assert_type(device, torch.device)
assert_type(inputs.dtype, torch.dtype)
assert_type(model, nn.Sequential)
assert_type(accuracy(model, inputs, labels), float)
probabilities, classes = F.softmax(model(inputs), dim=-1).max(dim=1)
assert_type(probabilities, Tensor)
assert_type(classes, Tensor)
with torch.no_grad():
    for name, parameter in model.named_parameters():
        assert_type(name, str)
        assert_type(parameter, nn.Parameter)
        parameter.mul_(0.5).clamp_(-1, 1)
print(accuracy(model, inputs, labels), losses[-1] < losses[0])
