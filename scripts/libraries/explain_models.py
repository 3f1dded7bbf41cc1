# pip install zennit torchview thop graphviz torchvision==0.28.0
import thop
import torch
from torch import nn
from torchview import draw_graph
from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
from zennit.composites import EpsilonGammaBox, EpsilonPlus, GuidedBackprop

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)).eval()
x, target = torch.randn(1, 3, 8, 8), torch.eye(5)[[2]]
for composite in (EpsilonPlus(), EpsilonGammaBox(low=-3.0, high=3.0), GuidedBackprop()):
    with Gradient(model=net, composite=composite) as attribute:
        out, relevance = attribute(x, target)
    print(type(composite).__name__, relevance.sum().item(), relevance.abs().sum().item())
with IntegratedGradients(net, n_iter=8) as attribute:
    print(attribute(x, target)[1].abs().sum().item())
torch.manual_seed(1)
with SmoothGrad(net, noise_level=0.1, n_iter=4) as attribute:
    print(attribute(x, target)[1].abs().sum().item())
print(thop.profile(net, (x,), verbose=False))
graph = draw_graph(net, input_size=(1, 3, 8, 8), device="cpu", expand_nested=True)
print(len(graph.edge_list))
