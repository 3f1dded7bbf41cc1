# pip install monai
import torch
from monai.losses import DiceCELoss, DiceLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, RandFlip, RandRotate90, ScaleIntensity
from monai.utils import set_determinism

set_determinism(0)
net = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2))
x, y = torch.rand(2, 1, 32, 32), torch.randint(2, (2, 1, 32, 32))
loss = DiceCELoss(to_onehot_y=True, softmax=True)(net(x), y)
loss.backward()
print(loss.item(), sum(p.grad.abs().sum().item() for p in net.parameters()))
print(DiceLoss(sigmoid=True)(torch.randn(1, 1, 8, 8), torch.ones(1, 1, 8, 8)).item())
print(DiceMetric()(y_pred=y.float(), y=(torch.rand(2, 1, 32, 32) > 0.5).float()).flatten().tolist())
augment = Compose([ScaleIntensity(), RandRotate90(prob=1.0), RandFlip(prob=1.0)])
augment.set_random_state(0)
print(augment(x[0]).mean().item())
