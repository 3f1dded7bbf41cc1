"""An LSTM over all steps of a sequence in one call; see :mod:`pullback.ops.recurrent` for the formulas.

Sequences of a batch do not depend on each other, so a task takes a few of them through all steps. The product of the
states with the weights is computed in tiles that hold the four gates of the same units, so that a tile is finished, by
the arithmetic of the cell, while it is in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import native
from .builder import I64, PTR, Function, Type, Value, module
from .functions import Math
from .rows import TYPES


def _together(batch: int) -> int:
    """How many sequences a task takes: the most useful work in a tile of four vectors each."""
    most = 6 if native.REGISTERS == 32 else 2
    return min(range(1, most + 1), key=lambda rows: (-(-batch // rows) * rows / batch + 0.6 / rows, -rows))


class Cell:
    """What forward and backward have in common: the gates of some sequences at one step."""

    def __init__(self, name: str, type: Type, size: int, rows: int, arrays: int) -> None:
        self.f = f = Function(f"{name}_task.$$", [("slots", PTR), ("from", I64), ("to", I64)], internal=True)
        self.name, self.type, self.size, self.rows, self.count = name, type, size, rows, arrays
        self.lanes = native.WIDTH * 8 // type.bits
        self.vector, self.math = type.of(self.lanes), Math(f)
        self.batch, self.steps = (f.load(f.at(f["slots"], i, I64), I64) for i in range(2))
        self.given = [f.load(f.at(f["slots"], 2 + i, I64), PTR) for i in range(arrays)]

    def blocks(self, width: int, body: Callable[[Value, Value | None], None]) -> None:
        """``body(column, mask)`` for each vector of so many columns."""
        whole = width // self.lanes * self.lanes
        with self.f.loop(0, whole, self.lanes) as j:
            body(j, None)
        if whole < width:
            body(self.f.constant(whole, I64), self.f.mask_of([i < width - whole for i in range(self.lanes)]))

    def load(self, pointer: Value, at: Any, mask: Value | None) -> Value:
        return self.f.load(self.f.at(pointer, at, self.type), self.vector, mask)

    def store(self, value: Value, pointer: Value, at: Any, mask: Value | None) -> None:
        self.f.store(value, self.f.at(pointer, at, self.type), mask)

    def row(self, first: Value, r: Any) -> Value:
        """The number of a sequence; beyond the batch the last one once more, which does no harm."""
        return self.f.smaller(first + r, self.batch - 1)

    def product(self, left: Sequence[Value], depth: int, right: Value, pitch: int, columns: Sequence[Value], start: Sequence[Any],
                mask: Value | None) -> list[list[Any]]:  # fmt: skip
        """Rows times columns of a matrix: variables with the sums, which begin with ``start``."""
        f = self.f
        sums = [[f.variable(v, self.vector) for v in row] for row in start]
        with f.loop(0, depth) as k:
            line = f.at(right, k * pitch, self.type)
            by = [self.load(line, c, mask) for c in columns]
            for r, pointer in enumerate(left):
                factor = f.splat(f.load(f.at(pointer, k, self.type), self.type), self.lanes)
                for v, b in enumerate(by):
                    sums[r][v].set(f.fma(factor, b, sums[r][v].get()))
        return sums

    def gates(self, x: Sequence[Value], hidden: Sequence[Value], weight: Value, room: Value, j: Value, mask: Value | None) -> None:
        """The four gates before their functions, of units j and on, into the room: (rows, 4, lanes)."""
        size = self.size
        columns = [j + g * size for g in range(4)]
        start = [[self.load(p, c, mask) for c in columns] for p in x]
        sums = self.product(hidden, size, weight, 4 * size, columns, start, mask)
        for r, row in enumerate(sums):
            for g, total in enumerate(row):
                self.f.store(total.get(), self.f.at(room, (r * 4 + g) * self.lanes, self.type))

    def done(self) -> Callable:
        around = native.entry(self.name, self.f.name, "ii" + "a" * self.count, 1)
        (call,) = native.functions(module(self.f, (around, around.result)), [self.name])  # type: ignore[attr-defined]
        return call


@lru_cache(64)
def _forward(d: np.dtype, size: int, rows: int) -> Callable:
    """Arrays: rows of each step, x, weight transposed, the first states, all states, the first cells, all cells."""
    c = Cell("lstm", TYPES[d], size, rows, 7)
    f, type, m = c.f, c.type, c.math
    starts, x, weight, hidden, output, cell, cells = c.given
    room = f.room(rows * 4 * c.lanes, type)
    with f.loop(f["from"], f["to"]) as tile:
        first = tile * rows
        with f.loop(0, c.steps) as step:
            start = f.load(f.at(starts, step, I64), I64)
            before = f.load(f.at(starts, f.select(step.equals(0), step, step - 1), I64), I64)
            initial = step.equals(0)
            h, old = f.select(initial, hidden, f.at(output, before * size, type)), f.select(initial, cell, f.at(cells, before * size, type))
            places = [c.row(first, r) for r in range(rows)]
            xs = [f.at(x, (start + p) * (4 * size), type) for p in places]
            hs = [f.at(h, p * size, type) for p in places]

            def block(j: Value, mask: Value | None) -> None:
                c.gates(xs, hs, weight, room, j, mask)
                with f.loop(0, rows) as r:
                    place = c.row(first, r)
                    i, forget, new, out = (f.load(f.at(room, (r * 4 + g) * c.lanes, type), c.vector) for g in range(4))
                    value = m.sigmoid(forget) * c.load(old, place * size + j, mask) + m.sigmoid(i) * m.tanh(new)
                    at = (start + place) * size + j
                    c.store(value, cells, at, mask)
                    c.store(m.sigmoid(out) * m.tanh(value), output, at, mask)

            c.blocks(size, block)
    return c.done()


@lru_cache(64)
def _backward(d: np.dtype, size: int, rows: int) -> Callable:
    """Arrays: as forward up to all cells, then the weight as it is, the gradients of all states and of all cells; results:
    the gradients of the first states, of the first cells and of x."""
    c = Cell("lstm_backward", TYPES[d], size, rows, 13)
    f, type, m = c.f, c.type, c.math
    starts, x, weight, hidden, output, cell, cells, plain, g_output, g_cells, carried, kept, dx = c.given
    room = f.room(rows * 4 * c.lanes, type)
    with f.loop(f["from"], f["to"]) as tile:
        first = tile * rows
        with f.loop(0, c.steps) as back:
            step = c.steps - 1 - back
            start = f.load(f.at(starts, step, I64), I64)
            initial = step.equals(0)
            before = f.load(f.at(starts, f.select(initial, step, step - 1), I64), I64)
            h, old = f.select(initial, hidden, f.at(output, before * size, type)), f.select(initial, cell, f.at(cells, before * size, type))
            places = [c.row(first, r) for r in range(rows)]
            xs = [f.at(x, (start + p) * (4 * size), type) for p in places]
            hs = [f.at(h, p * size, type) for p in places]
            own = f.smaller(f.constant(rows, I64) + 0, c.batch - first)  # a sequence must not be pulled back twice

            def block(j: Value, mask: Value | None) -> None:
                c.gates(xs, hs, weight, room, j, mask)
                with f.loop(0, own) as r:
                    place = first + r
                    z_i, z_f, z_g, z_o = (f.load(f.at(room, (r * 4 + g) * c.lanes, type), c.vector) for g in range(4))
                    i, forget, new, out = m.sigmoid(z_i), m.sigmoid(z_f), m.tanh(z_g), m.sigmoid(z_o)
                    at, state = (start + place) * size + j, place * size + j
                    t = m.tanh(c.load(cells, at, mask))
                    dh = c.load(g_output, at, mask) + c.load(carried, state, mask)
                    dc = c.load(g_cells, at, mask) + c.load(kept, state, mask) + dh * (out * (1.0 - t * t))
                    line = f.at(dx, (start + place) * (4 * size) + j, type)
                    c.store(dc * (new * i * (1.0 - i)), line, 0, mask)
                    c.store(dc * (c.load(old, state, mask) * forget * (1.0 - forget)), line, size, mask)
                    c.store(dc * (i * (1.0 - new * new)), line, 2 * size, mask)
                    c.store(dh * (t * out * (1.0 - out)), line, 3 * size, mask)
                    c.store(dc * forget, kept, state, mask)

            c.blocks(size, block)
            pulled = [f.at(dx, (start + p) * (4 * size), type) for p in places]

            def carry(j: Value, mask: Value | None) -> None:
                sums = c.product(pulled, 4 * size, plain, size, [j], [[0.0]] * rows, mask)
                for p, (total,) in zip(places, sums):
                    c.store(total.get(), carried, p * size + j, mask)

            c.blocks(size, carry)
    return c.done()


def _starts(spans: Sequence[tuple[int, int]], batch: int) -> np.ndarray | None:
    """The first row of each step, if all sequences take all steps, one step after the other."""
    rows = np.array(spans, np.int64).reshape(-1, 2)
    starts = rows[:, 0].copy()
    steps = starts[1:] - starts[:-1]
    if not len(starts) or (rows[:, 1] - starts != batch).any() or (steps != batch).any() and (steps != -batch).any():
        return None
    return starts


def _suit(batch: int, *arrays: np.ndarray) -> bool:
    d = arrays[0].dtype
    return batch > 0 and d in TYPES and all(a.dtype == d for a in arrays)


def lstm(x: np.ndarray, hidden: np.ndarray, cell: np.ndarray, weight: np.ndarray, projection: Any, spans: Any) -> Any:
    batch, size = cell.shape
    starts = _starts(spans, batch)
    if projection is not None or starts is None or not _suit(batch, x, hidden, cell, weight):
        return None
    d, rows = x.dtype, _together(batch)
    output, cells = np.empty((len(x), size), d), np.empty((len(x), size), d)
    x, hidden, cell, across = map(np.ascontiguousarray, (x, hidden, cell, weight.T))
    _forward(d, size, rows)(-(-batch // rows), batch, len(starts), starts, x, across, hidden, output, cell, cells)
    return output, cells


def lstm_backward(g_output: np.ndarray, g_cells: np.ndarray, x: np.ndarray, hidden: np.ndarray, cell: np.ndarray, weight: np.ndarray,
                  projection: Any, spans: Any, output: np.ndarray, cells: np.ndarray) -> Any:  # fmt: skip
    """The gradients of x, the first states, the first cells and the weight."""
    batch, size = cell.shape
    starts = _starts(spans, batch)
    if projection is not None or starts is None or not _suit(batch, x, g_output, g_cells, hidden, cell, weight, output, cells):
        return None
    d, rows = x.dtype, _together(batch)
    x, hidden, cell, across, weight, g_output, g_cells, output, cells = map(
        np.ascontiguousarray, (x, hidden, cell, weight.T, weight, g_output, g_cells, output, cells))  # fmt: skip
    carried, kept, dx = np.zeros((batch, size), d), np.zeros((batch, size), d), np.empty(x.shape, d)
    _backward(d, size, rows)(-(-batch // rows), batch, len(starts), starts, x, across, hidden, output, cell, cells, weight, g_output,
                             g_cells, carried, kept, dx)  # fmt: skip
    forwards = bool(starts[0] == 0)
    before = np.concatenate((hidden, output[:-batch]) if forwards else (output[batch:], hidden))
    return dx, carried, kept, dx.T @ before
