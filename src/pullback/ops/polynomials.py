"""``torch.special``'s orthogonal polynomials (Chebyshev, Hermite, Laguerre, Legendre), evaluated by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import FLOATING
from ..core import op
from ..core.tensor import Tensor
from .special import from_scipy

__all__: list[str] = []
__all_special__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]


def polynomial(evaluate: Callable) -> Callable[[Callable], Any]:
    """Declare a polynomial given as ``evaluate(degree, x)`` on int64 and float64. It gets no derivative."""

    def of(x: Any, n: Any) -> Any:
        degree = np.trunc(n).astype(np.int64)
        value = evaluate(np.maximum(degree, 0), np.asarray(x, np.float64))
        return np.where(degree < 0, 0, value).astype(np.result_type(x, n))

    def declare(stated: Callable) -> Any:
        call = op.elementwise(stated, numpy_impl=of, result_category=FLOATING, method=False)
        call.vjp()
        return call

    return declare


_chebyt, _chebyu = from_scipy("eval_chebyt"), from_scipy("eval_chebyu")


def _chebyv(n: Any, x: Any) -> Any:
    return _chebyu(n, x) - np.where(n > 0, _chebyu(n - 1, x), 0)


def _chebyw(n: Any, x: Any) -> Any:
    return _chebyu(n, x) + np.where(n > 0, _chebyu(n - 1, x), 0)


@polynomial(_chebyt)
def chebyshev_polynomial_t(input: Tensor, n: Tensor) -> Tensor:
    """Chebyshev polynomial of the first kind: ``cos(n t)`` of ``input = cos(t)``.

    Args:
        input: real, or a number.
        n: the degree, a tensor or a number; rounded to zero. Of negative degree is the polynomial 0.

    >>> import pullback as torch
    >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.0, 0.5]), 2)
    tensor([-1.0000, -0.5000])
    """


@polynomial(_chebyu)
def chebyshev_polynomial_u(input: Tensor, n: Tensor) -> Tensor:
    """Chebyshev polynomial of the second kind: ``sin((n + 1) t) / sin(t)`` of ``input = cos(t)``.

    >>> import pullback as torch
    >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.0, 0.5]), 2)
    tensor([-1.,  0.])
    """


@polynomial(_chebyv)
def chebyshev_polynomial_v(input: Tensor, n: Tensor) -> Tensor:
    """Chebyshev polynomial of the third kind: ``cos((n + 1/2) t) / cos(t / 2)`` of ``input = cos(t)``.

    >>> import pullback as torch
    >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.0, 0.5]), 2)
    tensor([-1., -1.])
    """


@polynomial(_chebyw)
def chebyshev_polynomial_w(input: Tensor, n: Tensor) -> Tensor:
    """Chebyshev polynomial of the fourth kind: ``sin((n + 1/2) t) / sin(t / 2)`` of ``input = cos(t)``.

    >>> import pullback as torch
    >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.0, 0.5]), 2)
    tensor([-1.,  1.])
    """


@polynomial(lambda n, x: _chebyt(n, 2 * x - 1))
def shifted_chebyshev_polynomial_t(input: Tensor, n: Tensor) -> Tensor:
    """:func:`chebyshev_polynomial_t` of ``2 * input - 1``, for input in ``[0, 1]``.

    >>> import pullback as torch
    >>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.5, 0.75]), 2)
    tensor([-1.0000, -0.5000])
    """


@polynomial(lambda n, x: _chebyu(n, 2 * x - 1))
def shifted_chebyshev_polynomial_u(input: Tensor, n: Tensor) -> Tensor:
    """:func:`chebyshev_polynomial_u` of ``2 * input - 1``, for input in ``[0, 1]``.

    >>> import pullback as torch
    >>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.5, 0.75]), 2)
    tensor([-1.,  0.])
    """


@polynomial(lambda n, x: _chebyv(n, 2 * x - 1))
def shifted_chebyshev_polynomial_v(input: Tensor, n: Tensor) -> Tensor:
    """:func:`chebyshev_polynomial_v` of ``2 * input - 1``, for input in ``[0, 1]``.

    >>> import pullback as torch
    >>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([0.5, 0.75]), 2)
    tensor([-1., -1.])
    """


@polynomial(lambda n, x: _chebyw(n, 2 * x - 1))
def shifted_chebyshev_polynomial_w(input: Tensor, n: Tensor) -> Tensor:
    """:func:`chebyshev_polynomial_w` of ``2 * input - 1``, for input in ``[0, 1]``.

    >>> import pullback as torch
    >>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([0.5, 0.75]), 2)
    tensor([-1.,  1.])
    """


@polynomial(from_scipy("eval_hermite"))
def hermite_polynomial_h(input: Tensor, n: Tensor) -> Tensor:
    """Hermite polynomial of physics, orthogonal under ``exp(-x * x)``.

    >>> import pullback as torch
    >>> torch.special.hermite_polynomial_h(torch.tensor([0.0, 1.0]), 2)
    tensor([-2.,  2.])
    """


@polynomial(from_scipy("eval_hermitenorm"))
def hermite_polynomial_he(input: Tensor, n: Tensor) -> Tensor:
    """Hermite polynomial of probability, orthogonal under ``exp(-x * x / 2)``.

    >>> import pullback as torch
    >>> torch.special.hermite_polynomial_he(torch.tensor([0.0, 1.0]), 2)
    tensor([-1.,  0.])
    """


@polynomial(from_scipy("eval_laguerre"))
def laguerre_polynomial_l(input: Tensor, n: Tensor) -> Tensor:
    """Laguerre polynomial, orthogonal under ``exp(-x)`` on ``x >= 0``.

    >>> import pullback as torch
    >>> torch.special.laguerre_polynomial_l(torch.tensor([0.0, 1.0]), 2)
    tensor([ 1.0000, -0.5000])
    """


@polynomial(from_scipy("eval_legendre"))
def legendre_polynomial_p(input: Tensor, n: Tensor) -> Tensor:
    """Legendre polynomial, orthogonal on ``[-1, 1]``.

    >>> import pullback as torch
    >>> torch.special.legendre_polynomial_p(torch.tensor([0.0, 1.0]), 2)
    tensor([-0.5000,  1.0000])
    """
