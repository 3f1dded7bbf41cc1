"""Odds and ends seen in public code."""
import os, sys, time, logging, warnings, pickle
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, FloatTensor, LongTensor
from torch.autograd import Variable
from typing import Optional, Tuple, List
from torch.utils.data import Dataset, DataLoader, ConcatDataset, WeightedRandomSampler, IterableDataset, Subset
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

logging.basicConfig(stream=sys.stdout, format='%(message)s', level=logging.INFO)
use_cuda = torch.cuda.is_available()
FloatT = torch.cuda.FloatTensor if use_cuda else torch.FloatTensor
dtype = torch.float
torch.manual_seed(0)
x = Variable(FloatT(3, 4).fill_(2.0), requires_grad=False)
print(x.type(), x.sum().item(), "%d" % x[0, 0], "{:.2f}".format(x.mean()), f"{x.max():>8.3f}")
y = torch.zeros(3, 5)
y[range(3), [1, 2, 3]] = 1
print(y, y.sum(axis=1, keepdims=True).squeeze(-1))
print(sum([torch.ones(2), torch.ones(2)]), max(torch.tensor(1), torch.tensor(2)))
print(torch.Tensor([1, 2]).int(), torch.LongTensor([1]).item(), torch.eye(3)[[0, 2]].tolist())
print(F.one_hot(torch.tensor([0, 2]), num_classes=3), torch.bincount(torch.tensor([0, 1, 1])))
print(np.mean([torch.tensor(1.0).item(), 2.0]), np.array(torch.ones(2)), np.sqrt(torch.tensor(4.0)))
loss_meter = []
for i in range(3):
    loss_meter.append(torch.tensor(float(i)))
print(torch.stack(loss_meter).mean(), np.mean(loss_meter))
logging.info('value %s', torch.tensor([1.5, 2.5]))


@torch.jit.script
def fused(x, b: Optional[torch.Tensor] = None):
    return x * 2 if b is None else x * 2 + b


print(fused(torch.ones(2)))


class Stream(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        yield from range(5)


print([b for b in DataLoader(Stream(), batch_size=2)])
w = WeightedRandomSampler([0.1, 0.9, 0.4], 6, replacement=True)
print(list(w), len(ConcatDataset([[1, 2], [3]])))
seqs = [torch.randn(l, 2) for l in (4, 2, 3)]
padded = pad_sequence(seqs, batch_first=True)
lengths = torch.tensor([len(s) for s in seqs])
lstm = nn.LSTM(2, 3, batch_first=True, bidirectional=True)
packed = pack_padded_sequence(padded, lengths.cpu(), batch_first=True, enforce_sorted=False)
out, (h, c) = lstm(packed)
out, ls = pad_packed_sequence(out, batch_first=True)
print(out.shape, ls, h.shape, out[1])
conv = nn.Conv1d(2, 4, 3, dilation=2, padding='same', groups=2)
print(conv, conv(torch.randn(1, 2, 7)).shape)
emb = nn.Embedding(5, 3, padding_idx=0)
print(emb(torch.tensor([0, 1]))[0], emb.weight.requires_grad)
print(torch.finfo(torch.float32).eps, torch.iinfo(torch.int8).max, torch.pi)
print(torch.linspace(0, 1, 5).view(-1, 1).repeat(1, 2).t(), torch.arange(6).reshape(2, 3).roll(1, 0))
v, i = torch.sort(torch.tensor([3., 1., 2.]), descending=True)
print(v, i, torch.topk(v, 2), torch.max(torch.tensor([[1, 5], [7, 2]]), dim=1))
t = torch.randn(2, 3)
print(t.mean(-1, keepdim=True), t.std(unbiased=False), t.norm(p=2, dim=1), t.clamp(min=0), (t > 0).nonzero())
print(torch.cat((t, t), 1).shape, t[None].shape, t[..., 0].shape, t.unsqueeze(-1).expand(-1, -1, 4).shape, t.numel(), t.element_size(), t.is_contiguous(), t.t().is_contiguous(), t.stride())
print(torch.where(t > 0, t, torch.zeros_like(t)).sum(), torch.masked_select(t, t > 0).shape)
print(torch.einsum('ij,kj->ik', t, t), torch.tensordot(t, t, dims=([1], [1])))
print(torch.__version__ >= '1.0', torch.__version__.split('.')[0], tuple(map(int, torch.__version__.split('+')[0].split('.')[:2])) > (1, 8))
print(t.dtype, torch.get_default_dtype(), t.double().dtype, t.half().dtype, t.to(torch.bfloat16))
print(pickle.loads(pickle.dumps(t)).equal(t), isinstance(t, torch.FloatTensor), torch.is_tensor(t), torch.is_floating_point(t))
print(hash(t) == hash(t), t in [t], len(t), list(t.shape), t.shape[0], tuple(t.size()))
p = nn.Parameter(torch.ones(2))
print(p, [n for n, _ in nn.ParameterList([p]).named_parameters()], nn.ParameterDict({'a': p}))
print(torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij')[0], torch.cartesian_prod(torch.arange(2), torch.arange(2)))
d = torch.distributions.Dirichlet(torch.tensor([0.5, 0.5]))
print(d, d.sample(), torch.distributions.Bernoulli(logits=torch.tensor([0.3])).sample((2,)).shape)
print(torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True), torch.multinomial(torch.ones(4), 2), torch.bernoulli(torch.full((3,), 0.5)), torch.randperm(5), torch.randint(0, 9, (3,)), torch.normal(0., 1., (2,)))
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print(e)
try:
    nn.Linear(3, 2)(torch.ones(2, 4))
except RuntimeError as e:
    print(e)
try:
    F.cross_entropy(torch.randn(2, 3), torch.tensor([0, 5]))
except (IndexError, RuntimeError) as e:
    print(type(e).__name__, e)
try:
    torch.ones(2) + torch.ones(3)
except RuntimeError as e:
    print(e)
try:
    torch.ones(2).cuda()
except (AssertionError, RuntimeError) as e:
    print('no cuda')
try:
    torch.tensor([1.0], requires_grad=True).numpy()
except RuntimeError as e:
    print(e)
with torch.autocast('cpu', dtype=torch.bfloat16):
    print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
e = torch.linalg.eigh(torch.tensor([[2., 1.], [1., 2.]]))
print(e.eigenvalues, torch.linalg.norm(t), torch.det(torch.eye(2)), torch.inverse(2 * torch.eye(2)))
f = torch.fft.rfft(torch.arange(4.))
print(f, f.abs(), torch.complex(torch.ones(1), torch.ones(1)))
print(torch.quantile(torch.arange(5.), 0.3), torch.cumsum(torch.arange(4), 0), torch.unique(torch.tensor([1, 2, 2]), return_counts=True), torch.histc(torch.arange(5.), 2))
print(nn.MultiheadAttention(4, 2, batch_first=True)(torch.ones(1, 2, 4), torch.ones(1, 2, 4), torch.ones(1, 2, 4))[1])
print(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
print(F.ctc_loss(torch.randn(6, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([6]), torch.tensor([2])))
