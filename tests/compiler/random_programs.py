"""Random programs, run eagerly and compiled, call by call: a compiled call gives what the eager call would give.

    python -m tests.compiler.random_programs --minutes 60 --seed 0

A program is a function of two tensors, in a module of its own: operations in place and on views, indexing, dropout,
modules, closures, containers, Python values, control flow on values, effects, exceptions. Between calls something is
rebound, written into, moved or resized. Compared are results (values, types, shapes, what shares memory), gradients,
state, what was printed and raised, and the next random number.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import linecache
import random
import re
import time
from typing import Any

import numpy as np

import pullback as torch

WORLD = """
import random as pyrandom
import pullback as torch
from pullback import nn
F = nn.functional

class Thing:
    scale = 1.5
    def __init__(self):
        self.k, self.items, self.table = 2.0, [1.0, 2.0], {"a": 3.0}
    def get(self):
        return self.k
    @property
    def double(self):
        return self.k * 2
    def __len__(self):
        return len(self.items)

class Net(nn.Module):
    factor = 1.0
    def __init__(self):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(4, 4), nn.Linear(4, 4, bias=False), nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(()))
    def forward(self, x):
        if self.training:
            self.count += 1
        return self.drop(self.norm(torch.tanh(self.a(x)))) * self.factor

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

torch.manual_seed(0)
thing, net, shared, table = Thing(), Net(), [], {}
w = torch.arange(12.0).reshape(3, 4).div(7).requires_grad_()
buffer = torch.linspace(0.5, 1.5, 12).view(3, 4)
number, flag, text = 3.0, True, "mean"
optimizer = torch.optim.Adam([*net.parameters(), w], lr=0.01)
def helper(x, by=2.0):
    return x * by
def make(depth):
    offset = depth * 0.5
    def closed(x):
        return x + offset
    return closed
