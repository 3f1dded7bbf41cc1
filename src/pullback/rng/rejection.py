"""Rejection samplers of PyTorch's CPU kernels: gamma, Poisson and binomial.

A sample takes a variable number of uniforms, so samples are drawn one at a time from the functions passed in:
``uniform`` returns float64 numbers in [0, 1), ``normal`` standard normals. Parameters are NumPy scalars: where PyTorch
computes in the precision of the parameter, so do these; the rest is float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Source = Callable[[], float]

THIRD, SQUEEZE = np.float32(1 / 3), float(np.float32(0.0331))  # single precision in PyTorch, even for float64
STIRLING_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def gamma(alpha: Any, uniform: Source, normal: Source) -> float:
    """Gamma with shape ``alpha`` and scale 1 (Marsaglia & Tsang, *ACM TOMS* 26, 2000)."""
    real = type(alpha)
    scale = 1.0
    if not alpha > 0:
        return 0.0 if alpha == 0 else math.nan
    if alpha < 1:
        scale = (1 - uniform()) ** float(real(1) / alpha)
        alpha = alpha + real(1)
    d = float(alpha - real(THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = normal()
            y = 1.0 + c * x
        v, square = y * y * y, x * x
        u = 1 - uniform()
        if u < 1.0 - SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def poisson(rate: Any, uniform: Source) -> float:
    """Poisson: below a rate of 10 by multiplying uniforms (Knuth), else PTRS (Hoermann, *IME* 12, 1993)."""
    rate = float(rate)
    if rate == 0 or math.isinf(rate):
        return rate
    if rate < 10:
        count, product, limit = 0, uniform(), math.exp(-rate)
        while product > limit:
            count += 1
            product *= uniform()
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    tight = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        edge = 0.5 - abs(u)
        if edge == 0:
            continue
        count = math.floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= tight:
            return count
        if count < 0 or (edge < 0.013 and v > edge):
            continue
        density = -rate + count * math.log(rate) - math.lgamma(count + 1)
        if v == 0 or math.log(v) + math.log(inverse_alpha) - math.log(a / (edge * edge) + b) <= density:
            return count


def binomial(count: Any, prob: Any, uniform: Source) -> float:
    """The number of successes in ``count`` trials; NaN if an argument is."""
    if math.isnan(count) or math.isnan(prob):
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1 or math.isinf(count):
        return float(count)
    rare = prob if prob <= 0.5 else type(prob)(1.0 - float(prob))
    hits = (binomial_btrs if count * rare >= 10 else binomial_by_geometric)(count, rare, uniform)
    return hits if prob <= 0.5 else float(count) - hits


def binomial_by_geometric(count: Any, prob: Any, uniform: Source) -> float:
    """By adding up the geometric gaps between successes (Devroye 1986, X.4.3)."""
    rate = float(type(prob)(math.log1p(-prob)))
    hits, trials = 0.0, 0.0
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / rate) if u else math.inf
        if trials > count:
            return hits
        hits += 1.0


def binomial_btrs(count: Any, prob: Any, uniform: Source) -> float:
    """By transformed rejection: BTRS (Hoermann, *J. Stat. Comput. Simul.* 46, 1993)."""
    real = type(count)
    stddev = float(np.sqrt(count * prob * (real(1) - prob)))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * float(prob)
    center = float(count * prob) + 0.5
    tight = 0.92 - 4.2 / b
    odds = float(prob / (real(1) - prob))
    alpha = (2.83 + 5.1 / b) * stddev
    mode = float(np.floor((count + real(1)) * prob))
    n = float(count)
    while True:
        u, v = uniform() - 0.5, uniform()
        edge = 0.5 - abs(u)
        if edge == 0:
            continue
        k = float(real(math.floor((2 * a / edge + b) * u + center)))
        if k < 0 or k > n:
            continue
        if edge >= 0.07 and v <= tight:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + (stirling_tail(mode) + stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k))
        )
        if v == 0 or math.log(v * alpha / (a / (edge * edge) + b)) <= bound:
            return k


def stirling_tail(k: float) -> float:
    """``log k!`` minus Stirling's formula for it."""
    if k < len(STIRLING_TAILS):
        return STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
