# pip install lightly torchvision==0.28.0
import torch
from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.models.modules import BYOLPredictionHead, DINOProjectionHead, SimCLRProjectionHead
from lightly.models.utils import deactivate_requires_grad, update_momentum
from lightly.utils.scheduler import cosine_schedule

torch.manual_seed(0)
net, x, y = SimCLRProjectionHead(16, 16, 8).eval(), torch.randn(8, 16), torch.randn(8, 16)
for loss in (NTXentLoss(0.2), BarlowTwinsLoss(), VICRegLoss(), NegativeCosineSimilarity()):
    net.zero_grad()
    value = loss(net(x), net(y))
    value.backward()
    print(type(loss).__name__, value.item(), sum(p.grad.abs().sum().item() for p in net.parameters()))
head, teacher = DINOProjectionHead(16, 16, 8, 32), DINOProjectionHead(16, 16, 8, 32)
deactivate_requires_grad(teacher)
update_momentum(head, teacher, m=cosine_schedule(1, 10, 0.9, 1.0))
print(DINOLoss(output_dim=32)([teacher(x)], [head(x), head(y)], epoch=1).item())
print(SwaVLoss()([torch.randn(8, 6)], [torch.randn(8, 6)]).item(), BYOLPredictionHead(8, 16, 8)(net(x)).std().item())
