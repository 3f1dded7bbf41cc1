# pip install segmentation-models-pytorch torchvision==0.28.0
import segmentation_models_pytorch as smp
import torch

x, y = torch.rand(2, 3, 64, 64), (torch.rand(2, 1, 64, 64) > 0.5).long()
for make in (smp.Unet, smp.FPN, smp.DeepLabV3Plus, smp.PSPNet):
    torch.manual_seed(0)
    net = make("resnet18", encoder_weights=None, classes=1).eval()
    x = torch.rand(2, 3, 64, 64)
    y = (torch.rand(2, 1, 64, 64) > 0.5).long()
    out = net(x)
    losses = [
        smp.losses.DiceLoss("binary")(out, y),
        smp.losses.FocalLoss("binary")(out, y),
        smp.losses.JaccardLoss("binary")(out, y),
        smp.losses.LovaszLoss("binary")(out, y),
        smp.losses.TverskyLoss("binary", alpha=0.3, beta=0.7)(out, y),
    ]
    sum(losses).backward()
    print(make.__name__, *[loss.item() for loss in losses])
    print(sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None))
    counts = smp.metrics.get_stats(out.sigmoid(), y, mode="binary", threshold=0.5)
    print(smp.metrics.iou_score(*counts, reduction="micro").item(), smp.metrics.f1_score(*counts, "macro").item())
