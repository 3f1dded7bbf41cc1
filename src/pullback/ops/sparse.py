"""Sparse COO tensors: ``sparse_coo_tensor``, ``to_sparse``, ``to_dense``, ``coalesce``, ``sparse.mm``.

The rules of other operations are in :mod:`pullback.ops.sparse_rules`. A gradient for a sparse tensor
is needed only where it stores something; the operations here give such gradients, which are sparse at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..base.device import Layout, check_device, sparse_coo
from ..base.dtypes import FLOATING, int64
from ..base.errors import with_notes
from ..core import op, record, versions, views
from ..core.level import LevelValue
from ..core.tensor import Tensor
from .create import as_tensor, parse_size, zeros
from .index import index_array, sum_at, take_at
from .matmul import _matmul, matmul
from .matmul import mm as spmm
from .pointwise import exp, log
from .reduce import canonical_dims, sum_dims
from .reduce import sum as total
from .sparse_rules import matrix_product, sum_along
from .values.sparse_coo import Coo, flat, gives_coo, refusal, sparse_rule
from .values.sparse_csr import IN_BLOCKS
from .view import expand, reshape, t, unsqueeze, wrap_dim

__all__ = ["dsmm", "sparse_coo_tensor", "spmm"]


def _declared(impl: Any = None, *, coo: bool = False, **options: Any) -> Any:
    """Declare an operation that computes with sparse values itself.

    Args:
        coo: its results are in coordinates, whatever the layout of its operands.
    """
    if impl is None:
        return lambda impl: _declared(impl, coo=coo, **options)
    call = op.general(impl, method=False, **options)
    sparse_rule(call)(lambda _, *values: impl(*values))
    if coo:
        gives_coo.add(call.op)
    return call


# --- making -----------------------------------------------------------------------------------------------------


@_declared(name="sparse_coo_tensor", node="SparseCooTensorWithDimsAndTensorsBackward0", linear="values", coo=True)
def _coo_tensor(values: Tensor, indices: Tensor, size: tuple[int, ...], is_coalesced: bool = False) -> Coo:
    return Coo(indices, values, size, is_coalesced)


_coo_tensor.vjp(values=lambda g, indices: values_at(g, indices))


def coo_value(values: Any, indices: Any, size: Sequence[int], is_coalesced: bool = False) -> Any:
    """The sparse value with these values at ``indices``; a recorded tensor if ``values`` is a tensor (a rule may get
    either).
    """
    indices = index_array(indices)
    if isinstance(values, Tensor):
        return _coo_tensor(values, record.wrap(indices), tuple(size), is_coalesced)
    return Coo(indices, values, size, is_coalesced)


def values_at(x: Tensor, indices: Any) -> Tensor:
    """The values of a tensor, dense or sparse, at indices of its first dimensions: ``(nnz, ...)``."""
    indices = index_array(indices)
    if x.is_sparse:
        return _values_at(x, indices)
    return take_at(x, list(indices)) if len(indices) else expand(unsqueeze(x, 0), (indices.shape[1], *x.shape))


@_declared(name="sparse_mask_helper", linear="input")
def _values_at(input: Tensor, indices: Any) -> np.ndarray:
    return input.at(indices)


_values_at.vjp(input=lambda g, input_shape, indices: coo_value(g, indices, input_shape))


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinate form.

    Args:
        indices: ``(sparse_dim, nnz)``, the indices of the values; duplicates are summed. Without values: the size of a
            tensor that stores nothing, as with ``size`` alone.
        values: ``(nnz, ...)``: numbers, or arrays that fill the dense dimensions.
        size: of the whole; default: as small as the indices allow.
        dtype: default: the values'.
        is_coalesced: a promise that the indices are sorted and unique.

    Raises:
        RuntimeError: for indices outside of the size, and numbers of dimensions and values that do not fit.

    Derivative: of a value, the gradient at its index.

    >>> import pullback as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
    check_device(device)
    if values is None:
        shape = parse_size((indices if size is None else size,))
        at, stored = np.zeros((len(shape), 0), np.int64), zeros(0, dtype=dtype)
    else:
        stored = as_tensor(values, dtype=dtype)
        if stored.is_sparse:
            raise refusal("sparse_coo_tensor")
        at = as_tensor(indices, dtype=int64)._array
        stored = stored if stored.ndim else expand(stored, (1,))
        shape = _check_coo(at, stored._array, size, is_coalesced)
    result = _coo_tensor(stored, record.wrap(at), shape, bool(is_coalesced) or at.shape[1] < 2)
    if requires_grad and stored.dtype.category < FLOATING:
        raise with_notes(
            RuntimeError("Only Tensors of floating point and complex dtype can require gradients"), page="integer-grad"
        )
    return result.requires_grad_() if requires_grad and result._fn is None else result


def _check_coo(at: np.ndarray, values: np.ndarray, size: Any, is_coalesced: bool | None) -> tuple[int, ...]:
    """The size of a sparse tensor; refuses indices and values that do not match it."""
    if at.ndim != 2:
        raise with_notes(
            RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}"),
            "a vector needs one row of them: [[0, 2]]",
        )
    n, nnz = at.shape
    shape = (*at.max(1, initial=-1) + 1, *values.shape[1:]) if size is None else parse_size((size,))
    shape = tuple([int(k) for k in shape])
    if nnz != len(values):
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: {len(values)}"
        )
    if len(shape) != n + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {n}, "
            f"dense_dim = {values.ndim - 1}"
        )
    if values.shape[1:] != shape[n:]:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *shape[n:]]}, got {list(values.shape)}")
    for d, row in enumerate(at if nnz else ()):
        if row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
        if row.max() >= shape[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index {row.max()}"
            )
    if is_coalesced and (np.diff(flat(at, shape)) <= 0).any():
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return shape


# --- between dense and sparse -----------------------------------------------------------------------------------


@_declared(name="to_sparse", node="ToSparseBackward1", linear="input", shape_depends_on_values=True)
def _to_coo(input: Tensor, indices: Tensor) -> Coo:
    return Coo(indices, input[tuple(indices)] if len(indices) else input[None][: indices.shape[1]], input.shape, True)


_to_coo.vjp(input=lambda g: to_dense(g))


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Layout | None = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The nonzero elements as a sparse tensor; sparse tensors are returned as they are.

    Args:
        sparse_dim: how many dimensions, the first ones, are sparse; default: all.
        layout: ``torch.sparse_coo``, the default, or for matrices one of the compressed layouts.
        blocksize: rows and columns of a block, for ``torch.sparse_bsr`` and ``sparse_bsc``.

    >>> import pullback as torch
    >>> torch.tensor([[0.0, 5.0], [0.0, 0.0]]).to_sparse().values()
    tensor([5.])
    """
    if self.is_sparse:
        return ops.sparse_csr.to_layout(self, layout, blocksize)
    if layout not in (None, sparse_coo):
        if dense_dim or sparse_dim not in (None, 2):
            raise NotImplementedError(f"to_{layout.name}: only matrices of numbers have a compressed layout here")
        return ops.sparse_csr.to_layout(to_sparse(self), layout, blocksize)
    n = self.ndim
    sparse_dim = n if sparse_dim is None else sparse_dim
    if not 0 <= sparse_dim <= n:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {sparse_dim} is given")
    if n and not sparse_dim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if isinstance(self._array, LevelValue):
        raise with_notes(
            NotImplementedError("to_sparse: the shape of the result depends on values"),
            "Make it sparse outside of vmap and forward mode; meta tensors have no values.",
        )
    there = (self._array != 0).any(tuple(range(sparse_dim, n)))
    at = np.array(there.nonzero(), np.int64) if n else np.zeros((0, int(there)), np.int64)
    return _to_coo(self, record.wrap(at))


