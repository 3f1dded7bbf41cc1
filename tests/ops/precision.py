"""One table of functions with their exact values, for ``test_precision.py`` and ``scripts/precision.py``.

A line names a function, the points where it is evaluated (the whole range of the type, and close to zeros, poles and
limits of the domain), and its value and its derivatives in mpmath. Errors are counted in units in the last place (ulp)
of the exact result.

Near a zero that no double hits, a function is as good as its argument: where ``conditioned``, the unit is what one
ulp of the arguments changes, if that is more. ``floors`` are for what is right relative to a larger number only: the
unit is that of values and gradients of at least that size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpmath import mp, mpf

Points = Callable[[Any], np.ndarray]


@dataclass
class Case:
    """One function at its points.

    Attributes:
        name: where it is found in the package.
        points: for each tensor argument a function from the NumPy type to an array; rows of it where ``rows``.
        value: the exact value, of mpmath numbers (of a row: of a list of them, and it may return a list).
        slopes: the derivative by each argument, None where there is none.
        before, after, kwargs: the other arguments of the call.
        conditioned, floors: what an ulp is, see above.
        rows: the function takes rows of numbers, lists in mpmath.
        seed: "ones" or "first", the cotangent of a row.
        note: tells lines of the same function apart.
    """

    name: str
    points: tuple[Points, ...]
    value: Callable
    slopes: tuple[Callable | None, ...]
    before: tuple[Any, ...] = ()
    after: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    conditioned: bool = False
    rows: bool = False
    seed: str = "ones"
    floors: tuple[float, float] = (0, 0)
    note: str = ""

    def __str__(self) -> str:
        given = [str(a) for a in (*self.before, *self.after)] + [f"{k}={v}" for k, v in self.kwargs.items()]
        return self.name + (f"({', '.join(given)})" if given else "") + (f", {self.note}" if self.note else "")

    def arguments(self, dtype: Any) -> list[np.ndarray]:
        return [p(dtype) for p in self.points]

    def computed(self, root: Any, dtype: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """The values and gradients that a package computes."""
        xs = [root.tensor(a, requires_grad=s is not None) for a, s in zip(self.arguments(dtype), self.slopes)]
        function = functools.reduce(getattr, self.name.split("."), root)
        out = function(*self.before, *xs, *self.after, **self.kwargs)
        seed = root.ones_like(out)
        if self.seed == "first":
            seed[..., 1:] = 0
        taking = [x for x in xs if x.requires_grad]
        grads = root.autograd.grad(out, taking, seed) if taking and out.requires_grad else ()
        return out.detach().numpy(), [g.numpy() for g in grads]

    def exact(self, dtype: np.dtype) -> tuple[list[Any], list[list[Any]]]:
        """The same in mpmath: for each number the exact one and what counts as one ulp."""
        points = list(zip(*self.arguments(dtype)))
        value, *slopes = [
            [
                (v, max(step, unit(mpf(self.floors[f is not self.value]), dtype)))
                for point in points
                for v, step in self._exact(f, point, dtype)
            ]
            for f in (self.value, *self.slopes)
            if f is not None
        ]
        return value, slopes

    def errors(self, root: Any, dtype: np.dtype, exact: Any) -> tuple[float, float]:
        """The largest errors in ulp of a package's values and gradients."""
        value, grads = self.computed(root, dtype)
        return worst(value, exact[0], dtype), max(
            (worst(g, e, dtype) for g, e in zip(grads, exact[1])), default=math.nan
        )

    def _exact(self, f: Callable, point: tuple[Any, ...], dtype: np.dtype) -> list[tuple[Any, Any]]:
        if self.rows:
            results = exactly(f, point[0].tolist())
            return [(v, unit(v, dtype)) for v in (results if isinstance(results, list) else [results])]
        numbers = [float(v) for v in point]
        result = exactly(f, *numbers)
        step = unit(result, dtype)
        if self.conditioned:
            for i, v in enumerate(point):
                moved = [*numbers[:i], float(np.nextafter(v, dtype.type(np.inf))), *numbers[i + 1 :]]
                step = max(step, abs(exactly(f, *moved) - result))
        return [(result, step)]


def exactly(f: Callable, *arguments: Any) -> Any:
    """The value of ``f`` with more digits until they do not change any more (Ziv's strategy)."""
    last = None
    for precision in (100, 220, 500, 1200, 2600, 5600):
        with mp.workprec(precision):
            value = f(*[[mpf(v) for v in a] if isinstance(a, list) else mpf(a) for a in arguments])
            new = value if isinstance(value, list) else [value]
            if last is not None and all(_settled(a, b, precision) for a, b in zip(new, last)):
                return value
        last = new
    raise ArithmeticError(f"no exact value at {arguments}: {value}")


