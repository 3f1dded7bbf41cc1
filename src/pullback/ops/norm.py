"""``norm``, ``linalg.vector_norm``, ``dist``, ``normalize``, ``renorm``, ``norm_except_dim``: norms of vectors.

Those of matrices are in :mod:`pullback.ops.matrix_norm`.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from .. import kernels, ops
from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, HALVES, OF_NUMPY, as_dtype, promote_types
from ..base.layout import as_contiguous, match_layout
from ..core import inplace, op
from ..core.tensor import Tensor
from ..kernels.dispatch import as_type, wide
from . import half
from .compare import isnan
from .complex import abs, real, sgn
from .complex import resolved_conj as conj
from .convert import cast
from .memory import clone
from .reduce import (
    canonical_dims,
    extreme_array,
    in_numpys_names,
    keepdim_shape,
    reduce_by_kernel,
    share_evenly,
    spread,
    sum,
    sum_array,
    sum_dims,
    sum_of_squares,
)
from .view import reshape, wrap_dim
from .where import clamp_min, where

__all__ = ["dist", "norm", "norm_except_dim", "renorm"]
__all_functional__ = ["normalize"]


def check_wider(own: Any, asked: Any, name: str) -> Any:
    """The dtype to convert to; refuses a narrowing conversion."""
    if not (asked.is_floating_point or asked.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtypes.type_name(asked)}")
    if own.is_complex != asked.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtypes.type_name(asked)}")
    if promote_types(own, asked) is not asked:
        raise RuntimeError(
            f"{name}: the dtype of the input ({dtypes.type_name(own)}) should be convertible without narrowing to the "
            f"specified dtype ({dtypes.type_name(asked)})"
        )
    return asked


@op.general(name="linalg_vector_norm", method=False)
def vector_norm(input: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """``sum(abs(input) ** ord) ** (1 / ord)`` over all elements, or along dimensions; a real number.

    Args:
        ord: any number; ``inf`` for the largest absolute value, ``-inf`` for the smallest, 0 to count.
        dtype: convert to this type first.

    Raises:
        RuntimeError: for bools and integers; for norms of nothing with negative or infinite ``ord``.

    Derivative: ``sgn(input) * (abs(input) / out) ** (ord - 1)``, and 0 where the norm is 0; with infinite
    ``ord`` elements of the same absolute value share it.

    >>> import pullback as torch
    >>> x = torch.tensor([3.0, -4.0])
    >>> torch.norm(x), torch.norm(x, 1)
    (tensor(5.), tensor(7.))
    """
    x: Any = input
    result = input.dtype
    if dtype is not None or result is not FLOAT32 and result is not FLOAT64:
        kind = OF_NUMPY[result]
        if kind.category < FLOATING:
            complaint = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            raise RuntimeError(complaint + dtypes.type_name(kind))
        if dtype is not None:
            x = cast(input, check_wider(kind, as_dtype(dtype), "linalg.vector_norm").numpy)
        result = OF_NUMPY[x.dtype].to_real().numpy
    dims = canonical_dims(dim, x.ndim)
    if (ord < 0 or ord == inf) and 0 in [x.shape[d] for d in dims]:
        nothing = "an empty tensor because"
        if dim is not None:
            nothing = f"the dimension {[d for d in dims if not x.shape[d]][0]} because this dimension is empty and"
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on {nothing} the operation does not have an identity"
        )
    if ord == 2 and x.dtype in HALVES:  # as it is, unless squares over- or underflow
        squares = reduce_by_kernel(x, dims, keepdim, "add", "square")
        if squares is not None and (_smallest_safe_norm(FLOAT32, 2) ** 2 < squares).all() and (squares < inf).all():
            return as_type(as_contiguous(np.sqrt(squares)), result, copy=False)
    if x.itemsize <= 4:
        x = wide(x)
    out = (
        kernels.run("norm", "vector_norm", x.size, x, ord, dims, keepdim)
        if len(dims) < x.ndim and ord in (1, 2)
        else None
    )
    out = as_contiguous(np.asarray(_norms(x, ord, dims, keepdim) if out is None else out))
    return as_type(out, result, copy=False)


def _norms(x: np.ndarray, ord: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    if ord == 0:
        return sum_array((x != 0).astype(x.real.dtype), dims, keepdim)
    if 1 < ord < inf:
        return _root_of_powers(x, ord, dims, keepdim)
    if ord in (inf, -inf):
        return extreme_array(x, dims, keepdim, "largest" if ord > 0 else "smallest", "absolute")
    if ord == 1:
        out = reduce_by_kernel(x, dims, keepdim, "add", "absolute")
        return sum_array(np.absolute(x), dims, keepdim) if out is None else out
    return np.power(sum_array(np.power(np.absolute(x), ord), dims, keepdim), 1 / ord)


@lru_cache(8)
def _smallest_safe_norm(d: np.dtype, ord: float) -> float:
    """The norm below which sums of powers lose digits to underflow."""
    limits = np.finfo(d)
    return (float(limits.tiny) / float(limits.eps)) ** (1 / ord)


def _root_of_powers(x: np.ndarray, ord: float, dims: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """The norm; scaled by the largest element where powers overflow, or underflow and lose digits."""
    if ord == 2:
        out = np.sqrt(sum_of_squares(x, dims, keepdim))
    else:
        out = np.power(sum_array(np.power(np.absolute(x), ord), dims, keepdim), 1 / ord)
    if not x.size:
        return out
    least = _smallest_safe_norm(x.dtype, ord)
    # argmax and argmin stop at NaN
    lowest, highest = (out.item(out.argmin()), out.item(out.argmax())) if out.ndim else (float(out),) * 2
    if lowest > least and highest < inf:
        return out
    out = np.asarray(out)
    unsafe = ~((out > least) & (out < inf)) | (ord != 2)  # other powers lose digits long before
    rest = [d for d in range(x.ndim) if d not in dims]
    rows = np.absolute(x.transpose(*rest, *dims)[unsafe.reshape([x.shape[d] for d in rest])])
    rows = rows.reshape(len(rows), -1)
    top = np.maximum.reduce(rows, 1, keepdims=True)
    top = np.where((top > 0) & (top < inf), top, 1).astype(top.dtype)
    if (top != 1).any():
        out[unsafe] = _root_of_powers(rows / top, ord, (1,), False) * top[:, 0]
    return out


def norm_vjp(g: Any, input: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if ord == 0:
        return None
    if ord == 1:
        return spread(g, input.shape, dim, keepdim) * sgn(input)
    dims = canonical_dims(dim, len(input.shape))
    if not keepdim:
        g, out = (reshape(v, keepdim_shape(input.shape, dims)) for v in (g, out))
    if ord in (inf, -inf):
        size = abs(input)
        return sgn(input) * share_evenly(g, (size == out) | isnan(size), dims)
    nowhere = out == 0
    unit = where(nowhere, 1, out)
    if ord == 2:
        return input * where(nowhere, 0, g / unit)
    ratio = where(input == 0, unit, abs(input)) / unit
    return sgn(input) * where(nowhere, 0, g * ratio ** (ord - 1))


vector_norm.vjp(input=norm_vjp)


@op.general(name="unit", method=False, node="DivBackward0")
def _unit(input: Tensor, ord: Any, dim: Any, eps: float) -> Tensor:
    return match_layout((input,), input / np.maximum(vector_norm.op.impl(input, ord, dim, True), eps))


def _unit_vjp(g: Any, input: Any, out: Any, ord: float, dim: Any, eps: float) -> Any:
    dims = canonical_dims(dim, len(input.shape))
    length = vector_norm(input, ord, dims, True)
    divisor = clamp_min(length, eps)
    along = where(length < eps, 0, sum_dims(g * out, dims, True))
    if ord == 2:
        return (g - out * along) / divisor
    inward = norm_vjp(along / divisor, input, length, ord, dims, True)
    return g / divisor if inward is None else g / divisor - inward


_unit.vjp(input=_unit_vjp)


def unit_vectors(x: Tensor, ord: Any, dim: Any, eps: float) -> Tensor:
    """``x / max(norm(x), eps)``; one op, unless a transform (vmap, compile, ...) profits from its parts."""
    if thread_state.slow_path_reasons or x._array.dtype is not FLOAT32 and x._array.dtype is not FLOAT64:
        return x / clamp_min(vector_norm(x, ord, dim, True), eps)
    return _unit(x, ord, dim, eps)


@op.composite
@in_numpys_names
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The norm of the elements, all or along dimensions: :func:`torch.linalg.vector_norm` for a number ``p``.

    Args:
        p: a number; ``"fro"``, which is the same as 2; ``"nuc"``, the sum of the singular values of a matrix.

    >>> import pullback as torch
    >>> torch.norm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), dim=1)
    tensor([5., 1.])
    """
    if p == "nuc":
        return ops.matrix_norm.linalg_matrix_norm(
            input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out
        )
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype, out=out)


