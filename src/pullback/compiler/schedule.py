"""The steps of a plan, in the order in which they run: each reads and writes memory.

loop [1024, 48] float: 2 operations, 3 loads, stores %64
product %61 @ %34: [1024, 48] @ [48, 48] to %62
kernel normalize(%31, %32, %64) to %65, %66, %67
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..kernels.codegen.elementwise import STORED, compute_type
from ..kernels.codegen.llvm_ir import F32, F64, I1, Type
from ..kernels.codegen.scalar import Scalar
from .ir import Instruction, refs

ndarray = np.ndarray
# the types that loops compute in; they load and store half precision, too
SCALAR_TYPES: dict[np.dtype, Type] = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.bool_): I1}


class MemRef:
    """Where a value's elements are (MLIR: memref).

    Attributes:
        root: the number of the value that owns the memory.
        like: an array of the same shape, type and strides.
        offset: in bytes, from the root's first element.
    """

    __slots__ = ("root", "like", "offset")

    def __init__(self, root: int, like: ndarray, offset: int) -> None:
        self.root, self.like, self.offset = root, like, offset

    def view(self, view: ndarray) -> MemRef:
        """The part of it that a view of :attr:`like` shows."""
        return MemRef(self.root, view, self.offset + _address(view) - _address(self.like))

    def broadcast_to(self, shape: tuple[int, ...]) -> MemRef:
        """The same memory for a larger shape, with stride 0 where it is repeated."""
        return self if self.like.shape == shape else MemRef(self.root, np.broadcast_to(self.like, shape), self.offset)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for references to the same elements in the same shape and type."""
        strides = tuple([0 if n == 1 else s for s, n in zip(self.like.strides, self.like.shape)])
        return self.root, self.offset, strides, self.like.dtype


def _address(a: ndarray) -> int:
    return a.__array_interface__["data"][0]


def _format_values(numbers: Iterable[int]) -> str:
    return ", ".join([f"%{n}" for n in numbers])


class LoopNest:
    """Elementwise operations on one shape, and sums over it: what fusion makes.

    Attributes:
        shape: of the elements that it goes through.
        type: the type that it computes in.
        values: the expressions of what it computes, by value number.
        loads: what it reads: the number of the argument in expressions, and the memory.
        numbers: symbolic floats that it takes, likewise.
        stores: pairs of an expression and where it goes.
        sums: pairs of an expression and where its sum goes, in the loop's shape: with stride 0 where it is summed.
        cleared: roots that are set to zero before.
    """

    def __init__(self, shape: tuple[int, ...], type: Type) -> None:
        self.shape, self.type = shape, type
        self.values: dict[int, Scalar] = {}
        self.loads: dict[tuple[Any, ...], tuple[int, MemRef]] = {}
        self.numbers: dict[int, int] = {}
        self.stores: list[tuple[Scalar, MemRef]] = []
        self.sums: list[tuple[Scalar, MemRef]] = []
        self.cleared: list[int] = []
        self.argument_count = 0

    def reads(self) -> set[int]:
        return {m.root for _, m in self.loads.values()}

    def writes(self) -> set[int]:
        return {m.root for _, m in self.stores} | {m.root for _, m in self.sums} | set(self.cleared)

    def load(self, memory: MemRef) -> Scalar:
        """The expression of an element in memory."""
        memory = memory.broadcast_to(self.shape)
        if memory.key not in self.loads:
            self.loads[memory.key] = self.argument_count, memory
            self.argument_count += 1
        index, memory = self.loads[memory.key]
        return Scalar.argument(index, compute_type(STORED[memory.like.dtype]))

    def number(self, n: int) -> Scalar:
        """The expression of a symbolic float."""
        if n not in self.numbers:
            self.numbers[n] = self.argument_count
            self.argument_count += 1
        return Scalar.argument(self.numbers[n], self.type, True)

    def __str__(self) -> str:
        parts = [f"loop {list(self.shape)} {self.type.name}: {len(self.values)} operations, {len(self.loads)} loads"]
        parts += [f"stores %{m.root}" for _, m in self.stores] + [f"sums %{m.root}" for _, m in self.sums]
        return ", ".join(parts)


class MatMul:
    """``out = a @ b`` for each of the leading (batch) dimensions."""

    def __init__(self, a: MemRef, b: MemRef, out: MemRef) -> None:
        self.a, self.b, self.out = a, b, out

    def reads(self) -> set[int]:
        return {self.a.root, self.b.root}

    def writes(self) -> set[int]:
        return {self.out.root}

    def __str__(self) -> str:
        shapes = (list(m.like.shape) for m in (self.a, self.b))
        return f"product %{self.a.root} @ %{self.b.root}: {' @ '.join(map(str, shapes))} to %{self.out.root}"


class KernelCall:
    """A call of a kernel of :mod:`pullback.kernels`, from Python but with memory of the plan. It can't fail.

    Attributes:
        args: numbers, and memory.
        written: the memory among them that it writes.
    """

    def __init__(self, name: str, function: Callable, args: Sequence[Any], written: Sequence[MemRef]) -> None:
        self.name, self.function, self.args, self.written = name, function, args, written

    def writes(self) -> set[int]:
        return {m.root for m in self.written}

    def reads(self) -> set[int]:
        return {m.root for m in self.args if m.__class__ is MemRef} - self.writes()

    def __str__(self) -> str:
        written = _format_values([m.root for m in self.written])
        return f"kernel {self.name}({_format_values(sorted(self.reads()))}) to {written}"


class EagerCall:
    """A call of the op's own forward function, in Python."""

    def __init__(self, instruction: Instruction, read: set[int]) -> None:
        self.instruction, self._read = instruction, read

    def reads(self) -> set[int]:
        return self._read

    def writes(self) -> set[int]:
        return set(self.instruction.outs)

    def __str__(self) -> str:
        operands, outs = _format_values(refs(self.instruction.args)), _format_values(self.instruction.outs)
        return f"call {self.instruction.op.name}({operands}) to {outs}"


class RangeCheck:
    """A check of integers, such as class indices: unless all are in ``range(below)``, a function looks at them and
    raises if something is wrong.

    Attributes:
        largest: memory for the largest of them as unsigned integers, so that negative ones are large.
    """

    def __init__(
        self, function: Callable[..., None], operand: MemRef, largest: MemRef, below: int, *options: Any
    ) -> None:
        self.function, self.operand, self.largest, self.below, self.options = function, operand, largest, below, options

    def reads(self) -> set[int]:
        return {self.operand.root}

    def writes(self) -> set[int]:
        return {self.largest.root}

    def __str__(self) -> str:
        return f"check %{self.operand.root} by {self.function.__name__}"
