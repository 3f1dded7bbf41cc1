"""Every operation of the table of samples beside PyTorch, on one thread, at 16 and at a million elements.

    pip install torch
    python benchmarks/operations.py                      # all, the worst twenty at each size
    python benchmarks/operations.py tanh sum --size 16   # some

One sample of each operation is scaled: a size of its first tensor is replaced, wherever it occurs, by one that gives
about that many elements. What is timed is the call, recorded, and the call with its gradients for given cotangents, in
processor time, in turns, the least of many rounds; above a ratio of 1 PyTorch is faster.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import torch  # noqa: E402
from tests.ops.samples import SAMPLES, Sample, is_shape  # noqa: E402
from tests.ops.test_rules import constant, outputs, tensors  # noqa: E402

import pullback  # noqa: E402

SIZES = {16: 1.5, 1_000_000: 3.0}  # elements, and the ratio that is aimed at
MEMORY = 12 << 30  # bytes: what wants more grows faster than its arguments
SLOWEST = 0.5  # seconds of a single call above which it is run once


def shapes(args: Any) -> Iterator[tuple[int, ...]]:
    """The shapes of all tensors among the arguments of a sample."""
    for a in args:
        if is_shape(a) or isinstance(a, np.ndarray):
            yield a.shape if isinstance(a, np.ndarray) else a
        elif isinstance(a, list) and a and is_shape(a[0]):
            yield from a


def scaled(sample: Sample, elements: int) -> Iterator[Sample]:
    """The sample with one of the sizes of its first tensor changed, everywhere."""
    first = next(shapes(sample.args), ())
    for size in dict.fromkeys(first):
        rest = np.prod([n for n in first if n != size])
        if size < 2 or rest == 0 or first.count(size) > 1:
            continue
        new = max(round(elements / rest), 1)

        def change(a: Any, size: int = size, new: int = new) -> Any:
            if is_shape(a):
                return tuple(new if n == size else n for n in a)
            if isinstance(a, np.ndarray):
                shape = change(a.shape)
                if a.size == 0 or np.prod(shape, dtype=float) > 100 * elements:
                    return a
                return np.tile(a, [-(-n // m) for n, m in zip(shape, a.shape)])[tuple(map(slice, shape))]
            return [change(v) for v in a] if isinstance(a, list) and a and is_shape(a[0]) else a

        if max(np.prod(change(shape), dtype=float) for shape in shapes(sample.args)) <= max(20 * elements, 10_000):
            yield replace(
                sample, args=tuple(map(change, sample.args)), kwargs={k: change(v) for k, v in sample.kwargs.items()}
            )


def programs(sample: Sample, root: Any, seeds: list[np.ndarray]) -> tuple[Callable[[], Any], Callable[[], Any] | None]:
    """The call, and the call with its gradients (None where there are none); ``seeds`` are filled by the first
    package.
    """
    args, leaves = tensors(sample, root, np.float32)
    function = sample.function(root)
    kwargs = {
        k: getattr(root, v.name) if isinstance(v, pullback.dtype) else constant(v, root, np.float32)
        for k, v in sample.kwargs.items()
    }
    live = [o for o in outputs(function(*args, **kwargs)) if isinstance(o, root.Tensor) and o.requires_grad]
    if not seeds:
        seeds += [np.ones(tuple(o.shape), o.detach().numpy().dtype) for o in live]
    cotangents = [root.from_numpy(s) if s.ndim else root.tensor(s) for s in seeds]

    def both() -> None:
        results = [o for o in outputs(function(*args, **kwargs)) if isinstance(o, root.Tensor) and o.requires_grad]
        root.autograd.grad(results, leaves, cotangents, allow_unused=True)

    if live:
        both()
    return lambda: function(*args, **kwargs), both if live else None


def seconds(fn: Callable[[], Any], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        fn()
    return (time.process_time() - start) / times


def least(ours: Callable[[], Any], theirs: Callable[[], Any], budget: float) -> tuple[float, float]:
    """The fastest rounds of two programs that take turns, within a budget of time for each."""
    pair = (ours, theirs)
    once = [max(seconds(fn, 1), 1e-7) for fn in pair]
    if max(once) > SLOWEST:
        return once[0], once[1]
    times = [max(int(min(budget / 5, 0.004) / t), 1) for t in (max(seconds(fn, 1), 1e-7) for fn in pair)]
    best = once
    end = time.process_time() + 2 * budget
    while time.process_time() < end:
        best = [min(b, seconds(fn, n)) for b, fn, n in zip(best, pair, times)]
    return best[0], best[1]


def measured(name: str, elements: int, budget: float) -> list[tuple[float, str, str, float, float]] | None:
    """``(ratio, sample, what, ours, theirs)`` for an operation forward, and with its gradients; None if no sample
    scales.
    """
    originals = [s for s in SAMPLES if s.name == name]
    for part, sample in ((p, s) for o in originals for p, s in zip(scaled(o, elements // 16), scaled(o, elements))):
        seeds: list[np.ndarray] = []
        try:
            if elements > 10_000 and seconds(lambda part=part: programs(part, torch, []), 1) > SLOWEST / 4:
                continue  # it grows faster than its arguments
            theirs, ours = (programs(sample, root, seeds) for root in (torch, pullback))
        except Exception:  # the size has a meaning for the operation: another may not
            continue
        rows = []
        for what, a, b in zip(("forward", "with gradients"), ours, theirs):
            if a is not None and b is not None:
                mine, its = least(a, b, budget)
                rows.append((mine / its, str(sample), what, mine, its))
        return rows
    return None


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operations; all of the table if none is named")
    parser.add_argument("--size", type=int, action="append", help="elements; 16 and 1000000 if not given")
    parser.add_argument("--seconds", type=float, default=0.05, help="of measuring for each program")
    parser.add_argument("--worst", type=int, default=20, help="how many to list")
    given = parser.parse_args(args)
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")
    names = given.names or sorted({s.name for s in SAMPLES})
    for size in given.size or SIZES:
        found = {name: measured(name, size, given.seconds) for name in names}
        rows = sorted((row for r in found.values() if r for row in r), reverse=True)
        aim = SIZES.get(size, 3.0)
        within = sum(ratio <= aim for ratio, *_ in rows)
        print(
            f"{size} elements: {within} of {len(rows)} programs within {aim} times PyTorch; "
            f"{sum(r is None for r in found.values())} operations do not scale"
        )
        for ratio, sample, what, mine, its in rows[: given.worst]:
            print(f"{ratio:8.2f}  {what:14}  {mine * 1e6:10.1f} µs  {its * 1e6:10.1f} µs  {sample}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
