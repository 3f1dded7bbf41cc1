# pip install neuraloperator
import torch
from neuralop.layers.spectral_convolution import SpectralConv
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO

torch.manual_seed(0)
x, y = torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)
for make in (
    lambda: FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2),
    lambda: TFNO(
        n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, factorization="tucker", rank=0.3
    ),
):
    torch.manual_seed(0)
    net, x, y = make(), torch.randn(2, 1, 16, 16), torch.randn(2, 1, 16, 16)
    loss = LpLoss(d=2, p=2)(net(x), y) + H1Loss(d=2)(net(x), y)
    loss.backward()
    print(
        type(net).__name__, loss.item(), sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None)
    )
layer = SpectralConv(2, 3, (4, 4))
print(layer(torch.randn(1, 2, 12, 12)).std().item())
