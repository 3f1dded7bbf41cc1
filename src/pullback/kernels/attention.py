"""Attention without the matrix of all weights: a few queries at a time, whose weights stay in the processor's cache.

Forward keeps the logarithm of each query's sum of exponentials, from which backward makes the weights again (T. Dao et
al., *FlashAttention*, 2022). Rows of queries, keys and values may lie anywhere; their elements lie together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, reduce
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

import numpy as np

from ..base.layout import empty_interleaved
from .codegen import jit
from .codegen.kernel_builder import TYPES, Kernel, written
from .codegen.llvm_ir import I64, Value

TALL = 8 if jit.REGISTERS == 32 else 4  # rows of a tile, the sums of which stay in registers
WIDE = 3 if jit.REGISTERS == 32 else 2  # and its vectors
ROWS = 8 * TALL  # queries whose weights are kept at a time
STRIDES = ("batch", "head", "row")


def groups(blocks: Sequence[Any]) -> list[Sequence[Any]]:
    """Vectors as tiles take them: as few tiles as there can be, as even as they can be."""
    each = -(-len(blocks) // -(-len(blocks) // WIDE))
    return [blocks[low : low + each] for low in range(0, len(blocks), each)]


class Tile(NamedTuple):
    """A few queries.

    Attributes:
        places: which; behind the last of all it is again. limits: how many keys each may see. rows: memory for its
            weights.
        first: the place of the first, which may be one behind the last.
    """

    places: list[Value]
    limits: list[Value]
    rows: list[Value]
    first: Value


class Heads(Kernel):
    """A task that does whole heads. ``integers`` has the sizes, and the strides of each operand in elements."""

    def __init__(self, name: str, d: np.dtype, operands: Sequence[str], others: Sequence[str]) -> None:
        integers = ["heads", "n", "m", *(f"{o}_{s}" for o in operands for s in STRIDES)]
        super().__init__(name, TYPES[d], [*operands, *others], integers, ["scale"])
        # odd: rows do not meet in the sets of the cache
        self.padded = self.whole(self["m"], max(self.lanes, TALL)) | max(self.lanes, TALL)

    def whole(self, n: Any, step: int) -> Any:
        """A number rounded up."""
        return (n + (step - 1)) // step * step

    def head(self, operand: str, item: Value) -> Value:
        place = item // self["heads"] * self[f"{operand}_batch"] + item % self["heads"] * self[f"{operand}_head"]
        return self.f.at(self[operand], place, self.type)

    def line(self, operand: str, base: Value, i: Value) -> Value:
        return self.f.at(base, i * self[f"{operand}_row"], self.type)

    def blocks(self, width: int) -> list[tuple[int, Value | None]]:
        """Where the vectors of a row of so many elements begin, with a mask for the last."""
        return [
            (at, None if at + self.lanes <= width else self.f.mask_of([i < width - at for i in range(self.lanes)]))
            for at in range(0, width, self.lanes)
        ]

    def gather(self, operand: str, base: Value, width: int, rows: Value | None, columns: Value | None) -> None:
        """Rows of keys or values, one behind the other with zeros to the next vector, and as columns: (width, padded).

        Behind the last row is it again, which whoever reads there leaves out.
        """
        f, lanes, pitch = self.f, self.lanes, self.whole(width, self.lanes)
        with f.loop(0, self.padded, lanes) as j:
            lines = [self.line(operand, base, f.smaller(j + i, self["m"] - 1)) for i in range(lanes)]

            def block(at: Value, count: int, mask: Value | None) -> None:
                vectors = [self.load(line, at, mask) for line in lines]
                if rows is not None:
                    for i, vector in enumerate(vectors):
                        self.store(vector, rows, (j + i) * pitch + at)
                if columns is not None:
                    for i, vector in enumerate(f.transposed(vectors)[:count]):
                        self.store(vector, columns, (at + i) * self.padded + j)

            with f.loop(0, width // lanes * lanes, lanes) as at:
                block(at, lanes, None)
            if width % lanes:
                block(f.constant(width // lanes * lanes, I64), width % lanes, self.blocks(width)[-1][1])

    def tile(
        self,
        factors: Sequence[Value],
        step: Any,
        begin: Any,
        end: Any,
        rows: Value,
        pitch: Any,
        columns: Sequence[tuple[Any, Value | None]],
        start: Callable[[int, Any, Value | None], Value] | None = None,
    ) -> list[list[Value]]:
        """Sums of rows by factors: those of each line of ``factors``, a step apart; of the vectors at some columns,
        with masks.
        """
        f, lanes = self.f, self.lanes
        sums = [
            [f.variable(0.0 if start is None else start(r, *column), self.vector) for column in columns]
            for r in range(len(factors))
        ]
        with f.loop(begin, end) as j:
            line = f.at(rows, j * pitch, self.type)
            by = [self.load(line, at, mask) for at, mask in columns]
            offset = j * step
            for own, factor in zip(sums, factors):
                share = f.splat(f.load(f.at(factor, offset, self.type), self.type), lanes)
                for sum, vector in zip(own, by):
                    sum.set(f.fma(share, vector, sum.get()))
        return [[sum.get() for sum in own] for own in sums]

    def tiles(self, start: Value, weights: Value, causal: bool) -> Iterator[Tile]:
        """The tiles of some queries. What is read for each of them stays near, if one thing is done with all before the
        next.
        """
        f = self.f
        with f.loop(start, f.smaller(start + ROWS, self["n"]), TALL) as first:
            places = [f.smaller(first + r, self["n"] - 1) for r in range(TALL)]
            limits = [f.smaller(place + 1, self["m"]) if causal else self["m"] for place in places]
            yield Tile(places, limits, self.kept_of(weights, first - start), first)

    def kept_of(self, weights: Value, query: Value) -> list[Value]:
        """Where a tile's rows are in a room for weights."""
        return [self.f.at(weights, self.padded * (query + r), self.type) for r in range(TALL)]

    def scores(self, lines: Sequence[Value], depth: int, columns: Value, end: Value, room: Sequence[Value]) -> None:
        """Products of rows with columns up to ``end``, into rows of the room."""
        f, done = self.f, self.f.constant(0, I64)
        for vectors in (2, 1):
            step = self.lanes * vectors
            until = end if vectors == 1 else end // step * step
            with f.loop(done, until, step) as j:
                places = [j + v * self.lanes for v in range(vectors)]
                for row, own in zip(
                    room, self.tile(lines, 1, 0, depth, columns, self.padded, [(place, None) for place in places])
                ):
                    for place, sum in zip(places, own):
                        self.store(sum, row, place)
            done = until

    def weighted(
        self,
        weights: Sequence[Value],
        end: Value,
        rows: Value,
        width: int,
        finish: Callable[[int, int, Value, Value | None], None],
    ) -> None:
        """Sums of gathered rows by lines of weights; ``finish(line, column, sum, mask)`` takes them."""
        pitch = self.whole(width, self.lanes)
        for some in groups(self.blocks(width)):
            for r, own in enumerate(self.tile(weights, 1, 0, end, rows, pitch, [(at, None) for at, _ in some])):
                for (at, mask), sum in zip(some, own):
                    finish(r, at, sum, mask)

    def along(
        self, limits: Sequence[Value], clear: Value, end: Value, body: Callable[[Value, list[Value | None]], None]
    ) -> None:
        """``body(at, masks)`` for vectors of weights of some queries up to ``end``, with masks of what each may see.

        All see what is below ``clear``, where there are no masks. Going through the queries' rows side by side, loops
        run equally long most of the time, which branch prediction needs, and what one waits for does not hold up the
        others.
        """
        f, lanes = self.f, self.lanes
        with f.loop(0, clear, lanes) as at:
            body(at, [None] * len(limits))
        with f.loop(clear, end, lanes) as at:
            body(at, [f.mask_below(limit - at, lanes) for limit in limits])


