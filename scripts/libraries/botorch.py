# pip install botorch
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
X = torch.rand(10, 2, dtype=torch.double)
Y = 1 - (X - 0.5).norm(dim=-1, keepdim=True)
gp = SingleTaskGP(X, Y, outcome_transform=Standardize(m=1))
fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
test = torch.tensor([[0.2, 0.3], [0.5, 0.5]], dtype=torch.double)
print(gp.posterior(test).mean.flatten().tolist(), gp.posterior(test).variance.flatten().tolist())
ei = LogExpectedImprovement(gp, best_f=Y.max())
print(ei(test.unsqueeze(1)).tolist())
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
candidate, value = optimize_acqf(ei, bounds=bounds, q=1, num_restarts=3, raw_samples=20)
print(candidate.tolist(), value.item())
