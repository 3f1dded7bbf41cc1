"""Lowerings of reading a slice or strided window, and of placing values at one in zeros: loops with other strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.geometry import Window
from ...ops import slices as ops
from ..fusion import Fusion
from ..ir import Ref
from ..schedule import MemRef
from .registry import lowering


def _view_of(array: np.ndarray, part: Any) -> np.ndarray | None:
    """The part as a view; None if it is none, such as the elements at positions."""
    if part.__class__ is tuple:
        return array[part]
    return part.of(array) if isinstance(part, Window) and part.order is None else None


@lowering(ops.read)
def _read(fusion: Fusion, outs: Sequence[int], x: Ref, part: Any, name: str = "") -> bool:
    memory = fusion.materialize(x.number)
    if fusion.loop_type([x.number]) is None or not memory.like.flags.c_contiguous:
        return False
    seen = _view_of(memory.like, part)
    if seen is None or 0 in seen.shape:
        return False
    between = fusion.new_value(seen.shape, seen.dtype)
    fusion.memory[between] = memory.view(seen)
    return fusion.copy(outs[0], Ref(between))


@lowering(ops.place)
def _place(fusion: Fusion, outs: Sequence[int], x: Ref, part: Any, shape: Any, name: str = "") -> bool:
    out, v = outs[0], fusion.value(Ref(outs[0]))
    if fusion.loop_type([x.number]) is None:
        return False
    like = np.empty(v.shape, v.dtype)
    target = _view_of(like, part)
    if target is None or 0 in target.shape or target.shape != fusion.value(x).shape:
        return False
    at = fusion.store_at(x.number, MemRef(out, like, 0).view(target))
    fusion.steps[at].cleared.append(out)
    fusion.allocate_at(out, like, at)
    return True