def _settled(new: Any, last: Any, precision: int) -> bool:
    """No digit that matters changed; a 0 is believed only in the end, what no type can hold earlier."""
    if new == 0:
        return last == 0 and precision > 5000
    return abs(new - last) <= abs(new) * mpf(2) ** -75 or abs(new) < mpf("1e-400") and 0 < abs(last) < mpf("1e-400")


def unit(exact: Any, dtype: np.dtype) -> Any:
    """The distance of neighbours of that type where the number lies."""
    info = np.finfo(dtype)
    exponent = int(mp.frexp(exact)[1]) if exact else info.minexp
    return mpf(2) ** (max(exponent - 1, info.minexp) - info.nmant)


def worst(got: np.ndarray, exact: list[Any], dtype: Any) -> float:
    """The largest error in ulp; infinite where a number is missing, or where there should be none.

    Where the normal numbers end (and a little before, after products with small numbers), results may be flushed to 0.
    """
    largest, least = mpf(float(np.finfo(dtype).max)), mpf(float(np.finfo(dtype).tiny)) * 1024
    errors = []
    for value, (right, step) in zip(got.reshape(-1), exact, strict=True):
        if abs(right) < least and abs(value) <= least:
            errors.append(0.0)
        elif abs(right) > largest:
            errors.append(
                0.0 if value == math.copysign(math.inf, right) or abs(abs(value) - largest) < 2 * step else math.inf
            )
        elif not math.isfinite(value):
            errors.append(0.0 if abs(right) >= largest - 2 * step and math.isinf(value) else math.inf)
        else:
            errors.append(float(abs(mpf(float(value)) - right) / step))
    return max(errors)


# --- points -----------------------------------------------------------------------------------------------------


def points(*pieces: Points, low: float = -math.inf, high: float = math.inf) -> Points:
    """The points of all pieces that lie strictly between ``low`` and ``high``."""

    def of(dtype: Any) -> np.ndarray:
        with np.errstate(over="ignore"):
            x = np.unique(np.concatenate([piece(dtype) for piece in pieces]).astype(dtype))
        return x[(x > low) & (x < high) & np.isfinite(x) & (x != 0)]

    return of


def magnitudes(low: float = 0, high: float = math.inf, n: int = 40) -> Points:
    """Of either sign, evenly spread on a logarithmic scale, by default over all normal numbers."""

    def of(dtype: Any) -> np.ndarray:
        info, rng = np.finfo(dtype), np.random.default_rng(1)
        size = 2.0 ** rng.uniform(math.log2(max(low, info.tiny)), math.log2(min(high, info.max)), n)
        return size * np.where(np.arange(n) % 2, 1.0, -1.0)

    return of


def between(low: float, high: float, n: int = 40) -> Points:
    return lambda dtype: np.random.default_rng(2).uniform(low, high, n)


def around(*centres: float) -> Points:
    """The neighbours of some numbers, and numbers further and further away."""

    def of(dtype: Any) -> np.ndarray:
        ulps = np.array([-7, -2, -1, 0, 1, 2, 7]) * np.finfo(dtype).eps
        apart = np.concatenate([ulps, *(s * 10.0 ** -np.arange(1, 8) for s in (1, -1))])
        return np.concatenate([np.asarray(c, dtype) + apart * (abs(c) or 1) for c in centres])

    return of


def paired(low: float, high: float, turn: int = 0, signed: bool = False, n: int = 60) -> Points:
    """One argument of several: log-uniform in its range; ``turn`` makes the arguments differ."""

    def of(dtype: Any) -> np.ndarray:
        rng = np.random.default_rng(3 + turn)
        x = np.exp(rng.uniform(math.log(low), math.log(high), n))
        return (x * rng.choice([-1.0, 1.0], n) if signed else x).astype(dtype)

    return of


def rows(scale: float, n: int = 12, length: int = 7, shift: float = 0.0, power: int = 0) -> Points:
    """Rows of numbers of one scale; of powers of ten, ``scale`` times ``10 ** +-power``, where that is given."""

    def of(dtype: Any) -> np.ndarray:
        rng = np.random.default_rng(4)
        factor = 10.0 ** np.linspace(-power, power, n)[:, None] if power else 1.0
        return ((rng.standard_normal((n, length)) * scale + shift) * factor).astype(dtype)

    return of


