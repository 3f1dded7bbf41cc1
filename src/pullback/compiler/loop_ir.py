"""Native code for loops, with all sizes and strides written into them.

Every step is a function of one table, in which the addresses of all memory stand, and numbers as doubles. The innermost
dimension of a loop is done a vector at a time, its rest under a mask; sums keep a vector of partial sums there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..kernels.codegen import jit
from ..kernels.codegen.elementwise import load, store
from ..kernels.codegen.entry import ENTRY
from ..kernels.codegen.llvm_ir import F32, F64, I1, I8, I64, PTR, Function, Type, Value, Variable
from ..kernels.codegen.scalar import formula_of, lower
from .schedule import OF, Loop, Memory

RUN = 32  # vectors that are added up before their sum is added, with what rounding took from it, to that of all
PARALLEL = 1 << 18  # operations, loads and stores from which on a loop is cut into parts, which threads share
# how many parts, about and at least. They do not depend on the number of threads, as sums depend on them
ITEMS, FEWEST = 32, 4


class Table:
    """Where in the table the address of each root, and each number, stands."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}

    def place(self, key: Any) -> int:
        return self.places.setdefault(key, len(self.places))

    def pointer(self, f: Function, memory: Memory) -> Value:
        base = f.load(f.at(f["table"], self.place(memory.root), I64), PTR)
        return f.at(base, memory.offset, I8) if memory.offset else base


# --- loops ------------------------------------------------------------------------------------------------------


def merged(shape: Sequence[int], strides: Sequence[Sequence[int]], leader: int) -> list[tuple[int, list[int]]]:
    """Dimensions from the outermost to the innermost, those that lie alike in memory as one: (size, byte strides)."""
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


