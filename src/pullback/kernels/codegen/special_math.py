"""Vectorized functions that are made of those in :mod:`pullback.kernels.codegen.vector_math`: inverse circular and
hyperbolic functions, remainders, ``hypot``, ``lgamma``, ``digamma``.

Most are written for float64; float32 numbers are computed as such and rounded once. Polynomials as there; those of
float32 have fewer terms. Parts that few numbers need are skipped where no lane of a vector does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from .llvm_ir import F64, Value
from .vector_math import HALF_PI, Math

ATAN = {  # (atan(t) / t - 1) / z in z = t**2 up to tan(pi / 8)**2
    "float": [
        -0.04041314026470638,
        0.07134420201218257,
        -0.09028824015576213,
        0.11107482298859685,
        -0.14285612049555613,
        0.19999998911296413,
        -0.33333333331428355,
    ],
    "double": [
        0.01627194475162406,
        -0.034558092551413795,
        0.04551108126325172,
        -0.052303478730160745,
        0.058789145444006215,
        -0.06666423628069258,
        0.0769229630497447,
        -0.09090908751076636,
        0.11111111105106705,
        -0.14285714285659326,
        0.199999999999998,
        -0.3333333333333333,
    ],
}
ASIN = {  # (asin(s) / s - 1) / z in z = s**2 up to 1/4
    "float": [
        0.03370072632136513,
        0.017143716819253568,
        0.031101727829067168,
        0.04459931916287114,
        0.07500094761172901,
        0.1666666633654049,
    ],
    "double": [
        0.029635026263548546,
        -0.019277545928584553,
        0.019579201619744684,
        0.0030350071727267636,
        0.009322101501082774,
        0.009621402747344831,
        0.011566511821890942,
        0.013963775787848137,
        0.017352816768546473,
        0.022372157435623815,
        0.030381944475693704,
        0.04464285714255019,
        0.07500000000000119,
        0.16666666666666666,
    ],
}
LGAMMA = {  # lgamma(x) / ((x - 1) (x - 2)) in x - 2 for x in [1, 3]
    "float": [
        -9.05981298473926e-06,
        1.9230823684436325e-05,
        -9.279912816033739e-06,
        2.0481894971659786e-05,
        -8.925200875215261e-05,
        0.00019553960620774955,
        -0.00040346119798873476,
        0.0009106399604133094,
        -0.0021085141886259956,
        0.004999449511718471,
        -0.012384167946309749,
        0.032964949496677484,
        -0.10031730192234674,
        0.42278433562134904,
    ],
    "double": [
        5.527466551784413e-09,
        -1.1433831967366914e-08,
        -1.0866750596007891e-08,
        2.2355852077263776e-08,
        4.897779903434497e-08,
        -1.0169178988625912e-07,
        6.03317040231151e-08,
        -1.2788498393459797e-07,
        4.2577294685538917e-07,
        -8.984970852662293e-07,
        1.7975946402038567e-06,
        -3.82562272240814e-06,
        8.22552333135564e-06,
        -1.7668560721704915e-05,
        3.8168202997184374e-05,
        -8.309370913344817e-05,
        0.00018255272598589477,
        -0.00040570757694439883,
        0.0009153769161134245,
        -0.0021081308212841077,
        0.004998641164897691,
        -0.012384192193784914,
        0.03296500062115389,
        -0.10031730167434993,
        0.42278433509846713,
    ],
}
DIGAMMA = {  # digamma(x) / (x - its zero) in x - 2 for x in [1, 3]
    "float": [
        -0.0001103630398082116,
        0.00022085640171103774,
        -5.5836114371701636e-05,
        0.00011241022437264814,
        -0.0007581970006902706,
        0.0015239547164488181,
        -0.0027092057253215777,
        0.00549150368908229,
        -0.011343627929209373,
        0.023457703075172316,
        -0.049550703908604145,
        0.10899925882814265,
        -0.2607389580488206,
        0.7853075453374941,
    ],
    "double": [
        3.314282640331311e-08,
        -6.628576945646784e-08,
        -9.114218931025487e-08,
        1.82284115810587e-07,
        3.065747919371196e-07,
        -6.131543145573737e-07,
        4.71632089627051e-08,
        -9.436490301254505e-08,
        1.5346253972673615e-06,
        -3.069602839200489e-06,
        5.0942258964818095e-06,
        -1.019163182675268e-05,
        2.095736778719346e-05,
        -4.1943608703107384e-05,
        8.376272622798286e-05,
        -0.00016778947921561112,
        0.00033643527734879996,
        -0.0006753178241300981,
        0.0013581418785142765,
        -0.002739572404586095,
        0.005552254190474604,
        -0.011338432582174611,
        0.023447309597161823,
        -0.049551032916866695,
        0.10899991701763173,
        -0.26073895468300806,
        0.7853075386041053,
    ],
}
STIRLING = {  # (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) x in 1 / x**2 for x >= 10
    "float": [
        0.000784774548546399,
        -0.0027777443098741667,
        0.08333333331456882,
    ],
    "double": [
        -0.0017388263955690534,
        0.0008397750511709818,
        -0.0005952278790066844,
        0.0007936507696272049,
        -0.0027777777777570466,
        0.08333333333333333,
    ],
}
DIGAMMA_FAR = {  # (log(x) - 1 / (2 x) - digamma(x)) x**2 in 1 / x**2 for x >= 10
    "float": [
        0.003906397104811607,
        -0.008333100398766172,
        0.0833333332027625,
    ],
    "double": [
        0.06968679388048682,
        -0.020911847042885155,
        0.007574538674564898,
        -0.004166662409720881,
        0.003968253961137044,
        -0.008333333333328856,
        0.08333333333333333,
    ],
}
DIGAMMA_ZERO = (1.4616321449683622, 9.549995429965697e-17)
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
PI = (math.pi, 1.2246467991473532e-16)  # in two parts


def in_double(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function of float64 numbers for both types. It is told which one the polynomials are for."""

    @wraps(function)
    def call(m: Math, *values: Value) -> Value:
        type = values[0].type
        if type.name == "double":
            return function(m, "double", *values)
        wide = [m.f.convert("fpext", v, F64.of(type.lanes)) for v in values]
        return m.f.convert("fptrunc", function(m, "float", *wide), type)

    return call


