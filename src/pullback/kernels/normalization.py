"""Fused layer, batch, group, instance and RMS normalization, with their derivatives.

The operation is memory-bound: a row is read two or three times (statistics, result), but from memory only once, as it
stays in the cache from the first pass to the last. Sums run in several vectors side by side, the same ones on every
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.layout import as_contiguous
from .codegen.kernel_builder import TYPES, Kernel, compiled_kernel
from .codegen.llvm_ir import F64, Value, Variable

FEW = 1024  # numbers up to which a kernel that reads columns, with a stride, is faster than NumPy
ROWS = 64  # whose contributions to the gradient of a weight are summed by one task


def add_to(sum: Variable, value: Value) -> None:
    sum.set(sum.get() + value)


@compiled_kernel
def _normalize(d: np.dtype, by_column: bool, centre: bool, weight: bool, bias: bool) -> str:
    """Items are means to compute, of one or several segments each; the weight is one number a segment, or goes along
    the only segment.
    """
    k = Kernel(
        "normalize",
        TYPES[d],
        ["w", "b", "x", "mean", "var", "out"],
        ["segments", "n", "item", "segment", "period", "by_item", "by_segment"],
        ["eps"],
    )
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        start = i * k["item"]
        count = f.convert("sitofp", k["segments"] * n, F64)

        def over(body: Callable[[Value, Value], None], start: Value = start) -> None:
            with f.loop(0, k["segments"]) as s:
                body(s, f.at(k["x"], start + s * k["segment"], k.type))

        total, squares = k.totals(2)
        if centre:
            over(lambda s, x: k.add_row(n, [total], lambda at, mask, sums: add_to(sums[0], k.load(x, at, mask))))
        exact = total.get() / count
        mean = k.rounded(exact)
        middle = k.splat(mean)

        def square(s: Value, x: Value) -> None:
            def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
                v = k.zero_beyond(k.load(x, at, mask) - middle, mask) if centre else k.load(x, at, mask)
                sums[0].set(f.fma(v, v, sums[0].get()))

            k.add_row(n, [squares], add)

        over(square)
        rest = exact - k.as_double(mean)  # what rounding took from the mean
        var = k.rounded(squares.get() / count - rest * rest)
        deviation = 1 / k.math.sqrt(var + k["eps"])
        scale, shift = k.splat(deviation), k.splat(k.rounded(-rest) * deviation)
        if centre:
            k.store_scalar(mean, k["mean"], i)
        k.store_scalar(var, k["var"], i)

        def finish(s: Value, x: Value) -> None:
            out = f.at(k["out"], start + s * k["segment"], k.type)
            place = i % k["period"] * k["by_item"] + s * k["by_segment"]
            w = k.splat(k.load_scalar(k["w"], place)) if weight and not by_column else None
            b = k.splat(k.load_scalar(k["b"], place)) if bias and not by_column else None

            def one(at: Value, mask: Value | None, u: int) -> None:
                v = k.load(x, at, mask)
                v = f.fma(v - middle, scale, shift) if centre else v * scale
                if weight:
                    v = v * (k.load(k["w"], at, mask) if w is None else w)
                if bias:
                    v = v + (k.load(k["b"], at, mask) if b is None else b)
                k.store(v, out, at, mask)

            k.sweep(n, one)

        over(finish)
    return k.done()


@compiled_kernel
def _normalize_backward(d: np.dtype, centre: bool, weight: bool) -> str:
    """As above, with a weight a segment. ``totals`` and ``alongs``: sums of g and of g z for each segment."""
    k = Kernel(
        "normalize_backward",
        TYPES[d],
        ["g", "x", "w", "mean", "var", "totals", "alongs", "out"],
        ["segments", "n", "item", "segment", "period", "by_item", "by_segment"],
        ["eps"],
    )
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        start, count = i * k["item"], f.convert("sitofp", k["segments"] * n, F64)
        mean = k.splat(k.load_scalar(k["mean"], i)) if centre else None
        deviation = 1 / k.math.sqrt(k.load_scalar(k["var"], i) + k["eps"])
        scale = k.splat(deviation)
        total, along = k.totals(2)

        def standardized(x: Value, at: Value, mask: Value | None) -> Value:
            v = k.load(x, at, mask)
            return (v if mean is None else v - mean) * scale

        def pointers(s: Value) -> list[Value]:
            return [f.at(k[name], start + s * k["segment"], k.type) for name in ("g", "x", "out")]

        def weight_of(s: Value) -> Value:
            return k.load_scalar(k["w"], i % k["period"] * k["by_item"] + s * k["by_segment"])

        with f.loop(0, k["segments"]) as s:
            g, x, _ = pointers(s)
            of_g, of_gz = k.totals(2)

            def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
                v = k.load(g, at, mask)
                add_to(sums[0], v)
                sums[1].set(f.fma(v, k.zero_beyond(standardized(x, at, mask), mask), sums[1].get()))

            k.add_row(n, [of_g, of_gz], add)
            for made, name, over in ((of_g, "totals", total), (of_gz, "alongs", along)):
                k.store_scalar(k.rounded(made.get()), k[name], i * k["segments"] + s)
                add_to(over, made.get() * k.as_double(weight_of(s)) if weight else made.get())
        by_one, by_z = (k.splat(k.rounded(v.get() / count) * deviation) for v in (total, along))
        with f.loop(0, k["segments"]) as s:
            g, x, out = pointers(s)
            w = k.splat(weight_of(s) * deviation) if weight else scale

            def one(at: Value, mask: Value | None, u: int) -> None:
                v = k.load(g, at, mask) * w - standardized(x, at, mask) * by_z
                k.store(v - by_one if centre else v, out, at, mask)

            k.sweep(n, one)
    return k.done()


@compiled_kernel
def _normalize_columns_backward(d: np.dtype, centre: bool, weight: bool) -> str:
    """With a weight along rows; tasks are blocks of rows, which sum their shares of the weight and bias gradients."""
    k = Kernel(
        "normalize_columns_backward",
        TYPES[d],
        ["g", "x", "w", "mean", "var", "of_weight", "of_bias", "out"],
        ["rows", "n"],
        ["eps"],
    )
    f, n = k.f, k["n"]
    count = f.convert("sitofp", n, F64)
    with f.loop(f["from"], f["to"]) as block:
        dw, db = (f.at(k[name], block * n, k.type) for name in ("of_weight", "of_bias"))
        for p in (dw, db):
            f.clear(p, n * (k.type.bits // 8))
        with f.loop(block * ROWS, f.smaller(block * ROWS + ROWS, k["rows"])) as i:
            g, x, out = (f.at(k[name], i * n, k.type) for name in ("g", "x", "out"))
            mean = k.splat(k.load_scalar(k["mean"], i)) if centre else None
            deviation = 1 / k.math.sqrt(k.load_scalar(k["var"], i) + k["eps"])
            scale = k.splat(deviation)
            of_u, of_uz = k.totals(2)

            def parts(at: Value, mask: Value | None) -> tuple[Value, Value, Value]:
                v, z = k.load(g, at, mask), k.load(x, at, mask)
                z = k.zero_beyond((z if mean is None else z - mean) * scale, mask)
                return v, (v * k.load(k["w"], at, mask) if weight else v), z

            def add(at: Value, mask: Value | None, sums: list[Variable]) -> None:
                v, uv, z = parts(at, mask)
                add_to(sums[0], uv)
                sums[1].set(f.fma(uv, z, sums[1].get()))
                k.store(f.fma(v, z, k.load(dw, at, mask)), dw, at, mask)
                k.store(v + k.load(db, at, mask), db, at, mask)

            k.add_row(n, [of_u, of_uz], add)
            by_one, by_z = (k.splat(k.rounded(v.get() / count) * deviation) for v in (of_u, of_uz))

            def one(at: Value, mask: Value | None, u: int) -> None:
                _, uv, z = parts(at, mask)
                v = uv * scale - z * by_z
                k.store(v - by_one if centre else v, out, at, mask)

            k.sweep(n, one)
    return k.done()


@lru_cache(256)
def _layout(shape: Sequence[int], dims: Sequence[int], of_weight: Sequence[int]) -> tuple[bool, int, list[int]] | None:
    """Whether the weight goes along rows, how many items there are, and the integer arguments of the kernels."""
    rank, dims = len(shape), list(dims)
    trailing = list(range(rank - len(dims), rank))
    kept = [d for d in range(rank) if d not in dims]
    weighted = [d for d in range(rank) if len(of_weight) == rank and of_weight[d] != 1]
    if (
        dims == trailing
        and set(weighted) <= set(dims)
        and len(of_weight) == rank
        and all(of_weight[d] == shape[d] for d in dims)
    ):
        n = math.prod(shape[d] for d in dims)
        return True, math.prod(shape[d] for d in kept), [1, n, n, 0, 1, 0, 0]
    # a channel of a batch
    if len(of_weight) == rank and (rank > 2 or math.prod(shape) < FEW) and dims == [0, *range(2, rank)] and kept == [1]:
        length = math.prod(shape[2:])
        return False, shape[1], [shape[0], length, length, shape[1] * length, max(1, shape[1]), 1, 0]
    if dims == trailing and kept == [0, 1] and weighted in ([], [1]):  # a channel of a sample
        length = math.prod(shape[2:])
        return False, shape[0] * shape[1], [1, length, length, 0, max(1, shape[1]), 1, 0]
    # a group of channels
    if dims == trailing and kept == [0, 1] and set(weighted) <= {1, 2} and len(of_weight) == rank:
        length = math.prod(shape[3:])
        return False, shape[0] * shape[1], [shape[2], length, shape[2] * length, length, max(1, shape[1]), shape[2], 1]
    return None


def forward_kernel(x: Any, weight: Any, bias: Any, dims: Sequence[int], shape: Sequence[int], centre: bool) -> Any:
    """The kernel for operands of such shapes and types, its integer arguments, and the shape of mean and variance; None
    if there is none.
    """
    if weight is not None and weight.dtype != x.dtype or bias is not None and bias.dtype != x.dtype:
        return None
    return _forward_kernel(x.shape, x.dtype, dims, shape, centre, weight is not None, bias is not None)


@lru_cache(256)
def _forward_kernel(
    sizes: Sequence[int], d: np.dtype, dims: Sequence[int], shape: Sequence[int], centre: bool, weight: bool, bias: bool
) -> Any:
    arrangement = _layout(sizes, dims, shape)
    if arrangement is None or d not in TYPES or 0 in sizes:
        return None
    by_column, items, integers = arrangement
    return (
        _normalize(d, by_column, centre, weight, bias),
        (items, *integers),
        tuple([1 if d in dims else n for d, n in enumerate(sizes)]),
    )


def backward_kernel(g: Any, x: Any, weight: Any, dims: Sequence[int], shape: Sequence[int], centre: bool) -> Any:
    """The same for backward, and whether the weight goes along rows."""
    if forward_kernel(x, weight, None, dims, shape, centre) is None or g.dtype != x.dtype:
        return None
    by_column, items, integers = _layout(x.shape, dims, shape)  # type: ignore[misc]
    if by_column:
        call = _normalize_columns_backward(x.dtype, centre, weight is not None)
        return call, [-(-items // ROWS), items, integers[1]], True
    return _normalize_backward(x.dtype, centre, weight is not None), [items, *integers], False


def sums_shape(integers: Sequence[int]) -> tuple[int, int, int]:
    """The shape of the sums of segments: (samples, weights a sample, segments)."""
    items, segments, _, _, _, period, _, _ = integers
    return items // period, period, segments


def standardize(
    x: np.ndarray, weight: Any, bias: Any, dims: Sequence[int], shape: Sequence[int], eps: float, centre: bool
) -> Any:
    """See ``_standardize`` of :mod:`pullback.ops.normalization`."""
    made = forward_kernel(x, weight, bias, dims, shape, centre)
    if made is None:
        return None
    (call, integers, kept), d = made, x.dtype
    x = as_contiguous(x)
    w, b = x if weight is None else np.ascontiguousarray(weight), x if bias is None else np.ascontiguousarray(bias)
    mean, var = np.empty(kept, d) if centre else np.zeros((1,) * x.ndim, d), np.empty(kept, d)
    return call(*integers, eps, w, b, x, mean, var, np.empty(x.shape, d)), mean, var


def standardize_backward(
    g: np.ndarray,
    wanted: Sequence[bool],
    x: np.ndarray,
    weight: Any,
    bias_shape: Any,
    dims: Sequence[int],
    shape: Sequence[int],
    eps: float,
    centre: bool,
    mean: np.ndarray,
    var: np.ndarray,
) -> Any:
    """See ``_standardize_vjp`` there, if no gradient comes in for mean and variance."""
    made = backward_kernel(g, x, weight, dims, shape, centre)
    if made is None:
        return None
    call, integers, by_column = made
    d = x.dtype
    g, x = as_contiguous(g), as_contiguous(x)
    out, w = np.empty(x.shape, d), x if weight is None else np.ascontiguousarray(weight)
    if by_column:
        blocks, _, n = integers
        of_weight, of_bias = np.empty((blocks, n), d), np.empty((blocks, n), d)
        call(*integers, eps, g, x, w, mean, var, of_weight, of_bias, out)
    else:
        of_bias, of_weight = (np.empty(sums_shape(integers), d) for _ in range(2))
        call(*integers, eps, g, x, w, mean, var, of_bias, of_weight, out)
    over: Any = 0 if by_column or integers[7] else (0, 2)
    wide = np.float64 if len(of_bias) > ROWS else d
    dw = np.add.reduce(of_weight, over, wide).astype(d, copy=False).reshape(weight.shape) if wanted[1] else None
    db = np.add.reduce(of_bias, over, wide).astype(d, copy=False).reshape(bias_shape) if wanted[2] else None
    return out, dw, db
