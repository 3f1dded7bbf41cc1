"""Reductions: ``sum``, ``nansum``, ``mean``, ``prod``, ``all``, ``any``, ``count_nonzero``, ``logsumexp``.

``dim`` is one dimension, several, or None for all; ``keepdim`` keeps the reduced dimensions, with size 1.
Bools and integers are summed in int64; half precision is computed in float32. Sums of floats are blocked
(:func:`sum_array`), so that rounding errors stay small along any dimension, not only along the last.

Norms are in :mod:`pullback.ops.norm`, maxima in :mod:`pullback.ops.minmax`, variances and quantiles in
:mod:`pullback.ops.statistics`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from functools import reduce as fold
from math import inf
from math import isnan as isnan_number
from math import prod as product
from operator import index as integer
from typing import Any

import numpy as np

from .. import kernels, ops
from ..base import dtypes, thread_state
from ..base.dtypes import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    FLOATING,
    HALVES,
    INT64,
    OF_NUMPY,
    as_dtype,
    get_default_dtype,
    kind_of,
    part_to_cast,
)
from ..base.errors import with_notes
from ..base.layout import as_contiguous
from ..core import inplace, op, record, views
from ..core.geometry import strided
from ..core.graph import LEAF
from ..core.signature import NUMPY_NAMES
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..kernels.dispatch import as_type, wide
from .compare import isnan
from .convert import cast
from .pointwise import exp
from .view import expand, inverse_permutation, reshape, varargs, wrap_dim
from .where import keep, where

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "logsumexp",
    "mean",
    "nanmean",
    "nansum",
    "prod",
    "sum",
]

asarray, getframe = np.asarray, sys._getframe
add = np.add.reduce

# --- dimensions ---------------------------------------------------------------------------------------------


ALL = [tuple(range(n)) for n in range(65)]  # all dimensions of an array of rank n (NumPy's limit is 64)


def canonical_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` as a tuple of non-negative dimensions; all of them for None or an empty sequence.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if one is named twice.
    """
    if dim is None:
        return ALL[ndim]
    if dim.__class__ is not int:
        if isinstance(dim, (tuple, list)):
            return _canonical_tuple(tuple(map(integer, dim)), ndim) if dim else ALL[ndim]
        try:
            dim = integer(dim)
        except TypeError:
            raise TypeError(f"argument 'dim' must be tuple of ints, not {type(dim).__name__}") from None
    dim = wrap_dim(dim, ndim)
    return (dim,) if ndim else ()


