"""PyTorch's rounding on NumPy, for random numbers: fused multiply-add, libm's functions, Box-Muller.

PyTorch's CPU kernels are compiled with fused multiply-add, and its float32 normals take their logarithms, sines and
cosines from single-precision polynomials. NumPy has neither; both are emulated: a product of two float32 numbers is
exact in float64, and sums that would be rounded twice are corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


def narrow(x: Array, dtype: np.dtype[Any]) -> Array:
    """Float64, float32 or int64 numbers in a float dtype; PyTorch reaches the 16-bit ones through float32."""
    if x.dtype == dtype:
        return x
    if dtype == FLOAT64:
        return x.astype(FLOAT64)
    with np.errstate(over="ignore"):
        return x.astype(FLOAT32, copy=False).astype(dtype, copy=False)


def two_sum(a: Any, b: Any) -> tuple[Array, Array]:
    """``a + b`` rounded, and what the rounding lost (Knuth, *TAOCP* vol. 2, 4.2.2, theorem B)."""
    total = a + b
    from_b = total - a
    return total, (a - (total - from_b)) + (b - from_b)


def odd_sum(a: Any, b: Any) -> Array:
    """``a + b`` rounded to odd: rounding that to fewer digits gives the correctly rounded sum."""
    total, lost = two_sum(a, b)
    bits = total.view(np.int64)
    wrong = np.flatnonzero((lost != 0) & ((bits & 1) == 0))
    bits[wrong] += np.where((lost[wrong] > 0) == (total[wrong] > 0), 1, -1)
    return total


def halves(x: Any) -> tuple[Any, Any]:
    """Veltkamp's split of float64 numbers into 26 high bits and the rest."""
    big = x * 134217729.0
    high = big - (big - x)
    return high, x - high


def fused(a: Array, b: float, c: float) -> Array:
    """``a * b + c`` rounded once: ``a`` 1-d, float32 or float64, ``b`` and ``c`` numbers of its precision.

    For float64 by Boldo & Melquiond (*IEEE Trans. Comput.* 57, 2008), on Dekker's exact product.
    """
    if b == 1 or c == 0 or not (abs(b) < 1e290 and abs(c) < 1e300):
        return a * a.dtype.type(b) + a.dtype.type(c)
    if a.dtype == FLOAT32:
        product = a * np.float64(b)
        total = product + c
        # Rounding twice goes wrong only if the first time ends exactly between two float32 numbers.
        if ((total.view(np.int64) & 0x1FFFFFFF) == 0x10000000).any():
            total = odd_sum(product, c)
        return total.astype(FLOAT32)
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    product = a * b
    product_low = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    low, lowest = two_sum(c, product_low)
    high, middle = two_sum(product, low)
    return high + odd_sum(middle, lowest)


def each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """C's function on every element of an array: NumPy's vectorised one may differ in the last bit."""
    return lambda x: np.fromiter(map(function, x.tolist()), FLOAT64, x.size)


def log(x: Array) -> Array:
    """C's logarithm, of multiples of 2**-53 in [0, 1]: NumPy's complex log1p calls it, its log may not."""
    return np.log1p(x - 1.0 + 0j).real


def exp(x: float) -> float:
    """C's exponential, infinite where Python's overflows."""
    return math.exp(x) if x < 709.782712893384 else math.inf


def sincos(x: Array) -> tuple[Array, Array]:
    return np.sin(x), np.cos(x)


def single(*coefficients: float) -> list[float]:
    return [float(np.float32(c)) for c in coefficients]


# The single-precision polynomials of Moshier's Cephes library.
LOG = single(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
LOG_2 = single(0.693359375, -2.12194440e-4)
SQRT_HALF_BITS = 0x3F3504F3
COS = single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN = single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
QUARTER_PI = single(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)
FOUR_OVER_PI = 1.27323954473516


def horner32(coefficients: list[float], x: Array, scratch: Array) -> Array:
    """The polynomial in ``x``, float32 numbers held as float64, by fused multiply-adds of float32."""
    y = np.empty(x.shape, FLOAT32)
    np.multiply(x, coefficients[0], out=scratch)
    for c in coefficients[1:-1]:
        scratch += c
        y[...] = scratch
        np.multiply(y, x, out=scratch)
    scratch += coefficients[-1]
    y[...] = scratch
    return y


def log32(x: Array) -> Array:
    """Logarithm of positive float32 numbers ``2**e * (1 + m)``, with ``sqrt(1/2) <= 1 + m < sqrt(2)``."""
    bits = x.view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    m = (bits - (exponent << 23)).view(FLOAT32)
    m -= 1
    e = exponent.astype(FLOAT32)
    scratch = np.empty(x.shape)
    y = horner32(LOG, m.astype(FLOAT64), scratch)
    y *= m
    square = m * m
    np.multiply(y, square, out=scratch, dtype=FLOAT64)
    scratch += e * LOG_2[1]
    y[...] = scratch
    square *= 0.5
    y -= square
    y += m
    e *= LOG_2[0]
    y += e
    return y


def sincos32(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 numbers in [0, 2 pi]: both near 0, then exchanged and negated by octant."""
    octant = (x * FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= -2
    quarters = octant.astype(FLOAT32)
    x = x - quarters * QUARTER_PI[0]
    x -= quarters * QUARTER_PI[1]
    scratch = np.multiply(quarters, -QUARTER_PI[2], dtype=FLOAT64)
    scratch += x
    x[...] = scratch
    square = x * x
    square_wide = square.astype(FLOAT64)
    cos = horner32(COS, square_wide, scratch)
    cos *= square
    np.multiply(cos, square_wide, out=scratch)
    scratch -= square * 0.5
    cos[...] = scratch
    cos += 1
    sin = horner32(SIN, square_wide, scratch)
    sin *= square
    np.multiply(sin, x, out=scratch, dtype=FLOAT64)
    scratch += x
    sin[...] = scratch
    sin_bits, cos_bits = sin.view(np.int32), cos.view(np.int32)
    exchanged = (octant << 30) >> 31
    exchanged &= sin_bits ^ cos_bits
    sin_bits ^= exchanged
    cos_bits ^= exchanged
    sin_bits ^= (octant & 4) << 29
    cos_bits ^= ((octant + 2) & 4) << 29
    return sin, cos


def box_muller(uniform: Array) -> Array:
    """Standard normals from blocks of 16 uniforms in [0, 1), float32 or float64: 8 radii, then 8 angles."""
    pairs = uniform.reshape(-1, 2, 8)
    log_of, sincos_of = (log32, sincos32) if uniform.dtype == FLOAT32 else (log, sincos)
    radius = log_of(1 - pairs[:, 0])
    radius *= -2
    np.sqrt(radius, out=radius)
    sin, cos = sincos_of(pairs[:, 1] * (2 * math.pi))
    out = np.empty_like(pairs)
    np.multiply(radius, cos, out=out[:, 0])
    np.multiply(radius, sin, out=out[:, 1])
    return out.reshape(-1)
