"""Lowering of all view ops, which cost nothing: they are other strides of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops import slicing_views
from ...ops import view as ops
from ..fusion import Fusion
from ..ir import Instruction, Ref, refs
from ..schedule import MemRef
from .registry import lowering

ndarray = np.ndarray


def lower_view(fusion: Fusion, step: Instruction) -> bool:
    """Lower a call of any view op."""
    (source, *options) = step.args
    if source.number in fusion.numbers:
        return False
    if list(refs(options)):
        return False
    in_c_order = step.op is slicing_views._as_strided.op
    memory = fusion.contiguous(source) if in_c_order else fusion.materialize(source.number)
    views = _views(step.op, memory.like, options)
    if views is None:  # no strides describe it, though they did in the layout that was traced: view a copy
        v = fusion.value(source)
        between = fusion.new_value(v.shape, v.dtype)
        if not fusion.copy(between, source):
            return False
        memory = fusion.materialize(between)
        views = _views(step.op, memory.like, options)
        if views is None:
            return False
    for n, v in zip(step.outs, views):
        fusion.memory[n] = memory.view(v) if v.size else MemRef(memory.root, v, memory.offset)
    return True


def _views(op: Any, like: ndarray, options: Sequence[Any]) -> list[ndarray] | None:
    """The results of a view op on an array; None if they do not share its memory."""
    try:
        seen = op.impl(like, *options)
    except RuntimeError:
        return None
    views = list(seen) if isinstance(seen, (tuple, list)) else [seen]
    return None if any(v.size and not np.may_share_memory(v, like) for v in views) else views


@lowering(ops._unsafe_view)
def _unsafe_view(fusion: Fusion, outs: Sequence[int], x: Ref, shape: Any) -> bool:
    memory = fusion.materialize(x.number)
    if memory.like.flags.c_contiguous:
        fusion.memory[outs[0]] = memory.view(memory.like.reshape(fusion.value(Ref(outs[0])).shape))
        return True
    v = fusion.value(x)
    between = fusion.new_value(v.shape, v.dtype)
    return fusion.copy(between, x) and _unsafe_view(fusion, outs, Ref(between), shape)
