# pip install snntorch
import snntorch
import torch
from snntorch import functional, spikegen, surrogate
from torch import nn

torch.manual_seed(0)
net = nn.ModuleList(
    [
        nn.Linear(6, 10),
        snntorch.Leaky(0.9, spike_grad=surrogate.fast_sigmoid(25)),
        nn.Linear(10, 3),
        snntorch.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.atan()),
    ]
)
x, y = spikegen.rate(torch.rand(8, 6), num_steps=12), torch.randint(0, 3, (8,))
leaky, (current, membrane), spikes = net[1].init_leaky(), net[3].init_synaptic(), []
for step in x:
    fired, leaky = net[1](net[0](step), leaky)
    fired, current, membrane = net[3](net[2](fired), current, membrane)
    spikes.append(fired)
spikes = torch.stack(spikes)
loss = functional.ce_rate_loss()(spikes, y)
loss.backward()
print(
    loss.item(),
    spikes.sum().item(),
    functional.accuracy_rate(spikes, y),
    sum(p.grad.abs().sum().item() for p in net.parameters() if p.grad is not None),
)
