"""What a plan does, in order: steps that read and write memory.

loop [1024, 48] float: 2 operations, 3 loads, stores %64
product %61 @ %34: [1024, 48] @ [48, 48] to %62
kernel normalize(%31, %32, %64) to %65, %66, %67
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..kernels.codegen.llvm_ir import F32, F64, I1, Type
from ..kernels.codegen.scalar import Scalar
from .ir import Instruction, refs

ndarray = np.ndarray
OF: dict[np.dtype, Type] = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.bool_): I1}


class Memory:
    """Where a value's elements are: an array of the same geometry stands for it.

    Attributes:
        root: the number of the value whose memory it is.
        like: an array with the strides.
        offset: in bytes, from the root's first element.
    """

    __slots__ = ("root", "like", "offset")

    def __init__(self, root: int, like: ndarray, offset: int) -> None:
        self.root, self.like, self.offset = root, like, offset

    def showing(self, view: ndarray) -> Memory:
        """The part of it that a view of :attr:`like` shows."""
        return Memory(self.root, view, self.offset + _address(view) - _address(self.like))

    def over(self, shape: tuple[int, ...]) -> Memory:
        """The same for each element of a larger shape, as broadcasting has it."""
        return self if self.like.shape == shape else Memory(self.root, np.broadcast_to(self.like, shape), self.offset)

    @property
    def key(self) -> tuple[Any, ...]:
        strides = tuple([0 if n == 1 else s for s, n in zip(self.like.strides, self.like.shape)])
        return self.root, self.offset, strides


def _address(a: ndarray) -> int:
    return a.__array_interface__["data"][0]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join([f"%{n}" for n in numbers])


class Loop:
    """Elementwise operations on one shape, and sums over it.

    Attributes:
        values: the expressions of what it computes, by number.
        loads: what it reads.
        numbers: the number inputs that it takes, after the loads.
        stores: pairs of an expression and where it goes.
        sums: pairs of an expression and where its sum goes, in the loop's shape: with stride 0 where it is summed.
        clears: roots to be set to zero before.
    """

    def __init__(self, shape: tuple[int, ...], kind: Type) -> None:
        self.shape, self.kind = shape, kind
        self.values: dict[int, Scalar] = {}
        self.loads: dict[tuple[Any, ...], tuple[int, Memory]] = {}
        self.numbers: dict[int, int] = {}
        self.stores: list[tuple[Scalar, Memory]] = []
        self.sums: list[tuple[Scalar, Memory]] = []
        self.clears: list[int] = []
        self.arguments = 0

    def reads(self) -> set[int]:
        return {m.root for _, m in self.loads.values()}

    def writes(self) -> set[int]:
        return {m.root for _, m in self.stores} | {m.root for _, m in self.sums} | set(self.clears)

    def load(self, memory: Memory) -> Scalar:
        """The expression of an element from memory."""
        memory = memory.over(self.shape)
        if memory.key not in self.loads:
            self.loads[memory.key] = self.arguments, memory
            self.arguments += 1
        index, memory = self.loads[memory.key]
        return Scalar.argument(index, OF[memory.like.dtype])

    def number(self, n: int) -> Scalar:
        if n not in self.numbers:
            self.numbers[n] = self.arguments
            self.arguments += 1
        return Scalar.argument(self.numbers[n], self.kind, True)

    def __str__(self) -> str:
        parts = [f"loop {list(self.shape)} {self.kind.name}: {len(self.values)} operations, {len(self.loads)} loads"]
        parts += [f"stores %{m.root}" for _, m in self.stores] + [f"sums %{m.root}" for _, m in self.sums]
        return ", ".join(parts)


class Product:
    """``out = a @ b`` for each of the leading (batch) dimensions."""

    def __init__(self, a: Memory, b: Memory, out: Memory) -> None:
        self.a, self.b, self.out = a, b, out

    def reads(self) -> set[int]:
        return {self.a.root, self.b.root}

    def writes(self) -> set[int]:
        return {self.out.root}

    def __str__(self) -> str:
        shapes = (list(m.like.shape) for m in (self.a, self.b))
        return f"product %{self.a.root} @ %{self.b.root}: {' @ '.join(map(str, shapes))} to %{self.out.root}"


class Call:
    """An operation computed by its own function, in Python."""

    def __init__(self, step: Instruction, read: set[int]) -> None:
        self.step, self._read = step, read

    def reads(self) -> set[int]:
        return self._read

    def writes(self) -> set[int]:
        return set(self.step.outs)

    def __str__(self) -> str:
        return f"call {self.step.op.name}({_listed(refs(self.step.args))}) to {_listed(self.step.outs)}"


class Check:
    """A call of Python that raises if some integers are not as they should be, which are if they lie in
    ``range(below)``.

    Attributes:
        largest: memory for the largest of them, to which negative ones belong.
    """

    def __init__(
        self, function: Callable[..., None], given: Memory, largest: Memory, below: int, *options: Any
    ) -> None:
        self.function, self.given, self.largest, self.below, self.options = function, given, largest, below, options

    def reads(self) -> set[int]:
        return {self.given.root}

    def writes(self) -> set[int]:
        return {self.largest.root}

    def __str__(self) -> str:
        return f"check %{self.given.root} by {self.function.__name__}"


class Kernel:
    """A call of a kernel, from Python but with memory of the plan. It can't fail.

    Attributes:
        given: its arguments: numbers, and memory.
        written: the memory among them that it writes.
    """

    def __init__(self, name: str, function: Callable, given: Sequence[Any], written: Sequence[Memory]) -> None:
        self.name, self.function, self.given, self.written = name, function, given, written

    def writes(self) -> set[int]:
        return {m.root for m in self.written}

    def reads(self) -> set[int]:
        return {m.root for m in self.given if m.__class__ is Memory} - self.writes()

    def __str__(self) -> str:
        return f"kernel {self.name}({_listed(sorted(self.reads()))}) to {_listed([m.root for m in self.written])}"
