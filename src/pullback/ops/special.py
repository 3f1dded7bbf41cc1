"""``erf``, ``erfinv``, ``logit``, ``xlogy``, ``lgamma``, ``digamma``, ``polygamma``, ``igamma``, ``zeta``, ``sinc``.

Values come from ``scipy.special``, which is imported when the first of them is needed. ``__all__`` lists the functions
that PyTorch has in ``torch``, ``__all_special__`` those in ``torch.special``. Derivatives are those of the *Digital
Library of Mathematical Functions* (DLMF, https://dlmf.nist.gov), to any order: where the textbook formula has a
removable singularity (``sinc`` and the Bessel functions at 0), the derivative is a function of its own instead.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import FLOATING
from ..core import inplace, op, record
from ..core.tensor import Tensor
from ..kernels import dispatch
from .compare import not_implemented, refusing
from .lookup_tables import LookupTable
from .pointwise import exp, exp2, expm1, log, log1p, round, sigmoid, sign  # noqa: F401
from .where import clamp, fast_where, where

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "igamma",
    "igammac",
    "lgamma",
    "logit",
    "mvlgamma",
    "polygamma",
    "sinc",
    "xlogy",
]
__all_special__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "log1p",
    "log_ndtr",
    "logit",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

SQRT_HALF, SQRT_PI, SQRT_2PI = math.sqrt(0.5), math.sqrt(math.pi), math.sqrt(2 * math.pi)


def from_scipy(name: str, kernel: str = "") -> Callable:
    """The function of that name from ``scipy.special``, found on first use. 16-bit floats give float32.

    Types that it does not take are refused in PyTorch's words, with the name of PyTorch's ``kernel``.
    """
    found: Any = None

    def call(x: Any, *others: Any) -> Any:
        nonlocal found
        if found is None:
            from scipy import special

            found = getattr(special, name)
        array = next(v for v in (x, *others) if isinstance(v, (np.ndarray, np.generic)))
        if isinstance(x, float):  # a float among them would promote float32 to float64; an integer may be an order
            x = np.asarray(x, array.dtype)
        others = tuple([y if isinstance(y, (np.ndarray, np.generic)) else np.asarray(y, array.dtype) for y in others])
        if array.dtype.kind == "c":  # which SciPy takes in some functions
            raise not_implemented(kernel or name + "_cpu", array)
        try:
            return found(x, *others)
        except TypeError:
            if array.dtype.kind == "V":
                return found(*(np.asarray(v, np.float32) for v in (x, *others)))
            raise not_implemented(kernel or name + "_cpu", array) from None

    return call


def _as_floating(input: Any) -> Any:
    """Integers as the default float type."""
    if isinstance(input, Tensor) and input.dtype.category < FLOATING:
        return record.wrap(input._array.astype(dtypes.get_default_dtype().numpy))
    return input


# --- the error function -------------------------------------------------------------------------------------


def _erfc_of(x: Any) -> Any:
    result = _erfc(x)
    if x.dtype == np.float64 and x.ndim and (far := np.greater(x, 2)).any():
        x = np.minimum(x[far], 40)  # the value is 0 there
        head = x.astype(np.float32).astype(np.float64)  # its square, and so the exponential's argument, is exact
        result[far] = np.exp(-head * head) * np.exp((head - x) * (head + x)) * _erfcx(x)
    return result


_erf, _erfc, _erfcx, _ndtr = (
    from_scipy("erf", "erf_vml_cpu"),
    from_scipy("erfc", "erfc_vml_cpu"),
    from_scipy("erfcx"),
    from_scipy("ndtr", "erf_vml_cpu"),
)


@op.elementwise(
    numpy_impl=LookupTable(_erf, -4, 4, 2048, constant=True, degree=1),
    result_category=FLOATING,
    inplace=True,
    scalar="erf",
)
def erf(input: Tensor) -> Tensor:
    """Error function ``2/sqrt(pi) * integral of exp(-t*t) from 0 to input`` (DLMF 7.2.1).

    >>> import pullback as torch
    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """


@op.elementwise(
    numpy_impl=LookupTable(_erfc_of, -4, 10.25, constant=True), result_category=FLOATING, inplace=True, scalar="erfc"
)
def erfc(input: Tensor) -> Tensor:
    """``1 - erf(input)``, accurate for large input.

    >>> import pullback as torch
    >>> torch.erfc(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """


@op.elementwise(numpy_impl=_erfcx, result_category=FLOATING, method=False, node="SpecialErfcxBackward0")
def erfcx(input: Tensor) -> Tensor:
    """``exp(input ** 2) * erfc(input)``, without overflow for large input.

    Derivative: ``2 * input * out - 2/sqrt(pi)``; from 4 on, where that cancels, ``-2 * out`` times the tail of
    the continued fraction ``out = 1/sqrt(pi) / (input + tail)``, ``tail = 1/2 / (input + 1 / (input + 3/2 / ...))``
    (DLMF 7.9.1).

    >>> import pullback as torch
    >>> torch.special.erfcx(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.4276])
    """


@op.elementwise(
    numpy_impl=LookupTable(from_scipy("erfinv", "erfinv_vml_cpu"), -63 / 64, 63 / 64, 2048),
    result_category=FLOATING,
    inplace=True,
    scalar="erfinv",
)
def erfinv(input: Tensor) -> Tensor:
    """Inverse of :func:`erf`; NaN outside ``[-1, 1]``. Derivative: ``sqrt(pi)/2 * exp(out ** 2)``.

    >>> import pullback as torch
    >>> torch.erfinv(torch.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.4769,    inf])
    """


def _erfcx_vjp(g: Any, input: Any, out: Any) -> Any:
    far = input >= 4
    if far.__class__ is np.ndarray and not far.any():  # the continued fraction is most of the work
        return g * (input * out * 2 - 2 / SQRT_PI)
    x = where(far, input, 4)
    tail = 0 * x
    for k in range(24, 0, -1):
        tail = k / 2 / (x + tail)
    return g * where(far, out * tail * -2, where(far, 0, input) * out * 2 - 2 / SQRT_PI)


erf.vjp(input=lambda g, input: g * (exp(-(input * input)) * (2 / SQRT_PI)))
erfc.vjp(input=lambda g, input: g * (exp(-(input * input)) * (-2 / SQRT_PI)))
erfcx.vjp(input=_erfcx_vjp)
erfinv.vjp(input=lambda g, out: g * (exp(out * out) * (SQRT_PI / 2)))


@op.elementwise(
    numpy_impl=LookupTable(_ndtr, -14.5, 6, constant=True),
    result_category=FLOATING,
    method=False,
    node="SpecialNdtrBackward0",
    scalar="ndtr",
)
def ndtr(input: Tensor) -> Tensor:
    """Probability that a standard normal number is below ``input``.

    Derivative: the density ``exp(-input ** 2 / 2) / sqrt(2 * pi)``.

    >>> import pullback as torch
    >>> torch.special.ndtr(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """


@op.elementwise(
    numpy_impl=from_scipy("ndtri"),
    result_category=FLOATING,
    method=False,
    node="SpecialNdtriBackward0",
    scalar="ndtri",
)
def ndtri(input: Tensor) -> Tensor:
    """Inverse of :func:`ndtr`; NaN outside ``[0, 1]``. Derivative: ``sqrt(2*pi) * exp(out ** 2 / 2)``.

    >>> import pullback as torch
    >>> torch.special.ndtri(torch.tensor([0.5, 0.8413]))
    tensor([0.0000, 0.9998])
    """


@op.elementwise(
    numpy_impl=from_scipy("log_ndtr"), result_category=FLOATING, method=False, node="SpecialLogNdtrBackward0"
)
def log_ndtr(input: Tensor) -> Tensor:
    """Logarithm of :func:`ndtr`, accurate far below 0. Derivative: density over probability.

    >>> import pullback as torch
    >>> torch.special.log_ndtr(torch.tensor([0.0, -10.0]))
    tensor([ -0.6931, -53.2313])
    """


def _log_ndtr_vjp(g: Any, input: Any, out: Any) -> Any:
    # Below 0 the exponentials cancel in terms of erfcx; above 0 erfcx would overflow.
    below = input < 0
    tail = (2 / SQRT_2PI) / erfcx(where(below, input, 0) * -SQRT_HALF)
    x = where(below, 0, input)
    body = exp(x * x * -0.5 - where(below, 0, out)) / SQRT_2PI
    return g * where(below, tail, body)


ndtr.vjp(input=lambda g, input: g * (exp(input * input * -0.5) / SQRT_2PI))
ndtri.vjp(input=lambda g, out: g * (exp(out * out * 0.5) * SQRT_2PI))
log_ndtr.vjp(input=_log_ndtr_vjp)


# --- products with logarithms -------------------------------------------------------------------------------


@op.elementwise(name="logit", result_category=FLOATING, method=False, at_any_size=True)
def elementwise_logit(input: Tensor) -> Tensor:
    if input.dtype.kind == "c":
        raise not_implemented("logit_cpu", input)
    rest = 1 - input
    ratio = input / rest
    rounded = ratio - 1
    rounded *= rest
    factor = input * 2
    factor -= 1
    factor /= rounded  # (exact ratio - 1) / (rounded ratio - 1)
    return np.log(ratio) * np.fmin(factor, 4)  # not NaN at 1/2 and 1


def _logit_vjp(g: Any, input: Any) -> Any:
    variance = input * (1 - input)
    return where(variance >= 0, g / variance, float("nan"))


elementwise_logit.vjp(input=_logit_vjp)


@op.composite
def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of :func:`sigmoid`; NaN outside ``[0, 1]``.

    Args:
        eps: first clamp the input to ``[eps, 1 - eps]``.

    Derivative: ``1 / (input * (1 - input))``, 0 where clamped.

    >>> import pullback as torch
    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    return elementwise_logit(input if eps is None else clamp(input, eps, 1 - eps), out=out)


def _times_log(name: str, x: Any, y: Any, logarithm: Callable) -> Any:
    """``x * logarithm(y)``, and 0 where x is 0 and y is not NaN."""
    if np.iscomplexobj(x):
        raise not_implemented(f"{name}_cpu", x)
    y = np.asarray(y, x.dtype)
    if x.__class__ is np.ndarray and np.count_nonzero(x) == x.size:  # the common case, half the work
        return x * logarithm(y)
    return fast_where(np.equal(x, 0) & ~np.isnan(y), 0, x * logarithm(y))


@op.elementwise(result_category=FLOATING, inplace=True)
def xlogy(input: Tensor, other: Tensor) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN).

    Where both are 0 both derivatives are 0.

    >>> import pullback as torch
    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 2.0]))
    tensor([0.0000, 1.3863])
    """
    return _times_log("xlogy", input, other, np.log)


xlogy.vjp(
    input=lambda g, input, other: xlogy(g, where((input == 0) & (other <= 0), 1, other)),
    other=lambda g, input, other: g * (input / where((input == 0) & (other == 0), 1, other)),
)


@op.elementwise(result_category=FLOATING, method=False, node="SpecialXlog1PyBackward0")
def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """``input * log1p(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN).

    >>> import pullback as torch
    >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    return _times_log("xlog1py", input, other, np.log1p)


xlog1py.vjp(
    input=lambda g, input, other: xlog1py(g, where((input == 0) & (other <= -1), 0, other)),
    other=lambda g, input, other: g * (input / (where((input == 0) & (other == -1), 0, other) + 1)),
)


@op.elementwise(
    numpy_impl=from_scipy("entr"),
    result_category=FLOATING,
    method=False,
    node="SpecialEntrBackward0",
    scalar="entr",
)
def entr(input: Tensor) -> Tensor:
    """Entropy ``-input * log(input)``; 0 at 0, minus infinity below. Derivative: ``-log(input) - 1``.

    >>> import pullback as torch
    >>> torch.special.entr(torch.tensor([0.0, 0.5]))
    tensor([0.0000, 0.3466])
    """


entr.vjp(input=lambda g, input: g * (-log(input) - 1))


# --- gamma --------------------------------------------------------------------------------------------------

_gammaln, _zeta = LookupTable(from_scipy("gammaln", "lgamma_vml_cpu"), 1 / 8, 16), from_scipy("zeta")


@op.elementwise(result_category=FLOATING, inplace=True, scalar="lgamma")
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function. Derivative: :func:`digamma`.

    >>> import pullback as torch
    >>> torch.lgamma(torch.tensor([1.0, 5.0]))
    tensor([0.0000, 3.1781])
    """
    out = np.asarray(_gammaln(input))
    if out.size and not out.item(out.argmin()) > -np.inf:  # not finite: scipy decides
        out[out == -np.inf] = np.inf
    if out.size and not out.item(out.argmax()) < np.inf:  # scipy has infinity for subnormal numbers, too
        out = np.where((out == np.inf) & (np.abs(input) < 1e-300), -np.log(np.abs(input)), out)
    return out


lgamma.vjp(input=lambda g, input: g * digamma(input))


@op.elementwise(
    numpy_impl=LookupTable(from_scipy("psi", "digamma"), 1 / 8, 16),
    result_category=FLOATING,
    inplace=True,
    scalar="digamma",
)
def digamma(input: Tensor) -> Tensor:
    """Derivative of :func:`lgamma`; NaN at the poles -1, -2, ..., and minus infinity at 0.

    >>> import pullback as torch
    >>> torch.digamma(torch.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """


digamma.vjp(input=lambda g, input: g * derived_digamma(input, 1))


# B(2j) / (2j)!, for j from 1 on, with the Bernoulli numbers B(2j) (DLMF 24.2.1)
BERNOULLI = tuple(
    b / math.factorial(2 * j)
    for j, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), 1)
)


