"""``cumsum``, ``cumprod``, ``logcumsumexp``, ``cummax``, ``cummin``; ``diff``, ``trapezoid``, ``gradient``.

The derivatives of ``cumprod`` and ``logcumsumexp`` solve a linear recurrence, ``s[i] = b[i] + a[i] s[i + 1]``, by a
parallel scan (W. D. Hillis, G. L. Steele, Commun. ACM 29, 1986) of ordinary operations: zeros need no special case, and
derivatives of any order follow.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import (
    FLOAT32,
    FLOAT64,
    HALVES,
    INT64,
    INTEGRAL,
    as_dtype,
    dtype,
    get_default_dtype,
    promote_types,
)
from ..base.errors import with_notes
from ..base.layout import as_contiguous, match_layout
from ..core import inplace, op
from ..core.override import overridable
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from . import half
from .concat import cat
from .convert import cast
from .flip_roll import flip
from .minmax import indices_vjp, real_only, take_along
from .pad import constant_pad_nd
from .pointwise import exp, logaddexp
from .reduce import all, canonical_dim, canonical_dims, has_nan, in_numpys_names, sum
from .slices import basic_index, view_part
from .view import reshape, wrap_dim
from .where import where

__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "diff",
    "gradient",
    "logcumsumexp",
    "trapezoid",
    "trapz",
]

# --- sums ---------------------------------------------------------------------------------------------------


def _accumulate_inplace(ufunc: Any, x: np.ndarray, d: int) -> np.ndarray:
    """``ufunc.accumulate`` in place. NumPy goes element by element and row by row; so whole slices are accumulated
    where these are long, and columns where rows are short.
    """
    n, inner = x.shape[d], prod(x.shape[d + 1 :])
    if n and x.size // n >= 512 and (inner >= 8 or n * inner <= 64):
        whole = x.reshape(-1, n, inner)
        for part in [whole] if inner >= 8 else np.moveaxis(whole, 2, 0):
            slices = part.swapaxes(0, 1)
            for before, here in zip(slices, slices[1:]):
                ufunc(before, here, out=here)
        return whole.reshape(x.shape)
    return ufunc.accumulate(x, axis=d, out=x)


def _cumulative(ufunc: Any, name: str, x: np.ndarray, dim: int, dtype: Any) -> np.ndarray:
    """A cumulative sum or product; of float32 in double precision, as in PyTorch."""
    d = canonical_dim(name, dim, x.ndim)
    if dtype is not None:
        x = cast(x, as_dtype(dtype).numpy)
    if x.dtype in HALVES:
        return as_type(_cumulative(ufunc, name, wide(x), d, None), x.dtype)
    fast = kernels.run("scan", "accumulate", x.size, ufunc.__name__, x, d)
    if fast is not None:
        return fast
    x = as_contiguous(x)
    kind, result = x.dtype.kind, x.dtype
    if kind in "biu" and dtype is None:
        result = INT64
    inner = FLOAT64 if result is FLOAT32 else result
    if not x.ndim:
        return x.astype(result)
    return _accumulate_inplace(ufunc, x.astype(inner), d).astype(result, copy=False)


@op.general(inplace=True, holomorphic=False, linear="input", dims=("dim",), typed_by_out=INTEGRAL)
def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The running sum along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise.

    >>> import pullback as torch
    >>> torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    return _cumulative(np.add, "cumsum", input, dim, dtype)


def reverse_cumsum(input: Any, dim: int) -> Any:
    """The cumulative sum from the end."""
    return flip(cumsum(flip(input, (dim,)), dim), (dim,)) if input.shape else input


cumsum.vjp(input=lambda g, dim: reverse_cumsum(g, dim))

# --- products -----------------------------------------------------------------------------------------------


@op.general(method=False, holomorphic=False, dims=("dim",))
def shifted(input: Tensor, by: int, dim: int, fill: Any) -> Tensor:
    """The elements shifted ``by`` places along a dimension (backwards if negative), with ``fill`` in the gap."""
    out = np.full_like(input, fill)
    n = input.shape[dim]
    if -n < by < n:
        to, source = (slice(by, None), slice(n - by)) if by > 0 else (slice(n + by), slice(-by, None))
        out[basic_index(dim, to)] = input[basic_index(dim, source)]
    return out


shifted.vjp(input=lambda g, by, dim: shifted(g, -by, dim, 0))


def solve_reverse_recurrence(a: Any, b: Any, dim: int) -> Any:
    """The solution of ``s[i] = b[i] + a[i] s[i + 1]`` along a dimension, with 0 beyond the end."""
    if a.__class__ is b.__class__ is np.ndarray:
        fast = kernels.run("scan", "recurrence", a.size, a, b, dim)
        if fast is not None:
            return fast
    step = 1
    while step < b.shape[dim]:
        b = b + a * shifted(b, -step, dim, 0)
        a = a * shifted(a, -step, dim, 0)
        step *= 2
    return b


@op.general(inplace=True, dims=("dim",), typed_by_out=INTEGRAL)
def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The running product along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise.

    Its derivative is right at zeros, too, to any order.

    >>> import pullback as torch
    >>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    return _cumulative(np.multiply, "cumprod", input, dim, dtype)


def _cumprod_vjp(g: Any, input: Any, out: Any, dim: int) -> Any:
    d = wrap_dim(dim, len(input.shape))
    if not input.shape or input.shape[d] == 1:
        return g
    if all(out != 0):
        return reverse_cumsum(g * out, d) / input
    return cumprod(shifted(input, 1, d, 1), d) * solve_reverse_recurrence(shifted(input, -1, d, 0), g, d)


cumprod.vjp(input=_cumprod_vjp)


def products_of_others(input: Any, dim: int) -> Any:
    """For each element the product of all others along a dimension, without division."""
    if input.__class__ is np.ndarray:
        fast = kernels.run("scan", "products_of_others", input.size, input, dim)
        if fast is not None:
            return fast
    before = cumprod(shifted(input, 1, dim, 1), dim)
    after = cumprod(flip(shifted(input, -1, dim, 1), (dim,)), dim)
    return before * flip(after, (dim,))


# --- logarithms of sums -------------------------------------------------------------------------------------


@op.general(dims=("dim",), check_out=inplace.same_dtype("expected scalar_type {0} but found {1}"))
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(input)))`` along a dimension, without overflow.

    Raises:
        NotImplementedError: for bools and integers.

    Derivative: 0 where all up to there are ``-inf`` (NaN in PyTorch).

    >>> import pullback as torch
    >>> torch.logcumsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor([1000.0000, 1000.6932])
    """
    x = wide(real_only(input, "logcumsumexp_out_cpu", "biu"))
    d = canonical_dim("logcumsumexp", dim, x.ndim)
    if not x.ndim:
        return input.copy()
    if x.dtype.kind != "c":
        return as_type(np.logaddexp.accumulate(x, axis=d), input.dtype, copy=False)
    out = x.copy()
    slices = np.moveaxis(out, d, 0)
    for i in range(1, len(slices)):  # in order: that decides the branch of the imaginary part
        slices[i] = logaddexp(slices[i - 1], slices[i])
    return out


