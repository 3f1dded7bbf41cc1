"""Custom Function, hooks, saved tensors, checkpointing tutorials."""
import torch
import torch.nn as nn
from torch.autograd import Function, gradcheck, Variable
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


linear = LinearFunction.apply
print(gradcheck(linear, (torch.randn(4, 3, dtype=torch.double, requires_grad=True), torch.randn(2, 3, dtype=torch.double, requires_grad=True), None), eps=1e-6, atol=1e-4))


class MulConstant(Function):
    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        ctx.set_materialize_grads(False)
        return tensor * constant

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return None if g is None else g * ctx.constant, None


class Inplace(Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, l):
        ctx.l = l
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.l, None


x = torch.arange(4.).requires_grad_()
y = GradReverse.apply(Inplace.apply(MulConstant.apply(x, 3.)), 0.5)
print(y)
y.register_hook(lambda g: print('hook', g))
y.sum().backward()
print(x.grad, y.grad_fn, y.grad_fn.next_functions)


class STE(Function):
    @staticmethod
    def forward(ctx, i):
        return (i > 0).float()

    @staticmethod
    def backward(ctx, g):
        return torch.nn.functional.hardtanh(g)


m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
acts = {}


def get_activation(name):
    def hook(model, input, output):
        acts[name] = output.detach()
        print(name, type(model).__name__, [tuple(i.shape) for i in input], tuple(output.shape))
    return hook


h = m[0].register_forward_hook(get_activation('fc1'))
h2 = m[2].register_full_backward_hook(lambda mod, gi, go: print('bw', [None if g is None else tuple(g.shape) for g in gi], [g.norm().item().__round__(4) for g in go]))
h3 = m.register_forward_pre_hook(lambda mod, inp: (inp[0] * 2,))
out = m(torch.ones(2, 3))
out.sum().backward()
h.remove(); h2.remove(); h3.remove()
print(m[0].weight.grad)
print(sorted(acts), acts['fc1'].mean())

a = torch.randn(3, requires_grad=True)
b = a.exp()
print(torch.equal(b.grad_fn._saved_result, b), b.grad_fn._saved_result is b)


def pack_hook(t):
    print('pack', tuple(t.shape))
    return t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy()


def unpack_hook(v):
    print('unpack', v.shape)
    return torch.from_numpy(v)


with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
    z = (a * a).sum()
z.backward()
print(torch.allclose(a.grad, 2 * a))
blk = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, 4))
inp = torch.randn(2, 4, requires_grad=True)
o = checkpoint(blk, inp, use_reentrant=False)
o.sum().backward()
print(inp.grad)
o = checkpoint_sequential(blk, 2, inp, use_reentrant=False)
print(o.shape, o.requires_grad)
try:
    w = torch.ones(2, requires_grad=True)
    e = w.exp()
    e += 1
    e.sum().backward()
except RuntimeError as err:
    print(str(err)[:76])
try:
    l = (w * 2).sum() * w
    s = l.sum(); s.backward(); s.backward()
except RuntimeError as err:
    print(str(err)[:53])
try:
    w.add_(1)
except RuntimeError as err:
    print(err)
with torch.autograd.set_detect_anomaly(True):
    try:
        q = torch.tensor([-1.0], requires_grad=True)
        (q.sqrt() * 0).sum().backward()
    except RuntimeError as err:
        print(err)
J = torch.autograd.functional.jacobian(lambda t: t ** 2, torch.arange(3.))
H = torch.autograd.functional.hessian(lambda t: (t ** 3).sum(), torch.arange(3.))
print(J, H, sep='\n')
g, = torch.autograd.grad((a ** 3).sum(), a, create_graph=True)
gg, = torch.autograd.grad(g.sum(), a)
print(torch.allclose(gg, 6 * a), g.grad_fn)
print(torch.func.jacrev(torch.sin)(torch.arange(3.)))
print(torch.func.hessian(lambda t: t.prod())(torch.arange(1., 4.)))
