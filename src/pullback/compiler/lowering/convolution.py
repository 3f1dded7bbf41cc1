"""Lowerings of convolution, of transposed convolution, and of the op that gives the gradient of their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...kernels import convolution as kernels
from ...ops import convolution as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import are_contiguous, is_large, lowering


@lowering(ops.convolution)
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
    layout = ops.Layout(
        w.shape[2:], size, ops.each(stride, n, ""), ops.each(padding, n, ""), ops.each(dilation, n, ""), groups
    )
    if not kernels.supports(x, w, made.shape[2:], layout) or not is_large(
        "convolution", x.shape[0] * math.prod(w.shape) * math.prod(size)
    ):
        return False
    if not are_contiguous(fusion, input, weight) or transposed and bias is not None:
        return False
    given = [fusion.contiguous(p) for p in (input, weight)]
    out = fusion.allocate(outs[0])
    if transposed:
        fusion.call_kernel(
            "spread", lambda x, w, out: kernels.spread(x, w, made.shape[2:], layout, out), [*given, out], [out]
        )
    else:
        b = None if bias is None else fusion.contiguous(bias)
        fusion.call_kernel(
            "correlate", lambda x, w, b, out: kernels.correlate(x, w, layout, b, out), [*given, b, out], [out]
        )
    return True


@lowering(ops.convolution_weight)
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
    layout = ops.Layout(kernel, y.shape[2:], stride, padding, dilation, groups)
    work = math.prod(y.shape) * x.shape[1] // groups * math.prod(kernel)
    if (
        not kernels.supports(x, y, kernel, layout)
        or not is_large("convolution", work)
        or not are_contiguous(fusion, input, output)
    ):
        return False
    given = [fusion.contiguous(p) for p in (input, output)]
    out = fusion.allocate(outs[0])
    fusion.call_kernel(
        "correlate_weight", lambda x, y, out: kernels.correlate_weight(x, y, layout, out), [*given, out], [out]
    )
    return True
