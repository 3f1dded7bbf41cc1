# pip install e3nn
import torch
from e3nn import o3
from e3nn.nn import FullyConnectedNet, Gate

torch.manual_seed(0)
irreps = o3.Irreps("2x0e + 1x1o")
x = irreps.randn(5, -1)
print(o3.spherical_harmonics("0e + 1o + 2e", torch.tensor([[1.0, 2.0, 3.0]]), True).tolist())
tp = o3.FullyConnectedTensorProduct(irreps, irreps, "3x0e + 1x1o")
y = tp(x, x)
print(y.sum().item(), y.abs().mean().item())
D = irreps.D_from_angles(torch.tensor(0.1), torch.tensor(0.2), torch.tensor(0.3))
out = o3.Irreps("3x0e + 1x1o").D_from_angles(torch.tensor(0.1), torch.tensor(0.2), torch.tensor(0.3))
print(bool((tp(x @ D.T, x @ D.T) - y @ out.T).abs().max() < 1e-4))
print(o3.Linear(irreps, "1x0e + 2x1o")(x).sum().item())
print(FullyConnectedNet([3, 8, 1], torch.tanh)(torch.ones(2, 3)).tolist())
gate = Gate("2x0e", [torch.tanh], "1x0e", [torch.sigmoid], "1x1o")
print(gate(gate.irreps_in.randn(2, -1)).sum().item())
