"""Pullback beside PyTorch, on one thread: ``pip install torch`` and ``python benchmarks/side_by_side.py``.

Each program runs in turns under both, so that what else the machine does disturbs both alike. The ratio is that of the
fastest rounds: below 1 Pullback is faster. All programs are small, where the cost is that of recording and of the engine.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import pullback

ROUNDS = 40


def programs(T: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """The programs under one package, each with how often to run it in a round."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: T.from_numpy(rng.standard_normal(shape).astype(np.float32))  # noqa: E731
    x, b, seed = draw(4).requires_grad_(), draw(4), draw(4)
    inputs, targets = draw(8, 10), draw(8, 1)

    def chain(n: int) -> None:
        x.grad = None
        y = x
        for _ in range(n):
            y = y * b
        y.backward(seed)

    def sum_and_backward() -> None:
        x.grad = None
        (x * b).sum().backward()

    def training(optimizer: Any) -> Callable[[], None]:
        net = T.nn.Sequential(T.nn.Linear(10, 32), T.nn.Tanh(), T.nn.Linear(32, 1))
        opt = optimizer(net.parameters(), lr=1e-3)

        def step() -> None:
            opt.zero_grad()
            T.nn.functional.mse_loss(net(inputs), targets).backward()
            opt.step()

        return step

    return {
        "x * b, four floats, recorded": (lambda: x * b, 2000),
        "(x * b).sum().backward()": (sum_and_backward, 300),
        "a chain of 10 products, backward(seed)": (lambda: chain(10), 200),
        "a chain of 1000 products, backward(seed)": (lambda: chain(1000), 3),
        "MLP 10-32-1, batch 8, a step of SGD": (training(T.optim.SGD), 100),
        "MLP 10-32-1, batch 8, a step of Adam": (training(T.optim.Adam), 100),
    }


def main() -> None:
    torch.set_num_threads(1)
    ours, theirs = programs(pullback), programs(torch)
    for name, (program, n) in ours.items():
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for store, fn in zip(times, (program, theirs[name][0])):
                store.append(timeit.timeit(fn, number=n) / n * 1e6)
        mine, its = map(min, times)
        print(f"{name:42} {mine:9.1f} µs   PyTorch {its:9.1f} µs   ratio {mine / its:.2f}")


if __name__ == "__main__":
    main()
