"""Sparse values: what a tensor holds in the place of an array when only some of its elements are stored.

In coordinate form, ``values[k]`` stands at ``indices[:, k]``. The first dimensions are sparse, any others dense: each
value is then an array itself. Places that occur several times are added up; *coalesced* means that none does, and that
they are in order.

A :class:`Coo` is a lifted value (:mod:`pullback.core.level`) of a level that is always there: operations ask the rules
below, by name, and an operation without a rule refuses. So nothing is computed by accident on what happens to be
stored. As with other levels, operations look for lifted values only while there are any: programs without sparse
tensors pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...base import dtypes, thread_state
from ...base.device import Layout, sparse_coo
from ...base.dtypes import type_name
from ...base.errors import with_notes
from ...base.printing import format_sparse
from ...core.level import Level, LevelValue, wrap_value
from ...core.op import REGISTRY
from ...core.tensor import Tensor
from ..index import sum_at
from ..matmul import add_scaled

# whose results are that, whatever the layout of their operands
IN_COORDINATES = {"to_sparse_coo", "coalesce", "sparse_coo_tensor"}
# by the operation's name: rule(op, *values) gives an array or a Coo, or NotImplemented
RULES: dict[str, Callable[..., Any]] = {}


class Sparse(Level):
    """The level of all sparse values."""

    start, live = 0, True

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        rule = RULES.get(op.name)
        result = NotImplemented if rule is None else rule(op, *values)
        if result is NotImplemented:
            raise refusal(op.name)
        if result.__class__ is Coo and op.name not in IN_COORDINATES:
            like = next((v for v in values if isinstance(v, Coo) and v.__class__ is not Coo), None)
            return result if like is None else like.alike(result)
        return result

    def track(self, x: Tensor) -> Tensor:
        return x

    def raised(self, array: np.ndarray) -> Any:
        raise RuntimeError(
            "a sparse result cannot be written into a dense tensor: write out of place, or convert it, .to_dense()"
        )

    def raised_view(self, base: Tensor, view: np.ndarray) -> Any:
        return self.raised(view)


class NotThere(NotImplementedError, AttributeError):
    """The refusal of something asked for as an attribute."""


def refusal(name: str) -> NotImplementedError:
    """The error of an operation that does not know sparse tensors."""
    return with_notes(
        NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend."),
        "Convert the tensor first, x.to_dense(), or compute with its values, x.coalesce().values().",
    )


def across_layouts(into_sparse: bool, into: np.dtype, source: np.dtype) -> RuntimeError:
    """The error of a copy from a dense tensor into a sparse one, or the other way round."""
    a, b = (type_name(dtypes.OF_NUMPY[d]) for d in (into, source))
    a, b = (f"torch.sparse.{a}", f"torch.{b}") if into_sparse else (f"torch.{a}", f"torch.sparse.{b}")
    return RuntimeError(
        f"copy_() between dense and sparse Tensors is not implemented! Found self type = {a}Tensor and src type = "
        f"{b}Tensor"
    )


class Coo(LevelValue):
    """Values and where they stand.

    Attributes:
        indices: ``(sparse_dim, nnz)``, int64.
        value: ``(nnz, ...)``, the dense dimensions last.
        shape: of the whole.
        coalesced: whether the places are known to be in order, each only once.
    """

    __slots__ = ("indices", "shape", "coalesced")
    level, outer = Sparse(), False
    is_sparse = True
    layout: Layout = sparse_coo
    strides = ()
    indices: np.ndarray
    shape: tuple[int, ...]
    coalesced: bool

    def __init__(self, indices: np.ndarray, value: np.ndarray, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices, self.value, self.shape, self.coalesced = indices, value, tuple(shape), coalesced
        thread_state.add_slow_path_reason(1)

    def __del__(self) -> None:
        thread_state.add_slow_path_reason(-1)

    def __reduce__(self) -> Any:
        return Coo, (self.indices, self.value, self.shape, self.coalesced)

    @property
    def sparse_dim(self) -> int:
        return len(self.indices)

    @property
    def count(self) -> int:
        """How many values are stored."""
        return len(self.value)

    def holding(self, value: np.ndarray) -> Coo:
        """Other values at the same places."""
        return Coo(self.indices, value, self.shape, self.coalesced)

    def keys(self) -> np.ndarray:
        """The place of each value as one number."""
        return flat(self.indices, self.shape)

    def alike(self, x: Coo) -> Coo:
        """A result in the layout of this one."""
        return x

    def turned(self, transpose: Coo) -> Coo:
        """The transpose of this one in the layout that it has."""
        return transpose

    def coalesce(self) -> Coo:
        """Each place once, in order."""
        if self.coalesced:
            return self
        keys, first, inverse = np.unique(self.keys(), return_index=True, return_inverse=True)
        return Coo(
            self.indices[:, first], sum_at(self.value, [inverse], (len(keys), *self.value.shape[1:])), self.shape, True
        )

    def dense(self) -> np.ndarray:
        n = self.sparse_dim
        return sum_at(self.value, [self.keys()], (prod(self.shape[:n]), *self.shape[n:])).reshape(self.shape)

    def at(self, indices: np.ndarray) -> np.ndarray:
        """The values at these places, 0 where none is stored."""
        own = self.coalesce()
        keys, asked = own.keys(), flat(indices, self.shape)
        position = np.searchsorted(keys, asked)
        found = position < len(keys)
        found[found] = keys[position[found]] == asked[found]
        result = np.zeros((len(asked), *own.value.shape[1:]), own.dtype)
        result[found] = own.value[position[found]]
        return result

    def __add__(self, other: Any) -> Any:
        return (wrap_value(other) + wrap_value(self))._array

    def __setitem__(self, key: Any, value: Any) -> None:
        """Become another value of the same shape."""
        if not isinstance(value, Coo) and np.ndim(value):
            raise across_layouts(True, self.dtype, value.dtype)
        if not isinstance(value, Coo):
            if value != 0:
                raise refusal("fill_.Scalar")
            n = self.sparse_dim
            value = Coo(np.zeros((n, 0), np.int64), np.zeros((0, *self.shape[n:]), self.dtype), self.shape, True)
        self.indices, self.coalesced = value.indices, value.coalesced
        self.value = value.value.astype(self.dtype, copy=False)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        return format_sparse(
            {"indices": self.indices},
            self.value,
            self.shape,
            dtype=dtypes.OF_NUMPY[self.dtype].name,
            default_dtype=dtypes.get_default_dtype().name,
            requires_grad=requires_grad,
            grad_fn=made_by,
        )

    def __getitem__(self, index: Any) -> Any:
        raise refusal("index")

    def __getattr__(self, name: str) -> Any:
        """What arrays have and sparse values do not."""
        raise NotThere(*refusal(name).args)

    def item(self) -> Any:
        return self.dense().item()

    def tolist(self) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def flat(indices: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Places as single numbers, in C order."""
    keys = np.zeros(indices.shape[1:], np.int64)
    for row, n in zip(indices, shape):
        keys = keys * n + row
    return keys


