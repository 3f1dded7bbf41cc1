"""Fused multi-margin and multilabel-margin losses of rows of scores; sums are taken in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, I64, Value

GRAIN = 256  # rows worth handing to another thread


def _widened(k: Kernel, x: Value) -> Value:
    return x if k.type == F64 else k.f.convert("fpext", x, F64)


def _narrowed(k: Kernel, x: Value) -> Value:
    return x if k.type == F64 else k.f.convert("fptrunc", x, k.type)


@compiled_kernel
def _multi_margin(d: np.dtype, squared: bool) -> str:
    k = Kernel("one_margin", TYPES[d], ["x", "target", "short", "out"], ["n"], ["margin"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as row:
        x, short = (f.at(k[name], row * n, k.type) for name in ("x", "short"))
        target, total = f.load(f.at(k["target"], row, I64), I64), f.variable(0.0, F64)
        least = k["margin"] - k.load_scalar(x, target)
        with f.loop(0, n) as i:
            behind = least + k.load_scalar(x, i)
            behind = f.select((behind <= 0.0) | i.equals(target), 0.0, behind)  # NaN stays
            k.store_scalar(behind, short, i)
            total.set(total.get() + _widened(k, behind * behind if squared else behind))
        k.store_scalar(_narrowed(k, total.get() / f.convert("sitofp", n, F64)), k["out"], row)
    return k.done(GRAIN)


def multi_margin(x: np.ndarray, target: np.ndarray, p: int, margin: float) -> Any:
    """See ``_multi_margin`` of :mod:`pullback.ops.margin`."""
    if x.dtype not in TYPES or target.dtype != np.int64:
        return None
    rows, n = x.shape
    short, out = np.empty((rows, n), x.dtype), np.empty(rows, x.dtype)
    return _multi_margin(x.dtype, p == 2)(
        rows, n, margin, np.ascontiguousarray(x), np.ascontiguousarray(target), short, out
    ), short


@compiled_kernel
def _multilabel_margin(d: np.dtype) -> str:
    """``others`` is 0 for each target of a row, else 1."""
    k = Kernel("several_margins", TYPES[d], ["x", "target", "others", "slope", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as row:
        x, others, slope = (f.at(k[name], row * n, k.type) for name in ("x", "others", "slope"))
        targets, listed, total = f.at(k["target"], row * n, I64), f.variable(0, I64), f.variable(0.0, F64)
        f.clear(slope, n * (k.type.bits // 8))
        with f.loop(0, n) as i:
            k.store_scalar(f.constant(1.0, k.type), others, i)
        with f.loop(0, n) as i:
            target = f.load(f.at(targets, i, I64), I64)
            with f.if_then(listed.get().equals(i) & (target >= 0)):
                k.store_scalar(f.constant(0.0, k.type), others, target)
                listed.set(i + 1)
        with f.loop(0, listed.get()) as t:
            target = f.load(f.at(targets, t, I64), I64)
            least = 1 - k.load_scalar(x, target)
            with f.loop(0, n) as i:
                behind = least + k.load_scalar(x, i)
                with f.if_then(k.load_scalar(others, i).differs(0.0) & f.compare("ugt", behind, 0.0)):  # NaN, too
                    total.set(total.get() + _widened(k, behind))
                    with f.if_then(behind > 0.0):
                        k.store_scalar(k.load_scalar(slope, i) + 1.0, slope, i)
                        k.store_scalar(k.load_scalar(slope, target) - 1.0, slope, target)
        with f.loop(0, n) as i:
            k.store_scalar(k.load_scalar(slope, i) / k.as_float(n), slope, i)
        k.store_scalar(_narrowed(k, total.get() / f.convert("sitofp", n, F64)), k["out"], row)
    return k.done(GRAIN)


def multilabel_margin(x: np.ndarray, target: np.ndarray) -> Any:
    """See ``_multilabel_margin`` there."""
    if x.dtype not in TYPES or target.dtype != np.int64:
        return None
    rows, n = x.shape
    others, slope, out = np.empty((rows, n), x.dtype), np.empty((rows, n), x.dtype), np.empty(rows, x.dtype)
    return _multilabel_margin(x.dtype)(
        rows, n, np.ascontiguousarray(x), np.ascontiguousarray(target), others, slope, out
    ), slope