@_declared(name="to_dense", linear="input")
def _to_dense(input: Tensor, masked: bool) -> np.ndarray:
    return input.dense()


_to_dense.vjp(input=lambda g, input, masked: sparse_mask(g, input) if masked else g)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A sparse tensor with all its zeros; dense tensors as they are.

    Args:
        dtype: convert to this type, too.
        masked_grad: whether the gradient is sparse, at the stored indices (the default), or dense.

    >>> import pullback as torch
    >>> torch.sparse_coo_tensor([[0, 2, 2]], [1.0, 2.0, 3.0], (4,)).to_dense()
    tensor([1., 0., 5., 0.])
    """
    x = _to_dense(self, masked_grad is not False) if self.is_sparse else self
    return x if dtype is None else x.to(dtype)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements, of a dense or sparse tensor, at the indices that the sparse tensor ``mask`` stores.

    >>> import pullback as torch
    >>> torch.tensor([1.0, 2.0]).sparse_mask(torch.tensor([0.0, 7.0]).to_sparse()).values()
    tensor([2.])
    """
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    if self.is_sparse and self._array.sparse_dim != mask._array.sparse_dim:
        raise RuntimeError(
            "sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
            f"`self.sparse_dim() == {self._array.sparse_dim}` != `mask.sparse_dim() == {mask._array.sparse_dim}`."
        )
    at = _require_sparse(mask, "sparse_mask").coalesce().indices
    return ops.sparse_csr.in_layout_of(_coo_tensor(values_at(self, at), record.wrap(at), tuple(self.shape), True), mask)


