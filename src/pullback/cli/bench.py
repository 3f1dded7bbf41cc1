"""``pullback bench``: programs under Pullback, beside PyTorch where that is installed.

Each program is written once, against a namespace that is PyTorch's or ours, and starts from the same numbers. It runs
in turns, eager in both and compiled here, one block of calls each, so that what else the machine does disturbs all
alike. What is shown is the median over the rounds of CPU time, and of the ratio within a round: below 1 Pullback is
faster.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

BLOCK = 0.02  # seconds, about, that a block takes
Program = Callable[[Any, Any], Callable[[], Any]]  # of a namespace and a generator of random numbers: what is timed


def tensor(T: Any, rng: np.random.Generator, *shape: int) -> Any:
    return T.from_numpy(rng.standard_normal(shape).astype(np.float32))


def product(T: Any, rng: Any) -> Callable[[], Any]:
    x, b = tensor(T, rng, 4).requires_grad_(), tensor(T, rng, 4)
    return lambda: x * b


def sum_of_products(T: Any, rng: Any) -> Callable[[], Any]:
    x, b = tensor(T, rng, 4).requires_grad_(), tensor(T, rng, 4)

    def call() -> Any:
        x.grad = None
        y = (x * b).sum()
        y.backward()
        return y.detach()

    return call


def chain(n: int) -> Program:
    def build(T: Any, rng: Any) -> Callable[[], Any]:
        x, b, seed = tensor(T, rng, 4).requires_grad_(), 1 + tensor(T, rng, 4) / 1000, tensor(T, rng, 4)

        def call() -> Any:
            x.grad = None
            y = x
            for _ in range(n):
                y = y * b
            y.backward(seed)
            return y.detach()

        return call

    return build


def elementwise(T: Any, rng: Any) -> Callable[[], Any]:
    x, w = (tensor(T, rng, 1_000_000).requires_grad_() for _ in range(2))

    def call() -> Any:
        x.grad = w.grad = None
        y = (T.tanh(x * w) * T.sigmoid(x) + T.exp(-w * w)).mean()
        y.backward()
        return y.detach()

    return call


def training(
    net: Callable[[Any], Any], shape: tuple[int, ...], classes: int, optimizer: str, **options: Any
) -> Program:
    """Steps of a network on one batch: of classification, or of least squares for ``classes`` = 0."""

    def build(T: Any, rng: Any) -> Callable[[], Any]:
        T.manual_seed(0)
        model = net(T)
        for p in model.parameters():
            p.data.copy_(tensor(T, rng, *p.shape) * (0.3 / max(p[0].numel() if p.ndim > 1 else 1, 1) ** 0.5))
        steps = getattr(T.optim, optimizer)(model.parameters(), **options)
        inputs = (
            T.from_numpy(rng.integers(0, 65, shape)) if len(shape) == 2 and shape[1] == 64 else tensor(T, rng, *shape)
        )
        F = T.nn.functional

        def call() -> Any:
            steps.zero_grad()
            out = model(inputs)
            loss = F.mse_loss(out, targets) if not classes else F.cross_entropy(out.reshape(-1, classes), targets)
            loss.backward()
            steps.step()
            return loss.detach()

        with T.no_grad():
            out = model(inputs)
        targets = (
            tensor(T, rng, *out.shape)
            if not classes
            else T.from_numpy(rng.integers(0, classes, (out.numel() // classes,)))
        )
        return call

    return build


def perceptron(*sizes: int) -> Callable[[Any], Any]:
    def net(T: Any) -> Any:
        layers = [layer for i, o in zip(sizes, sizes[1:]) for layer in (T.nn.Linear(i, o), T.nn.ReLU())]
        return T.nn.Sequential(*layers[:-1])

    return net


def lenet(T: Any) -> Any:
    nn = T.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def resnet(T: Any) -> Any:
    nn = T.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, i: int, o: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(i, o, 3, stride, 1, bias=False),
                nn.BatchNorm2d(o),
                nn.ReLU(),
                nn.Conv2d(o, o, 3, 1, 1, bias=False),
                nn.BatchNorm2d(o),
            )
            self.skip = nn.Identity() if i == o else nn.Conv2d(i, o, 1, stride, bias=False)

        def forward(self, x: Any) -> Any:
            return T.relu(self.body(x) + self.skip(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        Block(16, 16, 1),
        Block(16, 32, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def gpt(T: Any) -> Any:
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, d: int, heads: int) -> None:
            super().__init__()
            self.heads, self.before, self.after = heads, nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.before(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
            return x + self.mlp(self.after(x))

    return nn.Sequential(nn.Embedding(65, 48), *(Block(48, 3) for _ in range(3)), nn.LayerNorm(48), nn.Linear(48, 65))


def lstm(T: Any) -> Any:
    class Last(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.head = T.nn.LSTM(32, 64, batch_first=True), T.nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(x)[0][:, -1])

    return Last()


def jacobian(T: Any, rng: Any) -> Callable[[], Any]:
    a, b, x = tensor(T, rng, 32, 32), tensor(T, rng, 32, 32), tensor(T, rng, 32)
    of = T.func.jacrev(lambda x: T.tanh(x @ a) @ b)
    return lambda: of(x)


def hessian(T: Any, rng: Any) -> Callable[[], Any]:
    x = tensor(T, rng, 20)
    of = T.func.hessian(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
    return lambda: of(x)


PROGRAMS: dict[str, Program] = {
    "product": product,
    "sum-backward": sum_of_products,
    "chain-10": chain(10),
    "chain-1000": chain(1000),
    "mlp-small-sgd": training(perceptron(10, 32, 1), (8, 10), 0, "SGD", lr=1e-3),
    "mlp-small-adam": training(perceptron(10, 32, 1), (8, 10), 0, "Adam", lr=1e-3),
    "mlp-digits": training(perceptron(784, 256, 128, 10), (64, 784), 10, "Adam", lr=1e-3),
    "lenet": training(lenet, (64, 1, 28, 28), 10, "SGD", lr=0.01, momentum=0.9),
    "resnet": training(resnet, (32, 3, 32, 32), 10, "SGD", lr=0.01, momentum=0.9),
    "gpt": training(gpt, (16, 64), 65, "AdamW", lr=1e-3),
    "lstm": training(lstm, (16, 64, 32), 10, "Adam", lr=1e-3),
    "elementwise-1M": elementwise,
    "jacobian": jacobian,
    "hessian": hessian,
}


def contenders(name: str, peer: Any) -> dict[str, Callable[[], Any]]:
    """The program under each: ``pytorch`` (if there is one), ``pullback`` and ``compiled``."""
    ours = importlib.import_module("pullback")
    build = lambda T: PROGRAMS[name](T, np.random.default_rng(0))  # noqa: E731
    found = {"pytorch": build(peer)} if peer is not None else {}
    return found | {"pullback": build(ours), "compiled": ours.compile(build(ours))}


def measured(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """CPU seconds a call, a number for each round: at least three, for about so many seconds."""
    counts = {}
    for name, call in calls.items():
        n, spent = 1, 0.0
        call()
        while spent < BLOCK / 2 and n < 100_000:
            n = n if not spent else max(n + 1, min(n * 10, int(n * BLOCK / spent)))
            spent = _timed(call, n) * n
            if spent < BLOCK / 2:
                n *= 2
        counts[name] = n
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[name]) < 3:
        for name, call in calls.items():
            times[name].append(_timed(call, counts[name]))
    return times


def _timed(call: Callable[[], Any], n: int) -> float:
    begin = time.process_time()
    for _ in range(n):
        call()
    return (time.process_time() - begin) / n


def lines(names: list[str], seconds: float, peer: Any) -> Iterator[str]:
    """A line for each program."""
    for name in names:
        times = measured(contenders(name, peer), seconds)
        line = f"{name:16}"
        for who, spent in times.items():
            line += f"{who:>12} {_shown(statistics.median(spent)):>8}"
            if peer is not None and who != "pytorch":
                line += f" ({statistics.median(a / b for a, b in zip(spent, times['pytorch'])):5.2f})"
        yield line


def _shown(seconds: float) -> str:
    unit, size = next(((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3)) if seconds >= size), ("µs", 1e-6))
    return f"{seconds / size:.3g} {unit}"


def main(names: list[str], seconds: float, threads: int) -> None:
    """Run the programs of those names (none: all) and print a line for each as soon as it is done."""
    ours = importlib.import_module("pullback")
    try:
        peer = importlib.import_module("torch")
    except ImportError:
        peer = None
        print("PyTorch is not installed: no ratios. `pip install torch` for them.", file=sys.stderr)
    for T in filter(None, (ours, peer)):
        T.set_num_threads(threads)
    for line in lines(names or list(PROGRAMS), seconds, peer):
        print(line, flush=True)
