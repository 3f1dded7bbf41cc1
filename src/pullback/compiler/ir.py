"""The intermediate representation of a traced function: straight-line instructions in SSA form (JAX: jaxpr).

    %0 = argument 0: float32[8,10]
    %5 = linear(%0, %1, %2): float32[8,32]            # net.py:12

A value is an :class:`Input` or a result of an instruction, and is assigned once: nothing is written in place.
Instructions are calls of ops, with arguments in the order of the op's signature, and a :class:`Ref` for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os.path import basename
from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes
from ..ops.index import take_at


class Ref(NamedTuple):
    """A value as an operand, by its number."""

    number: int


class Value(NamedTuple):
    """The shape and type of a value (JAX: aval)."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}".replace(" ", "")


@dataclass(slots=True, eq=False)
class Input:
    """A value that is there when the program starts.

    Attributes:
        kind: where it comes from, as ``source`` says: ``argument`` (a place among the arguments that are tensors),
            ``tensor`` (a tensor from outside), ``gradient`` (a tensor, for its ``.grad``), ``constant`` (an array),
            ``random`` (a function that draws it), or ``number`` (a Python expression).
        name: what to print.
    """

    number: int
    kind: str
    source: Any
    name: str


@dataclass(slots=True, eq=False)
class Instruction:
    """A call of an op.

    Attributes:
        args: its arguments, bound in the order of the signature.
        outs: the numbers of its results.
        line: file and line of the user's code.
    """

    op: Any
    args: tuple[Any, ...]
    outs: tuple[int, ...]
    line: tuple[str, int] | None = None


@dataclass(slots=True, eq=False)
class Cut:
    """A place in a trace at which numbers are looked at.

    Attributes:
        instructions, inputs: how many there are before it.
        place: the user's file and line.
        bindings: variables, and the expressions of numbers that they stand for, computed here.
        conditions: expressions that have to be true for the program to go on.
    """

    instructions: int
    inputs: int
    place: str
    bindings: list[tuple[str, str]] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Program:
    """Inputs, instructions and outputs.

    Attributes:
        values: shape and type of each value, by number.
        outputs: the numbers of the values that are asked for.
        any_size: whether sizes vary from call to call, so that code is better written for any.
    """

    values: list[Value] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    any_size: bool = False

    def part(self, inputs: list[Input], instructions: list[Instruction], outputs: list[int]) -> Program:
        """Another program of the same values."""
        return Program(self.values, inputs, instructions, outputs, self.any_size)

    def add_value(self, like: np.ndarray) -> int:
        """The number of a new value of this shape and type."""
        self.values.append(Value(like.shape, like.dtype))
        return len(self.values) - 1

    def numbers(self) -> set[int]:
        """The numbers of inputs that are symbolic floats."""
        return {i.number for i in self.inputs if i.kind == "number"}

    def has_random_values(self) -> bool:
        """Whether a call draws random numbers."""
        return any([i.kind == "random" for i in self.inputs]) or any([step.op.random for step in self.instructions])

    def __str__(self) -> str:
        lines = [f"%{i.number} = {i.name}: {self.values[i.number]}" for i in self.inputs]
        for step in self.instructions:
            outs = ", ".join(f"%{n}" for n in step.outs)
            kinds = ", ".join(str(self.values[n]) for n in step.outs)
            text = f"{outs} = {step.op.name}({', '.join(map(format_arg, step.args))}): {kinds}"
            lines.append(text if step.line is None else f"{text:<72}  # {basename(step.line[0])}:{step.line[1]}")
        return "\n".join([*lines, f"return {', '.join(f'%{n}' for n in self.outputs)}"])


def format_arg(arg: Any) -> str:
    """An argument, as printed."""
    if isinstance(arg, Ref):
        return f"%{arg.number}"
    if isinstance(arg, np.ndarray):
        return f"array{list(arg.shape)}"
    if arg.__class__ in (list, tuple):
        inside = ", ".join(map(format_arg, arg))
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
    """The numbers of the values in an argument, alone or in lists, tuples and slices."""
    if arg.__class__ is Ref:
        yield arg.number
    elif arg.__class__ in (list, tuple):
        for a in arg:
            yield from refs(a)
    elif arg.__class__ is slice:
        yield from refs((arg.start, arg.stop, arg.step))


def map_refs(arg: Any, fn: Callable[[int], Any]) -> Any:
    """An argument with ``fn(number)`` for each of its values."""
    if arg.__class__ is Ref:
        return fn(arg.number)
    if arg.__class__ in (list, tuple):
        return arg.__class__([map_refs(a, fn) for a in arg])
    return arg


class OpaqueOp:
    """A function of arrays as an op that the compiler does not look into: a vjp, a draw, an optimizer's update.

    Attributes:
        impl: the function.
        vjp_of: the op whose vjp it is, if it is one's.
        grads_given: for each gradient of a vjp, whether it is among the results.
        random: whether it draws random numbers: calls are neither merged, nor folded, nor dropped as dead code.
    """

    kind, shape_depends_on_values = "opaque", False

    def __init__(
        self, name: str, impl: Callable, vjp_of: Any, grads_given: Sequence[bool], random: bool = False
    ) -> None:
        self.name, self.impl, self.vjp_of, self.grads_given, self.random = name, impl, vjp_of, grads_given, random


def has_shape_by_values(op: Any, args: Sequence[Any], values: Sequence[Value]) -> bool:
    """Whether a call's results have other shapes for other values of its arguments."""
    if op is not take_at.op:
        return bool(op.shape_depends_on_values)
    return any([i.__class__ is Ref and values[i.number].dtype.kind == "b" for i in args[1]])


def common_dtype(op: Any, args: Any, program: Program, numbers: set[int]) -> np.dtype:
    """The type that an elementwise op promotes its operands to, with scalars as Python numbers; see
    :func:`compute_dtype`.
    """
    operands = [
        map_refs(
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
    return d.numpy


def compute_dtype(common: np.dtype) -> np.dtype:
    """The type in which operands of a common type are computed with: single precision for half."""
    return dtypes.WIDE.get(common, common)


def number_beside(op: Any, value: Any, common: np.dtype) -> Any:
    """A number as an elementwise op takes it beside operands of a common type: half precision is compared with what it
    would hold itself.
    """
    wide = compute_dtype(common)
    if wide != common and op.number is dtypes.exact_number:
        value = (complex if wide.kind == "c" else float)(op.number(value, common))
    return op.number(value, wide)
