"""Attention without the matrix of all weights: a few queries at a time, whose weights stay in the processor's cache.

Forward keeps the logarithm of each query's sum of exponentials, from which backward makes the weights again (T. Dao et al.,
*FlashAttention*, 2022). Rows of queries, keys and values may lie anywhere; their elements lie together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import native
from .builder import I64, Value
from .rows import TYPES, Kernel

ROWS = 6 if native.REGISTERS == 32 else 2  # queries at a time
STRIDES = ("batch", "head", "row")


class Heads(Kernel):
    """A task that does whole heads. ``integers`` has the sizes, and the strides of each operand in elements."""

    def __init__(self, name: str, d: np.dtype, depth: int, width: int, operands: Sequence[str], others: Sequence[str]) -> None:
        integers = ["heads", "n", "m", *(f"{o}_{s}" for o in operands for s in STRIDES)]
        super().__init__(name, TYPES[d], [*operands, *others], integers, ["scale"])
        self.depth, self.width = depth, width
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
        vectors = 4

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

        whole = end // (lanes * vectors) * (lanes * vectors)
        with f.loop(0, whole, lanes * vectors) as j:
            tile(j, vectors)
        with f.loop(whole, end, lanes) as j:
            tile(j, 1)

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

    def room(self, count: Value) -> tuple[Value, Value]:
        """Memory for so many elements, and its size in bytes."""
        f = self.f
        size = count * (self.type.bits // 8)
        return f.call("pullback_take", f.constant(0, I64), size, returns=f["slots"].type, outside=True), size

    def give_back(self, room: Value, size: Value) -> None:
        self.f.call("pullback_give", self.f.constant(0, I64), room, size, outside=True)


@lru_cache(64)
def _forward(d: np.dtype, depth: int, width: int, causal: bool) -> Callable:
    k = Heads("attention", d, depth, width, ["q", "k", "v", "out"], ["logsum"])
    f, n, m = k.f, k["n"], k["m"]
    room, size = k.room(k.padded * (depth + ROWS))
    weights = f.at(room, k.padded * depth, k.type)
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out = (k.head(o, item) for o in ("q", "k", "v", "out"))
        k.across("k", keys, depth, room)
        with f.loop(0, n, ROWS) as first:
            places = [f.smaller(first + r, n - 1) for r in range(ROWS)]
            end = f.smaller(first + ROWS, m) if causal else m
            k.scores([k.line("q", q, p) for p in places], depth, room, end, weights)
            with f.loop(0, ROWS) as r:
                i = f.smaller(first + r, n - 1)
                seen = f.smaller(i + 1, m) if causal else m
                row = f.at(weights, k.padded * r, k.type)
                (tops,) = k.sums(1, -math.inf)
                k.sweep(seen, lambda at, mask, u: tops[u].set(f.select(f.compare("ugt", k.load(row, at, mask, -math.inf), tops[u].get()),
                        k.load(row, at, mask, -math.inf), tops[u].get())))  # fmt: skip
                a, b, c, e = (t.get() for t in tops)
                larger = lambda x, y: f.select(f.compare("ugt", x, y), x, y)  # noqa: E731
                highest = f.fold_lanes(larger(larger(a, b), larger(c, e)), larger)
                scale, top = k.splat(k["scale"]), k.splat(highest)
                (sums,) = k.sums()

                def add(at: Value, mask: Value | None, u: int) -> None:
                    w = k.kept(k.math.exp((k.load(row, at, mask) - top) * scale), mask)
                    k.store(w, row, at, None)  # zeros behind the last key that is seen
                    sums[u].set(sums[u].get() + w)

                k.sweep(seen, add)
                total = k.total(sums)
                k.put(highest * k["scale"] + k.of_one(k.math.log, total), k["logsum"], item * n + i)
                by = k.splat(1 / total)
                whole = (seen + (k.lanes - 1)) // k.lanes * k.lanes
                with f.loop(0, whole, k.lanes) as at:
                    k.store(k.load(row, at, None) * by, row, at, None)
                with f.loop(whole, end, k.lanes) as at:  # later queries of the block see more
                    k.store(f.constant(0.0, k.vector), row, at, None)
            lines = [k.line("out", out, p) for p in places]
            k.weighted(weights, ROWS, end, "v", v, width, lambda r, at, x, mask: k.store(x, lines[r], f.constant(at, I64), mask))
    k.give_back(room, size)
    return k.done()


@lru_cache(64)
def _backward(d: np.dtype, depth: int, width: int, causal: bool) -> Callable:
    k = Heads("attention_backward", d, depth, width, ["q", "k", "v", "out", "g", "dq", "dk", "dv"], ["logsum"])
    f, n, m = k.f, k["n"], k["m"]
    room, size = k.room(k.padded * (depth + width + 2 * ROWS))
    values = f.at(room, k.padded * depth, k.type)
    weights = f.at(values, k.padded * width, k.type)
    slopes = f.at(weights, k.padded * ROWS, k.type)
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out, g, dq, dk, dv = (k.head(o, item) for o in ("q", "k", "v", "out", "g", "dq", "dk", "dv"))
        k.across("k", keys, depth, room)
        k.across("v", v, width, values)
        with f.loop(0, m) as j:
            for operand, base, count in (("dk", dk, depth), ("dv", dv, width)):
                f.clear(k.line(operand, base, j), count * k.type.bits // 8)
        with f.loop(0, n, ROWS) as first:
            places = [f.smaller(first + r, n - 1) for r in range(ROWS)]
            end = f.smaller(first + ROWS, m) if causal else m
            k.scores([k.line("q", q, p) for p in places], depth, room, end, weights)
            k.scores([k.line("g", g, p) for p in places], width, values, end, slopes)
            with f.loop(0, ROWS) as r:
                i = f.smaller(first + r, n - 1)
                seen = f.smaller(i + 1, m) if causal else m
                seen = f.select(first + r < n, seen, 0)  # a query must not count twice
                row, slope = f.at(weights, k.padded * r, k.type), f.at(slopes, k.padded * r, k.type)
                line_g, line_out = k.line("g", g, i), k.line("out", out, i)
                along = None
                for start, mask in k.blocks(width):
                    product = k.load(line_g, f.constant(start, I64), mask) * k.load(line_out, f.constant(start, I64), mask)
                    along = product if along is None else along + product
                assert along is not None
                mean = k.splat(f.sum_lanes(along))
                scale, logsum = k.splat(k["scale"]), k.splat(k.number(k["logsum"], item * n + i))

                def one(at: Value, mask: Value | None, u: int) -> None:
                    w = k.kept(k.math.exp(k.load(row, at, mask) * scale - logsum), mask)
                    k.store(w, row, at, None)
                    k.store(w * (k.load(slope, at, None) - mean) * scale, slope, at, None)

                k.sweep(seen, one)
                whole = (seen + (k.lanes - 1)) // k.lanes * k.lanes
                with f.loop(whole, end, k.lanes) as at:
                    for p in (row, slope):
                        k.store(f.constant(0.0, k.vector), p, at, None)
            lines = [k.line("dq", dq, p) for p in places]
            _store_rows(k, slopes, end, keys, lines, first)
            for operand, base, count, factors, source, rows in (("dk", dk, depth, slopes, "q", q), ("dv", dv, width, weights, "g", g)):
                sources = [k.line(source, rows, p) for p in places]
                for start, mask in k.blocks(count):
                    column = f.constant(start, I64)
                    by = [k.load(s, column, mask) for s in sources]
                    with f.loop(0, end) as j:
                        target = k.line(operand, base, j)
                        total = k.load(target, column, mask)
                        for slot, vector in enumerate(by):
                            factor = f.splat(f.load(f.at(factors, k.padded * slot + j, k.type), k.type), k.lanes)
                            total = f.fma(factor, vector, total)
                        k.store(total, target, column, mask)
    k.give_back(room, size)
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


def _strides(x: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The array, with elements of rows together, and its strides from batch to row, in elements."""
    size = x.itemsize
    if x.strides[-1] != size or any(s % size or s < 0 for s in x.strides):
        x = np.ascontiguousarray(x)
    return x, [0] * (4 - x.ndim) + [s // size for s in x.strides[:-1]]


def _like(shape: Sequence[int], d: np.dtype) -> np.ndarray:
    """Room whose heads lie side by side, as what comes next wants them."""
    if len(shape) < 4:
        return np.empty(shape, d)
    return np.empty((shape[0], shape[2], shape[1], shape[3]), d).transpose(0, 2, 1, 3)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float) -> Any:
    """The result, and logarithms of the sums of exponentials."""
    (*lead, n, depth), m, width = q.shape, k.shape[-2], v.shape[-1]
    out, logsum = _like((*lead, n, width), q.dtype), np.empty((*lead, n), q.dtype)
    arrays, strides = zip(*map(_strides, (q, k, v, out)))
    heads = lead[-1] if lead else 1
    _forward(q.dtype, depth, width, causal)(math.prod(lead), heads, n, m, *[s for own in strides for s in own], scale, *arrays, logsum)
    return out, logsum


def attend_backward(g: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float, out: np.ndarray,
                    logsum: np.ndarray) -> Any:  # fmt: skip
    (*lead, n, depth), m, width = q.shape, k.shape[-2], v.shape[-1]
    results = [_like(x.shape, q.dtype) for x in (q, k, v)]
    arrays, strides = zip(*map(_strides, (q, k, v, out, g, *results)))
    heads = lead[-1] if lead else 1
    _backward(q.dtype, depth, width, causal)(math.prod(lead), heads, n, m, *[s for own in strides for s in own], scale, *arrays,
                                             np.ascontiguousarray(logsum))  # fmt: skip
    return results
