"""Lowering of maxima of sliding windows, the op behind max pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernels import max_pool as kernels
from ...ops import max_windows as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import is_large, lowering


@lowering(ops.maxima)
def _maxima(fusion: Fusion, outs: Sequence[int], input: Ref, sliding: Any, name: str) -> bool:
    v = fusion.value(input)
    if not isinstance(sliding, ops.Sliding) or 0 in v.shape or not is_large("max_pool", math.prod(v.shape)):
        return False
    kernel = kernels.kernel_for(v.dtype, tuple(sliding.spatial), sliding.layout)
    if kernel is None:
        return False
    x, results = fusion.contiguous(input), [fusion.allocate(n) for n in outs]
    fusion.call_kernel("maxima", kernel, [math.prod(v.shape) // math.prod(sliding.spatial), x, *results], results)
    return True
