"""``pinv``, ``lstsq`` and ``matrix_rank``: for matrices of any shape and rank.

The derivative of the pseudo-inverse is that of G. H. Golub and V. Pereyra (SIAM J. Numer. Anal. 10, 1973, eq. 4.12),
which holds where the rank does not change nearby.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.dtypes import INT64, OF_NUMPY, type_name
from ..base.errors import broadcast_error
from ..core import inplace, op
from ..core.tensor import Tensor
from .linalg_checks import (
    LinAlgError,
    adjoint,
    check_dtype,
    check_info,
    check_matrix,
    check_square,
    for_each_matrix,
    is_undefined,
    is_vector,
    lapack,
    run_iterative,
)
from .view import unsqueeze

__all__ = ["pinverse"]


def cutoff(largest: np.ndarray, input: np.ndarray, atol: Any, rtol: Any) -> np.ndarray:
    """The threshold below which singular values count as 0: ``max(atol, rtol * largest)``, of shape ``(..., 1)``.

    The default of ``rtol`` is machine epsilon times the larger size of the matrix, or 0 where ``atol`` is positive.
    """
    a, r = (np.asarray(getattr(t, "_array", t), largest.dtype) if t is not None else None for t in (atol, rtol))
    if r is None:
        eps = np.finfo(input.dtype).eps * max(input.shape[-2:])
        r = np.asarray(eps) if a is None else np.where(a > 0, 0, eps)
    return np.maximum(0 if a is None else a[..., None], r[..., None] * largest)


def _first_given(old: Any, new: Any) -> Any:
    return new if old is None else old


# --- pseudo-inverses --------------------------------------------------------------------------------------------


@op.general(name="linalg_pinv", method=False, holomorphic=False)
def _pseudo_inverse(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    if input.ndim < 2:
        kind = type_name(OF_NUMPY[input.dtype])
        raise RuntimeError(
            f"linalg.pinv({kind}{{{list(input.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    check_dtype(input, "linalg.pinv")
    if not input.size:
        return np.zeros(input.mT.shape, input.dtype)
    if hermitian:
        check_square(input, "linalg.eigh")
        S, V = run_iterative(np.linalg.eigh, input)
        U, size = V, np.abs(S)
    else:
        U, S, Vh = run_iterative(np.linalg.svd, input, full_matrices=False)
        V, size = np.conjugate(Vh.mT), S
    small = size <= cutoff(size.max(-1, keepdims=True), input, atol, rtol)
    inverted = np.where(small, 0, 1 / np.where(small, 1, S))
    return (V * inverted[..., None, :]) @ np.conjugate(U.mT)


def pinv_vjp(g: Any, input: Any, out: Any) -> Any:
    """The gradient of A, given that of its pseudo-inverse ``out``."""
    P = adjoint(out)
    g_adjoint = adjoint(g)
    inner = g_adjoint @ out
    left, right = inner @ P, (P @ out) @ g_adjoint
    return left - input @ (out @ left) + right - (right @ out) @ input - P @ g @ P


_pseudo_inverse.vjp(input=pinv_vjp)


def linalg_pinv(
    input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """Moore-Penrose pseudo-inverses of matrices ``(..., n, m)``.

    Args:
        atol, rtol: singular values up to ``max(atol, rtol * largest)`` count as 0; numbers, or a tensor with one a
            matrix.
            Default of ``rtol``: machine epsilon times ``max(n, m)``, or 0 if ``atol`` is positive.
        rcond: another name of ``rtol``.
        hermitian: the matrices are Hermitian (only the lower triangle is read).

    Returns:
        ``(..., m, n)``.

    >>> import pullback as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    result = _pseudo_inverse(input, atol, _first_given(rcond, rtol), hermitian)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@op.composite
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The same as :func:`torch.linalg.pinv`, with another default.

    >>> import pullback as torch
    >>> torch.pinverse(torch.tensor([[2.0, 0.0]]))
    tensor([[0.5000],
            [0.0000]])
    """
    return linalg_pinv(input, rcond)


@op.general(name="linalg_matrix_rank", method=False)
def _rank(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    check_matrix(input, "torch.linalg.matrix_rank")
    if not input.size:
        return np.zeros(input.shape[:-2], INT64)
    if hermitian:
        check_square(input, "linalg.eigh")
        size = np.abs(run_iterative(np.linalg.eigvalsh, input))
    else:
        size = run_iterative(np.linalg.svd, input, compute_uv=False)
    return np.sum(size > cutoff(size.max(-1, keepdims=True), input, atol, rtol), -1, dtype=INT64)


def linalg_matrix_rank(
    input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Tensor:
    """How many singular values of matrices ``(..., n, m)`` are not 0; arguments as for :func:`torch.linalg.pinv`.

    Args:
        tol: another name of ``atol``, with ``rtol`` 0.

    Returns:
        int64, ``(...)``.

    >>> import pullback as torch
    >>> torch.linalg.matrix_rank(torch.ones(2, 2))
    tensor(1)
    """
    result = _rank(input, _first_given(tol, atol), rtol if tol is None else 0.0, hermitian)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


# --- least squares ----------------------------------------------------------------------------------------------

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@op.general(
    name="linalg_lstsq",
    method=False,
    outputs="solution residuals rank singular_values",
    differentiable="solution residuals",
    holomorphic=False,
    check_out=inplace.castable,
)
def linalg_lstsq(input: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> Tensor:
    """The X of least norm for which ``norm(A X - B)`` is least.

    Args:
        input: A, ``(..., n, m)``.
        b: B, ``(..., n, k)``, or ``(..., n)`` for vectors; of the same dtype.
        rcond: singular values up to ``rcond`` times the largest count as 0; default: machine epsilon times ``max(n,
            m)``.
        driver: LAPACK's routine: ``"gelsy"`` (default), ``"gelsd"``, ``"gelss"``, or ``"gels"`` for matrices of full
            rank.

    Returns:
        ``solution``, ``(..., m, k)``; ``residuals``, the squared norms of ``A X - B``, empty unless ``n > m`` and the
        ranks are full; ``rank``, empty for "gels"; ``singular_values``, empty but for "gelsd" and "gelss".

    Raises:
        RuntimeError: for other shapes, dtypes and drivers.
        LinAlgError: for matrices that are not of full rank, with "gels".

    >>> import pullback as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [2.0]])).solution
    tensor([[1.5000]])
    """
    A: Any
    B: Any
    A, B, name = input, b, "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    check_dtype(A, name)
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{type_name(OF_NUMPY[A.dtype])} and other's dtype {type_name(OF_NUMPY[B.dtype])}"
        )
    driver = driver or "gelsy"
    if driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(DRIVERS)})")
    (n, m), vector = A.shape[-2:], is_vector(A.shape, B.shape)
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if n != B.shape[-1 if vector or B.ndim < A.ndim else -2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if B.ndim < A.ndim else -2})")
    right = B[..., None] if vector else B
    batch = A.shape[:-2]
    if right.shape[:-2] != batch:
        if broadcast_error(name, [batch, right.shape[:-2]]):
            raise RuntimeError(
                f"{name}: batch dimensions of input and other should broadcast, but they are {batch} and "
                f"{right.shape[:-2]}"
            )
        batch = np.broadcast_shapes(batch, right.shape[:-2])
        A, right = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (A, right))
    kind = OF_NUMPY[A.dtype].to_real().numpy
    X = np.zeros((*batch, m, right.shape[-1]), A.dtype)
    rank, S = np.zeros(batch, INT64), np.zeros((*batch, min(n, m)), kind)
    # "gels" takes full rank for granted, whatever rcond says
    cut = np.finfo(A.dtype).eps * max(n, m) if rcond is None or driver == "gels" else rcond
    by_values = driver in ("gelsd", "gelss")
    if by_values and not np.isfinite(A).all():  # LAPACK may never return
        raise LinAlgError(f"{name}: the input matrix contained non-finite values.")
    together = by_values and math.prod(batch) >= 2 * min(n, m)
    if together:
        X, rank, S = _lstsq_by_svd(A, right, cut)
    elif A.size and right.size:
        for_each_matrix(
            lambda a, b: _lstsq_one_matrix(a, b, cut, "gelsy" if driver == "gels" else driver),
            [A, right],
            [X, rank, S],
            batch,
        )
    if driver == "gels":
        lacking = np.where(rank < min(n, m), rank + 1, 0) if A.size else 0
        check_info(
            lacking,
            name,
            "The least squares solution could not be computed because the input matrix does not have full "
            "rank (error code: {}).",
        )
    residuals = np.empty(0, kind)
    if n > m and driver != "gelsy" and (rank == m).all():
        errors = A @ X - right
        residuals = np.sum(np.square(np.abs(errors)), -2, dtype=kind)
    none = np.empty(0, kind)
    return (
        X[..., 0] if vector else X,
        residuals,
        rank if driver != "gels" else np.empty(0, INT64),
        S if by_values else none,
    )


def _lstsq_one_matrix(A: np.ndarray, B: np.ndarray, cut: float, driver: str) -> tuple[np.ndarray, int, Any]:
    """The solution, rank and (0 from "gelsy") singular values of one matrix, from LAPACK."""
    (n, m), k = A.shape, B.shape[1]
    if n < m:  # LAPACK overwrites B with the solution, which is longer
        B = np.concatenate((B, np.zeros((m - n, k), B.dtype)))
    routine, room = lapack(driver, A.dtype), _workspace_sizes(driver, A.dtype, n, m, k)
    if driver == "gelsy":
        _, X, _, rank, _ = routine(A, B, np.zeros((m, 1), np.int32), cut, *room)
        return X[:m], rank, 0
    if driver == "gelsd":
        X, S, rank, info = routine(A, B, *room, cut)
    else:
        _, X, S, rank, _, info = routine(A, B, cut, *room)
    if info:
        raise LinAlgError("torch.linalg.lstsq: The algorithm failed to converge.")
    return X[:m], rank, S


@lru_cache(64)
def _workspace_sizes(driver: str, dtype: np.dtype, n: int, m: int, k: int) -> list[int]:
    """The workspace sizes that the routine asks for; rounded up, as it returns them in single precision."""
    cut = (0.0,) if driver == "gelsy" else ()
    *sizes, _ = lapack(driver + "_lwork", dtype)(n, m, k, *cut)
    return [int(abs(size) * 1.000001) + 1 for size in sizes]


def _lstsq_by_svd(A: np.ndarray, B: np.ndarray, cut: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The solutions, ranks and singular values of many small matrices at once, as ``gelss`` finds them."""
    U, S, Vh = np.linalg.svd(A, full_matrices=False)
    counts = S > cut * S[..., :1]
    along = adjoint(U) @ B
    along *= np.where(counts, 1 / np.where(counts, S, 1), 0)[..., None]
    return adjoint(Vh) @ along, counts.sum(-1), S


@linalg_lstsq.vjp_all
def _lstsq_vjp(g: Any, wanted: Any, input: Any, b: Any, solution: Any, rcond: Any) -> Any:
    """X is ``pinv(A) @ B``; the residuals depend on A and B directly, as X minimises them."""
    g_X, g_residuals = g
    A, vector = input, is_vector(input.shape, b.shape)
    X, B, g_X = (unsqueeze(x, -1) if vector else x for x in (solution, b, g_X))
    g_A = g_B = None
    if not is_undefined(g_X):
        inverse = _pseudo_inverse(A, None, rcond, False)
        g_B = adjoint(inverse) @ g_X
        g_A = pinv_vjp(g_X @ adjoint(B), A, inverse)
    if 0 not in g_residuals.shape and not is_undefined(g_residuals):
        error = (A @ X - B) * (2 * unsqueeze(g_residuals, -2))
        g_A = error @ adjoint(X) if g_A is None else g_A + error @ adjoint(X)
        g_B = -error if g_B is None else g_B - error
    return g_A, g_B[..., 0] if vector and g_B is not None else g_B
