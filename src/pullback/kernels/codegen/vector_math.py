"""Vectorized math functions in float32 and float64: exp, log, sin, cos, tanh, erf, pow and their relatives.

Each reduces its argument to a short interval and evaluates a polynomial there (coefficients: Chebyshev interpolation of
the function named, in 60 digits). :data:`ERRORS` has the largest errors, in units in the last place; a test measures
them against mpmath. NaN, infinities and results beyond the range are as IEEE 754 has them.

Methods: J.-M. Muller et al., *Handbook of Floating-Point Arithmetic*, 2nd ed. 2018, chapter 10; the reduction by a
constant in parts, with fused multiply-add, is Cody and Waite's; pairs of numbers for a logarithm of twice the precision
are T. J. Dekker's (Numer. Math. 18, 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .llvm_ir import F64, I32, Function, Type, Value

# Largest error in ulp: (float32, float64).
ERRORS = {
    "exp": (1.1, 1.1),
    "exp2": (1.2, 1.2),
    "expm1": (1.4, 1.9),
    "log": (1.0, 1.0),
    "log1p": (1.0, 1.0),
    "log2": (1.7, 1.8),
    "log10": (1.7, 1.7),
    "sin": (1.5, 1.5),
    "cos": (1.5, 1.5),
    "tanh": (2.3, 2.4),
    "sigmoid": (2.1, 2.1),
    "erf": (2.0, 1.3),
    "erfc": (3.3, 3.4),
    "pow": (0.6, 2.3),
    "sqrt": (0.5, 0.5),
    "rsqrt": (1.5, 1.5),
}

# sqrt(1/2), and what rounding took from it.
SQRT_HALF = {
    "float": (0.7071067690849304, 1.210161710447897e-08),
    "double": (0.7071067811865476, -4.833646656726457e-17),
}
# All polynomials from the highest power down.
EXP = {  # (e**r - 1 - r) / r**2 for abs(r) <= ln(2) / 2
    "float": [
        0.00019890988455544567,
        0.0013933647862928863,
        0.008333310927615311,
        0.041666464944505696,
        0.16666666681621095,
        0.5000000013463886,
    ],
    "double": [1 / math.factorial(k) for k in range(13, 1, -1)],
}
LOG32 = [  # (log(1 + f) - f + f**2 / 2) / f**3 for f in [sqrt(1/2) - 1, sqrt(2) - 1]
    0.0697168125257076,
    -0.11479836850746383,
    0.11685443143333914,
    -0.12425675785850121,
    0.1424905432201956,
    -0.1666780266438411,
    0.20000715846134048,
    -0.24999996955552142,
    0.33333331179647285,
]
LOG64 = [  # (log((1 + s) / (1 - s)) - 2 s) / s**3 in z = s**2 up to 0.0295
    0.1308723619665962,
    0.13268714792348096,
    0.15386241881938595,
    0.18181795600060793,
    0.22222222392089008,
    0.28571428570801954,
    0.4000000000000088,
    0.6666666666666666,
]
ATANH = [  # (log((1 + s) / (1 - s)) - 2 s - 2 s**3 / 3) / s**5 in z = s**2 up to 0.0401
    0.11256990431013299,
    0.10391790132801734,
    0.11770245498984806,
    0.1333320125384769,
    0.15384617228261813,
    0.18181818167391273,
    0.22222222222278695,
    0.28571428571428487,
    0.4,
]
SIN = {  # (sin(r) / r - 1) / z in z = r**2 up to (pi / 4)**2
    "float": [2.724990115829391e-06, -0.0001984008654531293, 0.008333331874358352, -0.16666666663854385],
    "double": [
        -7.586692262094344e-13,
        1.6058531536611833e-10,
        -2.5052106231927857e-08,
        2.7557319219337672e-06,
        -0.00019841269841265063,
        0.008333333333333331,
        -0.16666666666666666,
    ],
}
COS = {  # (cos(r) - 1 + z / 2) / z**2, likewise
    "float": [-2.730093863463587e-07, 2.4800600218521467e-05, -0.0013888887671723142, 0.04166666666432045],
    "double": [
        4.7458692024108734e-14,
        -1.1470460841811526e-11,
        2.087675579079147e-09,
        -2.7557319221401993e-07,
        2.4801587301584645e-05,
        -0.0013888888888888887,
        0.041666666666666664,
    ],
}
ERF = {  # erf(x) / x - 1 in x**2 up to 0.86 or 1
    "float": [
        8.35189708074996e-05,
        -0.000813879238574507,
        0.005200729666707884,
        -0.026859297260767107,
        0.11283694149671573,
        -0.3761263368813302,
        0.12837916663832227,
    ],
    "double": [
        -7.795898827002142e-10,
        1.3720064546777686e-08,
        -1.6208483801871705e-07,
        1.6447424703317362e-06,
        -1.492473690741966e-05,
        0.00012055294904839707,
        -0.0008548325975389692,
        0.0052239776071164225,
        -0.02686617064323777,
        0.11283791670945006,
        -0.37612638903183543,
        0.12837916709551256,
    ],
}
LOG_ERFC32 = [  # log(erfc(x)) for x in [0.92, 4]
    -1.3801936151515378e-05,
    0.00032653631663277533,
    -0.0035049520609366333,
    0.022900967922152772,
    -0.1039831442681459,
    -0.6381773732907771,
    -1.126601594520348,
    -0.0005518093026396065,
]
# exp(x**2) erfc(x) / q in q = 1 / (x + K) for x in [3/4, b]: K, b, coefficients
ERFCX = {
    "float": (
        2,
        11,
        [
            -27.742429815969178,
            69.55675928948342,
            -60.88576160500606,
            17.663477206962394,
            -0.9554887772473902,
            3.2824494481703885,
            1.9388102862849206,
            1.1299336733051155,
            0.5641608608921636,
        ],
    ),
    "double": (
        3,
        28,
        [
            8998954.936542245,
            -23922975.800755538,
            28190324.97803835,
            -19256551.466808897,
            8459446.785901697,
            -2580623.449835639,
            601857.0491682353,
            -109854.31669509195,
            13203.171234635338,
            -2088.8398851626107,
            222.74203513618008,
            162.18654166288997,
            125.14376981587988,
            67.25767392193237,
            30.89006620380244,
            12.69425000606882,
            4.79561170353643,
            1.6925687483278837,
            0.5641895835578812,
        ],
    ),
}
LN2 = {"float": (0.6931471824645996, -1.904654299957768e-09), "double": (0.6931471805599453, 2.3190468138462996e-17)}
HALF_PI = {
    "float": (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
FRACTION = {"float": (23, 127), "double": (52, 1023)}  # bits of the fraction, bias of the exponent


class Math:
    """Functions of values in a function being written."""

    def __init__(self, f: Function) -> None:
        self.f = f

    # --- small parts --------------------------------------------------------------------------------------------

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        result = self.f.constant(coefficients[0], x.type)
        for c in coefficients[1:]:
            result = self.f.fma(result, x, c)
        return result

    def abs(self, x: Value) -> Value:
        return self.f.intrinsic("fabs", x)

    def sqrt(self, x: Value) -> Value:
        return self.f.intrinsic("sqrt", x)

    def rsqrt(self, x: Value) -> Value:
        return 1 / self.sqrt(x)

    def rint(self, x: Value) -> Value:
        return self.f.intrinsic("rint", x)

    def copysign(self, size: Value, sign: Value) -> Value:
        return self.f.intrinsic("copysign", size, sign)

    def between(self, x: Value, low: float, high: float) -> Value:
        """Held between two numbers; NaN stays NaN."""
        f = self.f
        x = f.select(f.compare("lt", x, f.constant(low, x.type)), f.constant(low, x.type), x)
        return f.select(f.compare("gt", x, f.constant(high, x.type)), f.constant(high, x.type), x)

    def bits(self, x: Value) -> Value:
        return self.f.convert("bitcast", x, x.type.integers)

    def of_bits(self, i: Value, type: Type) -> Value:
        return self.f.convert("bitcast", i, type)

    def two_to(self, n: Value, type: Type) -> Value:
        """``2 ** n`` for integers n in the range of normal numbers."""
        fraction, bias = FRACTION[type.name]
        return self.of_bits((n + bias) << fraction, type)

    def scaled(self, x: Value, n: Value) -> Value:
        """``x * 2 ** n`` for integer-valued floats n, down to subnormal results."""
        from . import jit  # which needs llvmlite; NumPy's blocks only ask what a formula does

        if jit.WIDTH == 64:  # AVX-512 has an instruction for it
            return self.f.intrinsic("ldexp", x, self.f.convert("fptosi", n, I32.of(x.type.lanes)), overloads=2)
        whole = self.f.convert("fptosi", n, x.type.integers)
        half = whole >> 1
        return x * self.two_to(half, x.type) * self.two_to(whole - half, x.type)

    # --- exponentials -------------------------------------------------------------------------------------------

    def _exp_parts(self, x: Value) -> tuple[Value, Value]:
        """n and r with ``x = n ln 2 + r``."""
        f, (high, low) = self.f, LN2[x.type.name]
        n = self.rint(x * (1 / math.log(2)))
        return n, f.fma(n, -low, f.fma(n, -high, x))

    def _exp_of_part(self, r: Value) -> Value:
        """``e ** r - 1`` for small r."""
        return self.f.fma(r * r, self.polynomial(r, EXP[r.type.name]), r)

    def exp(self, x: Value, rest: Value | None = None) -> Value:
        """``e ** (x + rest)``, for a rest that is small beside x."""
        f, (low, high) = self.f, (-104.0, 89.0) if x.type.name == "float" else (-746.0, 710.0)
        # computed as for 0: processors are slow where a result vanishes
        gone = f.compare("lt", x, f.constant(low, x.type))
        x = f.select(
            gone,
            f.constant(0.0, x.type),
            f.select(f.compare("gt", x, f.constant(high, x.type)), f.constant(high, x.type), x),
        )
        n, r = self._exp_parts(x)
        result = self.scaled(self._exp_of_part(r if rest is None else r + rest) + 1.0, n)
        return f.select(gone, f.constant(0.0, x.type), result)

    def exp2(self, x: Value) -> Value:
        x = self.between(x, *((-151.0, 129.0) if x.type.name == "float" else (-1076.0, 1025.0)))
        n = self.rint(x)
        high, low = LN2[x.type.name]
        part = x - n
        r = self.f.fma(part, high, part * low)
        return self.scaled(self._exp_of_part(r) + 1.0, n)

    def expm1(self, x: Value) -> Value:
        f = self.f
        held = self.between(x, *((-20.0, 89.0) if x.type.name == "float" else (-40.0, 710.0)))
        n, r = self._exp_parts(held)
        part = self._exp_of_part(r)
        half = self.two_to(f.convert("fptosi", n, x.type.integers) - 1, x.type)  # of 2**n, which may be out of range
        result = f.fma(half, part, half - 0.5)
        return f.select(n.equals(0.0), self.copysign(part, x), result + result)

    def sigmoid(self, x: Value) -> Value:
        return 1 / (self.exp(-x) + 1.0)

    def tanh(self, x: Value) -> Value:
        f = self.f
        size = self.abs(x)
        bound = f.constant(10.0 if x.type.name == "float" else 20.0, x.type)
        size = f.select(size > bound, bound, size)
        n, r = self._exp_parts(size + size)
        power = self.two_to(f.convert("fptosi", n, x.type.integers), x.type)
        e = f.fma(power, self._exp_of_part(r), power - 1.0)  # e ** (2 size) - 1
        return self.copysign(e / (e + 2.0), x)

    # --- logarithms ---------------------------------------------------------------------------------------------

    def _log_parts(self, x: Value) -> tuple[Value, Value]:
        """n and m in [sqrt(1/2), sqrt(2)) with ``x = m 2 ** n``, for positive finite x."""
        f, type = self.f, x.type
        fraction, _ = FRACTION[type.name]
        single = type.name == "float"
        tiny = x < (2.0**-126 if single else 2.0**-1022)
        x = f.select(tiny, x * 2.0**fraction, x)
        from_root = self.bits(x) - (0x3F3504F3 if single else 0x3FE6A09E667F3BCD)
        n = from_root >> fraction
        m = self.of_bits(self.bits(x) - (n << fraction), type)
        return f.convert("sitofp", n, type) - f.select(
            tiny, f.constant(float(fraction), type), f.constant(0.0, type)
        ), m

    def _log_of_part(self, m: Value, add: Value | None = None) -> Value:
        """``log(m)``, and something small beside it."""
        f, x = self.f, m - 1.0
        if m.type.name == "float":
            square = x * x
            tail = f.fma(
                f.fma(self.polynomial(x, LOG32), x, -0.5), square, add if add is not None else f.constant(0.0, m.type)
            )
            return x + tail
        s = x / (x + 2.0)
        half = x * x * 0.5
        tail = f.fma(
            s, f.fma(s * s, self.polynomial(s * s, LOG64), half), add if add is not None else f.constant(0.0, m.type)
        )
        return x - (half - tail)

    def _log_edges(self, x: Value, result: Value) -> Value:
        f = self.f
        result = f.select(x.equals(math.inf), x, result)
        result = f.select(x.equals(0.0), f.constant(-math.inf, x.type), result)
        return f.select(f.compare("ult", x, f.constant(0.0, x.type)), f.constant(math.nan, x.type), result)

    def log(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        high, low = LN2[x.type.name]
        return self._log_edges(x, self._plus_multiple(n, high, low, m))

    def _plus_multiple(self, n: Value, high: float, low: float, m: Value) -> Value:
        """``n (high + low) + log(m)``."""
        return self.f.fma(n, high, self._log_of_part(m, n * low))

    def log2(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        ln = self._log_of_part(m)
        single = x.type.name == "float"
        high, rest = (
            (1.4426950216293335, 1.9259629911266175e-08) if single else (1.4426950408889634, 2.0355273740931033e-17)
        )
        return self._log_edges(x, self.f.fma(ln, high, self.f.fma(ln, rest, n)))

    def log10(self, x: Value) -> Value:
        n, m = self._log_parts(x)
        ln = self._log_of_part(m)
        single = x.type.name == "float"
        by, by_rest = (
            (0.4342944920063019, -1.0103050052231683e-08) if single else (0.4342944819032518, 1.098319650216765e-17)
        )
        two, two_rest = (
            (0.3010300099849701, -1.4320988897559699e-08) if single else (0.3010299956639812, -2.8037281277851704e-18)
        )
        f = self.f
        return self._log_edges(x, f.fma(n, two, f.fma(ln, by, f.fma(ln, by_rest, n * two_rest))))

    def log1p(self, x: Value) -> Value:
        """``log(u) - ((u - 1) - x) / u`` with u = 1 + x rounded; tiny x and infinity are their own results."""
        f = self.f
        u = x + 1.0
        n, m = self._log_parts(u)
        high, low = LN2[x.type.name]
        # for large u, where 1 is the small one, u - 1 may be rounded; it does not matter then
        lost = (x - (u - 1.0)) / u
        result = f.fma(n, high, self._log_of_part(m, f.fma(n, low, lost)))
        result = f.select(u.equals(1.0), x, result)
        result = f.select(x.equals(math.inf), x, result)
        result = f.select(x.equals(-1.0), f.constant(-math.inf, x.type), result)
        return f.select(f.compare("ult", x, f.constant(-1.0, x.type)), f.constant(math.nan, x.type), result)

    # --- circular functions -------------------------------------------------------------------------------------

    def sine_and_cosine(self, x: Value) -> tuple[Value, Value, Value]:
        """Those of the argument less multiples of pi / 2, and which multiple."""
        f, type = self.f, x.type
        a, b, c = HALF_PI[type.name]
        n = self.rint(x * (2 / math.pi))
        r = f.fma(n, -c, f.fma(n, -b, f.fma(n, -a, x)))
        z = r * r
        sine = f.fma(z * self.polynomial(z, SIN[type.name]), r, r)
        half = z * 0.5
        one = 1.0 - half
        cosine = one + f.fma(z * z, self.polynomial(z, COS[type.name]), 1.0 - one - half)
        return sine, cosine, f.convert("fptosi", n, type.integers)

    def _circular(self, x: Value, name: str) -> Value:
        """A sine; beyond 2**17 (2**30) lane by lane in the C library."""
        f, type = self.f, x.type
        sine, cosine, quarter = self.sine_and_cosine(x)
        if name == "cos":
            quarter = quarter + 1
        odd = (quarter & 1).differs(0)
        result = f.select(odd, cosine, sine)
        result = f.select((quarter & 2).differs(0), -result, result)
        if name == "sin":
            result = f.select(x.equals(0.0), x, result)
        return self.lanes_beyond(x, result, 2.0**17 if type.name == "float" else 2.0**30, name)

    def lanes_beyond(self, x: Value, result: Value, limit: float, name: str) -> Value:
        """The result, but for lanes of large arguments, which an intrinsic on single numbers computes."""
        f, lanes = self.f, x.type.lanes
        large = f.compare("ugt", self.abs(x), f.constant(limit, x.type))
        place = f.variable(result)
        with f.if_then(f.intrinsic("vector.reduce.or", large, type=large.type.scalar)):
            exact = None
            for i in range(lanes):
                exact = f.with_lane(exact, i, f.intrinsic(name, f.lane(x, i)), lanes)
            assert exact is not None
            place.set(f.select(large, exact, result))
        return place.get()

    def sin(self, x: Value) -> Value:
        return self._circular(x, "sin")

    def cos(self, x: Value) -> Value:
        return self._circular(x, "cos")

    # --- error function -----------------------------------------------------------------------------------------

    def erf(self, x: Value) -> Value:
        f, type = self.f, x.type
        size, square = self.abs(x), x * x
        near = f.fma(self.polynomial(square, ERF[type.name]), x, x)
        if type.name == "float":
            held = f.select(size > 4.0, f.constant(4.0, type), size)
            far = 1.0 - self.exp(self.polynomial(held, LOG_ERFC32))
            return f.select(size < 0.9273, near, self.copysign(far, x))
        return f.select(size < 1.0, near, self.copysign(1.0 - self._erfc_of_size(size), x))

    def _erfc_of_size(self, size: Value) -> Value:
        """``erfc`` for x >= 3/4: exp(-x**2), with what rounding takes from the square, times a slow function."""
        f, type = self.f, size.type
        k, b, coefficients = ERFCX[type.name]
        held = f.select(size > float(b), f.constant(float(b), type), size)
        total = held + float(k)
        q = 1 / total
        # What rounding took from q, relatively, counts in the result 1 to 2.7 times: about 1 + slope * q times.
        back = total - held
        lost = f.fma(-q, total, 1.0) - q * ((held - (total - back)) + (float(k) - back))
        square = held * held
        e = self.exp(-square, -f.fma(held, held, -square))
        result = e * (self.polynomial(q, coefficients) * q)
        return f.fma(result, lost * f.fma(q, 2.65 if type.name == "float" else 5.8, 1.0), result)

    def erfc(self, x: Value) -> Value:
        f, size = self.f, self.abs(x)
        far = self._erfc_of_size(size)
        near = 1.0 - f.fma(self.polynomial(x * x, ERF[x.type.name]), x, x)
        return f.select(size < 0.75, near, f.select(x < 0.0, 2.0 - far, far))

    def ndtr(self, x: Value) -> Value:
        """The normal distribution function: ``erfc(y) / 2`` for y = -x / sqrt(2), whose rounding counts 2 y times in
        the tail.
        """
        f, (high, low) = self.f, SQRT_HALF[x.type.name]
        y = x * -high
        lost = f.fma(x, -high, -y) - x * low
        half = self.erfc(y) * 0.5
        in_tail = (y > 0.0) & (y < 40.0)
        return f.fma(half, f.select(in_tail, y * lost * -2.0, 0.0), half)

    # --- powers -------------------------------------------------------------------------------------------------

    def pow(self, x: Value, y: Value) -> Value:
        if x.type.name == "float":
            wide = F64.of(x.type.lanes)
            a, b = self.f.convert("fpext", x, wide), self.f.convert("fpext", y, wide)
            size = self.exp(self.log(self.abs(a)) * b)
            return self.f.convert("fptrunc", self._power_edges(a, b, size), x.type)
        return self._power_edges(x, y, self._power_of_size(self.abs(x), y))

    def _power_edges(self, x: Value, y: Value, size: Value) -> Value:
        """Signs, and where the logarithm of the base times the exponent says nothing (C99, F.10.4.4)."""
        f = self.f
        half = y * 0.5
        whole = self.rint(y).equals(y)
        odd = whole & self.rint(half).differs(half)
        result = f.select(odd, self.copysign(size, x), size)
        finite = f.compare("olt", self.abs(x), f.constant(math.inf, x.type))
        undefined = (x < 0.0) & finite & ~(whole | self.abs(y).equals(math.inf))
        result = f.select(undefined, f.constant(math.nan, x.type), result)
        one = f.constant(1.0, x.type)
        result = f.select(self.abs(x).equals(1.0) & self.abs(y).equals(math.inf), one, result)
        return f.select(x.equals(1.0) | y.equals(0.0), one, result)

    def _sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """``a + b`` and what rounding takes from it, for the larger first."""
        s = a + b
        return s, b - (s - a)

    def _power_of_size(self, x: Value, y: Value) -> Value:
        """``x ** y`` for x >= 0, by a logarithm in two numbers."""
        f = self.f
        n, m = self._log_parts(x)
        above, below = m - 1.0, m + 1.0
        below_rest = (m - below) + 1.0
        s = above / below  # m = (1 + s) / (1 - s)
        s_rest = f.fma(-s, below_rest, f.fma(-s, below, above)) / below
        z = s * s
        z_rest = f.fma(s + s, s_rest, f.fma(s, s, -z))
        cube = z * s
        cube_rest = f.fma(z, s_rest, f.fma(z_rest, s, f.fma(z, s, -cube)))
        third, third_rest = 2 / 3, 3.700743415417188e-17
        by, by_rest = self._sum(f.constant(third, x.type), z * self.polynomial(z, ATANH))
        by_rest = by_rest + third_rest
        term = cube * by
        term_rest = f.fma(cube, by_rest, f.fma(cube_rest, by, f.fma(cube, by, -term)))
        high, low = LN2["double"]
        part = n * high
        part_rest = f.fma(n, low, f.fma(n, high, -part))
        # n ln 2 is the larger of the two unless n is 0, when its parts are 0 and nothing is lost.
        total, rest1 = self._sum(part, s + s)
        zero = n.equals(0.0)
        total, rest1 = f.select(zero, s + s, total), f.select(zero, f.constant(0.0, x.type), rest1)
        total, rest2 = self._sum(total, term)
        rest = rest1 + rest2 + part_rest + term_rest + (s_rest + s_rest)
        logarithm, rest = self._sum(total, rest)
        product = logarithm * y
        product_rest = f.fma(rest, y, f.fma(logarithm, y, -product))
        # Beyond the range of exp, and for infinities, the rest is meaningless.
        product_rest = f.select(self.abs(product) < 800.0, product_rest, f.constant(0.0, x.type))
        product = f.select(x.equals(0.0), y * -math.inf, f.select(x.equals(math.inf), y * math.inf, product))
        product = f.select(f.compare("uno", x, f.constant(0.0, x.type)), x, product)
        e = self.exp(product)
        return f.select(e.equals(math.inf), e, f.fma(e, product_rest, e))


NAMES: dict[str, Callable[..., Any]] = {
    name: getattr(Math, name)
    for name in (
        "abs",
        "copysign",
        "cos",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "ndtr",
        "pow",
        "rint",
        "rsqrt",
        "sigmoid",
        "sin",
        "sqrt",
        "tanh",
    )
}
