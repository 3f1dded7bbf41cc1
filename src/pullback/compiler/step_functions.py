"""The functions of steps, which all plans of a process share, and the one that runs those of a plan.

Each step is a function of its part of a table: addresses of memory, symbolic floats as doubles, and, where it was
written for any size, sizes and strides. Steps that do the same have one function, in whatever plan they are, so that
what is compiled for other sizes or another branch compiles only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..kernels.codegen import jit, object_layout
from ..kernels.codegen.entry import as_function
from ..kernels.codegen.llvm_ir import F64, I64, PTR, Function, Value, module
from .schedule import MemRef


class StepTable:
    """The part of the table that one step reads.

    Attributes:
        keys: for each slot a root and an offset, whose address is there; ``("number", n)``, a symbolic float;
            ``("float", x)`` or ``("integer", n)``, x or n itself.
    """

    keys: list[tuple[Any, Any]]

    def __init__(
        self,
        memories: Sequence[MemRef],
        roots: Sequence[int] = (),
        numbers: Sequence[int] = (),
        floats: Sequence[float] = (),
        integers: Sequence[int] = (),
    ) -> None:
        self.keys = [*[(m.root, m.offset) for m in memories], *[(root, 0) for root in roots]]
        self.keys += [*[("number", n) for n in numbers], *[("float", x) for x in floats]]
        self.first_integer = len(self.keys)
        self.keys += [("integer", n) for n in integers]

    def pointer(self, f: Function, slot: int) -> Value:
        return f.load(f.at(f["table"], slot, I64), PTR)

    def double(self, f: Function, slot: int) -> Value:
        return f.load(f.at(f["table"], slot, F64), F64)

    def integers(self, f: Function) -> Iterator[Value]:
        """The integers, in order."""
        for slot in range(self.first_integer, len(self.keys)):
            yield f.load(f.at(f["table"], slot, I64), I64)


class StepFunction(NamedTuple):
    """Machine code of a step.

    Attributes:
        address: of ``void step(ptr table)``.
        text, declared: its LLVM IR.
    """

    address: int
    text: str
    declared: set[str]


class Emitter(Protocol):
    """Writes the function of a step.

    Attributes:
        key: equal for steps that have the same function.
        table: what it reads.
    """

    key: tuple[Any, ...]
    table: StepTable

    def emit(self, name: str) -> list[Function]:
        """The function of that name, behind those that it calls."""


compiled: dict[tuple[Any, ...], StepFunction] = {}  # by the keys of emitters


def compile_steps(emitters: Sequence[Emitter]) -> list[StepFunction]:
    """The functions of steps; those that are new become one module."""
    new: dict[tuple[Any, ...], StepFunction] = {}
    for e in emitters:
        if e.key not in compiled and e.key not in new:
            functions = e.emit(f"step{len(new)}.$$")
            text, declared = "\n".join([f.text() for f in functions]), set().union(*[f.declared for f in functions])
            new[e.key] = StepFunction(0, text, declared)
    if new:
        text = llvm_of([*new.values()])
        load = jit.load(lambda: text, text)
        compiled.update({key: new[key]._replace(address=load(f"step{i}.$$")) for i, key in enumerate(new)})
    return [compiled[e.key] for e in emitters]


def llvm_of(functions: Sequence[StepFunction]) -> str:
    """The text of a module of functions."""
    return "\n".join([*[f.text for f in functions], *sorted(set().union(*[f.declared for f in functions]))])


def descriptor(
    table: np.ndarray,
    arrays: Sequence[tuple[int, int, int]],
    numbers: Sequence[tuple[int, int]],
    calls: Sequence[tuple[int, int]],
) -> np.ndarray:
    """What :func:`runner` is told: which steps to run, and what it has to put into the table first.

    Args:
        arrays: the argument that is an array, an offset in bytes, and the slot for the address there.
        numbers: the argument that is a float, and its slot.
        calls: addresses of functions, in order, and where their part of the table begins.
    """
    address = table.__array_interface__["data"][0]
    parts = [n for group in (arrays, numbers, calls) for entry in group for n in entry]
    return np.array([address, len(arrays), len(numbers), len(calls), *parts], np.int64)


@cache
def runner() -> Callable[..., Any]:
    """The function that Python calls: of a descriptor, which it returns, and of what changes from call to call."""
    name = "run.$$"

    def write() -> str:
        return module(_emit_runner(name))

    return as_function("run", jit.load(write, "steps of a plan")(name))


def _emit_runner(name: str) -> tuple[Function, Value]:
    f = Function(name, [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    told = f.load(f["args"], PTR)
    at = f.load(f.at(told, object_layout.DATA // 8, I64), PTR)
    table = f.load(at, PTR)
    counts = [f.load(f.at(at, k, I64), I64) for k in (1, 2, 3)]

    def entries(at: Value, count: Value, size: int, use: Callable[..., None]) -> Value:
        """Use each entry of so many integers; where those of the next kind begin."""
        with f.loop(0, count) as i:
            use(*[f.load(f.at(f.at(at, i * size, I64), k, I64), I64) for k in range(size)])
        return f.at(at, count * size, I64)

    def argument(place: Value) -> Value:
        return f.load(f.at(f["args"], place, PTR), PTR)

    def put_address(place: Value, offset: Value, slot: Value) -> None:
        address = f.load(f.at(argument(place), object_layout.DATA // 8, I64), I64)
        f.store(address + offset, f.at(table, slot, I64))

    def put_number(place: Value, slot: Value) -> None:
        value = f.call("PyFloat_AsDouble", argument(place), returns=F64, external=True)
        f.store(value, f.at(table, slot, F64))

    def call(function: Value, part: Value) -> None:
        code = f.convert("inttoptr", function, PTR)
        f.line(f"call void {code.text}(ptr {f.at(table, part, I64).text})")

    at = entries(f.at(at, 4, I64), counts[0], 3, put_address)
    at = entries(at, counts[1], 2, put_number)
    entries(at, counts[2], 2, call)
    f.call("Py_IncRef", told, external=True)
    return f, told
