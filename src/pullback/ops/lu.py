"""``lu``, ``lu_factor``, ``lu_unpack``, ``lu_solve``; ``ldl_factor`` and ``ldl_solve`` of symmetric matrices.

The derivative of LU is that of F. A. de Hoog, R. S. Anderssen and M. A. Lukas, "Differentiation of matrix functionals
using triangular factorization" (2011), extended to matrices that are not square.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..base.dtypes import OF_NUMPY, type_name
from ..core import inplace, op
from ..core.level import by_example
from ..core.tensor import Tensor
from ..return_types import named
from .concat import cat, tril, triu
from .linalg_checks import (
    adjoint,
    check_info,
    check_matrix,
    check_square,
    for_each_matrix,
    identity,
    lapack,
    numpy_dtype,
)
from .slices import place_part
from .solve import linalg_solve_triangular, lu_factor_arrays, permutation_of_pivots

__all__ = ["lu", "lu_solve", "lu_unpack"]

triangular = linalg_solve_triangular


# --- LU ---------------------------------------------------------------------------------------------------------

NO_SOLUTION = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


@op.general(method=False, outputs="LU pivots info", differentiable="LU")
def linalg_lu_factor_ex(A: Tensor, pivot: bool = True, check_errors: bool = False) -> Tensor:
    """LU decomposition of matrices ``(..., n, m)``, see :func:`torch.linalg.lu_factor`, and LAPACK's ``info``.

    Returns:
        ``LU``, ``pivots``, and ``info`` (int32, one a matrix): 0, or the index (from 1) of the first zero on the
        diagonal of U.

    >>> import pullback as torch
    >>> torch.linalg.lu_factor_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=torch.int32)
    """
    if A.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
        )
    check_matrix(A, "linalg.lu_factor", "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    LU, pivots, info = lu_factor_arrays(A)
    if check_errors:
        check_info(info, "torch.linalg.lu_factor_ex", NO_SOLUTION, RuntimeError)
    return LU, pivots, info


@linalg_lu_factor_ex.vjp_all
def _lu_vjp(g: Any, wanted: Any, LU: Any, pivots: Any) -> Any:
    n, m = LU.shape[-2:]
    k = min(n, m)
    L = tril(LU[..., :k, :k], -1) + identity(LU, k)
    U = triu(LU[..., :k, :k])
    # the rows of L, or columns of U, beyond the square
    rows, columns = g[..., k:, :], g[..., :, k:]
    square = g[..., :k, :k]
    inner = tril(L.mT @ square, -1) + triu(square @ U.mT)
    if m > k:
        inner = inner - tril(columns @ LU[..., :, k:].mT, -1)
    if n > k:
        inner = inner - triu(LU[..., k:, :].mT @ rows)
    made = triangular(L.mT, triangular(U.mT, inner, upper=False, left=False), upper=True, unitriangular=True)
    if m > k:
        made = cat([made, triangular(L.mT, columns, upper=True, unitriangular=True)], -1)
    if n > k:
        made = cat([made, triangular(U.mT, rows, upper=False, left=False)], -2)
    return (_permutation_matrix(pivots, n, numpy_dtype(LU)) @ made,)


@op.general(name="lu_permutation", method=False)
def _permutation_matrix(pivots: Tensor, n: int, dtype: np.dtype, name: str = "lu_factor") -> Tensor:
    """P with ``A = P L U``."""
    order = permutation_of_pivots(pivots, n, name)
    if order.ndim == 1 and n <= 64:  # small ones are cached
        return _identity(n, dtype).take(order, 1)
    return (order[..., None, :] == np.arange(n)[:, None]).astype(dtype)


@lru_cache(64)
def _identity(n: int, dtype: np.dtype) -> np.ndarray:
    """A cached identity matrix: read-only."""
    return np.eye(n, dtype=dtype)


LUFactor = named("linalg_lu_factor", ("LU", "pivots"))


def linalg_lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """LU decomposition of matrices ``(..., n, m)`` in compact form, with partial pivoting: see :func:`torch.linalg.lu`.

    Returns:
        ``LU``, with U in the upper triangle and L, whose diagonal is ones, below; ``pivots`` (int32), the row (counted
        from 1) that each row was exchanged with.

    Raises:
        RuntimeError: if some U has a zero on its diagonal.

    >>> import pullback as torch
    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    LU, pivots, info = linalg_lu_factor_ex(A, pivot, False)
    check_info(info, "torch.linalg.lu_factor", NO_SOLUTION, RuntimeError)
    result = LUFactor(LU, pivots)
    return result if out is None else inplace.write_out(out, result)


LUWithInfo = named("_lu_with_info", ("LU", "pivots", "info"))