# --- taking apart -----------------------------------------------------------------------------------------------


def _require_sparse(x: Tensor, what: str) -> Coo:
    if not x.is_sparse:
        raise RuntimeError(
            f"{what} expected sparse {'' if what == 'values' else 'coordinate '}tensor layout but got Strided"
        )
    return x._array


@_declared(name="values", linear="input")
def _values(input: Tensor) -> np.ndarray:
    return input.value


def _values_vjp(g: Tensor, input: Tensor) -> Tensor:
    held = input._array
    return ops.sparse_csr.in_layout_of(
        _coo_tensor(g, record.wrap(held.indices), tuple(input.shape), held.coalesced), input
    )


_values.vjp(input=_values_vjp)


@_declared(name="coalesce", linear="input", coo=True)
def _coalesce(input: Tensor) -> Coo:
    return input.coalesce()


_coalesce.vjp(input=lambda g: g)


def coalesce(self: Tensor) -> Tensor:
    """Each index once, sorted, with the sum of its values; the tensor itself if it is coalesced."""
    return self if _require_sparse(self, "coalesce").coalesced else _coalesce(self)


def values(self: Tensor) -> Tensor:
    """The values of a coalesced tensor, ``(nnz, ...)``, or those of a compressed one: numbers, or blocks."""
    blocks = getattr(self._array, "blocks", None) if self.is_sparse else None
    if blocks is not None:
        return reshape(_values(self), (-1, *blocks)) if self._array.layout in IN_BLOCKS else _values(self)
    if not _require_sparse(self, "values").coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return _values(self)


def indices(self: Tensor) -> Tensor:
    """The indices of the values of a coalesced tensor: ``(sparse_dim, nnz)``."""
    if self.is_sparse and self.layout is not sparse_coo:
        raise RuntimeError(
            "indices expected sparse coordinate tensor layout but got "
            + "".join(part.capitalize() for part in self.layout.name.split("_"))
        )
    if not _require_sparse(self, "indices").coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return record.wrap(self._array.indices)


