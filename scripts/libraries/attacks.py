# pip install torchattacks foolbox torchvision==0.28.0
import foolbox
import torch
import torchattacks
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).eval()
x, y = torch.rand(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2])
for attack in (
    torchattacks.FGSM(net, eps=0.1),
    torchattacks.PGD(net, eps=0.1, alpha=0.02, steps=5),
    torchattacks.MIFGSM(net, eps=0.1, steps=4),
    torchattacks.CW(net, c=1, steps=5, lr=0.01),
    torchattacks.DeepFool(net, steps=5),
    torchattacks.APGD(net, eps=0.1, steps=4),
    torchattacks.TPGD(net, eps=0.1, steps=4),
    torchattacks.FAB(net, eps=0.1, steps=3, n_classes=3),
    torchattacks.Square(net, eps=0.1, n_queries=20),
):
    torch.manual_seed(1)
    print(attack.__class__.__name__, attack(x, y).double().sum().item())
wrapped = foolbox.PyTorchModel(net, bounds=(0, 1))
for attack in (foolbox.attacks.LinfPGD(steps=5), foolbox.attacks.L2DeepFoolAttack(steps=5), foolbox.attacks.FGM()):
    torch.manual_seed(2)
    raw, clipped, success = attack(wrapped, x, y, epsilons=[0.05, 0.5])
    print([c.double().sum().item() for c in clipped], success.float().mean(1).tolist())