def _logcumsumexp_vjp(g: Any, input: Any, out: Any, dim: int) -> Any:
    if not input.shape:
        return g
    d = wrap_dim(dim, len(input.shape))
    level = where(out == -inf, 0, out)
    # With T[i] the sum of g[k] exp(out[i] - out[k]) over k >= i, no exponent is ever positive. Of equal infinities the
    # difference is 0.
    following = shifted(level, -1, d, inf)
    decay = exp(where(out == following, 0, out - following))
    return exp(input - level) * solve_reverse_recurrence(decay, g, d)


logcumsumexp.vjp(input=_logcumsumexp_vjp)

# --- extremes -----------------------------------------------------------------------------------------------


def _cumulative_extreme(x: np.ndarray, name: str, dim: int, ufunc: Any) -> tuple[np.ndarray, np.ndarray]:
    d = canonical_dim(name, dim, x.ndim)
    if x.dtype in HALVES:
        values, at = _cumulative_extreme(wide(x), name, d, ufunc)
        return as_type(values, x.dtype), at
    fast = kernels.run("scan", "extremes", x.size, "largest" if ufunc is np.maximum else "smallest", x, d)
    if fast is not None:
        return fast
    real_only(x, name + "_cpu")
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    values = _accumulate_inplace(ufunc, x.copy(), d)
    place = np.arange(x.shape[d], dtype=np.int64).reshape((-1,) + (1,) * (x.ndim - 1 - d))
    there = x == values
    if has_nan(values):
        there |= x != x
    indices = _accumulate_inplace(np.maximum, np.multiply(place, there), d)
    if x.dtype.kind in "fV" and not values.all():  # of 0 and -0, np.maximum returns what the processor does
        values = as_contiguous(take_along(x, indices, d))
    return values, indices


