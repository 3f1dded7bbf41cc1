"""The Mersenne Twister, and uniform, normal and Bernoulli numbers from its words: PyTorch's numbers, bit for bit.

Every step rounds as the NumPy code in :mod:`pullback.kernels.rounding` does, which says where each formula is from;
fused multiply-adds, which NumPy has to emulate, are single instructions here.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any

import numpy as np

from . import rounding
from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import F32, F64, I8, I32, I64, Function, Type, Value

TWISTER, MIDDLE = 624, 397
GRAIN = 1 << 13  # numbers worth handing to another thread
OF = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(bool): I8}


@compiled_kernel
def _twister() -> str:
    """Arrays: the twister's state, which is advanced, and the words."""
    k = Kernel("twister", I32, ["state", "out"], ["blocks"])
    f, blocks, state, out = k.f, k["blocks"], k["state"], k["out"]
    size = TWISTER * 4
    s = f.stack_array(2 * TWISTER, I32)  # a block and the next
    f.copy(s, state, size)
    with f.loop(0, blocks) as block:
        with f.loop(0, TWISTER, k.lanes) as at:
            here, next, middle = (k.load(s, at + i) for i in (0, 1, MIDDLE))
            y = (here & 0x80000000) | (next & 0x7FFFFFFF)
            x = middle ^ f.binary("lshr", y, 1) ^ (-(next & 1) & 0x9908B0DF)
            k.store(x, s, at + TWISTER)
            x = x ^ f.binary("lshr", x, 11)
            x = x ^ (x << 7) & 0x9D2C5680
            x = x ^ (x << 15) & 0xEFC60000
            k.store(x ^ f.binary("lshr", x, 18), out, block * TWISTER + at)
        f.copy(s, f.at(s, TWISTER, I32), size)
    f.copy(state, s, size)
    return k.done()


@lru_cache(None)
def _state_known() -> bool:
    """Whether NumPy's state begins with the words, as is assumed here."""
    twister: Any = np.random.MT19937(1)
    return bool((_state(twister) == twister.state["state"]["key"]).all())


def _state(twister: Any) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint32 * TWISTER).from_address(twister.ctypes.state_address))


def words(twister: np.random.MT19937, blocks: int) -> np.ndarray | None:
    """The words of the next blocks; the twister is at the end of a block, before and after."""
    if not _state_known():
        return None
    return _twister()(1, blocks, _state(twister), np.empty(blocks * TWISTER, np.uint32))


# --- uniform numbers --------------------------------------------------------------------------------------------


@compiled_kernel
def _uniform() -> str:
    k = Kernel("uniform", F32, ["words", "out"], [], ["width", "shift", "end", "first"])
    f = k.f
    width, shift, end, first = (k.splat(k[name]) for name in ("width", "shift", "end", "first"))

    def one(at: Value, mask: Value | None, u: int) -> None:
        words = f.load(f.at(k["words"], f["from"] + at, I32), I32.of(k.lanes), mask)
        x = f.fma(_unit(f, words), width, shift)
        k.store(f.select(x.equals(end), first, x), k["out"], f["from"] + at, mask)

    k.sweep(f["to"] - f["from"], one)
    return k.done(GRAIN)


def _unit(f: Function, words: Value) -> Value:
    return f.convert("sitofp", words & 0xFFFFFF, F32.of(words.type.lanes)) * 2.0**-24


def uniform(words: np.ndarray, width: float, shift: float, end: float, first: float) -> np.ndarray:
    """Float32 multiples of 2**-24 in [0, 1), times ``width`` and plus ``shift``, with ``first`` for ``end``."""
    return _uniform()(words.size, width, shift, end, first, words, np.empty(words.size, np.float32))


def _wide(f: Function, pointer: Value, at: Value, lanes: int, mask: Value | None) -> Value:
    """The 53-bit number of two words."""
    x = f.load(f.at(pointer, at, I64), I64.of(lanes), mask, align=4)
    return ((x << 32) | f.binary("lshr", x, 32)) & (2**53 - 1)


@compiled_kernel
def _from_wide(type: Type, bernoulli: bool) -> str:
    """Uniform numbers, or whether they are below a limit."""
    k = Kernel("wide", F64, ["words", "out"], ["limit"])
    f = k.f

    def one(at: Value, mask: Value | None, u: int) -> None:
        x = _wide(f, k["words"], f["from"] + at, k.lanes, mask)
        if not bernoulli:
            x = f.convert("sitofp", x, k.vector) * 2.0**-53
        else:
            x = f.convert("zext" if type == I8 else "uitofp", x < f.splat(k["limit"], k.lanes), type.of(k.lanes))
        f.store(x, f.at(k["out"], f["from"] + at, type), mask)

    k.sweep(f["to"] - f["from"], one)
    return k.done(GRAIN)


