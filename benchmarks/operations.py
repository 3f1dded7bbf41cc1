"""Everyday operations beside PyTorch, on one thread: every type, layout and size, forward and with gradients.

    pip install torch
    python benchmarks/operations.py                                  # all: half an hour
    python benchmarks/operations.py --only tanh sum --sizes tens     # some
    python benchmarks/operations.py --dtypes bfloat16 float16 --json sweep.json

Processor time, in turns, the least of several rounds; above a ratio of 1 PyTorch is faster. Layouts other than
contiguous are measured in float32, of the first floating-point tensor and those that have its shape.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import pathlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "benchmarks")]

import torch  # noqa: E402
from everyday import CALLS, Call, Input  # noqa: E402

import pullback  # noqa: E402

SIZES = ("tens", "thousands", "million")
DTYPES = {"float32": "fF", "float64": "fF", "bfloat16": "f", "float16": "f", "int64": "i", "bool": "b"}
LAYOUTS = ("contiguous", "transposed", "channels_last", "strided")


class Row(NamedTuple):
    """What was measured: seconds of a call."""

    name: str
    size: str
    dtype: str
    layout: str
    what: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def numbers(given: Input, size: str, dtype: str) -> np.ndarray:
    """The values of an input: float64, int64 or bool."""
    shape, kind = given.shape[size], given.kind
    rng = np.random.default_rng([len(kind), *shape])
    if kind == "index":
        assert given.limit is not None
        return rng.integers(0, given.limit[size][0], shape)
    if kind == "permutation":
        return rng.permutation(shape[0])
    if kind == "mask":
        return rng.random(shape) > 0.5
    if dtype == "bool":
        return rng.random(shape) > 0.5
    if kind == "sorted":
        return np.sort(rng.standard_normal(shape) * 3)
    if kind == "definite":
        x = rng.standard_normal(shape) / math.sqrt(shape[-1])
        return x @ np.swapaxes(x, -1, -2) + 2 * np.eye(shape[-1])
    if dtype == "int64":
        return rng.integers(1, 9, shape) if kind == "positive" else rng.integers(-5, 6, shape)
    if kind in ("unit", "target"):
        return rng.uniform(0.02, 0.98, shape)
    if kind == "inside":
        return rng.uniform(-0.98, 0.98, shape)
    x = rng.standard_normal(shape)
    return x if kind == "real" else np.abs(x) + (0.1 if kind in ("positive", "buffer") else 1.1)


def in_layout(x: Any, layout: str) -> Any:
    """The same values with other strides; None where they have no such layout."""
    if layout == "contiguous":
        return x
    if layout == "channels_last":
        return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2) if x.ndim == 4 else None
    if layout == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.ndim > 1 else None
    return x.repeat_interleave(2, -1)[..., ::2]


def tensors(call: Call, size: str, dtype: str, layout: str, root: Any) -> list[Any] | None:
    """The arguments for a package; None where they have no such layout."""
    made = []
    main = next((i.shape for i in call.inputs if i.kind not in ("index", "mask", "permutation")), None)
    for given in call.inputs:
        x = root.from_numpy(np.ascontiguousarray(numbers(given, size, dtype)))
        if given.kind not in ("index", "mask", "permutation"):
            x = x.to(getattr(root, dtype))
        if given.shape is main and given.kind != "permutation":
            x = in_layout(x, layout)
            if x is None:
                return None
        made.append(x)
    return made if main is not None or layout == "contiguous" else None


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def program(call: Call, size: str, dtype: str, layout: str, what: str, root: Any) -> Callable[[], Any] | None:
    """What is timed, for a package; None where there is no such case."""
    args = tensors(call, size, dtype, layout, root)
    if args is None:
        return None
    if what == "forward":
        return lambda: call.function(root, *args)
    plain = ("index", "mask", "permutation", "buffer", "target", "sorted")
    leaves = [a.requires_grad_() for a, given in zip(args, call.inputs) if given.kind not in plain]
    result = call.function(root, *args)
    cotangent = root.ones_like(result)

    def both() -> None:
        root.autograd.grad(call.function(root, *args), leaves, cotangent, allow_unused=True)

    both()
    return both


def seconds(fn: Callable[[], Any], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        fn()
    return (time.process_time() - start) / times


def least(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The fastest rounds of two programs that take turns."""
    pair = (ours, theirs)
    for fn in pair:
        fn()
    once = [max(min(seconds(fn, 1), seconds(fn, 1)), 1e-7) for fn in pair]
    if max(once) > 0.5:
        return once[0], once[1]
    times = [max(int(0.0015 / t), 1) for t in once]
    best = [seconds(fn, n) for fn, n in zip(pair, times)]
    for _ in range(rounds if max(once) < 0.05 else 2):
        best = [min(b, seconds(fn, n)) for b, fn, n in zip(best, pair, times)]
    return best[0], best[1]


