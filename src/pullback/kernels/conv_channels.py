"""Direct convolution, vectorized over features (output channels).

For layers with enough features to fill vectors. A vector holds the features of one position, and multiplies scalars of
the input:

    y[v, :] += x[c, at(v) + offset[t]] * w[c, t, :]

with c a channel, t a tap and v a position of the output. As the input is read scalar by scalar, all widths and strides
are equally fast, and no lane computes anything that is not wanted. A tile of positions stays in registers through all
channels and taps. Squares of outputs are transposed on the way to memory, from vectors of features to rows of
positions. The weight gradient is in :mod:`pullback.kernels.conv_channels_weight`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .codegen import jit
from .codegen.entry import load_function
from .codegen.kernel_builder import TYPES, Kernel
from .codegen.llvm_ir import I64, PTR, Function, Type, Value
from .conv_padding import Frame, Ints, Part, blank, fill_frame, pitches


def fills_vectors(d: np.dtype, features: int) -> bool:
    """Whether vectors of features are full enough: at six tenths, :mod:`pullback.kernels.conv_spatial` is as fast."""
    lanes = jit.WIDTH * 8 // TYPES[d].bits
    return features >= 0.6 * lanes * -(-features // lanes)


def cost(numbers: int, vectors: int) -> float:
    """About how many half cycles a product of so many scalars with so many vectors takes: FMAs, loads, and latency."""
    return max(numbers * vectors, numbers + vectors, 8) + 1


def blocks_of(features: int, vectors: int, lanes: int) -> int:
    return -(-features // (vectors * lanes))


# --- outputs ----------------------------------------------------------------------------------------------------


def _tile(part: Part, frame: Frame, scale: Ints, vectors: int) -> tuple[float, int, int]:
    """The register tile that covers the positions of a part at the least cost: (cost, rows, columns)."""
    *outer, columns = (1, *part.many)
    width = frame.extent[-1]
    rows_of_taps = [
        [o % width for o in part.offsets if o // width == row] for row in {o // width for o in part.offsets}
    ]
    tiles = []
    for c in range(1, min(columns, jit.REGISTERS) + 1):
        # Taps side by side have numbers in common, which stay in registers, too.
        numbers = max((len({i * scale[-1] + o for i in range(c) for o in row}) for row in rows_of_taps), default=0)
        for r in range(1, min(outer[-1], jit.REGISTERS // c) + 1):
            if r * numbers + (r * c + 1) * vectors <= jit.REGISTERS + 5 or r * c == 1:
                tiles.append(
                    (math.prod(outer[:-1]) * -(-outer[-1] // r) * -(-columns // c) * cost(r * c, vectors), r, c)
                )
    return min(tiles)


def _positions(
    name: str,
    type: Type,
    lanes: int,
    tile: tuple[int, int],
    vectors: int,
    part: Part,
    frame: Frame,
    scale: Ints,
    size: Ints,
) -> Function:
    """A function that computes a tile of positions, through all channels and taps, starting from the bias, which is at
    the head of the packed weight.
    """
    f = Function(name, [("x", PTR), ("w", PTR), ("y", PTR), ("channels", I64)], internal=True)
    vector, width = type.of(lanes), vectors * lanes
    places = [(r, c) for r in range(tile[0]) for c in range(tile[1])]
    pitch = frame.pitches[-2] * scale[-2] if len(scale) > 1 else 0
    starts = [f.load(f.at(f["w"], v * lanes, type), vector) for v in range(vectors)]
    sums = [[f.variable(start) for start in starts] for _ in places]
    weights = f.at(f["w"], width, type)
    with f.loop(0, f["channels"]) as channel:
        x, w = f.at(f["x"], channel * frame.size, type), f.at(weights, channel * (len(part.taps) * width), type)
        for t, offset in enumerate(part.offsets):
            ws = [f.load(f.at(w, t * width + v * lanes, type), vector) for v in range(vectors)]
            for (r, c), mine in zip(places, sums):
                by = f.splat(f.load(f.at(x, offset + r * pitch + c * scale[-1], type), type), lanes)
                for weight, sum in zip(ws, mine):
                    sum.set(f.fma(by, weight, sum.get()))
    down = part.step[-2] * size[-1] if len(size) > 1 else 0
    for (r, c), mine in zip(places, sums):
        for v, sum in enumerate(mine):
            f.store(sum.get(), f.at(f["y"], (r * down + c * part.step[-1]) * width + v * lanes, type))
    return f


def _cover(
    f: Function,
    type: Type,
    many: Ints,
    tile: Ints,
    by: Sequence[int],
    to: Sequence[int],
    source: Value,
    target: Value,
    body: Callable[[Value, Value], None],
) -> None:
    """``body(source, target)`` at each tile; where tiles do not fit, the last ones overlap."""
    if not many:
        body(source, target)
        return
    n, step = many[0], tile[0]
    with f.loop(0, n, step) as i:
        if n % step:
            i = f.smaller(i, n - step)
        _cover(
            f,
            type,
            many[1:],
            tile[1:],
            by[1:],
            to[1:],
            f.at(source, i * by[0], type),
            f.at(target, i * to[0], type),
            body,
        )


def _transpose_out(
    f: Function,
    type: Type,
    lanes: int,
    source: Value,
    width: int,
    target: Value,
    positions: int,
    features: Value | None,
) -> None:
    """Store vectors of features, ``width`` apart, as rows of positions.

    Args:
        features: how many there are, if fewer than lanes may be.
    """

    def square(at: Value, mask: Value | None) -> None:
        rows = [f.load(f.at(source, (at + i) * width, type), type.of(lanes)) for i in range(lanes)]
        for o, row in enumerate(f.transposed(rows)):
            place = f.at(target, at + o * positions, type)
            if features is None:
                f.store(row, place, mask)
            else:
                with f.if_then(features > o):
                    f.store(row, place, mask)

    _for_squares(f, positions, lanes, square)


def _for_squares(f: Function, count: int, lanes: int, body: Callable[[Value, Value | None], None]) -> None:
    """``body(at, mask)`` for each vector of so many elements; the last one overlaps, or has a mask if alone."""
    if count < lanes:
        body(f.constant(0, I64), f.mask_of([i < count for i in range(lanes)]))
        return
    with f.loop(0, count, lanes) as at:
        body(f.smaller(at, count - lanes), None)


class Outputs:
    """The kernel of a convolution of certain sizes, called as :class:`pullback.kernels.conv_spatial.Outputs`.

    Args:
        scale: from one position of a part to the next in the frame, in each dimension; for the others see there.
    """

    def __init__(
        self,
        d: np.dtype,
        groups: int,
        channels: int,
        features: int,
        frame: Frame,
        parts: Sequence[Part],
        scale: Ints,
        size: Ints,
    ) -> None:
        self.groups, self.parts = groups, parts
        lanes = jit.WIDTH * 8 // TYPES[d].bits
        taps, own = [len(p.taps) for p in parts], pitches(size)

        def work(vectors: int) -> float:
            return blocks_of(features, vectors, lanes) * sum(
                n * _tile(p, frame, scale, vectors)[0] for n, p in zip(taps, parts)
            )

        vectors = min(range(1, 5), key=work)
        self.width = width = vectors * lanes
        self.blocks = blocks = blocks_of(features, vectors, lanes)
        self.block = block = sum(1 + channels * n for n in taps) * width  # elements of the packed weight
        positions = math.prod(size)

        def write() -> str:
            k = Kernel("outputs", TYPES[d], ["x", "w", "y"])
            f, type = k.f, k.type
            room = k.scratch(frame.size * channels + -(-positions // lanes) * lanes * width)
            blank(f, type, room, frame.size * channels, lanes)
            sums = f.at(room, frame.size * channels, type)
            tiles: dict[object, Function] = {}
            with f.loop(f["from"], f["to"]) as item:
                image, first = item // blocks, item % blocks  # an image's group, and a block of features
                plane = math.prod(frame.spatial)
                with f.loop(0, channels) as c:
                    fill_frame(
                        f,
                        type,
                        f.at(k["x"], (image * channels + c) * plane, type),
                        f.at(room, c * frame.size, type),
                        frame,
                        lanes,
                    )
                weights = f.at(k["w"], (image % groups * blocks + first) * block, type)
                # Sums at all positions, part by part, in register tiles.
                for part in parts:
                    _, rows, columns = _tile(part, frame, scale, vectors)
                    same = rows, columns, part.offsets, part.step  # as of phases without taps
                    if same not in tiles:
                        name = f"tile{len(tiles)}.$$"
                        tiles[same] = _positions(name, type, lanes, (rows, columns), vectors, part, frame, scale, size)
                    tile = tiles[same]
                    start = f.at(sums, sum(s * n for s, n in zip(part.start, own)) * width, type)
                    steps = (
                        [s * p for s, p in zip(scale, frame.pitches)],
                        [s * p * width for s, p in zip(part.step, own)],
                    )

                    def one(source: Value, target: Value, name: str = tile.name, weights: Value = weights) -> None:
                        f.call(name, source, weights, target, f.constant(channels, I64))

                    _cover(
                        f,
                        type,
                        part.many,
                        (1,) * (len(size) - 2) + (rows, columns)[-len(size) :],
                        *steps,
                        room,
                        start,
                        one,
                    )
                    weights = f.at(weights, (1 + channels * len(part.taps)) * width, type)
                # Then the transpose: the result has features outermost.
                with f.loop(0, f.smaller(features - first * width, width), lanes) as v:
                    feature = first * width + v
                    _transpose_out(
                        f,
                        type,
                        lanes,
                        f.at(sums, v, type),
                        width,
                        f.at(k["y"], (image * features + feature) * positions, type),
                        positions,
                        features - feature if features % lanes else None,
                    )
            return k.done(1, *tiles.values())

        self.call = load_function("outputs", write, d, groups, channels, features, frame, parts, scale, size)

    def __call__(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, out: np.ndarray) -> np.ndarray:
        return self.call(len(x) * self.groups * self.blocks, x, self.pack(w, bias), out)

    def pack(self, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """The packed weight: for each block of features, and each part, the bias, and vectors of the weights of each
        channel and tap.
        """
        groups, features, channels, _ = w.shape
        packed = np.zeros((groups, self.blocks, self.block), w.dtype)
        start = 0
        for part in self.parts:
            n = 1 + channels * len(part.taps)
            place = packed[:, :, start : start + n * self.width].reshape(groups, self.blocks, n, self.width)
            rows = np.moveaxis(w if len(part.taps) == w.shape[3] else w[..., list(part.taps)], 1, 3).reshape(
                groups, n - 1, features
            )
            for b in range(self.blocks):
                some = slice(b * self.width, min(features, (b + 1) * self.width))
                place[:, b, 1:, : some.stop - some.start] = rows[:, :, some]
                if bias is not None:
                    place[:, b, 0, : some.stop - some.start] = bias.reshape(groups, features)[:, some]
            start += n * self.width
        return packed
