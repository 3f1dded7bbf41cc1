"""Lowering of ``standardize``, the op behind batch, layer, group and RMS norm, and of its vjp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels import normalization as kernels
from ...ops import normalization as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import GradNumbers, lowering, vjp_lowering


@lowering(ops._standardize)
def _standardize(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    weight: Any,
    bias: Any,
    dims: Any,
    shape: Any,
    eps: float,
    centre: bool,
    node: str,
) -> bool:
    made = kernels.forward_kernel(fusion.value(input), fusion.value(weight), fusion.value(bias), dims, shape, centre)
    if made is None:
        return False
    call, integers, _ = made
    x = fusion.contiguous(input)
    w, b = (x if p is None else fusion.contiguous(p) for p in (weight, bias))
    mean = None if centre else fusion.full(outs[1], 0.0)
    out, var = fusion.allocate(outs[0]), fusion.allocate(outs[2])
    written = [out, var]
    if mean is None:
        mean = fusion.allocate(outs[1])
        written.append(mean)
    fusion.call_kernel("normalize", call, [*integers, eps, w, b, x, mean, var, out], written)
    return True


@vjp_lowering(ops._standardize)
def _standardize_vjp(
    fusion: Fusion,
    outs: GradNumbers,
    g: Any,
    input: Ref,
    weight: Any,
    bias_shape: Any,
    dims: Any,
    shape: Any,
    eps: float,
    centre: bool,
    mean: Ref,
    var: Ref,
) -> bool:
    made = kernels.backward_kernel(fusion.value(g), fusion.value(input), fusion.value(weight), dims, shape, centre)
    if made is None:
        return False
    call, integers, by_column = made
    v = fusion.value(input)
    given = [fusion.contiguous(x) for x in (g, input, input if weight is None else weight, mean, var)]
    # the kernel gives partial sums of the gradients of weight and bias, which loops add up
    sums_shape = (integers[0], integers[2]) if by_column else kernels.sums_shape(integers)
    of_weight, of_bias = (fusion.scratch(sums_shape, v.dtype) for _ in range(2))
    out = fusion.scratch(v.shape, v.dtype) if outs[0] is None else fusion.allocate(outs[0])
    sums = [of_weight, of_bias] if by_column else [of_bias, of_weight]
    fusion.call_kernel("normalize_backward", call, [*integers, eps, *given, *sums, out], [*sums, out])
    summed = (0,) if by_column or integers[7] else (0, 2)
    return all([n is None or fusion.sum(part.root, summed, n) for n, part in zip(outs[1:], (of_weight, of_bias))])
