# pip install torchdiffeq
import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))


class F(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, t, y):
        return self.net(y**3)


t, y0 = torch.linspace(0, 2, 10), torch.tensor([[2.0, 0.0]])
for method in ("dopri5", "rk4", "euler", "adaptive_heun"):
    print(method, odeint(F(), y0, t, method=method)[-1].tolist())
y = odeint_adjoint(F(), y0, t)
y.sum().backward()
print(net[0].weight.grad.abs().sum().item())
event = odeint_event(lambda t, y: -torch.ones_like(y), torch.tensor([1.0]), torch.tensor(0.0), event_fn=lambda t, y: y)
print(event[0].item())