ALL = points(magnitudes(), between(-9, 9), around(0.0), between(-110, 110, 30), between(-800, 800, 30))
POSITIVE = points(magnitudes(n=80), between(0, 9), around(1.0), low=0)
UNIT = points(magnitudes(0, 0.5), between(0, 1), around(0.5, 1.0, 0.25), low=0, high=1)
MODERATE = points(magnitudes(1e-6, 30), between(-9, 9), around(0.0))

# --- the exact functions ----------------------------------------------------------------------------------------

exp, log, log1p, expm1, sqrt, sin, cos, pi = mp.exp, mp.log, mp.log1p, mp.expm1, mp.sqrt, mp.sin, mp.cos, mp.pi


def sigmoid(x: Any) -> Any:
    return 1 / (1 + exp(-x))


def density(x: Any) -> Any:
    return exp(-x * x / 2) / sqrt(2 * pi)


def normal(x: Any) -> Any:
    return erfc(-x / sqrt(2)) / 2


def quantile(p: Any) -> Any:
    """The inverse of ``normal``, by Newton's steps on the logarithm of the smaller tail."""
    return (
        _solve(lambda x: log(normal(x)) - log(p), lambda x: density(x) / normal(x), _start(p))
        if p <= 0.5
        else -quantile(1 - p)
    )


def _start(p: Any) -> Any:
    return -sqrt(-2 * log(p)) if p < 0.1 else (p - 0.5) * 2.5


def _solve(f: Callable, slope: Callable, x: Any) -> Any:
    for _ in range(200):
        step = f(x) / slope(x)
        x = x - step
        if abs(step) <= abs(x) * mpf(2) ** (-mp.prec * 0.6):
            return x - f(x) / slope(x)
    return x


def erfc(x: Any) -> Any:
    return erfcx(x) * exp(-x * x) if x > 1e4 else mp.erfc(x)


def erfcx(x: Any) -> Any:
    if x > 1e4:  # the asymptotic series, DLMF 7.12.1
        return mp.fsum(mp.fac2(2 * k - 1) * (-2 * x * x) ** -k for k in range(40)) / (x * sqrt(pi))
    return exp(x * x) * mp.erfc(x)


def erfinv(y: Any) -> Any:
    return (
        mp.sign(y) * -quantile((1 - abs(y)) / 2) / sqrt(2)
        if abs(y) > 0.5
        else _solve(lambda x: mp.erf(x) - y, lambda x: 2 / sqrt(pi) * exp(-x * x), y * sqrt(pi) / 2)
    )


def sinc(x: Any) -> Any:
    return mp.sinpi(x) / (pi * x)


def I(n: int, scaled: bool = False) -> Callable:  # noqa: E743
    return lambda x: mp.besseli(n, x) * (exp(-abs(x)) if scaled else 1)


def K(n: int, scaled: bool = False) -> Callable:
    return lambda x: mp.besselk(n, x) * (exp(x) if scaled else 1)


def J(n: int) -> Callable:
    return lambda x: mp.besselj(n, x)


def Y(n: int) -> Callable:
    return lambda x: mp.bessely(n, x)


def lse(x: Any) -> Any:
    return log(mp.fsum(exp(v) for v in x))


def softmax(x: Any) -> list[Any]:
    e = [exp(v) for v in x]
    return [v / mp.fsum(e) for v in e]


def running(x: Any) -> list[Any]:
    return [lse(x[: i + 1]) for i in range(len(x))]


def running_slope(x: Any) -> list[Any]:
    r = running(x)
    return [mp.fsum(exp(x[i] - r[j]) for j in range(i, len(x))) for i in range(len(x))]


def norm(p: float) -> Callable:
    return lambda x: mp.fsum(abs(v) ** p for v in x) ** (1 / mpf(p))


def norm_slope(p: float) -> Callable:
    return lambda x: [mp.sign(v) * (abs(v) / norm(p)(x)) ** (mpf(p) - 1) for v in x]


S, A = mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717")  # selu's constants
CASES: list[Case] = []


def case(name: str, at: Any, value: Callable, *slopes: Callable | None, **options: Any) -> None:
    """Add a line to the table."""
    CASES.append(Case(name, at if isinstance(at, tuple) else (at,), value, slopes, **options))


