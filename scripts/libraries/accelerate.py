# pip install accelerate
import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
model, optimizer, loader, schedule = accelerator.prepare(
    model, optimizer, DataLoader(data, batch_size=8, shuffle=True), schedule
)
for x, y in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
print(loss.item(), accelerator.gather(loss).item(), optimizer.param_groups[0]["lr"])
with init_empty_weights():
    empty = nn.Linear(1000, 1000)
print(empty.weight.device.type, sum(p.sum().item() for p in accelerator.unwrap_model(model).parameters()))