@op.composite
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``, which broadcast.

    >>> import pullback as torch
    >>> torch.dist(torch.tensor([1.0, 5.0]), torch.tensor([4.0, 1.0]))
    tensor(5.)
    """
    return vector_norm(input - other, p)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """``input / max(norm(input, p, dim), eps)``: vectors of norm 1.

    Args:
        input: any shape.
        p: the exponent of the norm.
        dim: the dimension(s) of the vectors.
        eps: keeps the zero vector from being divided by zero.

    >>> import pullback as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    result = unit_vectors(input, p, dim, eps)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@half.general(holomorphic=False)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along a dimension scaled down to a norm, where theirs is larger.

    Args:
        input: at least two-dimensional, floating or complex.
        p: the exponent of the norm, positive.
        maxnorm: the largest norm, not negative.

    >>> import pullback as torch
    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    for name, number in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(number, complex):
            raise RuntimeError(f"renorm: {name} must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    length = vector_norm.op.impl(input, p, _other_dims(dim, input.ndim), True)
    most, little, one = _renorm_constants(float(maxnorm), length.dtype)
    return input * np.where(length > most, most / (length + little), one)


@lru_cache(64)
def _renorm_constants(maxnorm: float, d: np.dtype) -> list[np.ndarray]:
    """The constants as 0-d arrays, which NumPy takes in half the time of Python numbers."""
    return [np.array(v, d) for v in (maxnorm, 1e-7, 1)]


@lru_cache(256)
def _other_dims(dim: int, rank: int) -> tuple[int, ...]:
    dim = wrap_dim(dim, rank)
    return tuple([d for d in range(rank) if d != dim])


def _renorm_vjp(g: Any, input: Any, p: float, dim: int, maxnorm: float) -> Any:
    dims = _other_dims(dim, len(input.shape))
    length = vector_norm(input, p, dims, True)
    along = norm_vjp(real(sum(g * conj(input), dims, True)), input, length, p, dims, True)
    return where(length > maxnorm, maxnorm / (length + 1e-7) * (g - along / (length + 1e-7)), g)


renorm.vjp(input=_renorm_vjp)


def _renorm_(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """In-place version of :func:`renorm`."""
    return inplace.assign(self, "renorm_", renorm(clone(self), p, dim, maxnorm))  # the gradient needs the old values


op.add_method(_renorm_, "renorm_")


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along a dimension, which is kept; of all of it for ``dim=-1``.

    >>> import pullback as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    tensor([[5.0000],
            [0.5000]])
    """
    if dim == -1:
        return vector_norm(v, pow)
    dim = wrap_dim(dim, len(v.shape))
    others = [d for d in range(len(v.shape)) if d != dim]
    return vector_norm(v, pow, others, True) if others else abs(v)