@written
def _forward(d: np.dtype, depth: int, width: int, causal: bool) -> str:
    k = Heads("attention", d, ["q", "k", "v", "out"], ["logsum"])
    f, n = k.f, k["n"]
    room = k.room(k.padded * (depth + k.whole(width, k.lanes) + ROWS) + n)
    values = f.at(room, k.padded * depth, k.type)
    weights = f.at(values, k.padded * k.whole(width, k.lanes), k.type)
    maxima = f.at(weights, k.padded * ROWS, k.type)
    scale = k.splat(k["scale"])
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out = (k.head(o, item) for o in ("q", "k", "v", "out"))
        totals = f.at(k["logsum"], item * n, k.type)
        k.gather("k", keys, depth, None, room)
        k.gather("v", v, width, values, None)
        with f.loop(0, n, ROWS) as start:
            for tile in k.tiles(start, weights, causal):
                k.scores([k.line("q", q, p) for p in tile.places], depth, room, tile.limits[-1], tile.rows)
            for tile in k.tiles(start, weights, causal):
                _shares(k, tile, scale, totals, maxima)
            for tile in k.tiles(start, weights, causal):
                lines = [k.line("out", out, p) for p in tile.places]
                shares = [k.splat(1 / k.number(totals, p)) for p in tile.places]
                k.weighted(
                    tile.rows,
                    tile.limits[-1],
                    values,
                    width,
                    lambda r, at, x, mask: k.store(x * shares[r], lines[r], at, mask),  # noqa: B023
                )
        k.sweep(
            n,
            lambda at, mask, u: k.store(
                f.fma(k.load(maxima, at, mask), scale, k.math.log(k.load(totals, at, mask))), totals, at, mask
            ),
        )
    return k.done()


