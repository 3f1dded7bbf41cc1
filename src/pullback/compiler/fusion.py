"""Loop fusion: elementwise operations and sums of one shape share a loop nest, and values that stay in it no memory.

Lowerings (:mod:`.lowering`) append to a schedule of steps, which run in order. An elementwise operation joins the first
loop of its shape from which on all its operands are available, so that forward, backward and the optimizer's update of
one shape become few loops. A value is materialized, that is stored in memory, only if something outside of its loop
needs it; what is cheap to compute is rather computed again (rematerialized). Views are references to the same memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import HALVES
from ..kernels.codegen.elementwise import STORED, compute_type
from ..kernels.codegen.llvm_ir import BF16, F16, F32, F64, I1, Type
from ..kernels.codegen.scalar import Scalar, cast, rounded, substitute, trace_scalar
from .ir import Instruction, Program, Ref, Value, refs
from .schedule import SCALAR_TYPES, EagerCall, KernelCall, LoopNest, MemRef, RangeCheck

ndarray = np.ndarray
SINGLE = np.dtype(np.float32)
MAX_LOOP_OPERATIONS = 240
MAX_REMATERIALIZED = 4  # operations that a loop repeats rather than that it loads what another one stores
# opcodes of scalar expressions that take about one machine instruction
CHEAP = {"abs", "add", "and", "cast", "eq", "ge", "gt", "le", "lt", "mul", "ne", "neg", "or", "select", "sub", "xor"}


class Fusion:
    """The schedule of a program while it is made; what lowerings are handed.

    Attributes:
        steps: in the order in which they run.
        memory: where each value is that is in memory.
        defined_at: for roots, the index of the step that computes it; -1 for inputs.
        loop_of: for values that loops compute, the index of the loop.
        numbers: the inputs that are symbolic floats.
    """

    def __init__(self, program: Program, fixed: dict[int, ndarray]) -> None:
        self.program = program
        self.steps: list[Any] = []
        self.memory: dict[int, MemRef] = {}
        self.defined_at: dict[int, int] = {}
        self.loop_of: dict[int, int] = {}
        self.numbers = {i.number for i in program.inputs if i.kind == "number"}
        self._cheap: dict[int, tuple[Scalar, Sequence[Any], Type]] = {}  # of cheap values: expression, arguments, type
        self._expressions: dict[Any, Scalar | None] = {}  # of functions, by the types of their operands
        self._range_checks: set[tuple[Any, ...]] = set()
        self._constants = {i.number: i.source for i in program.inputs if i.kind == "constant"}
        for i in program.inputs:
            v = program.values[i.number]
            like = fixed.get(i.number)
            self.allocate_at(i.number, np.empty(v.shape, v.dtype) if like is None else like, -1)

    # --- values -------------------------------------------------------------------------------------------------

    def value(self, x: Ref | None) -> Any:
        """Shape and type of a value."""
        return None if x is None else self.program.values[x.number]

    def new_value(self, shape: tuple[int, ...], dtype: np.dtype) -> int:
        """The number of a value that steps need besides those of the program."""
        self.program.values.append(Value(shape, dtype))
        return len(self.program.values) - 1

    def is_zero(self, x: Ref) -> bool:
        """Whether a value is a constant 0."""
        return x.number in self._constants and not self._constants[x.number].any()

    # --- memory -------------------------------------------------------------------------------------------------

    def allocate_at(self, number: int, like: ndarray, step: int) -> MemRef:
        """Let a value own memory in the layout of an array, which a step writes."""
        memory = self.memory[number] = MemRef(number, like, 0)
        self.defined_at[number] = step
        return memory

    def materialize(self, number: int) -> MemRef:
        """Where a value is; a loop that computes it without storing it is told to store it."""
        memory = self.memory.get(number)
        if memory is None:
            at, v = self.loop_of[number], self.program.values[number]
            memory = self.allocate_at(number, np.empty(v.shape, v.dtype), at)
            self.steps[at].stores.append((self.steps[at].values[number], memory))
        return memory

    def in_layout(self, suits: Callable[[ndarray], bool], x: Ref) -> MemRef:
        """Where a value is, or a copy of it in C order, if its layout does not suit."""
        memory = self.materialize(x.number)
        if suits(memory.like):
            return memory
        v = self.program.values[x.number]
        copy, like = self.new_value(v.shape, v.dtype), np.empty(v.shape, v.dtype)
        memory = MemRef(copy, like, 0)
        self.allocate_at(copy, like, self.store_at(x.number, memory))
        return memory

    def contiguous(self, x: Ref) -> MemRef:
        """Where a value, or a copy of it, is in C order without gaps."""
        return self.in_layout(lambda like: like.flags.c_contiguous, x)

    def allocate(self, number: int, like: ndarray | None = None) -> MemRef:
        """Memory for a value that the next step computes."""
        v = self.program.values[number]
        return self.allocate_at(number, np.empty(v.shape, v.dtype) if like is None else like, len(self.steps))

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype, like: ndarray | None = None) -> MemRef:
        """Memory for something that the next step computes besides."""
        return self.allocate(self.new_value(shape, dtype), like)

    def full(self, number: int, fill_value: float) -> MemRef:
        """Memory for a value that a loop fills with a number."""
        v = self.program.values[number]
        at = self.loop_of[number] = self._find_loop(v.shape, SCALAR_TYPES[v.dtype], [])
        self.steps[at].values[number] = Scalar("number", (fill_value,), SCALAR_TYPES[v.dtype])
        return self.materialize(number)

    def as_column(self, x: Ref) -> Ref:
        """A vector as a matrix of one column, in the same memory."""
        memory, v = self.materialize(x.number), self.program.values[x.number]
        number = self.new_value((*v.shape, 1), v.dtype)
        self.memory[number] = memory.view(memory.like[:, None])
        return Ref(number)

    def transposed(self, x: Ref) -> Ref:
        """The transpose of a matrix, in the same memory."""
        memory, v = self.materialize(x.number), self.program.values[x.number]
        number = self.new_value(v.shape[::-1], v.dtype)
        self.memory[number] = memory.view(memory.like.T)
        return Ref(number)

    def overwritten(self, number: int) -> MemRef:
        """The memory of a value, into which the next step writes what the value is from then on."""
        memory = self.materialize(number)
        self.defined_at[memory.root] = len(self.steps)
        return memory

    def _available_from(self, number: int) -> int:
        """The index of the first step that can read a value from memory."""
        if number in self.memory:
            return self.defined_at[self.memory[number].root] + 1
        return self.loop_of[number] + 1

    # --- calls --------------------------------------------------------------------------------------------------

    def call_kernel(self, name: str, function: Callable, args: Sequence[Any], written: Sequence[MemRef]) -> None:
        """Append the call of a kernel."""
        self.steps.append(KernelCall(name, function, args, written))

    def call_eagerly(self, instruction: Instruction) -> None:
        """Append the call of an instruction's op, in Python."""
        read = {self.materialize(n).root for n in refs(instruction.args) if n not in self.numbers}
        for n in instruction.outs:
            self.allocate(n)
        self.steps.append(EagerCall(instruction, read))

    def check_range(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> None:
        """Append a check that integers are in ``range(below)``, once; see :class:`.schedule.RangeCheck`."""
        key = function, x.number, below, options
        if x.number in self._constants:
            function(self._constants[x.number], below, *options)
        elif key not in self._range_checks:
            operand = self.materialize(x.number)
            largest = self.scratch((1,), np.dtype(np.uint64))
            self.steps.append(RangeCheck(function, operand, largest, below, *options))
        self._range_checks.add(key)

    def is_range_checked(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> bool:
        return (function, x.number, below, options) in self._range_checks

    # --- loops --------------------------------------------------------------------------------------------------

    def elementwise(self, function: Any, args: Sequence[Any], out: int, dtype: np.dtype | None) -> bool:
        """Let a loop compute a function of elements, cast to a type before; False if the function can't be traced."""
        operands = list(dict.fromkeys(refs(list(args))))
        v = self.program.values[out]
        type = self._elementwise_type([*operands, out])
        if type is None or math.prod(v.shape) == 0:
            return False
        x = self._expression(function, args, type, dtype)
        if x is None:
            return False
        at = self._find_loop(v.shape, type, operands)
        self._define(at, out, x, args)
        self.loop_of[out] = at
        if _cheap_operations(x) <= MAX_REMATERIALIZED:
            self._cheap[out] = x, args, type
        return True

    def sum(self, number: int, dims: Sequence[int], out: int) -> bool:
        """Let a loop sum a value over dimensions; ``out`` has them kept, or not. A sum of half precision is one of
        single precision, rounded if ``out`` is.
        """
        v, o = self.program.values[number], self.program.values[out]
        type = self._elementwise_type([number])
        if type is None or STORED[v.dtype] == I1 or 0 in v.shape:
            return False
        if o.dtype in HALVES:
            total = self.new_value(o.shape, SINGLE)
            return self.sum(number, dims, total) and self.copy(out, Ref(total))
        at = self._find_loop(v.shape, type, [number])
        loop = self.steps[at]
        memory = self.allocate_at(out, np.empty(o.shape, o.dtype), at)
        kept = memory.like.reshape([1 if d in dims else n for d, n in enumerate(v.shape)])
        loop.sums.append((self._operand(at, number), MemRef(out, np.broadcast_to(kept, v.shape), 0)))
        loop.cleared.append(out)
        return True

    def copy(self, out: int, x: Ref) -> bool:
        """Let a loop copy, and cast, a value."""
        return self.elementwise(lambda a: a, [x], out, None)

    def copy_to(self, x: Ref, target: MemRef) -> None:
        """Let a loop copy a value to a part of some memory, which is then available later."""
        self.defined_at[target.root] = max(self.defined_at[target.root], self.store_at(x.number, target))

    def store_at(self, number: int, target: MemRef) -> int:
        """Let a loop store a value at a place in memory; the loop's index."""
        at = self._find_loop(target.like.shape, self.loop_type([number]) or F32, [number])
        self.steps[at].stores.append((self._operand(at, number), target))
        return at

    def loop_type(self, numbers: Sequence[int]) -> Type | None:
        """The type in which a loop computes with these values; None if loops can't."""
        types = {SCALAR_TYPES.get(self.program.values[n].dtype) for n in numbers if n not in self.numbers}
        if None in types:
            return None
        return F64 if F64 in types else F32 if F32 in types else None

    def _elementwise_type(self, numbers: Sequence[int]) -> Type | None:
        """The same for an elementwise operation, which half precision takes part in, too, and bools alone."""
        types = {STORED.get(self.program.values[n].dtype) for n in numbers if n not in self.numbers}
        if None in types or F64 in types and (F16 in types or BF16 in types):
            return None
        return F64 if F64 in types else F32

    def _find_loop(self, shape: tuple[int, ...], type: Type, operands: Sequence[int]) -> int:
        """The index of the first loop that can compute something of this shape from these values, or of a new one."""
        earliest = 0
        for n in operands:
            if n in self.numbers:
                continue
            at = self.loop_of.get(n)
            if at is not None and self.steps[at].shape == shape and self.steps[at].type == type:
                earliest = max(earliest, at)
            else:
                earliest = max(earliest, self._available_from(n))
        for at in range(earliest, len(self.steps)):
            loop = self.steps[at]
            if (
                loop.__class__ is LoopNest
                and loop.shape == shape
                and loop.type == type
                and len(loop.values) < MAX_LOOP_OPERATIONS
            ):
                return at
        self.steps.append(LoopNest(shape, type))
        return len(self.steps) - 1

    def _operand(self, at: int, number: int) -> Scalar:
        """The expression of a value's element in the loop at an index: computed there, there again, or loaded."""
        loop = self.steps[at]
        if number in self.numbers:
            return loop.number(number)
        if number in loop.values:
            return loop.values[number]
        if number not in self.memory and self._is_rematerialized(at, number):
            return self._define(at, number, *self._cheap[number][:2])
        return loop.load(self.materialize(number))

    def _define(self, at: int, number: int, x: Scalar, args: Sequence[Any]) -> Scalar:
        """Let a loop compute a value by an expression of the arguments."""
        x = substitute(x, [self._operand(at, a.number) if a.__class__ is Ref else a for a in args])
        stored = STORED[self.program.values[number].dtype]
        x = rounded(cast(x, SINGLE), stored) if stored in (F16, BF16) else cast(x, self.program.values[number].dtype)
        self.steps[at].values[number] = x
        return x

    def _is_rematerialized(self, at: int, number: int) -> bool:
        """Whether a loop computes what an earlier one has: if that takes few operations, and one load at most."""
        loop, loads, count = self.steps[at], set(), 0
        todo = [number]
        while todo and count <= MAX_REMATERIALIZED:
            n = todo.pop()
            if n in self.numbers or n in loop.values:
                continue
            if n in self.memory:
                loads.add(self.memory[n].broadcast_to(loop.shape).key)
                continue
            cheap = self._cheap.get(n)
            if cheap is None or cheap[2] != loop.type or self.program.values[n].shape != loop.shape:
                return False
            count += 1
            todo += refs(list(cheap[1]))
        return count <= MAX_REMATERIALIZED and len(loads - loop.loads.keys()) <= 1

    def _expression(self, function: Any, args: Sequence[Any], type: Type, dtype: np.dtype | None) -> Scalar | None:
        """The scalar expression of a function of elements, cast to a type before; None if it can't be traced."""
        types = [
            None
            if a.__class__ is not Ref
            else type
            if a.number in self.numbers
            else compute_type(STORED[self.program.values[a.number].dtype])
            for a in args
        ]
        given = [
            a if t is None else Scalar.argument(i, t, a.number in self.numbers)
            for i, (a, t) in enumerate(zip(args, types))
        ]
        key = function, dtype, *[repr(x) if t is None else (t, x.operands) for x, t in zip(given, types)]
        if key not in self._expressions:
            self._expressions[key] = trace_scalar(lambda *given: function(*_cast(given, dtype)), given)
        return self._expressions[key]


def _cast(values: Sequence[Any], dtype: np.dtype | None) -> list[Any]:
    """Expressions among the values cast to a type."""
    if dtype is None:
        return list(values)
    return [
        cast(v, dtype) if isinstance(v, Scalar) and v.type in SCALAR_TYPES.values() and v.dtype != dtype else v
        for v in values
    ]


def _cheap_operations(x: Scalar) -> float:
    """How many cheap operations an expression is made of; infinity if others are among them."""
    if x.op in ("argument", "number"):
        return 0
    return 1 + sum(map(_cheap_operations, x.operands)) if x.op in CHEAP else math.inf
