# pip install jaxtyping einops torchsummary torchquad
import torch
from einops import pack, rearrange, reduce, repeat
from einops.layers.torch import Rearrange
from jaxtyping import Float, Int
from torchquad import GaussLegendre, MonteCarlo, set_up_backend
from torchsummary import summary

x = torch.arange(24.0).reshape(2, 3, 4)
print(rearrange(x, "a b c -> (a c) b").sum(0).tolist(), reduce(x, "a b c -> b", "mean").tolist())
print(repeat(x, "a b c -> a b c d", d=2).shape, Rearrange("a b c -> a (b c)")(x).shape, pack([x, x], "* c")[0].shape)
print(isinstance(x, Float[torch.Tensor, "2 3 4"]), isinstance(x, Int[torch.Tensor, "..."]))
set_up_backend("torch", data_type="float32")
domain = [[0, 1], [-1, 1]]
f = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])  # noqa: E731
print(GaussLegendre().integrate(f, dim=2, N=101, integration_domain=domain).item())
print(MonteCarlo().integrate(f, dim=2, N=1000, integration_domain=domain, seed=0).item())
summary(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), (4,), device="cpu")
