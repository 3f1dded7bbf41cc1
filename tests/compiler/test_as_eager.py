"""What a compiled call gives is what the eager call would give now: small programs, run both ways step by step.

``cases.txt`` has a name after ``###``, lines that run first, the function, and steps: after ``>>>`` an expression whose
value is compared, or a statement.
"""

from __future__ import annotations

import copy
import pathlib
import threading
from typing import Any

import pytest

import pullback

from . import compile

SOURCE = pathlib.Path(__file__).with_name("cases.txt").read_text(encoding="utf-8")
CASES = dict(part.split("\n", 1) for part in SOURCE.split("### ")[1:])
WORLD = """
import array, collections, contextvars, functools, itertools, operator, os, random, sys, time, types, weakref
import numpy as np, pullback as torch
from pullback import nn
tensor = torch.tensor
class M(nn.Module):
    factor = 2.0
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(tensor([1.0, 2.0]))
    def forward(self, x):
        return self.w * x * self.factor
class O:
    level = 1.0
    def __init__(self):
        self.k = 3.0
    def get(self):
        return self.k
class Other(O):
    def get(self):
        return 77.0
class Slots:
    __slots__ = ("a", "b")
class Asking:
    def __getattr__(self, name):
        raise KeyError(name)
class Sized:
    n = 1
    def __len__(self):
        return self.n
    def __iter__(self):
        return iter(range(self.n))
class Gives:
    def __init__(self):
        self.v = 1.0
    def __get__(self, obj, kind=None):
        return self.v
def leaf(*values):
    return tensor(values, requires_grad=True)
def after(y, *inputs):
    y.sum().backward()
    return [y.detach(), *[i.grad for i in inputs]]
x, o, m, one, two = tensor([1.0, 1.0]), O(), M(), tensor([1.0]), tensor([2.0])
"""


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", CASES)
def test_every_step_is_as_eagerly(name: str) -> None:
    program, *steps = CASES[name].replace("\n... ", "\n").split("\n>>> ")
    eager, compiled = ([run(step, world) for step in steps] for world in (begin(program, w) for w in (False, True)))
    for step, a, b in zip(steps, eager, compiled):
        assert same(a, b), f"{step}: {a} eagerly, {b} compiled"


def begin(program: str, compiled: bool) -> dict[str, Any]:
    """The variables of a program, of which ``f`` is compiled or not."""
    world: dict[str, Any] = {"__name__": "world"}
    exec(WORLD + program, world)  # noqa: S102
    if compiled:
        world["f"] = pullback.compile(world["f"])
    return world


def run(step: str, world: dict[str, Any]) -> Any:
    """The value of a step, or what it raises."""
    try:
        code = builtin_compile(step, "<step>", "eval")
    except SyntaxError:
        code = builtin_compile(step, "<step>", "exec")
    try:
        return copy.deepcopy(eval(code, world))  # noqa: S307
    except (RuntimeError, ValueError, NameError) as error:
        return type(error).__name__


builtin_compile = __builtins__["compile"] if isinstance(__builtins__, dict) else __builtins__.compile


def same(a: Any, b: Any) -> bool:
    if type(a).__name__ != type(b).__name__:
        return False
    if isinstance(a, pullback.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and pullback.allclose(a.double(), b.double(), equal_nan=True)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "tolist"):
        return bool(a.tolist() == b.tolist())
    return not isinstance(a, (int, float, str)) or a == b


def test_other_threads_see_plain_tensors_while_one_is_traced() -> None:
    net = pullback.nn.Linear(4, 4)
    x = pullback.ones(2, 4)
    expected, failures, stop = net(x).tolist(), [], threading.Event()

    def infer() -> None:
        while not stop.is_set():
            try:
                with pullback.no_grad():
                    y = net(x)
                if y.tolist() != expected or net.weight.sum().item() != net.weight.detach().numpy().sum():
                    failures.append("other numbers")
            except Exception as error:
                failures.append(repr(error))

    thread = threading.Thread(target=infer)
    thread.start()
    for _ in range(30):
        compile(lambda x: net(x) * 2)(x)
    stop.set()
    thread.join()
    assert not failures


def test_random_programs() -> None:
    """A few of those that ``random_programs`` makes; it runs for hours by hand."""
    from .random_programs import disagreement

    for seed in range(15):
        text, _ = disagreement(seed)
        assert not text, text