def _shares(k: Heads, tile: Tile, scale: Value, totals: Value, maxima: Value) -> None:
    """Exponentials of scores, in their place, and of each query their sum and the largest score."""
    f = k.f
    tops = [f.variable(-math.inf, k.vector) for _ in tile.rows]
    sums = [f.variable(0.0, k.vector) for _ in tile.rows]
    larger = lambda x, y: f.select(f.compare("ugt", x, y), x, y)  # noqa: E731

    def compare(at: Value, masks: list[Value | None]) -> None:
        for row, top, mask in zip(tile.rows, tops, masks):
            score = k.load(row, at, None)
            if mask is not None:
                score = f.select(mask, score, f.constant(-math.inf, k.vector))
            top.set(larger(score, top.get()))

    clear = tile.limits[0] // k.lanes * k.lanes
    k.along(tile.limits, clear, tile.limits[-1], compare)
    highest = [f.fold_lanes(top.get(), larger) for top in tops]
    below = [k.splat(h) for h in highest]

    def weigh(at: Value, masks: list[Value | None]) -> None:
        for row, top, sum, mask in zip(tile.rows, below, sums, masks):
            w = k.kept(k.math.exp(k.kept((k.load(row, at, None) - top) * scale, mask)), mask)
            k.store(w, row, at, None)
            sum.set(sum.get() + w)

    k.along(tile.limits, clear, tile.limits[-1], weigh)
    for place, top, sum in zip(tile.places, highest, sums):
        k.put(f.sum_lanes(sum.get()), totals, place)
        k.put(top, maxima, place)