def _sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse."""
    return self._array.sparse_dim if self.is_sparse else 0


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    _require_sparse(self, "_coalesced_").coalesced = coalesced
    return self


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another shape, in place. Where elements are stored, it may only grow; new ones in dense dimensions are 0.

    Raises:
        RuntimeError: if it would shrink, or the kinds of its dimensions change, while elements are stored.

    >>> import pullback as torch
    >>> x = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,)); x.sparse_resize_((4,), 1, 0).to_dense()
    tensor([1., 2., 0., 0.])
    """
    return _resized(self, tuple(size), sparse_dim, dense_dim, "sparse_resize_")


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another shape, in place, with no element stored."""
    return _resized(self, tuple(size), sparse_dim, dense_dim, "sparse_resize_and_clear_")


def _resized(self: Tensor, size: tuple[int, ...], sparse_dim: int, dense_dim: int, name: str) -> Tensor:
    held = _require_sparse(self, name)
    views.check_writable(self)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    dense = size[sparse_dim:]
    if name == "sparse_resize_and_clear_" or not held.count:
        made = Coo(np.empty((sparse_dim, 0), np.int64), np.empty((0, *dense), held.dtype), size)
    else:
        before = held.value.shape[1:]
        for kind, old, new in (("sparse", held.sparse_dim, sparse_dim), ("dense", len(before), dense_dim)):
            if old != new:
                raise RuntimeError(
                    f"changing the number of {kind} dimensions (from {old} to {new}) on a non-empty sparse tensor is "
                    "not supported."
                )
        pairs = (("sparse", held.shape[:sparse_dim], size[:sparse_dim]), ("dense", before, dense))
        for kind, old_size, new_size in pairs:
            if any(n < o for n, o in zip(new_size, old_size)):
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions (from {list(old_size)} to {list(new_size)}) on a "
                    "non-empty sparse tensor is not supported."
                )
        value = np.pad(held.value, [(0, n - o) for n, o in zip((held.count, *dense), held.value.shape)])
        made = Coo(held.indices, value, size, held.coalesced)
    versions.bump_tensor_version(self)
    versions.set_array(self, made)
    return self


_METHODS: dict[str, Any] = {
    "coalesce": coalesce,
    "dense_dim": lambda self: self.ndim - _sparse_dim(self),
    "indices": indices,
    "is_coalesced": lambda self: _require_sparse(self, "is_coalesced").coalesced,
    "sparse_dim": _sparse_dim,
    "sparse_mask": sparse_mask,
    "sparse_resize_": sparse_resize_,
    "sparse_resize_and_clear_": sparse_resize_and_clear_,
    "to_dense": to_dense,
    "to_sparse": to_sparse,
    "to_sparse_coo": lambda self: to_sparse(self),
    "values": values,
    "_coalesced_": _coalesced_,
    "_indices": lambda self: record.wrap(_require_sparse(self, "indices").indices),
    "_nnz": lambda self: _require_sparse(self, "_nnz").count,
    "_values": lambda self: record.wrap(_require_sparse(self, "values").value),
}
for _name, _method in _METHODS.items():
    op.add_method(_method, _name)

dsmm = spmm

# --- torch.sparse -----------------------------------------------------------------------------------------------


def _sampled_matmul(x: Any, y: Any, pattern: Tensor) -> Tensor:
    """SDDMM: the matrix product ``x @ y.T`` at the indices that ``pattern`` stores."""
    at = pattern._array.coalesce().indices
    return _coo_tensor(
        total(take_at(x, [at[0]]) * take_at(y, [at[1]]), -1), record.wrap(at), tuple(pattern.shape), True
    )


def _node_name(mat1: Any, mat2: Any) -> str:
    return "SparseSparseMatmulBackward0" if mat2.is_sparse else "SparseAddmmBackward0"


@_declared(name="sparse_mm", node=_node_name, linear="mat1 mat2")
def _sparse_mm(mat1: Tensor, mat2: Tensor) -> Any:
    return matrix_product(_matmul.op, mat1, mat2)


def _mat1_vjp(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    return sparse_mask(matmul(g, t(mat2)), mat1) if mat2.is_sparse else _sampled_matmul(g, mat2, mat1)


def _mat2_vjp(g: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    d = matmul(t(mat1), g)
    return sparse_mask(d, mat2) if mat2.is_sparse else d


_sparse_mm.vjp(mat1=_mat1_vjp, mat2=_mat2_vjp)


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices of which at least one is sparse; of two sparse ones it is sparse.

    Args:
        mat1, mat2: ``(n, k)`` and ``(k, m)``, of one dtype.
        reduce: what becomes of the products of what a row stores: "sum", "mean", "amax" or "amin"; then ``mat1``
            is sparse and ``mat2`` dense. A row that stores nothing gives 0.

    Derivative: for a dense factor dense, for a sparse one sparse at its stored indices.

    >>> import pullback as torch
    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(a, torch.tensor([[1.0], [10.0]]))
    tensor([[20.],
            [ 3.]])
    """
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if x.ndim != 2:
            raise with_notes(RuntimeError(f"{name} must be a matrix"), f"its shape is {list(x.shape)}")
    if reduce is not None:
        return _reduced_products(mat1, mat2, reduce)
    if mat1.is_sparse:
        return _sparse_mm(mat1, mat2)
    return t(_sparse_mm(t(mat2), t(mat1))) if mat2.is_sparse else matmul(mat1, mat2)


