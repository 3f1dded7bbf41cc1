# pip install laplace-torch curvlinops-for-pytorch backpack-for-pytorch torchvision==0.28.0
import torch
from backpack import backpack, extend
from backpack.extensions import KFAC, BatchGrad, BatchL2Grad, DiagGGNExact, Variance
from curvlinops import GGNLinearOperator, HessianLinearOperator
from laplace import Laplace
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(24, 3)
y = x.sum(1, keepdim=True).sin()
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
net, loss = extend(net), extend(nn.MSELoss())
with backpack(BatchGrad(), BatchL2Grad(), DiagGGNExact(), Variance(), KFAC()):
    loss(net(x), y).backward()
for p in net.parameters():
    print(
        p.grad_batch.abs().sum().item(), p.batch_l2.sum().item(), p.diag_ggn_exact.sum().item(), p.variance.sum().item()
    )
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
parameters = list(net.parameters())
for make in (HessianLinearOperator, GGNLinearOperator):
    matrix = make(net, nn.MSELoss(), parameters, [(x, y)])
    print(make.__name__, (matrix @ torch.ones(matrix.shape[1])).abs().sum().item())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(40):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for structure in ("full", "kron", "diag"):
    posterior = Laplace(net, "regression", subset_of_weights="all", hessian_structure=structure)
    posterior.fit(loader)
    mean, variance = posterior(x[:4])
    print(structure, mean.sum().item(), variance.sum().item(), posterior.log_marginal_likelihood().item())