def where_any(m: Math, mask: Value, compute: Callable[[], Value], otherwise: Value) -> Value:
    """``compute()`` in the lanes of a mask; skipped where there are none."""
    f = m.f
    place = f.variable(otherwise)
    with f.if_then(f.intrinsic("vector.reduce.or", mask, type=mask.type.scalar)):
        place.set(f.select(mask, compute(), otherwise))
    return place.get()


def number(x: float, like: Value) -> Value:
    return like.f.constant(x, like.type)


def _is_negative(m: Math, x: Value) -> Value:
    """Whether the sign bit is set."""
    return m.bits(x) < 0


# --- inverse circular functions ---------------------------------------------------------------------------------


def _atan_of_ratio(m: Math, precision: str, low: Value, high: Value) -> tuple[Value, Value]:
    """The angle in [0, pi / 4] whose tangent is low / high, for 0 <= low <= high, as a constant and the rest."""
    f = m.f
    far = low > high * math.tan(math.pi / 8)
    t = f.select(far, low - high, low) / f.select(far, low + high, high)
    z = t * t
    rest = f.fma(t * z, m.polynomial(z, ATAN[precision]), t)
    return f.select(far, number(math.pi / 4, t), 0.0), rest + f.select(far, number(PI[1] / 4, t), 0.0)


@in_double
def atan(m: Math, precision: str, x: Value) -> Value:
    f, size, one = m.f, m.abs(x), number(1.0, x)
    outside = size > 1.0
    constant, rest = _atan_of_ratio(m, precision, f.select(outside, one / size, size), one)
    angle = f.select(outside, (PI[0] / 2 - constant) - (rest - PI[1] / 2), constant + rest)
    return m.copysign(angle, x)