def _zeta_of_integer(x: np.ndarray, s: int) -> Any:
    """Hurwitz' zeta function, of many positive arguments by Euler and Maclaurin's formula."""
    if s > 6 or x.size < 512 or not (x > 0).all():
        return _zeta(np.float64(s), x)
    return _euler_and_maclaurin(x, s)


def _zeta_by_euler_maclaurin(x: Any, s: int) -> Any:
    """Ten terms of Hurwitz' zeta function and a series for the rest (DLMF 25.11.28)."""
    total: Any = 0.0
    for k in range(10):
        total = total + functools.reduce(operator.mul, [1 / (x + float(k))] * s)
    r = 1 / (x + 10.0)
    square, rest = r * r, 0.0
    for j in range(8, 0, -1):
        rest = (rest + BERNOULLI[j - 1] * math.prod(range(s, s + 2 * j - 1))) * square
    return total + functools.reduce(operator.mul, [r] * (s - 1)) * (1 / (s - 1) + 0.5 * r + rest)


_euler_and_maclaurin = dispatch.kernel_if_large("zeta_of_integer", _zeta_by_euler_maclaurin, 2)


@op.general(method=False, node="PolygammaBackward0", check_out=inplace.castable)
def derived_digamma(input: Tensor, n: int) -> Tensor:
    """``(-1) ** (n + 1) * n! * zeta(n + 1, input)``, for ``n >= 1`` (DLMF 25.11.12)."""
    if input.dtype.kind == "c":
        raise not_implemented("polygamma", input)
    wide = input.astype(np.float64)
    return ((-1.0) ** (n + 1) * math.gamma(n + 1) * _zeta_of_integer(wide, n + 1)).astype(input.dtype)


