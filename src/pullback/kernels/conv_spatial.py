"""Direct convolution and its weight gradient, vectorized over positions: for few features, down to depthwise layers.

In the frame of the input the elements of equal remainder modulo the stride are contiguous (a *phase*). Then every
convolution is one-dimensional: output v, counted through the frame's rows, is

    y[o, v] = sum over channels c and taps t of  w[o, c, t] * x[c, v + offset[t]]

Vectors run straight across the ends of rows; what they compute there is dropped, and no shape needs a mask. A tile of
output channels and vectors of outputs stays in registers through all channels and taps. At last rows are copied out of
the frame, with the bias added. For the weight gradient a tile of output channels, channels and taps stays in registers
through the vectors v and the images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .codegen import jit
from .codegen.entry import load_function
from .codegen.kernel_builder import TYPES, Kernel
from .codegen.llvm_ir import I64, PTR, Function, Type, Value
from .conv_padding import Frame, Ints, Part, blank, copy_out, fill_frame, move, pitches

NEAR = 24 << 10  # bytes that stay in the L1 cache beside what else runs through it


def _tile(channels: int, registers: int) -> tuple[int, int]:
    """Output channels and vectors of a register tile: many products a load, few of them wasted."""

    def worth(rows: int) -> float:
        vectors = min(8, (registers - 1) // (rows + 1))
        work = rows * vectors
        return channels / (-(-channels // rows) * rows) * work / (work + 0.3 * (rows + 2 * vectors)) if vectors else 0

    rows = max(range(1, min(channels, 14) + 1), key=worth)
    return rows, min(8, (registers - 1) // (rows + 1))


def _micro(name: str, type: Type, lanes: int, rows: int, vectors: int, offsets: Ints, plane: int) -> Function:
    """The microkernel: outputs of ``rows`` channels at ``vectors`` vectors, through all channels and taps."""
    f = Function(name, [("x", PTR), ("w", PTR), ("y", PTR), ("channels", I64), ("pitch", I64)], internal=True)
    vector = type.of(lanes)
    sums = [[f.variable(0, vector) for _ in range(vectors)] for _ in range(rows)]
    taps = len(offsets)
    with f.loop(0, f["channels"]) as c:
        w, x = f.at(f["w"], c * (taps * rows), type), f.at(f["x"], c * plane, type)
        for t, offset in enumerate(offsets):
            xs = [f.load(f.at(x, offset + v * lanes, type), vector) for v in range(vectors)]
            for r in range(rows):
                by = f.splat(f.load(f.at(w, t * rows + r, type), type), lanes)
                for v in range(vectors):
                    sums[r][v].set(f.fma(by, xs[v], sums[r][v].get()))
    for r in range(rows):
        y = f.at(f["y"], f["pitch"] * r, type)
        for v in range(vectors):
            f.store(sums[r][v].get(), f.at(y, v * lanes, type))
    return f


class Outputs:
    """The kernel of a convolution of certain sizes.

    Args:
        d: the type of the elements.
        channels, features: of the input and the output of one group.
        frame: of the input.
        parts: phases of the result.
        size: spatial sizes of the result.
    """

    def __init__(
        self,
        d: np.dtype,
        groups: int,
        channels: int,
        features: int,
        frame: Frame,
        parts: Sequence[Part],
        size: Ints,
        bias: bool,
    ) -> None:
        self.groups, self.channels, self.features, self.parts = groups, channels, features, parts
        lanes = jit.WIDTH * 8 // TYPES[d].bits
        self.rows, vectors = _tile(features, jit.REGISTERS)
        self.panels = -(-features // self.rows)
        lengths = [sum((n - 1) * p for n, p in zip(part.many, frame.pitches)) + 1 for part in parts]
        pitch = -(-max(lengths) // (lanes * vectors)) * lanes * vectors
        slack = max(max(part.offsets, default=0) for part in parts) + pitch  # reading goes beyond the last frame
        total = frame.size * channels + slack

        def write() -> str:
            k = Kernel("convolve", TYPES[d], ["x", "w", "b", "y"])
            f, type, (x, w, b, y) = k.f, k.type, k.args.values()
            room = k.scratch(total + self.panels * self.rows * pitch)
            blank(f, type, room, total, lanes)
            sums = f.at(room, total, type)
            micros = []
            plane, result = math.prod(frame.spatial), math.prod(size)
            with f.loop(f["from"], f["to"]) as item:  # an image's group
                group = item % groups
                with f.loop(0, channels) as c:
                    fill_frame(
                        f,
                        type,
                        f.at(x, (item * channels + c) * plane, type),
                        f.at(room, c * frame.size, type),
                        frame,
                        lanes,
                    )
                # Each phase of the result: all positions by the microkernel, then the rows that are wanted.
                start = 0
                for n, part in enumerate(parts):
                    taps = len(part.offsets)
                    micro = _micro(f"tile{n}.$$", type, lanes, self.rows, vectors, part.offsets, frame.size)
                    micros.append(micro)
                    panel = channels * taps * self.rows
                    weights = f.at(
                        w,
                        group * (self.panels * channels * self.rows * sum(len(p.offsets) for p in parts)) + start,
                        type,
                    )
                    start += self.panels * panel
                    with f.loop(0, -(-lengths[n] // (lanes * vectors))) as block:
                        v = block * (lanes * vectors)
                        with f.loop(0, self.panels) as p:
                            f.call(
                                micro.name,
                                f.at(room, v, type),
                                f.at(weights, p * panel, type),
                                f.at(sums, p * (self.rows * pitch) + v, type),
                                f.constant(channels, I64),
                                f.constant(pitch, I64),
                            )
                    with f.loop(0, features) as o:
                        add = f.splat(f.load(f.at(b, group * features + o, type), type), lanes) if bias else None
                        target = f.at(y, (item * features + o) * result, type)
                        copy_out(f, type, f.at(sums, o * pitch, type), target, part, frame.pitches, size, lanes, add)
            return k.done(1, *micros)

        self.call = load_function("convolve", write, d, groups, channels, features, frame, parts, size, bias)

    def __call__(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, out: np.ndarray) -> np.ndarray:
        """``w`` is (groups, features, channels, taps of the kernel)."""
        packed = self.pack(w)
        return self.call(len(x) * self.groups, x, packed, packed if bias is None else np.ascontiguousarray(bias), out)

    def pack(self, w: np.ndarray) -> np.ndarray:
        """The weight in the order in which tiles read it."""
        groups, rows, panels = self.groups, self.rows, self.panels
        if panels * rows != self.features:
            w = np.concatenate([w, np.zeros((groups, panels * rows - self.features, *w.shape[2:]), w.dtype)], 1)
        w = w.reshape(groups, panels, rows, self.channels, -1).transpose(0, 1, 3, 4, 2)
        if len(self.parts) == 1 and self.parts[0].taps == tuple(range(w.shape[3])):
            return np.ascontiguousarray(w)
        chosen = [w[:, :, :, list(part.taps)].reshape(groups, -1) for part in self.parts]
        return np.ascontiguousarray(np.concatenate(chosen, 1))


class Weight:
    """The kernel of the weight gradient, for certain sizes."""

    def __init__(
        self, d: np.dtype, groups: int, channels: int, features: int, frame: Frame, offsets: Ints, size: Ints
    ) -> None:
        type, taps = TYPES[d], len(offsets)
        self.lanes = lanes = jit.WIDTH * 8 // type.bits
        most = jit.REGISTERS - 4 if jit.REGISTERS == 32 else 12
        at_once = min(taps, 9 if most > 12 else 3)
        across = max(1, min(features, round(math.sqrt(most / at_once)) if at_once < 5 else most // at_once))
        deep = max(1, min(channels, most // (at_once * across)))
        self.across = across
        self.blocks = -(-features // across)
        length = sum((n - 1) * p for n, p in zip(size, frame.pitches)) + 1
        self.pitch = -(-length // lanes) * lanes
        self.frame, self.channels, self.features, self.groups, self.taps = frame, channels, features, groups, taps
        self.slack = max(offsets) + self.pitch
        plane, result = math.prod(frame.spatial), math.prod(size)
        key = d, groups, channels, features, frame, offsets, size

        # First, all images into frames, the gradients into rows of the same pitch, with zeros between.
        def write() -> str:
            k = Kernel("fill", type, ["x", "g", "xs", "gs"])
            f, x, g, xs, gs = k.f, *k.args.values()
            spread = Frame(size, (0,) * len(size), (1,) * len(size), frame.extent)
            with f.loop(f["from"], f["to"]) as item:
                with f.loop(0, channels) as c:
                    at = item * channels + c
                    blank(f, type, f.at(xs, at * frame.size, type), frame.size, lanes)
                    fill_frame(f, type, f.at(x, at * plane, type), f.at(xs, at * frame.size, type), frame, lanes)
                with f.loop(0, features) as o:
                    at = item * features + o
                    row = f.at(gs, at * self.pitch, type)
                    if self.pitch > spread.size:
                        f.clear(f.at(row, spread.size, type), (self.pitch - spread.size) * type.bits // 8)
                    _spread_rows(f, type, f.at(g, at * result, type), row, spread, self.pitch, lanes)
            return k.done()

        self.fill = load_function("fill", write, *key)

        # Then, for each block of features, sums over vectors and images.
        def write_sums() -> str:
            k = Kernel("weight", type, ["xs", "gs", "sums", "out"], ["images"])
            f, vector, images, xs, gs, sums, out = k.f, k.vector, *k.args.values()
            with f.loop(f["from"], f["to"]) as block:
                group, first = block // self.blocks, block % self.blocks * across
                mine = f.at(sums, block * (across * channels * taps * lanes), type)
                f.clear(mine, across * channels * taps * lanes * type.bits // 8)
                # images whose gradients stay near
                at_a_time = max(1, min(16, NEAR // (across * self.pitch * type.bits // 8)))
                with f.loop(0, images, at_a_time) as several:
                    for low in range(0, taps, at_once):
                        some = offsets[low : low + at_once]

                        def tile(c: Value, deep: int, low: int = low, some: Ints = some) -> None:
                            places = [
                                f.at(mine, ((c + i) * (across * taps) + (o * taps + low)) * lanes, type)
                                for i in range(deep)
                                for o in range(across)
                            ]
                            kept = [
                                [f.variable(f.load(f.at(p, t * lanes, type), vector)) for t in range(len(some))]
                                for p in places
                            ]
                            with f.loop(several, f.smaller(several + at_a_time, images)) as n:
                                item = n * groups + group
                                base = f.at(xs, (item * channels + c) * frame.size, type)
                                rows = []
                                for o in range(across):
                                    feature = f.smaller(first + o, features - 1)
                                    rows.append(f.at(gs, (item * features + feature) * self.pitch, type))
                                with f.loop(0, self.pitch, lanes) as v:
                                    ys = [f.load(f.at(row, v, type), vector) for row in rows]
                                    for i in range(deep):
                                        at = f.at(base, v + i * frame.size, type)
                                        for t, offset in enumerate(some):
                                            value = f.load(f.at(at, offset, type), vector)
                                            for o in range(across):
                                                place = kept[i * across + o][t]
                                                place.set(f.fma(ys[o], value, place.get()))
                            for p, variables in zip(places, kept):
                                for t, place in enumerate(variables):
                                    f.store(place.get(), f.at(p, t * lanes, type))

                        whole = channels // deep * deep
                        with f.loop(0, whole, deep) as c:
                            tile(c, deep)
                        if channels % deep:
                            tile(f.constant(whole, I64), channels % deep)
                for last in range(across):
                    with f.if_then(first + last < features):
                        with f.loop(0, channels) as c:
                            with f.loop(0, taps) as tap:
                                total = f.load(
                                    f.at(mine, (c * (across * taps) + (last * taps) + tap) * lanes, type), vector
                                )
                                to = ((group * features + first + last) * channels + c) * taps + tap
                                f.store(f.sum_lanes(total), f.at(out, to, type))
            return k.done()

        self.sum_up = load_function("weight", write_sums, *key)

    def __call__(self, x: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
        images, d = len(x), x.dtype
        xs = np.empty(images * self.groups * self.channels * self.frame.size + self.slack, d)
        xs[-self.slack :] = 0
        gs = np.empty(images * self.groups * self.features * self.pitch, d)
        self.fill(images * self.groups, x, g, xs, gs)
        sums = np.empty(self.groups * self.blocks * self.across * self.channels * self.taps * self.lanes, d)
        self.sum_up(self.groups * self.blocks, images, xs, gs, sums, out)


def _spread_rows(f: Function, type: Type, source: Value, target: Value, frame: Frame, pitch: int, lanes: int) -> None:
    """Copy rows of a gradient to the pitch of a frame, cut off at ``pitch``."""
    size, own = frame.spatial, pitches(frame.spatial)
    f.clear(target, min(pitch, frame.size) * type.bits // 8)

    def rows(d: int, source: Value, target: Value) -> None:
        if d == len(size) - 1:
            move(f, type, source, target, size[d], lanes)
            return
        with f.loop(0, size[d]) as j:
            rows(d + 1, f.at(source, j * own[d], type), f.at(target, j * frame.pitches[d], type))

    rows(0, source, target)
