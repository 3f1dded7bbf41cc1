"""Lowerings of softmax and log_softmax along the last dimension, and of their vjps: one kernel each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...kernels import softmax as kernels
from ...kernels.codegen.kernel_builder import TYPES
from ...ops import softmax as ops
from ..fusion import Fusion
from ..ir import Ref
from .registry import GradNumbers, lowering, vjp_lowering


def is_along_rows(fusion: Fusion, x: Ref, dim: int) -> bool:
    """Whether the dimension is the last one of a value that kernels take."""
    v = fusion.value(x)
    return v.dtype in TYPES and len(v.shape) > 0 and dim % len(v.shape) == len(v.shape) - 1 and 0 not in v.shape


@lowering(ops._softmax)
def _softmax(fusion: Fusion, outs: Sequence[int], input: Ref, dim: int, logarithm: bool = False) -> bool:
    v = fusion.value(input)
    if not is_along_rows(fusion, input, dim):
        return False
    x, n = fusion.contiguous(input), v.shape[-1]
    out = fusion.allocate(outs[0])
    kernel = kernels.softmax_kernel(v.dtype, logarithm)
    fusion.call_kernel("softmax", kernel, [math.prod(v.shape) // n, n, x, out], [out])
    return True


@lowering(ops._log_softmax)
def _log_softmax(fusion: Fusion, outs: Sequence[int], input: Ref, dim: int) -> bool:
    return _softmax(fusion, outs, input, dim, logarithm=True)


@vjp_lowering(ops._softmax)
def _softmax_vjp(fusion: Fusion, outs: GradNumbers, g: Ref, out: Ref, dim: int, logarithm: bool = False) -> bool:
    v = fusion.value(out)
    if not is_along_rows(fusion, out, dim) or fusion.value(g) != v or outs[0] is None:
        return False
    given, n = [fusion.contiguous(g), fusion.contiguous(out)], v.shape[-1]
    made = fusion.allocate(outs[0])
    integers = [math.prod(v.shape) // n, n]
    fusion.call_kernel(
        "softmax_backward", kernels.softmax_backward_kernel(v.dtype, logarithm), [*integers, *given, made], [made]
    )
    return True


@vjp_lowering(ops._log_softmax)
def _log_softmax_vjp(fusion: Fusion, outs: GradNumbers, g: Ref, out: Ref, dim: int) -> bool:
    return _softmax_vjp(fusion, outs, g, out, dim, logarithm=True)
