# pip install pytorch-tabnet schedulefree prodigyopt higher
import higher
import numpy as np
import torch
from prodigyopt import Prodigy
from pytorch_tabnet.tab_model import TabNetRegressor
from schedulefree import AdamWScheduleFree, SGDScheduleFree
from torch import nn

for make in (lambda p: AdamWScheduleFree(p, lr=0.01), lambda p: SGDScheduleFree(p, lr=0.05), Prodigy):
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(16, 4)
    optimizer = make(net.parameters())
    getattr(optimizer, "train", lambda: None)()
    for _ in range(10):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    print(loss.item())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with higher.innerloop_ctx(net, optimizer) as (inner, step):
    for _ in range(3):
        step.step(inner(x).square().mean())
    outer = inner(x).mean()
    print(outer.item(), sum(g.abs().sum().item() for g in torch.autograd.grad(outer, inner.parameters(time=0))))
random = np.random.default_rng(0)
table = random.normal(size=(64, 5)).astype("float32")
model = TabNetRegressor(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0)
model.fit(table, table[:, :1], max_epochs=3, batch_size=32, virtual_batch_size=16)
print(model.history["loss"], model.predict(table[:4]).sum(), model.feature_importances_.sum())
