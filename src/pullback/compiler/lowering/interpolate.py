"""Lowering of sums at positions of a plane (``place``): the gradient of max pooling and of interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...kernels import interpolate as kernels
from ...ops import interpolate as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import are_contiguous, is_large, lowering


@lowering(ops.place)
def _place(
    fusion: Fusion, outs: Sequence[int], input: Ref, index: Ref, size: Sequence[int], add: bool, name: str = ""
) -> bool:
    x, at = map(fusion.value, (input, index))
    if not add or x.dtype not in kernels.TYPES or at.dtype != np.int64 or x.shape != at.shape or 0 in x.shape:
        return False
    if not is_large("interpolate", math.prod(x.shape)) or not are_contiguous(fusion, index):
        return False
    many = math.prod(x.shape[len(x.shape) - len(size) :])
    given, out = [fusion.contiguous(p) for p in (input, index)], fusion.allocate(outs[0])
    fusion.call_kernel(
        "place",
        kernels.place_kernel(x.dtype, True),
        [math.prod(x.shape) // many, many, math.prod(size), *given, out],
        [out],
    )
    return True
