# pip install torchcde pytorch-minimize roma
import roma
import torch
import torchcde
from torchmin import least_squares, minimize

torch.manual_seed(0)
t = torch.linspace(0, 1, 12)
path = torch.randn(3, 12, 2).cumsum(1)
coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(path)
x = torchcde.CubicSpline(coefficients)
field = torch.nn.Linear(4, 8)
z = torchcde.cdeint(
    x, lambda t, z: field(z).tanh().view(3, 4, 2), torch.zeros(3, 4), x.interval, adjoint=False, method="rk4"
)
z.sum().backward()
print(z[:, -1].sum().item(), field.weight.grad.abs().sum().item())
natural = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(path))
print(natural.derivative(torch.tensor(0.3)).sum().item())
rosenbrock = lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()  # noqa: E731
start = torch.tensor([1.3, 0.7, 0.8, 1.9], dtype=torch.float64)
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
    found = minimize(rosenbrock, start, method=method)
    print(method, round(float(found.fun), 6), found.x.sum().item())
found = least_squares(lambda p: p[0] * torch.exp(p[1] * t) - 2 * torch.exp(-t), torch.ones(2))
print(found.x.tolist())
R = roma.rotvec_to_rotmat(torch.randn(4, 3))
print(roma.rotmat_to_unitquat(R).abs().sum().item(), roma.rotmat_geodesic_distance(R[0], R[1]).item())
print(
    roma.special_procrustes(torch.randn(3, 3)).sum().item(),
    roma.unitquat_slerp(*roma.random_unitquat((2,)), t).sum().item(),
)
