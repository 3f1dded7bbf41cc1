"""Small programs that write into tensors through views and indices, for tests of values, gradients and histories.

Each starts from leaves ``x`` (3 by 4) and ``v`` (4), from ``y = x * x - 1``, and from ``c``, zeros that need no
gradient; ``y`` is its result.
"""

PROGRAMS = """
y[0].mul_(3); y[:, 1] += v[:3]; z = y.view(-1); z[2:4].zero_()
y[0] = v
y[0] = 1
y[0, 1:] = v[1:]
y[[0, 1]] = v
y[[0, 1]] = 1
y[y > 0.1] = 0
y[y > 0.1] = v[0]
y[...] = v
y[:] = 1
y[False] = 1
y[:, [0]] = v[:3, None]
y[0][1] = 3
y[0][1:][0] = v[0]
a = y[0]; a.mul_(v)
c[0] = v; y = y + c
a = c[0]; a.mul_(v); y = y + c
a = c[1]; a[2] = v[0]; y = y * c + c
y[0] = v[None, None]
y[0] = y[1]
y[1:3] = y[0:2] * 2
y[None] = v
y[True] = v
y.expand(2, 3, 4)[0, 0] = v
y.expand(2, 3, 4)[1] = v * 2
y.t_(); y[0] = v[:3]
a = y[0]; y.t_(); a.mul_(2); y = y.t()
a = y[0]; y.t_(); y[0] = v[:3]; a.mul_(2); y = y.t(); y = y + a
a = y[0]; a.unsqueeze_(0); a.mul_(3)
y.unsqueeze_(0); y[0, 0] = v
y.transpose_(0, 1); y.mul_(2)
y.squeeze_(); y[0] = 1
a = y.view(-1); b = a[2:9]; b[1:4] = v[:3]; a[0] = v[3]; y[1] *= 2
a = y.t(); a[0] = v[:3]; b = a[1:]; b.mul_(2); b[0, 1] = v[2]
a = y.view(2, 6); b = y.view(4, 3); b[:, 0].mul_(2); a[0].add_(a[1]); b[1] = v[:3]
a = y.diagonal(); a.mul_(v[:3]); y[0] *= 2
a = y.unfold(1, 2, 2); a[0, 0] = v[0]; a.mul_(3)
a = y.unfold(1, 3, 1); a[0, 0] = v[0]
a = y.as_strided((2, 3), (4, 1), 1); a.mul_(v[:3]); y.add_(1)
a = y[::2, 1::2]; a.mul_(v[:2]); a[1, 0] = 5; y[0].mul_(y[1])
a = y[0]; y.mul_(2); b = a * 3; y = y + b
a = y[0]; y.mul_(2); a.mul_(v); y[1].add_(a)
a, b, d = y.unbind(0); y.mul_(2); y = y + a
a = y.tensor_split(2)[1]; a.mul_(2)
a = torch.unsafe_split(y, 1)[1]; a.mul_(v)
y[1:].sub_(y[:1])
y[torch.tensor([[True, False, True, False]] * 3)] = v[0:1].expand(6)
y[torch.tensor([[True, False, True, False]] * 3)] *= 2
y[:, torch.tensor([0, 2])] += v[:2]
y[torch.tensor([0, 2])] *= v
y[torch.tensor([0, 2]), torch.tensor([1, 3])] = v[:2]
y[0, torch.tensor([1, 3])] = v[:2]
y[0, 1:][torch.tensor([0, 2])] = v[:2]
y[1:, [0, 2]] = v[2:, None]
y[:, None, [0, 2]] = v[:2]
y[[[0], [2]], [[1, 3]]] = v.view(2, 2)
y[torch.tensor([0, 0, 1])] = torch.stack([v, v * 2, v * 3])
y.index_put_((torch.tensor([0, 0]),), v, accumulate=True)
y.t().index_add_(0, torch.tensor([1, 1]), x.t()[:2] * v[0])
y.scatter_(1, torch.tensor([[3, 0], [1, 2]]), v.view(2, 2)); y[0].masked_fill_(v > 0, 2)
e = y.transpose(0, 1) * 1; e[0] = v[:3]; e.t()[1:].mul_(2); y = y + e.t()
e = y.t().clone(); e[1].mul_(v[:3]); e.view_as(e)[0] = 2; y = y + e.t()
s = y.sum(); y[0, 0] = s; y[1] *= y[0, 0]
y[0, 0] = 7; q = y * y; y = q
a = y[0]; y[1].mul_(2); q = a * a; y = y + q
y.mul_(v[0:1])
y[0].mul_(y[1])
y[:, 0].mul_(y[:, 0])
a = y[0]; a.mul_(a)
y.add_(y.t()[:3, :3].sum())
c.mul_(v); c[0] += v; c.view(-1)[::3] = v; y = y + c
k = torch.zeros(2, 3, 4, dtype=y.dtype); k[0] = y; k[1] = y * 2; k[:, 0] = v; y = (k * k).sum(0)
for i in range(3): y[i] = y[i - 1].clone() * v
for i in range(3): y[i, i] = v[i]
k = torch.zeros(4, dtype=y.dtype); k[0] = v[0]; k[1] = k[0].clone() * v[1]; k[2] = k[1].clone() * 2; y = y * k
y[0:0] = v[:0].view(0, 1)
y[[]] = v
y[:, :, None][0] = v[:, None]
a = y.flatten(); a[3] = 0; y.reshape(2, 6)[0].mul_(2)
a = y.reshape(-1)[:6].view(2, 3); a.t()[0] = v[:2]
a = y.unflatten(1, (2, 2)); a[:, 0] = v[:2]; a.movedim(0, 2)[1].mul_(2)
a = y.expand(1, 3, 4); a[0].mul_(2)
a = y.swapaxes(0, 1).narrow(0, 1, 2); a.mul_(3); a.select(0, 0).add_(v[:3])
y[0], y[1] = y[1].clone(), y[0].clone()
y[[0, 1]] = y[[1, 0]]
y[0] += y[1]; y[1] += y[2]
y.zero_(); y[0] = v
y.fill_(2); y[1] = v
y.copy_(v); y[0] *= 2
y[0].copy_(v); y[1].fill_(3)
a = y[1]; y.zero_(); a.add_(v)
z = torch.complex(y, y * 2); z.real[0] = v; z[1].imag.mul_(3); y = (z * z.conj()).real
z = torch.complex(y, y * 2); torch.view_as_real(z)[..., 0].mul_(2); z[0] = v * 1j; y = z.real + z.imag
r = torch.stack([y, y * y], -1); torch.view_as_complex(r)[1:].mul_(1 + 2j); y = r.sum(-1)
""".strip().split("\n")

# PyTorch refuses these, because what was saved or split shares memory with what is written, though nothing is lost.
OURS_ALONE = {
    "a = y[::2, 1::2]; a.mul_(v[:2]); a[1, 0] = 5; y[0].mul_(y[1])",
    "a = torch.unsafe_split(y, 1)[1]; a.mul_(v)",  # and does not notice this one
    "a, b, d = y.unbind(0); y.mul_(2); y = y + a",
    "s = y.sum(); y[0, 0] = s; y[1] *= y[0, 0]",
    "y[0].mul_(y[1])",
    "y[:, 0].mul_(y[:, 0])",
    "a = y[0]; a.mul_(a)",
    "y[torch.tensor([0, 0, 1])] = torch.stack([v, v * 2, v * 3])",  # and here it gives the lost write a gradient
}


def run(program: str, torch, x, v):  # type: ignore[no-untyped-def]
    """The program's ``y`` and its other tensors."""
    names = {"torch": torch, "x": x, "v": v, "y": x * x - 1, "c": torch.zeros(3, 4, dtype=x.dtype)}
    exec(program, names)
    return names["y"], {k: t for k, t in names.items() if k in "abcde" and isinstance(t, torch.Tensor)}
