"""What surrounds a step, beside PyTorch, on one thread: short programs from import on, batches, files, single elements.

    pip install torch
    python benchmarks/around.py                # all
    python benchmarks/around.py short          # the import and ten training steps, with an empty cache of machine code
    python benchmarks/around.py everyday       # batches, files, elements, small models

Seconds of processor time; above a ratio of 1 PyTorch is faster.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import process_time
from typing import Any

Step = Callable[[], Any]


# --- short programs -------------------------------------------------------------------------------------------------


def residual(torch: Any) -> Step:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, channels: int, features: int, stride: int) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(channels, features, 3, stride, 1), nn.Conv2d(features, features, 3, 1, 1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(features) for _ in range(2)])
            self.skip = nn.Conv2d(channels, features, 1, stride)

        def forward(self, x: Any) -> Any:
            y = self.norms[1](self.b(F.relu(self.norms[0](self.a(x)))))
            return F.relu(y + self.skip(x))

    net = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, 1, 1), Block(32, 32, 1), Block(32, 64, 2), Block(64, 128, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    return trained(torch, net, lambda: F.cross_entropy(net(x), y))


def encoder(torch: Any) -> Step:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    net = nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(128, 50))
    x, y = torch.randn(8, 64, 128), torch.randint(0, 50, (8 * 64,))
    return trained(torch, net, lambda: nn.functional.cross_entropy(net(x).flatten(0, 1), y))


def dilated(torch: Any) -> Step:
    nn = torch.nn
    layers = [(nn.Conv1d(32, 32, 3, dilation=d, padding=d), nn.GELU()) for d in (1, 2, 4, 8)]
    net, x = nn.Sequential(*[m for pair in layers for m in pair]), torch.randn(8, 32, 500)
    return trained(torch, net, lambda: nn.functional.mse_loss(net(x), x))


def perceptron(torch: Any) -> Step:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
    return trained(torch, net, lambda: nn.functional.cross_entropy(net(x), y))


def recurrent(torch: Any) -> Step:
    net, x = torch.nn.LSTM(32, 64, batch_first=True), torch.randn(16, 30, 32)
    return trained(torch, net, lambda: net(x)[0].square().mean())


def trained(torch: Any, net: Any, loss: Step) -> Step:
    optimizer = torch.optim.Adam(net.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


PROGRAMS = {f.__name__: f for f in (residual, encoder, dilated, perceptron, recurrent)}


def short(library: str, program: str) -> list[float]:
    """The seconds of the import, of the first step, and of the next nine."""
    start = process_time()
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    imported = process_time()
    step = PROGRAMS[program](torch)
    made = process_time()
    step()
    first = process_time()
    for _ in range(9):
        step()
    return [imported - start, first - made, process_time() - first]


# --- every day ------------------------------------------------------------------------------------------------------


def everyday(library: str) -> dict[str, float]:
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    x, grid = torch.randn(100), torch.randn(3, 3)
    rows = torch.utils.data.TensorDataset(torch.randn(20_000, 32), torch.randint(0, 10, (20_000,)))
    part, _ = torch.utils.data.random_split(rows, [16_000, 4_000])
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    one = torch.randn(1, 16)

    def assign() -> None:
        x[7] = 1.5

    def batches(dataset: Any) -> Step:
        loader = torch.utils.data.DataLoader(dataset, batch_size=64, shuffle=True)
        return lambda: [None for _ in loader]

    def product() -> Any:
        w = torch.ones(20, requires_grad=True)
        (g,) = torch.autograd.grad((w**2 * w.roll(1)).sum(), w, create_graph=True)
        return torch.autograd.grad((g * w.detach()).sum(), w)

    def minimized() -> None:
        torch.manual_seed(0)
        model, inputs = torch.nn.Linear(10, 1), torch.randn(50, 10)
        optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
            loss.backward()
            return loss

        optimizer.step(closure)

    found = {
        "x[i]": best(lambda: x[7], 20_000),
        "x[i] = number": best(assign, 20_000),
        "float(x[i])": best(lambda: float(x[7]), 20_000),
        "x[i, j]": best(lambda: grid[1, 2], 20_000),
        "an epoch of 20,000 rows": best(batches(rows), 1),
        "an epoch of a subset": best(batches(part), 1),
        "a small model, one row": best(lambda: net(one), 2_000),
        "a Hessian-vector product": best(product, 300),
        "LBFGS, 20 iterations": best(minimized, 5),
    }
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        file, large = os.path.join(folder, "a.pt"), torch.randn(100_000_000)
        found["save 400 MB"] = best(lambda: torch.save(large, file), 1)
        found["load 400 MB"] = best(lambda: torch.load(file), 1)
    return found


def best(f: Step, times: int) -> float:
    """The least seconds of a call, of five rounds."""
    f()
    rounds = []
    for _ in range(5):
        start = process_time()
        for _ in range(times):
            f()
        rounds.append((process_time() - start) / times)
    return min(rounds)


# --- all ------------------------------------------------------------------------------------------------------------


def measured(library: str, *what: str, **variables: str) -> Any:
    """What a process of its own prints, with an empty cache."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | threads | {"XDG_CACHE_HOME": folder} | variables
        command = [sys.executable, __file__, "--in", library, *what]
        return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def main() -> None:
    if sys.argv[1:2] == ["--in"]:
        library, what, *program = sys.argv[2:]
        print(json.dumps(short(library, *program) if what == "short" else everyday(library)))
        return
    if "everyday" not in sys.argv[1:]:
        print(
            f"{'':12}{'PyTorch: import':>17}{'first':>7}{'nine':>7}{'Pullback: import':>18}{'first':>7}{'nine':>7}",
            end="",
        )
        print(f"{'without kernels: first':>24}{'ratio of all':>14}")
        for name in PROGRAMS:
            theirs, ours = (measured(library, "short", name) for library in ("torch", "pullback"))
            plain = measured("pullback", "short", name, PULLBACK_KERNELS="off")
            print(f"{name:12}{theirs[0]:17.2f}{theirs[1]:7.2f}{theirs[2]:7.2f}", end="")
            print(
                f"{ours[0]:18.2f}{ours[1]:7.2f}{ours[2]:7.2f}{plain[1]:24.2f}{sum(ours) / sum(theirs):14.2f}",
                flush=True,
            )
    if "short" not in sys.argv[1:]:
        theirs, ours = (measured(library, "everyday") for library in ("torch", "pullback"))
        for name in theirs:
            print(f"{name:28}{theirs[name] * 1e6:14.1f} us{ours[name] * 1e6:14.1f} us{ours[name] / theirs[name]:8.2f}")


if __name__ == "__main__":
    main()