@op.composite
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, *, out: Any = None) -> Any:
    """Deprecated: see :func:`torch.linalg.lu_factor`, and :func:`torch.linalg.lu_factor_ex` for ``get_infos``.

    >>> import pullback as torch
    >>> torch.lu(torch.tensor([[2.0]]))[0]
    tensor([[2.]])
    """
    LU, pivots, info = linalg_lu_factor_ex(A, pivot, False)
    result = LUWithInfo(LU, pivots, info) if get_infos else (LU, pivots)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


PLU = named("linalg_lu", ("P", "L", "U"))


@op.general(name="lu_unpack", outputs="P L U", differentiable="L U", method=False, holomorphic=False)
def _lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Tensor:
    P = L = U = np.empty(0, LU_data.dtype)
    n, m = LU_data.shape[-2:]
    if unpack_pivots:
        wanted = (*LU_data.shape[:-2], min(n, m))
        if LU_pivots.shape[-1:] != wanted[-1:] or inplace.broadcast(LU_pivots.shape, wanted) != wanted:
            raise RuntimeError(
                f"torch.lu_unpack: LU_pivots of shape {list(LU_pivots.shape)} are not those of LU_data of shape "
                f"{list(LU_data.shape)}"
            )
        pivots = np.broadcast_to(LU_pivots, wanted)
        P = _permutation_matrix.op.impl(pivots, n, LU_data.dtype, "lu_unpack")
    if unpack_data:
        k = min(n, m)
        L, U = tril.op.impl(LU_data[..., :k], -1), triu.op.impl(LU_data[..., :k, :])
        L.reshape(*L.shape[:-2], n * k)[..., : k * k : k + 1] = 1
    return P, L, U


@_lu_unpack.vjp_all
def _lu_unpack_vjp(g: Any, wanted: Any, LU_data_shape: tuple[int, ...], unpack_data: bool) -> Any:
    if not unpack_data:
        return None, None
    k = min(LU_data_shape[-2:])
    g_L, g_U = tril(g[0], -1), triu(g[1])
    return place_part(g_L, (..., slice(0, k)), LU_data_shape) + place_part(
        g_U, (..., slice(0, k), slice(None)), LU_data_shape
    ), None


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """The three matrices P, L and U of an LU decomposition; those not asked for are empty.

    Args:
        LU_data, LU_pivots: what :func:`torch.linalg.lu_factor` returned.

    >>> import pullback as torch
    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    if LU_pivots.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    result = _lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)
    return result if out is None else inplace.write_out(out, result)


@by_example
def linalg_lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """LU decomposition ``A = P @ L @ U`` of matrices ``(..., n, m)``, with partial pivoting.

    Returns:
        With ``k = min(n, m)``: ``P``, ``(..., n, n)``, a permutation; ``L``, ``(..., n, k)``, lower triangular with
        ones on the diagonal; ``U``, ``(..., k, m)``, upper triangular.

    >>> import pullback as torch
    >>> P, L, U = torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]])); U
    tensor([[2., 2.],
            [0., 1.]])
    """
    if A.ndim < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    LU, pivots, _ = linalg_lu_factor_ex(A, pivot, False)
    result = PLU(*_lu_unpack(LU, pivots, True, True))
    return result if out is None else inplace.write_out(out, result)


def linalg_lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Any = None
) -> Tensor:
    """Solutions of ``A X = B``, given the LU decomposition of A.

    Args:
        LU, pivots: what :func:`torch.linalg.lu_factor` returned for ``(..., n, n)``.
        B: ``(..., n, k)``, or ``(..., k, n)`` if not ``left``. Leading dimensions broadcast.
        left: solve ``A X = B``; else ``X A = B``.
        adjoint: solve with ``A.mH`` instead of A.

    >>> import pullback as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    check_square(LU, "torch.linalg.lu_solve", "lu_cpu")
    if pivots.dtype.name != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    n = LU.shape[-1]
    if B.ndim < 2 or B.shape[-2 if left else -1] != n:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({n}x{n} and {'x'.join(map(str, B.shape[-2:]))})"
        )
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    P = _permutation_matrix(pivots, n, numpy_dtype(LU), "lu_solve")
    flipped = _adjoint_of(LU)
    if left and adjoint:
        result = P @ triangular(flipped, triangular(flipped, B, upper=False), upper=True, unitriangular=True)
    elif left:
        result = triangular(LU, triangular(LU, P.mT @ B, upper=False, unitriangular=True), upper=True)
    elif adjoint:  # X A* = B, with A* = U* L* P*
        right = triangular(flipped, B @ P, upper=True, left=False, unitriangular=True)
        result = triangular(flipped, right, upper=False, left=False)
    else:
        right = triangular(LU, B, upper=True, left=False)
        result = triangular(LU, right, upper=False, left=False, unitriangular=True) @ P.mT
    return result if out is None else inplace.write_out(out, result)


_adjoint_of = adjoint  # linalg_lu_solve has an argument of that name


@op.composite
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """Deprecated: see :func:`torch.linalg.lu_solve`, whose arguments are in another order."""
    return linalg_lu_solve(LU_data, LU_pivots, input, out=out)


