"""Top-k of rows for small k, by insertion into a sorted list of the best so far.

NaN is above all numbers, and no two are equal; of equal elements the first comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import COMPARED, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, Function, Type, Value

# elements that are kept in order while a row goes by; of rows in which they may be more than an eighth
FEW, SHORT = 32, 64
LEAST = {32: -(1 << 31), 64: -(1 << 63)}


def _key(f: Function, x: Value, largest: bool) -> Value:
    """An integer in the order of the numbers, or in the opposite one."""
    if not x.type.is_float:
        return x if largest else ~x
    bits = f.convert("bitcast", x + 0.0, x.type.integers)  # one zero
    top = (1 << x.type.bits - 1) - 1
    key = f.select(f.compare("uno", x, 0.0), top - 1, bits ^ ((bits >> x.type.bits - 1) & top))
    return key if largest else ~key


@compiled_kernel
def _topk(d: np.dtype, largest: bool) -> str:
    """Items are rows; the best so far are in ``keys``, a row of them for each, and ``indices``."""
    k = Kernel("topk", COMPARED[d], ["x", "keys", "values", "indices"], ["n", "count"])
    f, n, count, number = k.f, k["n"], k["count"], k.type.integers
    with f.loop(f["from"], f["to"]) as row:
        x, first = f.at(k["x"], row * n, k.type), row * count
        keys, values, indices = (
            f.at(k["keys"], first, number),
            f.at(k["values"], first, k.type),
            f.at(k["indices"], first, I64),
        )
        with f.loop(0, count) as i:
            f.store(f.constant(LEAST[number.bits], number), f.at(keys, i, number))
        last = f.variable(LEAST[number.bits], number)

        def insert(key: Value, at: Value) -> None:
            """Insert before all smaller keys, which move on; the last one falls out."""
            place = f.variable(count - 1)
            with f.loop(1, count):
                before = place.get() - 1
                smaller = f.load(f.at(keys, f.select(before < 0, 0, before), number), number) < key
                with f.if_then(smaller & (before >= 0)):
                    for array, type in ((keys, number), (indices, I64)):
                        f.store(f.load(f.at(array, before, type), type), f.at(array, place.get(), type))
                    place.set(before)
            f.store(key, f.at(keys, place.get(), number))
            f.store(at, f.at(indices, place.get(), I64))
            last.set(f.load(f.at(keys, count - 1, number), number))

        def look(at: Value, mask: Value | None, u: int) -> None:
            key = _key(f, k.load(x, at, mask), largest)
            better = key > f.splat(last.get(), k.lanes)
            if mask is not None:
                better = better & mask
            some = f.convert("bitcast", better, Type(f"i{k.lanes}", k.lanes))
            with f.if_then(some.differs(0)), f.loop(at, f.smaller(at + k.lanes, n)) as i:
                one = _key(f, k.load_scalar(x, i), largest)
                with f.if_then(one > last.get()):
                    insert(one, i)

        k.sweep(n, look, 1)
        with f.loop(0, count) as i:
            k.store_scalar(k.load_scalar(x, f.load(f.at(indices, i, I64), I64)), values, i)
    return k.done()


def topk(x: np.ndarray, count: int, d: int, largest: bool) -> Any:
    """The k largest or smallest elements along the last dimension, sorted, and their indices."""
    n = x.shape[-1]
    if x.dtype not in COMPARED or d != x.ndim - 1 or not 0 < count <= FEW or n > SHORT and count > n // 8:
        return None
    shape = (*x.shape[:-1], count)
    values, indices, keys = np.empty(shape, x.dtype), np.zeros(shape, np.int64), np.empty(shape, f"i{x.itemsize}")
    _topk(x.dtype, largest)(x.size // n, n, count, as_contiguous(x), keys, values, indices)
    if x.dtype.kind == "i" and (keys[..., -1] == LEAST[x.itemsize * 8]).any():  # the key of an integer, too
        return None
    return values, indices