@written
def _backward(d: np.dtype, depth: int, width: int, causal: bool) -> str:
    """Weights of some queries, with what they are worth, are kept until all that can be made of them is."""
    k = Heads("attention_backward", d, ["q", "k", "v", "out", "g", "dq", "dk", "dv"], ["logsum"])
    f, n, m = k.f, k["n"], k["m"]
    of_depth, of_width = k.whole(depth, k.lanes), k.whole(width, k.lanes)
    sizes = {"k": depth, "v": width, "rows": of_depth, "weights": ROWS, "slopes": ROWS, "dk": of_depth, "dv": of_width}
    room = k.room(k.padded * sum(sizes.values()))
    rooms = {
        name: f.at(room, k.padded * start, k.type) for name, start in zip(sizes, accumulate(sizes.values(), initial=0))
    }
    scale = k.splat(k["scale"])
    with f.loop(f["from"], f["to"]) as item:
        q, keys, v, out, g, dq, dk, dv = (k.head(o, item) for o in ("q", "k", "v", "out", "g", "dq", "dk", "dv"))
        k.gather("k", keys, depth, rooms["rows"], rooms["k"])
        k.gather("v", v, width, None, rooms["v"])
        f.clear(rooms["dk"], k.padded * ((of_depth + of_width) * k.type.bits // 8))
        with f.loop(0, n, ROWS) as start:
            stop = f.smaller(start + ROWS, n)
            for operand, base, count, columns, weights in (
                ("q", q, depth, "k", "weights"),
                ("g", g, width, "v", "slopes"),
            ):
                for tile in k.tiles(start, rooms[weights], causal):
                    k.scores(
                        [k.line(operand, base, p) for p in tile.places],
                        count,
                        rooms[columns],
                        k.whole(tile.limits[-1], TALL),
                        tile.rows,
                    )
            for tile in k.tiles(start, rooms["weights"], causal):
                _slopes(k, tile, k.kept_of(rooms["slopes"], tile.first - start), item * n, g, out, width, scale)
            for tile in k.tiles(start, rooms["slopes"], causal):
                _of_queries(k, tile, rooms["rows"], dq, depth)
            seen = f.smaller(stop, m) if causal else m
            for operand, base, count, factors, source in (
                ("dk", q, depth, "slopes", "q"),
                ("dv", g, width, "weights", "g"),
            ):
                pitch = k.whole(count, k.lanes)
                for some in groups(k.blocks(count)):
                    _add_rows(
                        k,
                        some,
                        rooms[factors],
                        rooms[operand],
                        pitch,
                        k.line(source, base, start),
                        k[f"{source}_row"],
                        seen,
                        stop - start,
                        start if causal else None,
                    )
        for operand, base, count in (("dk", dk, depth), ("dv", dv, width)):
            with f.loop(0, m) as j:
                made, target = f.at(rooms[operand], j * k.whole(count, k.lanes), k.type), k.line(operand, base, j)
                for at, mask in k.blocks(count):
                    k.store(k.load(made, at), target, at, mask)
    return k.done()


def _slopes(
    k: Heads, tile: Tile, slopes: Sequence[Value], before: Value, g: Value, out: Value, width: int, scale: Value
) -> None:
    """Weights in the place of scores, and in that of what they are worth the derivatives by the scores."""
    f, n, (places, limits, weights, first) = k.f, k["n"], tile
    clear, end = f.select(first + TALL <= n, limits[0] // k.lanes * k.lanes, 0), k.whole(limits[-1], TALL)
    limits = [f.select(first + r < n, limit, 0) for r, limit in enumerate(limits)]  # no query must count twice
    means = []
    for p in places:
        line_g, line_out = k.line("g", g, p), k.line("out", out, p)
        products = [k.load(line_g, at, mask) * k.load(line_out, at, mask) for at, mask in k.blocks(width)]
        means.append(k.splat(f.sum_lanes(reduce(add, products))))
    logsums = [k.splat(k.number(k["logsum"], before + p)) for p in places]

    def one(at: Value, masks: list[Value | None]) -> None:
        for row, slope, mean, logsum, mask in zip(weights, slopes, means, logsums, masks):
            w = k.kept(k.math.exp(k.kept(k.load(row, at) * scale - logsum, mask)), mask)
            k.store(w, row, at)
            k.store(k.kept(w * (k.load(slope, at) - mean) * scale, mask), slope, at)

    k.along(limits, clear, end, one)


def _of_queries(k: Heads, tile: Tile, keys: Value, dq: Value, depth: int) -> None:
    """The gradients of queries."""
    lines = [k.line("dq", dq, p) for p in tile.places]

    def finish(r: int, at: int, x: Value, mask: Value | None) -> None:
        with k.f.when(tile.first + r < k["n"]):
            k.store(x, lines[r], at, mask)

    k.weighted(tile.rows, k.whole(tile.limits[-1], TALL), keys, depth, finish)


def _add_rows(
    k: Heads,
    blocks: Sequence[tuple[int, Value | None]],
    factors: Value,
    sums: Value,
    pitch: int,
    rows: Value,
    row: Value,
    end: Value,
    count: Value,
    start: Value | None,
) -> None:
    """To the sums of keys up to ``end`` add some queries' rows by factors; in causal attention no query adds to a later
    key's.
    """
    f = k.f
    with f.loop(0, end, TALL) as j:
        begin = 0 if start is None else f.select(j > start, j - start, 0)
        lines = [f.at(sums, (j + r) * pitch, k.type) for r in range(TALL)]
        made = k.tile(
            [f.at(factors, j + r, k.type) for r in range(TALL)],
            k.padded,
            begin,
            count,
            rows,
            row,
            blocks,
            lambda r, at, mask: k.load(lines[r], at),
        )
        for line, own in zip(lines, made):
            for (at, _), x in zip(blocks, own):
                k.store(x, line, at)


# --- calling ----------------------------------------------------------------------------------------------------


def suits(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> bool | None:
    """Whether kernels take these operands, ``(..., length, width)``."""
    d = q.dtype
    return (
        True
        if (
            d in TYPES
            and k.dtype == d
            and v.dtype == d
            and 2 <= q.ndim <= 4
            and q.size
            and k.size
            and v.size
            and max(q.shape[-1], v.shape[-1]) <= 256
        )
        else None
    )


def lies_well(x: np.ndarray) -> bool:
    """Whether the elements of rows lie together, and nothing lies backwards."""
    return x.flags.c_contiguous or x.strides[-1] == x.itemsize and all([s % x.itemsize == 0 <= s for s in x.strides])


def kernel(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, others: Sequence[np.ndarray], causal: bool
) -> tuple[Callable, list[int]]:
    """The kernel, forward if there is but a result beside the operands, and the integers that it is given. All lie
    well.
    """
    return _arranged(q.dtype, q.shape, k.shape[-2], v.shape[-1], causal, *[x.strides for x in (q, k, v, *others)])


@lru_cache(256)
def _arranged(
    d: np.dtype, shape: tuple[int, ...], m: int, width: int, causal: bool, *strides: tuple[int, ...]
) -> tuple[Callable, list[int]]:
    *lead, n, depth = shape
    call = (_forward if len(strides) == 4 else _backward)(d, depth, width, causal)
    steps = [step for own in strides for step in (*[0] * (4 - len(own)), *[s // d.itemsize for s in own[:-1]])]
    return call, [math.prod(lead), lead[-1] if lead else 1, n, m, *steps]


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, scale: float) -> Any:
    """The result, and logarithms of the sums of exponentials."""
    q, k, v = [x if lies_well(x) else np.ascontiguousarray(x) for x in (q, k, v)]
    out, logsum = empty_interleaved((*q.shape[:-1], v.shape[-1]), q.dtype), np.empty(q.shape[:-1], q.dtype)
    call, integers = kernel(q, k, v, [out], causal)
    call(*integers, scale, q, k, v, out, logsum)
    return out, logsum


def attend_backward(
    g: np.ndarray,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    causal: bool,
    scale: float,
    out: np.ndarray,
    logsum: np.ndarray,
) -> Any:
    results = [empty_interleaved(x.shape, q.dtype) for x in (q, k, v)]
    q, k, v, *others = (x if lies_well(x) else np.ascontiguousarray(x) for x in (q, k, v, out, g, *results))
    call, integers = kernel(q, k, v, others, causal)
    call(*integers, scale, q, k, v, *others, np.ascontiguousarray(logsum))
    return others[2:]
