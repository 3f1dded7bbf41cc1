"""Fused LSTM, GRU and RNN layers over whole sequences, forward and backward; formulas: :mod:`pullback.ops.recurrent`.

Sequences of a batch are independent, so a task takes some of them through all time steps. Products of states and
weights are computed in register tiles; the weight is packed once a task, in the order in which tiles read it, so that
the part a tile needs stays in the cache for all rows. Forward saves the gates, so that backward is a product a step and
a little arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from .codegen import jit, threads
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, Type, Value
from .codegen.vector_math import Math

Values = Sequence[Value]


class Cell(NamedTuple):
    """A kind of cell, and its arithmetic on vectors of units.

    Attributes:
        gates: how many there are. states: likewise, h being the first. kept: how many values are kept of each unit.
        forward: (what inputs contribute to the gates, what states do, the states before) to (states, what is kept).
        backward: (what was kept, states before, states after, their gradients) to (gradients at what states contributed
            to the gates, the gradient at what inputs did to the last gate, gradients of the states before beside those
            through gates).
        apart: whether the last gate is not a function of the sum of both contributions.
    """

    gates: int
    states: int
    kept: int
    apart: bool
    forward: Callable[[Math, Values, Values, Values], tuple[Values, Values]]
    backward: Callable[[Math, Values, Values, Values, Values], tuple[Values, Value, Sequence[Value | float]]]


def _lstm(m: Math, x: Values, y: Values, before: Values) -> tuple[Values, Values]:
    i, forget, out = (m.sigmoid(x[k] + y[k]) for k in (0, 1, 3))
    new = m.tanh(x[2] + y[2])
    cell = forget * before[1] + i * new
    return (out * m.tanh(cell), cell), (i, forget, new, out)


def _lstm_backward(m: Math, kept: Values, before: Values, after: Values, g: Values) -> Any:
    i, forget, new, out = kept
    t = m.tanh(after[1])
    dc = g[1] + g[0] * (out * (1.0 - t * t))
    dy = (
        dc * (new * i * (1.0 - i)),
        dc * (before[1] * forget * (1.0 - forget)),
        dc * (i * (1.0 - new * new)),
        g[0] * (t * out * (1.0 - out)),
    )
    return dy, dy[3], (0.0, dc * forget)


def _gru(m: Math, x: Values, y: Values, before: Values) -> tuple[Values, Values]:
    r, z = (m.sigmoid(x[k] + y[k]) for k in (0, 1))
    new = m.tanh(x[2] + r * y[2])
    return (new + z * (before[0] - new),), (r, z, new, y[2])


def _gru_backward(m: Math, kept: Values, before: Values, after: Values, g: Values) -> Any:
    r, z, new, y = kept
    by_new = g[0] * ((1.0 - z) * (1.0 - new * new))
    return (by_new * (y * r * (1.0 - r)), g[0] * ((before[0] - new) * z * (1.0 - z)), by_new * r), by_new, (g[0] * z,)


def _tanh(m: Math, x: Values, y: Values, before: Values) -> tuple[Values, Values]:
    return (m.tanh(x[0] + y[0]),), ()


def _tanh_backward(m: Math, kept: Values, before: Values, after: Values, g: Values) -> Any:
    dy = g[0] * (1.0 - after[0] * after[0])
    return (dy,), dy, (0.0,)


def _relu(m: Math, x: Values, y: Values, before: Values) -> tuple[Values, Values]:
    z = x[0] + y[0]
    return (m.f.select(m.f.compare("ugt", z, 0.0), z, 0.0),), ()  # NaN stays


def _relu_backward(m: Math, kept: Values, before: Values, after: Values, g: Values) -> Any:
    dy = m.f.select(after[0] > 0.0, g[0], 0.0)
    return (dy,), dy, (0.0,)


CELLS = {
    "lstm": Cell(4, 2, 4, False, _lstm, _lstm_backward),
    "gru": Cell(3, 1, 4, True, _gru, _gru_backward),
    "tanh": Cell(1, 1, 0, False, _tanh, _tanh_backward),
    "relu": Cell(1, 1, 0, False, _relu, _relu_backward),
}


UNITS = 2  # vectors of units in a tile of backward


def _units(cell: Cell) -> int:
    """Vectors of units in a tile of forward, each with a vector for every gate."""
    return max(1, UNITS // cell.gates)


def _height(vectors: int, batch: int) -> int:
    """How many rows a tile of so many vectors has: they fit into registers, and little is wasted at the end of a
    thread's share.
    """
    batch = -(-batch // threads.count())
    most = min(8, (jit.REGISTERS - 2 - vectors) // vectors)
    return min(range(1, most + 1), key=lambda rows: (-(-batch // rows) * rows / batch + 0.6 / rows, -rows))


class Task(Kernel):
    """What forward and backward have in common.

    Attributes:
        operands: the arrays but for the spans.
        low, high: the sequences that it takes through all steps.
    """

    def __init__(self, name: str, type: Type, size: int, rows: int, arrays: int, *integers: str) -> None:
        super().__init__(name, type, [f"array {i}" for i in range(arrays)], ["batch", "steps", *integers])
        self.size = size
        self.spans, *self.operands = [self[f"array {i}"] for i in range(arrays)]
        self.low, self.high = self.f["from"] * rows, self.f.smaller(self.f["to"] * rows, self["batch"])

    def blocks(self, vectors: int, body: Callable[[Value, list[Value | None]], None]) -> None:
        """``body(column, masks)`` for columns of units, so many vectors at a time, masked where units end."""
        f, width = self.f, vectors * self.lanes
        whole = self.size // width * width
        if whole:
            with f.loop(0, whole, width) as j:
                body(j, [None] * vectors)
        masks: list[Value | None] = []
        for v in range(whole, self.size, self.lanes):
            masks.append(
                f.mask_of([v + i < self.size for i in range(self.lanes)]) if v + self.lanes > self.size else None
            )
        if masks:
            body(f.constant(whole, I64), masks)

    @contextmanager
    def pairs(self, first: Value, end: Value) -> Iterator[Values]:
        """Two sequences at a time, interleaved to hide latencies; the last one may be paired with itself."""
        with self.f.loop(first, end, 2) as p:
            yield p, self.f.smaller(p + 1, end - 1)

    def lines(self, array: Value, pitch: Value | int, rows: Values) -> Values:
        return [self.f.at(array, row * pitch, self.type) for row in rows]

    def load_pair(self, pointers: Values, at: Any, mask: Value | None = None) -> Value:
        a, b = (self.load(pointer, at, mask) for pointer in pointers)
        return self.f.shuffle(a, b, range(2 * self.lanes))

    def store_pair(self, value: Value, pointers: Values, at: Any, mask: Value | None = None) -> None:
        for i, pointer in enumerate(pointers):
            self.store(self.f.shuffle(value, None, range(i * self.lanes, (i + 1) * self.lanes)), pointer, at, mask)

    def span(self, step: Value) -> tuple[Value, Value]:
        """The first row of a step in packed sequences, and how many there are; none before the first step."""
        f = self.f
        place = f.select(step < 0, 0, step) * 2
        start, end = (f.load(f.at(self.spans, place + i, I64), I64) for i in range(2))
        return start, f.select(step < 0, 0, end - start)

    def state(self, p: Value, first: Value, all: Value, start: Value, count: Value) -> Value:
        """Where a sequence's state before a step is: behind the step before, if it took part in that, else the initial
        one.
        """
        f, size = self.f, self.size
        return f.at(f.select(p < count, f.at(all, start * size, self.type), first), p * size, self.type)

    def weight_scratch(self, depth: int, columns: int) -> Value:
        """Memory for the packed weight, with columns padded to whole vectors."""
        return self.scratch(depth * columns * -(-self.size // self.lanes) * self.lanes)

    def tile(self, lines: Values, depth: int, panel: Value, vectors: int, start: list[list[Any]]) -> list[list[Value]]:
        """Rows times a packed panel (depth, vectors, lanes), added to ``start``."""
        f = self.f
        sums = [[f.variable(s, self.vector) for s in row] for row in start]
        with f.loop(0, depth) as k:
            by = [self.load(panel, k * (vectors * self.lanes) + v * self.lanes) for v in range(vectors)]
            for line, row in zip(lines, sums):
                factor = f.splat(f.load(f.at(line, k, self.type), self.type), self.lanes)
                for b, total in zip(by, row):
                    total.set(f.fma(factor, b, total.get()))
        return [[s.get() for s in row] for row in sums]


@compiled_kernel
def _forward(name: str, d: np.dtype, size: int, rows: int, biased: bool) -> str:
    """Arrays: spans, x, weight, two biases, then of each state the initial and all values, and what is saved, perhaps
    over x.
    """
    cell = CELLS[name]
    t = Task(name, TYPES[d], size, rows, 6 + 2 * cell.states)
    f, type, lanes, gates = t.f, t.type, t.lanes, cell.gates
    x, weight, b_ih, b_hh, *states, kept = t.operands
    firsts, alls = states[::2], states[1::2]
    units = _units(cell)
    panels = t.weight_scratch(size, gates)
    sums = f.stack_array(rows * gates * units * lanes, type)

    def copy(j: Value, masks: list[Value | None]) -> None:
        """Pack the weight, transposed: (depth, gates, columns)."""
        panel = f.at(panels, j * (gates * size), type)
        for c in range(gates * len(masks)):
            g, u = divmod(c, len(masks))
            lines = [
                f.at(weight, (f.smaller(j + (u * lanes + i), size - 1) + g * size) * size, type) for i in range(lanes)
            ]
            with f.loop(0, size) as k:
                gathered = None
                for i, line in enumerate(lines):
                    gathered = f.with_lane(gathered, i, f.load(f.at(line, k, type), type), lanes)
                t.store(gathered, panel, k * (gates * len(masks) * lanes) + c * lanes)  # type: ignore[arg-type]

    t.blocks(units, copy)
    # Step after step: the products of states and weights for a tile, then the cell's arithmetic on its rows.
    with f.loop(0, t["steps"]) as step:
        (start, count), (start_before, count_before) = t.span(step), t.span(step - 1)
        end = f.smaller(t.high, count)

        def block(j: Value, masks: list[Value | None]) -> None:
            panel, vectors = f.at(panels, j * (gates * size), type), gates * len(masks)
            with f.loop(t.low, end, rows) as first:
                places = [f.smaller(first + r, end - 1) for r in range(rows)]
                lines = [t.state(p, firsts[0], alls[0], start_before, count_before) for p in places]
                for r, row in enumerate(t.tile(lines, size, panel, vectors, [[0.0] * vectors] * rows)):
                    for v, value in enumerate(row):
                        t.store(value, sums, (r * vectors + v) * lanes)
                with t.pairs(first, f.smaller(first + rows, end)) as pair:
                    before = [
                        [t.state(p, a, s, start_before, count_before) for p in pair] for a, s in zip(firsts, alls)
                    ]
                    now = [start + p for p in pair]
                    sums_lines, x_lines = (
                        t.lines(sums, vectors * lanes, [p - first for p in pair]),
                        t.lines(x, gates * size, now),
                    )
                    kept_lines, after_lines = (
                        t.lines(kept, cell.kept * size, now),
                        [t.lines(s, size, now) for s in alls],
                    )
                    for u, mask in enumerate(masks):
                        at = j + u * lanes
                        xs = [t.load_pair(x_lines, at + g * size, mask) for g in range(gates)]
                        ys = [t.load_pair(sums_lines, (g * len(masks) + u) * lanes) for g in range(gates)]
                        if biased:
                            xs, ys = (
                                [v + t.load_pair((b, b), at + g * size, mask) for g, v in enumerate(vs)]
                                for b, vs in ((b_ih, xs), (b_hh, ys))
                            )
                        after, keep = cell.forward(t.math, xs, ys, [t.load_pair(s, at, mask) for s in before])
                        for value, targets in zip(after, after_lines):
                            t.store_pair(value, targets, at, mask)
                        for i, value in enumerate(keep):
                            t.store_pair(value, kept_lines, at + i * size, mask)

        t.blocks(units, block)
    return t.done(0)


@compiled_kernel
def _backward(name: str, d: np.dtype, size: int, rows: int, arrive: tuple[bool, ...]) -> str:
    """Arrays: spans, weight, what was saved, then of each state the initial values, all values, the gradients of all (0
    unless they ``arrive``) and, a result, that of the initial one. Further results: the gradients of what states and
    inputs contribute to gates, and h before each step, in rows of ``pitch`` elements.
    """
    cell = CELLS[name]
    t = Task(f"{name}_backward", TYPES[d], size, rows, 6 + 4 * cell.states, "pitch")
    f, type, lanes, gates = t.f, t.type, t.lanes, cell.gates
    weight, kept, *states, dy, dx, h = t.operands
    firsts, alls, gs, carried = (states[i::4] for i in range(4))
    panels = t.weight_scratch(gates * size, 1)

    def copy(j: Value, masks: list[Value | None]) -> None:
        panel = f.at(panels, j * (gates * size), type)
        with f.loop(0, gates * size) as k:
            for u, mask in enumerate(masks):
                t.store(t.load(weight, k * size + j + u * lanes, mask), panel, k * (len(masks) * lanes) + u * lanes)

    t.blocks(UNITS, copy)
    # Gradients carried from step to step, backwards in time; at the end there are none.
    for array in carried:
        f.clear(f.at(array, t.low * size, type), (t.high - t.low) * (size * type.bits // 8))
    with f.loop(0, t["steps"]) as back:
        step = t["steps"] - 1 - back
        (start, count), (start_before, count_before) = t.span(step), t.span(step - 1)
        end = f.smaller(t.high, count)
        with t.pairs(t.low, end) as pair:
            before = [[t.state(p, a, s, start_before, count_before) for p in pair] for a, s in zip(firsts, alls)]
            now = [start + p for p in pair]
            h_lines = t.lines(h, t["pitch"], now)
            after_lines, g_lines = ([t.lines(s, size, now) for s in states] for states in (alls, gs))
            dy_lines, dx_lines = (t.lines(a, gates * size, now) for a in (dy, dx))
            kept_lines, carried_lines = t.lines(kept, cell.kept * size, now), [t.lines(c, size, pair) for c in carried]

            def one(j: Value, masks: list[Value | None]) -> None:
                (mask,) = masks
                olds, news = ([t.load_pair(s, j, mask) for s in states] for states in (before, after_lines))
                values = [t.load_pair(kept_lines, j + i * size, mask) for i in range(cell.kept)]
                g = [t.load_pair(c, j, mask) for c in carried_lines]
                g = [t.load_pair(a, j, mask) + c if here else c for a, c, here in zip(g_lines, g, arrive)]
                of_y, of_x, beside = cell.backward(t.math, values, olds, news, g)
                for i, value in enumerate(of_y):
                    t.store_pair(value, dy_lines, j + i * size, mask)
                if cell.apart:
                    for i, value in enumerate([*of_y[:-1], of_x]):
                        t.store_pair(value, dx_lines, j + i * size, mask)
                for lines, other in zip(carried_lines, beside):
                    t.store_pair(f.constant(other, t.vector.of(2 * lanes)), lines, j, mask)
                t.store_pair(olds[0], h_lines, j, mask)

            t.blocks(1, one)

        def carry(j: Value, masks: list[Value | None]) -> None:
            panel, vectors = f.at(panels, j * (gates * size), type), len(masks)
            with f.loop(t.low, end, rows) as first:
                places = [f.smaller(first + r, end - 1) for r in range(rows)]
                lines = [f.at(dy, (start + p) * (gates * size), type) for p in places]
                targets = [f.at(carried[0], p * size + j, type) for p in places]
                starts = [[t.load(target, u * lanes, mask) for u, mask in enumerate(masks)] for target in targets]
                for target, row in zip(targets, t.tile(lines, gates * size, panel, vectors, starts)):
                    for u, (value, mask) in enumerate(zip(row, masks)):
                        t.store(value, target, u * lanes, mask)

        t.blocks(UNITS, carry)
    return t.done(0)


@lru_cache(64)
def _as_array(spans: tuple[tuple[int, int], ...]) -> np.ndarray:
    return np.array(spans, np.int64)


def _supports(firsts: Sequence[np.ndarray], *arrays: np.ndarray | None) -> bool:
    d = firsts[0].dtype
    return firsts[0].size > 0 and d in TYPES and all(a is None or a.dtype == d for a in (*firsts, *arrays))


def forward_kernel(name: str, d: np.dtype, firsts: tuple[int, ...], spans: Any, biased: bool) -> Callable:
    """A function of x, the weight, two biases, then of each state the first ones and all, and what is kept (perhaps x
    itself).

    Args:
        name: a cell of :data:`CELLS`.
        firsts: the shape of a state.
    """
    (batch, size), cell = firsts, CELLS[name]
    rows = _height(cell.gates * _units(cell), batch)
    return partial(_forward(name, d, size, rows, biased), -(-batch // rows), batch, len(spans), _as_array(spans))


def backward_kernel(
    name: str, d: np.dtype, firsts: tuple[int, ...], spans: Any, arrive: tuple[bool, ...], pitch: int
) -> Callable:
    """A function of the arrays of :func:`_backward` but for the spans."""
    batch, size = firsts
    rows = _height(UNITS, batch)
    return partial(
        _backward(name, d, size, rows, arrive), -(-batch // rows), batch, len(spans), pitch, _as_array(spans)
    )


def forward(
    name: str, x: np.ndarray, firsts: Sequence[np.ndarray], weight: np.ndarray, b_ih: Any, b_hh: Any, spans: Any
) -> Any:
    """All states of a cell of :data:`CELLS`, and what backward needs: ``(rows, kept * size)``.

    Args:
        x: what inputs contribute to the gates, without the bias; to be written over.
    """
    if not _supports(firsts, x, weight, b_ih, b_hh) or (b_ih is None) != (b_hh is None):
        return None
    cell, size, d, x = CELLS[name], firsts[0].shape[1], x.dtype, np.ascontiguousarray(x)
    biases = (x, x) if b_ih is None else (np.ascontiguousarray(b_ih), np.ascontiguousarray(b_hh))
    alls = [np.empty((len(x), size), d) for _ in firsts]
    kept = x if cell.kept == cell.gates else np.empty((len(x), cell.kept * size), d)
    states = [a for first, all in zip(firsts, alls) for a in (np.ascontiguousarray(first), all)]
    call = forward_kernel(name, d, firsts[0].shape, spans, b_ih is not None)
    call(x, np.ascontiguousarray(weight), *biases, *states, kept)
    return (*alls, kept)


def backward(
    name: str,
    gs: Sequence[np.ndarray],
    firsts: Sequence[np.ndarray],
    weight: np.ndarray,
    spans: Any,
    alls: Sequence[np.ndarray],
    kept: np.ndarray,
) -> Any:
    """The gradients at what inputs and what states contribute to the gates, h before each row, and the gradients of the
    first states.
    """
    cell, (n, size), d = CELLS[name], alls[0].shape, weight.dtype
    if not _supports(firsts, weight, kept, *gs, *alls) or kept.shape != (n, cell.kept * size):
        return None
    dy, h, carried = np.empty((n, cell.gates * size), d), np.empty((n, size), d), [np.empty(a.shape, d) for a in firsts]
    dx = np.empty_like(dy) if cell.apart else dy
    states = [np.ascontiguousarray(a) for each in zip(firsts, alls, gs, carried) for a in each]
    call = backward_kernel(name, d, firsts[0].shape, spans, (True,) * len(gs), size)
    call(np.ascontiguousarray(weight), np.ascontiguousarray(kept), *states, dy, dx, h)
    return dx, dy, h, *carried
