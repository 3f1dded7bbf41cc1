"""Fused cross entropy of scores and class numbers, with its derivative: no probabilities are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import I64, Value, Variable
from .softmax import has_rows, row_max


@compiled_kernel
def class_shares_kernel(d: np.dtype) -> str:
    """Arguments: a single item; the number of targets, the ignored class, whether the shares are to add up to 1;
    arrays: targets, the same with class 0 for ignored ones, and the share of each in the loss.
    """
    k = Kernel("class_shares", TYPES[d], ["given", "target", "shares"], ["n", "ignored", "mean"])
    f = k.f
    with f.loop(f["from"], f["to"]):
        count = f.variable(0, I64)
        with f.loop(0, k["n"]) as i:
            counts = f.load(f.at(k["given"], i, I64), I64).differs(k["ignored"])
            count.set(count.get() + f.convert("zext", counts, I64))
        share = f.select(k["mean"].differs(0), 1 / k.as_float(count.get()), f.constant(1.0, k.type))
        with f.loop(0, k["n"]) as i:
            target = f.load(f.at(k["given"], i, I64), I64)
            counts = target.differs(k["ignored"])
            f.store(f.select(counts, target, 0), f.at(k["target"], i, I64))
            k.store_scalar(f.select(counts, share, 0.0), k["shares"], i)
    return k.done()


@compiled_kernel
def cross_entropy_kernel(d: np.dtype) -> str:
    """The maximum of each row, the logarithm of the sum of exponentials relative to it, and the loss of the target."""
    k = Kernel("cross_entropy", TYPES[d], ["x", "target", "top", "logsum", "loss"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x = f.at(k["x"], i * n, k.type)
        highest = row_max(k, x, n)
        top = k.splat(highest)
        sum_of_row = k.totals()

        def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
            sums[0].set(sums[0].get() + k.zero_beyond(k.math.exp(k.load(x, at, mask) - top), mask))

        k.add_row(n, sum_of_row, add)
        log = k.apply_to_scalar(k.math.log, k.rounded(sum_of_row[0].get()))
        chosen = k.load_scalar(x, f.load(f.at(k["target"], i, I64), I64))
        k.store_scalar(highest, k["top"], i)
        k.store_scalar(log, k["logsum"], i)
        k.store_scalar(log - (chosen - highest), k["loss"], i)
    return k.done()


@compiled_kernel
def cross_entropy_backward_kernel(d: np.dtype) -> str:
    """``softmax * share``, minus the share at the target."""
    k = Kernel("cross_entropy_backward", TYPES[d], ["x", "target", "top", "logsum", "share", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x, out = (f.at(k[name], i * n, k.type) for name in ("x", "out"))
        top, log = (k.splat(k.load_scalar(k[name], i)) for name in ("top", "logsum"))
        share = k.load_scalar(k["share"], i)
        by = k.splat(share)
        k.sweep(n, lambda at, mask, u: k.store(k.math.exp(k.load(x, at, mask) - top - log) * by, out, at, mask))
        place = f.load(f.at(k["target"], i, I64), I64)
        k.store_scalar(k.load_scalar(out, place) - share, out, place)
    return k.done()


def cross_entropy(x: np.ndarray, target: np.ndarray) -> Any:
    """Losses, maxima and logarithms of rows ``(batch, classes)``."""
    if x.ndim != 2 or not has_rows(x, 1) or target.dtype != np.int64:
        return None
    x, (batch, n) = as_contiguous(x), x.shape
    top, logsum, loss = np.empty((batch, 1), x.dtype), np.empty((batch, 1), x.dtype), np.empty(batch, x.dtype)
    cross_entropy_kernel(x.dtype)(batch, n, x, np.ascontiguousarray(target), top, logsum, loss)
    return loss, top, logsum


def cross_entropy_backward(
    x: np.ndarray, target: np.ndarray, top: np.ndarray, logsum: np.ndarray, share: np.ndarray
) -> Any:
    if x.ndim != 2 or not has_rows(x, 1) or target.dtype != np.int64:
        return None
    x, n = as_contiguous(x), x.shape[1]
    if share.shape != x.shape[:1] or share.dtype != x.dtype or not share.flags.c_contiguous:
        given, share = share, np.empty(len(x), x.dtype)
        share[...] = given
    return cross_entropy_backward_kernel(x.dtype)(
        len(x), n, x, np.ascontiguousarray(target), top, logsum, share, np.empty(x.shape, x.dtype)
    )
