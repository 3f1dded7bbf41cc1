"""Random eager programs, each run here and by PyTorch: values, types, versions, gradients and errors are the same.

    python scripts/oracle.py [number of programs] [seed]

A program makes leaves of several types and shapes, and goes on with lines drawn at random: operations, views, writes in
place (also into views, and under no_grad), hooks, casts. Then come backward, a second backward through the first, and
all gradients. Each line is run by both; where PyTorch raises, the same kind of error is expected. Needs PyTorch. Prints
programs that differ, the shortest first, and exits with 1 if there are any.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as theirs

import pullback as ours

TYPES = ["float32", "float32", "float64", "float64", "int64", "bool", "bfloat16", "complex64"]
SHAPES = ["(2, 3)", "(2, 3)", "(3,)", "(2, 1)", "()", "(3, 2)", "(1,)", "(2, 3, 2)"]


def lines(text: str) -> list[str]:
    """What stands between semicolons."""
    return [line.strip() for line in text.split(";")]


UNARY = lines("""
    sin; tanh; sigmoid; exp; neg; abs; square; sqrt; reciprocal; relu; cumsum,0; sum; mean,0; sum,-1;
    softmax,-1; prod; clone
""")
BINARY = lines("""
    {a} + {b}; {a} * {b}; {a} - {b}; {a} / {b}; torch.maximum({a}, {b}); torch.where({a} > 0, {a}, {b});
    {a} @ {b}; torch.stack([{a}, {b}]); torch.cat([{a}, {b}]); torch.lerp({a}, {b}, 0.5); {a} ** 2 + {b}
""")
VIEWS = lines("""
    {a}.t(); {a}[0]; {a}[..., :2]; {a}.reshape(-1); {a}.view(-1); {a}.expand(2, *{a}.shape); {a}.mT;
    {a}.transpose(0, -1); {a}.unsqueeze(-1); {a}.squeeze(); {a}.diagonal(); {a}.narrow(0, 0, 1); {a}.detach();
    {a}.unbind()[0]; {a}.chunk(2)[0]; {a}[:, None]; {a}.real; {a}.view_as({a}); {a}[::2]; {a}.flatten()
""")
COPIES = lines("""
    {a}[[0, 0]]; {a}[{a} > 0]; {a}.double(); {a}.float(); {a}.to(torch.bfloat16); {a}.long(); {a}.flip(0);
    {a}.contiguous(); {a}.index_select(0, torch.tensor([0, 0])); {a}.roll(1); {a}.repeat(2, 1)
""")
WRITES = lines("""
    {a}.add_({b}); {a}.mul_({b}); {a}.mul_(2); {a}[0] = {b}; {a}.copy_({b}); {a}.zero_(); {a}.sin_();
    {a}.clamp_(-1, 1); {a}.masked_fill_({a} > 0, 0.5); {a} += 1; {a}.t().mul_(0.5); {a}[..., 0].add_(1);
    {a}.detach().mul_(2); {a}[{a} > 0] = 0.25; {a}.index_fill_(0, torch.tensor([0]), 3); {a} *= {b};
    {a}.fill_(0.5); {a}.index_add_(0, torch.tensor([0]), {b}[:1]); torch.tanh({a}, out={b})
""")
HOOKS = lines("""
    {a}.register_hook(lambda g: g * 2); {a}.register_hook(lambda g: seen.append(g.detach().clone()));
    {a}.retain_grad(); {a}.requires_grad_()
