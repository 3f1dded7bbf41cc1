"""Lowerings of copies (clone, casts, ``copy_``): loops that load and store, or nothing where they fuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.convert import cast
from ...ops.fill_copy import copied
from ...ops.memory import clone
from ..fusion import Fusion
from ..ir import Ref
from .registry import lowering


@lowering(clone)
def _clone(fusion: Fusion, outs: Sequence[int], x: Ref, *options: Any) -> bool:
    return fusion.copy(outs[0], x)


@lowering(cast)
def _cast(fusion: Fusion, outs: Sequence[int], x: Ref, dtype: Any) -> bool:
    return fusion.copy(outs[0], x)


@lowering(copied)
def _copied(fusion: Fusion, outs: Sequence[int], x: Ref, other: Ref) -> bool:
    return other.number not in fusion.numbers and fusion.copy(outs[0], other)