# --- what operations do with sparse values ----------------------------------------------------------------------


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Register a rule for these operations."""

    def register(fn: Callable) -> Callable:
        for name in names:
            RULES[name] = fn
        return fn

    return register


def on_values(op: Any, x: Coo, *options: Any) -> Coo:
    """An operation that maps 0 to 0, on the values."""
    return x.holding(op.call(wrap_value(x.value), *options)._array)


@rule("neg", "conj", "conj_physical", "cast", "clone")
def linear(op: Any, x: Coo, *options: Any) -> Coo:
    return on_values(op, x, *options)


@rule(
    "abs",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "deg2rad",
    "erf",
    "expm1",
    "floor",
    "log1p",
    "rad2deg",
    "relu",
    "sgn",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
)
def pointwise(op: Any, x: Coo) -> Coo:
    return on_values(op, x.coalesce())


@rule("pow")
def power(op: Any, x: Any, exponent: Any) -> Any:
    if not isinstance(x, Coo) or isinstance(exponent, Coo) or np.ndim(exponent) or not exponent > 0:
        return NotImplemented
    return on_values(op, x.coalesce(), exponent)


@rule("add", "sub")
def plus(op: Any, x: Any, y: Any) -> Any:
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
    values = np.concatenate([x.value.astype(d), y.value.astype(d) if op.name == "add" else -y.value.astype(d)])
    joined = Coo(np.concatenate([x.indices, y.indices], 1), values, x.shape)
    return joined.coalesce() if x.coalesced and y.coalesced else joined


@rule("mul")
def times(op: Any, x: Any, y: Any) -> Any:
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


@rule("div")
def over(op: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, Coo) or np.ndim(y):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return on_values(op, x, y)


@rule("transpose", "t", "permute")
def permuted(op: Any, x: Coo, *dims: Any) -> Coo:
    # of dimensions whose sizes are their numbers
    n, order = x.sparse_dim, op.impl(np.empty(range(x.ndim)), *dims).shape
    if any(d >= n for d in order[:n]):
        raise RuntimeError("transpose: sparse and dense dimensions of a sparse tensor cannot change places")
    value = x.value.transpose(0, *[1 + d - n for d in order[n:]])
    made = Coo(x.indices[list(order[:n])], value, [x.shape[d] for d in order])
    return x.turned(made) if order == (1, 0) else made


@rule("matmul")
def product(op: Any, x: Any, y: Any) -> Any:
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


@rule("addmm")
def addmm(op: Any, x: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if isinstance(x, Coo):
        return NotImplemented
    made = product(REGISTRY["matmul"], mat1, mat2)
    return NotImplemented if isinstance(made, Coo) else add_scaled(x, made, beta, alpha)


@rule("sum_all")
def sum_all(op: Any, x: Coo, dtype: Any = None) -> Any:
    return op.raw(x.value, dtype)


@rule("sum_dims")
def sum_dims(op: Any, x: Coo, dims: tuple[int, ...], keepdim: bool, dtype: Any = None) -> Any:
    """A sparse result where a sparse dimension is kept."""
    n = x.sparse_dim
    value = op.raw(x.value, tuple([d - n + 1 for d in dims if d >= n]), keepdim, dtype)
    kept = [d for d in range(n) if d not in dims]
    shape = tuple([1 if d in dims else s for d, s in enumerate(x.shape) if keepdim or d not in dims])
    if not kept:
        return op.raw(value, (0,), False, dtype).reshape(shape)
    indices = np.where(np.isin(range(n), kept)[:, None], x.indices, 0) if keepdim else x.indices[kept]
    return Coo(indices, value, shape).coalesce()


@rule("copied")
def copied(op: Any, x: Any, y: Any) -> Any:
    if not (isinstance(x, Coo) and isinstance(y, Coo)):
        raise across_layouts(isinstance(x, Coo), x.dtype, y.dtype)
    return y.holding(y.value.astype(x.dtype))
