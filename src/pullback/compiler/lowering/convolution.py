"""Operations on images that stay whole (see :mod:`whole`): convolutions, maxima of windows, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import kernels
from ...kernels import convolution, plane_scatter, pool
from ...ops.conv_products import WindowLayout
from ...ops.convolution import per_dim
from ...ops.max_windows import SlidingWindows
from ..ir import Ref
from .rules import FORWARD, lie_in_order, lowers

if TYPE_CHECKING:
    from ..fusion import Fusion


def _is_large(kind: str, size: int) -> bool:
    """Whether the operation itself would call a kernel."""
    return size >= kernels.SIZES[kind] or kernels.MODE == "always"


@lowers(FORWARD, "convolution")
def _convolution(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    weight: Ref,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    transposed: bool = False,
    output_padding: Any = 0,
    groups: int = 1,
) -> bool:
    x, w, made = map(fusion.value, (input, weight, Ref(outs[0])))
    n = len(w.shape) - 2
    size = (x if transposed else made).shape[2:]
    layout = WindowLayout(
        w.shape[2:], size, per_dim(stride, n, ""), per_dim(padding, n, ""), per_dim(dilation, n, ""), groups
    )
    if not convolution.suits(x, w, made.shape[2:], layout) or not _is_large(
        "convolution", x.shape[0] * math.prod(w.shape) * math.prod(size)
    ):
        return False
    if not lie_in_order(fusion, input, weight) or transposed and bias is not None:
        return False
    given = [fusion.in_rows(p) for p in (input, weight)]
    out = fusion.result(outs[0])
    if transposed:
        fusion.kernel(
            "spread", lambda x, w, out: convolution.spread(x, w, made.shape[2:], layout, out), [*given, out], [out]
        )
    else:
        b = None if bias is None else fusion.in_rows(bias)
        fusion.kernel(
            "correlate", lambda x, w, b, out: convolution.correlate(x, w, layout, b, out), [*given, b, out], [out]
        )
    return True


@lowers(FORWARD, "convolution_weight")
def _convolution_weight(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    output: Ref,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> bool:
    x, y = map(fusion.value, (input, output))
    layout = WindowLayout(kernel, y.shape[2:], stride, padding, dilation, groups)
    work = math.prod(y.shape) * x.shape[1] // groups * math.prod(kernel)
    if (
        not convolution.suits(x, y, kernel, layout)
        or not _is_large("convolution", work)
        or not lie_in_order(fusion, input, output)
    ):
        return False
    given = [fusion.in_rows(p) for p in (input, output)]
    out = fusion.result(outs[0])
    fusion.kernel(
        "correlate_weight", lambda x, y, out: convolution.correlate_weight(x, y, layout, out), [*given, out], [out]
    )
    return True


@lowers(FORWARD, "maxima")
def _maxima(fusion: Fusion, outs: Sequence[int], input: Ref, sliding: Any, name: str) -> bool:
    v = fusion.value(input)
    if not isinstance(sliding, SlidingWindows) or 0 in v.shape or not _is_large("pool", math.prod(v.shape)):
        return False
    kernel = pool.kernel_for(v.dtype, tuple(sliding.spatial), sliding.layout)
    if kernel is None:
        return False
    x, results = fusion.in_rows(input), [fusion.result(n) for n in outs]
    fusion.kernel("maxima", kernel, [math.prod(v.shape) // math.prod(sliding.spatial), x, *results], results)
    return True


@lowers(FORWARD, "place")
def _place(
    fusion: Fusion, outs: Sequence[int], input: Ref, index: Ref, size: Sequence[int], add: bool, name: str = ""
) -> bool:
    x, at = map(fusion.value, (input, index))
    if not add or x.dtype not in plane_scatter.TYPES or at.dtype != np.int64 or x.shape != at.shape or 0 in x.shape:
        return False
    if not _is_large("plane_scatter", math.prod(x.shape)) or not lie_in_order(fusion, index):
        return False
    many = math.prod(x.shape[len(x.shape) - len(size) :])
    given, out = [fusion.in_rows(p) for p in (input, index)], fusion.result(outs[0])
    fusion.kernel(
        "place",
        plane_scatter.place_kernel(x.dtype, True),
        [math.prod(x.shape) // many, many, math.prod(size), *given, out],
        [out],
    )
    return True
