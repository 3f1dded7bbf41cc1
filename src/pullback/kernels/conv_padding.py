"""Padded copies of inputs for convolution and pooling ("frames"): inside of one, no window needs a bounds check."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .codegen.llvm_ir import I64, Function, Type, Value

MOST_TAPS = 64
LONG = 16  # vectors of a row from which on it is a loop

Ints = tuple[int, ...]


def pitches(size: Sequence[int]) -> list[int]:
    """The strides of a contiguous array, in elements."""
    return [math.prod(size[d + 1 :]) for d in range(len(size))]


class Frame(NamedTuple):
    """The padded frame of one channel: ``size`` elements, phase after phase."""

    spatial: Ints  # of the input
    padding: Ints
    stride: Ints  # phases in each dimension
    extent: Ints  # elements of a phase in each dimension

    @property
    def phase(self) -> int:
        return math.prod(self.extent)

    @property
    def size(self) -> int:
        return self.phase * math.prod(self.stride)

    @property
    def pitches(self) -> list[int]:
        return pitches(self.extent)

    def offset(self, position: Sequence[int]) -> int:
        """The offset in the frame of a position of the padded input."""
        phase, inside = 0, 0
        for p, s, pitch in zip(position, self.stride, self.pitches):
            phase, inside = phase * s + p % s, inside + p // s * pitch
        return phase * self.phase + inside


def frame_of(
    spatial: Ints, padding: Ints, stride: Ints, size: Ints, kernel: Ints, dilation: Ints, phases: bool = True
) -> Frame:
    """The frame that the windows need, with a phase for each remainder modulo the stride, or one for all."""
    reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(size, stride, dilation, kernel)]
    each = stride if phases else (1,) * len(stride)
    return Frame(spatial, padding, each, tuple(-(-r // s) for r, s in zip(reach, each)))


class Part(NamedTuple):
    """Some outputs, and the taps that they depend on: one phase of the result."""

    offsets: Ints  # of taps, in the frame
    taps: Ints  # their numbers in the kernel
    start: Ints  # the first of the outputs in each dimension of the result,
    step: Ints  # from there to the next,
    many: Ints  # and how many


def blank(f: Function, type: Type, target: Value, count: int, lanes: int, around: float = 0.0) -> None:
    """Fill so many elements of frames with zero, or with another number."""
    if not around:
        f.clear(target, count * type.bits // 8)
        return
    with f.loop(0, count // lanes * lanes, lanes) as i:
        f.store(f.constant(around, type.of(lanes)), f.at(target, i, type))
    with f.loop(count // lanes * lanes, count) as i:
        f.store(f.constant(around, type), f.at(target, i, type))


def fill_frame(f: Function, type: Type, source: Value, target: Value, frame: Frame, lanes: int) -> None:
    """Copy one channel into its frame; the padding around it is left as it is."""
    *outer, width = frame.spatial
    *outer_stride, stride = frame.stride
    apart, own = frame.pitches, pitches(frame.spatial)
    padding = frame.padding[-1]

    def row(source: Value, target: Value) -> None:
        if stride == 1:
            low, high = max(0, -padding), min(width, frame.extent[-1] - padding)
            if high > low:
                move(f, type, f.at(source, low, type), f.at(target, low + padding, type), high - low, lanes)
            return
        if stride == 2:
            for at in range(0, width, 2 * lanes):
                pair(source, target, at, min(2 * lanes, width - at))
            return
        for phase in range(stride):
            first = (phase - padding) % stride  # the first element in this phase
            place = (first + padding) // stride
            many = min(-(-(width - first) // stride), frame.extent[-1] - place)
            to = f.at(target, phase * frame.phase + place, type)
            with f.loop(0, max(0, many)) as j:
                f.store(f.load(f.at(source, j * stride + first, type), type), f.at(to, j, type))

    def pair(source: Value, target: Value, at: int, count: int) -> None:
        """Deinterleave two vectors of a row, or so many elements of them, into the two phases."""
        a = f.load(f.at(source, at, type), type.of(lanes), first_of(count))
        b = f.load(f.at(source, at + lanes, type), type.of(lanes), first_of(count - lanes)) if count > lanes else None
        for odd in (0, 1):
            place, phase = divmod(at + odd + padding, 2)
            many = min((count + 1 - odd) // 2, frame.extent[-1] - place)
            if many > 0:
                value = f.shuffle(
                    a, b, [min(i, (2 if b is not None else 1) * lanes - 1) for i in range(odd, 2 * lanes, 2)]
                )
                f.store(value, f.at(target, phase * frame.phase + place, type), first_of(many))

    def first_of(count: int) -> Value | None:
        return None if count >= lanes else f.mask_of([i < count for i in range(lanes)])

    def rows(d: int, source: Value, target: Value, phases: int) -> None:
        if d == len(outer):
            row(source, f.at(target, phases * stride * frame.phase, type))
            return
        s, p = outer_stride[d], frame.padding[d]
        for phase in range(s):
            first = (phase - p) % s
            if p < 0 and first < -p:
                first += -(-(-p - first) // s) * s
            place = (first + p) // s
            many = min(-(-(outer[d] - first) // s), frame.extent[d] - place)
            if many <= 0:
                continue
            with f.loop(0, many) as j:
                rows(
                    d + 1,
                    f.at(source, (j * s + first) * own[d], type),
                    f.at(target, (j + place) * apart[d], type),
                    phases * s + phase,
                )

    rows(0, source, target, 0)


def for_vectors(f: Function, count: int, lanes: int, body: Callable[[Value, Value | None], None]) -> None:
    """``body(at, mask)`` for each vector of so many elements, with a mask if the last is not full."""
    whole = count // lanes * lanes
    with f.loop(0, whole, lanes) as at:
        body(at, None)
    if count > whole:
        body(f.constant(whole, I64), f.mask_of([i < count - whole for i in range(lanes)]))


def move(
    f: Function, type: Type, source: Value, target: Value, count: int, lanes: int, add: Value | None = None
) -> None:
    """Copy so many elements, and perhaps add something to them."""
    vector = type.of(lanes)

    def one(at: Any, mask: Value | None) -> None:
        value = f.load(f.at(source, at, type), vector, mask)
        f.store(value if add is None else value + add, f.at(target, at, type), mask)

    if count >= (LONG + 1) * lanes:
        for_vectors(f, count, lanes, one)
        return
    for at in range(0, count, lanes):
        one(at, None if at + lanes <= count else f.mask_of([i < count - at for i in range(lanes)]))


def copy_out(
    f: Function,
    type: Type,
    source: Value,
    target: Value,
    part: Part,
    apart: Sequence[int],
    size: Ints,
    lanes: int,
    add: Value | None,
) -> None:
    """Copy the rows of one channel of a part, ``apart`` in the frame, into the result."""
    own = pitches(size)

    def rows(d: int, source: Value, target: Value) -> None:
        if d < len(size) - 1:
            with f.loop(0, part.many[d]) as j:
                rows(
                    d + 1,
                    f.at(source, j * apart[d], type),
                    f.at(target, (j * part.step[d] + part.start[d]) * own[d], type),
                )
            return
        step, count = part.step[d], part.many[d]
        target = f.at(target, part.start[d], type)
        if step == 1:
            move(f, type, source, target, count, lanes, add)
            return
        with f.loop(0, count) as j:
            value = f.load(f.at(source, j, type), type)
            f.store(value if add is None else value + f.lane(add, 0), f.at(target, j * step, type))

    rows(0, source, target)


def copy_lines(
    f: Function,
    type: Type,
    source: Value,
    target: Value,
    many: Sequence[Value],
    apart: Sequence[Value],
    pitch: Sequence[Value],
    lanes: int,
) -> None:
    """Copy an array of so many elements in each dimension, of whatever sizes, from steps ``apart`` to steps ``pitch``;
    along the last dimension both are contiguous.
    """
    if len(many) > 1:
        with f.loop(0, many[0]) as j:
            at, to = f.at(source, j * apart[0], type), f.at(target, j * pitch[0], type)
            copy_lines(f, type, at, to, many[1:], apart[1:], pitch[1:], lanes)
        return
    (count,) = many
    whole = count // lanes * lanes

    def one(at: Value, mask: Value | None) -> None:
        f.store(f.load(f.at(source, at, type), type.of(lanes), mask), f.at(target, at, type), mask)

    with f.loop(0, whole, lanes) as at:
        one(at, None)
    with f.if_then(whole < count):
        one(whole, f.mask_below(count - whole, lanes))
