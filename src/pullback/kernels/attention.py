"""Attention without the matrix of all weights: a few queries at a time, whose weights stay in the processor's cache.

Forward keeps the logarithm of each query's sum of exponentials, from which backward makes the weights again (T. Dao et al.,
*FlashAttention*, 2022). Rows of queries, keys and values may lie anywhere; their elements lie together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any

import numpy as np

from ..strides import side_by_side
from . import native
from .builder import I64, Value
from .kernel import TYPES, Kernel

ROWS = 6 if native.REGISTERS == 32 else 2  # queries at a time
STRIDES = ("batch", "head", "row")


class Heads(Kernel):
    """A task that does whole heads. ``integers`` has the sizes, and the strides of each operand in elements."""

    def __init__(self, name: str, d: np.dtype, depth: int, operands: Sequence[str], others: Sequence[str]) -> None:
        integers = ["heads", "n", "m", *(f"{o}_{s}" for o in operands for s in STRIDES)]
        super().__init__(name, TYPES[d], [*operands, *others], integers, ["scale"])
        self.depth = depth
        self.padded = (self["m"] + (self.lanes - 1)) // self.lanes * self.lanes

    def head(self, operand: str, item: Value) -> Value:
        place = item // self["heads"] * self[f"{operand}_batch"] + item % self["heads"] * self[f"{operand}_head"]
        return self.f.at(self[operand], place, self.type)

    def line(self, operand: str, base: Value, i: Value) -> Value:
        return self.f.at(base, i * self[f"{operand}_row"], self.type)

    def across(self, operand: str, base: Value, depth: int, room: Value) -> None:
        """Rows of keys or values as columns: (depth, padded), zeros behind the last."""
        f, m = self.f, self["m"]
        f.clear(room, self.padded * (depth * self.type.bits // 8))
        with f.loop(0, m) as j:
            row = self.line(operand, base, j)
            for k in range(depth):
                f.store(f.load(f.at(row, k, self.type), self.type), f.at(room, self.padded * k + j, self.type))

    def blocks(self, width: int) -> list[tuple[int, Value | None]]:
        """Where the vectors of a row of so many elements begin, with a mask for the last."""
        return [(at, None if at + self.lanes <= width else self.f.mask_of([i < width - at for i in range(self.lanes)]))
                for at in range(0, width, self.lanes)]  # fmt: skip

    def scores(self, rows: Sequence[Value], depth: int, columns: Value, end: Value, room: Value) -> None:
        """Products of rows with columns up to ``end``, into the room: (rows, padded)."""
        f, lanes = self.f, self.lanes

        def tile(j: Value, vectors: int) -> None:
            sums = [[f.variable(0.0, self.vector) for _ in range(vectors)] for _ in rows]
            with f.loop(0, depth) as k:
                line = f.at(columns, self.padded * k + j, self.type)
                by = [f.load(f.at(line, v * lanes, self.type), self.vector) for v in range(vectors)]
                for row, own in zip(rows, sums):
                    factor = f.splat(f.load(f.at(row, k, self.type), self.type), lanes)
                    for v in range(vectors):
                        own[v].set(f.fma(factor, by[v], own[v].get()))
            for r, own in enumerate(sums):
                for v in range(vectors):
                    f.store(own[v].get(), f.at(room, self.padded * r + j + v * lanes, self.type))

        done: Value | int = 0
        for vectors in (4, 2, 1):
            step = lanes * vectors
            until = end if vectors == 1 else (end - done) // step * step + done
            with f.loop(done, until, step) as j:
                tile(j, vectors)
            done = until

    def along(self, limits: Sequence[Value], clear: Value, end: Value, body: Callable[[Value, list[Value | None]], None]) -> None:
        """``body(at, masks)`` for vectors of weights of some queries up to ``end``, with masks of what each may see.

        All see what is below ``clear``, where there are no masks. Going through the queries' rows side by side, loops run
        equally long most of the time, which branch prediction needs, and what one waits for does not hold up the others.
        """
        f, lanes = self.f, self.lanes
        with f.loop(0, clear, lanes) as at:
            body(at, [None] * len(limits))
        with f.loop(clear, end, lanes) as at:
            body(at, [f.mask_below(limit - at, lanes) for limit in limits])

    def weighted(self, weights: Value, rows: int, end: Value, operand: str, base: Value, width: int,
                 finish: Callable[[int, int, Value, Value | None], None]) -> None:  # fmt: skip
        """Sums of the operand's rows by weights (rows, padded); ``finish(row, column, sum, mask)`` takes them."""
        f = self.f
        blocks = self.blocks(width)
        for low in range(0, len(blocks), 4):
            some = blocks[low : low + 4]
            sums = [[f.variable(0.0, self.vector) for _ in some] for _ in range(rows)]
            with f.loop(0, end) as j:
                line = self.line(operand, base, j)
                by = [self.load(line, f.constant(at, I64), mask) for at, mask in some]
                for r in range(rows):
                    factor = f.splat(f.load(f.at(weights, self.padded * r + j, self.type), self.type), self.lanes)
                    for v, b in enumerate(by):
                        sums[r][v].set(f.fma(factor, b, sums[r][v].get()))
            for r in range(rows):
                for v, (at, mask) in enumerate(some):
                    finish(r, at, sums[r][v].get(), mask)