derived_digamma.vjp(input=lambda g, input, n: g * derived_digamma(input, n + 1))


def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """The ``n``-th derivative of :func:`digamma`.

    Args:
        n: order, 0 for digamma itself.
        input: real; integers become floats.

    Raises:
        RuntimeError: for a negative order.

    >>> import pullback as torch
    >>> torch.polygamma(1, torch.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    if operator.index(n) < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n.\n  n is {n}")
    if n == 0:
        return digamma(input, out=out)
    return derived_digamma(_as_floating(input), n, out=out)


op.add_method(lambda self, n: polygamma(n, self), "polygamma")
op.add_method(lambda self, n: inplace.assign(self, "polygamma_", polygamma(n, self)), "polygamma_")


@op.composite
def mvlgamma(input: Tensor, p: int, *, out: Any = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4).

    ``p (p - 1) / 4 * log(pi)`` plus the sum of ``lgamma(input - j / 2)`` over ``j = 0 ... p - 1``.

    Raises:
        RuntimeError: if ``p`` is less than 1.

    >>> import pullback as torch
    >>> torch.mvlgamma(torch.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502])
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1\n  p is {p}")
    result = lgamma(input)
    for j in range(1, p):
        result = result + lgamma(input - j / 2)
    result = result + p * (p - 1) / 4 * math.log(math.pi)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


_lower, _upper = from_scipy("gammainc", "igamma_cpu"), from_scipy("gammaincc", "igammac_cpu")


@op.elementwise(numpy_impl=refusing("biu", "igamma_cpu")(_lower), inplace=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Regularized lower incomplete gamma function ``P(a, x)`` (DLMF 8.2.4), ``a = input`` and ``x = other``.

    It has a derivative with respect to ``other`` only: ``x ** (a - 1) * exp(-x) / Gamma(a)``.

    >>> import pullback as torch
    >>> torch.igamma(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([0.8647])
    """


