"""Lowerings: what a compiled plan does for each op. The file of a family has the name that it has in ``ops``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.dtypes import HALVES, exact_number
from ...kernels.codegen.scalar import form_of
from ..fusion import Fusion
from ..ir import Instruction, Program, Ref, compute_dtype
from . import (
    attention,
    concat,
    convolution,
    cross_entropy,
    embedding,
    fill_copy,
    index,
    interpolate,
    linear,
    loss,
    matmul,
    max_windows,
    norm,
    normalization,
    recurrent,
    reduce,
    slices,
    softmax,
)
from .registry import lowering, vjp_lowering
from .view import lower_view


def lower(program: Program, fixed: dict[int, np.ndarray]) -> Fusion:
    """The steps of a program: each instruction is lowered, or else calls its op."""
    fusion = Fusion(program, fixed)
    for step in program.instructions:
        if not _lower(fusion, step):
            fusion.call_eagerly(step)
    return fusion


def _lower(fusion: Fusion, step: Instruction) -> bool:
    op, args = step.op, step.args
    if op.kind == "elementwise":
        function, compute = form_of(op), compute_dtype(op, args, fusion.program, fusion.numbers)
        if op.number is exact_number and _has_half_beside_number(fusion, [args[i] for i in op.tensors]):
            return False  # which is compared in half precision
        return len(step.outs) == 1 and fusion.elementwise(function, args, step.outs[0], compute)
    if op.kind == "view":
        return lower_view(fusion, step)
    if op.kind == "opaque":
        return _lower_vjp(fusion, step)
    rule = lowering.get(op)
    return rule is not None and rule(fusion, step.outs, *args)


def _has_half_beside_number(fusion: Fusion, operands: Sequence[Any]) -> bool:
    tensors = [x.number for x in operands if x.__class__ is Ref and x.number not in fusion.numbers]
    return len(tensors) < len(operands) and any([fusion.program.values[n].dtype in HALVES for n in tensors])


def _lower_vjp(fusion: Fusion, step: Instruction) -> bool:
    op = step.op.vjp_of
    rule = vjp_lowering.get(op)
    if rule is None:
        return False
    g, saved = step.args
    outs = iter(step.outs)
    grads = [next(outs) if given else None for given in step.op.grads_given]
    return rule(fusion, grads, g, **dict(zip(op.saved_names, saved)))
