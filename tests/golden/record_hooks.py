"""Small programs about hooks on modules, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``hooks.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

from typing import Any

from programs import Programs, attempt, lin, net

programs = Programs("hooks.json")


@programs
def forward_hooks(torch):
    class Twice(torch.nn.Module):
        def forward(self, x: Any, *, plus: float = 0) -> Any:
            return 2 * x + plus

    m, x = Twice(), torch.ones(1)
    log: list[Any] = []
    with m.register_forward_pre_hook(lambda module, args: log.append(["pre", args[0].tolist()])):
        with m.register_forward_hook(lambda module, args, out: log.append(["post", out.tolist()])):
            yield m(x).tolist()
    yield log
    with m.register_forward_pre_hook(lambda module, args: args[0] + 1):
        yield m(x).tolist()
    with m.register_forward_pre_hook(lambda module, args: (args[0] + 2,)):
        yield m(x).tolist()
    change = lambda module, args, kw: ((args[0] * 3,), {"plus": 1})
    with m.register_forward_pre_hook(change, with_kwargs=True):
        yield m(x).tolist()
    with m.register_forward_pre_hook(lambda module, args, kw: 3, with_kwargs=True):
        yield attempt(lambda: m(x))
    with m.register_forward_hook(lambda module, args, out: out * 10):
        yield m(x).tolist()
    with m.register_forward_hook(lambda module, args, kw, out: out + kw["plus"], with_kwargs=True):
        yield m(x, plus=5).tolist()
    log.clear()
    note = lambda i: lambda module, args, out: log.append(i)
    handles = [m.register_forward_hook(note(i), prepend=i > 1) for i in range(4)]
    m(x)
    yield log
    for handle in handles:
        handle.remove()
        handle.remove()
    yield [len(m._forward_hooks), m(x).tolist()]


@programs
def hooks_after_an_error(torch):
    class Fails(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("no")

    m = Fails()
    log: list[Any] = []
    m.register_forward_hook(lambda module, args, out: log.append(["always", out]), always_call=True)
    m.register_forward_hook(lambda module, args, out: log.append(["sometimes", out]))
    m.register_forward_hook(lambda module, args, kw, out: 1 / 0, always_call=True, with_kwargs=True)
    yield attempt(lambda: m(1))
    yield log


@programs
def global_hooks(torch):
    module = torch.nn.modules.module
    m = torch.nn.Sequential(lin(torch))
    log: list[Any] = []
    name = lambda m: type(m).__name__
    handles = [
        module.register_module_forward_pre_hook(lambda m, args: log.append(["pre", name(m)])),
        module.register_module_forward_hook(lambda m, args, out: log.append(["post", name(m)])),
        module.register_module_full_backward_pre_hook(lambda m, gout: log.append(["bpre", name(m)])),
        module.register_module_full_backward_hook(
            lambda m, gin, gout: log.append(["back", name(m), [g is None for g in gin], len(gout)])
        ),
    ]
    x = torch.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    yield log
    yield attempt(lambda: module.register_module_backward_hook(lambda *a: None))
    for handle in handles:
        handle.remove()
    log.clear()
    m(x).sum().backward()
    yield log
    handles = [
        module.register_module_parameter_registration_hook(lambda m, n, p: log.append(["parameter", n])),
        module.register_module_buffer_registration_hook(lambda m, n, b: log.append(["buffer", n])),
        module.register_module_module_registration_hook(lambda m, n, c: log.append(["module", n])),
    ]
    net(torch)
    yield log
    for handle in handles:
        handle.remove()
    with module.register_module_buffer_registration_hook(lambda m, n, b: b * 2):
        m.register_buffer("doubled", torch.ones(1))
    yield m.doubled.tolist()


@programs
def backward_hooks(torch):
    class Two(torch.nn.Module):
        def forward(self, x: Any, y: Any, word: str = "") -> Any:
            return x * y, x + y

    m = Two()
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0])
    log: list[Any] = []
    plain = lambda gs: [None if g is None else g.tolist() for g in gs]
    m.register_full_backward_hook(lambda module, gin, gout: log.append([plain(gin), plain(gout)]))
    a, b = m(x, y, "word")
    (a * 3 + b * 4).sum().backward()
    yield [log, x.grad.tolist(), y.grad]
    log.clear()
    m(x, y)[0].sum().backward()
    yield [log, x.grad.tolist()]
    log.clear()
    with m.register_full_backward_pre_hook(lambda module, gout: (gout[0] * 10, gout[1])):
        a, b = m(x, y)
        (a + b).sum().backward()
    yield [log, x.grad.tolist()]
    x.grad = None
    with m.register_full_backward_hook(lambda module, gin, gout: (gin[0] * 0 + 7, None), prepend=True):
        a, b = m(x, y)
        (a + b).sum().backward()
    yield x.grad.tolist()
    with m.register_full_backward_hook(lambda module, gin, gout: (gin[0],)):
        a, b = m(x, y)
        yield attempt(lambda: (a + b).sum().backward())
    with m.register_full_backward_pre_hook(lambda module, gout: (gout[0],)):
        a, b = m(x, y)
        yield attempt(lambda: (a + b).sum().backward())
    yield attempt(lambda: m.register_backward_hook(print))
    log.clear()
    with torch.no_grad():
        yield [v.tolist() for v in m(x, y)]
    yield [v.requires_grad for v in m(x.detach(), y)]
    yield log
    a, b = m(x, y)
    yield [type(a.grad_fn).__name__, a.requires_grad]


@programs
def backward_hooks_with_create_graph(torch):
    class Square(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * x

    m, x = Square(), torch.tensor([3.0], requires_grad=True)
    log: list[Any] = []
    m.register_full_backward_hook(lambda module, gin, gout: log.append([gin[0].item(), gout[0].item()]))
    (g,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    yield [g.tolist(), log]
    (h,) = torch.autograd.grad(g.sum(), x)
    yield [h.tolist(), len(log)]


@programs
def backward_hooks_of_the_old_kind(torch):
    class Square(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * x

    m, x = Square(), torch.tensor([3.0], requires_grad=True)
    log: list[Any] = []
    m.register_backward_hook(lambda module, gin, gout: log.append([type(module).__name__, gout[0].tolist()]))
    m(x * 2).sum().backward()
    yield [log, x.grad.tolist()]
    yield attempt(lambda: m.register_full_backward_hook(print))


if __name__ == "__main__":
    programs.record()