def _reduced_products(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not mat1.is_sparse or mat2.is_sparse:
        raise RuntimeError("sparse.mm with reduce takes a sparse matrix and a dense one")
    if mat1.layout is not sparse_coo:
        mat1 = mat1.to_sparse_coo()
    mat1 = coalesce(mat1)
    row, column = indices(mat1)._array
    products = unsqueeze(values(mat1), -1) * take_at(mat2, [column], "IndexSelectBackward0", 0)
    place = expand(record.wrap(row[:, None]), products.shape)
    result = zeros(mat1.shape[0], mat2.shape[1], dtype=mat2.dtype)
    return ops.scatter.scatter_reduce(result, 0, place, products, reduce, include_self=False)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, of a dense matrix, a sparse and a dense one; see :func:`mm`.

    >>> import pullback as torch
    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.addmm(torch.ones(2, 1), a, torch.tensor([[1.0], [10.0]]), alpha=2)
    tensor([[41.],
            [ 7.]])
    """
    return mat * beta + mm(mat1, mat2) * alpha


@_declared(name="sparse_sum", linear="input")
def _sparse_sum(input: Tensor, dim: tuple[int, ...]) -> Any:
    return sum_along(sum_dims.op, input, dim, False)


def _sparse_sum_vjp(g: Tensor, input: Tensor, dim: tuple[int, ...]) -> Tensor:
    at, n = input._array.indices, input._array.sparse_dim
    spread = values_at(g, at[[d for d in range(n) if d not in dim]])
    for d in sorted(dim):
        spread = unsqueeze(spread, d - n + 1) if d >= n else spread
    return _coo_tensor(expand(spread, input._array.value.shape), record.wrap(at), tuple(input.shape), True)


_sparse_sum.vjp(input=_sparse_sum_vjp)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor: of all elements, or along dimensions; sparse, if a sparse dimension is left.

    Derivative: sparse, at the input's stored indices.

    >>> import pullback as torch
    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 2]], [3.0, 4.0], (2, 3)), 0).to_dense()
    tensor([0., 0., 7.])
    """
    x = coalesce(input if dtype is None else input.to(dtype))
    return total(values(x)) if dim is None else _sparse_sum(x, canonical_dims(dim, x.ndim))


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension over the stored elements of a sparse tensor: the others count as minus infinity.

    >>> import pullback as torch
    >>> torch.sparse.softmax(torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3)), 1).values()
    tensor([0.5000, 0.5000])
    """
    return _sparse_softmax(input, dim, dtype, lambda shifted, sums: exp(shifted) / sums)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`.

    >>> import pullback as torch
    >>> torch.sparse.log_softmax(torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3)), 1).values()
    tensor([-0.6931, -0.6931])
    """
    return _sparse_softmax(input, dim, dtype, lambda shifted, sums: shifted - log(sums))


def _sparse_softmax(input: Tensor, dim: int, dtype: Any, of: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """``of`` the values less their maximum, and the sums of their exponentials; each along ``dim``."""
    x = coalesce(input if dtype is None else input.to(dtype))
    v, at, n = values(x), x._array.indices, x._array.sparse_dim
    dim = wrap_dim(dim, x.ndim)
    if dim >= n:
        shifted = v - v.detach().amax(dim - n + 1, True)
        result = of(shifted, total(exp(shifted), dim - n + 1, True))
    else:  # values whose indices differ only in dim belong together
        others = [d for d in range(n) if d != dim]
        _, group = np.unique(flat(at[others], [x.shape[d] for d in others]), return_inverse=True)
        shape = (int(group.max(initial=-1)) + 1, *v.shape[1:])
        largest = np.full(shape, -np.inf, v._array.dtype)
        np.maximum.at(largest, group, v._array)
        shifted = v - record.wrap(largest[group])
        result = of(shifted, take_at(sum_at(exp(shifted), [group], shape), [group]))
    return _coo_tensor(result, record.wrap(at), tuple(x.shape), True)