closed = make(1)
"""

# statements; T is a tensor of shape (3, 4) that is known, N the name of a new one
STATEMENTS = [
    *("N = T * T", "N = T + T", "N = T - number", "N = torch.exp(T * 0.1)", "N = torch.sin(T)", "N = T.tanh()"),
    *("N = T / (T * T + 1)", "N = torch.where(T > 0, T, T * 0.5)", "N = F.relu(T)", "N = F.gelu(T)", "N = T.abs()"),
    *("N = torch.softmax(T, dim=1)", "N = T.sum(0) + T", "N = T.mean(1, keepdim=True) * T", "N = T.cumsum(1)"),
    *("N = T.t().contiguous().t() + 1", "N = T.reshape(4, 3).t().reshape(3, 4)", "N = T.flip(0)", "N = T.roll(1, 1)"),
    *("N = torch.cat([T[:1], T[1:]], 0)", "N = torch.stack([T[0], T[1], T[2]])", "N = T[[0, 2, 1]]", "N = T.clone()"),
    *("N = T @ w.t() @ T", "N = net.b(T)", "N = net(T)", "N = net.drop(T)", "N = F.layer_norm(T, (4,)) + 0.1"),
    *("N = helper(T)", "N = helper(T, by=number)", "N = closed(T)", "N = T * thing.k", "N = T * thing.get()"),
    *("N = T * thing.double", "N = T * len(thing)", "N = T * thing.scale", "N = T + thing.items[0]", "N = T * w"),
    *("N = T + thing.table['a']", "N = T * getattr(thing, 'other', 1.0)", "N = T + buffer", "N = T.detach() * T"),
    *("N = T + torch.rand(3, 4)", "N = T + torch.randn(4)", "N = F.dropout(T, 0.3)", "N = T * (2.0 if flag else 3.0)"),
    *(
        "N = getattr(T, text)(1, keepdim=True) + T",
        "N = T.double().to(T.dtype)",
        "N = (T > 0).to(T.dtype) * T",
        "N = T.detach()",
    ),
    *(
        "N = torch.zeros(3, 4)\nN[1] = T[0]",
        "N = torch.ones(3, 4)\nN += T",
        "N = T.clone()\nN.mul_(2)",
        "N = T.view(12)[:].view(3, 4)",
    ),
    *("N = T.clone()\nN[:, 1:3] = 5.0", "N = T.clone()\nN.t()[0].add_(1)", "N = T.clone()\nN[N > 1] = 0.0"),
    *(
        "N = T.clone()\nN.diagonal().fill_(2.0)",
        "N = T * 1\nN.clamp_(-1, 1)",
        "N = T.t()",
        "N = T[:, ::2].repeat(1, 2)",
    ),
    "N = T.t().t()\nN = N * 3",
    "with torch.no_grad():\n    N = T * 4",
    "N = T\nfor i in range(3):\n    N = N * 0.5 + i",
    "N = T\nfor v in thing.items:\n    N = N + v",
    "N = sum([T, T * 2, w])",
    "u, v = T.chunk(2, 1)\nN = torch.cat([v, u], 1)",
    "N = {'k': T * 2}['k']",
    "N = (lambda q: q * number)(T)",
    "try:\n    N = T * undefined\nexcept NameError:\n    N = T - 1",
    "buffer.add_(0.25)\nN = T * buffer",
    "with torch.no_grad():\n    buffer.copy_(T)\nN = T + 1",
    "N = T + torch.arange(4)",
    "N = T.new_full((3, 4), number) + T",
    "N = torch.autograd.grad((T.detach().requires_grad_() * 2).sum() * 1.0, [w], allow_unused=True)[0] or T",
]
STATEMENTS += [  # in other types, and of memory as it lies
    "N = torch.arange(12).reshape(3, 4)\nN = ((N.t() * 3).t() // 2 % 5).to(T.dtype) * T",
    "N = T.to(torch.bfloat16)\nN = (N.t() * 2 + N.t().tanh()).t().to(T.dtype)",
    "N = T.half()\nN = (N.t() * 3).t().reshape(12).view(3, 4).to(T.dtype)",
    "N = torch.complex(T, T * 0.5)\nN = (N * N.conj()).real + (N.t() * 1j).t().imag",
    "N = torch.view_as_real(torch.complex(T, T.flip(0)) * 2).sum(-1)",
    "N = torch.fft.rfft(T).real[:, [0, 1, 2, 1]] + T",
    "N = (T > 0) & (T < 1)\nN = (N ^ N.flip(1)).t().t().to(T.dtype) + T",
    "k = torch.int32 if T.dtype == torch.float32 else torch.int64\nN = (T.detach() * 1).view(k).to(T.dtype) * 0 + T",
    "N = torch.arange(4).to(torch.uint8)\nN = (N - 2).to(T.dtype) / 256 + T",
    "N = (T.t() * 2).as_strided((3, 4), (1, 3)) + T",
    "N = torch.as_strided(T.contiguous() * 1, (3, 4), (4, 1)) * 2",
    "N = T.to(torch.bfloat16)\nN.add_(1)\nN = F.mse_loss(N, N * 0.5).to(T.dtype) + T",
    "with torch.autocast('cpu', dtype=torch.bfloat16):\n    N = net.b(T).to(T.dtype) + T",
]
STATEMENTS += [  # indices, algebra, transforms, graphs of their own
    "N = T.gather(1, torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 1, 1]]))",
    "N = T.scatter_add(0, torch.tensor([[0, 1, 2, 0], [2, 1, 0, 2]]), T[:2] * 2)",
    "N = T.index_select(0, torch.tensor([2, 0, 0]))",
    "N = T.index_add(1, torch.tensor([3, 0]), T[:, :2])",
    "N = torch.einsum('ij,kj->ik', T, w) @ T * 0.1",
    "N = torch.addmm(T, w @ w.t(), T, beta=0.5, alpha=0.01)",
    "N = T.unfold(1, 2, 1).sum(-1)[:, [0, 1, 2, 0]]",
    "N = T.sort(1, descending=True).values",
    "N = T.max(1, keepdim=True).values + T",
    "N = F.cross_entropy(T, torch.tensor([0, 1, 3])) + T",
    "N = F.embedding(torch.tensor([0, 2, 1]), w) + T",
    "N = torch.lerp(T, w, 0.3).masked_fill(T > 1, 0.5)",
    "N = T.expand(2, 3, 4).sum(0) + T.triu()",
    "N = T.repeat_interleave(2, 0)[1::2]",
    "N = torch.func.vmap(lambda r: r * 2 + r.sum())(T)",
    "N = torch.func.grad(lambda q: (q ** 2 * 3).sum())(T.detach()) + T",
    "N = torch.func.jvp(torch.sin, (T.detach(),), (T.detach() * 2,))[1] + T",
    "q = T.detach().requires_grad_()\n(g,) = torch.autograd.grad((q ** 3).sum(), q, create_graph=True)\nN = g * q + T",
    "N = Square.apply(T)",
    "N = torch.utils.checkpoint.checkpoint(helper, T, use_reentrant=False)",
    "x.requires_grad or x.mul_(0.5)\nN = x + T",
    "N = T + 0\nN.register_hook(lambda g: g * 3) if N.requires_grad else None",
]
LOOKS = [  # at values
    "if T.sum() > 0:\n    N = T * 2\nelse:\n    N = T * 3",
    "N = T * T.max().item()",
    "k = T.mean().item()\nN = T * (k * 2 + 1) - k / 3",
    "N = T\nwhile N.abs().max() > 1:\n    N = N / 2",
    "N = T * (2 if T.mean().item() > 0.1 else 3)",
    "N = T * int((T.sum() + 0.37).clamp(-3.3, 3.3))",
    "k = (T > 0).sum().item()\nN = T * k + k / 2",
    "N = T[T > 0].sum() + T",
    "N = T + T[int(T.sum(1).argmax())]",
    "N = T.clone()\nfor i in range(int((T[:, 0] > 0).sum())):\n    N[i] = 0.0",
    "if bool((T > 2).any()):\n    N = T.clamp(max=2)\nelse:\n    N = T",
    "buffer.add_(0.25)\nif buffer.sum() > 13:\n    N = T * buffer\nelse:\n    N = T",
    "with torch.no_grad():\n    w.mul_(0.99)\nN = T * w.sum().item()",
    "N = F.dropout(T, 0.3)\nif N.sum() > 1:\n    N = F.dropout(N, 0.3)",
    "N = T + (max(T.sum().item(), 0.5) if number < 3 else 1)",
    "optimizer.zero_grad()\nk = (T * w).sum()\nk.backward()\noptimizer.step()\nN = T.detach() * (k.item() > 0)",
    "try:\n    N = T / (1 / T.sum().clamp(0, 1).item())\nexcept ZeroDivisionError:\n    N = T",
    "N = torch.full((3, 4), T.sum().item()) + T",
]
RARE = [
    "N = T * int(T.numel() > 3)",
    "print('values', number)\nN = T",
    "shared.append(1)\nN = T * len(shared)",
    "thing.count = getattr(thing, 'count', 0) + 1\nN = T * thing.count",
    "table['last'] = number\nN = T",
    "N = T * pyrandom.random()",
    "if number > 100:\n    raise ValueError('too large')\nN = T",
    "try:\n    N = T * float(T.sum() > 0)\nexcept Exception:\n    N = T",
    "q = T.detach().clone().requires_grad_()\n(q ** 2).sum().backward()\nN = q.grad + T",
    "x.add_(0.5)\nN = T * 1",
    "T.sum().backward(retain_graph=True)\nN = T.detach()",
    "optimizer.zero_grad()\n(T * w).sum().backward()\noptimizer.step()\nN = T.detach()",
    "N = T[T > 0].sum() + T",
    "N = T * T.stride(0)",
    "x.requires_grad\nN = T * (2 if x is y else 1)",
    "N = T * (1 if x.is_leaf else 2)",
]
RESULTS = [
    *(
        "N",
        "(N.detach(), N)",
        "(N, M)",
        "[N, M.detach()]",
        "{'a': N, 'b': 3}",
        "(x, N)",
        "N.t()",
        "(N, N[0])",
        "N.detach()",
        "w * 1",
    ),
    *("(N.sum(), torch.zeros(2))", "N.sum()", "(N, len(thing), text)", "w.detach()", "(N, x.t())", "N[1]", "buffer"),
    *("(N, N.sum().item())", "N.max().item()", "{'n': N.sum().item() * 2, 'k': (N > 0).sum().item()}"),
]
CHANGES = [
    *("number = number + 1", "flag = not flag", "text = 'sum' if text == 'mean' else 'mean'", "thing.k = thing.k + 1"),
    *(
        "thing.scale = 4.0",
        "thing.get = lambda: 7.0",
        "thing.other = 5.0",
        "thing.items.append(1.0)",
        "closed = make(4)",
    ),
    *("thing.table['a'] = 1.0", "net.eval()", "net.train()", "net.factor = 3.0", "net.forward = lambda x: x * 2"),
    *("net.register_forward_hook(lambda m, a, o: o * 2)", "net.drop.p = 0.1", "w.requires_grad_(not w.requires_grad)"),
    *(
        "buffer = torch.linspace(1, 3, 12).view(3, 4)",
        "buffer.mul_(2)",
        "w.data = w.data + 1",
        "helper.__defaults__ = (3.0,)",
    ),
    *(
        "def helper(x, by=2.0):\n    return x - by",
        "thing = Thing()",
        "torch.manual_seed(5)",
        "number = 200.0",
        "number = 2",
    ),
    *("net.b.weight.requires_grad_(False)", "shared.clear()", "Thing.scale = 9.0", "net.a = nn.Linear(4, 4)", "pass"),
    *("optimizer.param_groups[0]['lr'] = 0.1", "net.norm.momentum = 0.5", "Thing.get = lambda self: 1.0", "pass"),
    *(
        "w.requires_grad and w.register_hook(lambda g: g * 2)",
        "with torch.no_grad():\n    w.fill_(0.5)",
        "w.grad = None",
        "pass",
    ),
]
ARGUMENTS = [
    "(torch.randn(3, 4), torch.randn(3, 4))",
    "(torch.randn(3, 4, requires_grad=True), torch.randn(3, 4))",
    "(torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True))",
    "(torch.randn(4, 3).t(), torch.randn(3, 4))",
    "(torch.randn(3, 8)[:, ::2], torch.randn(3, 4))",
    "(torch.randn(3, 4, requires_grad=True) * 2, torch.randn(3, 4))",
    "(lambda a: (a, a))(torch.randn(3, 4))",
    "(lambda a: (a, a.detach()))(torch.randn(3, 4, requires_grad=True))",
    "(buffer, torch.randn(3, 4))",
    "(torch.randn(3, 4), w)",
]


def make_program(seed: int) -> tuple[str, list[str], list[str]]:
    """The source of a function ``f``, and for each call the change before it and its arguments."""
    rng = random.Random(seed)
    names, lines, looks = ["x", "y"], [], rng.random() < 0.5
    for k in range(rng.randint(2, 20)):
        chance = rng.random()
        statement = rng.choice(RARE if chance < 0.06 else LOOKS if looks and chance < 0.16 else STATEMENTS)
        new = f"t{k}"
        text = re.sub(r"\bT\b", lambda _: rng.choice(names[-6:]), statement)
        lines += re.sub(r"\bN\b", new, text).split("\n")
        names.append(new)
    result = re.sub(r"\bM\b", rng.choice(names), re.sub(r"\bN\b", names[-1], rng.choice(RESULTS)))
    body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
    kinds = [rng.choice(ARGUMENTS)] * 2 + [rng.choice(ARGUMENTS) for _ in range(3)]
    changes = ["pass", "pass", *[rng.choice(CHANGES) for _ in range(3)]]
    order = list(range(5)) if rng.random() < 0.5 else [0, 2, 1, 3, 4]
    return f"def f(x, y):\n{body}", [changes[i] for i in order], [kinds[i] for i in order]


def outcome(seed: int, compiled: bool) -> tuple[list[Any], bool]:
    """What a program does, call by call, and whether all of it was compiled."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if seed % 2 else torch.float64)
    try:
        return _outcome(seed, compiled)
    finally:
        torch.set_default_dtype(before)


