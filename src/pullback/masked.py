"""``torch.masked``: reductions and normalizations that see only the elements where a mask is true.

Every function takes

- ``mask``: a tensor that broadcasts to the input, converted to bools; None: all true;
- ``dtype``: the type to compute in and to return; default the input's (sums and products of integers: int64);
- ``dim``: one dimension, several, or None for all (cumulative functions, softmax and the median: the first of them);
- ``keepdim``: keep the reduced dimensions, with size 1.

Where a mask leaves nothing, sums are 0, products 1, and maxima the least number of the type; means, medians and
variances are NaN. What is masked gets the gradient 0, whatever it is.

>>> import pullback as torch
>>> x, mask = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[True, False], [True, True]])
>>> torch.masked.sum(x, 0, mask=mask)
tensor([4., 4.])
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from .base import dtypes
from .base.dtypes import FLOATING, as_dtype
from .core.tensor import Tensor
from .ops import minmax, pointwise, reduce, scan, statistics
from .ops import softmax as softmax_ops
from .ops.complex import conj
from .ops.norm import vector_norm
from .ops.pointwise import sqrt
from .ops.reduce import canonical_dims
from .ops.view import broadcast_to
from .ops.where import maximum, where

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _fill_masked(input: Tensor, mask: Tensor | None, otherwise: Any) -> Tensor:
    """The input, with `otherwise` where it is masked."""
    return input if mask is None else where(_broadcast(input, mask), input, otherwise)


def _broadcast(input: Tensor, mask: Tensor) -> Tensor:
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return broadcast_to(mask, input.shape).to(dtypes.bool_)


def _extreme(input: Tensor, sign: int) -> Any:
    """The least number of the input's type (sign -1), or the largest (1)."""
    kind = input.dtype
    if kind.category >= FLOATING:
        return sign * inf
    info = np.iinfo(kind.numpy)
    return info.min if sign < 0 else info.max


def _sum_dtype(input: Tensor, dtype: Any) -> Any:
    return dtype if dtype is not None else dtypes.int64 if input.dtype.category < FLOATING else input.dtype


def _first_dim(dim: Any, input: Tensor) -> int:
    return dim if isinstance(dim, int) else canonical_dims(dim, input.ndim)[0]


