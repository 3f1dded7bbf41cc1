"""Winograd convolution F(2x2, 3x3), for kernels of 3 by 3 and stride 1: 16 products for four outputs instead of 36.

Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016), F(2x2, 3x3). With tiles d of 4 by 4
elements, which overlap by two, and a kernel g of each channel,

    y = A^T [sum over channels of (G g G^T) * (B^T d B)] A

is a tile of 2 by 2 outputs. The sums of the 16 products in brackets are matrix products: features by channels, times
channels by tiles. The matrices A and B are of 0, 1 and -1, so that the error is not larger than that of the sum itself;
with larger tiles, F(4x4, 3x3), it would be.

Infinities, and numbers so large that sums of them are, cancel to NaN on the way: where an output is not finite, all has
to be computed in another way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from .codegen import jit
from .codegen.entry import load_function
from .codegen.kernel_builder import TYPES, Kernel
from .codegen.llvm_ir import I64, PTR, Function, Type, Value
from .conv_padding import Ints, blank, fill_frame, frame_of

G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
TWICE = np.kron(G, G)  # of a kernel as a column
NEAR = 64 << 10  # bytes of tiles that are worked on at a time, if there are two vectors of them


def pays(d: np.dtype, channels: int, features: int, images: int, size: Ints) -> bool:
    """Whether the products that are saved outweigh the transforms (measured, AVX-512), which cost more for narrow rows
    and for few outputs, as the weight is transformed, too.
    """
    lanes = jit.WIDTH * 8 // TYPES[d].bits
    outputs, few = images * math.prod(size), min(channels, features)
    return few * min(size[1], 2 * lanes) >= 32 * lanes and outputs >= 1024 and outputs * channels * features >= 1 << 20


def _input_transform(d: list[Value]) -> list[Value]:
    """``B^T d``."""
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def _output_transform(m: list[Value]) -> list[Value]:
    """``A^T m``."""
    return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]


def _apply_2d(transform: Callable[[list[Value]], list[Value]], square: list[list[Value]]) -> list[list[Value]]:
    """A transform of the columns, then of the rows."""
    columns = [transform(list(column)) for column in zip(*square)]
    return [transform(list(row)) for row in zip(*columns)]


def _tile(features: int, vectors: int) -> tuple[int, int]:
    """Features and vectors of register tiles."""

    def work(tile: tuple[int, int]) -> float:
        r, v = tile
        return -(-features // r) * -(-vectors // v) * (r * v + 0.3 * (r + 2 * v))

    pairs = [
        (r, v)
        for r in range(1, min(features, 16) + 1)
        for v in range(1, min(vectors, 6) + 1)
        if r * v + v + 1 < jit.REGISTERS
    ]
    return min(pairs, key=work)


def _product(type: Type, lanes: int, rows: int, vectors: int, pitch: int) -> Function:
    """The microkernel: sums over channels, of ``rows`` features at ``vectors`` vectors of tiles."""
    f = Function("product.$$", [("x", PTR), ("w", PTR), ("y", PTR), ("channels", I64)], internal=True)
    vector = type.of(lanes)
    sums = [[f.variable(0.0, vector) for _ in range(vectors)] for _ in range(rows)]
    with f.loop(0, f["channels"]) as c:
        x, w = f.at(f["x"], c * pitch, type), f.at(f["w"], c * rows, type)
        xs = [f.load(f.at(x, v * lanes, type), vector) for v in range(vectors)]
        for r, mine in enumerate(sums):
            by = f.splat(f.load(f.at(w, r, type), type), lanes)
            for number, sum in zip(xs, mine):
                sum.set(f.fma(by, number, sum.get()))
    for r, mine in enumerate(sums):
        for v, sum in enumerate(mine):
            f.store(sum.get(), f.at(f["y"], r * pitch + v * lanes, type))
    return f


def _interleave(f: Function, type: Type, even: Value, odd: Value, target: Value, most: int) -> None:
    """Store the elements of two vectors alternately, at most so many."""
    lanes = even.type.lanes
    both = [i // 2 + i % 2 * lanes for i in range(2 * lanes)]
    step = min(2 * lanes, jit.WIDTH * 8 // type.bits)
    for at in range(0, min(2 * lanes, most), step):
        mask = None if at + step <= most else f.mask_of([i < most - at for i in range(step)])
        f.store(f.shuffle(even, odd, both[at : at + step]), f.at(target, at, type), mask)


class Winograd:
    """The kernel for certain sizes.

    Args:
        d: the type of the elements.
        channels, features: of the input and the output of one group.
        spatial, padding, size: heights and widths of the input, around it, and of the output.
    """

    def __init__(
        self,
        d: np.dtype,
        groups: int,
        channels: int,
        features: int,
        spatial: Ints,
        padding: Ints,
        size: Ints,
    ) -> None:
        self.groups = groups
        lanes = jit.WIDTH * 8 // TYPES[d].bits
        height, width = (-(-n // 2) for n in size)  # in tiles
        # rows of tiles
        at_once = min(height, max(NEAR // (16 * (channels + features) * width * d.itemsize), -(-2 * lanes // width)))
        chunk = min(lanes, 1 << (width - 1).bit_length())  # tiles of a row that are transformed together
        many = at_once * width
        vectors = -(-(many + (chunk - width if width < chunk else 0)) // lanes)
        rows, deep = _tile(features, vectors)
        vectors = -(-vectors // deep) * deep
        pitch = vectors * lanes
        self.rows, self.panels = rows, -(-features // rows)
        frame = frame_of(spatial, padding, (2, 2), (height, width), (4, 4), (1, 1))
        (down, _), plane, result = frame.pitches, spatial[0] * spatial[1], size[0] * size[1]

        def write() -> str:
            k = Kernel("winograd", TYPES[d], ["x", "w", "b", "spoilt", "y"])
            f, type, (x, w, b, spoilt, y) = k.f, k.type, k.args.values()
            product = _product(type, lanes, rows, deep, pitch)
            # Points are a line of the cache apart from a multiple of what is likely to be a power of two, which would
            # let them collide.
            before, after = channels * pitch + lanes, rows * pitch + lanes
            frames = frame.size * channels + lanes
            room = k.scratch(frames + 16 * (before + after))
            inputs, outputs = f.at(room, frames, type), f.at(room, frames + 16 * before, type)
            # also numbers beyond the tiles, which are multiplied, too
            blank(f, type, room, frames + 16 * before, lanes)
            part, checked = type.of(chunk), f.variable(0.0, type.of(chunk))

            def for_chunks(body: Callable[[Value, int], None]) -> None:
                """``body(row, column)`` for each chunk of tiles; of a row's chunks the last two may overlap."""
                with f.loop(0, at_once) as i:
                    for j in range(0, width, chunk):
                        body(i, max(0, min(j, width - chunk)))

            def before_products(source: Value, target: Value) -> None:
                """Transform a channel's tiles, from its frame."""

                def one(i: Value, j: int) -> None:
                    at, to = f.at(source, i * down + j, type), f.at(target, i * width + j, type)
                    square = [[f.load(f.at(at, frame.offset((r, s)), type), part) for s in range(4)] for r in range(4)]
                    for p, value in enumerate(v for row in _apply_2d(_input_transform, square) for v in row):
                        f.store(value, f.at(to, p * before, type))

                for_chunks(one)

            def after_products(source: Value, target: Value, first: Value, add: Value) -> None:
                """Transform the sums of a feature, and write rows of outputs from the first row of tiles on."""

                def one(i: Value, j: int) -> None:
                    at = f.at(source, i * width + j, type)
                    square = [[f.load(f.at(at, (r * 4 + s) * after, type), part) for s in range(4)] for r in range(4)]
                    for r, pair in enumerate(_apply_2d(_output_transform, square)):
                        for v in pair:
                            checked.set(f.fma(v, 0.0, checked.get()))
                        even, odd = [v + add for v in pair]
                        row = (first + i) * 2 + r
                        with f.if_then(row < size[0]) if r and size[0] % 2 else nullcontext():
                            _interleave(f, type, even, odd, f.at(target, row * size[1] + j * 2, type), size[1] - j * 2)

                for_chunks(one)

            with f.loop(f["from"], f["to"]) as item:  # an image's group
                with f.loop(0, channels) as c:
                    fill_frame(
                        f,
                        type,
                        f.at(x, (item * channels + c) * plane, type),
                        f.at(room, c * frame.size, type),
                        frame,
                        lanes,
                    )
                checked.set(0.0)
                with f.loop(0, height, at_once) as top:
                    first = f.smaller(top, height - at_once)
                    with f.loop(0, channels) as c:
                        before_products(f.at(room, c * frame.size + first * down, type), f.at(inputs, c * pitch, type))
                    with f.loop(0, self.panels) as panel:
                        with f.loop(0, 16) as p:
                            weights = f.at(
                                w, ((item % groups * 16 + p) * self.panels + panel) * (channels * rows), type
                            )
                            with f.loop(0, pitch, deep * lanes) as v:
                                f.call(
                                    product.name,
                                    f.at(inputs, p * before + v, type),
                                    weights,
                                    f.at(outputs, p * after + v, type),
                                    f.constant(channels, I64),
                                )
                        with f.loop(0, f.smaller(features - panel * rows, rows)) as r:
                            o = panel * rows + r
                            add = f.splat(f.load(f.at(b, item % groups * features + o, type), type), chunk)
                            after_products(
                                f.at(outputs, r * pitch, type),
                                f.at(y, (item * features + o) * result, type),
                                first,
                                add,
                            )
                f.store(f.sum_lanes(checked.get()), f.at(spoilt, item, type))
            return k.done(1, product)

        self.call = load_function("winograd", write, d, groups, channels, features, spatial, padding, size)

    def __call__(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, out: np.ndarray) -> bool:
        """Compute ``out``; whether all numbers were finite, so it is right. ``w``: (groups, features, channels, 9)."""
        packed, spoilt = self.pack(w), np.empty(len(x) * self.groups, x.dtype)
        added = np.zeros(w.shape[:2], x.dtype) if bias is None else np.ascontiguousarray(bias)
        self.call(len(spoilt), x, packed, added, spoilt, out)
        return not np.isnan(spoilt.sum())

    def pack(self, w: np.ndarray) -> np.ndarray:
        """``G g G^T``, for each group and point: panels of features, for each channel a row of them."""
        groups, features, channels, _ = w.shape
        missing = self.panels * self.rows - features
        if missing:
            w = np.concatenate([w, np.zeros((groups, missing, channels, 9), w.dtype)], 1)
        w = w.reshape(groups, self.panels, self.rows, channels, 9).transpose(0, 4, 1, 3, 2)
        return TWICE.astype(w.dtype) @ np.ascontiguousarray(w).reshape(groups, 9, -1)
