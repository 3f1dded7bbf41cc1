# pip install opacus poutyne
import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from opacus.validators import ModuleValidator
from poutyne import Model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 3, (64,))
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
net = ModuleValidator.fix(net)
sampled = GradSampleModule(net)
nn.functional.cross_entropy(sampled(x), y).backward()
print([p.grad_sample.square().sum().item() for p in sampled.parameters()])
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=16)
engine = PrivacyEngine(accountant="rdp")
net, optimizer, loader = engine.make_private(
    module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False
)
for a, b in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(a), b)
    loss.backward()
    optimizer.step()
print(loss.item(), engine.get_epsilon(1e-5))
print(get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, epochs=5))
torch.manual_seed(1)
model = Model(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), "adam", "cross_entropy", batch_metrics=["accuracy"])
history = model.fit(x.numpy(), y.numpy(), epochs=2, batch_size=16, verbose=False)
print(history[-1]["loss"], history[-1]["acc"], model.evaluate(x.numpy(), y.numpy(), verbose=False)[0])
