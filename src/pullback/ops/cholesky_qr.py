"""Cholesky and QR: ``cholesky``, ``cholesky_solve``, ``cholesky_inverse``, ``qr``, ``geqrf``, ``ormqr``.

Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), eq. 10. QR: S. F. Walter and L. Lehmann
(2010), and for wide matrices D. A. O. Roberts and L. R. Roberts, "QR and LQ decomposition matrix backpropagation
algorithms" (2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import type_name
from ..base.layout import as_contiguous
from ..core import inplace, op, record
from ..core.level import concrete_array
from ..core.override import overridable
from ..core.tensor import Tensor
from ..return_types import named
from .complex import is_complex, real
from .complex import resolved_conj as conj
from .concat import cat, tril, triu
from .convert import cast
from .linalg_checks import (
    adjoint,
    check_info,
    check_kernel,
    check_matrix,
    check_square,
    for_each_matrix,
    identity,
    lapack,
    numpy_dtype,
)
from .matmul import matmul
from .slicing_views import diagonal
from .solve import SINGULAR, is_large, linalg_solve_triangular, solve_triangular_arrays
from .view import expand, unsqueeze
from .where import where

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "orgqr", "ormqr", "qr"]

triangular = linalg_solve_triangular


# --- Cholesky ---------------------------------------------------------------------------------------------------

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)


@op.general(method=False, outputs="L info", differentiable="L", holomorphic=False)
def linalg_cholesky_ex(input: Tensor, upper: bool = False, check_errors: bool = False) -> Tensor:
    """Cholesky decomposition of matrices ``(..., n, n)``, see :func:`torch.linalg.cholesky`, and LAPACK's ``info``.

    Returns:
        ``L``, and ``info`` (int32, one a matrix): 0, or the order of the first leading minor that is not positive.

    Raises:
        LinAlgError: for matrices that are not positive-definite, if ``check_errors``.

    >>> import pullback as torch
    >>> torch.linalg.cholesky_ex(-torch.eye(2)).info
    tensor(1, dtype=torch.int32)
    """
    check_square(input, "linalg.cholesky", "cholesky_cpu")
    batch = input.shape[:-2]
    info = np.zeros(batch, np.int32)
    try:
        if is_large(input):  # the transpose, for LAPACK reads columns first
            L, info[()] = lapack("potrf", input.dtype)(input.T, lower=upper)
            L = as_contiguous(L.T)
        else:
            L = np.linalg.cholesky(input, upper=upper)
        lost = np.isnan(L.diagonal(0, -2, -1))  # NumPy does not raise for NaN
        if lost.any():
            info = np.where(lost.any(-1), lost.argmax(-1) + 1, 0).astype(np.int32)
    except np.linalg.LinAlgError:
        L, potrf = np.empty(input.shape, input.dtype), lapack("potrf", input.dtype)
        for_each_matrix(lambda a: potrf(a, lower=not upper), [input], [L, info], batch)
    if check_errors:
        check_info(info, "linalg.cholesky_ex", NOT_POSITIVE)
    return L, info


@linalg_cholesky_ex.vjp_all
def _cholesky_vjp(g: Any, wanted: Any, L: Any, upper: bool) -> Any:
    if upper:
        L, g = adjoint(L), adjoint(g)
    inner = tril(adjoint(L) @ g)
    inner = (inner + adjoint(tril(inner, -1))) / 2
    left = triangular(adjoint(L), inner, upper=True)
    return (triangular(L, left, upper=False, left=False),)


@overridable
def linalg_cholesky(input: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L (or the upper triangular U) with ``input = L @ L.mH`` (``U.mH @ U``).

    Args:
        input: Hermitian positive-definite ``(..., n, n)``; only the triangle in question is looked at.

    Raises:
        LinAlgError: if a matrix is not positive-definite.

    Derivative: symmetric, as if the other triangle followed.

    >>> import pullback as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    L, info = linalg_cholesky_ex(input, upper=upper)
    check_info(info, "linalg.cholesky", NOT_POSITIVE)
    return L if out is None else inplace.write_out(out, L)


@op.composite
def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """Deprecated: see :func:`torch.linalg.cholesky`.

    >>> import pullback as torch
    >>> torch.cholesky(torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    check_square(input, "cholesky", "cholesky_cpu")
    L, info = linalg_cholesky_ex(input, upper=upper)
    check_info(info, "cholesky", NOT_POSITIVE)
    return L if out is None else inplace.write_out(out, L, check=inplace.castable)


@op.general(holomorphic=False, check_out=inplace.castable)
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """Solutions of ``A X = input``, given the Cholesky factor of A.

    Args:
        input: ``(..., n, k)``.
        L: ``(..., n, n)``, with ``A = L @ L.mH``; or ``A = L.mH @ L`` if ``upper``. Only that triangle is looked at.

    Derivative: that of ``inv(L @ L.mH) @ input`` for any L, as in PyTorch: nonzero also for elements that must be 0.

    >>> import pullback as torch
    >>> torch.cholesky_solve(torch.tensor([[8.0]]), torch.tensor([[2.0]]))
    tensor([[2.]])
    """
    for letter, x in (("b", input), ("u", L)):
        if x.ndim < 2:
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    n, m = L.shape[-2:]
    if n != m:
        raise RuntimeError(f"A must be batches of square matrices, but they are {n} by {m} matrices")
    if input.shape[-2] != n:
        k, p = input.shape[-2:]
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {n} by {n} but each b matrix is {k} by {p}"
        )
    first, last = (adjoint(L), L) if upper else (L, adjoint(L))
    return solve_triangular_arrays(last, solve_triangular_arrays(first, input, upper=False), upper=True)


