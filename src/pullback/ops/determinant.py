"""``det``, ``slogdet``, ``logdet``, ``matrix_power`` and ``matrix_exp`` of square matrices.

The gradient of a determinant is the matrix of cofactors, which exists for singular matrices, too. PyTorch computes
``det(A) A⁻ᵀ`` and returns 0 (or noise) there.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..base.dtypes import OF_NUMPY
from ..core import inplace, op, record
from ..core.level import concrete_array
from ..core.override import overridable
from ..core.tensor import Tensor
from ..return_types import named
from . import half
from .complex import imag, is_complex
from .complex import resolved_conj as conj
from .concat import cat, diag_embed
from .eig_svd import linalg_svd
from .linalg_checks import adjoint, check_info, check_square, identity, scipy_linalg
from .matmul import matmul
from .pointwise import log
from .reduce import prod, sum
from .slicing_views import diagonal
from .solve import SINGULAR, invert_arrays, is_large, linalg_inv_ex, lu_factor_arrays
from .view import expand, unsqueeze
from .where import where

__all__ = ["det", "logdet", "matrix_exp", "matrix_power", "slogdet"]


# --- determinants -----------------------------------------------------------------------------------------------


def _det_arrays(A: np.ndarray) -> np.ndarray:
    if not is_large(A):
        return np.asarray(np.linalg.det(A))
    LU, pivots, info = lu_factor_arrays(A)
    if info:
        return np.zeros((), A.dtype)
    diagonal = LU.diagonal().astype(np.float64)
    negative = np.count_nonzero(diagonal < 0) + np.count_nonzero(pivots != np.arange(1, len(A) + 1))
    with np.errstate(over="ignore"):
        return np.asarray((-1) ** (negative % 2) * np.exp(np.log(np.abs(diagonal)).sum()), A.dtype)


@op.general(method=False)
def linalg_det(A: Tensor) -> Tensor:
    """Determinants of square matrices ``(..., n, n)``.

    Derivative: the cofactors, which is right for singular matrices, too (0 in PyTorch).

    >>> import pullback as torch
    >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square(A, "linalg.det", "lu_cpu")
    return np.asarray(_det_arrays(A), A.dtype)


linalg_det.vjp(A=lambda g, A: unsqueeze(unsqueeze(g, -1), -1) * cofactors(A))


def _nearly_singular(A: np.ndarray, inverse: np.ndarray) -> bool:
    """Whether ``det(A) A⁻ᵀ`` would lose more than half of the digits for some matrix of the batch."""
    if not A.size:
        return False
    condition = np.linalg.norm(A, 1, (-2, -1)) * np.linalg.norm(inverse, 1, (-2, -1))
    return not (condition < np.finfo(A.dtype).eps ** -0.5).all()


@op.general(method=False)
def cofactors(A: Tensor) -> Tensor:
    """The matrix of cofactors, ``det(A) A⁻ᵀ``.

    For nearly singular matrices from the SVD: with ``A = U diag(s) Vh`` the cofactors are
    ``det(U) det(Vh) conj(U) diag(products of the other s) conj(Vh)``.
    """
    if A.shape[-1] == 1:
        return np.ones_like(A)
    if A.shape[-1] in (2, 3):
        return _minors(A)
    try:
        inverse = invert_arrays(A)
    except np.linalg.LinAlgError:
        inverse = np.full(A.shape, np.inf, A.dtype)
    if _nearly_singular(A, inverse):
        finite = np.isfinite(A)
        C = _cofactors_of_svd(*np.linalg.svd(np.where(finite, A, 0)))
        return C if finite.all() else np.where(finite.all((-2, -1), keepdims=True), C, np.nan)
    return _det_arrays(A)[..., None, None] * inverse.mT


def _minors(A: np.ndarray) -> np.ndarray:
    """The cofactors of 2 x 2 and 3 x 3 matrices, by their definition."""
    C, n = np.empty_like(A), A.shape[-1]
    for i, j in np.ndindex(n, n):
        (r, s), (p, q) = [[(k + 1) % n, (k + 2) % n] for k in (i, j)]
        if n == 2:
            C[..., i, j] = A[..., r, p] if i == j else -A[..., r, p]
        else:
            C[..., i, j] = A[..., r, p] * A[..., s, q] - A[..., r, q] * A[..., s, p]
    return C


