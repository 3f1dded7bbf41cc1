# pip install pyro-ppl
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 30)
y = 2 * x + 0.5 + 0.1 * torch.randn(30)


def model(x, y=None):
    w, b = pyro.sample("w", dist.Normal(0.0, 2.0)), pyro.sample("b", dist.Normal(0.0, 2.0))
    sigma = pyro.sample("sigma", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(w * x + b, sigma), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
losses = [svi.step(x, y) for _ in range(100)]
print(losses[0], losses[-1])
print({k: v.item() for k, v in guide.median().items()})
print(Predictive(model, guide=guide, num_samples=5)(x)["y"].mean(0)[:3].tolist())
from pyro.distributions.transforms import planar, spline_coupling  # noqa: E402

flow = spline_coupling(2, count_bins=4)
base = dist.Normal(torch.zeros(2), torch.ones(2))
print(
    dist.TransformedDistribution(base, [flow]).log_prob(torch.tensor([[0.1, 0.2]])).sum().item(),
    len(list(planar(2).parameters())),
)