@cholesky_solve.vjp_all
def _cholesky_solve_vjp(g: Any, wanted: Any, L: Any, out: Any, upper: bool) -> Any:
    g_B = cholesky_solve(g, L, upper)
    if not wanted[1]:
        return g_B, None
    inner = g_B @ adjoint(out)
    inner = inner + adjoint(inner)
    return g_B, -(L @ inner) if upper else -(inner @ L)


@op.composite
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of A, given its Cholesky factor: of ``L @ L.mH``, or of ``U.mH @ U`` if ``upper``.

    >>> import pullback as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    check_square(input, "cholesky_inverse")
    zeros = concrete_array(diagonal(input, 0, -2, -1)._array) == 0
    check_info(np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if zeros.size else 0, "cholesky_inverse", SINGULAR)
    L = adjoint(input) if upper else input
    inverse = triangular(L, identity(L, L.shape[-1]), upper=False)
    result = matmul(adjoint(inverse), inverse)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


# --- QR ---------------------------------------------------------------------------------------------------------


@op.general(method=False, outputs="Q R", holomorphic=False)
def linalg_qr(A: Tensor, mode: str = "reduced") -> Tensor:
    """QR decomposition ``A = Q @ R`` of matrices ``(..., n, m)``: Q has orthonormal columns, R is upper triangular.

    Args:
        mode: ``"reduced"``: Q is ``(..., n, k)`` with ``k = min(n, m)``; ``"complete"``: ``(..., n, n)``; ``"r"``:
            empty.

    Raises:
        RuntimeError: for other modes; in backward for ``"r"``, and for ``"complete"`` if there are more rows than
            columns.

    Derivative: exists where the first k columns are independent. The diagonal of R is real, of either sign.

    >>> import pullback as torch
    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0], [4.0]]))
    >>> R
    tensor([[-5.]])
    """
    check_matrix(A, "linalg.qr", "geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    Q: Any
    R: Any
    if A.ndim == 2 and A.size:
        Q, R = qr_one_matrix(A, mode)
    elif mode == "r":
        Q, R = None, np.linalg.qr(A, "r")
    else:
        Q, R = np.linalg.qr(A, mode)
    return np.empty(0, A.dtype) if Q is None else Q, R


LAPACK_BLOCK = 64  # columns that LAPACK processes together, if the workspace allows


def qr_one_matrix(A: np.ndarray, mode: str) -> tuple[np.ndarray | None, np.ndarray]:
    """QR of one matrix in its own precision; NumPy's, for batches, computes in double."""
    (n, m), d = A.shape, A.dtype
    k = min(n, m)
    packed, tau, _, _ = lapack("geqrf", d)(A, lwork=LAPACK_BLOCK * m)
    rows = k if mode != "complete" else n
    R = triu.op.impl(np.ascontiguousarray(packed[:rows]))
    if mode == "r":
        return None, R
    reflections = packed[:, :k]
    if rows > k:
        reflections = np.zeros((n, n), d, "F")
        reflections[:, :k] = packed[:, :k]
    Q, _, _ = lapack("ungqr" if d.kind == "c" else "orgqr", d)(reflections, tau, lwork=LAPACK_BLOCK * rows)
    return np.ascontiguousarray(Q), R


@linalg_qr.vjp_all
def _qr_vjp(g: Any, wanted: Any, Q: Any, R: Any, mode: str) -> Any:
    (g_Q, g_R), (n, m) = g, (Q.shape[-2], R.shape[-1])
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and n > m:
        raise RuntimeError(
            f"The QR decomposition is not differentiable when mode='complete' and nrows > ncols, here {n} > {m}: "
            "the last columns of Q are arbitrary."
        )
    if n >= m:
        return (_tall_qr_vjp(g_Q, g_R, Q, R),)
    rest = R[..., n:]  # A = [X Y] = Q [U V]: Q and U are those of the square X, and Y = Q V
    g_rest = g_R[..., n:]
    g_X = _tall_qr_vjp(g_Q + (Q @ rest) @ adjoint(g_rest), g_R[..., :n], Q, R[..., :n])
    return (cat([g_X, Q @ g_rest], -1),)


def _tall_qr_vjp(g_Q: Any, g_R: Any, Q: Any, R: Any) -> Any:
    inner = triu(g_R @ adjoint(R) - adjoint(Q) @ g_Q)
    inner = inner + adjoint(triu(inner, 1))
    if is_complex(inner):
        inner = where(identity(inner, inner.shape[-1]) != 0, cast(real(inner), numpy_dtype(inner)), inner)
    return triangular(adjoint(R), g_Q + Q @ inner, upper=False, left=False)


OldQR = named("qr", ("Q", "R"))


@op.composite
def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Deprecated: see :func:`torch.linalg.qr`, whose modes "reduced" and "complete" are ``some`` and not ``some``.

    >>> import pullback as torch
    >>> torch.qr(torch.tensor([[3.0], [4.0]])).R
    tensor([[-5.]])
    """
    result = OldQR(*linalg_qr(input, "reduced" if some else "complete"))
    return result if out is None else inplace.write_out(out, result)


# --- Householder's reflections ----------------------------------------------------------------------------------


@op.general(outputs="a tau", check_out=inplace.castable)
def geqrf(input: Tensor) -> Tensor:
    """The QR decomposition in LAPACK's form: R in the upper triangle of ``a``, below it and in ``tau`` the reflections
    whose product is Q (see :func:`orgqr`). Not differentiable.

    >>> import pullback as torch
    >>> torch.geqrf(torch.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel(input, "geqrf_cpu")
    a, tau = np.linalg.qr(input, "raw")
    return np.ascontiguousarray(a.mT), tau


@op.general(name="ormqr", method=False, holomorphic=False)
def _ormqr(A: Tensor, tau: Tensor, other: Tensor, backwards: bool, inverse: bool) -> Tensor:
    """The product of the reflections ``1 - tau v v*`` with ``other``: the first one applied first, or (``backwards``)
    last.

    The k-th vector v has k zeros, a one, and then what is below the diagonal of A. ``inverse`` conjugates the taus.
    """
    if A.ndim == other.ndim == 2 and A.dtype.kind == "f" and 0 < tau.size <= min(len(A), A.shape[1]) and other.size:
        apply, turn = lapack("ormqr", A.dtype), "N" if backwards else "T"
        return np.ascontiguousarray(
            apply("L", turn, A[:, : tau.size], tau, other, LAPACK_BLOCK * (other.shape[1] + LAPACK_BLOCK + 1))[0]
        )
    return _apply_reflections(A, tau, other, backwards, inverse)[0]


def _apply_reflections(
    A: Any, tau: Any, X: Any, backwards: bool, inverse: bool
) -> tuple[Any, list[tuple[int, Any, Any, Any]]]:
    """The product, and for each reflection its number, v, tau and operand."""
    below, count = tril(A, -1) + identity(A, *A.shape[-2:]), tau.shape[-1]
    if inverse:
        tau = conj(tau)
    steps = []
    for k in reversed(range(count)) if backwards else range(count):
        v, factor = below[..., k : k + 1], unsqueeze(tau[..., k : k + 1], -1)
        steps.append((k, v, factor, X))
        X = X - v * factor @ (adjoint(v) @ X)
    return X, steps


@_ormqr.vjp_all
def _reflections_vjp(g: Any, wanted: Any, A: Any, tau: Any, other: Any, backwards: bool, inverse: bool) -> Any:
    if 0 in tau.shape:  # no reflections
        return None, None, g
    of_v: dict[int, Any] = {}
    of_tau: dict[int, Any] = {}
    for k, v, factor, X in reversed(_apply_reflections(A, tau, other, backwards, inverse)[1]):
        along, g_along = adjoint(v) @ X, adjoint(v) @ g
        of_v[k] = -(g @ adjoint(along) * conj(factor) + X @ adjoint(g_along) * factor)
        of_tau[k] = -(g_along @ adjoint(along))[..., 0]
        g = g - v * conj(factor) @ g_along
    rest = A[..., len(of_v) :] * 0
    g_tau = cat([of_tau[k] for k in sorted(of_tau)], -1)
    return tril(cat([of_v[k] for k in sorted(of_v)] + [rest], -1), -1), conj(g_tau) if inverse else g_tau, g


def linalg_householder_product(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of a product of reflections: Q, from what :func:`torch.geqrf` returns.

    Args:
        input: ``(..., n, m)`` with ``n >= m``; its columns below the diagonal are looked at.
        tau: ``(..., k)`` with ``k <= m``.

    Returns:
        ``(..., n, m)``.

    >>> import pullback as torch
    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    name = "torch.linalg.householder_product"
    A, t = input._array, tau._array
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    (n, m), k = A.shape[-2:], t.shape[-1]
    if n < m:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if m < k:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - t.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {t.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if t.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch of tau to be equal to input.shape[:-2], but got {list(t.shape[:-1])}"
        )
    if input.dtype is not tau.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {type_name(tau.dtype)} does not match input dtype {type_name(input.dtype)}"
        )
    check_kernel(input, "orgqr_cpu")
    start = record.wrap(identity(A, n, m))
    result = _ormqr(input, tau, expand(start, (*A.shape[:-2], n, m)) if A.ndim > 2 else start, True, False)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@op.composite
def orgqr(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The same as :func:`torch.linalg.householder_product`."""
    return linalg_householder_product(input, tau, out=out)


@op.composite
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *, out: Any = None
) -> Tensor:
    """``Q @ other``, where Q, ``(..., n, n)``, is the product of the reflections that :func:`geqrf` returned.

    Args:
        input: ``(..., n, k)``.
        tau: ``(..., k)``.
        other: ``(..., n, p)``, or ``(..., p, n)`` if not ``left``.
        left: multiply from the left; else ``other @ Q``.
        transpose: multiply with ``Q.mH`` instead.

    >>> import pullback as torch
    >>> a, tau = torch.geqrf(torch.tensor([[3.0], [4.0]]))
    >>> torch.ormqr(a, tau, torch.tensor([[3.0], [4.0]]), transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
    shape = input._array.shape
    for name, x in (("input", input), ("other", other)):
        if x._array.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    side, name = (-2, "other.shape[-2]") if left else (-1, "other.shape[-1]")
    along = other._array.shape[side]
    if tau._array.shape[-1] != min(along, shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min({name}, input.shape[-1])")
    if along != shape[-2]:
        raise RuntimeError(f"torch.ormqr: {name} must be equal to input.shape[-2]")
    for name, x, missing in (("tau", tau, 1), ("other", other, 0)):
        if x._array.ndim + missing != len(shape):
            raise RuntimeError(
                f"torch.ormqr: Expected {name} to have "
                f"{'one dimension less than' if name == 'tau' else 'the same number of dimensions as'} "
                f"input, but got {name}.ndim equal to {x.ndim} and input.ndim is equal to {len(shape)}"
            )
        batch = x._array.shape[: len(shape) - 2]
        if batch != shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], but got "
                f"{list(batch)}"
            )
        if x.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype "
                f"{type_name(input.dtype)} and {name} has dtype {type_name(x.dtype)}"
            )
    check_kernel(input, "ormqr_cpu")
    if left:
        result = _ormqr(input, tau, other, not transpose, transpose)
    else:  # (Q* other*)*
        result = adjoint(_ormqr(input, tau, adjoint(other), transpose, not transpose))
    return result if out is None else inplace.write_out(out, result)
