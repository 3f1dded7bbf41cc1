# pip install nflows zuko normflows
import normflows as nf
import torch
import zuko
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.nn.nets import ResidualNet
from nflows.transforms import CompositeTransform, MaskedAffineAutoregressiveTransform, ReversePermutation
from nflows.transforms.coupling import PiecewiseRationalQuadraticCouplingTransform

torch.manual_seed(0)
x, context = torch.randn(32, 3), torch.randn(32, 2)
for make in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.NICE, zuko.flows.GF, zuko.flows.SOSPF, zuko.flows.BPF):
    flow = make(3, 2, transforms=2, hidden_features=(16, 16))
    loss = -flow(context).log_prob(x).mean()
    loss.backward()
    print(make.__name__, loss.item(), sum(p.grad.abs().sum().item() for p in flow.parameters()))
    print(flow(context[0]).sample((4,)).shape)
steps = []
for _ in range(2):
    steps += [ReversePermutation(3), MaskedAffineAutoregressiveTransform(3, 8, context_features=2)]
net = lambda i, o: ResidualNet(i, o, hidden_features=8, context_features=2)  # noqa: E731
steps.append(PiecewiseRationalQuadraticCouplingTransform(torch.tensor([1, 0, 1]), net, tails="linear", tail_bound=3.0))
flow = Flow(CompositeTransform(steps), StandardNormal([3]))
loss = -flow.log_prob(x, context=context).mean()
loss.backward()
print(loss.item(), sum(p.grad.abs().sum().item() for p in flow.parameters()), flow.sample(3, context[:1]).std().item())
flows = []
for _ in range(3):
    flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=False)), nf.flows.Permute(2, mode="swap")]
flows.append(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8))
model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), flows)
loss = model.forward_kld(x[:, :2])
loss.backward()
print(loss.item(), model.sample(4)[1].sum().item(), sum(p.grad.abs().sum().item() for p in model.parameters()))