@lru_cache(64)
def _forward(d: np.dtype, depth: int, width: int, causal: bool) -> Callable:
    k = Heads("attention", d, depth, ["q", "k", "v", "out"], ["logsum"])
    f, n, m = k.f, k["n"], k["m"]
    room = k.room(k.padded * (depth + ROWS) + n)
    weights = f.at(room, k.padded * depth, k.type)
    rows = [f.at(weights, k.padded * r, k.type) for r in range(ROWS)]
    maxima = f.at(weights, k.padded * ROWS, k.type)
    scale = k.splat(k["scale"])
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out = (k.head(o, item) for o in ("q", "k", "v", "out"))
        totals = f.at(k["logsum"], item * n, k.type)
        k.across("k", keys, depth, room)
        with f.loop(0, n, ROWS) as first:
            places = [f.smaller(first + r, n - 1) for r in range(ROWS)]
            limits = [f.smaller(place + 1, m) if causal else m for place in places]
            k.scores([k.line("q", q, p) for p in places], depth, room, limits[-1], weights)
            tops = [f.variable(-math.inf, k.vector) for _ in range(ROWS)]
            sums = [f.variable(0.0, k.vector) for _ in range(ROWS)]
            larger = lambda x, y: f.select(f.compare("ugt", x, y), x, y)  # noqa: E731

            def compare(at: Value, masks: list[Value | None]) -> None:
                for row, top, mask in zip(rows, tops, masks):
                    score = k.load(row, at, None)
                    if mask is not None:
                        score = f.select(mask, score, f.constant(-math.inf, k.vector))
                    top.set(larger(score, top.get()))

            clear = limits[0] // k.lanes * k.lanes
            k.along(limits, clear, limits[-1], compare)
            highest = [f.fold_lanes(top.get(), larger) for top in tops]
            below = [k.splat(h) for h in highest]

            def weigh(at: Value, masks: list[Value | None]) -> None:
                for row, top, sum, mask in zip(rows, below, sums, masks):
                    w = k.kept(k.math.exp(k.kept((k.load(row, at, None) - top) * scale, mask)), mask)
                    k.store(w, row, at, None)
                    sum.set(sum.get() + w)

            k.along(limits, clear, limits[-1], weigh)
            shares = []
            for place, top, sum in zip(places, highest, sums):
                total = f.sum_lanes(sum.get())
                k.put(total, totals, place)
                k.put(top, maxima, place)
                shares.append(k.splat(1 / total))
            lines = [k.line("out", out, p) for p in places]
            k.weighted(weights, ROWS, limits[-1], "v", v, width,
                       lambda r, at, x, mask: k.store(x * shares[r], lines[r], f.constant(at, I64), mask))  # fmt: skip
        k.sweep(n, lambda at, mask, u: k.store(f.fma(k.load(maxima, at, mask), scale, k.math.log(k.load(totals, at, mask))), totals, at, mask))
    return k.done()