def uniform_wide(words: np.ndarray) -> np.ndarray:
    """Float64 multiples of 2**-53 in [0, 1), each from two words."""
    n = words.size // 2
    return _from_wide(F64, False)(n, 0, words, np.empty(n))


def bernoulli(words: np.ndarray, limit: int, dtype: np.dtype) -> np.ndarray | None:
    """Whether 53-bit numbers, each from two words, are below a limit."""
    n = words.size // 2
    return _from_wide(OF[dtype], True)(n, limit, words, np.empty(n, dtype)) if dtype in OF else None


# --- normal numbers ---------------------------------------------------------------------------------------------


@compiled_kernel
def _normal() -> str:
    """Items are two blocks of 16; at the end the second may be the first again."""
    k = Kernel("normal", F32, ["words", "out"], ["blocks"], ["mean", "std"])
    f = k.f
    mean, std = (f.splat(k[name], 16) for name in ("mean", "std"))
    with f.loop(f["from"], f["to"]) as i:
        places = [i * 32, f.smaller(i * 2 + 1, k["blocks"] - 1) * 16]
        a, b = (f.load(f.at(k["words"], place, I32), I32.of(16)) for place in places)
        first, second = (_unit(f, f.shuffle(a, b, [*range(j, j + 8), *range(j + 16, j + 24)])) for j in (0, 8))
        radius = k.math.sqrt(_log(k, 1.0 - first) * -2.0)
        sin, cos = _sincos(k, second * (2 * math.pi))
        x, y = (f.fma(radius * v, std, mean) for v in (cos, sin))
        for j, place in enumerate(places):
            f.store(
                f.shuffle(x, y, [*range(j * 8, j * 8 + 8), *range(j * 8 + 16, j * 8 + 24)]), f.at(k["out"], place, F32)
            )
    return k.done(GRAIN // 32)


def _log(k: Kernel, x: Value) -> Value:
    """See ``log32`` of :mod:`pullback.kernels.rounding`."""
    bits = k.math.bits(x)
    exponent = (bits - rounding.SQRT_HALF_BITS) >> 23
    m = k.math.of_bits(bits - (exponent << 23), x.type) - 1.0
    e = k.f.convert("sitofp", exponent, x.type)
    square = m * m
    y = k.f.fma(k.math.polynomial(m, rounding.LOG) * m, square, e * rounding.LOG_2[1])
    return ((y - square * 0.5) + m) + e * rounding.LOG_2[0]


def _sincos(k: Kernel, x: Value) -> tuple[Value, Value]:
    """See ``sincos32`` there."""
    f, m = k.f, k.math
    octant = f.convert("fptosi", x * rounding.FOUR_OVER_PI, x.type.integers) + 1 & -2
    quarters = f.convert("sitofp", octant, x.type)
    a, b, c = rounding.QUARTER_PI
    x = f.fma(quarters, -c, (x - quarters * a) - quarters * b)
    square = x * x
    cos = f.fma(m.polynomial(square, rounding.COS) * square, square, -(square * 0.5)) + 1.0
    sin = f.fma(m.polynomial(square, rounding.SIN) * square, x, x)
    exchange = (octant & 2).differs(0)
    sin, cos = m.bits(f.select(exchange, cos, sin)), m.bits(f.select(exchange, sin, cos))
    return m.of_bits(sin ^ ((octant & 4) << 29), x.type), m.of_bits(cos ^ ((octant + 2 & 4) << 29), x.type)


def normal(words: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Float32 normals by Box and Muller, in blocks of 16."""
    blocks = words.size // 16
    return _normal()((blocks + 1) // 2, blocks, mean, std, words, np.empty(words.size, np.float32))


# --- permutations -----------------------------------------------------------------------------------------------


@compiled_kernel
def _shuffle() -> str:
    k = Kernel("shuffle", F64, ["words", "order"], ["n"])
    f, order = k.f, k["order"]
    with f.loop(0, k["n"] - 1) as i:
        word = f.convert("zext", f.load(f.at(k["words"], i, I32), I32), I64)
        a, b = f.at(order, i, I64), f.at(order, i + f.binary("urem", word, k["n"] - i), I64)
        x, y = f.load(a, I64), f.load(b, I64)
        f.store(y, a)
        f.store(x, b)
    return k.done()


def shuffle(words: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Durstenfeld's shuffle of int64 numbers, in place."""
    return _shuffle()(1, len(order), words, order)