""")
OVERLAP = "refer to a single memory location"  # PyTorch refuses what has a meaning here
TOLERANCE = {"bfloat16": 3e-2, "float16": 3e-3, "float32": 2e-4, "complex64": 2e-4}


def program(rng: random.Random) -> Iterator[tuple[str, str]]:
    """What a line is called, and the line; ``{a}`` and ``{b}`` are tensors made so far."""
    for i in range(rng.randint(2, 3)):
        dtype = rng.choice(TYPES[:4]) if i == 0 else rng.choice(TYPES)
        grad = ".requires_grad_()" if dtype[0] in "fbc" and dtype != "bool" and (i == 0 or rng.random() < 0.6) else ""
        values = [round(rng.uniform(-2, 2), 2) for _ in range(12)]
        shape = rng.choice(SHAPES)
        alone = ".clone()" * (rng.random() < 0.8)  # else the leaf is itself a view
        values = f"torch.tensor({values[: theirs.Size(eval(shape)).numel()]}).reshape({shape}).to(torch.{dtype})"  # noqa: S307
        yield f"x{i}", f"x{i} = {values}{alone}{grad}"
    for i in range(rng.randint(3, 12)):
        kind = rng.choice([UNARY, UNARY, BINARY, BINARY, VIEWS, VIEWS, COPIES, WRITES, WRITES, HOOKS])
        line = rng.choice(kind)
        if kind is UNARY:
            name, _, argument = line.partition(",")
            line = f"{{a}}.{name}({argument})"
        if kind is WRITES or kind is HOOKS:
            yield "", f"with torch.no_grad(): {line}" if kind is WRITES and rng.random() < 0.2 else line
        elif rng.random() < 0.08:
            yield f"v{i}", f"with torch.no_grad(): v{i} = {line}"
        else:
            yield f"v{i}", f"v{i} = {line}"


END = """
ends = [t for t in made if t.requires_grad and t.numel()]
total = sum(torch.real(t).double().sin().sum() for t in ends)
leaves = [t for t in made if t.is_leaf and t.requires_grad]
first = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
second = [g for g in first if g is not None and g.requires_grad]
if second: sum(torch.real(g).double().square().sum() for g in second).backward()
"""


class Run:
    """One program in one of the two libraries."""

    def __init__(self, library: Any) -> None:
        self.seen: list[Any] = []
        self.names: dict[str, Any] = {"torch": library, "seen": self.seen}
        self.made: dict[str, Any] = {}

    def do(self, name: str, line: str) -> BaseException | None:
        """Run a line; the error that it raises."""
        try:
            exec(line, self.names)  # noqa: S102
        except Exception as error:
            return error
        if name:
            self.made[name] = self.names[name]
        return None


def facts(t: Any) -> list[Any]:
    """What must be the same of a tensor, apart from its values."""
    try:
        history = t.is_leaf
    except RuntimeError:  # of a view whose history has no meaning any more
        history = None
    strides = [s for s, n in zip(t.stride(), t.shape) if n > 1 and t.numel()]  # those of others have no meaning
    return [str(t.dtype).partition(".")[2], tuple(t.shape), strides, t.requires_grad, history, t._version]


def differ(mine: Any, other: Any, tolerance: float, version: bool = True) -> str:
    """How two tensors differ, if they do."""
    if mine is None or other is None:
        return "" if mine is other else f"{mine} instead of {other}"
    ours_are, theirs_are = facts(mine)[: None if version else -1], facts(other)[: None if version else -1]
    if ours_are != theirs_are:
        return f"{ours_are} instead of {theirs_are}"
    dtype = theirs_are[0]
    wide = "complex128" if "complex" in dtype else "float64"
    a, b = (t.detach().to(getattr(lib, wide)).numpy() for t, lib in ((mine, ours), (other, theirs)))
    if np.allclose(a, b, tolerance, tolerance * (1 + np.abs(b[np.isfinite(b)]).max(initial=0)), equal_nan=True):
        return ""
    return f"{a.tolist()} instead of {b.tolist()}"


def check(rng: random.Random) -> tuple[list[str], str, str]:
    """Run a program; its lines, what they end in, and how the two differ, if they do."""
    runs, done = (Run(ours), Run(theirs)), []
    mine, other = runs
    for name, pattern in program(rng):
        if "{a}" in pattern:
            a, b = rng.choice(list(other.made)), rng.choice(list(other.made))
            pattern = pattern.replace("{a}", a).replace("{b}", b)
        done.append(pattern)
        errors = [run.do(name, pattern) for run in runs]
        if OVERLAP in str(errors[1]) and errors[0] is None:  # what is read is what was there before
            return done, "an overlap", ""
        if difference := differing_errors(*errors) or state(mine, other):
            return done, "", difference
        if errors[1] is not None:
            done.pop()
    for run in runs:
        run.names["made"] = list(run.made.values())
    errors = [run.do("", END) for run in runs]
    done.append(END)
    return (
        done,
        "an error" if errors[1] else "gradients",
        differing_errors(*errors) or state(mine, other, grads=errors[1] is None),
    )


def differing_errors(mine: BaseException | None, other: BaseException | None) -> str:
    if type(mine) is type(other) or mine is not None and other is not None and isinstance(mine, type(other)):
        return ""
    return f"{mine!r} instead of {other!r}"


def state(mine: Run, other: Run, grads: bool = False) -> str:
    """How what there is differs, to what the narrowest type has."""
    tolerance = max(TOLERANCE.get(facts(t)[0], 1e-9) for t in other.made.values())
    for name, tensor in other.made.items():
        if difference := differ(mine.made[name], tensor, tolerance):
            return f"{name}: {difference}"
        if (
            grads
            and name.startswith("x")
            and (difference := differ(mine.made[name].grad, tensor.grad, tolerance, version=False))
        ):
            return f"{name}.grad: {difference}"
    if len(mine.seen) != len(other.seen):
        return f"hooks saw {len(mine.seen)} gradients instead of {len(other.seen)}"
    if grads:
        for a, b in zip(mine.names["first"], other.names["first"]):
            if difference := differ(a, b, tolerance):
                return f"a gradient: {difference}"
    return next((f"a hook's: {d}" for a, b in zip(mine.seen, other.seen) if (d := differ(a, b, tolerance))), "")


def main(count: int, seed: int) -> int:
    warnings.simplefilter("ignore")
    theirs.set_num_threads(1)
    ends: Counter[str] = Counter()
    found = []
    for number in range(seed, seed + count):
        with np.errstate(all="ignore"):
            done, end, difference = check(random.Random(number))
        ends[end or "a difference"] += 1
        if difference:
            found.append((len(done), number, done, difference))
    for _, number, done, difference in sorted(found)[:20]:
        print(f"# seed {number}", *done, f"# {difference}", "", sep="\n")
    print(f"{count:,} programs, of which {ends['gradients']:,} end in gradients and {ends['an error']:,} in an error "
          f"of both; {len(found):,} differ")  # fmt: skip
    return bool(found)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(numbers + [27_000, 0][len(numbers) :])))