@in_double
def atan2(m: Math, precision: str, y: Value, x: Value) -> Value:
    f, a, b = m.f, m.abs(y), m.abs(x)
    steep = a > b
    high, low = f.select(steep, a, b), f.select(steep, b, a)
    infinite, nothing = low.equals(math.inf), high.equals(0.0)
    low, high = f.select(infinite, number(1.0, x), low), f.select(infinite | nothing, number(1.0, x), high)
    constant, rest = _atan_of_ratio(m, precision, low, high)
    constant, rest = (
        f.select(steep, PI[0] / 2 - constant, constant),
        f.select(steep, PI[1] / 2 - rest, rest),
    )
    left = _is_negative(m, x)
    angle = f.select(left, PI[0] - constant, constant) + f.select(left, PI[1] - rest, rest)
    return f.select(f.compare("uno", x, y), x + y, m.copysign(angle, y))


def _asin_parts(m: Math, x: Value) -> tuple[Value, Value]:
    """The arc sine r of ``abs(x)``, or, where that is above 1/2, of what has ``pi / 2 - 2 r`` as its own."""
    f, size = m.f, m.abs(x)
    far = size > 0.5
    z = f.select(far, (1.0 - size) * 0.5, size * size)
    s = f.select(far, m.sqrt(z), size)
    return far, f.fma(s * z, m.polynomial(z, ASIN[x.type.name]), s)


def asin(m: Math, x: Value) -> Value:
    far, r = _asin_parts(m, x)
    high, low = HALF_PI[x.type.name][:2]
    return m.copysign(m.f.select(far, high - (r + r - low), r), x)


def acos(m: Math, x: Value) -> Value:
    f = m.f
    far, r = _asin_parts(m, x)
    high, low = HALF_PI[x.type.name][:2]
    twice = r + r
    return f.select(
        far,
        f.select(x < 0.0, 2 * high - (twice - 2 * low), twice),
        high - (m.copysign(r, x) - low),
    )


@in_double
def tan(m: Math, precision: str, x: Value) -> Value:
    f = m.f
    sine, cosine, quarter = m.sine_and_cosine(x)
    odd = (quarter & 1).differs(0)
    result = f.select(odd, -cosine, sine) / f.select(odd, sine, cosine)
    return m.lanes_beyond(x, f.select(x.equals(0.0), x, result), 2.0**30, "tan")


# --- hyperbolic functions and their inverses --------------------------------------------------------------------


@in_double
def sinh(m: Math, precision: str, x: Value) -> Value:
    f, size = m.f, m.abs(x)
    e = m.expm1(f.select(size > 40.0, number(40.0, x), size))
    near = (e + e / (e + 1.0)) * 0.5
    return m.copysign(where_any(m, size > 40.0, lambda: _half_exp(m, size), near), x)


@in_double
def cosh(m: Math, precision: str, x: Value) -> Value:
    e = _half_exp(m, m.abs(x))
    return e + 0.25 / e


def _half_exp(m: Math, x: Value) -> Value:
    """``exp(x) / 2``, for x up to where that overflows."""
    far = x > 700.0
    e = m.exp(m.f.select(far, x - 2.0, x)) * 0.5
    return m.f.select(far, e * math.exp(2.0), e)


@in_double
def asinh(m: Math, precision: str, x: Value) -> Value:
    size = m.abs(x)
    near = m.log1p(size + size * size / (m.sqrt(m.f.fma(size, size, 1.0)) + 1.0))
    return m.copysign(where_any(m, size > 2.0**28, lambda: m.log(size) + math.log(2), near), x)


@in_double
def acosh(m: Math, precision: str, x: Value) -> Value:
    above = x - 1.0
    near = m.log1p(above + m.sqrt(m.f.fma(above, above, above + above)))
    result = where_any(m, x > 2.0**28, lambda: m.log(x) + math.log(2), near)
    return m.f.select(x < 1.0, number(math.nan, x), result)