# --- reductions -------------------------------------------------------------------------------------------------


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum; 0 of nothing.

    >>> import pullback as torch
    >>> torch.masked.sum(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    return reduce.sum(
        _fill_masked(input, mask, 0), canonical_dims(dim, input.ndim), keepdim, dtype=_sum_dtype(input, dtype)
    )


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product; 1 of nothing.

    >>> import pullback as torch
    >>> torch.masked.prod(torch.tensor([3.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(3.)
    """
    result = _fill_masked(input, mask, 1).to(_sum_dtype(input, dtype))
    for d in sorted(canonical_dims(dim, input.ndim), reverse=True):
        result = reduce.prod(result, d, keepdim)
    return result


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The maximum; of nothing the least number of the type.

    >>> import pullback as torch
    >>> torch.masked.amax(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    return minmax.amax(_fill_masked(input, mask, _extreme(input, -1)), canonical_dims(dim, input.ndim), keepdim).to(
        dtype or input.dtype
    )


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The minimum; of nothing the largest number of the type.

    >>> import pullback as torch
    >>> torch.masked.amin(torch.tensor([1.0, 2.0]), mask=torch.tensor([False, True]))
    tensor(2.)
    """
    return minmax.amin(_fill_masked(input, mask, _extreme(input, 1)), canonical_dims(dim, input.ndim), keepdim).to(
        dtype or input.dtype
    )


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the first maximum, in the input's type unless ``dtype`` is given.

    >>> import pullback as torch
    >>> torch.masked.argmax(torch.tensor([1, 2]), mask=torch.tensor([True, False]))
    tensor(0)
    """
    return minmax.argmax(_fill_masked(input, mask, _extreme(input, -1)), dim, keepdim).to(dtype or input.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the first minimum, in the input's type unless ``dtype`` is given.

    >>> import pullback as torch
    >>> torch.masked.argmin(torch.tensor([1, 2]), mask=torch.tensor([False, True]))
    tensor(1)
    """
    return minmax.argmin(_fill_masked(input, mask, _extreme(input, 1)), dim, keepdim).to(dtype or input.dtype)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean; NaN of nothing.

    Raises:
        ValueError: for bools and integers, unless ``dtype`` says in which type to compute.

    >>> import pullback as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    kind = input.dtype if dtype is None else as_dtype(dtype)
    if kind.category < FLOATING:
        which = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Any:
    """How many elements are reduced to one."""
    dims = canonical_dims(dim, input.ndim)
    return (
        reduce.reduced_count(input.shape, dims) if mask is None else reduce.sum(_broadcast(input, mask), dims, keepdim)
    )


def median(
    input: Tensor, dim: Any = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The lower of the middle elements; NaN of nothing (which is refused for integers).

    >>> import pullback as torch
    >>> torch.masked.median(torch.tensor([1.0, 2.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    floats = input.dtype.is_floating_point
    result = statistics.nanmedian(
        _fill_masked(input if floats else input.float(), mask, nan), _first_dim(dim, input), keepdim
    ).values
    if floats:
        return result
    if bool(result.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """:func:`torch.linalg.vector_norm`; 0 of nothing (infinite for ``ord=-inf``).

    >>> import pullback as torch
    >>> torch.masked.norm(torch.tensor([3.0, 4.0]), mask=torch.tensor([True, False]))
    tensor(3.)
    """
    ord = 2.0 if ord is None else ord
    return vector_norm(
        _fill_masked(input, mask, inf if ord == -inf else 0), ord, canonical_dims(dim, input.ndim), keepdim, dtype
    )


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """``log(sum(exp(input)))``; -inf of nothing.

    >>> import pullback as torch
    >>> torch.masked.logsumexp(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    return reduce.logsumexp(
        _fill_masked(input, mask, _extreme(input, -1)), canonical_dims(dim, input.ndim), keepdim
    ).to(dtype or input.dtype)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance: squared distances from the mean, summed and divided by the count less ``correction``; NaN of
    nothing.

    Args:
        unbiased: True (the default) for the correction 1, False for 0.
        correction: another one.

    >>> import pullback as torch
    >>> torch.masked.var(torch.tensor([1.0, 2.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = correction if correction is not None else 0 if unbiased is False else 1
    kind = input.dtype if dtype is None else as_dtype(dtype)
    if kind.category < FLOATING:
        kind = dtypes.float32
    dims = canonical_dims(dim, input.ndim)
    apart = input - sum(input, dims, keepdim=True, dtype=kind, mask=mask) / _count(input, dims, True, mask)
    squares = sum(apart * conj(apart), dims, keepdim=keepdim, dtype=kind, mask=mask)
    count = _count(input, dims, keepdim, mask)
    divisor = max(count - less, 0) if mask is None else (count - less).clamp(min=0)
    return (squares / divisor).to(kind if dtype is None else dtype)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation: the root of :func:`var`, whose arguments it has.

    >>> import pullback as torch
    >>> torch.masked.std(torch.tensor([1.0, 2.0, 5.0]), unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


# --- scans, softmax, normalization -----------------------------------------------------------------------------


def cumsum(input: Tensor, dim: Any, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Sums of all elements up to each.

    >>> import pullback as torch
    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    return scan.cumsum(_fill_masked(input, mask, 0), _first_dim(dim, input), dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: Any, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Products of all elements up to each.

    >>> import pullback as torch
    >>> torch.masked.cumprod(torch.tensor([1.0, 2.0, 3.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 3.])
    """
    return scan.cumprod(_fill_masked(input, mask, 1), _first_dim(dim, input), dtype=dtype or input.dtype)


def softmax(input: Tensor, dim: Any, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """``exp(input)``, divided by its sum; 0 where masked, NaN where all is.

    >>> import pullback as torch
    >>> torch.masked.softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return softmax_ops.softmax(
        _fill_masked(input, mask, _extreme(input, -1)), _first_dim(dim, input), dtype=dtype or input.dtype
    )


def log_softmax(input: Tensor, dim: Any, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of :func:`softmax`; -inf where masked.

    >>> import pullback as torch
    >>> torch.masked.log_softmax(torch.tensor([1.0, 2.0]), 0, mask=torch.tensor([True, False]))
    tensor([0., -inf])
    """
    return softmax_ops.log_softmax(
        _fill_masked(input, mask, _extreme(input, -1)), _first_dim(dim, input), dtype=dtype or input.dtype
    )


def softmin(input: Tensor, dim: Any, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """:func:`softmax` of ``-input``.

    >>> import pullback as torch
    >>> torch.masked.softmin(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return softmax_ops.softmax(
        -_fill_masked(input, mask, _extreme(input, 1)), _first_dim(dim, input), dtype=dtype or input.dtype
    )


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements divided by their norm, or by ``eps`` where that is larger; 0 where masked.

    >>> import pullback as torch
    >>> torch.masked.normalize(torch.tensor([3.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False]))
    tensor([1., 0.])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill_masked(input, mask, 0) / maximum(length, length.new_full((), eps))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, each with a mask of its own; -inf where both are masked.

    >>> import pullback as torch
    >>> torch.masked.logaddexp(torch.tensor([1.0]), torch.tensor([2.0]), other_mask=torch.tensor([False]))
    tensor([1.])
    """
    first, second = (
        _fill_masked(input, input_mask, _extreme(input, -1)),
        _fill_masked(other, other_mask, _extreme(other, -1)),
    )
    return pointwise.logaddexp(first, second).to(dtype or input.dtype)