def _outcome(seed: int, compiled: bool) -> tuple[list[Any], bool]:
    source, changes, arguments = make_program(seed)
    filename = f"<program {seed}>"
    linecache.cache[filename] = len(source), None, source.splitlines(True), filename
    world: dict[str, Any] = {"__name__": f"program_{seed}"}
    exec(WORLD, world)  # noqa: S102
    exec(compile(source, filename, "exec"), world)  # noqa: S102
    f = torch.compile(world["f"]) if compiled else world["f"]
    rng, seen = random.Random(seed), []
    random.seed(seed)
    for change, given in zip(changes, arguments):
        exec(change, world)  # noqa: S102
        torch.manual_seed(rng.randrange(100))
        args = eval(given, world)  # noqa: S307
        out = io.StringIO()
        happened: dict[str, Any] = {}
        with contextlib.redirect_stdout(out):
            try:
                result = f(*args)
            except Exception as error:
                happened["raised"] = type(error).__name__
                result = None
                for x in (*args, world["w"], *world["net"].parameters()):  # of which a pass may have got to some
                    x.grad = None
        before = rng.random() < 0.3
        if before:
            exec(rng.choice(CHANGES), world)  # noqa: S102
        leaves = tensors_in(result)
        live = [y for y in leaves if y.requires_grad and y.is_floating_point()]
        happened["result"] = described(result)
        happened["requires grad"] = [y.requires_grad for y in leaves]
        roots = [*leaves, *args, world["w"], world["buffer"]]
        happened["shares"] = [
            (i, j)
            for i in range(len(leaves))
            for j in range(i)
            if np.may_share_memory(roots[i]._array, roots[j]._array)
        ] + [
            (i, j)
            for i in range(len(leaves))
            for j in range(len(leaves), len(roots))
            if np.may_share_memory(roots[i]._array, roots[j]._array)
        ]
        if live and rng.random() < 0.8:
            try:
                torch.autograd.backward(live, [torch.ones_like(y) for y in live])
            except RuntimeError as error:
                happened["backward raised"] = str(error)[:50]
                for x in (*args, world["w"], *world["net"].parameters()):
                    x.grad = None  # what has arrived until then depends on the order of nodes
        for x in leaves:
            if (
                rng.random() < 0.3
                and not x.requires_grad
                and not any(x is a for a in (*args, world["w"], world["buffer"]))
            ):
                with contextlib.suppress(RuntimeError):
                    x.fill_(7.0)
        happened["printed"] = out.getvalue()
        happened["grads"] = [described(x.grad) for x in (*args, world["w"], *world["net"].parameters()) if x.is_leaf]
        happened["state"] = described(
            [
                world["buffer"],
                world["w"],
                *world["net"].state_dict().values(),
                len(world["shared"]),
                world["thing"].__dict__,
            ]
        )
        happened["next"] = torch.rand(1).item(), random.random()
        seen.append(happened)
    seen.append({"faults": f._faults if compiled else []})
    return seen, compiled and not f.given_up