case("expm1", ALL, expm1, exp)
case("log1p", points(magnitudes(), between(-1, 9), around(-1.0, 0.0), low=-1), log1p, lambda x: 1 / (1 + x))
case("nn.functional.logsigmoid", ALL, lambda x: -log1p(exp(-x)), lambda x: sigmoid(-x))
case("sigmoid", ALL, sigmoid, lambda x: exp(-x) / (1 + exp(-x)) ** 2, floors=(0, 1))
case("tanh", ALL, mp.tanh, lambda x: mp.sech(x) ** 2, floors=(0, 1))
case("nn.functional.softplus", points(ALL, high=20), lambda x: log1p(exp(x)), sigmoid)
case(
    "nn.functional.silu", ALL, lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), conditioned=True
)
case(
    "nn.functional.mish",
    ALL,
    lambda x: x * mp.tanh(log1p(exp(x))),
    lambda x: mp.tanh(log1p(exp(x))) + x * mp.sech(log1p(exp(x))) ** 2 * sigmoid(x),
    conditioned=True,
)
case("nn.functional.gelu", ALL, lambda x: x * normal(x), lambda x: normal(x) + x * density(x), conditioned=True)
case("nn.functional.elu", ALL, lambda x: x if x > 0 else expm1(x), lambda x: 1 if x > 0 else exp(x))
case(
    "nn.functional.selu", ALL, lambda x: S * (x if x > 0 else A * expm1(x)), lambda x: S * (1 if x > 0 else A * exp(x))
)
case(
    "nn.functional.celu",
    ALL,
    lambda x: x if x > 0 else 3 * expm1(x / 3),
    lambda x: 1 if x > 0 else exp(x / 3),
    after=(3.0,),
)
case("nn.functional.tanhshrink", ALL, lambda x: x - mp.tanh(x), lambda x: mp.tanh(x) ** 2, floors=(1, 1))
case(
    "sinc",
    points(magnitudes(0, 1e4), between(-9, 9), around(1.0, -3.0, 0.5)),
    sinc,
    lambda x: (mp.cospi(x) - sinc(x)) / x,
    conditioned=True,
)
case("logit", UNIT, lambda x: log(x / (1 - x)), lambda x: 1 / (x * (1 - x)))
case("special.entr", POSITIVE, lambda x: -x * log(x), lambda x: -log(x) - 1, conditioned=True)
case(
    "xlogy",
    (paired(1e-30, 1e30, signed=True), paired(1e-30, 1e30, turn=1)),
    lambda x, y: x * log(y),
    lambda x, y: log(y),
    lambda x, y: x / y,
)
case(
    "special.xlog1py",
    (paired(1e-30, 1e30, signed=True), paired(1e-30, 1e6, turn=1)),
    lambda x, y: x * log1p(y),
    lambda x, y: log1p(y),
    lambda x, y: x / (1 + y),
)
case(
    "logaddexp",
    (paired(1e-20, 1e6, signed=True), paired(1e-3, 1e3, turn=1, signed=True)),
    lambda x, y: lse([x, y]),
    lambda x, y: sigmoid(x - y),
    lambda x, y: sigmoid(y - x),
    conditioned=True,
)
case(
    "hypot",
    (paired(1e-30, 1e30, signed=True), paired(1e-30, 1e30, turn=1)),
    mp.hypot,
    lambda x, y: x / mp.hypot(x, y),
    lambda x, y: y / mp.hypot(x, y),
)
case(
    "atan2",
    (paired(1e-30, 1e30, signed=True), paired(1e-30, 1e30, turn=1, signed=True)),
    mp.atan2,
    lambda x, y: y / (x * x + y * y),
    lambda x, y: -x / (x * x + y * y),
)

case("erf", ALL, mp.erf, lambda x: 2 / sqrt(pi) * exp(-x * x))
case("erfc", ALL, erfc, lambda x: -2 / sqrt(pi) * exp(-x * x))
case("special.erfcx", points(ALL, low=-30), erfcx, lambda x: 2 * x * erfcx(x) - 2 / sqrt(pi))
case(
    "erfinv",
    points(magnitudes(0, 0.5), between(-1, 1), around(1.0, -1.0, 0.5), low=-1, high=1),
    erfinv,
    lambda y: sqrt(pi) / 2 * exp(erfinv(y) ** 2),
)
case("special.ndtr", ALL, normal, density)
case(
    "special.log_ndtr", ALL, lambda x: log1p(-normal(-x)) if x > 0 else log(normal(x)), lambda x: density(x) / normal(x)
)
case("special.ndtri", UNIT, quantile, lambda p: 1 / density(quantile(p)), conditioned=True)

LEFT = points(between(-20, 0), between(-2.9, -2.1, 20), between(-0.9, -0.1, 20))
case("lgamma", POSITIVE, lambda x: mp.loggamma(x), mp.digamma, conditioned=True)
case("lgamma", LEFT, lambda x: log(abs(mp.gamma(x))), mp.digamma, conditioned=True, note="below 0")
case("digamma", POSITIVE, mp.digamma, lambda x: mp.psi(1, x), conditioned=True)
case("digamma", LEFT, mp.digamma, lambda x: mp.psi(1, x), conditioned=True, note="below 0")
for n in (1, 2, 5):
    case(
        "polygamma",
        points(magnitudes(1e-4, 1e6), between(0, 9), low=0),
        lambda x, n=n: mp.psi(n, x),
        lambda x, n=n: mp.psi(n + 1, x),
        before=(n,),
    )
