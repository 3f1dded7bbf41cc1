import math
import random
from collections import OrderedDict
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
np.random.seed(5)


class MAMLModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(OrderedDict([('l1', nn.Linear(1, 40)), ('relu1', nn.ReLU()), ('l2', nn.Linear(40, 40)), ('relu2', nn.ReLU()), ('l3', nn.Linear(40, 1))]))

    def forward(self, x):
        return self.model(x)

    def parameterised(self, x, weights):
        x = nn.functional.linear(x, weights[0], weights[1])
        x = nn.functional.relu(x)
        x = nn.functional.linear(x, weights[2], weights[3])
        x = nn.functional.relu(x)
        return nn.functional.linear(x, weights[4], weights[5])


class Task:
    def __init__(self):
        self.a = np.random.uniform(0.1, 5.0)
        self.p = np.random.uniform(0, math.pi)

    def sample(self, K):
        x = torch.rand((K, 1)) * 10 - 5
        return x, self.a * torch.sin(x + self.p)


model = MAMLModel()
criterion = nn.MSELoss()
weights = list(model.parameters())
meta_opt = torch.optim.Adam(weights, 0.001)


def inner(task, K=10, lr=0.01, steps=2):
    tmp = [w.clone() for w in weights]
    for _ in range(steps):
        X, y = task.sample(K)
        loss = criterion(model.parameterised(X, tmp), y) / K
        grad = torch.autograd.grad(loss, tmp, create_graph=True)
        tmp = [w - lr * g for w, g in zip(tmp, grad)]
    X, y = task.sample(K)
    return criterion(model.parameterised(X, tmp), y) / K


for it in range(12):
    meta = 0
    for _ in range(4):
        meta = meta + inner(Task())
    meta_grads = torch.autograd.grad(meta, weights)
    for w, g in zip(weights, meta_grads):
        w.grad = g
    meta_opt.step()
    print(f'{it} {meta.item() / 4:.5f}')

# functional_call + torch.func.grad, higher style
from torch.func import functional_call, grad, vmap
params = dict(model.named_parameters())


def loss_fn(p, x, y):
    return F.mse_loss(functional_call(model, p, (x,)), y)


def adapted(p, xs, ys, xq, yq):
    g = grad(loss_fn)(p, xs, ys)
    fast = {k: p[k] - 0.01 * g[k] for k in p}
    return loss_fn(fast, xq, yq)


xs, ys, xq, yq = torch.rand(3, 5, 1), torch.rand(3, 5, 1), torch.rand(3, 5, 1), torch.rand(3, 5, 1)
losses = vmap(adapted, in_dims=(None, 0, 0, 0, 0))(params, xs, ys, xq, yq)
print(losses.detach())
mg = grad(lambda p: vmap(adapted, in_dims=(None, 0, 0, 0, 0))(p, xs, ys, xq, yq).mean())(params)
print({k: round(v.norm().item(), 4) for k, v in mg.items()})
