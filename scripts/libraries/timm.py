# pip install timm torchvision==0.28.0
import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3

for name in ("resnet18", "mobilenetv3_small_050", "vit_tiny_patch16_224", "convnext_atto", "efficientnet_b0"):
    torch.manual_seed(0)
    options = {"img_size": 32} if name.startswith("vit") else {}
    net = timm.create_model(name, num_classes=5, drop_path_rate=0.1, **options)
    x, y = torch.randn(2, 3, 32, 32), torch.tensor([1, 3])
    optimizer = create_optimizer_v2(net, opt="adamw", lr=1e-4, weight_decay=0.05)
    schedule, ema = CosineLRScheduler(optimizer, t_initial=10, warmup_t=1), ModelEmaV3(net, decay=0.9)
    for epoch in range(2):
        loss = LabelSmoothingCrossEntropy(0.1)(net.eval()(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(net)
        schedule.step(epoch + 1)
    print(name, sum(p.numel() for p in net.parameters()), loss.item(), optimizer.param_groups[0]["lr"])
    print(net.forward_features(x).shape, ema.module(x).std().item())
augment = timm.data.Mixup(mixup_alpha=0.2, num_classes=5)
print(augment(x, y)[0].shape, timm.data.resolve_data_config({}, model=net)["mean"])
