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
    {a}.unbind()[0]; {a}.chunk(2)[0]; {a}[:, None]; {a}.real; {a}.view_as({a}); {a}[::2]; {a}.flatten();
    {a}.detach().requires_grad_()
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
    {a}.retain_grad()
""")
# What PyTorch refuses and has a meaning here: what is read is what was there before; views follow their base.
REFUSED = "to a single memory location", "function that returns multiple views", "please report", "an invalid gradient"
EXPANDED = "more than one element of the written-to tensor"  # here it is refused, in all functions
OVERWRITTEN = "has been modified by an inplace operation"  # perhaps here a copy was saved
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
ends = [t for t in made.values() if t.requires_grad and t.numel()]
total = sum(torch.real(t).double().sin().sum() for t in ends)
leaves = [t for t in made.values() if t.is_leaf and t.requires_grad]
first = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
second = [g for g in first if g is not None and g.requires_grad]
if second: sum(torch.real(g).double().square().sum() for g in second).backward()
"""


class Run:
    """One program in one of the two libraries."""

    def __init__(self, library: Any) -> None:
        self.seen: list[Any] = []
        self.made: dict[str, Any] = {}
        self.names: dict[str, Any] = {"torch": library, "seen": self.seen, "made": self.made}

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
    strides = [s for s, n in zip(t.stride(), t.shape) if n > 1 and t.numel()]  # those of others have no meaning
    return [str(t.dtype).partition(".")[2], tuple(t.shape), t.requires_grad, is_leaf(t), strides, t._version]


def differ(mine: Any, other: Any, tolerance: float, gradients: bool = True) -> str:
    """How two tensors, or gradients, differ, if they do."""
    if mine is None or other is None:
        return "" if mine is other else f"{mine} instead of {other}"
    ours_are, theirs_are = (facts(t)[: -2 if gradients else None] for t in (mine, other))
    if theirs_are[3] is None:  # here such a view follows its base
        ours_are[3] = None
    if ours_are != theirs_are:
        return f"{ours_are} instead of {theirs_are}"
    dtype = theirs_are[0]
    wide = "complex128" if "complex" in dtype else "float64"
    a, b = (t.detach().to(getattr(lib, wide), copy=True).numpy() for t, lib in ((mine, ours), (other, theirs)))
    if np.allclose(a, b, tolerance, tolerance * (1 + np.abs(b[np.isfinite(b)]).max(initial=0)), equal_nan=True):
        return ""
    return f"{a.tolist()} instead of {b.tolist()}"


def check(rng: random.Random) -> tuple[list[str], str, str]:
    """Run a program; its lines, what they end in, and how the two differ, if they do."""
    runs, names, done = (Run(ours), Run(theirs)), [], []
    mine, other = runs
    for name, pattern in program(rng):
        if "{a}" in pattern:
            a, b = rng.choice(list(other.made)), rng.choice(list(other.made))
            if not name and other.made[a].untyped_storage().data_ptr() == other.made[b].untyped_storage().data_ptr():
                b = a  # what PyTorch reads from memory that it is writing to depends
            pattern = pattern.replace("{a}", a).replace("{b}", b)
        names.append(name)
        done.append(pattern)
        sizes = {n: t.numel() for n, t in other.made.items()}
        errors = [run.do(name, pattern) for run in runs]
        grown = any(other.made[n].numel() > size for n, size in sizes.items())  # by out=: with memory of its own, here
        new = other.made.get(name)
        odd = new is not None and new._version and not new._is_view() and name[0] == "v"  # of some matrix products
        if grown or odd or known_difference(*errors) or any(map(goes_nowhere, other.made.values())):
            return done, "a known difference", ""
        if difference := differing_errors(*errors) or state(mine, other):
            return done, "", difference
        if errors[1] is not None:
            names.pop()
            done.pop()
    errors = [run.do("", END) for run in runs]
    if errors[0] is None and OVERWRITTEN in str(errors[1]):  # let PyTorch copy, too
        other = Run(theirs)
        with theirs.autograd.graph.allow_mutation_on_saved_tensors():
            for name, line in zip([*names, ""], [*done, END]):
                errors[1] = other.do(name, line)
    done.append(END)
    if known_difference(*errors):
        return done, "a known difference", ""
    return (
        done,
        "an error" if errors[1] else "gradients",
        differing_errors(*errors) or errors[1] is None and state(mine, other, grads=True) or "",
    )


def known_difference(mine: BaseException | None, other: BaseException | None) -> bool:
    """Whether what the two did of a line differs as docs/differences.md says."""
    return any(r in str(other) for r in REFUSED) or other is None and EXPANDED in str(mine)


def goes_nowhere(t: Any) -> bool:
    """Whether PyTorch records what is computed with a tensor, but drops its gradient, or that of its views.

    These are views made under ``no_grad``, leaves that are views of memory that was written into, and integers.
    """
    if not t.requires_grad or not (t._is_view() and is_leaf(t)):
        return t.requires_grad and not (t.is_floating_point() or t.is_complex())
    return t._base.requires_grad or t._version > 0


def is_leaf(t: Any) -> bool | None:
    """Whether a tensor is a leaf; None if PyTorch refuses to say, as the history of a view has no meaning any more."""
    try:
        return t.is_leaf
    except RuntimeError:
        return None


def differing_errors(mine: BaseException | None, other: BaseException | None) -> str:
    if mine is not None and "setStorage" in str(other):  # what is wrong, PyTorch notices late
        return ""
    if type(mine) is type(other) or {type(mine), type(other)} == {NotImplementedError, RuntimeError}:
        return ""
    return f"{mine!r} instead of {other!r}"


def state(mine: Run, other: Run, grads: bool = False) -> str:
    """How what there is differs, to what the narrowest type has."""
    tolerance = max(TOLERANCE.get(facts(t)[0], 1e-9) for t in other.made.values())
    if grads and tolerance == TOLERANCE["bfloat16"]:
        return ""  # sums of second derivatives cancel
    for name, tensor in other.made.items():
        if difference := differ(mine.made[name], tensor, tolerance, gradients=False):
            return f"{name}: {difference}"
        if grads and name.startswith("x") and (difference := differ(mine.made[name].grad, tensor.grad, tolerance)):
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
    for _, number, done, difference in sorted(found)[:60]:
        print(f"# seed {number}", *done, f"# {difference}", "", sep="\n")
    gradients, errors = ends["gradients"], ends["an error"]
    print(f"{count:,} programs: {gradients:,} end in gradients, {errors:,} in an error of both; {len(found):,} differ")
    return bool(found)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    sys.exit(main(*(numbers + [27_000, 0][len(numbers) :])))
