"""Collectives and data parallel training steps beside PyTorch's on gloo: two ranks of one thread each, wall time.

    pip install torch
    python benchmarks/distributed.py               # all, three rounds
    python benchmarks/distributed.py MLP 1MB       # some
    python benchmarks/distributed.py --ranks 4

The two libraries take turns, each with processes of its own; a figure is the least over the rounds of a round's median.
Steps and collectives wait for the slowest rank. `overlap` is the part of the time in which gradients travelled that was
hidden behind backward; `sharded` is the memory of parameters, gradients and Adam's state of a rank with `fully_shard`
over that with DDP.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

SIZES = {"1kB": 1 << 8, "1MB": 1 << 18, "25MB": 25 << 18, "100MB": 100 << 18}  # elements of float32
SECONDS = 1.0  # to spend on each figure in a round


def mlp(torch: Any) -> tuple[Any, Callable[[Any], Any]]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))
    return model, lambda net: nn.functional.cross_entropy(net(x), y)


def resnet(torch: Any) -> tuple[Any, Callable[[Any], Any]]:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.norm, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
            self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.skip = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.norm(self.one(x)))
            return torch.relu(self.norm2(self.two(y)) + self.skip(x))

    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks, *head)
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    return model, lambda net: nn.functional.cross_entropy(net(x), y)


def gpt(torch: Any) -> tuple[Any, Callable[[Any], Any]]:
    nn, width, length, words = torch.nn, 192, 64, 512

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (a.view(b, t, 6, c // 6).transpose(1, 2) for a in self.qkv(self.norm(x)).split(c, -1))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(4)]), nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, x: Any) -> Any:
            y = self.words(x) + self.places(torch.arange(x.shape[1]))
            return self.head(self.norm(self.blocks(y)))

    x = torch.randint(0, words, (4, length))
    return GPT(), lambda net: nn.functional.cross_entropy(net(x).flatten(0, 1), x.flatten())


MODELS = {"MLP": mlp, "ResNet": resnet, "GPT": gpt}


def timed(call: Callable[[], Any], agree: Callable[[int], int]) -> float:
    """The median time of a call, of as many as all ranks agree to make."""
    for _ in range(3):
        call()
    began = perf_counter()
    call()
    repeats = agree(min(300, max(3, int(SECONDS / (perf_counter() - began)))))
    times = []
    for _ in range(repeats):
        began = perf_counter()
        call()
        times.append(perf_counter() - began)
    return median(times)


def worker(library: str, wanted: list[str]) -> dict[str, float]:
    """The figures of one library, on one rank."""
    import importlib

    torch = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    parallel = importlib.import_module(f"{library}.nn.parallel")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    figures = {}

    def agree(number: int) -> int:
        least = torch.tensor([number])
        dist.all_reduce(least, dist.ReduceOp.MIN)
        return int(least)

    for name, size in SIZES.items():
        if name in wanted:
            x = torch.ones(size)
            figures[name] = timed(lambda x=x: dist.all_reduce(x), agree)
    for name, make in MODELS.items():
        if name not in wanted:
            continue
        torch.manual_seed(0)
        model, loss = make(torch)
        model = parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)

        def step(model: Any = model, loss: Any = loss, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            loss(model).backward()
            optimizer.step()

        figures[name] = timed(step, agree)
    if "overlap" in wanted and library == "pullback":
        figures["overlap"] = overlap(torch, parallel)
    if "sharded" in wanted and library == "pullback":
        figures["sharded"] = sharded(torch, importlib.import_module(f"{library}.distributed.fsdp"))
    dist.destroy_process_group()
    return figures


def overlap(torch: Any, parallel: Any) -> float:
    """The part of the time in which buckets travelled that was over before backward was."""
    from pullback.distributed import gradient_buckets

    torch.manual_seed(0)
    model, loss = gpt(torch)
    model = parallel.DistributedDataParallel(model, bucket_cap_mb=1)
    hidden, total = [], []
    original = gradient_buckets.Reducer.end

    def end(reducer: Any) -> None:
        began = perf_counter()
        original(reducer)
        over = perf_counter()
        spans = [(work.began, work.over) for work in works if work.over]
        total.append(sum(b - a for a, b in spans))
        hidden.append(sum(max(0.0, min(b, began) - a) for a, b in spans))
        assert over >= began
        works.clear()

    works: list[Any] = []
    start = gradient_buckets.start_all_reduce

    def started(*args: Any) -> Any:
        works.append(start(*args))
        return works[-1]

    gradient_buckets.Reducer.end, gradient_buckets.start_all_reduce = end, started
    for _ in range(10):
        loss(model).backward()
        model.zero_grad()
    return median(h / t for h, t in zip(hidden[2:], total[2:]) if t)


def sharded(torch: Any, fsdp: Any) -> float:
    """The bytes of parameters, gradients and Adam's state of a rank, over those of the whole."""
    model, loss = gpt(torch)
    whole = 4 * sum(p.numel() * p.element_size() for p in model.parameters())
    for block in model.blocks:
        fsdp.fully_shard(block)
    fsdp.fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters())
    loss(model).backward()
    optimizer.step()
    state = [value for own in optimizer.state.values() for value in own.values() if value.ndim]
    own = sum(p._array.nbytes + p._grad._array.nbytes for p in model.parameters()) + sum(s.nbytes for s in state)
    return own / whole


def figures_of(library: str, ranks: int, wanted: list[str]) -> dict[str, float]:
    """The figures of one library in a round: those of rank 0, whose ranks wait for each other."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker", library, *wanted]
    processes = [
        subprocess.Popen(command, env=os.environ | variables | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    outputs = [process.communicate()[0] for process in processes]
    return json.loads(outputs[0].splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", help=", ".join([*SIZES, *MODELS, "overlap", "sharded"]))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    wanted = asked.wanted or [*SIZES, *MODELS, "overlap", "sharded"]
    if asked.worker:
        print(json.dumps(worker(asked.worker, wanted)))
        return
    found: dict[str, list[dict[str, float]]] = {"pullback": [], "torch": []}
    for _ in range(asked.rounds):
        for library, rounds in found.items():
            rounds.append(figures_of(library, asked.ranks, wanted))
    for name in wanted:
        ours = [figures[name] for figures in found["pullback"]]
        theirs = [figures[name] for figures in found["torch"] if name in figures]
        if theirs:
            print(f"{name:8} {min(ours) * 1e3:9.3f} ms  {min(theirs) * 1e3:9.3f} ms  {min(ours) / min(theirs):5.2f}")
        else:
            print(f"{name:8} {median(ours):9.3f}")


if __name__ == "__main__":
    main()