_same_dtypes = inplace.same_dtype(*["expected scalar_type {} but found {}"] * 2)


@op.general(outputs="values indices", differentiable="values", check_out=_same_dtypes, dims=("dim",))
def cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest element so far along a dimension, and where it was last. After NaN all is NaN.

    >>> import pullback as torch
    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).indices
    tensor([0, 1, 1])
    """
    return _cumulative_extreme(input, "cummax", dim, np.maximum)


@op.general(outputs="values indices", differentiable="values", check_out=_same_dtypes, dims=("dim",))
def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The smallest element so far along a dimension, and where it was last. After NaN all is NaN.

    >>> import pullback as torch
    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return _cumulative_extreme(input, "cummin", dim, np.minimum)


cummax.vjp(input=lambda g, indices, input_shape, dim: indices_vjp(g, indices, input_shape, dim))
cummin.vjp(input=lambda g, indices, input_shape, dim: indices_vjp(g, indices, input_shape, dim))

# --- differences and integrals ------------------------------------------------------------------------------


NARROW = 32  # elements in a row up to which NumPy is faster by columns


@half.general(
    name="neighbours",
    node=lambda input, sign, dim: "SubBackward0" if sign < 0 else "AddBackward0",
    method=False,
    holomorphic=False,
    linear="input",
    dims=("dim",),
)
def neighbours(input: Tensor, sign: int, dim: int) -> Tensor:
    """Each element but the first along a dimension, plus (``sign`` 1) or minus (-1) the one before it; exclusive or for
    bools.
    """
    combine = np.add if sign > 0 else np.logical_xor if input.dtype.kind == "b" else np.subtract
    later, earlier = input[basic_index(dim, slice(1, None))], input[basic_index(dim, slice(None, -1))]
    if dim < input.ndim - 1 or input.shape[dim] > NARROW or input.size < 4096:
        result = combine(later, earlier)
        return result if input.flags.c_contiguous else match_layout((later, earlier), result)
    out = np.empty(later.shape, input.dtype)
    for i in range(out.shape[dim]):
        combine(later[..., i], earlier[..., i], out=out[..., i])
    return out


def _neighbours_vjp(g: Any, input_shape: tuple[int, ...], sign: int, dim: int) -> Any:
    """Each element gets the gradients of the two sums or differences that it is in."""
    ends = [0, 0] * (len(g.shape) - 1 - dim) + [1, min(input_shape[dim], 1)]
    return neighbours(constant_pad_nd(g if sign > 0 else -g, ends), sign, dim)


neighbours.vjp(input=_neighbours_vjp)


def _slice(x: Any, dim: int, start: int | None, stop: int | None) -> Any:
    return view_part(x, basic_index(dim, slice(start, stop)), "SliceBackward0")


@op.composite
@in_numpys_names
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """``n``-th differences of neighbours along a dimension; exclusive or for bools.

    Args:
        prepend, append: tensors to concatenate to the input first.

    >>> import pullback as torch
    >>> torch.diff(torch.tensor([1, 3, 6]))
    tensor([2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = canonical_dim("diff", dim, len(shape))
    for end in (prepend, append):
        if end is None:
            continue
        if end._array.ndim != len(shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for k, (a, b) in enumerate(zip(shape, end._array.shape)):
            if a != b and k != d:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({k}) = {a}, but got tensor.size({k}) = {b}"
                )
    if n and (prepend is not None or append is not None):
        input = cat([t for t in (prepend, input, append) if t is not None], d)
    for _ in range(min(n, input._array.shape[d])):
        input = neighbours(input, -1, d)
    return input if out is None else inplace.write_out(out, input, check=inplace.castable if n else _same_dtypes)


def _sample_spacing(x: Tensor, y: Tensor, d: int, name: str) -> Any:
    """The distances between sample points, shaped to multiply samples along dimension ``d``."""
    points, shape = x._array.shape, y._array.shape
    if (
        points[0] if len(points) == 1 and len(shape) > 1 else points[d] if len(points) == len(shape) else shape[d]
    ) != shape[d]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if len(points) == 1 and len(shape) > 1:
        return reshape(diff(x), (-1,) + (1,) * (len(shape) - 1 - d))
    return diff(x, dim=d - len(shape))


def _trapezoid_areas(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Any, int, dtype]:
    """Twice the area of the trapezoid over each interval, the dimension, and the type of the result."""
    shape = y._array.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = canonical_dim(name, dim, len(shape))
    for what, t in (("y", y), ("x", x)):
        if isinstance(t, Tensor) and t._array.dtype.kind == "b":
            raise RuntimeError(f"{name}: received a bool input for `{what}`, but bool is not supported")
    if x is not None and dx is not None:
        raise with_notes(TypeError(f"{name}() received an invalid combination of arguments"), "Give x or dx, not both.")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    # Sums and distances of integers need not fit the samples' type, nor float32 hold them.
    result = y.dtype if y.dtype.category > INTEGRAL else get_default_dtype()
    if x is not None:
        result = promote_types(result, x.dtype)
        x = x.double() if x.dtype.category <= INTEGRAL else x
    y = y.double() if y.dtype.category <= INTEGRAL else y
    step = _sample_spacing(x, y, d, name) if x is not None else 1 if dx is None else dx
    return neighbours(y, 1, d) * step, d, result


@op.composite(method=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along a dimension of the piecewise linear function through the samples ``y``.

    Args:
        x: where the samples are: 1-d, or shaped as ``y``.
        dx: the distance between equally spaced samples. Default 1.

    >>> import pullback as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]), dx=2)
    tensor(8.)
    """
    shape = y._array.shape
    if 0 in shape and not shape[canonical_dim("trapezoid", dim, len(shape))]:  # no sum: a 0 of the samples' type
        return sum(y, dim, dtype=y.dtype)
    areas, d, result = _trapezoid_areas("trapezoid", y, x, dx, dim)
    return (sum(areas, d) / 2).to(result)


@op.composite(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The cumulative integrals by :func:`trapezoid`: one for each sample but the first.

    >>> import pullback as torch
    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    areas, d, result = _trapezoid_areas("cumulative_trapezoid", y, x, dx, dim)
    return cumsum(areas / 2, d).to(result)


trapz = trapezoid


def _parabola_derivative(input: Tensor, d: int, h: Any, edge_order: int) -> Tensor:
    """The derivative along one dimension of the parabolas through three neighbouring samples at distances ``h``."""
    if isinstance(h, Tensor):
        h = reshape(h, (1,) * d + (-1,) + (1,) * (input._array.ndim - 1 - d))
    cut = lambda x, start, stop: _slice(x, d, start, stop) if isinstance(x, Tensor) else x
    slopes = neighbours(input, -1, d) / h
    if isinstance(h, Tensor):
        a, b = cut(h, None, -1), cut(h, 1, None)
        inner = (cut(slopes, None, -1) * b + cut(slopes, 1, None) * a) / (a + b)
    else:  # without the sample in the middle
        inner = (cut(input, 2, None) - cut(input, None, -2)) / (2 * h)
    ends = []
    for near, far in ((0, 1), (1, 2)), ((-1, None), (-2, -1)):
        slope = cut(slopes, *near)
        if edge_order == 2:
            a, b = cut(h, *near), cut(h, *far)
            slope = ((2 * a + b) * slope - a * cut(slopes, *far)) / (a + b)
        ends.append(slope)
    return cat([ends[0], inner, ends[1]], d)


@op.composite(method=False)
@overridable
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivatives of a function along dimensions, by central differences of its samples.

    Args:
        spacing: the distance between samples; in a sequence one for each dimension, or coordinates.
        dim: an int or several. Default: all.
        edge_order: of the one-sided differences at the ends, 1 or 2.

    >>> import pullback as torch
    >>> torch.gradient(torch.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    if input._array.dtype == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = canonical_dims(dim, input._array.ndim)
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input._array.ndim}', since dim argument was not given, but got a list of length {len(steps)}"
        )
    for d in dims:
        if input._array.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(
        _parabola_derivative(input, d, diff(h) if isinstance(h, Tensor) and h._array.ndim else h, edge_order)
        for d, h in zip(dims, steps)
    )