@lru_cache(256)
def _canonical_tuple(dim: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    dims = tuple([wrap_dim(d, ndim) for d in dim])
    if len({*dims}) < len(dims):
        d = next(d for i, d in enumerate(dims) if d in dims[:i])
        raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims if ndim else ()


def canonical_dim(name: str, dim: Any, ndim: int) -> int:
    """``dim``, one dimension, as a non-negative number (0 for a 0-d tensor)."""
    try:
        return wrap_dim(integer(dim), ndim)
    except TypeError:
        error = TypeError(f"{name}() received an invalid combination of arguments")
        raise with_notes(error, f"dim must be int, not {type(dim).__name__}") from None


def reduced_count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    return product([shape[d] for d in dims])


def keepdim_shape(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a reduction with ``keepdim=True``."""
    return tuple([1 if d in dims else n for d, n in enumerate(shape)])


def spread(g: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """A reduction's result (or its gradient) broadcast back over the reduced dimensions."""
    if isinstance(g, np.generic):  # NumPy's scalar, from arithmetic on 0-d arrays in a rule
        g = asarray(g)
    if g.__class__ is np.ndarray and g.flags.c_contiguous:
        dims, strides = canonical_dims(dim, len(shape)), iter(g.strides)
        if keepdim:
            return strided(g, shape, tuple([0 if i in dims else s for i, s in enumerate(strides)]), 0)
        return strided(g, shape, tuple([0 if i in dims else next(strides) for i in range(len(shape))]), 0)
    return expand(
        g if keepdim or not g.shape else reshape(g, keepdim_shape(shape, canonical_dims(dim, len(shape)))), shape
    )


def share_evenly(g: Any, chosen: Any, dims: tuple[int, ...]) -> Any:
    """A gradient (with reduced dimensions kept) shared equally between the chosen elements, 0 for the others even if it
    is infinite; NaN if none are chosen.
    """
    count = cast(sum(chosen, dims, True), getattr(g.dtype, "numpy", g.dtype))
    return where(chosen, g / count, 0 / count)


NUMPYS = frozenset(NUMPY_NAMES)


def in_numpys_names(fn: Callable) -> Callable:
    """Let a function also take NumPy's names ``axis`` and ``keepdims``, as PyTorch does."""

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not NUMPYS.isdisjoint(kwargs):
            kwargs = {NUMPY_NAMES.get(k, k): v for k, v in kwargs.items()}
        return fn(*args, **kwargs)

    return call


# --- sums ---------------------------------------------------------------------------------------------------

BLOCK = 128  # numbers in a block of a blocked sum
LONG = 1 << 15  # numbers from which a sum of all elements is blocked, too
EXACT = 1 << 24  # up to this float32 has all integers
ONES = {d: np.ones(BLOCK, d) for d in (FLOAT32, FLOAT64)}


def sum_array(x: np.ndarray, dims: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    """The sum of an array over non-negative dimensions, in its dtype (int64 for bools and integers).

    NumPy adds pairwise only along the dimension innermost in memory, and its loops are slow when that is
    short. Here blocks of at most :data:`BLOCK` are summed as products with a vector of ones, along any
    dimension, then the sums of blocks likewise. Errors are those of pairwise summation (for both: N. J.
    Higham, SIAM J. Sci. Comput. 14, 1993), in half to a tenth of the time of ``np.add.reduce``.
    """
    d, shape = x.dtype, x.shape
    if d not in ONES:
        if d in HALVES:
            return as_type(wide_sum(x, dims, keepdim), d)
        if d.kind == "b" and x.size >= 1024 and reduced_count(shape, dims) < EXACT:
            return sum_array(as_type(x, FLOAT32), dims, keepdim).astype(INT64)
        if d.kind in "biu":
            return add(x, axis=dims, dtype=INT64, keepdims=keepdim)
        if kind_of(d) == "c":
            pairs = np.ascontiguousarray(x).view(x.real.dtype).reshape(*shape, 2)
            return sum_array(pairs, dims, keepdim).view(d)[..., 0]
        return as_type(wide_sum(x, dims, keepdim), d)
    if len(dims) == len(shape) and x.size >= LONG and x.flags.forc:
        return _sum_middle(x.ravel("K").reshape(1, -1, 1)).reshape((1,) * len(shape) if keepdim else ())
    if x.size < 1024 and dims == (x.ndim - 1,) and shape[-1] <= BLOCK:  # a third of what NumPy's reductions take
        out = x.dot(ONES[d][: shape[-1]])
        return out[..., None] if keepdim else out
    if x.size < 1024 or not dims or len(dims) == len(shape) and x.flags.forc or x.size < 8192 and shape[-1] >= 32:
        return add(x, axis=dims, keepdims=keepdim)
    fast = reduce_by_kernel(x, dims, keepdim, "add")
    if fast is not None:
        return fast
    if not x.flags.c_contiguous:
        return _sum_strided(x, dims, keepdim)
    sizes, todo = list(shape), sorted(dims)
    while todo:
        start = todo.pop()
        stop = start + 1
        while todo and todo[-1] == start - 1:
            start = todo.pop()
        n, q = product(sizes[start:stop]), product(sizes[stop:])
        x = _sum_middle(x.reshape(-1, n, q))
        sizes[start:stop] = [1] * (stop - start) if keepdim else []
    return x.reshape(sizes)


def wide_sum(x: np.ndarray, dims: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    """:func:`sum_array`, in float32 for half precision."""
    fast = reduce_by_kernel(x, dims, keepdim, "add") if x.dtype in HALVES else None
    return sum_array(wide(x), dims, keepdim) if fast is None else fast


def _sum_strided(x: np.ndarray, dims: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """:func:`sum_array` of an array that is not contiguous: permuted, strided or broadcast."""
    repeats = 1
    if 0 in x.strides:  # the sum over a broadcast dimension is a multiple
        part = tuple([slice(0, 1) if i in dims and not s else slice(None) for i, s in enumerate(x.strides)])
        repeats, x = x.size, x[part]
        repeats //= x.size
    order = sorted(range(x.ndim), key=lambda i: -x.strides[i])  # from the outermost in memory to the innermost
    dense = np.ascontiguousarray(x.transpose(order))
    out = sum_array(dense, tuple([order.index(i) for i in dims]), True).transpose(inverse_permutation(order))
    if repeats > 1:
        out = out * x.dtype.type(repeats)
    return out if keepdim else out.reshape([n for i, n in enumerate(x.shape) if i not in dims])


def _sum_middle(x: np.ndarray) -> np.ndarray:
    """The sum over the middle one of three dimensions: ``(p, n, q)`` to ``(p, q)``."""
    p, n, q = x.shape
    ones = ONES[x.dtype]
    if n <= BLOCK:
        return (x.reshape(p, n) @ ones[:n]).reshape(p, 1) if q == 1 else ones[:n] @ x
    k = -(-n // BLOCK)
    b = n // k
    if q == p == 1:  # whole blocks, aligned for vector loads, and the rest
        k, b = n // BLOCK, BLOCK
    head = x[:, : k * b]
    if q > 1:
        sums = ones[:b] @ head.reshape(p, k, b, q)
    elif k * b == n or p == 1:
        sums = (head.reshape(p * k, b) @ ones[:b]).reshape(p, k, 1)
    elif p > k:  # few long products rather than many short ones
        sums = (head.reshape(p, k, b).swapaxes(0, 1) @ ones[:b]).reshape(1, k, p)
    else:
        sums = (head.reshape(p, k, b) @ ones[:b]).reshape(p, k, 1)
    sums = _sum_middle(sums).reshape(p, q)
    return sums if k * b == n else sums + _sum_middle(x[:, k * b :])


def has_nan(x: np.ndarray) -> bool:
    """Whether any of these real numbers is NaN: argmax finds it, but not in NumPy's bfloat16."""
    if x.dtype.kind not in "fV" or not x.size:
        return False
    if x.size == 1:
        return isnan_number(x.item())
    x = wide(x)
    return isnan_number(x.item(x.argmax()))


def reduce_by_kernel(x: np.ndarray, dims: tuple[int, ...], keepdim: bool, *what: Any) -> np.ndarray | None:
    """What a kernel of :mod:`pullback.kernels.reduce` makes of a large array (in float32 of half precision); None if
    NumPy is to compute it.
    """
    size = 8 * x.size if x.dtype in HALVES else x.size  # NumPy would have to convert it first
    out = kernels.run("reduce", "reduce_dims", size, x, dims, *what)
    return out if keepdim or out is None else out.reshape([n for i, n in enumerate(x.shape) if i not in dims])


def extreme_array(x: np.ndarray, dims: tuple[int, ...], keepdim: bool, which: str, of: str = "") -> np.ndarray:
    """The ``"largest"`` or ``"smallest"`` elements (``of="absolute"``: absolute values); NaN where there is one."""
    fast = reduce_by_kernel(x, dims, keepdim, which, of)
    if fast is not None:
        return as_type(fast, x.dtype, copy=False)
    d, x = x.dtype, wide(x)
    out = (np.maximum if which == "largest" else np.minimum).reduce(
        np.absolute(x) if of else x, axis=dims, keepdims=keepdim
    )
    return out if x.dtype is d else as_type(np.asarray(out), d)


def is_finite(x: np.ndarray) -> bool:
    """Whether all elements are finite, and so is the sum of their squares, which takes a third of a sum's time."""
    flat = x.reshape(-1)
    total = flat.dot(flat)
    return bool(total - total == 0)


def sum_of_squares(x: np.ndarray, dims: tuple[int, ...], keepdim: bool = False) -> np.ndarray:
    """:func:`sum_array` of squared absolute values, which is real."""
    if x.dtype.kind == "c":
        return sum_array(np.square(x.real) + np.square(x.imag), dims, keepdim)
    if x.size <= 512 and len(dims) == x.ndim:
        flat = x.reshape(-1)
        out = flat.dot(flat)
        return out.reshape((1,) * x.ndim) if keepdim else out
    if 0 < x.size < min(1024, kernels.LARGE) and dims and min(dims) == x.ndim - len(dims):  # the last dimensions
        rows = x if len(dims) == 1 else x.reshape(*x.shape[: -len(dims)], -1)
        out = np.vecdot(rows, rows)
        return out.reshape(out.shape + (1,) * len(dims)) if keepdim else out
    fast = reduce_by_kernel(x, dims, keepdim, "add", "square")
    if fast is not None:
        return fast
    if len(dims) < x.ndim or not x.flags.c_contiguous:
        return sum_array(np.square(x), dims, keepdim)
    flat, n = x.reshape(-1), x.size - x.size % 512
    rows, rest = flat[:n].reshape(-1, 512), flat[n:]
    out = add(np.vecdot(rows, rows)) + np.dot(rest, rest)
    return out.reshape((1,) * x.ndim) if keepdim else out


def _sum_as(x: np.ndarray, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> np.ndarray:
    if dtype is None:
        return sum_array(x, dims, keepdim)
    d = as_dtype(dtype).numpy
    return sum_array(cast(x, d), dims, keepdim).astype(d, copy=False)


@op.general(node="SumBackward0", method=False, holomorphic=False, linear="input", typed_by_out=0)
def sum_all(input: Tensor, dtype: Any = None) -> Tensor:
    """The sum of all elements."""
    return _sum_as(input, tuple(range(input.ndim)), False, dtype)


@op.general(node="SumBackward1", method=False, holomorphic=False, linear="input", dims=("dim",), typed_by_out=0)
def sum_dims(input: Tensor, dim: tuple[int, ...], keepdim: bool, dtype: Any = None) -> Tensor:
    """The sum over non-negative dimensions."""
    return as_contiguous(_sum_as(input, dim, keepdim, dtype))


sum_all.vjp(input=lambda g, input_shape: expand(g, input_shape))
sum_dims.vjp(input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim))
SumNode = sum_all.op.node_type("SumBackward0")


@op.composite
def sum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    **numpy_names: Any,
) -> Tensor:
    """The sum of all elements, or along dimensions.

    Args:
        dim: an int or several; None or an empty tuple: all.
        keepdim: keep the reduced dimensions, with size 1.
        dtype: convert to this type first. Otherwise bools and integers are summed in int64.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if one is named twice.

    >>> import pullback as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sum(), x.sum(0), x.sum(1, keepdim=True)
    (tensor(10.), tensor([4., 6.]), tensor([[3.],
            [7.]]))
    """
    if dim is None and dtype is None and out is None and not keepdim and not numpy_names:
        return fast_sum_all(input)
    return _sum(input, dim, keepdim, dtype, out, **numpy_names)


def fast_sum_all(input: Tensor) -> Tensor:
    """Fast path of ``sum()`` over all elements, the last op of most losses: as cheap as an elementwise op."""
    if thread_state.slow_path_reasons or input.__class__ not in PLAIN_TENSOR_TYPES:
        return _sum(input, None, False, None, None)
    x = input._array
    d = x.dtype
    if not (d is FLOAT32 or d is FLOAT64) or x.size >= 1024 and (x.size >= LONG or not x.flags.forc):
        return sum_all(input)
    value = asarray(add(x, None))
    e = input._fn
    if input._view is not None:
        e = views.gradient_edge(input)
    elif e is LEAF:
        e = input
    if e is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
        result = record.bare(value)
        if thread_state.no_grad_threads and thread_state.local.made is not None:
            views.mark_unrecorded(result, e, input)
        return result
    return record.with_node(value, SumNode, (e,), (x.shape,), getframe(2))


def _sum(
    input: Tensor, dim: Any, keepdim: bool, dtype: Any, out: Any, axis: Any = None, keepdims: bool = False
) -> Tensor:
    dim, keepdim = axis if dim is None else dim, keepdim or keepdims
    if dim is None and not keepdim:
        return sum_all(input, dtype, out=out)
    dims = canonical_dims(dim, input.ndim)
    return sum_dims(input, dims, keepdim, dtype) if out is None else sum_dims(input, dims, keepdim, dtype, out=out)


_sum.__qualname__ = "sum"  # for Python's TypeError about keywords


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """``g`` summed to ``shape``: over the dimensions that broadcasting ``shape`` to ``g.shape`` added or stretched."""
    given = g.shape
    lead = len(given) - len(shape)
    stretched = tuple([i for i, n in enumerate(shape, lead) if n == 1 and given[i] != 1])
    if not lead and not stretched:
        return g
    dims = tuple(range(lead)) + stretched
    g = sum_dims(g, dims, bool(stretched))
    return reshape(g, shape) if lead and stretched else g


def sum_to_size(input: Tensor, size: Any) -> Tensor:
    """The input summed to ``size``, a shape that broadcasts to the input's.

    Raises:
        RuntimeError: if ``size`` does not broadcast to the input's shape.

    >>> import pullback as torch
    >>> torch.ones(2, 3).sum_to_size(3)
    tensor([2., 2., 2.])
    """
    shape, given = tuple(size), input._array.shape
    if not shape:
        return sum(input)
    aligned = given[len(given) - len(shape) :]
    if len(shape) > len(given) or [n for n, m in zip(shape, aligned) if n not in (1, m)]:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(given)}}}.")
    return sum_to(input, shape)


varargs(sum_to_size, "sum_to_size", "size")


@op.composite
def nansum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, **numpy_names: Any
) -> Tensor:
    """The sum of the elements that are not NaN; arguments as for :func:`sum`. NaN gets the gradient 0.

    >>> import pullback as torch
    >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    x = input._array
    if x.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if x.__class__ is not np.ndarray or thread_state.slow_path_reasons:
        input = where(isnan(input), 0, input)
    elif x.size and x.dtype.kind in "fV":
        if dtype is None and out is None:
            total = sum(input, dim, keepdim, **numpy_names)
            if not has_nan(wide(total._array)):
                return total
        if has_nan(x):
            input = keep(input, x == x)
    return _sum(input, dim, keepdim, dtype, out, **numpy_names)


# --- means --------------------------------------------------------------------------------------------------


@op.general(
    node=lambda input, dim, keepdim, dtype: f"MeanBackward{int(keepdim or dim is not None)}",
    holomorphic=False,
    linear="input",
    dims=("dim",),
    typed_by_out=FLOATING,
    check_out=inplace.castable,
)
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The mean of all elements, or along dimensions; NaN of none. Arguments as for :func:`sum`.

    Raises:
        RuntimeError: for bools and integers, unless ``dtype`` says in which type to compute.

    >>> import pullback as torch
    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 6.0]]), 0)
    tensor([2., 4.])
    """
    if dim is None and dtype is None and input.dtype in ONES and input.size < LONG and input.flags.forc and not keepdim:
        return add(input, None) / input.size
    x = input if dtype is None else cast(input, as_dtype(dtype).numpy)
    kind = OF_NUMPY[x.dtype]
    if kind.category < FLOATING:
        which = "Input" if dtype is None else "Optional"
        complaint = (
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            "Got: "
        )
        raise with_notes(RuntimeError(complaint + dtypes.type_name(kind)), "Convert first: x.float().mean().")
    dims = canonical_dims(dim, x.ndim)
    means = np.true_divide(wide_sum(x, dims, keepdim), reduced_count(x.shape, dims))
    return as_contiguous(as_type(np.asarray(means), x.dtype, copy=False))


def _mean_vjp(g: Any, input_shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    return spread(g / reduced_count(input_shape, canonical_dims(dim, len(input_shape))), input_shape, dim, keepdim)


mean.vjp(input=_mean_vjp)


@op.composite
@in_numpys_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The mean of the elements that are not NaN; arguments as for :func:`mean`.

    >>> import pullback as torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    if OF_NUMPY[input._array.dtype].category < FLOATING:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dtypes.type_name(input.dtype)}"
        )
    x = input._array
    # only the sum needs recording
    if dtype is None and x.__class__ is np.ndarray and x.dtype in ONES and not thread_state.slow_path_reasons:
        count = record.wrap(asarray(_sum_as(x == x, canonical_dims(dim, x.ndim), keepdim, None), x.dtype))
    else:
        count = sum(~isnan(input), dim, keepdim)
    result = nansum(input, dim, keepdim, dtype=dtype) / count
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


