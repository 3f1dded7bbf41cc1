"""``linalg.eigh``, ``eig``, ``svd``, their values alone, ``svd_lowrank`` and ``pca_lowrank``.

Eigenvectors: Giles (2008), 3.1 and 3.2. Singular vectors: J. Townsend, "Differentiating the singular value
decomposition" (2016); for complex numbers Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued
SVD" (2019). Derivatives of vectors do not exist where values coincide; ``eigvals``, ``eigvalsh`` and ``svdvals`` have
rules without that restriction. The phases (or signs) of vectors are arbitrary, and losses must not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..base.dtypes import FLOAT32, OF_NUMPY, complex64
from ..base.errors import with_notes
from ..core import inplace, op, record
from ..core.tensor import Tensor
from ..return_types import named
from .cholesky_qr import linalg_qr, qr_one_matrix
from .complex import imag, is_complex, real
from .complex import resolved_conj as conj
from .concat import diag_embed
from .linalg_checks import (
    adjoint,
    check_matrix,
    check_phase,
    check_square,
    for_each_matrix,
    identity,
    is_undefined,
    run_iterative,
    scipy_linalg,
)
from .matmul import matmul
from .random import randn
from .reduce import mean
from .slicing_views import diagonal
from .solve import linalg_solve_ex
from .view import unsqueeze
from .where import where

__all__ = ["pca_lowrank", "svd", "svd_lowrank"]

COMPLEX64 = complex64.numpy


def pairwise_differences(x: Any, y: Any = None) -> Any:
    """``x[j] - x[i]`` at row i and column j (times ``y[i] + y[j]``, if given), and 1 on the diagonal."""
    gaps = unsqueeze(x, -2) - unsqueeze(x, -1)
    if y is not None:
        gaps = gaps * (unsqueeze(y, -2) + unsqueeze(y, -1))
    return where(identity(gaps, x.shape[-1]) != 0, 1, gaps)


# --- Hermitian matrices -----------------------------------------------------------------------------------------


def _check_triangle(input: np.ndarray, UPLO: str) -> None:
    check_square(input, "linalg.eigh", "linalg_eigh_cpu")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


def _nan_of_nan(results: Sequence[np.ndarray], input: np.ndarray, UPLO: str) -> Sequence[np.ndarray]:
    """NaN for matrices with NaN in the triangle that is looked at, for which LAPACK may give numbers."""
    if np.isnan(input).any():
        unknown = np.isnan(np.tril(input) if UPLO == "L" else np.triu(input)).any((-2, -1))
        for result in results:
            result[unknown] = np.nan
    return results


@op.general(method=False, outputs="eigenvalues eigenvectors", holomorphic=False)
def linalg_eigh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues and eigenvectors of Hermitian (or symmetric) matrices: ``input = V @ diag(L) @ V.mH``.

    Args:
        input: ``(..., n, n)``.
        UPLO: look at the lower ("L") or the upper ("U") triangle only.

    Returns:
        ``eigenvalues``, real, ``(..., n)``, ascending; ``eigenvectors``, orthonormal columns, ``(..., n, n)``.

    Raises:
        LinAlgError: if the algorithm does not converge.

    Derivative: Hermitian, for both triangles together; NaN for vectors where eigenvalues coincide.

    >>> import pullback as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    _check_triangle(input, UPLO)
    return tuple(_nan_of_nan(run_iterative(np.linalg.eigh, input, UPLO.upper()), input, UPLO.upper()))


@linalg_eigh.vjp_all
def _eigh_vjp(g: Any, wanted: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    (g_L, g_V), L, V = g, eigenvalues, eigenvectors
    if is_undefined(g_V):
        return ((V * unsqueeze(g_L, -2)) @ adjoint(V),)
    inner = adjoint(V) @ g_V
    if is_complex(inner):
        check_phase(imag(diagonal(inner, 0, -2, -1)), "linalg_eigh_backward", "eigenvectors")
    # dV = V W with W skew-Hermitian (a rotation): only the skew-Hermitian part of Vᴴ g matters.
    turn = (inner - adjoint(inner)) / 2
    inner = where(identity(inner, L.shape[-1]) != 0, unsqueeze(g_L, -2), turn / pairwise_differences(L))
    return (V @ inner @ adjoint(V),)


@op.general(method=False, node="LinalgEighBackward0", holomorphic=False)
def linalg_eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian (or symmetric) matrices, ascending; arguments as for :func:`torch.linalg.eigh`.

    Derivative: that of an eigenvalue is ``v v*``, also where eigenvalues coincide (for any basis of the eigenspace).

    >>> import pullback as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    _check_triangle(input, UPLO)
    return _nan_of_nan([run_iterative(np.linalg.eigvalsh, input, UPLO.upper())], input, UPLO.upper())[0]


def _eigvalsh_vjp(g: Any, input: Any, UPLO: str) -> Any:
    V = linalg_eigh(input, UPLO)[1]
    return (V * unsqueeze(g, -2)) @ adjoint(V)


linalg_eigvalsh.vjp(input=_eigvalsh_vjp)


# --- any square matrices ----------------------------------------------------------------------------------------


def _check_finite(input: np.ndarray, name: str) -> None:
    check_square(input, name, "linalg_eig_out_cpu")
    if not np.isfinite(input).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _eig(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``np.linalg.eig``, but single precision stays single: NumPy would see noise that is not in these numbers."""
    if A.dtype not in (FLOAT32, COMPLEX64) or not A.size:
        return np.linalg.eig(A)
    L, V = np.empty(A.shape[:-1], COMPLEX64), np.empty(A.shape, COMPLEX64)
    for_each_matrix(partial(scipy_linalg().eig, check_finite=False), (A,), (L, V), A.shape[:-2])
    return L, V


