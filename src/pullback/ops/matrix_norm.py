"""``linalg.matrix_norm``, ``linalg.norm``, ``linalg.cond``, ``vecdot``, ``vander`` and ``linalg.diagonal``."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import as_dtype
from ..base.errors import with_notes
from ..core import inplace, op
from ..core.tensor import Tensor
from .complex import resolved_conj as conj
from .convert import cast
from .eig_svd import linalg_svdvals
from .linalg_checks import check_dtype, check_square, numpy_dtype
from .matmul import shape_error
from .minmax import amax, amin
from .norm import check_wider, vector_norm
from .reduce import sum
from .scan import cumprod
from .slicing_views import diagonal
from .solve import linalg_inv_ex
from .view import atleast_1d, movedim, squeeze, unsqueeze, wrap_dim
from .where import where

__all__ = ["frobenius_norm", "nuclear_norm"]


# --- norms ------------------------------------------------------------------------------------------------------


def _largest_or_smallest(x: Tensor, ord: float, dim: int, keepdim: bool = False) -> Tensor:
    """The largest or (for negative ``ord``) the smallest; the largest of no elements is 0."""
    if ord < 0:
        return amin(x, dim, keepdim)
    return amax(x, dim, keepdim) if x.shape[dim] else sum(x, dim, keepdim)


def linalg_matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Norms of the matrices in two dimensions of a tensor.

    Args:
        ord: ``"fro"``: of all elements; ``"nuc"``: the sum of the singular values; 2 (-2): the largest (smallest)
            singular value; 1 (-1): the largest (smallest) sum of absolute values of a column; ``inf`` (``-inf``): of a
            row.
        dim: rows and columns.
        dtype: convert to this type first.

    Returns:
        Real numbers, for each matrix one.

    >>> import pullback as torch
    >>> x = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, "nuc"), torch.linalg.matrix_norm(x, -2)
    (tensor(5.), tensor(7.), tensor(3.))
    """
    rows, columns = _rows_and_columns(A._array.shape, ord, dim if isinstance(dim, int) else tuple(dim))
    check_dtype(A, "linalg.matrix_norm", half=ord not in ("nuc", 2, -2))
    if dtype is not None:
        A = cast(A, check_wider(A.dtype, as_dtype(dtype), "linalg.matrix_norm").numpy)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, None, out=out)
    if ord in ("nuc", 2, -2):
        values = linalg_svdvals(
            A if rows + 2 == columns + 1 == A._array.ndim else movedim(A, (rows, columns), (-2, -1))
        )
        result = sum(values, -1) if ord == "nuc" else _largest_or_smallest(values, ord, -1)
        if keepdim:
            for d in sorted((rows, columns)):
                result = unsqueeze(result, d)
    else:
        summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        result = _largest_or_smallest(vector_norm(A, 1, summed, True), ord, other, True)
        result = result if keepdim else squeeze(result, (rows, columns))
    return result if out is None else inplace.write_out(out, result)


@lru_cache(256)
def _rows_and_columns(shape: tuple[int, ...], ord: Any, dim: Any) -> tuple[int, int]:
    """The two dimensions of the matrices, as non-negative indices."""
    name, rank = "linalg.matrix_norm", len(shape)
    if rank < 2:
        raise with_notes(
            RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions."), f"its shape is {list(shape)}"
        )
    if ord not in ("fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise with_notes(
            RuntimeError(f"{name}: Order {ord} not supported."),
            "It is one of 'fro', 'nuc', 1, -1, 2, -2, inf and -inf.",
        )
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(
            f"{name}: dim must be a 2-tuple. Got {dim if isinstance(dim, int) else ' '.join(map(str, dim))}"
        )
    rows, columns = wrap_dim(dim[0], rank), wrap_dim(dim[1], rank)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({rows}, {columns})")
    return rows, columns