@lru_cache(64)
def _backward(d: np.dtype, depth: int, width: int, causal: bool) -> Callable:
    k = Heads("attention_backward", d, depth, ["q", "k", "v", "out", "g", "dq", "dk", "dv"], ["logsum"])
    f, n, m = k.f, k["n"], k["m"]
    room = k.room(k.padded * (depth + width + 2 * ROWS))
    values = f.at(room, k.padded * depth, k.type)
    weights = f.at(values, k.padded * width, k.type)
    slopes = f.at(weights, k.padded * ROWS, k.type)
    scale = k.splat(k["scale"])
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out, g, dq, dk, dv = (k.head(o, item) for o in ("q", "k", "v", "out", "g", "dq", "dk", "dv"))
        k.across("k", keys, depth, room)
        k.across("v", v, width, values)
        with f.loop(0, m) as j:
            for operand, base, count in (("dk", dk, depth), ("dv", dv, width)):
                f.clear(k.line(operand, base, j), count * k.type.bits // 8)
        with f.loop(0, n, ROWS) as first:
            places = [f.smaller(first + r, n - 1) for r in range(ROWS)]
            limits = [f.smaller(place + 1, m) if causal else m for place in places]
            clear, end = f.select(first + ROWS <= n, limits[0] // k.lanes * k.lanes, 0), limits[-1]
            limits = [f.select(first + r < n, limit, 0) for r, limit in enumerate(limits)]  # no query must count twice
            k.scores([k.line("q", q, p) for p in places], depth, room, end, weights)
            k.scores([k.line("g", g, p) for p in places], width, values, end, slopes)
            means = []
            for p in places:
                line_g, line_out = k.line("g", g, p), k.line("out", out, p)
                products = [k.load(line_g, f.constant(at, I64), mask) * k.load(line_out, f.constant(at, I64), mask) for at, mask in k.blocks(width)]
                means.append(k.splat(f.sum_lanes(reduce(add, products))))
            logsums = [k.splat(k.number(k["logsum"], item * n + p)) for p in places]

            def one(at: Value, masks: list[Value | None]) -> None:
                for r, mask in enumerate(masks):
                    row, slope = (f.at(p, k.padded * r, k.type) for p in (weights, slopes))
                    w = k.kept(k.math.exp(k.kept(k.load(row, at, None) * scale - logsums[r], mask)), mask)
                    k.store(w, row, at, None)
                    k.store(k.kept(w * (k.load(slope, at, None) - means[r]) * scale, mask), slope, at, None)

            k.along(limits, clear, end, one)
            lines = [k.line("dq", dq, p) for p in places]
            _store_rows(k, slopes, end, keys, lines, first)
            for operand, base, count, factors, source, rows in (("dk", dk, depth, slopes, "q", q), ("dv", dv, width, weights, "g", g)):
                sources = [k.line(source, rows, p) for p in places]
                blocks = [(f.constant(start, I64), mask) for start, mask in k.blocks(count)]
                for low in range(0, len(blocks), 2):
                    some = blocks[low : low + 2]
                    by = [[k.load(s, column, mask) for s in sources] for column, mask in some]
                    with f.loop(0, end) as j:
                        shares = [f.splat(f.load(f.at(factors, k.padded * slot + j, k.type), k.type), k.lanes) for slot in range(ROWS)]
                        target = k.line(operand, base, j)
                        for (column, mask), vectors in zip(some, by):
                            total = k.load(target, column, mask)
                            for share, vector in zip(shares, vectors):
                                total = f.fma(share, vector, total)
                            k.store(total, target, column, mask)
    return k.done()


def _store_rows(k: Heads, slopes: Value, end: Value, keys: Value, lines: Sequence[Value], first: Value) -> None:
    """The gradients of a block of queries; those beyond the last one are no queries."""
    f = k.f

    def finish(r: int, at: int, x: Value, mask: Value | None) -> None:
        with f.when(first + r < k["n"]):
            k.store(x, lines[r], f.constant(at, I64), mask)

    k.weighted(slopes, ROWS, end, "k", keys, k.depth, finish)


# --- calling ----------------------------------------------------------------------------------------------------


def suits(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> bool | None:
    """Whether kernels take these operands, ``(..., length, width)``."""
    d = q.dtype
    return True if (d in TYPES and k.dtype == d and v.dtype == d and 2 <= q.ndim <= 4 and q.size and k.size and v.size
                    and max(q.shape[-1], v.shape[-1]) <= 256) else None  # fmt: skip


def lies_well(x: np.ndarray) -> bool:
    """Whether the elements of rows lie together, and nothing lies backwards."""
    return x.strides[-1] == x.itemsize and all(s % x.itemsize == 0 <= s for s in x.strides)


def kernel(q: np.ndarray, k: np.ndarray, v: np.ndarray, others: Sequence[np.ndarray], causal: bool) -> tuple[Callable, list[int]]:
    """The kernel, forward if there is but a result beside the operands, and the integers that it is given. All lie well."""
    (*lead, n, depth), m, width = q.shape, k.shape[-2], v.shape[-1]
    strides = [[0] * (4 - x.ndim) + [s // x.itemsize for s in x.strides[:-1]] for x in (q, k, v, *others)]
    call = (_forward if len(others) == 1 else _backward)(q.dtype, depth, width, causal)
    return call, [math.prod(lead), lead[-1] if lead else 1, n, m, *[s for own in strides for s in own]]


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float) -> Any:
    """The result, and logarithms of the sums of exponentials."""
    q, k, v = (x if lies_well(x) else np.ascontiguousarray(x) for x in (q, k, v))
    out, logsum = side_by_side((*q.shape[:-1], v.shape[-1]), q.dtype), np.empty(q.shape[:-1], q.dtype)
    call, integers = kernel(q, k, v, [out], causal)
    call(*integers, scale, q, k, v, out, logsum)
    return out, logsum


def attend_backward(g: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float, out: np.ndarray,
                    logsum: np.ndarray) -> Any:  # fmt: skip
    results = [side_by_side(x.shape, q.dtype) for x in (q, k, v)]
    q, k, v, *others = (x if lies_well(x) else np.ascontiguousarray(x) for x in (q, k, v, out, g, *results))
    call, integers = kernel(q, k, v, others, causal)
    call(*integers, scale, q, k, v, *others, np.ascontiguousarray(logsum))
    return others[2:]