# --- products -----------------------------------------------------------------------------------------------


@op.general(node=lambda input, dim, keepdim, dtype: f"ProdBackward{int(dim is not None)}", typed_by_out=0)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The product of all elements, or along one dimension.

    Args:
        dtype: convert to this type first. Otherwise bools and integers are multiplied in int64.

    Derivative: the product of the other elements, which is right at zeros, too, to any order.

    >>> import pullback as torch
    >>> torch.prod(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
    tensor([ 2., 12.])
    """
    if dim is None and dtype is None and input.dtype in ONES and input.size < 1024 and not keepdim:
        return np.multiply.reduce(input, None)
    x: Any = input if dtype is None else cast(input, as_dtype(dtype).numpy)
    d = INT64 if dtype is None and x.dtype.kind in "biu" else x.dtype
    dims = canonical_dims(None if dim is None else canonical_dim("prod", dim, x.ndim), x.ndim)
    fast = reduce_by_kernel(x, dims, keepdim, "multiply") if d is x.dtype else None
    if fast is not None:
        return as_contiguous(as_type(fast, d, copy=False))
    x, inner = wide(x), FLOAT32 if d.itemsize == 2 and d.kind in "fV" else d
    # many partial products side by side: a single chain would wait for each product
    if len(dims) == x.ndim and x.size >= LONG and x.flags.c_contiguous and not keepdim:
        x, side = x.reshape(-1), max(1024, x.size >> 6)  # and few in a chain: subnormal numbers are slow
        n = x.size - x.size % side
        x, dims = np.append(np.multiply.reduce(x[:n].reshape(-1, side), 0, dtype=inner), x[n:]), (0,)
    out = as_contiguous(np.multiply.reduce(x, dims, inner, None, keepdim))
    return as_type(out, d, copy=False)


def _prod_vjp(g: Any, input: Any, out: Any, dim: int | None, keepdim: bool) -> Any:
    shape = input.shape
    if not shape:
        return g
    if dim is None:
        x, d = reshape(input, (-1,)), 0
        g, out = reshape(g, (1,)), reshape(out, (1,))
    else:
        x, d = input, wrap_dim(dim, len(shape))
        if not keepdim:
            g, out = (reshape(v, keepdim_shape(shape, (d,))) for v in (g, out))
    if all(out * 0 == 0) and all(out != 0):  # finite, and no factor is 0
        others = out / x
    else:
        others = ops.scan.products_of_others(x, d)
    return reshape(g * others, shape)


prod.vjp(input=_prod_vjp)


# --- tests --------------------------------------------------------------------------------------------------


def _all_or_any(x: np.ndarray, dim: Any, keepdim: bool, both: Any, decisive: Callable) -> np.ndarray:
    """``all`` or ``any``: over all elements the first decisive one is found (argmin, argmax), usually early."""
    if x.dtype.kind != "b":
        result = _all_or_any(part_to_cast(x, BOOLEAN).astype(bool, copy=False), dim, keepdim, both, decisive)
        return result.astype(np.uint8) if x.dtype.char == "B" else result
    dims = (
        () if dim.__class__ in (tuple, list) and not dim else canonical_dims(dim, x.ndim)
    )  # an empty tuple means no dimension here
    if len(dims) == x.ndim and x.size and x.flags.c_contiguous:
        return np.array(x.item(decisive(x)), ndmin=x.ndim if keepdim else 0)
    if (
        len(dims) == 1 and 0 < x.shape[dims[0]] <= 8 and x.size >= 4096 and not keepdim
    ):  # few slices: combine them whole
        return as_contiguous(fold(both, np.moveaxis(x, dims[0], 0)))
    return as_contiguous(asarray(both.reduce(x, dims, None, None, keepdim)))


def _check_truth(name: str) -> Any:
    """The ``check_out`` of ``all`` and ``any``: a uint8 tensor may hold truth values, too."""

    def check(result: Any, out: Any, place: int) -> None:
        if out.name not in ("bool", "uint8"):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {dtypes.type_name(out)}")

    return check


@op.general(dims=("dim",), check_out=_check_truth("all"))
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements, or all along some dimensions, are not 0. The result is bool (uint8 of uint8).

    >>> import pullback as torch
    >>> torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    return _all_or_any(input, dim, keepdim, np.logical_and, np.ndarray.argmin)


@op.general(dims=("dim",), check_out=_check_truth("any"))
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether some element, or some along dimensions, is not 0. The result is bool (uint8 of uint8).

    >>> import pullback as torch
    >>> torch.any(torch.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    return _all_or_any(input, dim, keepdim, np.logical_or, np.ndarray.argmax)


@op.general(dims=("dim",))
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements, all or along dimensions, are not 0.

    >>> import pullback as torch
    >>> torch.count_nonzero(torch.tensor([[1, 0], [2, 3]]), dim=0)
    tensor([2, 1])
    """
    dims = canonical_dims(dim, input.ndim)
    if len(dims) == input.ndim:
        return asarray(np.count_nonzero(input), np.int64)
    return as_contiguous(sum_array(input if input.dtype.kind == "b" else input != 0, dims))


# --- sums of exponentials ---------------------------------------------------------------------------------------


@op.general(dims=("dim",), check_out=inplace.castable)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` along dimensions, without overflow. Integers become the default float type.

    Derivative: ``exp(input - out)``, the softmax; 0 where all are ``-inf`` (NaN in PyTorch).

    >>> import pullback as torch
    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    x = wide(input) if input.dtype.kind in "fcV" else input.astype(get_default_dtype().numpy)
    d = input.dtype if input.dtype.kind in "fcV" else x.dtype
    dims = canonical_dims(dim, x.ndim)
    if not x.size:
        return np.log(sum_array(x, dims, keepdim)).astype(d)
    top = extreme_array(x.real, dims, True, "largest")
    top = np.where(np.isinf(top), 0, top).astype(top.dtype)
    whole = reduce_by_kernel(x, dims, True, "add", "exp", top)
    if whole is None:
        apart = np.asarray(x - top)
        whole = sum_array(np.exp(apart, out=apart), dims, True)
    out = np.log(whole) + top
    out = out if keepdim else out.reshape([n for i, n in enumerate(x.shape) if i not in dims])
    return as_contiguous(as_type(out, d, copy=False))


def _logsumexp_vjp(g: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    out = where(out == -inf, 0, out)
    share = exp(input - spread(out, input.shape, dim, keepdim))
    whole = sum(share, dim, keepdim)  # 1 up to the rounding of `out`, which matters where that is large
    return share * spread(g / where((whole == whole) & (whole != 0), whole, 1), input.shape, dim, keepdim)


logsumexp.vjp(input=_logsumexp_vjp)