@in_double
def atanh(m: Math, precision: str, x: Value) -> Value:
    size = m.abs(x)
    return m.copysign(m.log1p((size + size) / (1.0 - size)) * 0.5, x)


def hypot(m: Math, x: Value, y: Value) -> Value:
    f, type = m.f, x.type
    infinite = m.abs(x).equals(math.inf) | m.abs(y).equals(math.inf)
    if type.name == "float":
        a, b = (f.convert("fpext", v, F64.of(type.lanes)) for v in (x, y))
        result = f.convert("fptrunc", m.sqrt(f.fma(a, a, b * b)), type)
    else:
        top = f.larger(m.abs(x), m.abs(y))
        one = number(1.0, x)
        scale = f.select(top > 2.0**500, number(2.0**-600, x), f.select(top < 2.0**-500, number(2.0**600, x), one))
        a, b = x * scale, y * scale
        result = m.sqrt(f.fma(a, a, b * b)) / scale
    return f.select(infinite, number(math.inf, x), result)


@in_double
def entr(m: Math, precision: str, x: Value) -> Value:
    """``-x log(x)``, which is 0 at 0."""
    f, zero = m.f, x.equals(0.0)
    value = -(x * m.log(f.select(zero, number(1.0, x), x)))
    value = f.select(zero, number(0.0, x), value)
    value = f.select(x.equals(math.inf), -x, value)
    return f.select(x < 0.0, number(-math.inf, x), value)


# --- remainders -------------------------------------------------------------------------------------------------


def fmod(m: Math, x: Value, y: Value) -> Value:
    """The exact remainder, with the sign of x: where the quotient is a number of the type, by a multiplication that is
    not rounded; else lane by lane in the C library."""
    f, type = m.f, x.type
    size, by = m.abs(x), m.abs(y)
    ratio = size / by
    part = f.fma(-f.intrinsic("trunc", ratio), by, size)  # the quotient may be one too large, by rounding
    part = f.select(part < 0.0, part + by, part)
    result = f.variable(m.copysign(f.select(by.equals(math.inf) & (size < math.inf), size, part), x))
    large = (ratio >= (2.0**22 if type.name == "float" else 2.0**51)) & (size < math.inf) & (by > 0.0)
    with f.if_then(f.intrinsic("vector.reduce.or", large, type=large.type.scalar)):
        exact = None
        for i in range(type.lanes):
            exact = f.with_lane(exact, i, f.binary("frem", f.lane(x, i), f.lane(y, i)), type.lanes)
        assert exact is not None
        result.set(f.select(large, exact, result.get()))
    return result.get()


def remainder(m: Math, x: Value, y: Value) -> Value:
    f, part = m.f, fmod(m, x, y)
    other_side = part.differs(0.0) & ((part < 0.0) ^ (y < 0.0))
    return f.select(part.equals(0.0), m.copysign(part, y), f.select(other_side, part + y, part))


def floor_divide(m: Math, x: Value, y: Value) -> Value:
    f, part = m.f, fmod(m, x, y)
    quotient = (x - part) / y
    other_side = part.differs(0.0) & ((part < 0.0) ^ (y < 0.0))
    quotient = f.select(other_side, quotient - 1.0, quotient)
    whole = f.intrinsic("floor", quotient)
    whole = f.select((quotient - whole) > 0.5, whole + 1.0, whole)
    ratio = x / y
    whole = f.select(quotient.equals(0.0), m.copysign(number(0.0, x), ratio), whole)
    return f.select(y.equals(0.0), ratio, whole)


# --- gamma functions --------------------------------------------------------------------------------------------


def _steps_down(m: Math, x: Value) -> tuple[Value, list[tuple[Value, Value]]]:
    """x in [3, 10) less an integer, in [2, 3), and the numbers passed on the way, each with where it was passed."""
    f, steps = m.f, []
    for k in range(1, 8):
        passed = x >= float(k + 2)
        steps.append((x - float(k), passed))
    floor = f.intrinsic("floor", x) - 2.0
    return x - floor, steps


