"""Sparse COO values: indices and values in a tensor's data slot, instead of a dense array.

``values[k]`` belongs to the index ``indices[:, k]``. The first dimensions are sparse, any others dense: each value is
then an array itself. Duplicate indices are summed; *coalesced* means that there are none and that they are sorted.

A :class:`Coo` is a :class:`pullback.core.level.LevelValue` of a level that is always live: an operation looks up its
rule in :data:`sparse_rule`, and one without a rule refuses, so nothing is computed by accident on the stored values
alone. The rules are in :mod:`pullback.ops.sparse_rules` and beside the operations of :mod:`pullback.ops.sparse`. As
with other levels, operations look for such values only while there are any: programs without sparse tensors pay
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.device import Layout, sparse_coo
from ...base.dtypes import type_name
from ...base.errors import with_notes
from ...base.printing import format_sparse
from ...core.level import Level, StandingValue, wrap_value
from ...core.op import OpTable
from ...core.tensor import Tensor
from ..index import sum_at

sparse_rule = OpTable()  # rule(op, *values) gives an array or a Coo, or NotImplemented
gives_coo: set[Any] = set()  # operations whose results are in coordinates, whatever the layout of their operands


class Sparse(Level):
    """The level of all sparse values."""

    start, live = 0, True

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        rule = sparse_rule.get(op)
        result = NotImplemented if rule is None else rule(op, *values)
        if result is NotImplemented:
            raise refusal(op.name)
        if result.__class__ is Coo and op not in gives_coo:
            like = next((v for v in values if isinstance(v, Coo) and v.__class__ is not Coo), None)
            return result if like is None else like.alike(result)
        return result

    def track(self, x: Tensor) -> Tensor:
        return x

    def raised(self, array: np.ndarray, in_batch: bool = False) -> Any:
        raise RuntimeError(
            "a sparse result cannot be written into a dense tensor: write out of place, or convert it, .to_dense()"
        )


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


class Coo(StandingValue):
    """Values and where they stand.

    Attributes:
        indices: ``(sparse_dim, nnz)``, int64.
        value: ``(nnz, ...)``, the dense dimensions last.
        shape: of the whole.
        coalesced: whether the places are known to be in order, each only once.
        merged_by: the operation that had to coalesce its operand for this result, which cannot replace that in place.
    """

    __slots__ = ("indices", "shape", "coalesced", "merged_by")
    level, outer = Sparse(), False
    is_sparse = True
    layout: Layout = sparse_coo
    strides = ()
    indices: np.ndarray
    shape: tuple[int, ...]
    coalesced: bool
    merged_by: Any

    def __init__(self, indices: np.ndarray, value: np.ndarray, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices, self.value, self.shape, self.coalesced = indices, value, tuple(shape), coalesced
        self.merged_by = None

    def __reduce__(self) -> Any:
        return Coo, (self.indices, self.value, self.shape, self.coalesced)

    def lift_for_write(self, x: Tensor) -> None:
        if self.merged_by is not None and x.is_sparse and not x._array.coalesced:
            raise with_notes(
                RuntimeError(f"{self.merged_by.name}_ requires coalesced input"),
                "x.coalesce() has each index once; or compute out of place.",
            )
        super().lift_for_write(x)

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

    def emptied(self, dtype: np.dtype) -> Coo:
        """Another of its shape and dimensions that stores nothing."""
        return Coo(self.indices[:, :0], self.value[:0].astype(dtype), self.shape, True)

    def filled(self, value: Any, dtype: np.dtype) -> Coo:
        """Another one, all of ``value``."""
        raise refusal("fill_.Scalar")

    def unset(self, dtype: np.dtype) -> Coo:
        """Another one, whose elements do not matter."""
        return self.emptied(dtype)

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
        """Refuse the attributes that arrays have and sparse values do not."""
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