@op.elementwise(numpy_impl=refusing("biu", "igammac_cpu")(_upper), inplace=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Regularized upper incomplete gamma function, ``1 - igamma(input, other)``.

    >>> import pullback as torch
    >>> torch.igammac(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([0.1353])
    """


def _gamma_density(a: Any, x: Any) -> Any:
    return exp(xlogy(a - 1, x) - x - lgamma(a))


igamma.vjp(other=lambda g, input, other: g * _gamma_density(input, other))
igammac.vjp(other=lambda g, input, other: -g * _gamma_density(input, other))


@op.elementwise(numpy_impl=_zeta, result_category=FLOATING, method=False, node="SpecialZetaBackward1")
def zeta(input: Tensor, other: Tensor) -> Tensor:
    """Hurwitz zeta function: the sum of ``(k + other) ** -input`` over ``k = 0, 1, ...`` (DLMF 25.11.1).

    It has a derivative with respect to ``other`` only: ``-input * zeta(input + 1, other)``.

    >>> import pullback as torch
    >>> torch.special.zeta(torch.tensor([2.0]), torch.tensor([1.0]))
    tensor([1.6449])
    """


zeta.vjp(other=lambda g, input, other: -g * (input * zeta(input + 1, other)))


# --- sine over its angle ------------------------------------------------------------------------------------


@functools.lru_cache(64)
def _series_of_sine_quotient(order: int, dtype: np.dtype) -> list[np.ndarray]:
    """The coefficients of the series of :func:`derived_sine_quotient`, the last first, as many as its range needs."""
    coefficients: list[np.ndarray] = []
    for k in itertools.count((order + 1) // 2):
        size = 1 / (math.factorial(2 * k - order) * (2 * k + 1))
        if size * (1 + order / 2) ** (2 * k - order) < np.finfo(dtype).eps / (16 * order + 16):
            return coefficients[::-1]
        coefficients.append(np.array((-1.0) ** k * size, dtype))
    raise AssertionError


@op.general(method=False, node="SpecialSphericalBesselBackward0", check_out=inplace.castable)
def derived_sine_quotient(input: Tensor, order: int) -> Tensor:
    """The derivative of ``sin(x) / x`` of that order.

    Near 0 its power series, whose terms are ``(-1)**k x**(2k-n) / ((2k-n)! (2k+1))``; elsewhere the
    recurrence that differentiating ``x f(x) = sin(x)`` gives: ``x f_n + n f_(n-1) = sin(x + n pi/2)``.
    """
    x: Any = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    near = np.abs(x) < 1 + order / 2
    t = fast_where(near, x, 0)
    square, series = np.asarray(t * t), np.zeros_like(t)
    for coefficient in _series_of_sine_quotient(order, x.dtype):
        series *= square
        series += coefficient
    if order % 2:
        series = series * t
    far = fast_where(near, 1, x)
    sine, cosine = np.sin(far), np.cos(far)
    waves = (sine, cosine, -sine, -cosine)
    quotient = sine / far
    for n in range(1, order + 1):
        quotient = (waves[n % 4] - n * quotient) / far
    vanishing = np.isinf(x) if order == 0 and x.dtype.kind == "f" else False
    return fast_where(near, series, np.where(vanishing, 0, quotient)).astype(input.dtype, copy=False)


derived_sine_quotient.vjp(input=lambda g, input, order: g * derived_sine_quotient(input, order + 1))


def spherical_bessel_j0(input: Tensor, *, out: Any = None) -> Tensor:
    """Spherical Bessel function of order 0: ``sin(input) / input``, and 1 at 0.

    >>> import pullback as torch
    >>> torch.special.spherical_bessel_j0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    return derived_sine_quotient(_as_floating(input), 0, out=out)


@op.elementwise(result_category=FLOATING, inplace=True, at_any_size=True)
def sinc(input: Tensor) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0. Its derivatives of any order are right at 0, too.

    >>> import pullback as torch
    >>> torch.sinc(torch.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    angle = input * math.pi
    if angle.__class__ is np.ndarray and np.count_nonzero(angle) == angle.size:  # as above
        return np.sin(angle) / angle
    at_zero = angle == 0
    safe = fast_where(at_zero, 1, angle)
    return fast_where(at_zero, 1, np.sin(safe) / safe)


sinc.vjp(input=lambda g, input: g * (derived_sine_quotient(input * math.pi, 1) * math.pi))


# In place, the ops that these two consist of need a copy of the value that gets overwritten.
op.add_method(lambda self, eps=None: inplace.assign(self, "logit_", logit(self.clone(), eps)), "logit_")
op.add_method(lambda self, p: inplace.assign(self, "mvlgamma_", mvlgamma(self.clone(), p)), "mvlgamma_")

# --- other names --------------------------------------------------------------------------------------------

expit, psi, gammaln, multigammaln, gammainc, gammaincc = sigmoid, digamma, lgamma, mvlgamma, igamma, igammac
