"""What watching a training step with ``pullback.explain`` costs: the step watched, beside the same step alone.

CPU time, the median of rounds in which both alternate, on one thread:

    OMP_NUM_THREADS=1 python benchmarks/explain.py            # all
    OMP_NUM_THREADS=1 python benchmarks/explain.py MLP LSTM   # some

The steps are so many times the step alone: inside of ``explain``; with `e.steps` read, too; as text; and under
`watch`, each step recorded. It records each of the first 100 steps, and of later ones at most a twentieth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Any

import pullback as torch
from pullback import nn

F = nn.functional
NETS: list[nn.Module] = []  # of the program that is measured


def trained(net: nn.Module, optimizer: torch.optim.Optimizer, loss: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """A training step."""
    NETS.append(net)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def seed() -> Callable[[], None]:
    x, v = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([1.0, 0.5])

    def step() -> None:
        y = x * x
        y.backward(gradient=v)
        x.grad = None

    return step


def scaled_sum() -> Callable[[], None]:
    x, b = torch.ones(4, requires_grad=True), torch.randn(4)

    def step() -> None:
        (x * b).sum().backward()
        x.grad = None

    return step


def chain() -> Callable[[], None]:
    x, b = torch.ones(4, requires_grad=True), torch.randn(4)

    def step() -> None:
        y = x
        for _ in range(10):
            y = y * b
        y.sum().backward()
        x.grad = None

    return step


def mlp(kind: str = "SGD", sizes: tuple[int, ...] = (10, 32, 1), batch: int = 16) -> Callable[[], None]:
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())][:-1]
    net, x, y = nn.Sequential(*layers), torch.randn(batch, sizes[0]), torch.randn(batch, sizes[-1])
    return trained(net, getattr(torch.optim, kind)(net.parameters(), lr=0.01), lambda: F.mse_loss(net(x), y))


def cnn() -> Callable[[], None]:
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 10)
    )
    x, y = torch.randn(8, 1, 16, 16), torch.arange(8)
    return trained(net, torch.optim.SGD(net.parameters(), lr=0.01), lambda: F.cross_entropy(net(x), y))


def lstm() -> Callable[[], None]:
    net = nn.LSTM(8, 32, batch_first=True)
    x = torch.randn(8, 12, 8)
    return trained(net, torch.optim.SGD(net.parameters(), lr=0.01), lambda: net(x)[0].square().mean())


def transformer() -> Callable[[], None]:
    net = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    x = torch.randn(4, 10, 32)
    return trained(net, torch.optim.SGD(net.parameters(), lr=0.01), lambda: net(x).square().mean())


PROGRAMS: dict[str, Callable[[], Callable[[], None]]] = {
    "x * x, a seed": seed,
    "(x * b).sum()": scaled_sum,
    "ten products": chain,
    "MLP 10-32-1, SGD": mlp,
    "MLP 10-32-1, Adam": lambda: mlp("Adam"),
    "MLP 784-256-128-10, Adam": lambda: mlp("Adam", (784, 256, 128, 10), 64),
    "CNN": cnn,
    "LSTM": lstm,
    "transformer layer": transformer,
}


def plain(step: Callable[[], None]) -> None:
    step()


def watched(step: Callable[[], None]) -> None:
    with torch.explain():
        step()


def with_steps(step: Callable[[], None]) -> None:
    with torch.explain() as e:
        step()
    e.steps  # noqa: B018


def as_text(step: Callable[[], None]) -> None:
    with torch.explain() as e:
        step()
    str(e)


def recorded(step: Callable[[], None]) -> None:
    step()


def measure(
    step: Callable[[], None],
    ways: tuple[Callable[[Callable[[], None]], None], ...],
    rounds: int = 15,
    seconds: float = 0.02,
) -> list[float]:
    """Microseconds a run, one a way.

    Args:
        rounds: how often each way has its turn.
        seconds: how long a turn is to last, about.
    """
    for way in ways:
        way(step)
    began = perf_counter_ns()
    for _ in range(20):
        step()
    repeats = max(1, int(seconds * 1e9 / ((perf_counter_ns() - began) / 20)))
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, found in zip(ways, times):
            count = max(1, repeats // (1 if way is plain else 30 if way is as_text else 3))
            with torch.watch(NETS[-1], every=1) if way is recorded and NETS else nullcontext():
                began = process_time_ns()
                for _ in range(count):
                    way(step)
                found.append((process_time_ns() - began) / count / 1e3)
    return [median(found) for found in times]


def main(chosen: Sequence[str] = (), **length: Any) -> None:
    """Print a line for each program of which one of these words is a part."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x = torch.ones(4, requires_grad=True)
    for _ in range(3000):  # the machine code for small tensors is loaded after so many operations
        x = x * 1
    titles = f"{'watched':>9} {'ratio':>6} {'with steps':>10} {'with text':>10} {'watch':>6}"
    print(f"{'program':26} {'alone, µs':>10} {titles}")
    for name, make in PROGRAMS.items():
        if not chosen or any(word in name for word in chosen):
            NETS.clear()
            alone, seen, read, told, all_ = measure(make(), (plain, watched, with_steps, as_text, recorded), **length)
            print(
                f"{name:26} {alone:10.1f} {seen:9.1f} {seen / alone:6.2f} {read / alone:10.2f} {told / alone:10.2f} "
                + (f"{all_ / alone:6.2f}" if NETS else ""),
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