# --- LDL --------------------------------------------------------------------------------------------------------


@op.general(method=False, outputs="LD pivots info", differentiable="LD")
def linalg_ldl_factor_ex(input: Tensor, hermitian: bool = False, check_errors: bool = False) -> Tensor:
    """LDL decomposition of symmetric (or Hermitian) matrices ``(..., n, n)`` in LAPACK's compact form. Not
    differentiable.

    Returns:
        ``LD``, ``pivots`` (int32; negative in pairs for blocks of D of size 2), and ``info`` (int32, one a matrix): 0,
        or the index (from 1) of the first zero on the diagonal of D.

    >>> import pullback as torch
    >>> torch.linalg.ldl_factor_ex(torch.tensor([[2.0]])).pivots
    tensor([1], dtype=torch.int32)
    """
    check_square(input, "torch.linalg.ldl_factor_ex")
    batch = input.shape[:-2]
    LD, pivots, info = (
        np.empty(input.shape, input.dtype),
        np.empty(input.shape[:-1], np.int32),
        np.zeros(batch, np.int32),
    )
    if input.size:
        routine = lapack("hetrf" if hermitian and input.dtype.kind == "c" else "sytrf", input.dtype)
        for_each_matrix(lambda a: routine(a, lower=True), [input], [LD, pivots, info], batch)
        LD = np.tril(LD)
    if check_errors:
        check_info(info, "torch.linalg.ldl_factor_ex", "D[{0},{0}] is zero: the matrix is singular.", RuntimeError)
    return LD, pivots, info


LDLFactor = named("linalg_ldl_factor", ("LD", "pivots"))


def linalg_ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """LDL decomposition of symmetric (or Hermitian) matrices ``(..., n, n)`` in LAPACK's compact form. Not
    differentiable.

    Returns:
        ``LD`` and ``pivots``, for :func:`torch.linalg.ldl_solve`.

    >>> import pullback as torch
    >>> torch.linalg.ldl_factor(torch.tensor([[2.0]])).LD
    tensor([[2.]])
    """
    LD, pivots, info = linalg_ldl_factor_ex(input, hermitian=hermitian)
    check_info(info, "torch.linalg.ldl_factor", "D[{0},{0}] is zero: the matrix is singular.", RuntimeError)
    result = LDLFactor(LD, pivots)
    return result if out is None else inplace.write_out(out, result)


@op.general(method=False)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool = False) -> Tensor:
    """Solutions of ``A X = B``, given the LDL decomposition of A. Not differentiable.

    Args:
        LD, pivots: what :func:`torch.linalg.ldl_factor` returned.
        B: ``(..., n, k)``. Leading dimensions broadcast.

    >>> import pullback as torch
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(torch.tensor([[2.0]])), torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    name = "torch.linalg.ldl_solve"
    if B.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {type_name(OF_NUMPY[pivots.dtype])}")
    if pivots.size and not 1 <= np.abs(pivots).min() <= np.abs(pivots).max() <= LD.shape[-1]:
        raise RuntimeError(
            "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of "
            "ldl_factor?"
        )
    if LD.dtype != B.dtype:
        a, b = (type_name(OF_NUMPY[x.dtype]) for x in (LD, B))
        raise RuntimeError(f"LD dtype {a} does not match b dtype {b}")
    n, (k, p) = LD.shape[-1], B.shape[-2:]
    if n != k:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {n} by {n} but each b matrix is {k} by {p}"
        )
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    arrays = [np.broadcast_to(x, batch + x.shape[-d:]) for x, d in ((LD, 2), (pivots, 1), (B, 2))]
    X = np.empty(arrays[2].shape, B.dtype)
    conjugated = np.conjugate if hermitian else np.asarray
    for_each_matrix(lambda ld, rows, b: [_ldl_solve_lower(ld, rows.tolist(), b.copy(), conjugated)], arrays, [X], batch)
    return X


def _ldl_solve_lower(LD: np.ndarray, pivots: list[int], B: np.ndarray, conjugated: Any) -> np.ndarray:
    """LAPACK's ``sytrs`` for a lower triangle, which only recent SciPy has: B is overwritten by the solution.

    D has blocks of one row, or of two where two consecutive pivots are negative; the (last) row of each was exchanged.
    """
    n, starts, k = len(pivots), [], 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        starts.append((k, k + size, [k + size - 1, abs(pivots[k]) - 1]))
        k += size
    for k, end, rows in starts:
        B[rows] = B[rows[::-1]]
        B[end:] -= LD[end:, k:end] @ B[k:end]
        block = np.tril(LD[k:end, k:end])
        B[k:end] = np.linalg.solve(block + conjugated(np.tril(block, -1).T), B[k:end])
    for k, end, rows in reversed(starts):
        B[k:end] -= conjugated(LD[end:, k:end].T) @ B[end:]
        B[rows] = B[rows[::-1]]
    return B
