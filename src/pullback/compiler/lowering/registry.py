"""Registries of lowerings, keyed by op: what a compiled plan does for a call of the op, and for its vjp.

    @lowering(ops._softmax)
    def _softmax(fusion, outs, input, dim): ...

    @vjp_lowering(ops._softmax)
    def _softmax_vjp(fusion, outs, g, out, dim): ...

A lowering is handed the numbers of the results and the arguments of the call; one for a vjp, the numbers of the
gradients (None for one that is not asked for), the cotangents, and the values that the node saved, by name. It adds
steps to ``fusion`` and returns True; where the op itself would call no kernel it returns False, and the plan calls the
op.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import kernels
from ...core.op import OpTable
from ..fusion import Fusion
from ..ir import Ref

lowering = OpTable()
vjp_lowering = OpTable()

GradNumbers = Sequence[int | None]


def is_large(kind: str, size: int) -> bool:
    """Whether the op itself would call a kernel of this kind."""
    return size >= kernels.SIZES[kind] or kernels.MODE == "always"


def are_contiguous(fusion: Fusion, *given: Ref) -> bool:
    """Whether values are in memory in C order, without gaps."""
    return all([fusion.materialize(x.number).like.flags.c_contiguous for x in given])
