"""Compressed sparse values: CSR, CSC, BSR and BSC matrices.

CSR and CSC store single numbers, BSR and BSC small dense blocks. One array of pointers says where each row (CSC, BSC:
column) begins, another which columns (rows) it has. Operations compute with such values as with the same ones in
coordinates (:mod:`pullback.ops.values.sparse_coo`), so a :class:`Compressed` is coordinates in the order of its layout,
of every element of its blocks; pointers are made when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.device import Layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ...base.dtypes import OF_NUMPY, get_default_dtype
from ...base.printing import format_sparse
from .sparse_coo import Coo

# of the transpose
TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}
BY_ROWS = (sparse_csr, sparse_bsr)
IN_BLOCKS = (sparse_bsr, sparse_bsc)


class Compressed(Coo):
    """A matrix in a compressed layout.

    Attributes:
        indices: ``(2, nnz)``: row and column of every element, block after block in the order of the layout.
        value: ``(nnz,)``, in that order.
        layout: ``torch.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        blocks: rows and columns of a block; 1 and 1 without.
    """

    __slots__ = ("layout", "blocks")
    layout: Layout
    blocks: tuple[int, int]

    def __init__(
        self, indices: np.ndarray, value: np.ndarray, shape: Sequence[int], layout: Layout, blocks: tuple[int, int]
    ) -> None:
        super().__init__(indices, value, shape, layout is sparse_csr)
        self.layout, self.blocks = layout, blocks

    def __reduce__(self) -> Any:
        return Compressed, (self.indices, self.value, self.shape, self.layout, self.blocks)

    def holding(self, value: np.ndarray) -> Compressed:
        made = Compressed(self.indices, value, self.shape, self.layout, self.blocks)
        made.coalesced = self.coalesced
        return made

    def emptied(self, dtype: np.dtype) -> Compressed:
        return Compressed(self.indices[:, :0], self.value[:0].astype(dtype), self.shape, self.layout, self.blocks)

    def filled(self, value: Any, dtype: np.dtype) -> Compressed:
        """What is stored is of ``value``, the rest stays 0."""
        return self.holding(np.full(self.value.shape, value, dtype))

    def unset(self, dtype: np.dtype) -> Compressed:
        return self.filled(0, dtype)

    def alike(self, x: Coo) -> Coo:
        """A result of the same layout; what is no matrix stays in coordinates."""
        return laid(x, self.layout, self.blocks) if x.ndim == 2 == x.sparse_dim else x

    def turned(self, transpose: Coo) -> Compressed:
        return laid(transpose, TURNED[self.layout], self.blocks[::-1])

    def coordinates(self) -> Coo:
        """The same in coordinate form, in order."""
        return Coo(self.indices, self.value, self.shape, True) if self.coalesced else self.coalesce()

    @property
    def count(self) -> int:
        """How many blocks, or numbers, are stored."""
        return len(self.value) // (self.blocks[0] * self.blocks[1])

    def pointers(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each row (or column) of blocks begins, with the end; and the column (or row) of each block."""
        first = self.indices[:, :: self.blocks[0] * self.blocks[1]]
        at = [i // b for i, b in zip(first, self.blocks)]
        k = 0 if self.layout in BY_ROWS else 1
        lines = self.shape[k] // self.blocks[k]
        return np.searchsorted(at[k], np.arange(lines + 1)).astype(np.int64), at[1 - k]

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        by, across = ("crow_indices", "col_indices") if self.layout in BY_ROWS else ("ccol_indices", "row_indices")
        pointers, places = self.pointers()
        values = self.value.reshape(-1, *self.blocks) if self.layout in IN_BLOCKS else self.value
        return format_sparse(
            {by: pointers, across: places},
            values,
            self.shape,
            dtype=OF_NUMPY[self.dtype].name,
            default_dtype=get_default_dtype().name,
            requires_grad=requires_grad,
            grad_fn=made_by,
            layout=self.layout.name,
        )


def elements_of(up: np.ndarray, across: np.ndarray, blocks: tuple[int, ...]) -> np.ndarray:
    """Row and column of every element of blocks, one block after the other, from those of the blocks: ``(2,
    elements)``.
    """
    rows, columns = blocks
    inside = np.arange(rows * columns)
    at = up[:, None] * rows + inside // columns, across[:, None] * columns + inside % columns
    return np.stack([a.reshape(-1) for a in at]).astype(np.int64)


def laid(x: Coo, layout: Layout, blocks: tuple[int, int]) -> Compressed:
    """A matrix in coordinates in a compressed layout. Blocks that have one of its places are stored in full."""
    rows, columns = blocks
    i, j = x.indices
    n, m = x.shape[0] // rows, x.shape[1] // columns  # of blocks
    by_rows = layout in BY_ROWS
    keys = i // rows * m + j // columns if by_rows else j // columns * n + i // rows
    met, block = np.unique(keys, return_inverse=True)
    within = i % rows * columns + j % columns
    size = rows * columns
    value = np.zeros(len(met) * size, x.dtype)
    np.add.at(value, block * size + within, x.value)
    up, across = np.divmod(met, m if by_rows else n) if len(met) else (met, met)
    at = elements_of(up, across, blocks) if by_rows else elements_of(across, up, blocks)
    return Compressed(at, value, x.shape, layout, blocks)