def _cofactors_of_svd(U: np.ndarray, S: np.ndarray, Vh: np.ndarray) -> np.ndarray:
    n = S.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, S[..., None, :]).prod(-1)
    sign = np.linalg.det(U) * np.linalg.det(Vh)
    return sign[..., None, None] * (np.conjugate(U) * others[..., None, :]) @ np.conjugate(Vh)


def _cofactors_vjp(g: Any, A: Any, out: Any) -> Any:
    """For regular matrices, with cofactors C: ``trace(gᵀ C) A⁻ᵀ - A⁻ᵀ gᵀ C``. Else in the basis of the singular
    vectors: with P the products of all singular values but two, ``dC[i, i] = sum_k P[i, k] dA[k, k]`` and ``dC[i, j] =
    -P[i, j] dA[j, i]``.
    """
    if A.shape[-1] == 1:
        return None
    inverse, info = linalg_inv_ex(A)
    raw = [concrete_array(getattr(x, "_array", x)) for x in (A, inverse, info)]
    if not raw[2].any() and not _nearly_singular(*raw[:2]):
        turned = inverse.mT
        along = sum(sum(g * out, -1, True), -2, True)
        return along * turned - turned @ (g.mT @ out)
    U, S, Vh = linalg_svd(A)
    n = S.shape[-1]
    unit = np.eye(n, dtype=bool)
    spread = expand(unsqueeze(unsqueeze(S, -2), -2), (*S.shape[:-1], n, n, n))
    products = where(unit, 0, prod(where(unit[:, None, :] | unit[None, :, :], 1, spread), -1))
    inner = adjoint(U) @ g @ adjoint(Vh)
    if is_complex(inner):
        products = products + 0j
    inner = diag_embed((products @ unsqueeze(diagonal(inner, 0, -2, -1), -1))[..., 0]) - products * inner.mT
    sign = linalg_det(U) * linalg_det(Vh)
    return unsqueeze(unsqueeze(sign, -1), -1) * (conj(U) @ inner @ conj(Vh))


cofactors.vjp(A=_cofactors_vjp)


@op.composite
def det(input: Tensor, *, out: Any = None) -> Tensor:
    """The same as :func:`torch.linalg.det`."""
    return linalg_det(input, out=out)


@op.general(method=False, outputs="sign logabsdet", holomorphic=False)
def linalg_slogdet(A: Tensor) -> Tensor:
    """Determinants of square matrices ``(..., n, n)`` as ``sign * exp(logabsdet)``, which neither over- nor underflows.

    Returns:
        ``sign``, of absolute value 1, or 0 for singular matrices; ``logabsdet``, real, or ``-inf``.

    >>> import pullback as torch
    >>> torch.linalg.slogdet(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).sign
    tensor(-1.)
    """
    check_square(A, "linalg.slogdet", "lu_cpu")
    sign, logarithm = np.linalg.slogdet(A)
    return np.asarray(sign, A.dtype), np.asarray(logarithm, OF_NUMPY[A.dtype].to_real().numpy)


@linalg_slogdet.vjp_all
def _slogdet_vjp(g: Any, wanted: Any, A: Any, sign: Any) -> Any:
    """``d log(det(A)) = trace(A⁻¹ dA)``, whose real part belongs to ``logabsdet`` and the imaginary one to the sign's
    angle.
    """
    g_sign, g_log = g
    if is_complex(sign):
        g_log = g_log - 1j * imag(conj(g_sign) * sign)
    return (unsqueeze(unsqueeze(g_log, -1), -1) * adjoint(linalg_inv_ex(A)[0]),)


SlogDet = named("slogdet", ("sign", "logabsdet"))


@op.composite
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The same as :func:`torch.linalg.slogdet`."""
    result = SlogDet(*linalg_slogdet(input))
    return result if out is None else inplace.write_out(out, result)


@op.composite
@overridable
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants: ``-inf`` for singular matrices, NaN for negative determinants (complex for complex
    ones).

    >>> import pullback as torch
    >>> torch.logdet(torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(0.)
    """
    check_square(input, "logdet", "lu_cpu")
    sign, logarithm = linalg_slogdet(input)
    return log(sign) + logarithm if is_complex(sign) else where(sign == -1, float("nan"), logarithm)