def _eigvals(A: np.ndarray) -> np.ndarray:
    """``np.linalg.eigvals``, likewise."""
    if A.dtype not in (FLOAT32, COMPLEX64) or not A.size:
        return np.linalg.eigvals(A)
    L = np.empty(A.shape[:-1], COMPLEX64)
    for_each_matrix(lambda a: (scipy_linalg().eigvals(a, check_finite=False),), (A,), (L,), A.shape[:-2])
    return L


@op.general(method=False, outputs="eigenvalues eigenvectors", holomorphic=False, check_out=inplace.castable)
def linalg_eig(input: Tensor) -> Tensor:
    """Eigenvalues and eigenvectors of square matrices ``(..., n, n)``: ``input @ V = V @ diag(L)``.

    Returns:
        ``eigenvalues``, ``(..., n)``, in no particular order; ``eigenvectors``, columns of norm 1, ``(..., n, n)``.
        Both are complex, also for real matrices.

    Raises:
        RuntimeError: for infinities and NaN.

    >>> import pullback as torch
    >>> torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    _check_finite(input, "linalg.eig")
    d = OF_NUMPY[input.dtype].to_complex().numpy
    L, V = run_iterative(_eig, input)
    return L.astype(d, copy=False), V.astype(d, copy=False)


@linalg_eig.vjp_all
def _eig_vjp(g: Any, wanted: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    (g_L, g_V), L, V_adjoint = g, eigenvalues, adjoint(eigenvectors)
    if is_undefined(g_V):
        inner = diag_embed(g_L)
    else:
        inner = V_adjoint @ g_V
        along = diagonal(inner, 0, -2, -1)
        check_phase(imag(along), "linalg_eig_backward", "eigenvectors")
        inner = inner - (V_adjoint @ eigenvectors) * unsqueeze(real(along), -2)  # their norm stays 1
        gaps = pairwise_differences(conj(L))
        inner = where(identity(inner, L.shape[-1]) != 0, unsqueeze(g_L, -2), inner / gaps)
    return (linalg_solve_ex(V_adjoint, inner @ V_adjoint)[0],)


@op.general(method=False, node="LinalgEigBackward0", holomorphic=False, check_out=inplace.castable)
def linalg_eigvals(input: Tensor) -> Tensor:
    """Eigenvalues of square matrices ``(..., n, n)``: complex, in no particular order.

    >>> import pullback as torch
    >>> torch.linalg.eigvals(torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j])
    """
    _check_finite(input, "linalg.eigvals")
    L = run_iterative(_eigvals, input)
    return L.astype(OF_NUMPY[input.dtype].to_complex().numpy, copy=False)


def _eigvals_vjp(g: Any, input: Any) -> Any:
    V_adjoint = adjoint(linalg_eig(input)[1])
    return linalg_solve_ex(V_adjoint, unsqueeze(g, -1) * V_adjoint)[0]


linalg_eigvals.vjp(input=_eigvals_vjp)


# --- singular values --------------------------------------------------------------------------------------------


def _check_driver(driver: str | None, name: str) -> None:
    if driver is not None:
        raise with_notes(
            RuntimeError(f"{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."),
            "Leave it away.",
        )


# aspect ratio from which the SVD of R from a QR is faster (T. F. Chan, ACM Trans. Math. Softw. 8, 1982)
LONG = 32


def _svd_by_qr(A: np.ndarray, vectors: bool) -> tuple[Any, ...] | None:
    """The thin SVD of one long matrix, by way of its QR; None for others."""
    n, m = A.shape[-2:]
    if A.ndim > 2 or not A.size or max(n, m) < LONG * min(n, m):
        return None
    if n < m:
        turned = _svd_by_qr(A.T, vectors)
        return None if turned is None else (turned[2].T, turned[1], turned[0].T if vectors else None)
    Q, R = qr_one_matrix(A, "reduced" if vectors else "r")
    if not np.isfinite(R).all():  # perhaps an overflow
        return None
    U, S, Vh = run_iterative(np.linalg.svd, R, False)
    return Q @ U if vectors else None, S, Vh


@op.general(method=False, outputs="U S Vh", holomorphic=False)
def linalg_svd(A: Tensor, full_matrices: bool = True, driver: str | None = None) -> Tensor:
    """Singular value decomposition ``A = U @ diag(S) @ Vh``.

    Args:
        A: ``(..., n, m)``; ``k = min(n, m)``.
        full_matrices: whether U and Vh are square.

    Returns:
        ``U``, ``(..., n, n)`` or ``(..., n, k)``; ``S``, real, ``(..., k)``, descending; ``Vh``, ``(..., m, m)`` or
        ``(..., k, m)``.

    Raises:
        LinAlgError: if the algorithm does not converge.

    Derivative: of the first k singular vectors; NaN for vectors where singular values coincide.

    >>> import pullback as torch
    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    check_matrix(A, "linalg.svd", "linalg_svd_cpu")
    _check_driver(driver, "torch.linalg.svd")
    found = None if full_matrices else _svd_by_qr(A, True)
    return tuple(run_iterative(np.linalg.svd, A, full_matrices) if found is None else found)