def cases(given: argparse.Namespace) -> Iterator[tuple[Call, str, str, str, str]]:
    for call in CALLS:
        if given.only and not any(call.name == n or call.name.startswith(n + " ") for n in given.only):
            continue
        for size in given.sizes:
            for dtype in given.dtypes:
                if not set(DTYPES[dtype]) & set(call.types):
                    continue
                for layout in given.layouts if dtype == "float32" else ["contiguous"]:
                    for what in ("forward", "gradients") if call.grad and "float" in dtype else ("forward",):
                        if what in given.what:
                            yield call, size, dtype, layout, what


def measured(case: tuple[Call, str, str, str, str], rounds: int) -> Row | str | None:
    """The times of a case; a string if a package refuses it, None if there is no such case."""
    call, size, dtype, layout, what = case
    programs = []
    for root in (torch, pullback):
        try:
            programs.append(program(call, size, dtype, layout, what, root))
            if programs[-1] is None:
                return None
            programs[-1]()
        except Exception as error:
            return f"{root.__name__} refuses {call.name} of {dtype}: {str(error).splitlines()[0]}"
    theirs, ours = programs
    return Row(call.name, size, dtype, layout, what, *least(ours, theirs, rounds))


def mean(rows: list[Row]) -> float:
    return math.exp(sum(math.log(r.ratio) for r in rows) / len(rows))


def summary(rows: list[Row]) -> Iterator[str]:
    """For each type and layout: how many cases, their geometric mean, and the share that is slower than in PyTorch."""
    yield f"{'':24}{'cases':>7}{'mean':>7}{'>1.5':>8}{'>4':>8}"
    groups: dict[str, list[Row]] = {"all": rows}
    for row in rows:
        for name in (row.dtype, row.size, row.what) + ((row.layout,) if row.dtype == "float32" else ()):
            groups.setdefault(name, []).append(row)
    for name, group in groups.items():
        above = [sum(r.ratio > limit for r in group) / len(group) for limit in (1.5, 4)]
        yield f"{name:24}{len(group):7}{mean(group):7.2f}{above[0]:8.1%}{above[1]:8.1%}"


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="names of calls, or their first words")
    parser.add_argument("--dtypes", nargs="*", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=SIZES)
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument("--what", nargs="*", choices=("forward", "gradients"), default=("forward", "gradients"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worst", type=int, default=40, help="how many to list")
    parser.add_argument("--json", help="a file for all the figures")
    given = parser.parse_args(args)
    torch.set_num_threads(1)
    pullback.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows, refused = [], set()
    for case in cases(given):
        row = measured(case, given.rounds)
        if isinstance(row, Row):
            rows.append(row)
        elif row is not None:
            refused.add(row)
        if case[1] == "million":
            gc.collect()
    rows.sort(key=lambda r: -r.ratio)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps([r._asdict() for r in rows], indent=0))
    for line in sorted(refused):
        print(line)
    for r in rows[: given.worst]:
        times = f"{r.ratio:8.2f} {r.ours * 1e6:11.1f} µs {r.theirs * 1e6:11.1f} µs"
        print(f"{times}  {r.what:9}  {r.dtype:8}  {r.layout:13}  {r.size:9}  {r.name}")
    print(*summary(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
