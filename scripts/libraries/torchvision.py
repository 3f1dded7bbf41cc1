# pip install --no-deps torchvision==0.28.0 pillow numpy
import torch
from torchvision import models, ops
from torchvision.transforms import v2

torch.manual_seed(0)
image = torch.rand(1, 3, 64, 64)
net = models.resnet18(weights=None).eval()
print(net(image).square().mean().item())
boxes = torch.rand(20, 4) * 8
boxes[:, 2:] += boxes[:, :2]
print(ops.nms(boxes, torch.rand(20), 0.3).tolist(), ops.box_iou(boxes, boxes).sum().item())
layer = ops.DeformConv2d(3, 4, 3, padding=1)
offset = torch.randn(1, 18, 16, 16, requires_grad=True)
out = layer(image[..., :16, :16], offset, torch.rand(1, 9, 16, 16))
out.square().sum().backward()
print(out.sum().item(), offset.grad.abs().sum().item(), layer.weight.grad.abs().sum().item())
for pool in (ops.RoIAlign(3, 0.5, 2, True), ops.RoIPool(3, 0.5)):
    print(type(pool).__name__, pool(image, [boxes * 4]).sum().item())
detector = models.detection.retinanet_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=3, min_size=64, max_size=64
)
targets = [{"boxes": torch.tensor([[5.0, 6, 40, 50]]), "labels": torch.tensor([1])}]
losses = detector([image[0]], targets)
print({name: loss.item() for name, loss in losses.items()})
augment = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.RandomCrop(32), v2.Normalize([0.5] * 3, [0.2] * 3)])
print(augment(image).mean().item(), v2.GaussianBlur(3, 1.0)(image).std().item())
