"""Conversions to and from half precision, and of integers and bools to floating-point numbers.

Every result is rounded once, to the nearest, as NumPy and PyTorch do: integers and float64 to half precision by way of
float32, as PyTorch does.
"""

from __future__ import annotations

import numpy as np

from ..base.dtypes import FLOAT32, FLOAT64, HALVES
from ..base.layout import copy_order, is_dense
from .codegen.elementwise import STORED, load, store
from .codegen.half_precision import in_memory
from .codegen.kernel_builder import Kernel, compiled_kernel
from .codegen.llvm_ir import F32, F64, I1, I32, I64, Function, Type, Value

INTEGERS: dict[np.dtype, Type] = {np.dtype(np.int64): I64, np.dtype(np.int32): I32}
GRAIN = 1 << 15


def _loaded(f: Function, pointer: Value, source: Type, target: Type, lanes: int, mask: Value | None) -> Value:
    """A vector in float32, or float64 if that is the target."""
    if source in (I32, I64):
        return f.convert("sitofp", f.load(pointer, source.of(lanes), mask), (F64 if target == F64 else F32).of(lanes))
    value = load(f, pointer, source, lanes, mask)
    if source == I1:
        return f.select(value, f.constant(1.0, F32.of(lanes)), f.constant(0.0, F32.of(lanes)))
    if source == F64 and target != F64:
        return f.convert("fptrunc", value, F32.of(lanes))
    return value


@compiled_kernel
def convert_kernel(source: np.dtype, target: np.dtype) -> str:
    a, b = (INTEGERS.get(d) or STORED[d] for d in (source, target))
    k = Kernel("convert", F64 if F64 in (a, b) or a == I64 else F32, ["x", "out"])
    f, lanes = k.f, k.lanes

    def take(at: Value, mask: Value | None, u: int) -> None:
        at = f["from"] + at
        value = _loaded(f, f.at(k["x"], at, in_memory(a)), a, b, lanes, mask)
        if b == F64 and value.type.scalar == F32:
            value = f.convert("fpext", value, F64.of(lanes))
        store(f, value, f.at(k["out"], at, in_memory(b)), b, mask)

    k.sweep(f["to"] - f["from"], take)
    return k.done(GRAIN)


def as_type(x: np.ndarray, target: np.dtype) -> np.ndarray | None:
    """A copy in another type, in the order of memory that ``preserve_format`` gives it; None for other types, or with
    gaps in memory.
    """
    source = x.dtype
    if source in HALVES:
        known = target is FLOAT32 or target is FLOAT64 or target in HALVES
    else:
        known = target in HALVES and (source in STORED or source in INTEGERS)
    if not known or not source.isnative or not is_dense(x):
        return None
    out = np.empty_like(x, target, order=copy_order(x))
    if out.strides != tuple([s // x.itemsize * out.itemsize for s in x.strides]):
        return None
    return convert_kernel(source, target)(x.size, x, out)
