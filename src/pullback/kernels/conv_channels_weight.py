"""The weight gradient of convolutions, vectorized over features (output channels); the same kernels for all sizes.

    w[c, t, :] += x[c, at(v) + offset[t]] * y[v, :]

with c a channel, t a tap and v a position of the output. A tile of numbers of the input times vectors of features stays
in registers through all positions. Its numbers are in lines: what one row of the convolution's kernel touches in a
channel's frame (:mod:`pullback.kernels.conv_padding`) is a constant distance apart, and where the lines begin is read
from a table, as are all sizes. Squares of the output's gradient are transposed on the way from memory, from rows of
positions to vectors of features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .codegen import jit
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, PTR, Function, Type, Value
from .conv_channels import blocks_of, cost
from .conv_padding import Frame, Ints, copy_lines, pitches

TOGETHER = 1024  # positions that are summed up before they join the sum of all, so that rounding errors stay small
NEAR = 24 << 10  # bytes of the output's gradient that all tiles go through before the next ones
FRAMES = 96 << 10  # bytes of frames that are filled at a time, and
DEEP = 8  # how many channels' at most
TASKS = 16  # into which the derivative by a small weight is divided
LINES = 8  # of a tile, at most: each takes a register for its address

# What is in the table: numbers, and for each dimension of space sizes and steps; behind them where lines begin.
NUMBERS = (
    *("channels", "features", "groups", "blocks", "plane", "frame", "positions", "sums", "deep", "base", "tiles"),
    *("together", "from", "to", "taps", "slots"),
)
DIMENSIONS = "size", "step", "own", "many", "apart", "pitch"


class _Table:
    """The table, as a kernel reads it."""

    def __init__(self, f: Function, pointer: Value, rank: int) -> None:
        self.f, self.pointer, self.rank = f, pointer, rank

    def __getitem__(self, name: str) -> Value:
        return self._load(NUMBERS.index(name))

    def each(self, name: str) -> list[Value]:
        start = len(NUMBERS) + DIMENSIONS.index(name) * self.rank
        return [self._load(start + d) for d in range(self.rank)]

    def lines(self, first: Value | int) -> Value:
        start = len(NUMBERS) + len(DIMENSIONS) * self.rank
        return self.f.at(self.pointer, first + start, I64)

    def _load(self, slot: int) -> Value:
        return self.f.load(self.f.at(self.pointer, slot, I64), I64)


def _tile(type: Type, lanes: int, rank: int, vectors: int, lines: int, columns: Ints) -> Function:
    """A function that adds to ``sums`` the products of outputs, ``first`` to ``last`` in the first dimension, with the
    numbers at ``columns`` of some lines.
    """
    pointers = [(name, PTR) for name in ("x", "lines", "y", "sums", "table")]
    f = Function("tile.$$", [*pointers, ("first", I64), ("last", I64)], internal=True)
    vector, table = type.of(lanes), _Table(f, f["table"], rank)
    starts = [f.at(f["x"], f.load(f.at(f["lines"], r, I64), I64), type) for r in range(lines)]
    size, step, own = table.each("size"), table.each("step"), table.each("own")
    sums = [[[f.variable(0.0, vector) for _ in range(vectors)] for _ in columns] for _ in starts]

    def along(d: int, starts: Sequence[Value], y: Value) -> None:
        at = f.variable(0, I64)
        if d == 0:
            at.set(f["first"] * step[d])
        with f.loop(*((f["first"], f["last"]) if d == 0 else (0, size[d]))) as i:
            if d + 1 < rank:
                here = [f.at(x, i * step[d], type) for x in starts]
                along(d + 1, here, f.at(y, i * own[d] * (vectors * lanes), type))
                return
            x_at = at.get()
            ys = [f.load(f.at(y, i * (vectors * lanes) + v * lanes, type), vector) for v in range(vectors)]
            for x, line in zip(starts, sums):
                for column, mine in zip(columns, line):
                    by = f.splat(f.load(f.at(f.at(x, x_at, type), column, type), type), lanes)
                    for y_, sum in zip(ys, mine):
                        sum.set(f.fma(by, y_, sum.get()))
            at.set(x_at + step[d])

    along(0, starts, f["y"])
    for k, mine in enumerate([mine for line in sums for mine in line]):
        for v, sum in enumerate(mine):
            place = f.at(f["sums"], (k * vectors + v) * lanes, type)
            f.store(f.load(place, vector) + sum.get(), place)
    return f


@compiled_kernel
def _sum_some(d: np.dtype, rank: int, vectors: int, lines: int, columns: Ints, whole: bool) -> str:
    """The sums of some images each: tasks for so many parts of the batch, groups and blocks of features.

    Args:
        whole: whether there are enough positions for a vector.
    """
    k = Kernel("weight_sums", TYPES[d], ["x", "y", "sums", "table"], ["images", "parts"])
    f, type, lanes, (images, parts, x, y, sums, table) = k.f, k.type, k.lanes, k.args.values()
    n, width, each = _Table(f, table, rank), vectors * lanes, k.type.bits // 8
    channels, groups, blocks, deep, positions = (
        n[name] for name in ("channels", "groups", "blocks", "deep", "positions")
    )
    tile = _tile(type, lanes, rank, vectors, lines, columns)
    turned, frame = (positions + lanes) * width, n["frame"]
    room = k.scratch(turned + deep * frame)
    frames = f.at(room, turned, type)
    f.clear(frames, deep * frame * each)
    with f.loop(f["from"], f["to"]) as item:
        block, group, part = item % blocks, item // blocks % groups, item // (blocks * groups)
        mine = f.at(sums, item * n["sums"], type)
        f.clear(mine, n["sums"] * each)
        with f.loop(part * images // parts, (part + 1) * images // parts) as i:
            image = i * groups + group
            with f.loop(0, width, lanes) as v:
                features = [f.smaller(block * width + v + o, n["features"] - 1) for o in range(lanes)]
                rows = [f.at(y, (image * n["features"] + o) * positions, type) for o in features]
                _transpose(f, type, lanes, rows, f.at(room, v, type), width, positions, whole)
            with f.loop(0, channels, deep) as c:
                here = f.smaller(deep, channels - c)
                with f.loop(0, here) as j:
                    source = f.at(x, (image * channels + c + j) * n["plane"] + n["from"], type)
                    target = f.at(frames, j * frame + n["to"], type)
                    copy_lines(f, type, source, target, n.each("many"), n.each("apart"), n.each("pitch"), lanes)
                size = n.each("size")[0]
                with f.loop(0, size, n["together"]) as begin:
                    end = f.smaller(begin + n["together"], size)
                    with f.loop(0, (here + (n["base"] - 1)) // n["base"] * n["tiles"]) as t:
                        to = (c // n["base"] * n["tiles"] + t) * (lines * len(columns) * width)
                        f.call(tile.name, frames, n.lines(t * lines), room, f.at(mine, to, type), table, begin, end)
    return k.done(1, tile)


def _transpose(
    f: Function,
    type: Type,
    lanes: int,
    rows: Sequence[Value],
    target: Value,
    width: int,
    positions: Value,
    whole: bool,
) -> None:
    """Load rows of positions as vectors of features, ``width`` apart."""
    with f.loop(0, positions, lanes) as at:
        # the last square overlaps, or has a mask if alone
        at, mask = (f.smaller(at, positions - lanes), None) if whole else (at, f.mask_below(positions, lanes))
        for i, vector in enumerate(f.transposed([f.load(f.at(row, at, type), type.of(lanes), mask) for row in rows])):
            f.store(vector, f.at(target, (at + i) * width, type))


@compiled_kernel
def _sum_all(d: np.dtype, rank: int, vectors: int) -> str:
    """The sums of all parts, in rows of channels and taps."""
    k = Kernel("weight_total", TYPES[d], ["sums", "table", "order", "out"], ["step", "parts"])
    f, lanes, (step, parts, sums, table, order, out) = k.f, k.lanes, k.args.values()
    n, width = _Table(f, table, rank), vectors * lanes
    channels, features, blocks, taps, slots = (n[name] for name in ("channels", "features", "blocks", "taps", "slots"))
    with f.loop(f["from"], f["to"]) as item:
        mine = f.at(sums, item * n["sums"], k.type)
        with f.loop(0, n["sums"], lanes) as i:
            total = f.variable(0.0, k.vector)
            with f.loop(0, parts) as part:
                total.set(total.get() + k.load(mine, part * step + i))
            k.store(total.get(), mine, i)
        first = item % blocks * width
        with f.loop(0, f.smaller(features - first, width)) as o:
            row = f.at(out, (item // blocks * features + first + o) * (channels * taps), k.type)
            with f.loop(0, channels) as c:
                with f.loop(0, taps) as tap:
                    slot = c * slots + f.load(f.at(order, tap, I64), I64)
                    k.store_scalar(k.load_scalar(mine, slot * width + o), row, c * taps + tap)
    return k.done()


class Weight:
    """The weight gradient for certain sizes.

    Args:
        d: the type of the elements.
        channels, features: of the input and the output of one group.
        frame: of the input, of one phase.
        size: of the output.
    """

    def __init__(
        self,
        d: np.dtype,
        groups: int,
        channels: int,
        features: int,
        frame: Frame,
        kernel: Ints,
        dilation: Ints,
        stride: Ints,
        size: Ints,
    ) -> None:
        lanes, rank, (*outer, width) = jit.WIDTH * 8 // TYPES[d].bits, len(size), kernel
        vectors, lines, columns = _choose(channels, features, math.prod(outer), width, lanes)
        chunks = -(-width // columns)  # of a row of the kernel; the last two may overlap
        starts = [max(0, min(h * columns, width - columns)) for h in range(chunks)]
        rows = [sum(i * by * p for i, by, p in zip(row, dilation, frame.pitches)) for row in np.ndindex(*outer)]
        base = lines // math.gcd(lines, len(rows) * chunks)  # channels, for a whole number of tiles
        channels_at_once = min(DEEP, FRAMES // (frame.size * d.itemsize), channels)
        deep = max(1, -(-channels_at_once // base)) * base
        begins = [c * frame.size + row + start * dilation[-1] for c in range(deep) for row in rows for start in starts]
        self.groups, self.blocks = groups, blocks_of(features, vectors, lanes)
        slots = len(rows) * chunks * columns  # of a channel, for the sums of its taps
        self.sums = -(-channels // base) * base * slots * vectors * lanes
        first = [max(0, -p) for p in frame.padding]
        place = [f + p for f, p in zip(first, frame.padding)]
        many = [max(0, min(n - f, e - p)) for n, f, e, p in zip(frame.spatial, first, frame.extent, place)]
        own, apart = pitches(size), pitches(frame.spatial)
        steps = [s * p for s, p in zip(stride, frame.pitches)]
        for i in range(rank - 1):
            if kernel[i] == 1 and frame.padding[i] == 0:  # rows in between are not needed
                many[i], apart[i], steps[i] = size[i], apart[i] * stride[i], frame.pitches[i]
        numbers = {
            "channels": channels,
            "features": features,
            "groups": groups,
            "blocks": self.blocks,
            "plane": math.prod(frame.spatial),
            "frame": frame.size,
            "positions": math.prod(size),
            "sums": self.sums,
            "deep": deep,
            "base": base,
            "tiles": base * len(rows) * chunks // lines,
            "together": max(1, min(TOGETHER, NEAR // (vectors * lanes * d.itemsize)) // own[0]),
            "from": sum(f * a for f, a in zip(first, apart)),
            "to": sum(p * a for p, a in zip(place, frame.pitches)),
            "taps": math.prod(kernel),
            "slots": slots,
        }
        dimensions = dict(zip(DIMENSIONS, (size, steps, own, many, apart, frame.pitches)))
        table = [*[numbers[name] for name in NUMBERS], *[n for name in DIMENSIONS for n in dimensions[name]], *begins]
        self.table = np.array(table, np.int64)
        in_row = [(i // columns) * columns + i - starts[i // columns] for i in range(width)]
        self.order = np.array([r * chunks * columns + i for r in range(len(rows)) for i in in_row], np.int64)
        spread = tuple([i * dilation[-1] for i in range(columns)])
        self.sum_some = _sum_some(d, rank, vectors, lines, spread, math.prod(size) >= lanes)
        self.sum_all = _sum_all(d, rank, vectors)

    def __call__(self, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> np.ndarray:
        blocks = self.groups * self.blocks
        parts = max(1, min(len(x), TASKS // blocks))
        sums = np.empty(parts * blocks * self.sums, x.dtype)
        self.sum_some(parts * blocks, len(x), parts, x, y, sums, self.table)
        return self.sum_all(blocks, blocks * self.sums, parts, sums, self.table, self.order, out)


def _choose(channels: int, features: int, rows: int, width: int, lanes: int) -> tuple[int, int, int]:
    """The vectors, lines and columns of a tile with the least work.

    Args:
        rows, width: of the convolution's kernel.
    """

    def work(vectors: int, lines: int, columns: int) -> float:
        rows_of_channel = rows * -(-width // columns)
        deep = lines // math.gcd(lines, rows_of_channel)
        tiles = -(-channels // deep) * (deep * rows_of_channel // lines)
        return blocks_of(features, vectors, lanes) * tiles * cost(lines * columns, vectors)

    choices = []
    for vectors in range(1, 5):
        numbers = (jit.REGISTERS - 2) // vectors - 1
        columns = -(-width // -(-width // numbers))
        choices += [(vectors, lines, columns) for lines in range(1, min(LINES, numbers // columns) + 1)]
    return min(choices, key=lambda choice: work(*choice))