def _shifted_sine(m: Math, x: Value) -> tuple[Value, Value]:
    """Sine and cosine of pi x, but for the sign that they share."""
    r = (x - m.rint(x)) * math.pi
    return m.sin(r), m.cos(r)


@in_double
def lgamma(m: Math, precision: str, x: Value) -> Value:
    f = m.f
    negative = x < 0.0
    size = f.select(negative, 1.0 - x, x)

    def small(x: Value) -> Value:
        """For x in [1, 3]."""
        return m.polynomial(x - 2.0, LGAMMA[precision]) * ((x - 1.0) * (x - 2.0)) + 0.0  # not -0 at 1

    def middle() -> Value:
        held = f.smaller(f.larger(size, 3.0), 10.0)
        low, steps = _steps_down(m, held)
        product = number(1.0, x)
        for value, passed in steps:
            product = product * f.select(passed, value, 1.0)
        return small(low) + m.log(product)

    def large() -> Value:
        q = 1 / size
        log = m.log(size)
        whole = f.fma(size - 0.5, log - 1.0, HALF_LOG_2PI - 0.5) + q * m.polynomial(q * q, STIRLING[precision])
        return f.select(size > 1e17, size * (log - 1.0), whole)

    def below() -> Value:
        """By the value at x + 1, whose rounding must not count where it is close to 0."""
        held = f.smaller(size, 1.0)
        return m.polynomial(held - 1.0, LGAMMA[precision]) * (held * (held - 1.0)) - m.log(size)

    result = small(f.smaller(f.larger(size, 1.0), 3.0))
    result = where_any(m, size < 1.0, below, result)
    result = where_any(m, (size > 3.0) & (size < 10.0), middle, result)
    result = where_any(m, size >= 10.0, large, result)

    def reflected() -> Value:
        sine, _ = _shifted_sine(m, x)
        return f.select(sine.equals(0.0), number(math.inf, x), m.log(math.pi / m.abs(sine)) - result)

    result = where_any(m, negative, reflected, result)
    result = f.select(m.abs(x).equals(math.inf), m.abs(x), result)
    return f.select(f.compare("uno", x, x), x, result)


@in_double
def digamma(m: Math, precision: str, x: Value) -> Value:
    f = m.f
    negative = x < 0.0
    size = f.select(negative, 1.0 - x, x)

    def small(x: Value) -> Value:
        """For x in [1, 3]."""
        high, low = DIGAMMA_ZERO
        return m.polynomial(x - 2.0, DIGAMMA[precision]) * ((x - high) - low)

    def middle() -> Value:
        held = f.smaller(f.larger(size, 3.0), 10.0)
        low, steps = _steps_down(m, held)
        total = small(low)
        for value, passed in steps:
            total = total + f.select(passed, 1 / value, 0.0)
        return total

    def large() -> Value:
        q = 1 / size
        return m.log(size) - f.fma(q * q, m.polynomial(q * q, DIGAMMA_FAR[precision]), q * 0.5)

    below = size < 1.0
    held = f.smaller(f.larger(f.select(below, size + 1.0, size), 1.0), 3.0)
    result = small(held)
    result = f.select(below, result - 1 / size, result)
    result = where_any(m, (size > 3.0) & (size < 10.0), middle, result)
    result = where_any(m, size >= 10.0, large, result)

    def reflected() -> Value:
        sine, cosine = _shifted_sine(m, x)
        return f.select(sine.equals(0.0), number(math.nan, x), result - cosine / sine * math.pi)

    result = where_any(m, negative, reflected, result)
    result = f.select(x.equals(0.0), m.copysign(number(math.inf, x), -x), result)
    result = f.select(x.equals(math.inf), x, result)
    return f.select(x.equals(-math.inf) | f.compare("uno", x, x), number(math.nan, x), result)


OF_ONE = (acos, acosh, asin, asinh, atan, atanh, cosh, digamma, entr, lgamma, sinh, tan)
OF_TWO = (atan2, floor_divide, fmod, hypot, remainder)
