import math
import torch
import numpy as np

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=4, sci_mode=False)
train_x = torch.linspace(0, 1, 20)
train_y = torch.sin(train_x * (2 * math.pi)) + torch.randn(train_x.size()) * math.sqrt(0.04)


class GP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_ls = torch.nn.Parameter(torch.zeros(1))
        self.log_var = torch.nn.Parameter(torch.zeros(1))
        self.log_noise = torch.nn.Parameter(torch.tensor([-2.0]))

    def kernel(self, a, b):
        d2 = torch.cdist(a[:, None] / self.log_ls.exp(), b[:, None] / self.log_ls.exp()).pow(2)
        return self.log_var.exp() * torch.exp(-0.5 * d2)

    def kernel2(self, a, b):
        return self.log_var.exp() * torch.exp(-0.5 * ((a[:, None] - b[None, :]) / self.log_ls.exp()) ** 2)

    def nll(self, x, y):
        K = self.kernel2(x, x) + self.log_noise.exp() * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(-1), L)
        return 0.5 * (y @ alpha.squeeze()) + torch.diagonal(L).log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    def mvn(self, x, y):
        K = self.kernel2(x, x) + self.log_noise.exp() * torch.eye(len(x))
        return -torch.distributions.MultivariateNormal(torch.zeros(len(x)), K).log_prob(y)

    def predict(self, x, y, xs):
        K = self.kernel2(x, x) + self.log_noise.exp() * torch.eye(len(x))
        Ks, Kss = self.kernel2(x, xs), self.kernel2(xs, xs)
        L = torch.linalg.cholesky(K)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        mu = Ks.T @ torch.linalg.solve(K, y)
        return mu, Kss - v.T @ v


gp = GP()
opt = torch.optim.Adam(gp.parameters(), lr=0.1)
for i in range(25):
    opt.zero_grad()
    loss = gp.nll(train_x, train_y) if i % 2 else gp.mvn(train_x, train_y)
    loss.backward()
    opt.step()
    if i % 5 == 0:
        print('Iter %d - Loss: %.3f   lengthscale: %.3f   noise: %.3f' % (i + 1, loss.item(), gp.log_ls.exp().item(), gp.log_noise.exp().item()))
with torch.no_grad():
    mu, cov = gp.predict(train_x, train_y, torch.linspace(0, 1, 5))
    print(mu, torch.diag(cov), sep='\n')
    sample = torch.distributions.MultivariateNormal(mu, cov + 1e-6 * torch.eye(5)).rsample(torch.Size([2]))
    print(sample)
    print(torch.linalg.slogdet(cov + 1e-3 * torch.eye(5)))
    print(torch.linalg.eigvalsh(cov))