def linalg_norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """A norm of vectors or of matrices: :func:`vector_norm` or :func:`matrix_norm`.

    Args:
        ord: the norm; default: of all elements, as if they were a vector.
        dim: one dimension for vectors, two for matrices; default: the tensor is the vector or the matrix.
        dtype: convert to this type first.

    >>> import pullback as torch
    >>> x = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> torch.linalg.norm(x), torch.linalg.norm(x, 2), torch.linalg.norm(x, dim=0)
    (tensor(5.), tensor(4.), tensor([3., 4.]))
    """
    if ord is None and (dim is None or isinstance(dim, int)):
        return vector_norm(A, 2, dim, keepdim, dtype, out=out)
    dims = [dim] if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    if ord is not None and (isinstance(ord, str) or (A.ndim if dims is None else len(dims)) == 2):
        return linalg_matrix_norm(
            A, ord, (0, 1) if dims is None and A.ndim == 2 else dims or (-2, -1), keepdim, dtype=dtype, out=out
        )
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype, out=out)


def linalg_cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """Condition numbers ``norm(A) * norm(inv(A))`` of matrices ``(..., n, m)``: infinite for singular ones.

    Args:
        p: the norm, one of :func:`matrix_norm`'s. Default 2: the quotient of the largest and the smallest singular
            value, which, like -2, takes matrices that are not square, too.

    >>> import pullback as torch
    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(4.)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p is None or p in (2, -2):
        values = linalg_svdvals(A)
        if not values.shape[-1]:
            result = sum(values, -1)
        else:
            largest, smallest = values[..., 0], values[..., -1]
            result = smallest / largest if p == -2 else largest / smallest
    else:
        if p not in ("fro", "nuc", 1, -1, inf, -inf):
            raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
        check_square(A, f"linalg.cond(ord={p})")
        if not A.shape[-1]:
            result = sum(vector_norm(A, 2, -1), -1)
        else:
            inverse, info = linalg_inv_ex(A)
            singular = info > 0
            inverse = where(singular[..., None, None], 0, inverse)  # the SVD refuses infinities
            result = where(singular, inf, linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p))
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@op.composite(method=False)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """Deprecated: see :func:`torch.linalg.matrix_norm`, with ``ord="nuc"``."""
    return linalg_matrix_norm(input, "nuc", dim, keepdim)


@op.composite(method=False)
def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Deprecated: see :func:`torch.linalg.vector_norm`."""
    return vector_norm(input, 2, dim, keepdim)


# --- products ---------------------------------------------------------------------------------------------------


_same_dtype = inplace.same_dtype("linalg.vecdot: Expected out of dtype{} but found {}")


def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """Inner products ``sum(conj(x) * y)`` of vectors along a dimension; the others broadcast.

    >>> import pullback as torch
    >>> torch.linalg.vecdot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    check_dtype(x, "linalg.vecdot", half=True)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {dtypes.type_name(x.dtype)} "
            f"and y of type {dtypes.type_name(y.dtype)} instead"
        )
    if x.ndim == y.ndim == 1 and x.shape != y.shape:
        raise shape_error(x._array, y._array)
    result = sum(conj(x) * y, dim)
    return result if out is None else inplace.write_out(out, result, check=_same_dtype)


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices: the powers 0 to N - 1 of ``x``, ``(..., n)``, along a new last dimension.

    Args:
        N: how many, at least 2; default n.

    >>> import pullback as torch
    >>> torch.linalg.vander(torch.tensor([2.0, 3.0]), N=3)
    tensor([[1., 2., 4.],
            [1., 3., 9.]])
    """
    x = atleast_1d(x)
    if x._array.dtype.kind == "b":
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    n = x._array.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _vander(x, n)


@op.general(name="linalg_vander", method=False)
def _vander(x: Tensor, n: int) -> Tensor:
    factors = x[..., None].repeat(n, -1)
    factors[..., 0] = 1
    return cumprod.op.impl(factors, -1)


def _vander_vjp(g: Any, out: Any) -> Any:
    exponents = np.arange(1, out.shape[-1], dtype=numpy_dtype(out))
    return sum(g[..., 1:] * out[..., :-1] * exponents, -1)


_vander.vjp(x=_vander_vjp)


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """:func:`torch.diagonal` of the matrices in the last two dimensions, unless others are named.

    >>> import pullback as torch
    >>> torch.linalg.diagonal(torch.ones(4, 2, 3)).shape
    torch.Size([4, 2])
    """
    return diagonal(A, offset, dim1, dim2)
