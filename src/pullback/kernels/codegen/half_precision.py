"""Half precision, which is computed with in single: conversions of vectors from and to what is in memory."""

from __future__ import annotations

from .llvm_ir import BF16, F16, F32, I1, I8, I16, I32, Function, Type, Value


def in_memory(stored: Type) -> Type:
    """What an element is in memory: bools are bytes, bfloat16 is loaded as its bits."""
    return {I1: I8, BF16: I16}.get(stored, stored)


def widen(f: Function, value: Value, stored: Type) -> Value:
    """What was loaded, in the type to compute in."""
    lanes = value.type.lanes
    if stored == I1:
        return value.differs(0)
    if stored == BF16:
        return f.convert("bitcast", f.convert("zext", value, I32.of(lanes)) << 16, F32.of(lanes))
    return f.convert("fpext", value, F32.of(lanes)) if stored == F16 else value


def narrow(f: Function, value: Value, stored: Type) -> Value:
    """What is to be stored, as it is in memory."""
    lanes = value.type.lanes
    if stored == I1:
        return f.convert("zext", value, I8.of(lanes))
    if stored == F16:
        return f.convert("fptrunc", value, F16.of(lanes))
    if stored != BF16:
        return value
    # to the nearest, ties to even; of NaN the upper half with a bit that keeps it NaN
    bits = f.convert("bitcast", value, I32.of(lanes))
    upper = f.binary("lshr", bits, 16)
    nearest = f.binary("lshr", bits + 0x7FFF + (upper & 1), 16)
    nan = f.compare("uno", value, f.constant(0.0, value.type))
    return f.convert("trunc", f.select(nan, upper | 0x40, nearest), I16.of(lanes))
