"""``var``, ``std``, ``cov``, ``corrcoef``, ``median``, ``mode``, ``quantile``, ``hash_tensor``.

The gradient of a median or mode goes to the selected element: the one that the index points at, or, without indices,
evenly to all that are equal to it.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.dtypes import COMPLEX_KINDS, FLOAT64, FLOATING, HALVES, INT64, OF_NUMPY
from ..base.errors import with_notes
from ..base.layout import as_contiguous
from ..core import inplace, op, record
from ..core.level import check_values
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from .argsort import argsort_array, kth_value
from .compare import not_implemented
from .complex import complex, imag, is_complex, real
from .complex import resolved_conj as conj
from .index import take_at
from .minmax import check_not_empty, comparable, drop_dim, equal_elements_vjp, indices_vjp, real_only
from .pointwise import lerp, sqrt
from .reduce import (
    canonical_dim,
    canonical_dims,
    has_nan,
    in_numpys_names,
    keepdim_shape,
    mean,
    reduced_count,
    spread,
    sum,
    sum_array,
    sum_of_squares,
    sum_to,
)
from .slicing_views import diagonal
from .sort import sort
from .view import movedim, reshape, squeeze, unsqueeze
from .where import clamp, where

__all__ = [
    "corrcoef",
    "cov",
    "hash_tensor",
    "median",
    "mode",
    "nanmedian",
    "nanquantile",
    "quantile",
    "std",
    "std_mean",
    "var",
    "var_mean",
]

# --- variances ----------------------------------------------------------------------------------------------


def _reduction_plan(
    shape: tuple[int, ...], dim: Any, keepdim: bool = False
) -> tuple[tuple[int, ...], int, tuple[int, ...], tuple[int, ...] | None]:
    """The dimensions, the number of elements reduced to one, the shape of the result, and the permutation that moves
    the dimensions to the end (None: they are there).
    """
    return _plan_of_shape(
        shape, dim if dim is None or dim.__class__ is int else canonical_dims(dim, len(shape)), keepdim
    )


@lru_cache(256)
def _plan_of_shape(
    shape: tuple[int, ...], dim: Any, keepdim: bool
) -> tuple[tuple[int, ...], int, tuple[int, ...], tuple[int, ...] | None]:
    dims, places = canonical_dims(dim, len(shape)), range(len(shape))
    others = tuple([d for d in places if d not in dims])
    order = (*others, *sorted(dims))
    return (
        dims,
        reduced_count(shape, dims),
        keepdim_shape(shape, dims) if keepdim else tuple([shape[d] for d in others]),
        order if order != (*places,) else None,
    )


def _moments(
    name: str, input: np.ndarray, dim: Any, correction: float, keepdim: bool, root: bool = False
) -> tuple[Any, np.ndarray]:
    """Variance (or its root) and mean, in two passes; in double precision, so that the squares of float32 are neither
    infinite nor 0.
    """
    if input.dtype in HALVES:
        spread, centre = _moments(name, wide(input), dim, correction, keepdim, root)
        return as_type(np.asarray(spread), input.dtype), as_type(np.asarray(centre), input.dtype)
    dims, n, shape, order = _reduction_plan(input.shape, dim, keepdim)
    left = n - correction if n > correction else 0
    fast = kernels.run("statistics", "var_mean", input.size, input, order, n, left, shape, root)
    if fast is not None:
        return fast
    kind = OF_NUMPY[input.dtype]
    if kind.category < FLOATING:
        raise RuntimeError(f"{name if '_' in name else 'std and var'} only support floating point and complex dtypes")
    x = input.astype(np.complex128 if kind.is_complex else FLOAT64, copy=False)
    centre = np.true_divide(sum_array(x, dims, True), n)
    squares = sum_of_squares(np.subtract(x, centre, out=None if x is input else x), dims, keepdim)
    spread = as_contiguous(np.true_divide(squares, left))
    spread, centre = np.sqrt(spread) if root else spread, centre.reshape(shape)
    return (spread, centre) if x is input else (spread.astype(kind.to_real().numpy), centre.astype(input.dtype))


def _degrees_of_freedom(input: Any, dim: Any, correction: float) -> float:
    return _reduction_plan(input.shape, dim)[1] - correction


def _var_vjp(g: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    """The gradient of a variance: ``2 (input - mean) / (n - correction) * g``."""
    apart, left = input - mean(input, dim, True), _degrees_of_freedom(input, dim, correction)
    if left <= 0:
        return spread(g, input.shape, dim, keepdim) * where(apart == 0, np.nan, np.inf)
    return spread(g * (2 / left), input.shape, dim, keepdim) * apart


def _var_of_std_vjp(g: Any, out: Any) -> Any:
    """From a standard deviation to the variance: ``1 / (2 out)``, and 0 at 0."""
    nowhere = out == 0
    return where(nowhere, 0, g / (out * 2 + nowhere))  # + nowhere: divide by 1 where it is 0


@op.general(name="var", method=False, dims=("dim",), check_out=inplace.castable)
def variance(input: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    return _moments("var", input, dim, correction, keepdim)[0]


@op.general(name="std", method=False, dims=("dim",), check_out=inplace.castable)
def deviation(input: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    return _moments("std", input, dim, correction, keepdim, root=True)[0]


@op.general(name="var_mean", outputs="var mean", method=False, dims=("dim",))
def variance_mean(input: Tensor, dim: Any, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _moments("var_mean", input, dim, correction, keepdim)


@op.general(name="std_mean", outputs="std mean", method=False, dims=("dim",))
def deviation_mean(input: Tensor, dim: Any, correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _moments("std_mean", input, dim, correction, keepdim, root=True)


def _mean_vjp(g: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    return spread(g / _degrees_of_freedom(input, dim, 0), input.shape, dim, keepdim)


variance.vjp(input=_var_vjp)
deviation.vjp(
    input=lambda g, input, out, dim, correction, keepdim: _var_vjp(
        _var_of_std_vjp(g, out), input, dim, correction, keepdim
    )
)


@variance_mean.vjp_all
def _var_mean_vjp(g: Any, wanted: Any, input: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return (_var_vjp(g[0], input, dim, correction, keepdim) + _mean_vjp(g[1], input, dim, keepdim),)


@deviation_mean.vjp_all
def _std_mean_vjp(g: Any, wanted: Any, input: Any, std: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return _var_mean_vjp((_var_of_std_vjp(g[0], std), g[1]), wanted, input, dim, correction, keepdim)


def _public_variance(of: Any, doc: str) -> Any:
    """The public form of a variance, which takes ``correction`` or ``unbiased``."""
    name = of.op.name

    def moment(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 0 if unbiased is False else 1
        elif unbiased is not None:
            error = TypeError(f"{name}() received an invalid combination of arguments")
            raise with_notes(error, "Give correction or unbiased, not both.")
        result = of(input, dim, correction, keepdim) if out is None else of(input, dim, correction, keepdim, out=out)
        if _degrees_of_freedom(input._array, dim, correction) <= 0:
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
                UserWarning,
                stacklevel=3,
            )
        return tuple(result) if of.op.outputs else result

    moment.__name__ = moment.__qualname__ = name
    moment.__doc__ = doc
    moment = in_numpys_names(moment)
    op.add_method(moment, name)
    return moment


var = _public_variance(
    variance,
    """The variance of all elements, or along dimensions.

    ``var(input, dim=None, *, correction=1, keepdim=False)`` or, as of old, with ``unbiased``.

    Args:
        dim: an int or several; None or none: all.
        correction: subtracted from the number of elements before dividing by it; ``unbiased=False`` means 0.

    Returns:
        A tensor, real for complex input; NaN or infinity, and a warning, where the divisor is not positive.

    Raises:
        RuntimeError: for bools and integers.

    >>> import pullback as torch
    >>> torch.var(torch.tensor([1.0, 2.0, 3.0])), torch.var(torch.tensor([1.0, 2.0, 3.0]), correction=0)
    (tensor(1.), tensor(0.6667))
    """,
)
std = _public_variance(
    deviation,
    """The standard deviation, the root of :func:`var`, with its arguments.

    Its derivative where all elements are equal is taken as 0.

    >>> import pullback as torch
    >>> torch.std(torch.tensor([[1.0, 3.0], [2.0, 2.0]]), dim=1, correction=0)
    tensor([1., 0.])
    """,
)
var_mean = _public_variance(
    variance_mean,
    """:func:`var` and :func:`mean` at once.

    >>> import pullback as torch
    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """,
)
std_mean = _public_variance(
    deviation_mean,
    """:func:`std` and :func:`mean` at once.

    >>> import pullback as torch
    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """,
)


# --- covariances --------------------------------------------------------------------------------------------


def _checked_weights(weights: Tensor, name: str, n: int, integral: bool) -> Tensor:
    if weights._array.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights._array.ndim} "
            f"dimensions"
        )
    if (weights._array.dtype.kind in "iu") is not integral or weights._array.dtype.kind in "cb":
        wanted = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {dtypes.type_name(weights.dtype)} dtype"
        )
    if weights._array.size != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights._array.size} != {n}"
        )

    def check(values: np.ndarray) -> None:
        if (values < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")

    check_values(check, weights._array)
    return reshape(weights, (n,))


def _refuse_zero(weight: np.ndarray) -> None:
    if np.any(weight == 0):
        raise ZeroDivisionError("cov(): weights sum to zero, can't be normalized")


def _warn_of_freedom(left: np.ndarray) -> None:
    if np.any(left <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=4,
        )


@op.composite
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables (rows) over observations (columns).

    Args:
        input: up to 2-d; 0-d and 1-d are one variable.
        correction: what is subtracted from the number of observations before dividing by it.
        fweights: how often each observation was made: 1-d, integers.
        aweights: how much each observation weighs: 1-d, floats.

    Returns:
        A matrix, or a 0-d tensor for one variable.

    >>> import pullback as torch
    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} "
            f"dimensions"
        )
    if input._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input._array.ndim == 2 else reshape(input, (1, -1))
    n = x._array.shape[1]
    w: Any = None
    if fweights is not None:
        w = _checked_weights(fweights, "fweights", n, True)
    if aweights is not None:
        aweights = _checked_weights(aweights, "aweights", n, False)
        w = aweights if w is None else w * aweights
    if w is None:
        weight: Any = n
        left: Any = n - correction
        centre = sum(x, 1, True) / n
    else:
        weight = sum(w)
        if n:
            check_values(_refuse_zero, weight._array)
        left = weight - (correction if aweights is None or not correction else correction * sum(w * aweights) / weight)
        centre = sum(x * w, 1, True) / weight
    check_values(_warn_of_freedom, left._array if isinstance(left, Tensor) else np.asarray(left))
    left = where(left <= 0, 0, left) if isinstance(left, Tensor) else left if left > 0 else 0
    apart = x - centre
    products = apart @ conj((apart if w is None else apart * w).T)
    return squeeze(products / left)


@op.composite
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables (rows) over observations (columns): :func:`cov` with 1 on the diagonal.

    >>> import pullback as torch
    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(input)
    if not c._array.ndim:
        return c / c
    scale = sqrt(real(diagonal(c)))
    c = c / unsqueeze(scale, 1) / scale
    return complex(clamp(real(c), -1, 1), clamp(imag(c), -1, 1)) if is_complex(c) else clamp(c, -1, 1)


# --- medians ------------------------------------------------------------------------------------------------


def _median_all(x: np.ndarray, skip: bool) -> np.ndarray:
    flat = comparable(real_only(x, "median_cpu", "cb")).flatten()
    if not flat.size:
        return np.asarray(np.nan if x.dtype.kind in "fV" else np.iinfo(x.dtype).min, x.dtype)
    middle = (flat.size - 1) // 2
    flat.partition(middle)
    if has_nan(flat[middle:]):  # NaN sorts last
        return _median_all(x[~np.isnan(x)] if skip else x[:0], skip)
    return flat[middle, ...].astype(x.dtype)


@op.general(node="MedianBackward0", method=False)
def median_all(input: Tensor) -> Tensor:
    return _median_all(input, skip=False)


@op.general(node="NanmedianBackward0", method=False)
def nanmedian_all(input: Tensor) -> Tensor:
    return _median_all(input, skip=True)


median_all.vjp(input=equal_elements_vjp)
nanmedian_all.vjp(input=equal_elements_vjp)


def _kth_values(x: np.ndarray, k: Any, d: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elements of rank ``k`` (a number, or an array) along a dimension, and where they are."""
    values, indices = kth_value(x, k, d)
    return drop_dim(values, d, keepdim), drop_dim(indices, d, keepdim)


