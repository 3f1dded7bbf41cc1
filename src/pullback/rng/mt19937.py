"""The Mersenne Twister: its state, its 32-bit words, and the uniforms and normals that the samplers are built on.

Words come from the Mersenne Twister mt19937 (Matsumoto & Nishimura, *ACM TOMACS* 8, 1998), seeded with the low 32 bits
of the seed: NumPy has the same one. The state is PyTorch's, byte for byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Generator as Generated
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..base import forks
from ..base.device import CPU, device
from ..base.holding import holding, locked
from ..kernels.rounding import FLOAT32, fused
from . import rejection
from .domains import INT64_MIN

Array = NDArray[Any]
Shape = tuple[int, ...]
DType = np.dtype[Any]

DEFAULT_SEED = 67280421310721  # of a generator that was not seeded
TWISTER = 624  # words in a block of the twister
CHUNK = 64 * TWISTER  # elements filled at a time, so that temporaries stay in cache
BIG32, BIG64 = np.dtype(">u4"), np.dtype(">u8")  # big-endian: two words in a row read as a wide one

# PyTorch's generator state, 5056 bytes.
STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),  # words left in the block, plus one
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", TWISTER),
        ("unused_x", "<f8"),
        ("normal", "<f8"),
        ("unused_rho", "<f8"),
        ("has_normal", "<i4"),
        ("padding", "<i4"),
        ("normal32", "<f4"),
        ("has_normal32", "?"),
        ("end", "V3"),
    ]
)


def normal_pair(u1: float, u2: float) -> tuple[float, float]:
    radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
    return radius * math.cos(angle), radius * math.sin(angle)


def wide_words(words: Array) -> Array:
    """Wide words, each from two words."""
    return words.astype(BIG32).view(BIG64).astype(np.uint64)


def unit_float32(words: Array) -> Array:
    """Float32 multiples of 2**-24 in [0, 1)."""
    x = (words & 0xFFFFFF).astype(FLOAT32)
    x *= 2.0**-24
    return x


class WordStream:
    """The state of a stream of words, and the standard numbers drawn from it."""

    __slots__ = ("_twister", "_block", "_lock", "_normal", "_normal32", "_place", "_seed")

    # NumPy's twister, advanced to the end of the current block; made on first use: importing numpy.random is slow
    _twister: np.random.MT19937 | None
    _block: Array  # the 624 words of the current block (none right after seeding)
    _place: int  # how many of them are used
    _normal: float | None  # the cached second normal of a pair
    _normal32: float | None  # the same for float32: a field of the state that PyTorch no longer sets

    def __init__(self, device: Any = "cpu") -> None:
        """Start from PyTorch's fixed default seed.

        Raises:
            RuntimeError: for a device other than the CPU.
        """
        if str(device) != "cpu":
            raise RuntimeError(
                f"Cannot get {str(device).upper()} generator: the only device here is the CPU. "
                "Leave device out, or pass 'cpu'."
            )
        self._lock = forks.lock(forks.Order.RANDOM)
        self._twister = None
        self._start(DEFAULT_SEED)

    @property
    def _bits(self) -> np.random.MT19937:
        """The twister, seeded now if nothing was drawn so far."""
        if self._twister is None:
            self._twister = np.random.MT19937(0)
            np.random.RandomState(self._twister).seed(self._seed & 0xFFFFFFFF)
        return self._twister

    @property
    def device(self) -> device:
        """Where it draws: always the CPU."""
        return CPU

    # -- seeds and states

    @locked
    def _start(self, seed: int) -> None:
        if self._twister is not None:
            np.random.RandomState(self._twister).seed(seed & 0xFFFFFFFF)
        self._seed, self._place, self._block = seed, TWISTER, np.empty(0, np.uint32)
        self._normal = self._normal32 = None

    def manual_seed(self, seed: int) -> Self:
        """Seed the generator; a negative seed counts back from 2**64. Returns ``self``.

        Raises:
            RuntimeError: if ``seed`` is not an integer.
            ValueError: if it is outside [-2**63, 2**64).
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not INT64_MIN <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long\n  seed {seed} is not in [-2**63, 2**64).")
        self._start(int(seed) % 2**64)
        return self

    def seed(self) -> int:
        """Seed the generator from the operating system; returns the seed."""
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._start(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed, in [0, 2**64)."""
        return self._seed

    @locked
    def get_state(self) -> NDArray[np.uint8]:
        """The state: 5056 uint8, byte for byte that of PyTorch's generator."""
        state = np.zeros(1, STATE)
        words: Array = self._bits.state["state"]["key"]
        state["seed"], state["seeded"], state["words"] = self._seed, 1, words
        # The words right after seeding are no block yet: their first is the seed.
        started = self._place < TWISTER or int(words[0]) != self._seed & 0xFFFFFFFF
        state["left"], state["next"] = (TWISTER + 1 - self._place, self._place) if started else (1, 0)
        if self._normal is not None:
            state["normal"], state["has_normal"] = self._normal, 1
        if self._normal32 is not None:
            state["normal32"], state["has_normal32"] = self._normal32, True
        return state.view(np.uint8)

    @locked
    def set_state(self, state: Array) -> Self:
        """Restore a state from ``get_state``, this one's or PyTorch's. Returns ``self``.

        Raises:
            TypeError: if ``state`` is not a uint8 array.
            RuntimeError: if it does not have 5056 elements, or is not a valid state of the Mersenne Twister.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor\n  Pass what get_state() returned.")
        if state.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        fields = np.ascontiguousarray(state).reshape(-1).view(STATE)[0]
        left, place = int(fields["left"]), int(fields["next"])
        if not fields["seeded"] or not 1 <= left <= TWISTER or (left > 1 and left + place != TWISTER + 1):
            raise RuntimeError("Invalid mt19937 state\n  Pass what get_state() returned, unchanged.")
        # NumPy's twister, set to the start of the block, returns its words tempered and ends up behind them.
        key: Any = {"key": fields["words"].astype(np.uint32), "pos": 0}
        self._bits.state = {"bit_generator": "MT19937", "state": key}
        self._block = self._bits.random_raw(TWISTER).astype(np.uint32)
        self._seed, self._place = int(fields["seed"]), place if left > 1 else TWISTER
        self._normal = float(fields["normal"]) if fields["has_normal"] else None
        self._normal32 = float(fields["normal32"]) if fields["has_normal32"] else None
        return self

    def clone_state(self) -> Self:
        """Another generator in the same state."""
        return type(self)().set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), self.get_state()

    def __setstate__(self, state: Array) -> None:
        self.set_state(state)

    # -- words and standard numbers, 1-d; the caller holds the lock

    def _words(self, count: int) -> Array:
        """Words as uint32, read-only."""
        start, stop = self._place, self._place + count
        if stop <= TWISTER:
            self._place = stop
            return self._block[start:stop]
        rest, more = self._block[start:], stop - TWISTER
        blocks = -(-more // TWISTER)
        made = kernels.run("random", "words", more, self._bits, blocks)
        if made is None:
            made = self._bits.random_raw(blocks * TWISTER).astype(np.uint32)
        self._block, self._place = made[-TWISTER:].copy(), TWISTER - (len(made) - more)
        return np.concatenate((rest, made[:more])) if len(rest) else made[:more]

    def _unit32(
        self, count: int, width: float = 1.0, shift: float = 0.0, end: float = 1.0, first: float = 0.0
    ) -> Array:
        """Float32 multiples of 2**-24 in [0, 1), times ``width`` plus ``shift``; ``first`` where that rounds to
        ``end``.
        """
        words = self._words(count)
        x = kernels.run("random", "uniform", count, words, width, shift, end, first)
        if x is None:
            x = fused(unit_float32(words), width, shift)
            x[x == end] = first
        return x

    def _unit64(self, count: int) -> Array:
        """Float64 multiples of 2**-53 in [0, 1)."""
        words = self._words(2 * count)
        x = kernels.run("random", "uniform_wide", count, words)
        return (wide_words(words) & (2**53 - 1)).view(np.int64) * 2.0**-53 if x is None else x

    def _uniforms(self, expected: int) -> Generated[float, None, None]:
        """Float64 uniforms one by one, made from the rest of a block at a time; closing returns the unused words."""
        while True:
            left = TWISTER - self._place
            count = min(left // 2 or (1 if left else TWISTER // 2), max(expected, 1))
            used = 0
            try:
                for u in self._unit64(count).tolist():
                    used += 1
                    yield u
            finally:
                self._place -= 2 * (count - used)

    def _pairwise_normals(self, count: int) -> Array:
        normals = [] if self._normal is None else [self._normal]
        self._normal = None
        uniform = self._unit64((count - len(normals) + 1) // 2 * 2).tolist()
        for u1, u2 in zip(uniform[0::2], uniform[1::2], strict=True):
            normals += normal_pair(u1, u2)
        if len(normals) > count:
            self._normal = normals.pop()
        return np.array(normals)

    def _pairwise_normal(self, uniform: rejection.Source) -> float:
        """The next normal, from uniforms drawn one by one."""
        normal, self._normal = self._normal, None
        if normal is None:
            normal, self._normal = normal_pair(uniform(), uniform())
        return normal

    def _fill(self, shape: Shape, dtype: DType, draw: Callable[[int], Array]) -> Array:
        """An array filled by ``draw(count)``, a chunk at a time."""
        count = math.prod(shape)
        if 0 < count <= CHUNK:
            return holding(self._lock, draw, count).reshape(shape)
        out = np.empty(count, dtype)
        holding(self._lock, self._fill_in_chunks, out, draw)
        return out.reshape(shape)

    def _fill_in_chunks(self, out: Array, draw: Callable[[int], Array]) -> None:
        for start in range(0, len(out), CHUNK):
            out[start : start + CHUNK] = draw(min(CHUNK, len(out) - start))
