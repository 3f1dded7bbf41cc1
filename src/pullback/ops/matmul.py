"""``matmul``, ``mm``, ``bmm``, ``mv``, ``dot``, ``outer``, ``addmm``, ``baddbmm``, ``cross``.

``matmul`` is the primitive: a vector gets a dimension added where necessary, and leading (batch) dimensions broadcast,
as in NumPy. Its derivatives are ``g @ other.mT`` and ``input.mT @ g`` on transposed views; the engine sums over
broadcast dimensions, unless one matrix met a batch: then one product sums. The rules also take several gradients at
once, in additional leading dimensions (:mod:`pullback.levels.multi_seed_vjp`). Other contractions (``einsum``,
``tensordot``) are in :mod:`pullback.ops.einsum`.

Types must agree, as in PyTorch. Integers are multiplied exactly (and slowly); half precision is summed in float32.
"""

from __future__ import annotations

import math
import sys
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes, errors, thread_state
from ..base.dtypes import BOOLEAN, CPP_NAMES, FLOAT32, FLOAT64, HALVES, OF_NUMPY, as_factor, check_numbers
from ..base.errors import with_notes
from ..core import inplace, op, record
from ..core.graph import Node
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..core.views import gradient_edge_for_saving
from ..kernels import gemm
from ..kernels.dispatch import as_type, wide
from . import half
from .complex import resolved_conj as conj
from .pointwise import elementwise_addcmul
from .view import expand, reshape, unsqueeze, wrap_dim
from .where import where

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "cross",
    "dot",
    "ger",
    "matmul",
    "mm",
    "mv",
    "outer",
    "vdot",
]

asarray, getframe = np.asarray, sys._getframe

# --- matmul -----------------------------------------------------------------------------------------------------


MANY = 1 << 14  # products of integers, from which on it pays to look how large they are


