# Written by scripts/stubs.py.
"""``torch.special``: special functions, under the names that SciPy gave them."""

from ..base.dtypes import dtype
from ..core.tensor import Tensor
from ..core.tensor_methods import Dims, Number

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, of order 0; minus infinity at 0, NaN below."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, of order 1; minus infinity at 0, NaN below."""
def chebyshev_polynomial_t(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the first kind: ``cos(n t)`` of ``input = cos(t)``."""
def chebyshev_polynomial_u(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the second kind: ``sin((n + 1) t) / sin(t)`` of ``input = cos(t)``."""
def chebyshev_polynomial_v(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the third kind: ``cos((n + 1/2) t) / cos(t / 2)`` of ``input = cos(t)``."""
def chebyshev_polynomial_w(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the fourth kind: ``sin((n + 1/2) t) / sin(t / 2)`` of ``input = cos(t)``."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of `lgamma`; NaN at the poles -1, -2, ..., and minus infinity at 0."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Entropy ``-input * log(input)``; 0 at 0, minus infinity below. Derivative: ``-log(input) - 1``."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function ``2/sqrt(pi) * integral of exp(-t*t) from 0 to input`` (DLMF 7.2.1)."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, accurate for large input."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input ** 2) * erfc(input)``, without overflow for large input."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `erf`; NaN outside ``[-1, 1]``. Derivative: ``sqrt(pi)/2 * exp(out ** 2)``."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``2 ** input``. Derivative: ``out * ln 2``."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``e ** input - 1``, without the cancellation near 0. Derivative: ``exp(input)``."""
def gammainc(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Regularized lower incomplete gamma function ``P(a, x)`` (DLMF 8.2.4), ``a = input`` and ``x = other``."""
def gammaincc(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Regularized upper incomplete gamma function, ``1 - igamma(input, other)``."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function. Derivative: `digamma`."""
def hermite_polynomial_h(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomial of physics, orthogonal under ``exp(-x * x)``."""
def hermite_polynomial_he(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomial of probability, orthogonal under ``exp(-x * x / 2)``."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 0. Derivative: order 1."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(input)) * i0(input)``."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(input)) * i1(input)``."""
def laguerre_polynomial_l(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Laguerre polynomial, orthogonal under ``exp(-x)`` on ``x >= 0``."""
def legendre_polynomial_p(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Legendre polynomial, orthogonal on ``[-1, 1]``."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, accurate near 0. Derivative: ``1 / (1 + input)``."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of `ndtr`, accurate far below 0. Derivative: density over probability."""
def log_softmax(
    input: Tensor,
    dim: int | None = None,
    dtype: dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``log(softmax(input, dim))``, without the rounding error of taking the logarithm of a softmax."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; NaN outside ``[0, 1]``."""
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))`` along dimensions, without overflow. Integers become the default float type."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 0. Derivative: order 1."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 0; infinite at 0, NaN below."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 1; infinite at 0, NaN below."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4)."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Probability that a standard normal number is below ``input``."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of `ndtr`; NaN outside ``[0, 1]``. Derivative: ``sqrt(2*pi) * exp(out ** 2 / 2)``."""
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of `digamma`."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of `lgamma`; NaN at the poles -1, -2, ..., and minus infinity at 0."""
def round(input: Tensor, decimals: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Rounded to the nearest integer, halves to the even one. Derivative: 0."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` times `modified_bessel_k0`."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` times `modified_bessel_k1`."""
def shifted_chebyshev_polynomial_t(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_t` of ``2 * input - 1``, for input in ``[0, 1]``."""
def shifted_chebyshev_polynomial_u(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_u` of ``2 * input - 1``, for input in ``[0, 1]``."""
def shifted_chebyshev_polynomial_v(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_v` of ``2 * input - 1``, for input in ``[0, 1]``."""
def shifted_chebyshev_polynomial_w(input: Tensor, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_w` of ``2 * input - 1``, for input in ``[0, 1]``."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0. Its derivatives of any order are right at 0, too."""
def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Spherical Bessel function of order 0: ``sin(input) / input``, and 1 at 0."""
def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN)."""
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN)."""
def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz zeta function: the sum of ``(k + other) ** -input`` over ``k = 0, 1, ...`` (DLMF 25.11.1)."""
