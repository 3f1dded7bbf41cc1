# pip install captum
import numpy as np
import torch
from captum.attr import LRP, DeepLift, GradientShap, IntegratedGradients, LayerGradCam, Occlusion, Saliency
from torch import nn

torch.manual_seed(0)
features = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
net = nn.Sequential(*features, nn.Linear(64, 10), nn.ReLU(), nn.Linear(10, 3))
x = torch.randn(2, 1, 8, 8)
print(IntegratedGradients(net).attribute(x, target=1, n_steps=20).sum((1, 2, 3)).tolist())
print(Saliency(net).attribute(x.clone(), target=2).sum((1, 2, 3)).tolist())
print(DeepLift(net).attribute(x, target=0).sum((1, 2, 3)).tolist())
layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
print(LRP(layers).attribute(torch.randn(2, 6), target=0).tolist())
print(Occlusion(net).attribute(x, target=1, sliding_window_shapes=(1, 4, 4)).sum((1, 2, 3)).tolist())
print(LayerGradCam(net, net[0]).attribute(x, target=1).sum((1, 2, 3)).tolist())
torch.manual_seed(1)
np.random.seed(1)
print(GradientShap(net).attribute(x, baselines=torch.zeros(4, 1, 8, 8), target=1, n_samples=5).sum((1, 2, 3)).tolist())
