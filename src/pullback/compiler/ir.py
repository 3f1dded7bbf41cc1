"""The program that a trace writes down: instructions on numbered values, each computed once.

    %0 = argument 0: float32(8, 10)
    %5 = linear(%0, %1, %2): float32(8, 32)            # net.py:12

A value is an input (where it comes from says a :class:`Input`) or a result of an instruction. Instructions are calls of
the package's operations, with the arguments in the order of their signatures and a :class:`Ref` in the place of each
value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os.path import basename
from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes
from ..ops.gamma_dirichlet import _sample_dirichlet, _standard_gamma

RANDOM_OPS = {_standard_gamma.op, _sample_dirichlet.op}


class Ref(NamedTuple):
    """A value's number, as an operand."""

    number: int


class Value(NamedTuple):
    """What is known of a value: shape and type."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}".replace(" ", "")


@dataclass(slots=True, eq=False)
class Input:
    """A value that is there when the program starts.

    Attributes:
        kind: ``argument`` (``what`` is its place among the tensors that the function is given), ``tensor`` (what the
            tensor ``what`` holds), ``gradient`` (what its ``.grad`` holds), ``constant`` (the array ``what``),
            ``random`` (what the function ``what`` draws), or ``number`` (what the Python expression ``what`` gives).
        name: for reading.
    """

    number: int
    kind: str
    what: Any
    name: str


@dataclass(slots=True, eq=False)
class Instruction:
    """One operation.

    Attributes:
        args: its arguments.
        outs: the numbers of its results.
        line: file and line of the user's code.
    """

    op: Any
    args: tuple[Any, ...]
    outs: tuple[int, ...]
    line: tuple[str, int] | None = None


@dataclass(slots=True, eq=False)
class Program:
    """Inputs, instructions, and which values are asked for in the end.

    Attributes:
        values: what is known of each value, by number.
        wanted: the numbers of the results.
    """

    values: list[Value] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)

    def new(self, like: np.ndarray) -> int:
        """The number of a new value."""
        self.values.append(Value(like.shape, like.dtype))
        return len(self.values) - 1

    def draws(self) -> bool:
        """Whether there are random numbers."""
        return any([i.kind == "random" for i in self.inputs]) or any([is_random(step.op) for step in self.instructions])

    def __str__(self) -> str:
        lines = [f"%{i.number} = {i.name}: {self.values[i.number]}" for i in self.inputs]
        for step in self.instructions:
            outs = ", ".join(f"%{n}" for n in step.outs)
            kinds = ", ".join(str(self.values[n]) for n in step.outs)
            text = f"{outs} = {step.op.name}({', '.join(map(shown, step.args))}): {kinds}"
            lines.append(text if step.line is None else f"{text:<72}  # {basename(step.line[0])}:{step.line[1]}")
        return "\n".join([*lines, f"return {', '.join(f'%{n}' for n in self.wanted)}"])


def shown(arg: Any) -> str:
    """An argument as text."""
    if isinstance(arg, Ref):
        return f"%{arg.number}"
    if isinstance(arg, np.ndarray):
        return f"array{list(arg.shape)}"
    if arg.__class__ in (list, tuple):
        inside = ", ".join(map(shown, arg))
        return f"[{inside}]" if arg.__class__ is list else f"({inside}{',' * (len(arg) == 1)})"
    if isinstance(arg, slice):
        return ":".join(
            "" if x is None else str(x)
            for x in (arg.start, arg.stop) + ((arg.step,) if arg.step not in (None, 1) else ())
        )
    return (
        "..."
        if arg is ...
        else str(arg)
        if isinstance(arg, (int, float, bool, str, type(None)))
        else type(arg).__name__
    )


def refs(arg: Any) -> Iterator[int]:
    """The numbers of the values in an argument, or in a sequence of them."""
    if arg.__class__ is Ref:
        yield arg.number
    elif arg.__class__ in (list, tuple):
        for a in arg:
            yield from refs(a)
    elif arg.__class__ is slice:
        yield from refs((arg.start, arg.stop, arg.step))


def replaced(arg: Any, by: Callable[[int], Any]) -> Any:
    """An argument with something else for each of its values."""
    if arg.__class__ is Ref:
        return by(arg.number)
    if arg.__class__ in (list, tuple):
        return arg.__class__([replaced(a, by) for a in arg])
    return arg


class Rule:
    """A derivative rule as an operation.

    Attributes:
        of: the operation whose rule it is, if one's.
        gives: for each gradient that the rule is about, whether there is one.
        random: whether it draws random numbers.
    """

    kind = "rule"

    def __init__(self, name: str, impl: Callable, of: Any, gives: Sequence[bool], random: bool = False) -> None:
        self.name, self.impl, self.of, self.gives, self.random = name, impl, of, gives, random


def is_random(op: Any) -> bool:
    """Whether an operation draws random numbers: others at every call, wanted or not."""
    return op.random if isinstance(op, Rule) else op in RANDOM_OPS


def operands(step: Instruction) -> Sequence[int]:
    """The numbers of the values that an instruction takes."""
    return list(refs(step.args))


def computed_in(op: Any, args: Any, program: Program, numbers: set[int]) -> np.dtype | None:
    """The type that an elementwise operation casts its operands to."""
    operands = [
        replaced(
            args[i],
            lambda n: (
                0.5 if n in numbers else np.empty((1,) * min(len(program.values[n].shape), 1), program.values[n].dtype)
            ),
        )
        for i in op.tensors
    ]
    d = dtypes.result_type_of(operands)
    if op.result_category > d.category:
        d = dtypes.get_default_dtype() if op.result_category == dtypes.FLOATING else d
    return dtypes.FLOAT32 if d.is_floating_point and d.itemsize == 2 else d.numpy
