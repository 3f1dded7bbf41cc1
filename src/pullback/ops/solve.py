"""``inv``, ``linalg.solve``, ``solve_triangular``, ``tensorinv`` and ``tensorsolve``.

With ``A X = B`` the gradients are ``g_B = A⁻ᵀ g`` and ``g_A = -g_B Xᵀ`` (Giles 2008, 2.2.3 and 2.3.1). Batches of
matrices broadcast. Singular matrices raise :class:`torch.linalg.LinAlgError`, except in the functions whose name ends
in ``_ex``, which return LAPACK's ``info`` with a result of infinities and NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..base.dtypes import OF_NUMPY, type_name
from ..base.errors import with_notes
from ..base.layout import as_contiguous, contiguous_copy
from ..core import inplace, op
from ..core.override import overridable
from ..core.tensor import Tensor
from ..kernels import gemm
from .concat import tril, triu
from .linalg_checks import blas, check_dtype, check_info, check_square, for_each_matrix, is_vector, lapack
from .view import expand, movedim, reshape, unsqueeze

__all__ = ["inverse", "triangular_solve"]

SINGULAR = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."


SPAN = 64  # rows of a triangular matrix that are solved at a time
LARGE = 100  # rows from which a single matrix is solved in its own precision, as in PyTorch

# --- LU and substitution, on arrays -----------------------------------------------------------------------------


def lu_factor_arrays(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LU decomposition with partial pivoting of matrices ``(..., n, m)``.

    Returns:
        L below the diagonal and U above; the row (counted from 1) that each row was exchanged with; the index (from 1)
        of the first zero on the diagonal of U, or 0.
    """
    batch, k = A.shape[:-2], min(A.shape[-2:])
    if not batch and k:
        LU, pivots, info = lapack("getrf", A.dtype)(A)
        pivots += 1
        return _nan_after_nan(as_contiguous(LU)), pivots, np.array(info, np.int32)
    if prod(batch) >= 2 * k and k:
        return lu_factor_small(A)
    LU, pivots, info = np.empty(A.shape, A.dtype), np.empty((*batch, k), np.int32), np.zeros(batch, np.int32)
    if k:
        for_each_matrix(lapack("getrf", A.dtype), [A], [LU, pivots, info], batch)
        pivots += 1
    return _nan_after_nan(LU), pivots, info


def _nan_after_nan(LU: np.ndarray) -> np.ndarray:
    """NaN right of and below a pivot that is NaN, where LAPACK goes on as if there was nothing to subtract."""
    for matrix in LU.reshape(-1, *LU.shape[-2:]) if np.isnan(LU).any() else ():
        unknown = np.isnan(matrix.diagonal())
        if unknown.any():
            first = unknown.argmax()
            matrix[first + 1 :, first:] = np.nan
    return LU


