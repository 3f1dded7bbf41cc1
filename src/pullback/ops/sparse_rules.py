"""Sparse rules: how the operations of the other families compute with COO and compressed sparse values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..core.level import wrap_value
from .arithmetic import elementwise_add, elementwise_div, elementwise_pow, elementwise_sub, mul, neg
from .complex import abs, conj_view, elementwise_conj, sgn
from .convert import cast
from .fill_copy import copied
from .matmul import _matmul, add_scaled, addmm
from .memory import clone
from .pointwise import ceil, elementwise_round, expm1, floor, frac, log1p, sign, sqrt, square, to_decimals, trunc
from .reduce import sum_all, sum_dims
from .special import erf, erfinv
from .trigonometry import asin, asinh, atan, atanh, deg2rad, rad2deg, sin, sinh, tan, tanh
from .values.sparse_coo import Coo, across_layouts, refusal, sparse_rule
from .view import permute, t, transpose
from .where import nan_to_num, relu


def on_values(op: Any, x: Coo, *options: Any) -> Coo:
    """An operation that maps 0 to 0, on the values."""
    return x.holding(op.call(wrap_value(x.value), *options)._array)


@sparse_rule(neg, conj_view, elementwise_conj, cast, clone)
def linear(op: Any, x: Coo, *options: Any) -> Coo:
    return on_values(op, x, *options)


@sparse_rule(
    abs,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    deg2rad,
    elementwise_round,
    erf,
    erfinv,
    expm1,
    floor,
    frac,
    log1p,
    nan_to_num,
    rad2deg,
    relu,
    sgn,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    to_decimals,
    trunc,
)
def pointwise(op: Any, x: Coo, *options: Any) -> Coo:
    result = on_values(op, x.coalesce(), *options)
    result.merged_by = None if x.coalesced else op
    return result


@sparse_rule(elementwise_pow)
def constant_power(op: Any, x: Any, exponent: Any) -> Any:
    if not isinstance(x, Coo) or isinstance(exponent, Coo) or np.ndim(exponent) or not exponent > 0:
        return NotImplemented
    return pointwise(op, x, exponent)


@sparse_rule(elementwise_add, elementwise_sub)
def sum_or_difference(op: Any, x: Any, y: Any) -> Any:
    """Coalesced operands are merged, others put one after the other."""
    if not isinstance(x, Coo) or not isinstance(y, Coo):
        if not np.ndim(x) or not np.ndim(y):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if x.shape != y.shape:
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(x.shape)} while other "
                f"has size {list(y.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
            )
        return op.call(*[wrap_value(v.dense() if isinstance(v, Coo) else v) for v in (x, y)])._array
    if x.shape != y.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(x.shape)} != {list(y.shape)}"
        )
    if x.sparse_dim != y.sparse_dim:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {x.sparse_dim} sparse dimensions "
            f"while 'other' has {y.sparse_dim} sparse dimensions"
        )
    if x.value.flags.c_contiguous and y.value.flags.c_contiguous and np.array_equal(x.indices, y.indices):
        return x.holding(op.call(wrap_value(x.value), wrap_value(y.value))._array)
    d = dtypes.result_type_of([x.value, y.value]).numpy
    values = np.concatenate([x.value.astype(d), y.value.astype(d) if op is elementwise_add.op else -y.value.astype(d)])
    joined = Coo(np.concatenate([x.indices, y.indices], 1), values, x.shape)
    return joined.coalesce() if x.coalesced and y.coalesced else joined


@sparse_rule(mul)
def product(op: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, Coo):
        x, y = y, x
    if not np.ndim(y):
        return on_values(op, x, y)
    if not isinstance(y, Coo):
        if np.broadcast_shapes(x.shape, y.shape) != x.shape:
            raise RuntimeError(
                f"mul: a sparse tensor of size {list(x.shape)} does not broadcast to a dense one of size "
                f"{list(y.shape)}"
            )
        return on_values(op, x, wrap_value(np.broadcast_to(y, x.shape)[tuple(x.indices)]))
    if x.shape != y.shape or x.sparse_dim != y.sparse_dim:
        raise RuntimeError(
            f"mul operands have incompatible sizes: {list(x.shape)} and {list(y.shape)}, or sparse dimensions"
        )
    x, y = x.coalesce(), y.coalesce()
    _, i, j = np.intersect1d(x.keys(), y.keys(), assume_unique=True, return_indices=True)
    return Coo(x.indices[:, i], op.call(wrap_value(x.value[i]), wrap_value(y.value[j]))._array, x.shape, True)


@sparse_rule(elementwise_div)
def quotient(op: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, Coo) or np.ndim(y):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return on_values(op, x, y)


@sparse_rule(transpose, t, permute)
def permuted(op: Any, x: Coo, *dims: Any) -> Coo:
    # of dimensions whose sizes are their numbers
    n, order = x.sparse_dim, op.impl(np.empty(range(x.ndim)), *dims).shape
    if any(d >= n for d in order[:n]):
        raise RuntimeError("transpose: sparse and dense dimensions of a sparse tensor cannot change places")
    value = x.value.transpose(0, *[1 + d - n for d in order[n:]])
    made = Coo(x.indices[list(order[:n])], value, [x.shape[d] for d in order])
    return x.turned(made) if order == (1, 0) else made


@sparse_rule(_matmul)
def matrix_product(op: Any, x: Any, y: Any) -> Any:
    """Matrices, and a matrix with a vector, by SciPy."""
    if not (0 < x.ndim <= 2 and 0 < y.ndim <= 2):
        return NotImplemented
    if x.dtype != y.dtype or x.shape[-1] != y.shape[0]:
        return op.impl(*[np.broadcast_to(np.zeros((), v.dtype), v.shape) for v in (x, y)])  # which says what is wrong
    a, b = (_matrix(v) if isinstance(v, Coo) else v for v in (x, y))
    out = a @ b if isinstance(x, Coo) else (b.T @ a.T).T
    if not isinstance(x, Coo) or not isinstance(y, Coo):
        return out.astype(x.dtype, copy=False)
    out.sort_indices()
    out = out.tocoo()
    return Coo(np.array([out.row, out.col], np.int64), out.data.astype(x.dtype, copy=False), out.shape, True)


def _matrix(x: Coo) -> Any:
    from scipy.sparse import csr_array

    if x.ndim != 2 or x.sparse_dim != 2:
        raise refusal("mm")
    half = x.dtype.itemsize == 2 and x.dtype.kind in "fV"
    return csr_array((x.value.astype(np.float32) if half else x.value, x.indices), shape=x.shape)


@sparse_rule(addmm)
def plus_matrix_product(op: Any, x: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if isinstance(x, Coo):
        return NotImplemented
    made = matrix_product(_matmul.op, mat1, mat2)
    return NotImplemented if isinstance(made, Coo) else add_scaled(x, made, beta, alpha)


@sparse_rule(sum_all)
def total(op: Any, x: Coo, dtype: Any = None) -> Any:
    return op.raw(x.value, dtype)


@sparse_rule(sum_dims)
def sum_along(op: Any, x: Coo, dims: tuple[int, ...], keepdim: bool, dtype: Any = None) -> Any:
    """A sparse result where a sparse dimension is kept."""
    n = x.sparse_dim
    value = op.raw(x.value, tuple([d - n + 1 for d in dims if d >= n]), keepdim, dtype)
    kept = [d for d in range(n) if d not in dims]
    shape = tuple([1 if d in dims else s for d, s in enumerate(x.shape) if keepdim or d not in dims])
    if not kept:
        return op.raw(value, (0,), False, dtype).reshape(shape)
    indices = np.where(np.isin(range(n), kept)[:, None], x.indices, 0) if keepdim else x.indices[kept]
    return Coo(indices, value, shape).coalesce()


@sparse_rule(copied)
def copy(op: Any, x: Any, y: Any) -> Any:
    if not (isinstance(x, Coo) and isinstance(y, Coo)):
        raise across_layouts(isinstance(x, Coo), x.dtype, y.dtype)
    return y.holding(y.value.astype(x.dtype))
