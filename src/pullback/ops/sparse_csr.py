"""Compressed sparse matrices (CSR, CSC, BSR, BSC): ``sparse_csr_tensor``, ``to_sparse_csr``, ``crow_indices``, ...

All other operations treat them as COO tensors (:mod:`pullback.ops.sparse`); results keep the layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.device import Layout, check_device, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..base.dtypes import FLOATING, int64
from ..base.errors import with_notes
from ..core import op, record
from ..core.tensor import Tensor
from . import sparse
from .create import as_tensor, parse_size
from .values.sparse_coo import Coo, refusal
from .values.sparse_csr import BY_ROWS, IN_BLOCKS, Compressed, elements_of, laid
from .view import reshape

__all__ = [
    "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]

LAYOUTS: tuple[Layout, ...] = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def _node_name(input: Any, layout: Layout, blocks: Any) -> str:
    return f"ToSparse{layout.name[7:].capitalize()}Backward0"


@sparse._declared(name="to_sparse_compressed", node=_node_name, linear="input", shape_depends_on_values=True)
def _to_compressed(input: Tensor, layout: Layout, blocks: tuple[int, int]) -> Coo:
    return laid(input, layout, blocks)


@sparse._declared(
    name="to_sparse_coo", node="ToSparseBackward1", linear="input", coo=True, shape_depends_on_values=True
)
def _to_coo(input: Tensor) -> Coo:
    return input.coordinates()


@sparse._declared(name="sparse_compressed_tensor", node="SparseCompressedTensorBackward0", linear="values")
def _as_given(values: Tensor, indices: Tensor, size: tuple[int, ...], layout: Layout, blocks: tuple[int, int]) -> Coo:
    """Values in the order in which they are given, several perhaps at one place."""
    if isinstance(values, Coo):
        raise refusal("sparse_compressed_tensor")
    made = Compressed(indices, values, size, layout, blocks)
    made.coalesced = False
    return made


_as_given.vjp(values=lambda g, indices: sparse.values_at(g, indices))
_to_compressed.vjp(input=lambda g: to_layout(g, sparse_coo, None) if g.is_sparse else g)
_to_coo.vjp(input=lambda g, input: in_layout_of(g, input) if g.is_sparse else g)


def to_layout(x: Tensor, layout: Layout | None, blocksize: Any) -> Tensor:
    """A sparse tensor in another layout; by default COO."""
    held = x._array
    if layout in (None, sparse_coo):
        return _to_coo(x) if isinstance(held, Compressed) else x
    if layout not in LAYOUTS:
        raise RuntimeError(f"to_sparse: cannot convert to layout {layout}")
    if x.ndim != 2 or held.sparse_dim != 2:
        raise NotImplementedError(
            f"to_{layout.name}: only matrices have a compressed layout here, and this tensor has shape {list(x.shape)}"
        )
    name = f"dense_to_{layout.name}"
    if (layout in IN_BLOCKS) is (blocksize is None):
        raise RuntimeError(
            f"{name}: " + ("blocksize is required" if blocksize is None else "blocksize is only for BSR and BSC")
        )
    blocks = (1, 1) if blocksize is None else (blocksize,) * 2 if isinstance(blocksize, int) else tuple(blocksize)
    if len(blocks) != 2 or min(blocks) < 1:
        raise RuntimeError(f"{name}: blocksize needs two positive numbers, got {blocksize}")
    if any([n % b for n, b in zip(x.shape, blocks)]):
        raise RuntimeError(
            f"{name}: tensor sparse size ({x.shape[0]},{x.shape[1]}) must be divisible by given blocksize "
            f"({blocks[0]},{blocks[1]})"
        )
    if isinstance(held, Compressed):
        if (held.layout, held.blocks) == (layout, blocks):
            return x
        x = _to_coo(x)
    return _to_compressed(x, layout, blocks)


def in_layout_of(x: Tensor, like: Tensor) -> Tensor:
    """A sparse tensor in the layout of another."""
    held = like._array
    return (
        _to_compressed(x, held.layout, held.blocks)
        if isinstance(held, Compressed) and not isinstance(x._array, Compressed)
        else x
    )


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix from its compressed indices, plain indices and values.

    Args:
        compressed_indices: where each row (CSC, BSC: column) of blocks begins in the other arguments, and finally where
            the last one ends: ``(rows + 1,)``.
        plain_indices: the column (row) of each block: ``(nnz,)``, ascending in each row.
        values: ``(nnz,)``, or the blocks, ``(nnz, height, width)``.
        size: of the whole; default: as small as the indices allow.
        layout: ``torch.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.

    Raises:
        RuntimeError: for indices that do not describe such a matrix.

    Derivative: of a value, the gradient at its index.

    >>> import pullback as torch
    >>> torch.sparse_csr_tensor([0, 2, 3], [0, 2, 2], [1.0, 2.0, 3.0]).to_dense()
    tensor([[1., 0., 2.],
            [0., 0., 3.]])
    """
    check_device(device)
    if layout not in LAYOUTS:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}")
    stored = as_tensor(values, dtype=dtype)
    starts, places = (as_tensor(i, dtype=int64)._array for i in (compressed_indices, plain_indices))
    blocks = tuple(stored.shape[1:]) if layout in IN_BLOCKS else (1, 1)
    k = 0 if layout in BY_ROWS else 1
    if starts.ndim != 1 or places.ndim != 1 or stored.ndim != (3 if layout in IN_BLOCKS else 1) or len(starts) < 1:
        raise RuntimeError(
            f"only matrices are compressed here: indices must have 1 dimension, not {starts.ndim} and {places.ndim}, "
            f"and values of {layout} {3 if layout in IN_BLOCKS else 1}, not {stored.ndim}"
        )
    across = int(places.max(initial=-1)) + 1
    counts = (len(starts) - 1, across) if k == 0 else (across, len(starts) - 1)
    shape = (
        tuple([c * b for c, b in zip(counts, blocks)]) if size is None else tuple([int(n) for n in parse_size((size,))])
    )
    in_order = _check(starts, places, len(stored), shape, blocks, k)
    lines = np.repeat(np.arange(len(starts) - 1), np.diff(starts).astype(np.intp, copy=False))
    coordinates = elements_of(lines, places, blocks) if k == 0 else elements_of(places, lines, blocks)
    if requires_grad and stored.dtype.category < FLOATING:
        raise with_notes(
            RuntimeError("Only Tensors of floating point and complex dtype can require gradients"), page="integer-grad"
        )
    if not in_order and check_invariants:
        raise RuntimeError(f"`{_IN_ORDER.format(*_NAMES[k])}` is not satisfied.")
    made = (reshape(stored, (-1,)), record.wrap(coordinates), shape)
    if in_order:
        result = _to_compressed(sparse._coo_tensor(*made, layout is sparse_csr), layout, blocks)
    else:
        result = _as_given(*made, layout, blocks)
    return result.requires_grad_() if requires_grad and result._fn is None else result


