"""Products of matrices whose shapes leave a BLAS idle: tall and narrow ones, with few columns or little depth.

A panel of columns of the second matrix is copied, once for many rows, so that the tile's vectors lie one behind the other;
elements of the first are read where they are, in rows or in columns. A tile of rows and vectors stays in registers
through the whole depth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from . import native
from .builder import I64, PTR, Function, Type, Value, module
from .rows import TYPES

TILES = {1: 8, 2: 8, 3: 8, 4: 6} if native.REGISTERS == 32 else {1: 6, 2: 5, 3: 3, 4: 2}  # rows for so many vectors
FAR = 1 << 11  # bytes from column to column of the first matrix from which each is in another page: a BLAS copies them
CHUNK = 192  # rows, about, for which a panel is copied once


def _tile(f: Function, type: Type, lanes: int, rows: int, vectors: int, a: list[Value], step: Value, panel: Value, depth: Value,
          start: list[Any]) -> list[list[Value]]:  # fmt: skip
    """Sums of products over the depth, beginning with ``start``."""
    vector = type.of(lanes)
    sums = [[f.variable(s, vector) for s in start] for _ in range(rows)]
    with f.loop(0, depth) as k:
        line = f.at(panel, k * (vectors * lanes), type)
        by = [f.load(f.at(line, v * lanes, type), vector) for v in range(vectors)]
        offset = k * step
        for r in range(rows):
            factor = f.splat(f.load(f.at(a[r], offset, type), type), lanes)
            for v in range(vectors):
                sums[r][v].set(f.fma(factor, by[v], sums[r][v].get()))
    return [[s.get() for s in row] for row in sums]


@lru_cache(None)
def _kernel(d: np.dtype, rows: int, vectors: int, packed_along: bool, by_column: bool, bias: bool) -> Callable:
    """Items are a panel and a chunk of rows. ``packed_along``: rows of the second matrix lie together in memory;
    ``by_column``: columns of the first do."""
    type: Type = TYPES[d]
    lanes = native.WIDTH * 8 // type.bits
    width, vector = lanes * vectors, type.of(lanes)
    f = Function("product_task.$$", [("slots", PTR), ("from", I64), ("to", I64)], internal=True)
    m, depth, n, chunks, chunk, pitch_a, pitch_b = (f.load(f.at(f["slots"], i, I64), I64) for i in range(7))
    a, b, c, out = (f.load(f.at(f["slots"], i, I64), PTR) for i in range(7, 11))
    size = depth * (width * type.bits // 8)
    room = f.call("pullback_take", f.constant(0, I64), size, returns=PTR, outside=True)
    current = f.variable(-1, I64)
    one = f.constant(1, I64)
    with f.loop(f["from"], f["to"]) as item:
        panel, begin = item // chunks, item % chunks * chunk
        low = panel * width
        count = f.smaller(n - low, width)
        with f.when(panel.differs(current.get())):
            current.set(panel)
            _copy_panel(f, type, lanes, vectors, b, pitch_b, low, count, depth, room, packed_along)
        masks = [f.mask_below(f.select(count - v * lanes > 0, count - v * lanes, f.constant(0, I64)), lanes) for v in range(vectors)]
        starts: list[Any] = [0.0] * vectors
        if bias:
            starts = [f.load(f.at(c, low + v * lanes, type), vector, masks[v]) for v in range(vectors)]
        end = f.smaller(begin + chunk, m)
        with f.loop(begin, end, rows) as first:
            places = [f.smaller(first + r, end - 1) for r in range(rows)]
            lines = [f.at(a, p if by_column else p * pitch_a, type) for p in places]
            sums = _tile(f, type, lanes, rows, vectors, lines, pitch_a if by_column else one, room, depth, starts)

            def put(masked: bool) -> None:
                for place, row in zip(places, sums):
                    target = f.at(out, place * n + low, type)
                    for v, value in enumerate(row):
                        f.store(value, f.at(target, v * lanes, type), masks[v] if masked else None)

            f.choose(count.equals(width), lambda: put(False), lambda: put(True))
    f.call("pullback_give", f.constant(0, I64), room, size, outside=True)
    around = native.entry("product", f.name, "iiiiiiiaaaa", 1)
    (call,) = native.functions(module(f, (around, around.result)), ["product"])  # type: ignore[attr-defined]
    return call


def _copy_panel(f: Function, type: Type, lanes: int, vectors: int, b: Value, pitch: Value, low: Value, count: Value, depth: Value,
                room: Value, along: bool) -> None:  # fmt: skip
    """Columns low to low + count of the second matrix, (depth, width), with zeros behind the last."""
    width, vector = lanes * vectors, type.of(lanes)
    if along:
        masks = [f.mask_below(f.select(count - v * lanes > 0, count - v * lanes, f.constant(0, I64)), lanes) for v in range(vectors)]
        with f.loop(0, depth) as k:
            source, target = f.at(b, k * pitch + low, type), f.at(room, k * width, type)
            for v in range(vectors):
                f.store(f.load(f.at(source, v * lanes, type), vector, masks[v]), f.at(target, v * lanes, type))
        return
    whole = depth // lanes * lanes
    with f.loop(0, width, lanes) as j:
        inside = [f.smaller(low + f.smaller(j + i, count - 1), low + count - 1) for i in range(lanes)]
        with f.loop(0, whole, lanes) as k:
            rows = [f.load(f.at(b, place * pitch + k, type), vector) for place in inside]
            for i, row in enumerate(_transposed(f, rows)):
                f.store(row, f.at(room, (k + i) * width + j, type))
        with f.loop(whole, depth) as k:
            for i, place in enumerate(inside):
                f.store(f.load(f.at(b, place * pitch + k, type), type), f.at(room, k * width + j + i, type))


def _transposed(f: Function, rows: list[Value]) -> list[Value]:
    """A square of vectors, transposed by exchanging halves, quarters and so on."""
    n = len(rows)
    step = n // 2
    while step:
        made: list[Any] = [None] * n
        for i in range(n):
            if not i & step:
                a, b = rows[i], rows[i + step]
                made[i] = f.shuffle(a, b, [lane if not lane & step else n + (lane ^ step) for lane in range(n)])
                made[i + step] = f.shuffle(a, b, [lane ^ step if not lane & step else n + lane for lane in range(n)])
        rows, step = made, step // 2
    return rows


@lru_cache(1024)
def _plan(d: np.dtype, m: int, n: int, along: bool, by_column: bool, bias: bool) -> tuple[Callable, int, int, int]:
    """The kernel for a shape, how many items there are, chunks of rows and their size.

    Panels are as wide as they go with little left over, tiles as high.
    """
    lanes = native.WIDTH // d.itemsize

    def worth(vectors: int) -> float:
        work = vectors * TILES[vectors]
        width = vectors * lanes
        return n / (-(-n // width) * width) * work / (work + 0.7 * (vectors + TILES[vectors]))

    vectors = max(TILES, key=worth)
    most = TILES[vectors]
    rows = max(range(max(1, most - 3), most + 1), key=lambda r: (m / (-(-m // r) * r) * r / (r + 1), r)) if m > most else m
    chunk = -(-CHUNK // rows) * rows
    chunks = -(-m // chunk)
    return _kernel(d, rows, vectors, along, by_column, bias), -(-n // (vectors * lanes)) * chunks, chunks, chunk


def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray | None:
    """``a @ b + bias`` of two matrices."""
    d = a.dtype
    if d not in TYPES or b.dtype != d or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not a.size or not b.size:
        return None
    (m, depth), n, size = a.shape, b.shape[1], d.itemsize
    if a.strides[1] == size and a.strides[0] % size == 0:
        by_column, pitch_a = False, a.strides[0] // size
    elif a.strides[0] == size and a.strides[1] % size == 0:
        by_column, pitch_a = True, a.strides[1] // size
        if pitch_a * size > FAR and depth > 256:
            return None
    else:
        return None
    if b.strides[1] == size and b.strides[0] % size == 0:
        along, pitch_b = True, b.strides[0] // size
    elif b.strides[0] == size and b.strides[1] % size == 0:
        along, pitch_b = False, b.strides[1] // size
    else:
        return None
    call, items, chunks, chunk = _plan(d, m, n, along, by_column, bias is not None)
    out = np.empty((m, n), d)
    return call(items, m, depth, n, chunks, chunk, pitch_a, pitch_b, a, b, out if bias is None else bias, out)