def lu_factor_small(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`lu_factor_arrays` of many small matrices at once."""
    *batch, n, m = A.shape
    k, LU = min(n, m), A.reshape(-1, n, m).copy()
    each_one, pivots, info = np.arange(len(LU)), np.empty((len(LU), k), np.int32), np.zeros(len(LU), np.int32)
    for j in range(k):
        column = LU[:, j:, j]
        # LAPACK's choice of the pivot
        size = np.abs(column) if LU.dtype.kind != "c" else np.abs(column.real) + np.abs(column.imag)
        row = j + size.argmax(1)
        LU[each_one, row], LU[:, j] = LU[:, j].copy(), LU[each_one, row]
        pivots[:, j] = row + 1
        pivot = LU[:, j, j]
        zero = pivot == 0
        info[zero & (info == 0)] = j + 1
        LU[:, j + 1 :, j] /= np.where(zero, 1, pivot)[:, None]
        LU[:, j + 1 :, j + 1 :] -= LU[:, j + 1 :, j, None] * LU[:, None, j, j + 1 :]
    return LU.reshape(A.shape), pivots.reshape(*batch, k), info.reshape(batch)


def permutation_of_pivots(pivots: np.ndarray, n: int, name: str = "lu_factor") -> np.ndarray:
    """The permutation of n rows that the exchanges ``pivots`` make.

    Raises:
        RuntimeError: for a row that is not there, counted from 1, in the words of the function ``name``.
    """
    batch = pivots.shape[:-1]
    if pivots.size and not 1 <= pivots.min() <= pivots.max() <= n:
        if name == "lu_unpack":
            wrong = "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
        else:
            bound = "greater or equal to 1" if pivots.min() < 1 else "smaller or equal to LU.size(-2)"
            wrong = f"Pivots given to {name} must all be {bound}. "
        raise RuntimeError(f"{wrong}Did you properly pass the result of lu_factor?")
    if prod(batch) > 8:  # for the whole batch at once
        order = np.empty((*batch, n), np.int64)
        order[...] = np.arange(n)
        rows, each_one = order.reshape(-1, n), np.arange(prod(batch))
        for i, row in enumerate(pivots.reshape(len(rows), -1).T):
            rows[each_one, row - 1], rows[:, i] = rows[:, i].copy(), rows[each_one, row - 1]
        return order
    if batch:
        return np.array([permutation_of_pivots(pivots[i], n, name) for i in np.ndindex(batch)], np.int64).reshape(
            *batch, n
        )
    now = list(range(n))
    for i, row in enumerate(pivots.tolist()):
        now[i], now[row - 1] = now[row - 1], now[i]
    return np.array(now, np.int64)


def solve_triangular_arrays(
    A: np.ndarray, B: np.ndarray, upper: bool, left: bool = True, unit: bool = False
) -> np.ndarray:
    """The solution of ``A X = B`` (or ``X A = B``) for triangular A; not finite where a diagonal element is 0."""
    batch, n = A.shape[:-2], A.shape[-1]
    if not batch and B.size:  # one matrix for all right sides
        if B.ndim == 2 and min(B.shape) >= 2 * SPAN and B.dtype.kind == "f":
            return _solve_by_blocks(A, B, upper, unit) if left else _solve_by_blocks(A.T, B.T, not upper, unit).T
        if B.ndim == 2:
            # BLAS reads columns first: to it, rows of B are columns, and A X = B is Xᵀ Aᵀ = Bᵀ.
            return blas("trsm", A.dtype)(1, A.T, B.T, left, upper, 0, unit).T
        if left:
            return solve_triangular_arrays(A.T, B.mT, not upper, False, unit).mT.copy()
        return solve_triangular_arrays(A, B.reshape(-1, n), upper, False, unit).reshape(B.shape)
    if B.shape[:-2] != batch:
        batch = np.broadcast_shapes(batch, B.shape[:-2]) if batch and B.ndim > 2 else batch or B.shape[:-2]
        A, B = (x if x.shape[:-2] == batch else expand(x, batch + x.shape[-2:]) for x in (A, B))
    if prod(batch) >= 2 * n and n:
        return (
            _solve_triangular_small(A, B, upper, unit)
            if left
            else _solve_triangular_small(A.mT, B.mT, not upper, unit).mT
        )
    X = np.empty(B.shape, B.dtype)
    if X.size:
        for_each_matrix(lambda a, b: [solve_triangular_arrays(a, b, upper, left, unit)], [A, B], [X], batch)
    return X


def _solve_by_blocks(A: np.ndarray, B: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """:func:`solve_triangular_arrays` of one large matrix: nearly all of it as matrix products, which take half the
    time of BLAS's own routine.
    """
    X, n = contiguous_copy(B), len(A)
    starts = range(0, n, SPAN)
    for i in reversed(starts) if upper else starts:
        rows = slice(i, min(i + SPAN, n))
        done = slice(rows.stop, n) if upper else slice(0, i)
        if done.start < done.stop:
            X[rows] -= gemm.product(A[rows, done], X[done])
        X[rows] = solve_triangular_arrays(A[rows, rows], X[rows], upper, unit=unit)
    return X


def _solve_triangular_small(A: np.ndarray, B: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """:func:`solve_triangular_arrays` of many small matrices at once, by substitution row by row."""
    X, n = B.copy(), A.shape[-1]
    for i in range(n - 1, -1, -1) if upper else range(n):
        row, done = X[..., i, :], slice(i + 1, n) if upper else slice(0, i)
        row -= (A[..., i, None, done] @ X[..., done, :])[..., 0, :]
        if not unit:
            row /= A[..., i, i, None]
    return X


def solve_unchecked(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The solutions of ``A X = B``, not finite where A is singular, and LAPACK's ``info``."""
    LU, pivots, info = lu_factor_arrays(A)
    order = permutation_of_pivots(pivots, A.shape[-1])
    if order.ndim == 1:
        turned = B[..., order, :]
    else:
        B = np.broadcast_to(B, np.broadcast_shapes(A.shape[:-2], B.shape[:-2]) + B.shape[-2:])
        turned = np.take_along_axis(B, np.broadcast_to(order, B.shape[:-1])[..., None], -2)
    return solve_triangular_arrays(LU, solve_triangular_arrays(LU, turned, False, unit=True), True), info


MANY, FEW = 500, 5  # from so many matrices, of at most so many rows: LAPACK takes 0.3 µs for each
BLOCK = 1 << 12  # matrices at a time, so that they stay in the cache


def is_large(A: np.ndarray) -> bool:
    """Whether this is a single matrix for which NumPy's routines, which widen float32, would take long."""
    return A.ndim == 2 and len(A) >= LARGE and A.dtype.kind == "f"


def _solve_large(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The solutions of ``A X = B`` for one large matrix; raises for a singular one."""
    X, info = solve_unchecked(A, B)
    if info:
        raise np.linalg.LinAlgError
    return X


def invert_arrays(A: np.ndarray) -> np.ndarray:
    """Inverses of matrices, all but of a large one computed in double precision; raises for singular ones."""
    if is_large(A):
        return _solve_large(A, np.eye(len(A), dtype=A.dtype))
    if 0 < A.shape[-1] <= FEW and prod(A.shape[:-2]) >= MANY:
        out = _invert_small(A)
        if np.isfinite(out).all():
            return out
    return np.linalg.inv(A)


def _invert_small(A: np.ndarray) -> np.ndarray:
    """Gauss-Jordan elimination with partial pivoting of many matrices at once; not finite where one is singular."""
    flat, n = A.reshape(-1, *A.shape[-2:]), A.shape[-1]
    out = np.empty_like(flat)
    for i in range(0, len(flat), BLOCK):
        rows = np.zeros((n, 2 * n, len(flat[i : i + BLOCK])), np.result_type(A, np.float64))
        rows[:, :n] = flat[i : i + BLOCK].transpose(1, 2, 0)
        rows[range(n), range(n, 2 * n)] = 1
        for j in range(n):
            for k in range(j + 1, n):
                first, other = rows[j, j:], rows[k, j:]
                larger = np.abs(other[0]) > np.abs(first[0])
                first[:], other[:] = np.where(larger, other, first), np.where(larger, first, other)
            rows[j, j + 1 :] /= rows[j, j]
            for k in range(n):
                if k != j:
                    rows[k, j + 1 :] -= rows[k, j] * rows[j, j + 1 :]
        out[i : i + BLOCK] = rows[:, n:].transpose(2, 0, 1)
    return out.reshape(A.shape)


# --- inverses ---------------------------------------------------------------------------------------------------


def _numbers(solution: np.ndarray) -> np.ndarray:
    """A solution of LAPACK's, beside whose NaN there may be numbers that mean nothing (see :func:`_nan_after_nan`).

    Raises:
        LinAlgError: if there is any NaN.
    """
    if np.isnan(solution).any():
        raise np.linalg.LinAlgError
    return solution


@op.general(method=False, outputs="inverse info", differentiable="inverse")
def linalg_inv_ex(A: Tensor, check_errors: bool = False) -> Tensor:
    """Inverses of square matrices ``(..., n, n)``, and LAPACK's ``info``.

    Returns:
        ``inverse``, and ``info`` (int32, one a matrix): 0, or the index (from 1) of the first zero on the diagonal of
        U.

    Raises:
        LinAlgError: for singular matrices, if ``check_errors``.

    >>> import pullback as torch
    >>> torch.linalg.inv_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=torch.int32)
    """
    check_square(A, "linalg.inv")
    try:
        result, info = _numbers(invert_arrays(A)), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        result, info = solve_unchecked(A, np.eye(A.shape[-1], dtype=A.dtype))
    if check_errors:
        check_info(info, "linalg.inv_ex", SINGULAR)
    return result, info


linalg_inv_ex.vjp(A=lambda g, inverse: -(inverse.mT @ g @ inverse.mT))


@overridable
def linalg_inv(A: Tensor, *, out: Any = None) -> Tensor:
    """Inverses of square matrices ``(..., n, n)``.

    Raises:
        LinAlgError: if one is singular.

    >>> import pullback as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    result, info = linalg_inv_ex(A)
    check_info(info, "linalg.inv", SINGULAR)
    return result if out is None else inplace.write_out(out, result)


@op.composite
@overridable
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """The same as :func:`torch.linalg.inv`."""
    return linalg_inv(input, out=out)


# --- equations --------------------------------------------------------------------------------------------------


def _check_equation(A: Any, B: Any, left: bool, name: str) -> None:
    check_dtype(A, name, "lu_cpu")
    a, b = A.shape, B.shape
    if A.dtype is B.dtype and len(a) > 1 < len(b) and a[-1] == a[-2] == b[-2 if left else -1]:
        return
    if A.dtype != B.dtype:
        a, b = (type_name(OF_NUMPY[x.dtype]) for x in (A, B))
        raise with_notes(
            RuntimeError(
                f"{name}: Expected A and B to have the same dtype, but found A of type {a} and B of type {b} instead"
            ),
            "Convert one of them.",
        )
    for letter, x in (("A", A), ("B", B)):
        if x.ndim < 2:
            raise with_notes(
                RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions."),
                f"its shape is {list(x.shape)}",
            )
    check_square(A, name)
    if A.shape[-1] != B.shape[-2 if left else -1]:
        (n, m), (k, p) = A.shape[-2:], B.shape[-2:]
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({n}x{m} and "
            f"{k}x{p})"
        )


@op.general(method=False, outputs="result info", differentiable="result")
def linalg_solve_ex(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> Tensor:
    """Solutions of ``A X = B``, see :func:`torch.linalg.solve`, and LAPACK's ``info``.

    Returns:
        ``result``, and ``info`` (int32, one a matrix): 0, or the index (from 1) of the first zero on the diagonal of U.

    Raises:
        LinAlgError: for singular matrices, if ``check_errors``.

    >>> import pullback as torch
    >>> torch.linalg.solve_ex(torch.zeros(1, 1), torch.ones(1)).info
    tensor(1, dtype=torch.int32)
    """
    vector = is_vector(A.shape, B.shape)
    right = B[..., None] if vector else B
    _check_equation(A, right, left, "linalg.solve")
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if not left:
        A, right = A.mT, right.mT
    try:
        solve = _solve_large if is_large(A) and right.ndim == 2 else np.linalg.solve
        X, info = _numbers(solve(A, right)), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        X, info = solve_unchecked(A, right)
    if check_errors:
        check_info(info, "torch.linalg.solve_ex", "The solver failed because the input matrix is singular.")
    return X[..., 0] if vector else X if left else X.mT, info


@linalg_solve_ex.vjp_all
def _solve_vjp(g: Any, wanted: Any, A: Any, B_shape: Any, result: Any, left: bool) -> Any:
    X, vector = result, is_vector(A.shape, B_shape)
    if vector:
        X, g = unsqueeze(X, -1), unsqueeze(g, -1)
    g_B = linalg_solve_ex(A.mT, g, left=left)[0]
    g_A = None if not wanted[0] else -(g_B @ X.mT) if left else -(X.mT @ g_B)
    return g_A, g_B[..., 0] if vector else g_B


@overridable
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """Solutions of ``A X = B``, or of ``X A = B`` if not ``left``.

    Args:
        A: ``(..., n, n)``.
        B: ``(..., n, k)``, or ``(..., n)`` or ``(n,)`` for vectors. Leading dimensions broadcast.

    Raises:
        LinAlgError: if a matrix is singular.
        RuntimeError: for other shapes, and for differing dtypes.

    >>> import pullback as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """
    result, info = linalg_solve_ex(A, B, left=left)
    check_info(info, "torch.linalg.solve", "The solver failed because the input matrix is singular.")
    return result if out is None else inplace.write_out(out, result)


@op.general(method=False, check_out=inplace.same_dtype("expected scalar type {0} but found {1}"))
def linalg_solve_triangular(
    input: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Solutions of ``A X = B``, or of ``X A = B`` if not ``left``, for triangular A.

    Args:
        input: A, ``(..., n, n)``, of which only the upper (or the lower) triangle is read.
        B: ``(..., n, k)`` (``(..., k, n)`` if not ``left``). Leading dimensions broadcast.
        unitriangular: take the diagonal of A to be ones, without reading it.

    Returns:
        X, with infinities and NaN where the diagonal of A has a zero.

    >>> import pullback as torch
    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 1.0], [0.0, 1.0]]), torch.tensor([[3.0], [1.0]]), upper=True)
    tensor([[1.],
            [1.]])
    """
    _check_equation(input, B, left, "linalg.solve_triangular")
    return solve_triangular_arrays(input, B, upper, left, unitriangular)


@linalg_solve_triangular.vjp_all
def _solve_triangular_vjp(
    g: Any, wanted: Any, input: Any, out: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:
    g_B = linalg_solve_triangular(input.mT, g, upper=not upper, left=left, unitriangular=unitriangular)
    if not wanted[0]:
        return None, g_B
    g_A = -(g_B @ out.mT) if left else -(out.mT @ g_B)
    return (triu if upper else tril)(g_A, int(unitriangular) if upper else -int(unitriangular)), g_B


@op.general(outputs="solution cloned_coefficient")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Tensor:
    """Solution of ``A X = input`` for triangular A, and a copy of A. Deprecated: see
    :func:`torch.linalg.solve_triangular`.

    Args:
        transpose: solve ``Aᵀ X = input`` instead.

    >>> import pullback as torch
    >>> torch.triangular_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    a, b = A.shape, input.shape
    for letter, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {letter} to have at least 2 dimensions, but it has {x.ndim} "
                f"dimensions instead"
            )
    (n, m), (k, p) = a[-2:], b[-2:]
    if n != m:
        raise RuntimeError(f"A must be batches of square matrices, but they are {n} by {m} matrices")
    if n != k:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {n} by {n} but each b matrix is {k} by "
            f"{p}"
        )
    _check_equation(A, input, True, "linalg.solve_triangular")
    X = solve_triangular_arrays(A.mT if transpose else A, input, upper != transpose, unit=unitriangular)
    copy = np.empty((*X.shape[:-2], n, n), A.dtype)
    copy[...] = A
    return X, copy


