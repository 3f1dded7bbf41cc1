"""From instructions to steps: loops over many elementwise operations and sums at once, matrix products, calls of
Python.

Steps stand in a list and run in its order. An elementwise operation joins the first loop of its shape from which on all
that it needs is there, so that forward, backward and the optimizer's update of one shape become few loops. A value
exists in memory only if something outside of its loop needs it. Views cost nothing: they are other strides of the same
memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels.codegen.llvm_ir import F32, F64, I1, Type
from ..kernels.codegen.scalar import Scalar, cast, traced, with_arguments
from .ir import Instruction, Program, Ref, Value, refs
from .schedule import OF, Call, Check, Kernel, Loop, Memory

ndarray = np.ndarray
MOST = 240  # operations in one loop
REPEATED = 4  # operations that a loop rather does once more than it stores and another one loads what they give
SIMPLE = {"abs", "add", "and", "cast", "eq", "ge", "gt", "le", "lt", "mul", "ne", "neg", "or", "select", "sub", "xor"}


class Fusion:
    """The steps of a program.

    Attributes:
        steps: in the order in which they run.
        memory: where each value is that is in memory.
        home: the step that computes a value, for roots; -1 for inputs.
    """

    def __init__(self, program: Program, fixed: dict[int, ndarray]) -> None:
        self.program = program
        self.steps: list[Any] = []
        self.memory: dict[int, Memory] = {}
        self.home: dict[int, int] = {}
        self.inside: dict[int, int] = {}  # a value that an open loop computes -> the loop's place
        # of values that are cheap to compute: expression, arguments, type
        self.simple: dict[int, tuple[Scalar, Sequence[Any], Type]] = {}
        self.known: dict[Any, Scalar | None] = {}  # what functions do to one element of operands of some types
        self.numbers = {i.number for i in program.inputs if i.kind == "number"}
        self.random = {i.number for i in program.inputs if i.kind == "random"}
        self.checks: set[tuple[Any, ...]] = set()
        self.constants = {i.number: i.what for i in program.inputs if i.kind == "constant"}
        for i in program.inputs:
            v = program.values[i.number]
            like = fixed.get(i.number)
            self._own(i.number, np.empty(v.shape, v.dtype) if like is None else like, -1)

    # --- memory -------------------------------------------------------------------------------------------------

    def _own(self, number: int, like: ndarray, home: int) -> Memory:
        memory = self.memory[number] = Memory(number, like, 0)
        self.home[number] = home
        return memory

    def fresh(self, shape: tuple[int, ...], dtype: np.dtype) -> int:
        """The number of a value that the steps need besides the program's."""
        self.program.values.append(Value(shape, dtype))
        return len(self.program.values) - 1

    def in_memory(self, number: int) -> Memory:
        """Where a value is; a loop that keeps it to itself is told to store it."""
        memory = self.memory.get(number)
        if memory is None:
            loop = self.steps[self.inside[number]]
            v = self.program.values[number]
            memory = self._own(number, np.empty(v.shape, v.dtype), self.inside[number])
            loop.stores.append((loop.values[number], memory))
        return memory

    def ready(self, number: int) -> int:
        """The place from which on a value can be read from memory."""
        if number in self.memory:
            return self.home[self.memory[number].root] + 1
        return self.inside[number] + 1

    def in_memory_if(self, suits: Callable[[ndarray], bool], x: Ref) -> Memory:
        """Where a value is, or a copy of it in rows, if it does not lie as something demands."""
        memory = self.in_memory(x.number)
        if suits(memory.like):
            return memory
        v = self.program.values[x.number]
        copy, like = self.fresh(v.shape, v.dtype), np.empty(v.shape, v.dtype)
        memory = Memory(copy, like, 0)
        self._own(copy, like, self.copy_into(x.number, memory))
        return memory

    def in_rows(self, x: Ref) -> Memory:
        """Where a value is, without gaps and its last dimension the innermost."""
        return self.in_memory_if(lambda like: like.flags.c_contiguous, x)

    def value(self, x: Ref | None) -> Any:
        """What is known of a value."""
        return None if x is None else self.program.values[x.number]

    def is_zero(self, x: Ref) -> bool:
        """Whether a value is known to be 0."""
        return x.number in self.constants and not self.constants[x.number].any()

    def result(self, number: int, like: ndarray | None = None) -> Memory:
        """Memory for a value that the next step computes."""
        v = self.program.values[number]
        return self._own(number, np.empty(v.shape, v.dtype) if like is None else like, len(self.steps))

    def room(self, shape: tuple[int, ...], dtype: np.dtype, like: ndarray | None = None) -> Memory:
        """Memory for something that the next step computes besides."""
        return self.result(self.fresh(shape, dtype), like)

    def filled(self, number: int, value: float) -> Memory:
        """Memory in which a loop puts a number."""
        v = self.program.values[number]
        at = self.inside[number] = self.loop_for(v.shape, OF[v.dtype], [])
        self.steps[at].values[number] = Scalar("number", (value,), OF[v.dtype])
        return self.in_memory(number)

    def column(self, x: Ref) -> Ref:
        """A row as a column."""
        memory, v = self.in_memory(x.number), self.program.values[x.number]
        number = self.fresh((*v.shape, 1), v.dtype)
        self.memory[number] = memory.showing(memory.like[:, None])
        return Ref(number)

    def turned(self, x: Ref) -> Ref:
        """The transpose of a matrix."""
        memory, v = self.in_memory(x.number), self.program.values[x.number]
        number = self.fresh(v.shape[::-1], v.dtype)
        self.memory[number] = memory.showing(memory.like.T)
        return Ref(number)

    def written_over(self, number: int) -> Memory:
        """The memory of a value, which the next step writes over with what the value is from then on."""
        memory = self.in_memory(number)
        self.home[memory.root] = len(self.steps)
        return memory

    def filled_by(self, x: Ref, target: Memory) -> None:
        """Let a part of some memory be a copy of a value."""
        self.home[target.root] = max(self.home[target.root], self.copy_into(x.number, target))

    def checked(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> None:
        """Let a function look, in each run, at integers not all of which lie in ``range(below)``, and raise if
        something is wrong.
        """
        key = function, x.number, below, options
        if x.number in self.constants:
            function(self.constants[x.number], below, *options)
        elif key not in self.checks:
            given = self.in_memory(x.number)
            self.steps.append(Check(function, given, self.room((1,), np.dtype(np.uint64)), below, *options))
        self.checks.add(key)

    def is_checked(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> bool:
        return (function, x.number, below, options) in self.checks

    def kernel(self, name: str, function: Callable, given: Sequence[Any], written: Sequence[Memory]) -> None:
        self.steps.append(Kernel(name, function, given, written))

    def call(self, step: Instruction) -> None:
        """Add a step that calls the op of an instruction."""
        read = {self.in_memory(n).root for n in refs(step.args) if n not in self.numbers}
        for n in step.outs:
            v = self.program.values[n]
            self._own(n, np.empty(v.shape, v.dtype), len(self.steps))
        self.steps.append(Call(step, read))

    # --- elementwise --------------------------------------------------------------------------------------------

    def loop_for(self, shape: tuple[int, ...], kind: Type, operands: Sequence[int]) -> int:
        """The place of the first loop that can compute something of this shape from these values."""
        earliest = 0
        for n in operands:
            if n in self.numbers:
                continue
            at = self.inside.get(n)
            if at is not None and self.steps[at].shape == shape and self.steps[at].kind == kind:
                earliest = max(earliest, at)
            else:
                earliest = max(earliest, self.ready(n))
        for at in range(earliest, len(self.steps)):
            loop = self.steps[at]
            if loop.__class__ is Loop and loop.shape == shape and loop.kind == kind and len(loop.values) < MOST:
                return at
        self.steps.append(Loop(shape, kind))
        return len(self.steps) - 1

    def element(self, at: int, number: int) -> Scalar:
        """A value's element, in the loop at a place."""
        loop = self.steps[at]
        if number in self.numbers:
            return loop.number(number)
        if number in loop.values:
            return loop.values[number]
        if number not in self.memory and self._repeats(at, number):
            return self._computed(at, number, *self.simple[number][:2])
        return loop.load(self.in_memory(number))

    def _computed(self, at: int, number: int, x: Scalar, args: Sequence[Any]) -> Scalar:
        """Let a loop compute a value by an expression of the arguments."""
        x = with_arguments(x, [self.element(at, a.number) if a.__class__ is Ref else a for a in args])
        x = self.steps[at].values[number] = cast(x, self.program.values[number].dtype)
        return x

    def _repeats(self, at: int, number: int) -> bool:
        """Whether a loop should compute what an earlier one has: if that takes few operations and one load at most."""
        loop, loads, count = self.steps[at], set(), 0
        todo = [number]
        while todo and count <= REPEATED:
            n = todo.pop()
            if n in self.numbers or n in loop.values:
                continue
            if n in self.memory:
                loads.add(self.memory[n].over(loop.shape).key)
                continue
            made = self.simple.get(n)
            if made is None or made[2] != loop.kind or self.program.values[n].shape != loop.shape:
                return False
            count += 1
            todo += refs(list(made[1]))
        return count <= REPEATED and len(loads - loop.loads.keys()) <= 1

    def kind_of(self, numbers: Sequence[int]) -> Type | None:
        """The type to compute in; None if there are no loops for these types."""
        types = {OF.get(self.program.values[n].dtype) for n in numbers if n not in self.numbers}
        if None in types:
            return None
        return F64 if F64 in types else F32 if F32 in types else None

    def elementwise(self, function: Any, args: Sequence[Any], out: int, compute: np.dtype | None) -> bool:
        """Let a loop compute a function of elements; False if it can't be followed."""
        operands = list(dict.fromkeys(refs(list(args))))
        v = self.program.values[out]
        kind = self.kind_of([*operands, out]) or (
            F32
            if OF.get(v.dtype) == I1
            and all(n in self.numbers or OF.get(self.program.values[n].dtype) == I1 for n in operands)
            else None
        )
        if kind is None or 0 in v.shape or math.prod(v.shape) == 0:
            return False
        x = self._expression(function, args, kind, compute)
        if x is None:
            return False
        at = self.loop_for(v.shape, kind, operands)
        self._computed(at, out, x, args)
        self.inside[out] = at
        if _operations(x) <= REPEATED:
            self.simple[out] = x, args, kind
        return True

    def _expression(self, function: Any, args: Sequence[Any], kind: Type, compute: np.dtype | None) -> Scalar | None:
        """What a function does to one element of each argument, cast before; None if it can't be followed."""
        types = [
            None
            if a.__class__ is not Ref
            else kind
            if a.number in self.numbers
            else OF[self.program.values[a.number].dtype]
            for a in args
        ]
        given = [
            a if t is None else Scalar.argument(i, t, a.number in self.numbers)
            for i, (a, t) in enumerate(zip(args, types))
        ]
        key = function, compute, *[repr(x) if t is None else (t, x.operands) for x, t in zip(given, types)]
        if key not in self.known:
            self.known[key] = traced(lambda *given: function(*_cast(given, compute)), given)
        return self.known[key]

    def sum(self, number: int, dims: Sequence[int], out: int) -> bool:
        """Let a loop sum a value over dimensions; ``out`` has them kept, or not."""
        v = self.program.values[number]
        kind = self.kind_of([number])
        if kind is None or OF[v.dtype] == I1 or 0 in v.shape:
            return False
        at = self.loop_for(v.shape, kind, [number])
        loop, o = self.steps[at], self.program.values[out]
        memory = self._own(out, np.empty(o.shape, o.dtype), at)
        kept = memory.like.reshape([1 if d in dims else n for d, n in enumerate(v.shape)])
        loop.sums.append((self.element(at, number), Memory(out, np.broadcast_to(kept, v.shape), 0)))
        loop.clears.append(out)
        return True

    def copy(self, out: int, x: Ref) -> bool:
        """Let a loop copy, and cast, a value."""
        return self.elementwise(lambda a: a, [x], out, None)

    def copy_into(self, number: int, target: Memory) -> int:
        """Let a loop copy a value to a place in memory; where it does."""
        at = self.loop_for(target.like.shape, self.kind_of([number]) or F32, [number])
        self.steps[at].stores.append((self.element(at, number), target))
        return at


def _cast(values: Sequence[Any], dtype: np.dtype | None) -> list[Any]:
    if dtype is None:
        return list(values)
    return [
        cast(v, dtype) if isinstance(v, Scalar) and v.type in OF.values() and v.dtype != dtype else v for v in values
    ]


def _operations(x: Scalar) -> float:
    """How many simple operations an expression is made of; infinity if others are among them."""
    if x.op in ("argument", "number"):
        return 0
    return 1 + sum(map(_operations, x.operands)) if x.op in SIMPLE else math.inf
