import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions
from sklearn import datasets

torch.manual_seed(0)
np.random.seed(0)


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize, 1))
        return self.g(z)


nets = lambda: nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 32), nn.LeakyReLU(), nn.Linear(32, 2))
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 3).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad == True], lr=1e-3)
for t in range(21):
    noisy_moons = datasets.make_moons(n_samples=100, noise=.05)[0].astype(np.float32)
    loss = -flow.log_prob(torch.from_numpy(noisy_moons)).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if t % 5 == 0:
        print('iter %s:' % t, 'loss = %.3f' % loss)
x = flow.sample(3).detach().numpy()
print(x.shape, np.round(x[:, 0, :], 3))


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(1, dim))
        self.bias = nn.Parameter(torch.Tensor(1))
        self.scale = nn.Parameter(torch.Tensor(1, dim))
        self.reset_parameters()

    def reset_parameters(self):
        self.weight.data.uniform_(-0.01, 0.01)
        self.scale.data.uniform_(-0.01, 0.01)
        self.bias.data.uniform_(-0.01, 0.01)

    def forward(self, z):
        a = torch.tanh(F.linear(z, self.weight, self.bias))
        psi = (1 - a ** 2) * self.weight
        return z + self.scale * a, torch.log(torch.abs(1 + torch.mm(psi, self.scale.t())) + 1e-4)


layers = nn.ModuleList(PlanarFlow(2) for _ in range(4))
opt = torch.optim.RMSprop(layers.parameters(), lr=1e-2, momentum=0.1)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.99)
base = distributions.Normal(torch.zeros(2), torch.ones(2))
for it in range(10):
    z = base.rsample((64,))
    logq = base.log_prob(z).sum(-1)
    for l in layers:
        z, ld = l(z)
        logq = logq - ld.squeeze()
    target = -0.5 * ((z.norm(dim=1) - 2) / 0.4) ** 2
    loss = (logq - target).mean()
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
    print(f'{it} {loss.item():.4f}')
tf = distributions.TransformedDistribution(distributions.Normal(0., 1.), [distributions.AffineTransform(1., 2.), distributions.SigmoidTransform()])
print(tf.sample((3,)), tf.log_prob(torch.tensor([0.2, 0.7])))