def _median_along(x: np.ndarray, name: str, dim: int, keepdim: bool, skip: bool) -> tuple[np.ndarray, np.ndarray]:
    real_only(x, "median_out", "cb")
    d = canonical_dim(name, dim, x.ndim)
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    check_not_empty(x, name, (d,))
    n = x.shape[d]
    if not has_nan(x):
        return _kth_values(x, (n - 1) // 2, d, keepdim)
    known = n - np.isnan(x).sum(axis=d, keepdims=True)
    if skip:
        return _kth_values(x, np.maximum(known - 1, 0) // 2, d, keepdim)
    return _kth_values(x, np.where(known < n, known, (n - 1) // 2), d, keepdim)  # the first NaN follows the numbers


_same_dtypes = inplace.same_dtype(
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'",
    "Expected tensor for argument #1 'indices' to have scalar type {}",
)


@op.general(
    name="median",
    node="MedianBackward1",
    outputs="values indices",
    differentiable="values",
    method=False,
    check_out=_same_dtypes,
    dims=("dim",),
)
def median_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _median_along(input, "median", dim, keepdim, skip=False)


@op.general(
    name="nanmedian",
    node="NanmedianBackward1",
    outputs="values indices",
    differentiable="values",
    method=False,
    check_out=_same_dtypes,
    dims=("dim",),
)
def nanmedian_along(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _median_along(input, "nanmedian", dim, keepdim, skip=True)


median_along.vjp(input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim))
nanmedian_along.vjp(
    input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim)
)


@op.composite
@in_numpys_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of all elements, or along one dimension with its index; the lower of two, NaN if any is.

    >>> import pullback as torch
    >>> x = torch.tensor([4.0, 1.0, 3.0, 2.0])
    >>> torch.median(x), torch.median(x, 0).indices
    (tensor(2.), tensor(3))
    """
    return median_all(input, out=out) if dim is None else median_along(input, dim, keepdim, out=out)


@op.composite
@in_numpys_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """:func:`median` of the elements that are not NaN.

    >>> import pullback as torch
    >>> torch.nanmedian(torch.tensor([4.0, float("nan"), 3.0]))
    tensor(3.)
    """
    return nanmedian_all(input, out=out) if dim is None else nanmedian_along(input, dim, keepdim, out=out)


@op.general(
    outputs="values indices",
    differentiable="values",
    check_out=inplace.same_dtype(
        "expected scalar type '{}' but got '{}' for values output",
        "expected scalar type '{}' but got '{}' for indices output",
    ),
    dims=("dim",),
)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element along a dimension, the smallest of several, and the last place where it is.

    >>> import pullback as torch
    >>> torch.mode(torch.tensor([3, 1, 3, 2]))
    torch.return_types.mode(
    values=tensor(3),
    indices=tensor(2))
    """
    d = canonical_dim("mode", dim, real_only(input, "mode_cpu").ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    check_not_empty(input, "mode", (d,))
    n, shape = input.shape[d], keepdim_shape(input.shape, (d,)) if keepdim else input.shape[:d] + input.shape[d + 1 :]
    x: Any = input
    rows = (x if d == x.ndim - 1 else np.moveaxis(x, d, -1)).reshape(-1, n)
    order = argsort_array(rows, 1)
    values, indices = kernels.run("statistics", "mode", rows.size, rows, order) or _most_frequent(rows, order)
    return values.reshape(shape), indices.reshape(shape)


def _most_frequent(rows: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent element of each row and its last index; ``order`` sorts the rows."""
    numbers, flat = np.arange(rows.size, dtype=np.int64), rows.reshape(-1)
    first = numbers[:: rows.shape[1]]  # the first of each row
    order = (order + first[:, None]).reshape(-1)
    values, begins = flat[order], np.empty(flat.size, bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    begins[first] = True
    so_far = numbers - np.maximum.accumulate(begins * numbers)  # how many equal ones came before
    at = order[so_far.reshape(rows.shape).argmax(1) + first]
    return flat[at], at - first


mode.vjp(input=lambda g, indices, input_shape, dim, keepdim: indices_vjp(g, indices, input_shape, dim, keepdim))

# --- quantiles ----------------------------------------------------------------------------------------------

INTERPOLATIONS = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def _check_quantile(input: Tensor, q: Any, interpolation: str) -> Tensor:
    """``q`` as a tensor; refuses invalid arguments."""
    d = input._array.dtype
    if d not in (np.float32, np.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not input._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if interpolation not in ("linear", "midpoint", *INTERPOLATIONS):
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        return record.wrap(np.asarray(q, d))
    if q._array.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q._array.dtype != d:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    check_values(_refuse_outside_of_unit, q._array)
    return q


def _refuse_outside_of_unit(q: np.ndarray) -> None:
    if not ((0 <= q) & (q <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


@op.general(outputs="weight below above slope", differentiable="weight", method=False)
def quantile_places(values: Tensor, q: Tensor, interpolation: str, skip: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The ranks below and above each quantile in sorted rows (..., n), and the weight between them; each (..., 1), or
    (..., len(q)).
    """
    n, unknown = values.shape[-1], np.isnan(values).sum(-1, keepdims=True)
    slope = (np.maximum(n - 1 - unknown, 0) if skip else np.where(unknown, 0, n - 1)).astype(q.dtype)
    ranks = q * slope if skip else np.where(unknown, n - 1, q * slope)  # the last is NaN if any is
    if interpolation in INTERPOLATIONS:
        ranks = INTERPOLATIONS[interpolation](ranks)
    below = np.floor(ranks)
    return ranks - below, below.astype(np.int64), np.ceil(ranks).astype(np.int64), slope


quantile_places.vjp(values=lambda g: None, q=lambda g, q_shape, slope: sum_to(g * slope, q_shape))


def _quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip: bool) -> Tensor:
    q, x = _check_quantile(input, q, interpolation), input._array
    if dim is None:
        whole = (1,) * x.ndim
        input, at = reshape(input, (-1,)), 0
    else:
        at = canonical_dim("quantile", dim, x.ndim)
        whole = keepdim_shape(x.shape, (at,))
        input = reshape(input, (1,)) if not x.ndim else movedim(input, at, -1)
    values = sort(input, -1).values
    weight, below, above, _ = quantile_places(values.detach(), q, interpolation, skip)

    def pick(rank: Tensor) -> Tensor:
        return take_at(values, [rank._array], "GatherBackward0", rank._array.ndim - 1)

    result = pick(below)
    if interpolation not in INTERPOLATIONS:
        result = lerp(result, pick(above), 0.5 if interpolation == "midpoint" else weight)
    shape = whole if keepdim else () if dim is None else whole[:at] + whole[at + 1 :]
    return (
        reshape(movedim(result, -1, 0), (result._array.shape[-1], *shape)) if q._array.ndim else reshape(result, shape)
    )


@op.composite
@in_numpys_names
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The ``q``-quantiles of all elements, or along one dimension; NaN if any of them is.

    Args:
        input: float32 or float64.
        q: a number from 0 to 1, or a 0-d or 1-d tensor of them, of the input's type.
        interpolation: between neighbours of an inexact rank: linear, lower, higher, midpoint or nearest.

    Returns:
        A tensor whose first dimension is that of ``q``, if ``q`` has one.

    >>> import pullback as torch
    >>> torch.quantile(torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.5, 0.75]))
    tensor([1., 2.])
    """
    result = _quantile(input, q, dim, keepdim, interpolation, skip=False)
    return result if out is None else inplace.write_out(out, result)


@op.composite
@in_numpys_names
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN.

    >>> import pullback as torch
    >>> torch.nanquantile(torch.tensor([0.0, float("nan"), 3.0]), 0.5)
    tensor(1.5000)
    """
    result = _quantile(input, q, dim, keepdim, interpolation, skip=True)
    return result if out is None else inplace.write_out(out, result)


# --- a fingerprint ------------------------------------------------------------------------------------------

UINT64 = np.dtype(np.uint64)
WIDEST = {
    d: FLOAT64 if d.kind in "fV" else UINT64 if d.kind == "u" else INT64
    for d in OF_NUMPY
    if d.kind not in COMPLEX_KINDS
}


@op.general
def hash_tensor(input: Tensor, dim: Any = (), keepdim: bool = False, mode: int = 0) -> Tensor:
    """All bits of the elements, as 64-bit floats or integers, combined by exclusive or; uint64.

    >>> import pullback as torch
    >>> torch.hash_tensor(torch.tensor([5, 3]))
    tensor(6, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    x, wide, dims = input, WIDEST.get(input.dtype), canonical_dims(dim, input.ndim)
    if wide is None:
        raise not_implemented("xor_sum_cpu", x)
    if not x.size:
        check_not_empty(x, "hash_tensor", dims if dim not in ((), [], None) else None)
    return np.bitwise_xor.reduce((x if x.dtype is wide else x.astype(wide)).view(UINT64), dims, None, None, keepdim)