@triangular_solve.vjp_all
def _triangular_solve_vjp(
    g: Any, wanted: Any, A: Any, solution: Any, upper: bool, transpose: bool, unitriangular: bool
) -> Any:
    g_A, g_B = _solve_triangular_vjp(
        g[0], wanted[::-1], A.mT if transpose else A, solution, upper != transpose, True, unitriangular
    )
    return g_B, None if g_A is None else g[1] + (g_A.mT if transpose else g_A)


# --- tensors as matrices ----------------------------------------------------------------------------------------


def linalg_tensorinv(input: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of the map that ``tensordot(input, other, other.ndim)`` is: its dimensions seen as those of a matrix.

    Args:
        ind: how many of the dimensions belong to the rows; the sizes of both groups have the same product.

    Returns:
        Tensor of shape ``input.shape[ind:] + input.shape[:ind]``.

    >>> import pullback as torch
    >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6), ind=2).shape
    torch.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = tuple(input.shape[:ind]), tuple(input.shape[ind:])
    n, m = prod(rows), prod(columns)
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{m} != {n}"
        )
    result, info = linalg_inv_ex(reshape(input, (n, m)))
    check_info(info, "linalg.tensorinv", SINGULAR)
    result = reshape(result, columns + rows)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


def linalg_tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Any = None) -> Tensor:
    """The X for which ``tensordot(input, X, X.ndim)`` is ``other``.

    Args:
        input: its first dimensions are those of ``other``, the rest those of X; both have the same number of elements.
        dims: dimensions of ``input`` to move to the end first.

    >>> import pullback as torch
    >>> torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3)).shape
    torch.Size([6])
    """
    if dims is not None:
        input = movedim(input, list(dims), list(range(-len(dims), 0)))
    shape = tuple(input.shape[len(other.shape) :])
    n, m = prod(shape), prod(input.shape[: len(other.shape)])
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {m}"
        )
    result = reshape(linalg_solve(reshape(input, (m, n)), reshape(other, (-1,))), shape)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)
