import os
import copy
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn

torch.manual_seed(0)
X = torch.randn(64, 5)
Y = X @ torch.randn(5, 1) + 0.1 * torch.randn(64, 1)
OPTS = dict(SGD=dict(lr=0.05, momentum=0.9, weight_decay=1e-3), Adam=dict(lr=0.05), AdamW=dict(lr=0.05, amsgrad=True), Adamax=dict(lr=0.05), NAdam=dict(lr=0.05),
            RAdam=dict(lr=0.05), Adagrad=dict(lr=0.1), Adadelta=dict(lr=1.0), RMSprop=dict(lr=0.02, centered=True, momentum=0.5), Rprop=dict(lr=0.05), ASGD=dict(lr=0.05), Adafactor=dict(lr=0.05))
for name, kw in OPTS.items():
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = getattr(optim, name)(net.parameters(), **kw)
    for i in range(15):
        opt.zero_grad()
        l = nn.functional.huber_loss(net(X), Y)
        l.backward()
        opt.step()
    print(f'{name:10s} {l.item():.5f}', sorted(opt.state_dict()['state'][0]))
net = nn.Linear(5, 1)


def lrs(make, n=12):
    o = optim.SGD(net.parameters(), lr=0.1)
    s = make(o)
    r = []
    for _ in range(n):
        o.step()
        r.append(round(o.param_groups[0]['lr'], 6))
        s.step()
    return r


print(lrs(lambda o: lr_scheduler.StepLR(o, 4)))
print(lrs(lambda o: lr_scheduler.MultiStepLR(o, [3, 8], 0.3)))
print(lrs(lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.95 ** e)))
print(lrs(lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 5)))
print(lrs(lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=3)))
print(lrs(lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=13)))
print(lrs(lambda o: lr_scheduler.PolynomialLR(o, 8, 2.0)))
print(lrs(lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, 0.1, 2), lr_scheduler.ExponentialLR(o, 0.9)])))
o = optim.Adam([{'params': net.weight, 'lr': 1e-2}, {'params': [net.bias]}], lr=1e-3)
print(o)
o.add_param_group({'params': [nn.Parameter(torch.zeros(2))], 'weight_decay': 0.1})
print([g['lr'] for g in o.param_groups], len(o.param_groups))

# resume
torch.manual_seed(4)


def build():
    m = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    op = optim.Adam(m.parameters(), lr=0.01)
    return m, op, lr_scheduler.StepLR(op, 2, 0.5)


m, op, sc = build()


def epoch(m, op, sc):
    m.train()
    op.zero_grad()
    l = (m(X) - Y).pow(2).mean()
    l.backward()
    op.step()
    sc.step()
    return l


for e in range(3):
    l = epoch(m, op, sc)
PATH = 'model.pt'
torch.save({'epoch': e, 'model_state_dict': m.state_dict(), 'optimizer_state_dict': op.state_dict(), 'scheduler': sc.state_dict(), 'loss': l, 'rng': torch.get_rng_state()}, PATH)
first = [epoch(m, op, sc).item() for _ in range(3)]
m2, op2, sc2 = build()
ck = torch.load(PATH, weights_only=True)
m2.load_state_dict(ck['model_state_dict'])
op2.load_state_dict(ck['optimizer_state_dict'])
sc2.load_state_dict(ck['scheduler'])
torch.set_rng_state(ck['rng'])
second = [epoch(m2, op2, sc2).item() for _ in range(3)]
print(first == second, ck['loss'], ck['epoch'])
torch.save(m, 'whole.pt')
m3 = torch.load('whole.pt', weights_only=False)
m3.eval()
print(m3)
try:
    m2.load_state_dict({'0.weight': torch.zeros(3, 3), 'zzz': torch.zeros(1)})
except RuntimeError as err:
    print(err)
print(m2.load_state_dict({'0.weight': torch.zeros(8, 5)}, strict=False))
for k, v in m.state_dict().items():
    print(k, "\t", v.size())
swa = AveragedModel(m)
swa_s = SWALR(op, swa_lr=0.05, anneal_epochs=2)
for _ in range(3):
    epoch(m, op, swa_s)
    swa.update_parameters(m)
update_bn([X], swa)
print(f'{swa(X).mean().item():.5f}', swa.n_averaged)
q = copy.deepcopy(m)
q[0].weight.data.zero_()
print(m[0].weight.abs().sum() > 0, sum(p.numel() for p in q.parameters()))
import torch.nn.utils.prune as prune
from torch.nn.utils import parametrizations, parameters_to_vector
lin = parametrizations.weight_norm(nn.Linear(3, 2))
print(lin, [n for n, _ in lin.named_parameters()])
prune.l1_unstructured(m[0], 'weight', amount=0.3)
print(int((m[0].weight == 0).sum()), [n for n, _ in m[0].named_buffers()])
print(parameters_to_vector(net.parameters()).shape)
