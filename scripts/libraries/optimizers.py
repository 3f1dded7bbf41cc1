# pip install torch-optimizer pytorch-optimizer ema-pytorch
import pytorch_optimizer
import torch
import torch_optimizer
from ema_pytorch import EMA

for make in (
    torch_optimizer.RAdam,
    torch_optimizer.Yogi,
    torch_optimizer.DiffGrad,
    torch_optimizer.Lamb,
    pytorch_optimizer.Lion,
    pytorch_optimizer.AdaBelief,
    pytorch_optimizer.Ranger21,
    pytorch_optimizer.AdamP,
):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
    options = {"num_iterations": 10} if make is pytorch_optimizer.Ranger21 else {}
    optimizer = make(net.parameters(), lr=0.01, **options)
    x = torch.randn(16, 4)
    for _ in range(10):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        ema.update()
    print(make.__name__, loss.item(), ema(x).sum().item())