@linalg_svd.vjp_all
def _svd_vjp(g: Any, wanted: Any, U: Any, S: Any, Vh: Any) -> Any:
    g_U, g_S, g_Vh = g
    k = S.shape[-1]
    U, g_U, Vh, g_Vh = U[..., :, :k], g_U[..., :, :k], Vh[..., :k, :], g_Vh[..., :k, :]
    if is_undefined(g_U) and is_undefined(g_Vh):
        return ((U * unsqueeze(g_S, -2)) @ Vh,)
    turn_U, turn_V = (x - adjoint(x) for x in (adjoint(U) @ g_U, Vh @ adjoint(g_Vh)))
    inner = (turn_U * unsqueeze(S, -2) + unsqueeze(S, -1) * turn_V) / pairwise_differences(S, S)
    on_diagonal = unsqueeze(g_S, -2)
    if is_complex(inner):
        phases = diagonal(turn_U, 0, -2, -1)
        check_phase(imag(phases) + imag(diagonal(turn_V, 0, -2, -1)), "svd_backward", "singular vectors")
        if not is_undefined(g_U):
            on_diagonal = on_diagonal + unsqueeze(phases / (2 * S), -2)
    inner = where(identity(inner, k) != 0, on_diagonal, inner)
    left = U @ inner
    if U.shape[-2] > k and not is_undefined(g_U):
        left = left + (g_U - U @ (adjoint(U) @ g_U)) / unsqueeze(S, -2)
    g_A = left @ Vh
    if Vh.shape[-1] > k and not is_undefined(g_Vh):
        g_A = g_A + (U / unsqueeze(S, -2)) @ (g_Vh - (g_Vh @ adjoint(Vh)) @ Vh)
    return (g_A,)


