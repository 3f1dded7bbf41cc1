"""``ReduceOp``: how the values of the ranks become one."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..base.dtypes import COMPLEX, FLOATING, HALVES, OF_NUMPY
from ..base.errors import with_notes

__all__ = ["ReduceOp", "reduce_op"]


class RedOpType(IntEnum):
    """The reductions by PyTorch's numbers."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The reduction of a collective: ``SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, and ``BAND``, ``BOR``, ``BXOR``
    bit by bit, for integers.

    >>> import pullback as torch
    >>> torch.distributed.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN
    MAX, BAND, BOR, BXOR, PREMUL_SUM = (
        RedOpType.MAX,
        RedOpType.BAND,
        RedOpType.BOR,
        RedOpType.BXOR,
        RedOpType.PREMUL_SUM,
    )

    def __new__(cls, op: Any = RedOpType.SUM) -> Any:
        return cls.RedOpType(op)


reduce_op = ReduceOp
LOCALLY: dict[RedOpType, Any] = {
    RedOpType.SUM: np.add,
    RedOpType.AVG: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
}
# what the operations are on values that are 0 or 1
OF_BOOL = {
    RedOpType.SUM: RedOpType.MAX,
    RedOpType.PRODUCT: RedOpType.MIN,
    RedOpType.BAND: RedOpType.MIN,
    RedOpType.BOR: RedOpType.MAX,
}


def check_reduction(name: str, op: Any, dtype: np.dtype) -> RedOpType:
    """The reduction, if tensors of that type can be reduced so.

    Raises:
        TypeError: it is none.
        ValueError: of complex numbers, for all but ``SUM`` and ``AVG``.
        RuntimeError: bits of floating-point numbers, the average of integers, ``PREMUL_SUM``.
    """
    if not isinstance(op, RedOpType):
        raise TypeError(f"{name}(): op must be a torch.distributed.ReduceOp, not {op!r}")
    kind = OF_NUMPY[dtype]
    if op is RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM without NCCL\n  Scale the tensor, and use ReduceOp.SUM.")
    if kind.category == COMPLEX and op not in (RedOpType.SUM, RedOpType.AVG):
        raise ValueError(f"{name} does not support {op} on complex tensors")
    if kind.category == FLOATING and op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is RedOpType.AVG and kind.category < FLOATING:
        from ..base.dtypes import type_name

        raise with_notes(
            RuntimeError(f"result type Float can't be cast to the desired output type {type_name(kind)}"),
            f"ReduceOp.AVG of {kind}: use ReduceOp.SUM, and divide.",
        )
    return op


def reduce_rows(rows: np.ndarray, op: RedOpType) -> np.ndarray:
    """What the rows become in one, the first two first; of half-precision numbers computed in float32 and rounded once.

    Args:
        rows: of shape ``(ranks, n)``.
    """
    work = rows.astype(np.float32) if rows.dtype in HALVES else rows
    total = work[0].copy()
    for row in work[1:]:
        LOCALLY[op](total, row, out=total)
    if op is RedOpType.AVG:
        total /= len(rows)
    return total.astype(rows.dtype)
