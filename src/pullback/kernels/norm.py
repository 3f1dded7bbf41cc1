"""Vector norms of small arrays: no scaling pass unless squares overflow or lose digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, Value

FEW = 1024  # numbers up to which a kernel that reads columns, with a stride, is faster than NumPy
LEAST = np.finfo(np.float64).tiny / np.finfo(np.float64).eps  # sums of squares below lose digits


@compiled_kernel
def _vector_norm(d: np.dtype, p: int) -> str:
    """Items are rows, whose n numbers are ``inner`` apart; scaled by the largest only if squares overflow or lose
    digits.
    """
    k = Kernel("vector_norm", TYPES[d], ["x", "out"], ["n", "inner"])
    f, n, inner, double = k.f, k["n"], k["inner"], k.type == F64
    with f.loop(f["from"], f["to"]) as item:
        x = f.at(k["x"], item // inner * n * inner + item % inner, k.type)

        def folded(fold: Callable[[Value, Value], Value]) -> Value:
            made = f.variable(0.0, F64)
            with f.loop(0, n) as i:
                v = k.load_scalar(x, i * inner)
                made.set(fold(made.get(), v if double else f.convert("fpext", v, F64)))
            return made.get()

        if p == 1:
            length = f.variable(folded(lambda sum, v: sum + f.intrinsic("fabs", v)))
        else:
            length = f.variable(f.intrinsic("sqrt", folded(lambda sum, v: f.fma(v, v, sum))))
        if p == 2 and double:
            with f.if_then((length.get() < math.sqrt(LEAST)) | length.get().equals(math.inf)):
                top = folded(lambda old, v: f.larger(f.intrinsic("fabs", v), old))
                with f.if_then((top > 0.0) & (top < math.inf)):
                    length.set(f.intrinsic("sqrt", folded(lambda sum, v: f.fma(v / top, v / top, sum))) * top)
        k.store_scalar(length.get() if double else f.convert("fptrunc", length.get(), k.type), k["out"], item)
    return k.done(FEW)


def vector_norm(x: np.ndarray, p: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The 1- or 2-norms of few numbers along adjacent dimensions; those of float32 are summed in double precision."""
    if x.dtype not in TYPES or x.size >= FEW:
        return None
    items, n, inner, shape = _lines(x.shape, dims, keepdim)
    return _vector_norm(x.dtype, int(p))(items, n, inner, as_contiguous(x), np.empty(shape, x.dtype)) if inner else None


@lru_cache(256)
def _lines(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, int, int, tuple[int, ...]]:
    """(number of rows, length, stride, shape of the results); 0s if there are none, or dimensions are not adjacent."""
    start, stop = min(dims, default=0), max(dims, default=-1) + 1
    outer, n, inner = math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:])
    if stop - start != len(dims) or not outer * n * inner:
        return 0, 0, 0, ()
    return outer * inner, n, inner, shape[:start] + (1,) * keepdim * len(dims) + shape[stop:]