def tensors_in(x: Any) -> list[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        return [x]
    return [
        y
        for v in (x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ())
        for y in tensors_in(v)
    ]


def described(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return str(x.dtype), tuple(x.shape), x.detach().numpy().copy()
    if isinstance(x, dict):
        return {k: described(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [described(v) for v in x]
    return x if isinstance(x, (int, float, str, bool, type(None))) else type(x).__name__


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal up to rounding, which compiled loops do in another order."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    bound = 1e-3 if a.dtype.itemsize == 4 else 1e-9
    return np.allclose(a, b, bound, bound * np.abs(a[np.isfinite(a)]).max(initial=1.0), equal_nan=True)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and _close(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return same(np.array(a, np.float32), np.array(b, np.float32))
    return bool(a == b or a != a and b != b)


def disagreement(seed: int) -> tuple[str, bool]:
    """What differs between eager and compiled, if anything, and whether the program was compiled."""
    expected, _ = outcome(seed, False)
    found, whole = outcome(seed, True)
    for i, (e, f) in enumerate(zip(expected, found)):
        for key in {**e, **f}:
            if not same(e.get(key), f.get(key)):
                return f"program {seed}, call {i}: {key}\n  eager    {e.get(key)}\n  compiled {f.get(key)}", whole
    return "", whole


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    end, seed, differing, compiled = time.monotonic() + 60 * options.minutes, options.seed, 0, 0
    while time.monotonic() < end:
        text, whole = disagreement(seed)
        differing, compiled, seed = differing + bool(text), compiled + whole, seed + 1
        if text:
            print(make_program(seed - 1)[0], *make_program(seed - 1)[1:], text, sep="\n", flush=True)
    print(f"{seed - options.seed} programs, {differing} disagree; {compiled} compiled whole")


if __name__ == "__main__":
    main()
