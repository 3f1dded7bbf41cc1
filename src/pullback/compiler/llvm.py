"""Native code for steps: loops and products, with all sizes and strides written into them.

Every step is a function of one table, in which the addresses of all memory stand, and numbers as doubles. The innermost
dimension of a loop is done a vector at a time, its rest under a mask; sums keep a vector of partial sums there.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels import native
from ..kernels.builder import F32, F64, I1, I8, I32, I64, PTR, Function, Type, Value
from ..kernels.elementwise import load, store
from ..kernels.scalar import lowered
from .fuse import OF, Loop, Memory, Product

RUN = 32  # vectors that are added up before their sum is added, with what rounding took from it, to that of all
BLAS_FROM = 1 << 15  # multiplications from which the BLAS is called


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

    _nested(f, above, base, inside)
    return f


def _size(type: Type) -> int:
    return 1 if type == I1 else type.bits // 8


def _nested(f: Function, dims: Sequence[tuple[int, list[int]]], pointers: list[Value], inside: Callable[[list[Value]], None]) -> None:
    """Loops around something, which is told where everything then is."""
    if not dims:
        inside(pointers)
        return
    (size, strides), *rest = dims
    with f.loop(0, size) as i:
        _nested(f, rest, [f.at(p, i * s, I8) if s else p for p, s in zip(pointers, strides)], inside)


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


# --- products ---------------------------------------------------------------------------------------------------

_blas: dict[Type, str] = {}


def blas(type: Type) -> str:
    """The name of the matrix product of SciPy's BLAS, made known to the native code."""
    if type not in _blas:
        from scipy.linalg import cython_blas

        capsule = cython_blas.__pyx_capi__["sgemm" if type == F32 else "dgemm"]
        get_name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
        get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        _blas[type] = "pullback_sgemm" if type == F32 else "pullback_dgemm"
        native.provide(_blas[type], get(capsule, get_name(capsule)))
    return _blas[type]


def product(name: str, step: Product, table: Table, scratch: int) -> Function:
    """The function of a product. Root ``scratch`` has room for a copy of either factor."""
    f = Function(name, [("table", PTR)], internal=True)
    a, b, out = step.a, step.b, step.out
    *batch, m, k = a.like.shape
    n = b.like.shape[-1]
    type = OF[out.like.dtype]
    size = type.bits // 8
    room = table.pointer(f, Memory(scratch, np.empty(0), 0))
    dims = [(count, [x.like.strides[d] for x in (a, b, out)]) for d, count in enumerate(batch)]
    strides = [x.like.strides[-2:] for x in (a, b, out)]

    def one(pointers: list[Value]) -> None:
        p, q, r = pointers
        if m * n * k >= BLAS_FROM:
            _by_blas(f, type, (m, n, k), pointers, strides, room)
            return
        (ai, ak), (bk, bj), (oi, _) = strides
        if bj != size and n > 1:  # rows of b must lie in a piece
            with f.loop(0, k) as i, f.loop(0, n) as j:
                f.store(f.load(f.at(f.at(q, i * bk, I8), j * bj, I8), type), f.at(room, i * n + j, type))
            q, bk = room, n * size
        _small(f, type, (m, n, k), (p, ai, ak), (q, bk), (r, oi))

    _nested(f, dims, [table.pointer(f, x) for x in (a, b, out)], one)
    return f


