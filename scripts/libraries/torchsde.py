# pip install torchsde geomloss
import torch
import torchsde
from geomloss import SamplesLoss

torch.manual_seed(0)


class SDE(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift, self.spread = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return torch.sigmoid(self.spread(y))


sde, y0, t = SDE(), torch.full((4, 3), 0.1), torch.linspace(0, 1, 5)
with torch.no_grad():
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time")
    print(torchsde.sdeint(sde, y0, t, bm=noise, method="milstein", dt=0.1)[-1].mean(0).tolist())
ys = torchsde.sdeint_adjoint(
    sde,
    y0,
    t,
    bm=torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time"),
    dt=0.1,
)
ys.sum().backward()
print(sde.drift.weight.grad.abs().sum().item())
a, b = torch.randn(20, 2, requires_grad=True), torch.randn(30, 2)
for loss in ("sinkhorn", "energy", "gaussian"):
    value = SamplesLoss(loss, backend="tensorized")(a, b)
    print(loss, value.item(), torch.autograd.grad(value, a)[0].abs().sum().item())
