"""Optimizers, schedulers, mixed precision, checkpoints and a compiled step."""

from typing import assert_type

import pullback as torch
import pullback.nn.functional as F
from pullback import Tensor, nn
from pullback.optim import SGD, Adam, AdamW, Optimizer
from pullback.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    ReduceLROnPlateau,
    SequentialLR,
)
from pullback.optim.swa_utils import AveragedModel

model = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
optimizers: list[Optimizer] = [
    SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    Adam([{"params": [model.weight], "lr": 1e-3}, {"params": [model.bias]}], betas=(0.9, 0.99)),
    AdamW(model.named_parameters(), weight_decay=0.01),
    torch.optim.RMSprop(model.parameters()),
]
for optimizer in optimizers:
    warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    scheduler: LRScheduler = SequentialLR(optimizer, [warmup, CosineAnnealingLR(optimizer, T_max=4)], milestones=[2])
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(type(optimizer).__name__, scheduler.get_last_lr(), sorted(optimizer.state_dict()))


def closure() -> Tensor:
    lbfgs.zero_grad()
    loss = F.huber_loss(model(x), y)
    loss.backward()
    return loss


lbfgs = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")
lbfgs.step(closure)

sgd = SGD(model.parameters(), lr=0.1)
by_epoch = LambdaLR(sgd, lr_lambda=lambda epoch: 0.9**epoch)
plateau = ReduceLROnPlateau(sgd, patience=1)
averaged = AveragedModel(model)
scaler = torch.amp.GradScaler("cpu", enabled=False)
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(sgd)
    scaler.update()
    by_epoch.step()
    plateau.step(loss.item())
    averaged.update_parameters(model)


@torch.compile
def step(inputs: Tensor, scale: float = 1.0) -> Tensor:
    return (inputs * scale).sin().sum()


assert_type(step(x, scale=2.0), Tensor)
fast = torch.compile(model)
prediction = fast(x)
print(prediction.shape, step(x).ndim)
