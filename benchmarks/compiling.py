"""How long ``pullback.compile`` takes for a training step, cold, beside the step itself; CPU time.

    OMP_NUM_THREADS=1 python benchmarks/compiling.py           # all, each in a process and with an empty cache
    OMP_NUM_THREADS=1 python benchmarks/compiling.py solver    # one

Printed are an eager step, the first compiled one, which compiles, and a later one, in seconds; and for a step whose
argument comes in 30 lengths, one after the other, how long a round through all of them takes, eager and compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import process_time
from typing import Any

import pullback as torch
from pullback import nn

F = nn.functional
Step = Callable[[], Any]


def trained(parameters: Any, loss: Step) -> Step:
    """A training step by Adam."""
    optimizer = torch.optim.Adam(parameters)

    def step() -> Any:
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        return found.detach()

    return step


def solver() -> Step:
    """400 steps of a small differential equation."""
    a, y0 = torch.tensor([[-0.5, 1.0], [-1.0, -0.5]], requires_grad=True), torch.randn(8, 2)

    def loss() -> Any:
        y = y0
        for _ in range(400):
            y = y + 0.01 * torch.tanh(y @ a)
        return y.pow(2).sum()

    return trained([a], loss)


def scalars() -> Step:
    """A sum over 1,000 tensors of one number."""
    weights = [torch.tensor(i / 1000, requires_grad=True) for i in range(1000)]

    def step() -> Any:
        total = torch.tensor(1.0)
        for w in weights:
            total = total * 0.99 + w * 0.01
        total.backward()
        return total.detach()

    return step


def cells() -> Step:
    """30 steps of a GRU cell."""
    cell, x = nn.GRUCell(16, 32), torch.randn(8, 30, 16)

    def loss() -> Any:
        h = torch.zeros(8, 32)
        for t in range(30):
            h = cell(x[:, t], h)
        return h.pow(2).mean()

    return trained(cell.parameters(), loss)


def gru() -> Step:
    """A GRU with attention over its states."""
    net, query, head = nn.GRU(16, 32, batch_first=True), nn.Linear(32, 32), nn.Linear(64, 10)
    x, target = torch.randn(8, 20, 16), torch.randint(0, 10, (8,))

    def loss() -> Any:
        h, _ = net(x)
        attended = torch.softmax(query(h[:, -1:]) @ h.transpose(1, 2), -1) @ h
        return F.cross_entropy(head(torch.cat([attended[:, 0], h[:, -1]], -1)), target)

    return trained([*net.parameters(), *query.parameters(), *head.parameters()], loss)


def encoder() -> Step:
    """A transformer's encoder layer."""
    net, x = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0), torch.randn(8, 20, 64)
    return trained(net.parameters(), lambda: net(x).pow(2).mean())


def lengths(rounds: int = 5) -> None:
    """The same layer for sequences of 30 lengths from 5 to 63."""
    net = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    optimizer = torch.optim.Adam(net.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    data = [torch.randn(8, n, 64) for n in range(5, 65, 2)]
    for name, f in (("eager", step), ("compiled", torch.compile(step))):
        times = [seconds(lambda f=f: [f(x) for x in data]) for _ in range(rounds)]
        print(f"lengths, {name:9}" + "".join(f"{t:8.3f}" for t in times), flush=True)


STEPS = {f.__name__: f for f in (solver, scalars, cells, gru, encoder)}


def seconds(step: Step) -> float:
    start = process_time()
    step()
    return process_time() - start


def main() -> None:
    if sys.argv[1:] == ["lengths"]:
        lengths()
        return
    if len(sys.argv) == 2:
        step = STEPS[sys.argv[1]]()
        seconds(step)
        eager = min(seconds(step) for _ in range(3))
        compiled = torch.compile(step, fullgraph=True)
        first = seconds(compiled)
        print(f"{sys.argv[1]:8} {eager:8.4f} {first:8.2f} {min(seconds(compiled) for _ in range(3)):8.4f}")
        return
    print(f"{'':8} {'eager':>8} {'first':>8} {'compiled':>8}", flush=True)
    for name in (*STEPS, "lengths"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, __file__, name], env=os.environ | {"XDG_CACHE_HOME": folder}, check=True)


if __name__ == "__main__":
    main()
