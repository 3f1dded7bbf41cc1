# pip install piq pytorch-msssim lpips torchvision==0.28.0
import lpips
import piq
import torch
from pytorch_msssim import ms_ssim, ssim

torch.manual_seed(0)
x = torch.rand(2, 3, 192, 192)
y = (x + 0.1 * torch.randn_like(x)).clamp(0, 1).requires_grad_()
print(ssim(x, y, data_range=1.0).item(), ms_ssim(x, y, data_range=1.0).item())
for measure in (
    piq.psnr,
    piq.ssim,
    piq.multi_scale_ssim,
    piq.vif_p,
    piq.fsim,
    piq.gmsd,
    piq.mdsi,
    piq.haarpsi,
    piq.vsi,
):
    value = measure(x, y, data_range=1.0)
    (g,) = torch.autograd.grad(value, y)
    print(measure.__name__, value.item(), g.abs().sum().item())
print(piq.total_variation(x).item(), piq.srsim(x, y, data_range=1.0, scale=1 / 4).item())
features = torch.rand(20, 8), torch.rand(20, 8)
print(piq.KID()(*features).item())
torch.manual_seed(1)
distance = lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False).eval()
print(distance(x[..., :64, :64], y[..., :64, :64]).sum().item())
