"""The builder of hand-written kernels: arguments of a task, scratch memory, vectorized loops over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np

from . import jit
from .entry import entry_point, load_function
from .llvm_ir import F32, F64, I32, I64, PTR, Function, Type, Value, Variable, module
from .vector_math import Math

TYPES = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
COMPARED = TYPES | {np.dtype(np.int32): I32, np.dtype(np.int64): I64}
UNROLL = 4
BLOCK = 4096  # elements of a row that are summed in their own type
P = ParamSpec("P")


def compiled_kernel(write: Callable[P, str]) -> Callable[P, Callable[..., Any]]:
    """Turn a function that writes a kernel's IR into one that returns the compiled kernel.

    The arguments are the cache key, with the function's name: the IR must depend on nothing else.
    """
    name = write.__name__.strip("_").removesuffix("_kernel")

    @lru_cache(None)
    @wraps(write)
    def compiled(*key: Any) -> Callable[..., Any]:
        return load_function(name, lambda: write(*key), write.__module__, write.__qualname__, key)  # type: ignore[call-arg]

    return compiled  # type: ignore[return-value]


class Kernel:
    """A task being written: a loop over items ``f["from"]`` to ``f["to"]``, and its arguments.

    Args:
        name: of the kernel.
        type: of the elements.
        arrays, integers, floats: names of the arguments; in the slots integers are first, then floats, then arrays.
        refuses: whether it may refuse an array for what is in it, see :meth:`refuse`.

    Attributes:
        f: the function of the task.
        args: the values of the arguments, by name.
        lanes, vector: how many elements a vector holds, and its type.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        arrays: Sequence[str],
        integers: Sequence[str] = (),
        floats: Sequence[str] = (),
        refuses: bool = False,
    ) -> None:
        self.name, self.type, self.lanes = name, type, jit.WIDTH * 8 // type.bits
        self.vector = type.of(self.lanes)
        self.f = f = Function(f"{name}_task.$$", [("slots", PTR), ("from", I64), ("to", I64)], internal=True)
        self.math = Math(f)
        self.kinds = "i" * len(integers) + "f" * len(floats) + "a" * len(arrays)
        self.args: dict[str, Value] = {}
        for i, (slot, kind) in enumerate(zip([*integers, *floats, *arrays], self.kinds)):
            value = f.load(f.at(f["slots"], i, I64), {"i": I64, "f": F64, "a": PTR}[kind])
            self.args[slot] = f.convert("fptrunc", value, F32) if kind == "f" and type == F32 else value
        self.kinds += "r" * refuses
        self._scratch: list[tuple[Value, Value]] = []

    def __getitem__(self, name: str) -> Value:
        return self.args[name]

    def sweep(self, n: Value, body: Callable[[Value, Value | None, int], None], unroll: int = UNROLL) -> None:
        """``body(at, mask, u)`` for each vector of a row of n elements: an unrolled loop (u counts copies of the body),
        then single vectors, masked at the end of the row.
        """
        f, lanes = self.f, self.lanes
        whole = n // (lanes * unroll) * (lanes * unroll)
        with f.loop(0, whole, lanes * unroll) as at:
            for u in range(unroll):
                body(at + u * lanes, None, u)
        with f.loop(whole, n, lanes) as at:
            body(at, f.mask_below(n - at, lanes), 0)

    def accumulators(self, count: int = 1, start: float = 0.0) -> list[list[Variable]]:
        """Vectors to accumulate in, so many sets of one for each copy of an unrolled loop's body."""
        return [[self.f.variable(start, self.vector) for _ in range(UNROLL)] for _ in range(count)]

    def total(self, parts: list[Variable]) -> Value:
        """The sum of a set of accumulators, over all lanes."""
        a, b, c, d = (p.get() for p in parts)
        return self.f.sum_lanes((a + b) + (c + d))

    def totals(self, count: int = 1) -> list[Variable]:
        """Sums of whole rows, in double precision; see :meth:`add_row`."""
        return [self.f.variable(0.0, F64) for _ in range(count)]

    def add_row(
        self, n: Value, totals: Sequence[Variable], body: Callable[[Value, Value | None, list[Variable]], None]
    ) -> None:
        """Sweep over a row with ``body(at, mask, sums)``, which adds to a vector for each total. The vectors are summed
        into the totals after each block, so that long rows are as exact as short ones.
        """
        f = self.f
        with f.loop(0, n, BLOCK) as first:
            parts = self.accumulators(len(totals))
            self.sweep(
                f.smaller(n - first, BLOCK), lambda at, mask, u: body(first + at, mask, [part[u] for part in parts])
            )
            for total, part in zip(totals, parts):
                total.set(total.get() + self.as_double(self.total(part)))

    def as_double(self, value: Value) -> Value:
        """A scalar of the elements' type in double precision."""
        return value if self.type == F64 else self.f.convert("fpext", value, F64)

    def rounded(self, value: Value) -> Value:
        """A double rounded to the elements' type."""
        return value if self.type == F64 else self.f.convert("fptrunc", value, self.type)

    def load(self, pointer: Value, at: Any, mask: Value | None = None, fill: float | None = None) -> Value:
        f = self.f
        return f.load(
            f.at(pointer, at, self.type), self.vector, mask, None if fill is None else f.constant(fill, self.vector)
        )

    def store(self, value: Value, pointer: Value, at: Any, mask: Value | None = None) -> None:
        self.f.store(value, self.f.at(pointer, at, self.type), mask)

    def zero_beyond(self, value: Value, mask: Value | None) -> Value:
        """Zero in the lanes beyond the end of the row."""
        return value if mask is None else self.f.select(mask, value, 0.0)

    def load_scalar(self, pointer: Value, at: Any) -> Value:
        return self.f.load(self.f.at(pointer, at, self.type), self.type)

    def store_scalar(self, value: Value, pointer: Value, at: Any) -> None:
        self.f.store(value, self.f.at(pointer, at, self.type))

    def splat(self, value: Value) -> Value:
        return self.f.splat(value, self.lanes)

    def apply_to_scalar(self, function: Callable[[Value], Value], x: Value) -> Value:
        """Apply a function of vectors to a scalar."""
        return self.f.lane(function(self.splat(x)), 0)

    def as_float(self, n: Value) -> Value:
        return self.f.convert("sitofp", n, self.type)

    def scratch(self, count: Value | int) -> Value:
        """Heap memory for so many elements, freed when the task ends."""
        f, each = self.f, self.type.bits // 8
        size = count * each if isinstance(count, Value) else f.constant(count * each, I64)
        self._scratch.append((f.call("pullback_take", f.constant(0, I64), size, returns=PTR, external=True), size))
        return self._scratch[-1][0]

    def refuse(self) -> None:
        """Refuse an array: the kernel returns the number of items to Python, instead of its last argument."""
        self.f.store(self.f.constant(1, I64), self.f.at(self.f["slots"], len(self.args), I64))

    def done(self, grain: int = 1, *called: Function, also: Sequence[str] = ()) -> str:
        """The finished module. Its entry point takes the number of items and the arguments, and returns the last array.

        Args:
            grain: the fewest items worth handing to another thread.
            called: functions that the task calls.
            also: further lines of the module, such as metadata.
        """
        for room, size in self._scratch:
            self.f.call("pullback_give", self.f.constant(0, I64), room, size, external=True)
        return module(*called, self.f, entry_point(self.f.name, self.kinds, grain), also=also)
