"""Native code for loops, with all sizes and strides written into them.

Every step is a function of one table, in which the addresses of all memory stand, and numbers as doubles. The innermost
dimension of a loop is done a vector at a time, its rest under a mask; sums keep a vector of partial sums there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import native
from ..kernels.builder import F32, F64, I1, I8, I64, PTR, Function, Type, Value
from ..kernels.elementwise import load, store
from ..kernels.scalar import lowered
from .steps import OF, Loop, Memory

RUN = 32  # vectors that are added up before their sum is added, with what rounding took from it, to that of all


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


def loop(name: str, step: Loop, table: Table, sizes: dict[int, int]) -> Function:
    """The function of a loop. ``sizes`` says how many bytes a root has."""
    f = Function(name, [("table", PTR)], internal=True, attributes=" noalias")
    for root in step.clears:
        f.clear(table.pointer(f, Memory(root, np.empty(0), 0)), sizes[root])
    loads = [m for _, m in sorted(step.loads.values(), key=lambda pair: pair[0])]
    indices = [i for i, _ in sorted(step.loads.values(), key=lambda pair: pair[0])]
    stores, sums = [m for _, m in step.stores], [m for _, m in step.sums]
    memories = [*loads, *stores, *sums]
    strides = [m.like.strides for m in memories]
    full = [k for k, m in enumerate(memories) if m.like.size and all(s for s, n in zip(m.like.strides, m.like.shape) if n > 1)]
    leader = next((k for k in full if k >= len(loads)), full[0] if full else 0)
    dims = merged(step.shape, strides, leader)
    *above, (length, inner) = dims
    lanes = native.WIDTH * 8 // step.kind.bits
    base = [table.pointer(f, m) for m in memories]
    types = [OF[m.like.dtype] for m in memories]
    numbers: dict[int, Value] = {}
    for n, i in step.numbers.items():
        value = f.load(f.at(f["table"], table.place(("number", n)), F64), F64)
        numbers[i] = f.splat(f.convert("fptrunc", value, F32) if step.kind == F32 else value, lanes)
    expressions = [x for x, _ in step.stores] + [x for x, _ in step.sums]
    first_store, first_sum = len(loads), len(loads) + len(stores)

    def inside(pointers: list[Value]) -> None:
        fixed: dict[int, Value] = {}
        for k in range(len(loads)):
            if inner[k] == 0:
                one = I8 if types[k] == I1 else types[k]
                value = f.splat(f.load(pointers[k], one), lanes)
                fixed[k] = value.differs(0) if types[k] == I1 else value
        zero = f.constant(0.0, step.kind.of(lanes))
        partial = {k: f.variable(zero) for k in range(first_sum, len(memories)) if inner[k] == 0}

        def block(at: Value, count: int) -> None:
            """One vector, or the first ``count`` elements of one."""
            mask = None if count == lanes else f.mask_of([i < count for i in range(lanes)])
            arguments: list[Any] = [None] * step.arguments
            for i, value in numbers.items():
                arguments[i] = value
            for k, index in enumerate(indices):
                if k in fixed:
                    arguments[index] = fixed[k]
                elif inner[k] == _size(types[k]):
                    arguments[index] = load(f, f.at(pointers[k], at * inner[k], I8), types[k], lanes, mask)
                else:
                    arguments[index] = _gathered(f, f.at(pointers[k], at * inner[k], I8), inner[k], types[k], lanes, count)
            results = lowered(f, expressions, arguments, lanes)
            for j, value in enumerate(results):
                k = first_store + j
                target = f.at(pointers[k], at * inner[k], I8)
                if k < first_sum:
                    if inner[k] == _size(types[k]):
                        store(f, value, target, types[k], mask)
                    else:
                        _scattered(f, value, target, inner[k], types[k], count)
                    continue
                if mask is not None:
                    value = f.select(mask, value, f.constant(0.0, value.type))
                if k in partial:
                    partial[k].set(partial[k].get() + value)
                elif inner[k] == _size(types[k]):
                    store(f, load(f, target, types[k], lanes, mask) + value, target, types[k], mask)
                else:
                    _scattered(f, _gathered(f, target, inner[k], types[k], lanes, count) + value, target, inner[k], types[k], count)

        def flush() -> None:
            """Add partial sums to the totals (W. Kahan, Comm. ACM 8, 1965)."""
            for k, p in partial.items():
                total, lost = totals[k]
                part, before = p.get() - lost.get(), total.get()
                total.set(before + part)
                lost.set((total.get() - before) - part)
                p.set(zero)

        def run(low: Any, high: Any, whole: int) -> None:
            if whole == 1:
                block(f.constant(low, I64), lanes)
            elif whole:
                with f.loop(low, high, lanes) as at:
                    block(at, lanes)

        done, long = 0, RUN * lanes
        totals: dict[int, Any] = {}
        if partial and length > long:
            totals = {k: (f.variable(zero), f.variable(zero)) for k in partial}
            done = length // long * long
            with f.loop(0, done, long) as at:
                run(at, at + long, RUN)
                flush()
        whole = (length - done) // lanes
        run(done, done + whole * lanes, whole)
        if (length - done) % lanes:
            block(f.constant(done + whole * lanes, I64), (length - done) % lanes)
        for k, p in partial.items():
            value = p.get() + totals[k][0].get() if totals else p.get()
            f.store(f.load(pointers[k], types[k]) + f.sum_lanes(value), pointers[k])

    nested(f, above, base, inside)
    return f


def _size(type: Type) -> int:
    return 1 if type == I1 else type.bits // 8


def nested(f: Function, dims: Sequence[tuple[int, list[int]]], pointers: list[Value], inside: Callable[[list[Value]], None]) -> None:
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


def entry(name: str, parts: Sequence[str], given: Sequence[tuple[str, int]]) -> tuple[Function, Value]:
    """A function of the table and of what changes from call to call: pairs of a kind (``a`` array, ``f`` number) and a place."""
    f = Function(f"{name}.$$", [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    table_object = f.load(f["args"], PTR)
    table = f.load(f.at(table_object, native.DATA // 8, I64), PTR)
    for i, (kind, place) in enumerate(given):
        value = f.load(f.at(f["args"], i + 1, PTR), PTR)
        if kind == "a":
            f.store(f.load(f.at(value, native.DATA // 8, I64), I64), f.at(table, place, I64))
        else:
            f.store(f.call("PyFloat_AsDouble", value, returns=F64, outside=True), f.at(table, place, F64))
    for part in parts:
        f.call(part, table)
    f.call("Py_IncRef", table_object, outside=True)
    return f, table_object