# --- powers -----------------------------------------------------------------------------------------------------


def linalg_matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """Powers of square matrices ``(..., m, m)``, by repeated squaring; of their inverses, if n is negative.

    Raises:
        LinAlgError: for singular matrices and negative n.

    >>> import pullback as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    if len(input.shape) < 2 or input.shape[-1] != input.shape[-2] or n < 0:
        check_square(input, "linalg.matrix_power" if n >= 0 else "linalg.inv")
    copied = operator.index(n) in (0, 1)  # which need no product
    if n == 0:
        result = input.clone().copy_(record.wrap(identity(input, input.shape[-1])))
    else:
        if n < 0:
            input, info = linalg_inv_ex(input)
            check_info(info, "linalg.inv", SINGULAR)
            n = -n
        power, result = input, None
        while n:
            n, odd = divmod(n, 2)
            if odd:
                result = power if result is None else matmul(result, power)
            if n:
                power = matmul(power, power)
        if result is input:
            result = input.clone()
    return (
        result
        if out is None
        else inplace.write_out(out, result, check=inplace.castable if copied else inplace.same_dtypes)
    )


@op.composite
def matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The same as :func:`torch.linalg.matrix_power`."""
    return linalg_matrix_power(input, n, out=out)


@half.general(method=False)
def linalg_matrix_exp(input: Tensor) -> Tensor:
    """``sum(A ** k / k!)`` of square matrices ``(..., n, n)``.

    The derivative is a block of the exponential of ``[[Aᵀ, g], [0, Aᵀ]]`` (R. Mathias, SIAM J. Matrix Anal. Appl. 17,
    1996).

    >>> import pullback as torch
    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square(input, "linalg.matrix_exp")
    if not input.size:
        return input.copy()
    if math.prod(input.shape[:-2]) >= 2 * input.shape[-1]:
        return _exp_small_matrices(input).astype(input.dtype, copy=False)
    return scipy_linalg().expm(input).astype(input.dtype, copy=False)


def _exp_small_matrices(A: np.ndarray) -> np.ndarray:
    """The exponentials of many small matrices at once, in double precision, by scaling and squaring: a matrix is halved
    until 16 terms of its series are exact to rounding, and the result squared as often.
    """
    flat = A.reshape(-1, *A.shape[-2:]).astype(np.complex128 if A.dtype.kind == "c" else np.float64, order="C")
    size = np.abs(flat).sum(-2).max(-1)
    halvings = np.where(np.isfinite(size), np.frexp(size / 0.8)[1], 0).clip(0)
    flat = np.ldexp(flat.view(np.float64), -halvings[:, None, None]).view(flat.dtype)
    one = np.eye(A.shape[-1])
    powers = [one, flat, flat @ flat]
    powers += [powers[2] @ flat, powers[2] @ powers[2]]
    out = powers[4] * (1 / math.factorial(16))
    # Paterson-Stockmeyer: Horner's rule in the fourth power (SIAM J. Comput. 2, 1973)
    for k in (12, 8, 4, 0):
        for i in (3, 2, 1, 0):
            out += powers[i] * (1 / math.factorial(k + i))
        if k:
            out = out @ powers[4]
    for k in range(halvings.max()):
        often = halvings > k
        part = out[often]
        out[often] = part @ part
    return out.reshape(A.shape)


def _matrix_exp_vjp(g: Any, input: Any) -> Any:
    n, turned = input.shape[-1], input.mT
    block = cat([cat([turned, g], -1), cat([turned * 0, turned], -1)], -2)
    return linalg_matrix_exp(block)[..., :n, n:]


linalg_matrix_exp.vjp(input=_matrix_exp_vjp)


@op.composite
def matrix_exp(input: Tensor) -> Tensor:
    """The same as :func:`torch.linalg.matrix_exp`."""
    return linalg_matrix_exp(input)