case(
    "special.zeta",
    (paired(1.1, 40, n=25), paired(1e-2, 1e3, turn=1, n=25)),
    lambda s, q: mp.zeta(s, q),
    None,
    lambda s, q: -s * mp.zeta(s + 1, q),
    conditioned=True,
)
SHAPES = (paired(1e-2, 300), paired(1e-2, 300, turn=1))
case(
    "igamma",
    SHAPES,
    lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    None,
    lambda a, x: exp((a - 1) * log(x) - x - mp.loggamma(a)),
    conditioned=True,
)
case(
    "igammac",
    SHAPES,
    lambda a, x: mp.gammainc(a, x, regularized=True),
    None,
    lambda a, x: -exp((a - 1) * log(x) - x - mp.loggamma(a)),
    conditioned=True,
)

WAVES = points(magnitudes(1e-6, 1e3, 20), between(0, 30, 20), around(2.404825557695773), low=0)
TAILS = points(magnitudes(1e-6, 1e4), between(0, 80, 30), low=0)
FEW = points(magnitudes(1e-3, 1e4, 8), between(0, 80, 3), low=0)  # mpmath takes its time for these
case("i0", MODERATE, I(0), I(1))
case("special.i1", MODERATE, I(1), lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2)
case("special.i0e", TAILS, I(0, True), lambda x: I(1, True)(x) - I(0, True)(x))
case("special.i1e", TAILS, I(1, True), lambda x: (I(0, True)(x) + I(2, True)(x)) / 2 - I(1, True)(x), conditioned=True)
case("special.bessel_j0", WAVES, J(0), lambda x: -mp.besselj(1, x), conditioned=True)
case("special.bessel_j1", WAVES, J(1), lambda x: (mp.besselj(0, x) - mp.besselj(2, x)) / 2, conditioned=True)
case("special.bessel_y0", WAVES, Y(0), lambda x: -mp.bessely(1, x), conditioned=True)
case("special.bessel_y1", WAVES, Y(1), lambda x: (mp.bessely(0, x) - mp.bessely(2, x)) / 2, conditioned=True)
case("special.modified_bessel_k0", points(FEW, high=80), K(0), lambda x: -mp.besselk(1, x))
case("special.modified_bessel_k1", points(FEW, high=80), K(1), lambda x: -(mp.besselk(0, x) + mp.besselk(2, x)) / 2)
case("special.scaled_modified_bessel_k0", FEW, K(0, True), lambda x: K(0, True)(x) - K(1, True)(x))
case(
    "special.scaled_modified_bessel_k1", FEW, K(1, True), lambda x: K(1, True)(x) - (K(0, True)(x) + K(2, True)(x)) / 2
)
case(
    "special.spherical_bessel_j0",
    points(magnitudes(0, 1e4), between(-9, 9), around(3.141592653589793)),
    lambda x: sin(x) / x,
    lambda x: (cos(x) - sin(x) / x) / x,
    conditioned=True,
)
case(
    "special.airy_ai",
    points(magnitudes(1e-6, 90), between(-15, 15)),
    mp.airyai,
    lambda x: mp.airyai(x, derivative=1),
    conditioned=True,
)

for note, at in {"": rows(3.0), "far apart": rows(30.0), "around 10000": rows(1.0, shift=1e4)}.items():
    case("logsumexp", at, lse, softmax, after=(-1,), rows=True, note=note)
    case(
        "log_softmax",
        at,
        lambda x: [v - lse(x) for v in x],
        lambda x: [(i == 0) - v for i, v in enumerate(softmax(x))],
        after=(-1,),
        rows=True,
        seed="first",
        floors=(1, 0),
        note=note,
    )
    case(
        "softmax",
        at,
        softmax,
        lambda x: [softmax(x)[0] * ((i == 0) - v) for i, v in enumerate(softmax(x))],
        after=(-1,),
        rows=True,
        seed="first",
        note=note,
    )
    case("logcumsumexp", at, running, running_slope, after=(-1,), rows=True, note=note)
for p in (1, 2, 3, 0.5):
    case("linalg.vector_norm", rows(1.0), norm(p), norm_slope(p), after=(p, -1), rows=True)
    case(
        "linalg.vector_norm",
        rows(1.0, power=30),
        norm(p),
        norm_slope(p),
        after=(p, -1),
        rows=True,
        note="tiny and huge",
    )