@op.general(method=False, node="LinalgSvdBackward0", holomorphic=False)
def linalg_svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """Singular values of matrices ``(..., n, m)``: real, descending, ``(..., min(n, m))``.

    Derivative: that of a singular value is ``u v*``, also where some coincide (for any basis of the singular space).

    >>> import pullback as torch
    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    check_matrix(A, "linalg.svd", "linalg_svd_cpu")
    _check_driver(driver, "torch.linalg.svd")
    found = _svd_by_qr(A, False)
    return run_iterative(np.linalg.svd, A, compute_uv=False) if found is None else found[1]


def _svdvals_vjp(g: Any, A: Any) -> Any:
    U, _, Vh = linalg_svd(A, False)
    return (U * unsqueeze(g, -2)) @ Vh


linalg_svdvals.vjp(A=_svdvals_vjp)

OldSVD = named("svd", ("U", "S", "V"))


@op.composite
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """Singular value decomposition ``input = U @ diag(S) @ V.mH``. Deprecated: see :func:`torch.linalg.svd`.

    Args:
        some: return only the first ``min(n, m)`` columns of U and V.
        compute_uv: otherwise U and V are zeros.

    >>> import pullback as torch
    >>> torch.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead"
        )
    if compute_uv:
        U, S, Vh = linalg_svd(input, not some)
        result = OldSVD(U, S, adjoint(Vh))
    else:
        *batch, n, m = input.shape
        empty = [record.wrap(np.zeros((*batch, k, k), input.dtype.numpy)) for k in (n, m)]
        result = OldSVD(empty[0], linalg_svdvals(input), empty[1])
    return result if out is None else inplace.write_out(out, result)


# --- low rank ---------------------------------------------------------------------------------------------------


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximate singular value decomposition of rank q, by projection onto a random subspace.

    N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness" (2011), algorithms 4.4 and 5.1.

    Args:
        A: ``(..., n, m)``.
        q: somewhat more than the rank of A.
        niter: how often to multiply with ``A @ A.mH``, which brings the subspace closer to the leading vectors.
        M: to be subtracted from A; broadcasts to it.

    Returns:
        U, S, V with ``A - M`` about ``U @ diag(S) @ V.mH``; their last sizes are ``min(q, n, m)``.

    >>> import pullback as torch
    >>> U, S, V = torch.svd_lowrank(torch.ones(4, 3), q=2); U.shape, V.shape
    (torch.Size([4, 2]), torch.Size([3, 2]))
    """
    if M is not None and not A.is_sparse:
        A, M = A - M, None
    (n, m), A_h = A.shape[-2:], adjoint(A)

    def along(X: Tensor) -> Tensor:
        """``(A - M) @ X``; what is subtracted from a sparse matrix is multiplied by itself."""
        return matmul(A, X) if M is None else matmul(A, X) - matmul(M, X)

    def back(X: Tensor) -> Tensor:
        """``(A - M).mH @ X``."""
        if M is None:
            return matmul(A_h, X)
        return matmul(A_h, X) - matmul(adjoint(M), X.sum(-2, True) if M.shape[-2] == 1 else X)

    wide = n < m
    if wide:
        along, back = back, along
    Q = linalg_qr(along(randn(min(n, m), 6 if q is None else q, dtype=A.dtype)))[0]
    for _ in range(2 if niter is None else niter):  # power iterations
        Q = linalg_qr(along(linalg_qr(back(Q))[0]))[0]
    U, S, Vh = linalg_svd(adjoint(back(Q)), False)
    U, V = matmul(Q, U), adjoint(Vh)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of n samples of m features: :func:`svd_lowrank` of a matrix less the means of its columns.

    Args:
        A: ``(..., n, m)``.
        q: how many; default ``min(6, n, m)``.
        center: whether to subtract the means.

    Returns:
        U, S, V, where the columns of V are the principal directions and ``S ** 2 / (n - 1)`` their variances.

    >>> import pullback as torch
    >>> torch.pca_lowrank(torch.ones(4, 3), q=2)[1]
    tensor([0., 0.])
    """
    n, m = A.shape[-2:]
    q = min(6, n, m) if q is None else q
    if not 0 <= q <= min(n, m):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(n, m)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        raise ValueError(f"A(={A.dtype}) must be floating point")
    if A.is_sparse and A.ndim != 2:
        raise ValueError("pca_lowrank input is expected to be 2-dimensional tensor")
    if not center:
        return svd_lowrank(A, q, niter)
    return svd_lowrank(A, q, niter, (A.sum(-2, True).to_dense() / n if A.is_sparse else mean(A, -2, True)))
