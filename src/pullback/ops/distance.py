"""``cdist`` and ``pdist``: p-norm distances of all pairs of points, between two sets or within one.

p goes from 0 (how many coordinates differ) to infinity (the largest difference). Where two points coincide the
derivative is 0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.layout import as_contiguous
from ..core.override import overridable
from ..core.tensor import Tensor
from . import half
from .compare import zero_gradient
from .complex import abs
from .concat import cat
from .index import sum_at
from .matmul import matmul
from .pointwise import sign
from .reduce import sum, sum_array, sum_of_squares
from .view import squeeze, unsqueeze
from .where import where

__all__ = ["cdist", "pdist"]
__all_functional__ = ["pdist"]

SHORT = 16
BLOCK = 1 << 14  # differences of coordinates at a time


@half.general(name="cdist", method=False)
def _cdist(x1: Tensor, x2: Tensor, p: float, by_product: bool) -> Tensor:
    if by_product:
        squares = [(x * x).sum(-1, keepdims=True, dtype=x.dtype) for x in (x1, x2)]
        return as_contiguous(np.sqrt(np.maximum(squares[0] - 2 * np.matmul(x1, x2.mT) + squares[1].mT, 0)))
    fast = kernels.run("distance", "cdist", x1.size, x1, x2, p)
    if fast is not None:
        unsafe = np.nonzero(_is_unsafe(fast, p))
        if len(unsafe[0]):
            a, b = (np.broadcast_to(x, fast.shape[:-2] + x.shape[-2:]) for x in (x1, x2))
            fast[unsafe] = _norms_inplace(a[unsafe[:-1]] - b[(*unsafe[:-2], unsafe[-1])], p)
        return fast
    m, d = x2.shape[-2:]
    if d < SHORT:  # all coordinates of x2 as one row: NumPy's inner loop is m * d long, not d
        apart: Any = x1.repeat(m, -2).reshape(*x1.shape[:-1], m * d) - x2.reshape(*x2.shape[:-2], 1, m * d)
        apart = apart.reshape(*apart.shape[:-1], m, d)
    else:
        apart = as_contiguous(x1[..., :, None, :] - x2[..., None, :, :])
    return _norms_inplace(apart, p)


def _is_unsafe(norms: np.ndarray, p: float) -> np.ndarray:
    """Where the sums of powers may have overflowed, or underflowed."""
    if p in (0, 1, 2, math.inf):
        return np.zeros(norms.shape, bool)
    limits = np.finfo(norms.dtype)
    return ~((norms > (limits.tiny / limits.eps) ** (1 / p)) & (norms < math.inf))


def _as_power(p: float) -> float:
    """Infinity for a power so large that the norm is the largest element to the last digit."""
    return math.inf if p > 1e18 else float(p)


def _norms_inplace(x: np.ndarray, p: float) -> np.ndarray:
    """The norms along the last dimension; overwrites ``x``."""
    last = (x.ndim - 1,)
    if p == 2:
        return np.sqrt(sum_of_squares(x, last))
    np.abs(x, x)
    if p == 0:
        return sum_array(np.minimum(np.ceil(x, x), 1, out=x), last)
    if p == math.inf:
        return x.max(-1, initial=0)
    if p == 1:
        return sum_array(x, last)
    top = x.max(-1, initial=0, keepdims=True)
    top[(top == 0) | (top == math.inf)] = 1
    return sum_array((x / top) ** p, last) ** (1 / p) * top[..., 0]


@_cdist.vjp_all
def _cdist_vjp(g: Any, wanted: Any, x1: Any, x2: Any, p: float, by_product: bool, out: Any) -> Any:
    """0 where two points coincide; with ``p`` infinite, every coordinate that attains the maximum gets all of ``g``."""
    if p == 0:  # a count has derivative 0
        return zero_gradient(x1), zero_gradient(x2)
    same = out == 0
    length = where(same, 1, out)
    share = where(same, 0, g / length if p == 2 else g)
    if by_product:
        return x1 * sum(share, -1, True) - share @ x2, x2 * sum(share.mT, -1, True) - share.mT @ x1
    apart, share = unsqueeze(x1, -2) - unsqueeze(x2, -3), unsqueeze(share, -1)
    if p == 2:
        each = apart * share
    elif p == 1:
        each = sign(apart) * share
    elif p == math.inf:
        each = where(abs(apart) == unsqueeze(out, -1), sign(apart) * share, 0)
    else:
        each = share * _slopes(apart, unsqueeze(length, -1), p)
    return sum(each, -2), -sum(each, -3)


def _slopes(apart: Any, length: Any, p: float) -> Any:
    """The derivative of a norm of differences, given that norm."""
    return where(apart == 0, 0, sign(apart) * (abs(where(apart == 0, length, apart)) / length) ** (p - 1))


@overridable
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances between all points of two sets, in the p-norm.

    Args:
        x1, x2: ``(..., n, d)`` and ``(..., m, d)``: n and m points; leading dimensions broadcast.
        p: not negative; may be infinite.
        compute_mode: for ``p=2``, ``'use_mm_for_euclid_dist'`` computes ``|a|^2 - 2 a.b + |b|^2`` with a matrix
            product, fast but inexact where points are close; ``'donot_use_mm_for_euclid_dist'`` does not; the
            default does for more than 25 points.

    Returns:
        ``(..., n, m)``. The derivative is 0 where two points coincide.

    Raises:
        RuntimeError: for fewer than two dimensions, differing ``d``, a negative ``p``, and types that are not floats.

    >>> import pullback as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """  # noqa: E501
    for name, x in (("X1", x1), ("X2", x2)):
        if len(x.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x.shape)}D")
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {dtypes.type_name(x.dtype)}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {dtypes.type_name(x1.dtype)} but found {dtypes.type_name(x2.dtype)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    necessary = "use_mm_for_euclid_dist_if_necessary"
    if compute_mode not in (None, necessary, "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    many = compute_mode in (None, necessary) and max(x1.shape[-2], x2.shape[-2]) > 25
    return _cdist(x1, x2, _as_power(p), p == 2 and (many or compute_mode == "use_mm_for_euclid_dist"))


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances between all pairs of points of a set, in the p-norm.

    Args:
        input: ``(n, d)``: n points.
        p: not negative; may be infinite.

    Returns:
        ``(n * (n - 1) / 2,)``: of the points 0 and 1, 0 and 2, ..., n - 2 and n - 1. The derivative is 0 where two
        coincide.

    Raises:
        RuntimeError: for another shape, a negative ``p``, and types that are not floats.

    >>> import pullback as torch
    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _pdist(input, _as_power(p))


@lru_cache(64)
def _pair_indices(n: int) -> tuple[np.ndarray, ...]:
    """The indices of the two points of each pair."""
    return np.triu_indices(n, 1)


@half.general(name="pdist", method=False)
def _pdist(input: Tensor, p: float) -> Tensor:
    fast = kernels.run("distance", "pdist", input.size, input, p)
    if fast is not None:
        unsafe = _is_unsafe(fast, p)
        if unsafe.any():
            first, second = (at[unsafe] for at in _pair_indices(len(input)))
            fast[unsafe] = _norms_inplace(input.take(second, 0) - input.take(first, 0), p)
        return fast
    n = len(input)
    if n * input.size <= BLOCK:
        first, second = _pair_indices(n)
        return _norms_inplace(input.take(second, 0) - input.take(first, 0), p)
    return np.concatenate([_norms_inplace(input[i + 1 :] - input[i], p) for i in range(n - 1)])


def _pdist_vjp(g: Any, input: Any, out: Any, p: float) -> Any:
    """As for ``cdist``, in blocks of rows: all differences together can be far larger than the input."""
    n = input.shape[0]
    if n < 2 or getattr(input, "is_meta", False):
        return zero_gradient(input)
    if g.__class__ is input.__class__ is np.ndarray:
        fast = kernels.run("distance", "pdist_backward", input.size, g, input, out, p)
        if fast is not None:
            return fast
    at = list(_pair_indices(n) if n * n <= BLOCK else np.triu_indices(n, 1))

    def among_all(x: Any) -> Any:  # the symmetric matrix with the pairs' values
        half = sum_at(x, at, (n, n))
        return half + half.mT

    same = out == 0
    share = among_all(where(same, 0, g) / where(same, 1, out) if p == 2 else where(same, 0, g))
    length = among_all(out) if p not in (0, 1, 2) else None
    rows, step = [], max(1, BLOCK // (n * max(1, input.shape[1])))
    for start in range(0, n, step):
        part = slice(start, start + step)
        apart = unsqueeze(input[part], 1) - input
        if p in (0, 1):
            apart = sign(apart) * p
        elif p == math.inf:
            apart = where(abs(apart) == unsqueeze(length[part], 2), sign(apart), 0)
        elif p != 2:
            near = unsqueeze(length[part], 2)
            apart = _slopes(apart, where(near == 0, 1, near), p)
        rows.append(squeeze(matmul(unsqueeze(share[part], 1), apart), 1))
    return rows[0] if len(rows) == 1 else cat(rows)


_pdist.vjp(input=_pdist_vjp)
