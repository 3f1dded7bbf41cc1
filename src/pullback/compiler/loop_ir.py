"""LLVM IR of loop nests, specialized to their sizes and strides.

Each step of a plan is a function of its part of a table, which holds addresses, and symbolic floats as doubles.
The innermost dimension is vectorized, its remainder masked; a sum over it keeps a vector of partial sums. Large nests
are cut into chunks, which threads share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from ..kernels.codegen import jit, object_layout
from ..kernels.codegen.elementwise import load, store
from ..kernels.codegen.llvm_ir import F32, F64, I1, I8, I64, PTR, Function, Type, Value, Variable
from ..kernels.codegen.scalar import formula_of, lower
from .schedule import SCALAR_TYPES, LoopNest, MemRef

KAHAN_BLOCK = 32  # vectors that are added up before their sum is added, compensated, to that of all
MIN_PARALLEL_WORK = 1 << 18  # operations, loads and stores from which on a loop is cut into chunks
# They do not depend on the number of threads, as the rounding of sums depends on them.
MAX_CHUNKS, MIN_CHUNKS = 32, 4


class StepTable:
    """The part of the table that one step reads. Equal steps have one function, which is handed the part of each.

    Attributes:
        keys: for each slot a root and an offset, whose address is there, or ``("number", n)``.
    """

    def __init__(self, memories: Sequence[MemRef], roots: Sequence[int] = (), numbers: Sequence[int] = ()) -> None:
        self.keys: list[tuple[Any, int]] = [(m.root, m.offset) for m in memories]
        self.keys += [*[(root, 0) for root in roots], *[("number", n) for n in numbers]]

    def pointer(self, f: Function, slot: int) -> Value:
        return f.load(f.at(f["table"], slot, I64), PTR)

    def number(self, f: Function, n: int) -> Value:
        return f.load(f.at(f["table"], self.keys.index(("number", n)), F64), F64)


# --- loops ------------------------------------------------------------------------------------------------------


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
        self.parallel_dim, self.chunks, self.chunk_size, self.partial_sums = 0, 1, self.dims[0][0], self._sums_over(0)
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

    def __init__(self, step: LoopNest, space: IterationSpace, sizes: dict[int, int], scratch: int) -> None:
        """
        Args:
            sizes: how many bytes a root has.
            scratch: a root with :attr:`IterationSpace.scratch_bytes` bytes.
        """
        self.step, self.space = step, space
        count = len(space.memories)
        summed = {space.memories[k].root for k, _ in space.partial_sums} if space.chunks > 1 else set()
        cleared = [root for root in step.cleared if root not in summed]  # each chunk clears its own sums
        self.cleared = [(slot, sizes[root]) for slot, root in enumerate(cleared, count)]
        self.scratch = count + len(cleared)
        self.table = StepTable(space.memories, [*cleared, scratch], [*step.numbers])
        self.types = [SCALAR_TYPES[m.like.dtype] for m in space.memories]
        self.indices = sorted([i for i, _ in step.loads.values()])
        self.formula = formula_of([x for x, _ in (*step.stores, *step.sums)])
        space_key = space.chunks, space.chunk_size, space.parallel_dim, repr(space.dims), repr(space.partial_sums)
        own_key = repr((self.indices, self.cleared, [*step.numbers.values()], step.argument_count, self.formula))
        self.key = step.type, *self.types, own_key, *space_key

    def emit(self, name: str) -> list[Function]:
        """The function, behind those that it calls."""
        if self.space.chunks > 1:
            return self._emit_parallel(name)
        f = Function(name, [("table", PTR)], internal=True, attributes=" noalias")
        for slot, bytes in self.cleared:
            f.clear(self.table.pointer(f, slot), bytes)
        LoopBody(f, self).emit(0, [self.table.pointer(f, k) for k in range(len(self.space.memories))], None)
        return [f]

    def _emit_parallel(self, name: str) -> list[Function]:
        """A function for some of the chunks, and one that shares them out to threads and adds up their partial sums."""
        space, table = self.space, self.table
        part = Function(
            f"part_{name}", [("table", PTR), ("from", I64), ("to", I64)], internal=True, attributes=" noalias"
        )
        bases, body = [table.pointer(part, k) for k in range(len(space.memories))], LoopBody(part, self)
        main = Function(name, [("table", PTR)], internal=True)
        for slot, bytes in self.cleared:
            main.clear(table.pointer(main, slot), bytes)

        # for each chunk: clear its partial sums, then loop
        with part.loop(part["from"], part["to"]) as chunk:
            pointers, at = list(bases), 0
            for k, bytes in space.partial_sums:
                place = chunk * _padded(bytes) + at
                pointers[k] = part.at(table.pointer(part, self.scratch), place, I8)
                part.clear(pointers[k], bytes)
                at += space.chunks * _padded(bytes)
            body.emit(0, pointers, chunk)

        chunks, one = main.constant(space.chunks, I64), main.constant(1, I64)
        main.call("pullback_share", main.symbol(part.name), main["table"], chunks, one, external=True)
        at = 0
        for k, bytes in space.partial_sums:
            partial = main.at(table.pointer(main, self.scratch), at, I8)
            target, type = table.pointer(main, k), self.types[k]
            _emit_sum_of_chunks(main, target, partial, space.chunks, bytes, type, space.lanes)
            at += space.chunks * _padded(bytes)
        return [part, main]


def _sum_bytes(m: MemRef) -> int:
    """How many bytes a sum has, without those that stride 0 repeats."""
    return math.prod([n for n, s in zip(m.like.shape, m.like.strides) if s]) * m.like.itemsize


def _padded(bytes: int) -> int:
    return -(-bytes // 64) * 64


def _emit_sum_of_chunks(
    f: Function, target: Value, partial: Value, chunks: int, bytes: int, type: Type, lanes: int
) -> None:
    """Add up the partial sums of all chunks, in order."""
    count = bytes // _size(type)

    def block(at: Value, mask: Value | None) -> None:
        total = f.variable(0.0, type.of(lanes))
        with f.loop(0, chunks) as chunk:
            before, summand = total.get(), f.at(f.at(partial, chunk * _padded(bytes), I8), at, type)
            total.set(before + load(f, summand, type, lanes, mask))
        store(f, total.get(), f.at(target, at, type), type, mask)

    with f.loop(0, count // lanes * lanes, lanes) as at:
        block(at, None)
    if count % lanes:
        block(f.constant(count // lanes * lanes, I64), f.mask_of([i < count % lanes for i in range(lanes)]))


class LoopBody:
    """The loops and their body in one function, whose argument is the table."""

    def __init__(self, f: Function, emitter: LoopEmitter) -> None:
        self.f, self.step, self.space, self.lanes = f, emitter.step, emitter.space, emitter.space.lanes
        self.types, self.indices, self.formula = emitter.types, emitter.indices, emitter.formula
        self.numbers: dict[int, Value] = {}
        step = self.step
        for n, i in step.numbers.items():
            value = emitter.table.number(f, n)
            self.numbers[i] = f.splat(f.convert("fptrunc", value, F32) if step.type == F32 else value, self.lanes)

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
                one = I8 if self.types[k] == I1 else self.types[k]
                value = f.splat(f.load(pointers[k], one), lanes)
                fixed[k] = value.differs(0) if self.types[k] == I1 else value

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

        def run(low: Any, high: Any) -> None:
            if bounds is None and done + lanes == high:
                self._emit_vector(pointers, f.constant(low, I64), lanes, fixed, partial)
            elif bounds is not None or low < high:
                with f.loop(low, high, lanes) as at:
                    self._emit_vector(pointers, at, lanes, fixed, partial)

        # blocks, then single vectors, then the remainder under a mask
        done: Any = 0
        stop: Any = length // lanes * lanes
        long = KAHAN_BLOCK * lanes
        if bounds is not None:
            done, stop = bounds[0], f.smaller(bounds[1], stop)
        if partial and length > long:
            totals = {k: (f.variable(zero), f.variable(zero)) for k in partial}
            until = (stop - done) // long * long + done
            with f.loop(done, until, long) as at:
                with f.loop(at, at + long, lanes) as inner:
                    self._emit_vector(pointers, inner, lanes, fixed, partial)
                flush()
            done = until
        run(done, stop)
        if length % lanes:
            with nullcontext() if is_last is None else f.if_then(is_last):
                self._emit_vector(pointers, f.constant(length // lanes * lanes, I64), length % lanes, fixed, partial)
        for k, p in partial.items():
            value = p.get() + totals[k][0].get() if totals else p.get()
            f.store(f.load(pointers[k], self.types[k]) + f.sum_lanes(value), pointers[k])

    def _emit_vector(
        self, pointers: list[Value], at: Value, count: int, fixed: dict[int, Value], partial: dict[int, Variable]
    ) -> None:
        """One vector, or the first ``count`` elements of one."""
        f, space, lanes, types, strides = self.f, self.space, self.lanes, self.types, self.space.dims[-1][1]
        mask = None if count == lanes else f.mask_of([i < count for i in range(lanes)])
        arguments: list[Any] = [None] * self.step.argument_count
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
    f: Function, dims: Sequence[tuple[int, list[int]]], pointers: list[Value], inside: Callable[[list[Value]], None]
) -> None:
    """Loops over dimensions around ``inside``, which is handed the pointers moved along."""
    if not dims:
        inside(pointers)
        return
    (size, strides), *rest = dims
    with f.loop(0, size) as i:
        emit_nested_loops(f, rest, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], inside)


def _gather(f: Function, pointer: Value, stride: int, type: Type, lanes: int, count: int) -> Value:
    """A vector of elements so many bytes apart."""
    one = I8 if type == I1 else type
    vector = f.constant(0, one.of(lanes))
    for i in range(count):
        vector = f.with_lane(vector, i, f.load(f.at(pointer, i * stride, I8), one), lanes)
    return vector.differs(0) if type == I1 else vector


def _scatter(f: Function, value: Value, pointer: Value, stride: int, type: Type, count: int) -> None:
    if type == I1:
        value = f.convert("zext", value, I8.of(value.type.lanes))
    for i in range(count):
        f.store(f.lane(value, i), f.at(pointer, i * stride, I8))


# --- the function that Python calls -----------------------------------------------------------------------------


def emit_runner() -> Function:
    """The function that puts addresses into the table and calls the functions of steps.

    In loops through constants: LLVM takes long for thousands of lines.
    """
    f = Function("run.$$", RUNNER_PARAMETERS, internal=True)
    with f.loop(0, f["array_count"]) as i:
        place, offset, slot = [f.load(f.at(f.at(f["arrays"], i * 3, I64), k, I64), I64) for k in range(3)]
        address = f.load(f.at(f.load(f.at(f["args"], place, PTR), PTR), object_layout.DATA // 8, I64), I64)
        f.store(address + offset, f.at(f["table"], slot, I64))
    with f.loop(0, f["call_count"]) as i:
        function = f.load(f.at(f["functions"], i, PTR), PTR)
        part = f.at(f["table"], f.load(f.at(f["parts"], i, I64), I64), I64)
        f.line(f"call void {function.text}(ptr {part.text})")
    return f


RUNNER_PARAMETERS = [
    *(("args", PTR), ("table", PTR), ("arrays", PTR), ("array_count", I64)),
    *(("functions", PTR), ("parts", PTR), ("call_count", I64)),
]


def emit_entry(
    name: str,
    calls: Sequence[tuple[str, int]],
    arrays: Sequence[tuple[int, int, int]],
    numbers: Sequence[tuple[int, int]],
) -> tuple[Function, Value, list[str]]:
    """A function that Python calls: of the table, and of what changes from call to call, which it puts there.

    Args:
        calls: functions of steps, in order, and where their part of the table begins.
        arrays: the argument that is an array, an offset in bytes, and the slot for the address there.
        numbers: the argument that is a float, and its slot.

    Returns:
        the function, its result, and the lines of its constants.
    """
    f = Function(name, [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    table_object = f.load(f["args"], PTR)
    table = f.load(f.at(table_object, object_layout.DATA // 8, I64), PTR)
    for place, slot in numbers:
        value = f.load(f.at(f["args"], place, PTR), PTR)
        f.store(f.call("PyFloat_AsDouble", value, returns=F64, external=True), f.at(table, slot, F64))
    told = [f.symbol(f"{part}.{name}") for part in ("arrays", "functions", "parts")]
    counts = f.constant(len(arrays), I64), f.constant(len(calls), I64)
    f.call("run.$$", f["args"], table, told[0], counts[0], *told[1:], counts[1])
    f.call("Py_IncRef", table_object, external=True)
    constants = [
        _constant(f"arrays.{name}", "i64", [n for triple in arrays for n in triple]),
        _constant(f"functions.{name}", "ptr", [f"@{function}" for function, _ in calls]),
        _constant(f"parts.{name}", "i64", [start for _, start in calls]),
    ]
    return f, table_object, constants


def _constant(name: str, type: str, values: Sequence[Any]) -> str:
    """The line of an array of constants."""
    listed = ", ".join([f"{type} {v}" for v in values])
    return f"@{name} = internal constant [{len(values)} x {type}] [{listed}]"