def _small(f: Function, type: Type, sizes: tuple[int, int, int], a: tuple[Value, int, int], b: tuple[Value, int], out: tuple[Value, int]) -> None:
    """A product row by row: a few rows of a at a time, times vectors of b."""
    m, n, k = sizes
    (p, ai, ak), (q, bk), (r, oi) = a, b, out
    size = type.bits // 8
    lanes = native.WIDTH * 8 // type.bits
    if n == 1 and ak == size and bk == size:  # rows times a vector
        with f.loop(0, m) as i:
            row, total = f.at(p, i * ai, I8), f.variable(f.constant(0.0, type.of(lanes)))
            vector = type.of(lanes)
            with f.loop(0, k // lanes * lanes, lanes) as at:
                total.set(f.fma(f.load(f.at(row, at, type), vector), f.load(f.at(q, at, type), vector), total.get()))
            if k % lanes:
                mask = f.mask_of([x < k % lanes for x in range(lanes)])
                at = f.constant(k // lanes * lanes, I64)
                total.set(f.fma(f.load(f.at(row, at, type), vector, mask), f.load(f.at(q, at, type), vector, mask), total.get()))
            f.store(f.sum_lanes(total.get()), f.at(r, i * oi, I8))
        return

    def rows(i: Value, count: int) -> None:
        for first in range(0, n, 4 * lanes):
            widths = [min(lanes, n - j) for j in range(first, min(n, first + 4 * lanes), lanes)]
            masks = [None if w == lanes else f.mask_of([x < w for x in range(lanes)]) for w in widths]
            sums = [[f.variable(f.constant(0.0, type.of(lanes))) for _ in widths] for _ in range(count)]
            with f.loop(0, k) as at:
                right = f.at(f.at(q, at * bk, I8), first, type)
                vectors = [f.load(f.at(right, j * lanes, type), type.of(lanes), mask) for j, mask in enumerate(masks)]
                for c in range(count):
                    left = f.splat(f.load(f.at(f.at(p, (i + c) * ai, I8), at * ak, I8), type), lanes)
                    for j, vector in enumerate(vectors):
                        sums[c][j].set(f.fma(left, vector, sums[c][j].get()))
            for c in range(count):
                for j, mask in enumerate(masks):
                    f.store(sums[c][j].get(), f.at(f.at(r, (i + c) * oi, I8), first + j * lanes, type), mask)

    four = m // 4 * 4
    if four:
        with f.loop(0, four, 4) as i:
            rows(i, 4)
    if m % 4:
        rows(f.constant(four, I64), m % 4)


def _by_blas(f: Function, type: Type, sizes: tuple[int, int, int], pointers: list[Value], strides: Sequence[Any], room: Value) -> None:
    """``out' = b' a'``, for the BLAS thinks in columns."""
    m, n, k = sizes
    size = type.bits // 8
    (p, q, r), ((ai, ak), (bk, bj), (oi, _)) = pointers, strides

    def turned(x: Value, rows: int, columns: int, over: int, along: int) -> tuple[Value, bool, int]:
        """A factor, whether it is to be transposed, and its leading dimension."""
        if along == size and over >= columns * size and over % size == 0:
            return x, False, over // size
        if over == size and along >= rows * size and along % size == 0:
            return x, True, along // size
        with f.loop(0, rows) as i, f.loop(0, columns) as j:
            f.store(f.load(f.at(f.at(x, i * over, I8), j * along, I8), type), f.at(room, i * columns + j, type))
        return room, False, columns

    x, tx, lx = turned(p, m, k, ai if m > 1 else k * size, ak if k > 1 else size)
    y, ty, ly = turned(q, k, n, bk if k > 1 else n * size, bj if n > 1 else size)
    places = f.room(16, I64)

    def by_reference(i: int, value: Any, kind: Type) -> Value:
        at = f.at(places, i, I64)
        f.store(f.constant(value, kind), at)
        return at

    letters = [by_reference(i, ord("T" if t else "N"), I8) for i, t in enumerate((ty, tx))]
    numbers = [by_reference(i, v, I32) for i, v in ((2, n), (3, m), (4, k), (5, ly), (6, lx), (7, max(n, oi // size if m > 1 else n)))]
    one, zero = by_reference(8, 1.0, type), by_reference(9, 0.0, type)
    f.call(blas(type), letters[0], letters[1], *numbers[:3], one, y, numbers[3], x, numbers[4], zero, r, numbers[5], outside=True)


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