_NAMES = ("crow_indices", "col_indices", "nrows", "ncols"), ("ccol_indices", "row_indices", "ncols", "nrows")
_IN_ORDER = (
    "{1}[..., {0}[..., i - 1]:{0}[..., i]] for all i = 1, ..., {2} are sorted and distinct along the last dimension "
    "values"
)


def _check(starts: np.ndarray, places: np.ndarray, nnz: int, shape: tuple[int, ...], blocks: Any, k: int) -> bool:
    """Refuse invalid indices, in PyTorch's words; whether each row has its places in order, and each once."""
    by, across, n, m = _NAMES[k]
    wrong = ""
    if len(shape) != 2 or any([s % b for s, b in zip(shape, blocks)]):
        wrong = f"a size of {list(shape)} is one of blocks {list(blocks)}"
    elif len(starts) != shape[k] // blocks[k] + 1:
        wrong = f"{by}.shape[-1] == {n} + 1"
    elif len(places) != nnz:
        wrong = f"{across}.shape[-1] == nnz"
    elif starts[0]:
        wrong = f"{by}[..., 0] == 0"
    elif starts[-1] != nnz:
        wrong = f"{by}[..., -1] == nnz"
    elif (np.diff(starts) < 0).any() or (np.diff(starts) > shape[1 - k] // blocks[1 - k]).any():
        wrong = f"0 <= {by}[..., 1:] - {by}[..., :-1] <= {m}"
    elif nnz and not 0 <= places.min() <= places.max() < shape[1 - k] // blocks[1 - k]:
        wrong = f"0 <= {across} < {m}"
    if wrong:
        raise RuntimeError(f"`{wrong}` is not satisfied.")
    rising = np.diff(places) > 0
    rising[starts[(starts > 0) & (starts < nnz)] - 1] = True  # a new row begins
    return bool(rising.all())


def _layout_constructor(layout: Layout) -> Callable[..., Tensor]:
    make: Callable[..., Tensor]
    if layout in BY_ROWS:

        def make(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
            return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=layout, **options)
    else:

        def make(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
            return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=layout, **options)

    make.__name__ = make.__qualname__ = f"{layout.name}_tensor"
    make.__doc__ = f":func:`sparse_compressed_tensor` of the layout ``torch.{layout.name}``."
    return make


sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor = map(_layout_constructor, LAYOUTS)


def _indices(name: str, by_rows: bool, which: int) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        held = self._array
        if not isinstance(held, Compressed) or (held.layout in BY_ROWS) is not by_rows:
            got = "".join(part.capitalize() for part in self.layout.name.split("_"))
            raise RuntimeError(
                f"{name} expected sparse {'row' if by_rows else 'column'} compressed tensor layout but got {got}"
            )
        return record.wrap(held.pointers()[which])

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        "Where each line of the matrix begins." if which == 0 else "The other index of each value or block."
    )
    return method


def _layout_method(layout: Layout) -> Callable[..., Tensor]:
    if layout in IN_BLOCKS:
        return lambda self, blocksize, dense_dim=None: sparse.to_sparse(
            self, layout=layout, blocksize=blocksize, dense_dim=dense_dim
        )
    return lambda self, dense_dim=None: sparse.to_sparse(self, layout=layout, dense_dim=dense_dim)


for _name, _rows, _which in (
    ("crow_indices", True, 0),
    ("col_indices", True, 1),
    ("ccol_indices", False, 0),
    ("row_indices", False, 1),
):
    op.add_method(_indices(_name, _rows, _which), _name)
for _layout in LAYOUTS:
    op.add_method(_layout_method(_layout), f"to_{_layout.name}")
Tensor.is_sparse_csr = property(lambda self: self.layout is sparse_csr)  # type: ignore[assignment]


# --- indices alone, as graph libraries convert them ---------------------------------------------------------------


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of ``size`` rows begins among sorted row numbers, and where the last one ends: ``(size + 1,)``."""
    starts = np.searchsorted(input._array, np.arange(size + 1))
    return record.wrap(starts.astype(np.int32 if out_int32 else np.int64))


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Row and column of each element, ``(2, nnz)``; with ``transpose`` column and row."""
    lengths = np.diff(crow_indices._array).astype(np.intp, copy=False)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    pair = [rows, col_indices._array]
    return record.wrap(np.stack(pair[::-1] if transpose else pair).astype(np.int32 if out_int32 else np.int64))