def products_in_double(x: np.ndarray, y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Integers as float64, if sums of so many products of them are exact in it: BLAS is many times as fast as NumPy's
    loops.
    """
    if not x.size or not y.size:
        return None
    largest = [max(-int(v.min()), int(v.max())) for v in (x, y)]
    return (x.astype(FLOAT64), y.astype(FLOAT64)) if count * largest[0] * largest[1] < 1 << 53 else None


def matmul_arrays(x: np.ndarray, y: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """``x @ y + bias`` of arrays by the fastest call: ``dot`` checks less than ``matmul``, and one large product is
    faster than a batch of small ones.
    """
    d = x.dtype
    if not (d is FLOAT32 or d is FLOAT64) and d in HALVES:
        return as_type(matmul_arrays(wide(x), wide(y), wide(bias)), d)
    if d.kind == "i" and y.dtype is d and x.ndim > 0 and y.ndim > 1 and x.size * y.shape[-1] >= MANY:
        doubles = products_in_double(x, y, x.shape[-1])
        if doubles is not None:
            out = matmul_arrays(*doubles).astype(d)
            return out if bias is None else out + bias
    if x.ndim > 2 == y.ndim and x.flags.c_contiguous and x.size:
        return gemm.product(x.reshape(-1, x.shape[-1]), y, bias).reshape(*x.shape[:-1], y.shape[-1])
    if x.ndim == 2 == y.ndim:
        return gemm.product(x, y, bias)
    out = x.dot(y) if 0 < x.ndim <= 2 and 0 < y.ndim <= 2 else np.matmul(x, y)
    return asarray(out if bias is None else out + bias)


def _node_name(input: Any, other: Any) -> str:
    a, b = input.ndim, other.ndim
    return ("DotBackward0" if a == 1 else "MvBackward0") if b == 1 else "MmBackward0" if a <= 2 == b else "BmmBackward0"


@op.general(name="matmul", node=_node_name, method=False, linear="input other")
def _matmul(input: Tensor, other: Tensor) -> Tensor:
    if input.dtype is not other.dtype and input.dtype != other.dtype:
        raise dtype_error(input, other)
    if input.dtype is BOOLEAN:
        kernel = {1: "dot" if input.ndim == 1 else "addmv_impl_cpu", 2: "addmm_impl_cpu_"}.get(other.ndim, "bmm")
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    try:
        return matmul_arrays(input, other)
    except ValueError:
        raise shape_error(input, other) from None


def _input_vjp(g: Any, input_shape: tuple[int, ...], other: Any) -> Any:
    n, m = len(input_shape), len(other.shape)
    if m == 1:
        return unsqueeze(g, -1) * other
    if n == 1 and m > 2:
        return (other @ unsqueeze(g, -1))[..., 0]
    return matmul_arrays(g, other.mT) if g.__class__ is np.ndarray is other.__class__ else g @ other.mT


def _other_vjp(g: Any, input: Any, other_shape: tuple[int, ...]) -> Any:
    n, m = len(input.shape), len(other_shape)
    if n == 1:
        return unsqueeze(g, -1) * input if m == 1 else unsqueeze(input, -1) * unsqueeze(g, -2)
    if n > 2 >= m:  # one matrix for a batch: its gradient is one product over all rows of the batch
        count = math.prod(input.shape[:-1])
        g = reshape(g, (*g.shape[: len(g.shape) + 2 - n - m], count, *other_shape[1:]))
        input = reshape(input, (count, input.shape[-1]))
    return g @ input if m == 1 else input.mT @ g


_matmul.vjp(input=_input_vjp, other=_other_vjp)
matmul_impl = _matmul.op.impl  # of arrays
NODES = {name: _matmul.op.node_type(name) for name in ("DotBackward0", "MvBackward0", "MmBackward0", "BmmBackward0")}


def with_known_node(node_type: type[Node], out: np.ndarray, edges: tuple[Any, ...], saved: tuple[Any, ...]) -> Tensor:
    """The result as a tensor with its node, for fast paths that know the node's saved values; see
    :func:`pullback.core.slow_call.attach_node`.

    ``saved`` holds all values that the op's rules need, with None for those that no recorded edge needs.
    """
    for e in edges:
        if e is not None:
            break
    else:
        return record.wrap(out)
    if thread_state.no_grad_threads and not thread_state.is_grad_enabled():
        return record.wrap(out)
    return record.with_node(out, node_type, edges, saved, getframe(2))


@op.composite
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Matrix product; the operator ``@``.

    Args:
        input: ``(..., n, k)``, or a vector ``(k,)``.
        other: ``(..., k, m)``, or a vector ``(k,)``, of the same dtype. Leading dimensions broadcast.

    Returns:
        ``(..., n, m)``, without ``n`` (or ``m``) where ``input`` (or ``other``) is a vector.

    Raises:
        RuntimeError: for shapes that do not fit, 0-d tensors and differing dtypes.
        NotImplementedError: for bool.

    >>> import pullback as torch
    >>> torch.matmul(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    # Fast path, inlined: it decides the cost of small products.
    try:
        x, y = input._array, other._array
        d = x.dtype
        if (
            not (d is FLOAT32 or d is FLOAT64)
            or y.dtype is not d
            or out is not None
            or thread_state.slow_path_reasons
            or thread_state.is_marking_tensors()
        ):
            return _matmul(input, other, out=out)
        if input.__class__ not in PLAIN_TENSOR_TYPES or other.__class__ not in PLAIN_TENSOR_TYPES:
            return _matmul(input, other, out=out)
        e, f = gradient_edge_for_saving(input), gradient_edge_for_saving(other)
        value = asarray(matmul_arrays(x, y))
    except (AttributeError, ValueError, RuntimeError):
        return _matmul(input, other, out=out)
    saved = (x.shape, None if e is None else y, None if f is None else x, y.shape)
    return with_known_node(NODES[_node_name(x, y)], value, (e, f), saved)


def _operator(self: Tensor, other: Any) -> Any:
    if isinstance(other, (Tensor, np.ndarray)) or hasattr(type(other), "__torch_function__"):
        return matmul(self, other)
    return NotImplemented


Tensor.__matmul__ = _operator  # type: ignore[assignment, method-assign]
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[method-assign]


def dtype_error(x: np.ndarray, y: np.ndarray) -> RuntimeError:
    """The error for factors of two dtypes, in the words of the kernel that PyTorch dispatches to."""
    a, b = OF_NUMPY[x.dtype], OF_NUMPY[y.dtype]
    found = f"found {dtypes.type_name(a)} and {dtypes.type_name(b)}"
    if x.ndim == y.ndim == 1:
        message = f"dot : expected both vectors to have same dtype, but {found}"
    elif min(x.ndim, y.ndim) > 2:
        message = f"expected scalar type {dtypes.type_name(a)} but found {dtypes.type_name(b)}"
    else:
        message = f"expected m1 and m2 to have the same dtype, but got: {CPP_NAMES[a.name]} != {CPP_NAMES[b.name]}"
    way_out = f"Convert one of them: other.to({a!r}) or input.to({b!r})."
    return with_notes(RuntimeError(message), way_out, page="different-dtypes")


def shape_error(x: np.ndarray, y: np.ndarray) -> RuntimeError:
    """The error for factors whose shapes do not match, in the words of the kernel that PyTorch dispatches to."""
    if not x.ndim or not y.ndim:
        return RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D")
    k, inner = x.shape[-1], y.shape[max(y.ndim - 2, 0)]
    rows = math.prod(x.shape[:-1])
    if k == inner:
        return errors.broadcast_error("matmul", [x.shape[:-2], y.shape[:-2]]) or RuntimeError("matmul failed")
    if x.ndim == y.ndim == 1:
        message = (
            f"inconsistent tensor size, expected tensor [{k}] and src [{inner}] to have the same number of elements, "
            f"but got {k} and {inner} elements respectively"
        )
    elif y.ndim == 1:
        message = f"size mismatch, got input ({rows}), mat ({rows}x{k}), vec ({inner})"
    elif min(x.ndim, y.ndim) > 2:
        batch = max(math.prod(x.shape[:-2]), math.prod(y.shape[:-2]))
        message = (
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {k}] "
            f"but got: [{batch}, {inner}]."
        )
    else:
        message = f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {inner}x{y.shape[-1]})"
    error = with_notes(
        RuntimeError(message),
        f"matmul(input, other): input.shape[-1] is {k} but other.shape[{-min(y.ndim, 2)}] is {inner}.",
        page="matmul-shapes",
    )
    for name, a, fits in (
        ("other", y, y.ndim > 1 and y.shape[-1] == k),
        ("input", x, x.ndim > 1 and x.shape[-2] == inner),
    ):
        if fits:
            turned = "T" if a.ndim == 2 else "mT"
            with_notes(
                error, f"Did you mean {name}.{turned}?  Its shape would be {(*a.shape[:-2], a.shape[-1], a.shape[-2])}."
            )
    return error


# --- by the number of dimensions --------------------------------------------------------------------------------


@op.composite
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Product of two matrices, ``(n, k)`` and ``(k, m)``; no broadcasting.

    >>> import pullback as torch
    >>> torch.mm(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    for name, t in (("self", input), ("mat2", mat2)):
        if t.ndim != 2:
            raise with_notes(
                RuntimeError(f"{name} must be a matrix"), f"its shape is {list(t.shape)}; torch.matmul takes any"
            )
    return matmul(input, mat2, out=out)


def _check_batches(batch1: Any, batch2: Any) -> None:
    for name, t in (("batch1", batch1), ("batch2", batch2)):
        if t.ndim != 3:
            raise with_notes(
                RuntimeError(f"{name} must be a 3D tensor"), f"its shape is {list(t.shape)}; torch.matmul takes any"
            )


def _check_batch_product(batch1: Any, batch2: Any) -> None:
    a, b = batch1.shape, batch2.shape
    if len(a) != 3 or len(b) != 3:
        _check_batches(batch1, batch2)
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: {list(b[:2])}."
        )


@op.composite
def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Products of the matrices of two batches, ``(b, n, k)`` and ``(b, k, m)``; no broadcasting.

    >>> import pullback as torch
    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[[3.]],
    <BLANKLINE>
            [[3.]]])
    """
    _check_batch_product(input._array, mat2._array)
    return matmul(input, mat2, out=out)


@op.composite
def mv(input: Tensor, vec: Tensor, *, out: Any = None) -> Tensor:
    """Product of a matrix ``(n, k)`` and a vector ``(k,)``.

    >>> import pullback as torch
    >>> torch.mv(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(input.shape)}, {len(vec.shape)}")
    return matmul(input, vec, out=out)


@op.composite
def dot(input: Tensor, tensor: Tensor, *, out: Any = None) -> Tensor:
    """Sum of the products of the elements of two vectors. Complex numbers are not conjugated: see :func:`vdot`.

    >>> import pullback as torch
    >>> torch.dot(torch.tensor([2, 3]), torch.tensor([2, 1]))
    tensor(7)
    """
    if input._array.ndim != 1 or tensor._array.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(input.shape)}D and {len(tensor.shape)}D tensors")
    return matmul(input, tensor, out=out)


@op.composite
def vdot(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Inner product of two vectors: the conjugate of the first times the second.

    >>> import pullback as torch
    >>> torch.vdot(torch.tensor([1 + 2j]), torch.tensor([1 + 2j]))
    tensor(5.+0.j)
    """
    return dot(conj(input), other, out=out)


@op.composite
def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """All products of the elements of two vectors: ``(n,)`` and ``(m,)`` give ``(n, m)``.

    >>> import pullback as torch
    >>> torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    for name, t in (("self", input), ("vec2", vec2)):
        if t.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(t.shape)}-D")
    result = unsqueeze(input, 1) * vec2
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


ger = outer
op.add_method(outer, "ger")


# --- a product added to something -------------------------------------------------------------------------------


def add_scaled(input: np.ndarray, made: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """``beta * input + alpha * made``, input expanded; where ``beta`` is 0, NaN in ``input`` is ignored."""
    if input.dtype != made.dtype:
        a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (input, made))
        raise with_notes(
            RuntimeError(f"self and mat2 must have the same dtype, but got {a} and {b}"), page="different-dtypes"
        )
    if input.shape != made.shape[made.ndim - input.ndim :]:  # else the addition broadcasts it
        input = expand(input, made.shape)
    if alpha != 1 or beta != 1:
        beta, alpha = as_factor(beta, input.dtype), as_factor(alpha, input.dtype)
    total = made if alpha == 1 else made * alpha
    if beta != 0:
        total = total + (input if beta == 1 else input * beta)
    return total


@half.general(alike=True, inplace=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``.

    Args:
        input: expands to ``(n, m)``.
        mat1, mat2: matrices ``(n, k)`` and ``(k, m)`` of input's dtype.
        beta, alpha: numbers. Where ``beta`` is 0, ``input`` is ignored.

    >>> import pullback as torch
    >>> torch.addmm(torch.tensor([1.0]), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]), alpha=2)
    tensor([[23.]])
    """
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.ndim}-D tensor")
    return add_scaled(input, matmul_impl(mat1, mat2), beta, alpha)


