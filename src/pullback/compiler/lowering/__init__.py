"""Lowerings: what a compiled plan does for each op. The file of a family has the name that it has in ``ops``."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import HALVES, exact_number
from ...kernels.codegen.scalar import form_of
from ..fusion import Fusion
from ..ir import Instruction, Program, Ref, common_dtype, compute_dtype, number_beside
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
        return len(step.outs) == 1 and _lower_elementwise(fusion, step)
    if op.kind == "view":
        return lower_view(fusion, step)
    if op.kind == "opaque":
        return _lower_vjp(fusion, step)
    rule = lowering.get(op)
    return rule is not None and rule(fusion, step.outs, *args)


def _lower_elementwise(fusion: Fusion, step: Instruction) -> bool:
    op, args = step.op, list(step.args)
    common = common_dtype(op, args, fusion.program, fusion.numbers)
    if common in HALVES and op.number is exact_number:
        for i in op.tensors:
            if args[i].__class__ is not Ref:
                args[i] = float(number_beside(op, args[i], common))
            elif args[i].number in fusion.numbers:
                return False
    return fusion.elementwise(form_of(op), args, step.outs[0], compute_dtype(common))


def _lower_vjp(fusion: Fusion, step: Instruction) -> bool:
    op = step.op.vjp_of
    rule = vjp_lowering.get(op)
    if rule is None:
        return False
    g, saved = step.args
    outs = iter(step.outs)
    grads = [next(outs) if given else None for given in step.op.grads_given]
    return rule(fusion, grads, g, **dict(zip(op.saved_names, saved)))