class Walk:
    """How a loop goes through memory.

    Attributes:
        memories: what it loads, then what it stores, then sums.
        dims: from the outermost to the innermost, the size and the byte strides of all memories.
        cut: the dimension that threads share, in parts of :attr:`chunk`; there are :attr:`items` of them.
        partial: pairs of a sum to which each part would add, so that it has room of its own for it there, and how many
            bytes that takes.
    """

    def __init__(self, step: Loop) -> None:
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
        self.dims = merged(step.shape, strides, next((k for k in full if k >= len(loads)), full[0] if full else 0))
        self.lanes = jit.WIDTH * 8 // step.kind.bits
        self.cut, self.items, self.chunk, self.partial = 0, 1, self.dims[0][0], self._shared_by_parts(0)
        elements = math.prod(step.shape)
        if elements * (len(step.values) + len(memories)) >= PARALLEL:
            self._share(elements)

    def _shared_by_parts(self, cut: int) -> list[tuple[int, int]]:
        """Sums over a dimension."""
        memories = self.memories[self.first_sum :]
        return [(k, _distinct(m)) for k, m in enumerate(memories, self.first_sum) if self.dims[cut][1][k] == 0]

    def _share(self, elements: int) -> None:
        for cut, (size, _) in enumerate(self.dims):
            unit = 1 if cut < len(self.dims) - 1 else 4 * self.lanes if cut else RUN * self.lanes
            chunk = -(-size // (ITEMS * unit)) * unit
            items, partial = -(-size // chunk), self._shared_by_parts(cut)
            if items >= FEWEST and sum([bytes for _, bytes in partial]) * items <= elements // 2:
                self.cut, self.items, self.chunk, self.partial = cut, items, chunk, partial
                return

    @property
    def room(self) -> int:
        """Bytes for sums of parts."""
        return self.items * sum([_padded(bytes) for _, bytes in self.partial]) if self.items > 1 else 0


def loop(name: str, step: Loop, table: Table, sizes: dict[int, int], scratch: int) -> list[Function]:
    """The function of a loop, behind those that it calls.

    Args:
        sizes: how many bytes a root has.
        scratch: a root with room for :attr:`Walk.room` bytes.
    """
    walk = Walk(step)
    if walk.items == 1:
        f = Function(name, [("table", PTR)], internal=True, attributes=" noalias")
        for root in step.clears:
            f.clear(table.pointer(f, Memory(root, np.empty(0), 0)), sizes[root])
        Body(f, step, walk, table).write(0, [table.pointer(f, m) for m in walk.memories], None)
        return [f]
    part = Function(f"part_{name}", [("table", PTR), ("from", I64), ("to", I64)], internal=True, attributes=" noalias")
    bases, body = [table.pointer(part, m) for m in walk.memories], Body(part, step, walk, table)
    whole = Function(name, [("table", PTR)], internal=True)
    own = [root for root in step.clears if root not in {walk.memories[k].root for k, _ in walk.partial}]
    for root in own:
        whole.clear(table.pointer(whole, Memory(root, np.empty(0), 0)), sizes[root])
    with part.loop(part["from"], part["to"]) as item:
        pointers, at = list(bases), 0
        for k, bytes in walk.partial:
            place = item * _padded(bytes) + at
            pointers[k] = part.at(table.pointer(part, Memory(scratch, np.empty(0), 0)), place, I8)
            part.clear(pointers[k], bytes)
            at += walk.items * _padded(bytes)
        body.write(0, pointers, item)
    whole.call(
        "pullback_share",
        whole.symbol(part.name),
        whole["table"],
        whole.constant(walk.items, I64),
        whole.constant(1, I64),
        external=True,
    )
    at = 0
    for k, bytes in walk.partial:
        room = whole.at(table.pointer(whole, Memory(scratch, np.empty(0), 0)), at, I8)
        _add_up(
            whole,
            table.pointer(whole, walk.memories[k]),
            room,
            walk.items,
            bytes,
            OF[walk.memories[k].like.dtype],
            walk.lanes,
        )
        at += walk.items * _padded(bytes)
    return [part, whole]


def _distinct(m: Memory) -> int:
    """How many bytes a sum takes, which lies without gaps."""
    return math.prod([n for n, s in zip(m.like.shape, m.like.strides) if s]) * m.like.itemsize


def _padded(bytes: int) -> int:
    return -(-bytes // 64) * 64


def _add_up(f: Function, target: Value, parts: Value, items: int, bytes: int, type: Type, lanes: int) -> None:
    """The sum of what all parts have summed, in their order."""
    count = bytes // _size(type)

    def block(at: Value, mask: Value | None) -> None:
        total = f.variable(0.0, type.of(lanes))
        with f.loop(0, items) as item:
            total.set(total.get() + load(f, f.at(f.at(parts, item * _padded(bytes), I8), at, type), type, lanes, mask))
        store(f, total.get(), f.at(target, at, type), type, mask)

    with f.loop(0, count // lanes * lanes, lanes) as at:
        block(at, None)
    if count % lanes:
        block(f.constant(count // lanes * lanes, I64), f.mask_of([i < count % lanes for i in range(lanes)]))


class Body:
    """What a loop does, in a function: ``f`` is told of the table."""

    def __init__(self, f: Function, step: Loop, walk: Walk, table: Table) -> None:
        self.f, self.step, self.walk, self.lanes = f, step, walk, walk.lanes
        self.types = [OF[m.like.dtype] for m in walk.memories]
        self.indices = sorted([i for i, _ in step.loads.values()])
        self.formula = formula_of([x for x, _ in (*step.stores, *step.sums)])
        self.numbers: dict[int, Value] = {}
        for n, i in step.numbers.items():
            value = f.load(f.at(f["table"], table.place(("number", n)), F64), F64)
            self.numbers[i] = f.splat(f.convert("fptrunc", value, F32) if step.kind == F32 else value, self.lanes)

    def write(self, level: int, pointers: list[Value], item: Value | None) -> None:
        """The dimensions from ``level`` on, of one part or of all."""
        f, walk = self.f, self.walk
        (size, strides), bounds = walk.dims[level], None
        if item is not None and level == walk.cut:
            low = item * walk.chunk
            bounds = low, f.smaller(low + walk.chunk, size)
        if level == len(walk.dims) - 1:
            self._innermost(pointers, bounds, None if item is None or bounds is None else item.equals(walk.items - 1))
            return
        with f.loop(*(bounds or (0, size))) as i:
            self.write(level + 1, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], item)

    def _innermost(self, pointers: list[Value], bounds: tuple[Value, Value] | None, last: Value | None) -> None:
        """A vector at a time; a rest of less than one is left to the last part."""
        f, walk, lanes, kind = self.f, self.walk, self.lanes, self.step.kind
        length, strides = walk.dims[-1]
        fixed: dict[int, Value] = {}
        for k in range(walk.first_store):
            if strides[k] == 0:
                one = I8 if self.types[k] == I1 else self.types[k]
                value = f.splat(f.load(pointers[k], one), lanes)
                fixed[k] = value.differs(0) if self.types[k] == I1 else value
        zero = f.constant(0.0, kind.of(lanes))
        partial = {k: f.variable(zero) for k in range(walk.first_sum, len(walk.memories)) if strides[k] == 0}
        totals: dict[int, Any] = {}

        def flush() -> None:
            """Add partial sums to the totals (W. Kahan, Comm. ACM 8, 1965)."""
            for k, p in partial.items():
                total, lost = totals[k]
                part, before = p.get() - lost.get(), total.get()
                total.set(before + part)
                lost.set((total.get() - before) - part)
                p.set(zero)

        def run(low: Any, high: Any) -> None:
            if bounds is None and done + lanes == high:
                self._block(pointers, f.constant(low, I64), lanes, fixed, partial)
            elif bounds is not None or low < high:
                with f.loop(low, high, lanes) as at:
                    self._block(pointers, at, lanes, fixed, partial)

        done: Any = 0
        stop: Any = length // lanes * lanes
        long = RUN * lanes
        if bounds is not None:
            done, stop = bounds[0], f.smaller(bounds[1], stop)
        if partial and length > long:
            totals = {k: (f.variable(zero), f.variable(zero)) for k in partial}
            until = (stop - done) // long * long + done
            with f.loop(done, until, long) as at:
                with f.loop(at, at + long, lanes) as inner:
                    self._block(pointers, inner, lanes, fixed, partial)
                flush()
            done = until
        run(done, stop)
        if length % lanes:
            with nullcontext() if last is None else f.if_then(last):
                self._block(pointers, f.constant(length // lanes * lanes, I64), length % lanes, fixed, partial)
        for k, p in partial.items():
            value = p.get() + totals[k][0].get() if totals else p.get()
            f.store(f.load(pointers[k], self.types[k]) + f.sum_lanes(value), pointers[k])

    def _block(
        self, pointers: list[Value], at: Value, count: int, fixed: dict[int, Value], partial: dict[int, Variable]
    ) -> None:
        """One vector, or the first ``count`` elements of one."""
        f, walk, lanes, types, strides = self.f, self.walk, self.lanes, self.types, self.walk.dims[-1][1]
        mask = None if count == lanes else f.mask_of([i < count for i in range(lanes)])
        arguments: list[Any] = [None] * self.step.arguments
        for i, value in self.numbers.items():
            arguments[i] = value
        for k, index in enumerate(self.indices):
            if k in fixed:
                arguments[index] = fixed[k]
            elif strides[k] == _size(types[k]):
                arguments[index] = load(f, f.at(pointers[k], at * strides[k], I8), types[k], lanes, mask)
            else:
                arguments[index] = _gathered(
                    f, f.at(pointers[k], at * strides[k], I8), strides[k], types[k], lanes, count
                )
        for k, value in enumerate(lower(f, self.formula, arguments, lanes), walk.first_store):
            target, near = f.at(pointers[k], at * strides[k], I8), strides[k] == _size(types[k])
            if k >= walk.first_sum:
                if mask is not None:
                    value = f.select(mask, value, f.constant(0.0, value.type))
                if k in partial:
                    partial[k].set(partial[k].get() + value)
                    continue
                value = (
                    load(f, target, types[k], lanes, mask)
                    if near
                    else _gathered(f, target, strides[k], types[k], lanes, count)
                ) + value
            if near:
                store(f, value, target, types[k], mask)
            else:
                _scattered(f, value, target, strides[k], types[k], count)


def _size(type: Type) -> int:
    return 1 if type == I1 else type.bits // 8


def nested(
    f: Function, dims: Sequence[tuple[int, list[int]]], pointers: list[Value], inside: Callable[[list[Value]], None]
) -> None:
    """Loops around something, which is told where everything then is."""
    if not dims:
        inside(pointers)
        return
    (size, strides), *rest = dims
    with f.loop(0, size) as i:
        nested(f, rest, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], inside)


def _gathered(f: Function, pointer: Value, stride: int, type: Type, lanes: int, count: int) -> Value:
    """A vector of elements so many bytes apart."""
    one = I8 if type == I1 else type
    vector = f.constant(0, one.of(lanes))
    for i in range(count):
        vector = f.with_lane(vector, i, f.load(f.at(pointer, i * stride, I8), one), lanes)
    return vector.differs(0) if type == I1 else vector


def _scattered(f: Function, value: Value, pointer: Value, stride: int, type: Type, count: int) -> None:
    if type == I1:
        value = f.convert("zext", value, I8.of(value.type.lanes))
    for i in range(count):
        f.store(f.lane(value, i), f.at(pointer, i * stride, I8))


# --- the function that Python calls -----------------------------------------------------------------------------


def entry(parts: Sequence[str], given: Sequence[tuple[str, int]]) -> tuple[Function, Value]:
    """A function of the table and of what changes from call to call: pairs of a kind (``a`` array, ``f`` number) and a
    place.
    """
    f = Function(ENTRY, [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    table_object = f.load(f["args"], PTR)
    table = f.load(f.at(table_object, jit.DATA // 8, I64), PTR)
    for i, (kind, place) in enumerate(given):
        value = f.load(f.at(f["args"], i + 1, PTR), PTR)
        if kind == "a":
            f.store(f.load(f.at(value, jit.DATA // 8, I64), I64), f.at(table, place, I64))
        else:
            f.store(f.call("PyFloat_AsDouble", value, returns=F64, external=True), f.at(table, place, F64))
    for part in parts:
        f.call(part, table)
    f.call("Py_IncRef", table_object, external=True)
    return f, table_object