addmm.vjp(
    input=lambda g, beta: g if beta == 1 else g * beta,
    mat1=lambda g, mat2, alpha: g @ mat2.mT if alpha == 1 else g @ mat2.mT * alpha,
    mat2=lambda g, mat1, alpha: mat1.mT @ g if alpha == 1 else mat1.mT @ g * alpha,
)


@half.general(alike=True, inplace=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``, for a matrix ``(n, k)`` and a vector ``(k,)``.

    >>> import pullback as torch
    >>> torch.addmv(torch.tensor([1.0]), torch.tensor([[1.0, 2.0]]), torch.tensor([3.0, 4.0]))
    tensor([12.])
    """
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or input.size not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input.size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return add_scaled(input, matmul_impl(mat, vec), beta, alpha)


addmv.vjp(
    input=lambda g, beta: g * beta,
    mat=lambda g, vec, alpha: unsqueeze(g, 1) * (vec * alpha),
    vec=lambda g, mat, alpha: mat.mT @ g * alpha,
)


@op.composite(inplace=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    >>> import pullback as torch
    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    for name, t in (("vec1", vec1), ("vec2", vec2)):
        if t._array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {t._array.ndim}-D")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if factor.__class__ is float and all(t._array.dtype.kind in "biu" for t in (input, vec1, vec2)):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        if factor.__class__ is bool and any(t._array.dtype.kind != "b" for t in (input, vec1, vec2)):
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    check_numbers(dtypes.result_type_of([t._array for t in (input, vec1, vec2)]).numpy, beta, alpha)
    column, shape, x = unsqueeze(vec1, 1), vec1._array.shape + vec2._array.shape, input._array
    if x.shape != shape[2 - x.ndim :]:  # else the addition broadcasts it
        input = expand(input, shape)
    if x.dtype is BOOLEAN is vec1._array.dtype is vec2._array.dtype:
        result = (column & vec2 & bool(alpha)) | (input & bool(beta))
    else:
        if beta.__class__ is not int or beta != 1:
            input = input * beta if beta != 0 else where(np.False_, input, 0)
        result = elementwise_addcmul.op.call_ordered(input, column, vec2, alpha)
    return result if out is None else inplace.write_out(out, result, check=inplace.castable)


@half.general(alike=True, inplace=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha *`` the sum of the products of two batches, ``(b, n, k)`` and ``(b, k, m)``.

    >>> import pullback as torch
    >>> torch.addbmm(torch.zeros(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    _check_batches(batch1, batch2)
    if len(batch1) != len(batch2):
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {len(batch1)} and {len(batch2)}")
    (_, n, k), (_, inner, m) = batch1.shape, batch2.shape
    if k != inner:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{k} and {inner}x{m})")
    return add_scaled(input, matmul_impl(batch1, batch2).sum(0, dtype=batch1.dtype), beta, alpha)


addbmm.vjp(
    input=lambda g, beta: g * beta,
    batch1=lambda g, batch2, alpha: g @ batch2.mT * alpha,
    batch2=lambda g, batch1, alpha: batch1.mT @ g * alpha,
)


@half.general(alike=True, inplace=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``.

    >>> import pullback as torch
    >>> torch.baddbmm(torch.ones(1), torch.ones(1, 1, 3), torch.ones(1, 3, 1))
    tensor([[[4.]]])
    """
    _check_batch_product(batch1, batch2)
    return add_scaled(input, matmul_impl(batch1, batch2), beta, alpha)


baddbmm.vjp(
    input=lambda g, beta: g * beta,
    batch1=lambda g, batch2, alpha: g @ batch2.mT * alpha,
    batch2=lambda g, batch1, alpha: batch1.mT @ g * alpha,
)


# --- products of three-dimensional vectors, and distances -------------------------------------------------------


NEXT_COORDINATE = np.array([1, 2, 0])  # the coordinate after each, cyclically


@lru_cache(256)
def _cross_dim(a: tuple[int, ...], b: tuple[int, ...], dim: int) -> int:
    """The dimension of the coordinates, as a non-negative index; refuses shapes that do not match."""
    if len(a) != len(b):
        raise with_notes(
            RuntimeError("linalg.cross: inputs must have the same number of dimensions."), f"{len(a)} and {len(b)}"
        )
    dim = wrap_dim(dim, len(a))
    if a[dim] != 3 or b[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {a[dim]} and {b[dim]}")
    return dim


@op.general(method=False)
def linalg_cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """Vector product along a dimension of size 3: ``torch.linalg.cross``.

    Args:
        input, other: same number of dimensions; the others broadcast.

    Raises:
        RuntimeError: if the dimension is not of size 3 in both.

    >>> import pullback as torch
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    dim = _cross_dim(input.shape, other.shape, dim)
    if input.dtype != other.dtype:
        a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (input, other))
        raise RuntimeError(f"expected scalar type {a} but found {b}")
    if dim == input.ndim - 1:
        fast = kernels.run("cross", "cross", input.size, input, other)
        if fast is not None:
            return fast
    out = input * other.take(NEXT_COORDINATE, dim)  # at k: the component before k
    out -= input.take(NEXT_COORDINATE, dim) * other
    return out.take(NEXT_COORDINATE, dim)


linalg_cross.vjp(
    input=lambda g, other, dim: linalg_cross(other, g, dim),
    other=lambda g, input, dim: linalg_cross(g, input, dim),
)


@op.composite
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """Vector product along a dimension of size 3, by default the first such.

    >>> import pullback as torch
    >>> torch.cross(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]]), dim=1)
    tensor([[0., 0., 1.]])
    """
    if dim is None:
        if 3 not in input.shape:
            raise with_notes(RuntimeError("no dimension of size 3 in input"), f"its shape is {list(input.shape)}")
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
            "or simply use torch.linalg.cross.",
            UserWarning,
            stacklevel=2,
        )
        dim = list(input.shape).index(3)
    return linalg_cross(input, other, dim, out=out)
