"""LLVM IR of loop nests, specialized to their sizes and strides, or written for any.

The innermost dimension is vectorized, its remainder masked; a sum over it keeps a vector of partial sums. Large nests
are cut into chunks, which threads share. What is written for any size reads sizes and strides from the table, computes
the same in the same order, and so gives the same bits.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..kernels.codegen import jit
from ..kernels.codegen.elementwise import STORED, gather, load, store
from ..kernels.codegen.half_precision import in_memory, narrow, widen
from ..kernels.codegen.llvm_ir import F32, I1, I8, I64, PTR, Function, Type, Value, Variable
from ..kernels.codegen.scalar import Formula, formula_of, lower
from .schedule import LoopNest, MemRef
from .step_functions import StepTable

KAHAN_BLOCK = 32  # vectors that are added up before their sum is added, compensated, to that of all
MIN_PARALLEL_WORK = 1 << 18  # operations, loads and stores from which on a loop is cut into chunks
# They do not depend on the number of threads, as the rounding of sums depends on them.
MAX_CHUNKS, MIN_CHUNKS = 32, 4


def collapse_dims(shape: Sequence[int], strides: Sequence[Sequence[int]], leader: int) -> list[tuple[int, list[int]]]:
    """Dimensions as ``(size, byte strides)``, outermost first, with those collapsed into one that are contiguous in all
    operands.

    Args:
        leader: the operand whose strides decide the order.
    """
    order = sorted(range(len(shape)), key=lambda d: (-abs(strides[leader][d]) if strides[leader][d] else -math.inf, d))
    if all(s[d] == 0 for s in strides[leader : leader + 1] for d in range(len(shape))):
        order = list(range(len(shape)))
    dims: list[tuple[int, list[int]]] = []
    for d in order:
        if shape[d] == 1:
            continue
        own = [s[d] for s in strides]
        if dims and all(outer == inner * shape[d] for outer, inner in zip(dims[-1][1], own)):
            dims[-1] = dims[-1][0] * shape[d], own
        else:
            dims.append((shape[d], own))
    return dims or [(1, [0] * len(strides))]


class IterationSpace:
    """The order in which a loop nest goes through memory.

    Attributes:
        memories: what it loads, then what it stores, then sums.
        dims: the size and the byte strides of all memories, outermost dimension first.
        parallel_dim: the dimension that is cut into :attr:`chunks` chunks of :attr:`chunk_size`, for threads.
        partial_sums: pairs of a sum to which each chunk would add, and its bytes: each chunk has its own in scratch
            memory.
    """

    dims: list[tuple[Any, list[Any]]]
    chunks: Any
    chunk_size: Any
    partial_sums: list[tuple[int, Any]]

    def __init__(self, step: LoopNest) -> None:
        loads = [m for _, m in sorted(step.loads.values(), key=lambda pair: pair[0])]
        stores, sums = [m for _, m in step.stores], [m for _, m in step.sums]
        self.memories = memories = [*loads, *stores, *sums]
        self.first_store, self.first_sum = len(loads), len(loads) + len(stores)
        strides = [m.like.strides for m in memories]
        full = [
            k
            for k, m in enumerate(memories)
            if m.like.size and all(s for s, n in zip(m.like.strides, m.like.shape) if n > 1)
        ]
        leader = next((k for k in full if k >= len(loads)), full[0] if full else 0)
        self.dims = collapse_dims(step.shape, strides, leader)
        self.lanes = jit.WIDTH * 8 // step.type.bits
        self.parallel_dim, self.chunks, self.chunk_size, self.partial_sums = 0, 1, 0, []
        elements = math.prod(step.shape)
        if elements * (len(step.values) + len(memories)) >= MIN_PARALLEL_WORK:
            self._parallelize(elements)

    def _sums_over(self, dim: int) -> list[tuple[int, int]]:
        """Sums over a dimension, with their bytes."""
        memories = self.memories[self.first_sum :]
        return [(k, _sum_bytes(m)) for k, m in enumerate(memories, self.first_sum) if self.dims[dim][1][k] == 0]

    def _parallelize(self, elements: int) -> None:
        """Cut the outermost dimension that gives enough chunks, and sums that are small beside the loop's work."""
        for dim, (size, _) in enumerate(self.dims):
            unit = 1 if dim < len(self.dims) - 1 else 4 * self.lanes if dim else KAHAN_BLOCK * self.lanes
            chunk_size = -(-size // (MAX_CHUNKS * unit)) * unit
            chunks, partial = -(-size // chunk_size), self._sums_over(dim)
            if chunks >= MIN_CHUNKS and sum([bytes for _, bytes in partial]) * chunks <= elements // 2:
                self.parallel_dim, self.chunks, self.chunk_size, self.partial_sums = dim, chunks, chunk_size, partial
                return

    def with_sizes(self, of: Callable[[int], Any]) -> IterationSpace:
        """The same with other sizes and strides, made of these, in order; strides of 0 or one element stay."""
        other, last = copy.copy(self), len(self.dims) - 1
        near = [m.like.itemsize for m in self.memories]
        other.dims = [
            (of(size), [s if s == 0 or d == last and s == near[k] else of(s) for k, s in enumerate(strides)])
            for d, (size, strides) in enumerate(self.dims)
        ]
        if self.chunks > 1:
            other.chunks, other.chunk_size = of(self.chunks), of(self.chunk_size)
            other.partial_sums = [(k, of(bytes)) for k, bytes in self.partial_sums]
        return other

    @property
    def scratch_bytes(self) -> int:
        """Bytes for the partial sums of all chunks."""
        return self.chunks * sum([_padded(bytes) for _, bytes in self.partial_sums]) if self.chunks > 1 else 0


class LoopEmitter:
    """Writes the function of a loop nest.

    Attributes:
        table: addresses of the memories of :attr:`IterationSpace.memories`, of those that are cleared, and of scratch.
        key: equal for loop nests that have the same function.
    """

    def __init__(
        self, step: LoopNest, space: IterationSpace, sizes: dict[int, int], scratch: int, any_size: bool
    ) -> None:
        """
        Args:
            sizes: how many bytes a root has.
            scratch: a root with :attr:`IterationSpace.scratch_bytes` bytes.
            any_size: write it for any sizes and strides, except strides of 0 or one element.
        """
        self.step, self.space, self.any_size = step, space, any_size
        count = len(space.memories)
        summed = {space.memories[k].root for k, _ in space.partial_sums} if space.chunks > 1 else set()
        cleared = [root for root in step.cleared if root not in summed]  # each chunk clears its own sums
        self.cleared = [*enumerate([sizes[root] for root in cleared], count)]
        self.scratch = count + len(cleared)
        integers: list[int] = []
        form, bytes = self._sizes(integers.append) if any_size else (space, self.cleared)  # append gives None
        self.types = [STORED[m.like.dtype] for m in space.memories]
        self.indices = sorted([i for i, _ in step.loads.values()])
        self.formula = formula_of([x for x, _ in (*step.stores, *step.sums)])
        constants: list[float] = []
        if any_size:  # a mean divides by a size
            self.formula, constants = _constants_as_arguments(self.formula, step.argument_count)
        self.table = StepTable(space.memories, [*cleared, scratch], [*step.numbers], constants, integers)
        self.numbers = [*step.numbers.values(), *range(step.argument_count, step.argument_count + len(constants))]
        self.argument_count = step.argument_count + len(constants)
        space_key = space.chunks > 1, form.chunks, form.chunk_size, form.parallel_dim, form.dims, form.partial_sums
        own_key = self.indices, bytes, self.numbers, self.argument_count, self.formula
        self.key = any_size, step.type, *self.types, repr(space_key), repr(own_key)

    def _sizes(self, of: Callable[[int], Any]) -> tuple[IterationSpace, list[tuple[int, Any]]]:
        """The space, and how many bytes are cleared in which slots, with what ``of`` gives for each size and stride."""
        return self.space.with_sizes(of), [(slot, of(bytes)) for slot, bytes in self.cleared]

    def sizes_in(self, f: Function) -> tuple[IterationSpace, list[tuple[int, Any]]]:
        """The same as the function knows them: numbers, or values from the table."""
        values = self.table.integers(f)
        return self._sizes(lambda _: next(values)) if self.any_size else (self.space, self.cleared)

    def emit(self, name: str) -> list[Function]:
        """The function, behind those that it calls."""
        if self.space.chunks > 1:
            return self._emit_parallel(name)
        f = Function(name, [("table", PTR)], attributes=" noalias")
        space, cleared = self.sizes_in(f)
        for slot, bytes in cleared:
            f.clear(self.table.pointer(f, slot), bytes)
        pointers = [self.table.pointer(f, k) for k in range(len(space.memories))]
        LoopBody(f, self, space).emit(0, pointers, None)
        return [f]

    def _emit_parallel(self, name: str) -> list[Function]:
        """A function for some of the chunks, and one that shares them out to threads and adds up their partial sums."""
        table = self.table
        part = Function(
            f"part_{name}", [("table", PTR), ("from", I64), ("to", I64)], internal=True, attributes=" noalias"
        )
        space, _ = self.sizes_in(part)
        bases, body = [table.pointer(part, k) for k in range(len(space.memories))], LoopBody(part, self, space)

        # for each chunk: clear its partial sums, then loop
        with part.loop(part["from"], part["to"]) as chunk:
            pointers, at = list(bases), part.constant(0, I64)
            for k, bytes in space.partial_sums:
                place = chunk * _padded(bytes) + at
                pointers[k] = part.at(table.pointer(part, self.scratch), place, I8)
                part.clear(pointers[k], bytes)
                at = at + _padded(bytes) * space.chunks
            body.emit(0, pointers, chunk)

        main = Function(name, [("table", PTR)])
        space, cleared = self.sizes_in(main)
        for slot, bytes in cleared:
            main.clear(table.pointer(main, slot), bytes)
        chunks, one = main.constant(space.chunks, I64), main.constant(1, I64)
        main.call("pullback_share", main.symbol(part.name), main["table"], chunks, one, external=True)
        at = main.constant(0, I64)
        for k, bytes in space.partial_sums:
            partial = main.at(table.pointer(main, self.scratch), at, I8)
            target, type = table.pointer(main, k), self.types[k]
            _emit_sum_of_chunks(main, target, partial, space.chunks, bytes, type, space.lanes)
            at = at + _padded(bytes) * space.chunks
        return [part, main]


def _constants_as_arguments(formula: Formula, count: int) -> tuple[Formula, list[float]]:
    """A formula that takes its constants as further arguments, except 0, 1 and bools, and these constants."""
    steps, constants = [], []
    for op, type, operands in formula.steps:
        if op == "number" and type.is_float and operands[0] not in (0, 1):
            constants.append(operands[0])
            op, operands = "argument", (count + len(constants) - 1, True)
        steps.append((op, type, operands))
    return Formula(tuple(steps), formula.results), constants


def _sum_bytes(m: MemRef) -> int:
    """How many bytes a sum has, without those that stride 0 repeats."""
    return math.prod([n for n, s in zip(m.like.shape, m.like.strides) if s]) * m.like.itemsize


def _padded(bytes: Any) -> Any:
    return (bytes + 63) // 64 * 64


def _emit_sum_of_chunks(
    f: Function, target: Value, partial: Value, chunks: Any, bytes: Any, type: Type, lanes: int
) -> None:
    """Add up the partial sums of all chunks, in order."""
    count = bytes // _size(type)

    def block(at: Value, mask: Value | None) -> None:
        total = f.variable(0.0, type.of(lanes))
        with f.loop(0, chunks) as chunk:
            before, summand = total.get(), f.at(f.at(partial, chunk * _padded(bytes), I8), at, type)
            total.set(before + load(f, summand, type, lanes, mask))
        store(f, total.get(), f.at(target, at, type), type, mask)

    whole = count // lanes * lanes
    with f.loop(0, whole, lanes) as at:
        block(at, None)
    emit_rest(f, count - whole, lambda rest: block(f.constant(whole, I64), mask_of_first(f, rest, lanes)))


def emit_rest(f: Function, rest: Any, inside: Callable[[Any], None]) -> None:
    """What is left behind whole vectors, if there is anything."""
    if rest.__class__ is Value:
        with f.if_then(rest > 0):
            inside(rest)
    elif rest:
        inside(rest)


def mask_of_first(f: Function, count: Any, lanes: int) -> Value:
    """True in the first lanes."""
    return f.mask_below(count, lanes) if count.__class__ is Value else f.mask_of([i < count for i in range(lanes)])


class LoopBody:
    """The loops and their body in one function, whose argument is the table."""

    def __init__(self, f: Function, emitter: LoopEmitter, space: IterationSpace) -> None:
        self.f, self.step, self.space, self.lanes = f, emitter.step, space, space.lanes
        self.types, self.indices, self.formula = emitter.types, emitter.indices, emitter.formula
        self.argument_count = emitter.argument_count
        self.numbers: dict[int, Value] = {}
        types = {i: type for op, type, (i, *_) in emitter.formula.steps if op == "argument"}
        for slot, i in enumerate(emitter.numbers, emitter.scratch + 1):
            value = emitter.table.double(f, slot)
            self.numbers[i] = f.splat(f.convert("fptrunc", value, F32) if types.get(i) == F32 else value, self.lanes)

    def emit(self, level: int, pointers: list[Value], chunk: Value | None) -> None:
        """The dimensions from ``level`` on, of one chunk or of all."""
        f, space = self.f, self.space
        (size, strides), bounds = space.dims[level], None
        if chunk is not None and level == space.parallel_dim:
            low = chunk * space.chunk_size
            bounds = low, f.smaller(low + space.chunk_size, size)
        if level == len(space.dims) - 1:
            is_last = None if chunk is None or bounds is None else chunk.equals(space.chunks - 1)
            self._emit_innermost(pointers, bounds, is_last)
            return
        with f.loop(*(bounds or (0, size))) as i:
            self.emit(level + 1, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], chunk)

    def _emit_innermost(self, pointers: list[Value], bounds: tuple[Value, Value] | None, is_last: Value | None) -> None:
        """The innermost dimension, a vector at a time; a remainder of less than one is left to the last chunk."""
        f, space, lanes, compute_type = self.f, self.space, self.lanes, self.step.type
        length, strides = space.dims[-1]
        # loads that do not depend on this dimension are hoisted
        fixed: dict[int, Value] = {}
        for k in range(space.first_store):
            if strides[k] == 0:
                one = f.load(pointers[k], in_memory(self.types[k]))
                fixed[k] = widen(f, f.splat(one, lanes), self.types[k])

        # sums over this dimension: a vector of partial sums, for long ones added up in blocks
        zero = f.constant(0.0, compute_type.of(lanes))
        partial = {k: f.variable(zero) for k in range(space.first_sum, len(space.memories)) if strides[k] == 0}
        totals: dict[int, Any] = {}

        def flush() -> None:
            """Add partial sums to the totals, compensated (W. Kahan, Comm. ACM 8, 1965)."""
            for k, p in partial.items():
                total, lost = totals[k]
                part, before = p.get() - lost.get(), total.get()
                total.set(before + part)
                lost.set((total.get() - before) - part)
                p.set(zero)

        known = length.__class__ is int

        def run(low: Any, high: Any) -> None:
            if known and bounds is None and done + lanes == high:
                self._emit_vector(pointers, f.constant(low, I64), lanes, fixed, partial)
            elif not known or bounds is not None or low < high:
                with f.loop(low, high, lanes) as at:
                    self._emit_vector(pointers, at, lanes, fixed, partial)

        # blocks, then single vectors, then the remainder under a mask
        done: Any = 0
        whole = stop = length // lanes * lanes
        long = KAHAN_BLOCK * lanes
        if bounds is not None:
            done, stop = bounds[0], f.smaller(bounds[1], stop)
        if partial and (not known or length > long):
            totals = {k: (f.variable(zero), f.variable(zero)) for k in partial}
            until = (stop - done) // long * long + done
            with f.loop(done, until, long) as at:
                with f.loop(at, at + long, lanes) as inner:
                    self._emit_vector(pointers, inner, lanes, fixed, partial)
                flush()
            done = until
        run(done, stop)

        def remainder(count: Any) -> None:
            with nullcontext() if is_last is None else f.if_then(is_last):
                self._emit_vector(pointers, f.constant(whole, I64), count, fixed, partial)

        emit_rest(f, length - whole, remainder)
        for k, p in partial.items():
            value = p.get() + totals[k][0].get() if totals else p.get()
            f.store(f.load(pointers[k], self.types[k]) + f.sum_lanes(value), pointers[k])

    def _emit_vector(
        self, pointers: list[Value], at: Value, count: Any, fixed: dict[int, Value], partial: dict[int, Variable]
    ) -> None:
        """One vector, or the first ``count`` elements of one."""
        f, space, lanes, types, strides = self.f, self.space, self.lanes, self.types, self.space.dims[-1][1]
        mask = None if count == lanes else mask_of_first(f, count, lanes)
        arguments: list[Any] = [None] * self.argument_count
        for i, value in self.numbers.items():
            arguments[i] = value
        for k, index in enumerate(self.indices):
            if k in fixed:
                arguments[index] = fixed[k]
            elif strides[k] == _size(types[k]):
                arguments[index] = load(f, f.at(pointers[k], at * strides[k], I8), types[k], lanes, mask)
            else:
                arguments[index] = _gather(
                    f, f.at(pointers[k], at * strides[k], I8), strides[k], types[k], lanes, count
                )
        for k, value in enumerate(lower(f, self.formula, arguments, lanes), space.first_store):
            target, near = f.at(pointers[k], at * strides[k], I8), strides[k] == _size(types[k])
            if k >= space.first_sum:
                if mask is not None:
                    value = f.select(mask, value, f.constant(0.0, value.type))
                if k in partial:
                    partial[k].set(partial[k].get() + value)
                    continue
                value = (
                    load(f, target, types[k], lanes, mask)
                    if near
                    else _gather(f, target, strides[k], types[k], lanes, count)
                ) + value
            if near:
                store(f, value, target, types[k], mask)
            else:
                _scatter(f, value, target, strides[k], types[k], count)


def _size(type: Type) -> int:
    return 1 if type == I1 else type.bits // 8


def emit_nested_loops(
    f: Function, dims: Sequence[tuple[Any, list[Any]]], pointers: list[Value], inside: Callable[[list[Value]], None]
) -> None:
    """Loops over dimensions around ``inside``, which is handed the pointers moved along."""
    if not dims:
        inside(pointers)
        return
    (size, strides), *rest = dims
    with f.loop(0, size) as i:
        emit_nested_loops(f, rest, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], inside)


def _gather(f: Function, pointer: Value, stride: Any, type: Type, lanes: int, count: Any) -> Value:
    """A vector of elements so many bytes apart."""
    if count.__class__ is Value:
        return gather(f, pointer, stride, type, lanes, count)
    one = in_memory(type)
    vector = f.constant(0, one.of(lanes))
    for i in range(count):
        vector = f.with_lane(vector, i, f.load(f.at(pointer, i * stride, I8), one), lanes)
    return widen(f, vector, type)


def _scatter(f: Function, value: Value, pointer: Value, stride: Any, type: Type, count: Any) -> None:
    value = narrow(f, value, type)
    known = count.__class__ is int
    for i in range(count if known else value.type.lanes):
        with nullcontext() if known else f.if_then(count > i):
            f.store(f.lane(value, i), f.at(pointer, i * stride, I8))
