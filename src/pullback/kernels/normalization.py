"""Kernels that go through rows more than once: normalization, mean and variance, softmax and cross entropy, with their
derivatives.

A row is short enough to stay in the processor's cache from the first pass to the last. Sums run in several vectors
side by side, the same ones on every number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .codegen.kernel_builder import TYPES, Kernel, written
from .codegen.llvm_ir import F64, I64, Value

FEW = 1024  # numbers up to which a kernel that goes down columns, one by one, is faster than NumPy
ROWS = 64  # whose contributions to the gradient of a weight are summed by one task


# --- normalization ----------------------------------------------------------------------------------------------


@written
def _normalize(d: np.dtype, by_column: bool, centre: bool, weight: bool, bias: bool) -> str:
    """Items of segments; the weight is one number a segment, or goes along the only segment."""
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
        count = k.counted(k["segments"] * n)

        def over(body: Callable[[Value, Value], None], start: Value = start) -> None:
            with f.loop(0, k["segments"]) as s:
                body(s, f.at(k["x"], start + s * k["segment"], k.type))

        mean = f.constant(0.0, k.type)
        if centre:
            (sums,) = k.sums()
            over(lambda s, x: k.sweep(n, lambda at, mask, u: sums[u].set(sums[u].get() + k.load(x, at, mask))))
            mean = k.total(sums) / count
        middle = k.splat(mean)
        (squares,) = k.sums()

        def square(s: Value, x: Value) -> None:
            def add(at: Value, mask: Value | None, u: int) -> None:
                v = k.kept(k.load(x, at, mask) - middle, mask) if centre else k.load(x, at, mask)
                squares[u].set(f.fma(v, v, squares[u].get()))

            k.sweep(n, add)

        over(square)
        var = k.total(squares) / count
        scale = k.splat(1 / k.math.sqrt(var + k["eps"]))
        if centre:
            k.put(mean, k["mean"], i)
        k.put(var, k["var"], i)

        def finish(s: Value, x: Value) -> None:
            out = f.at(k["out"], start + s * k["segment"], k.type)
            place = i % k["period"] * k["by_item"] + s * k["by_segment"]
            w = k.splat(k.number(k["w"], place)) if weight and not by_column else None
            b = k.splat(k.number(k["b"], place)) if bias and not by_column else None

            def one(at: Value, mask: Value | None, u: int) -> None:
                v = k.load(x, at, mask)
                v = (v - middle if centre else v) * scale
                if weight:
                    v = v * (k.load(k["w"], at, mask) if w is None else w)
                if bias:
                    v = v + (k.load(k["b"], at, mask) if b is None else b)
                k.store(v, out, at, mask)

            k.sweep(n, one)

        over(finish)
    return k.done()


@written
def _normalize_backward(d: np.dtype, centre: bool, weight: bool) -> str:
    """As above with a weight a segment. ``totals`` and ``alongs``: sums of g and of g z, one a segment."""
    k = Kernel(
        "normalize_backward",
        TYPES[d],
        ["g", "x", "w", "mean", "var", "totals", "alongs", "out"],
        ["segments", "n", "item", "segment", "period", "by_item", "by_segment"],
        ["eps"],
    )
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        start, count = i * k["item"], k.counted(k["segments"] * n)
        mean = k.splat(k.number(k["mean"], i)) if centre else None
        deviation = 1 / k.math.sqrt(k.number(k["var"], i) + k["eps"])
        scale = k.splat(deviation)
        total, along = f.variable(0.0, k.type), f.variable(0.0, k.type)

        def standardized(x: Value, at: Value, mask: Value | None) -> Value:
            v = k.load(x, at, mask)
            return (v if mean is None else v - mean) * scale

        def pointers(s: Value) -> list[Value]:
            return [f.at(k[name], start + s * k["segment"], k.type) for name in ("g", "x", "out")]

        def weight_of(s: Value) -> Value:
            return k.number(k["w"], i % k["period"] * k["by_item"] + s * k["by_segment"])

        with f.loop(0, k["segments"]) as s:
            g, x, _ = pointers(s)
            gs, gzs = k.sums(2)

            def add(at: Value, mask: Value | None, u: int) -> None:
                v = k.load(g, at, mask)
                gs[u].set(gs[u].get() + v)
                gzs[u].set(f.fma(v, k.kept(standardized(x, at, mask), mask), gzs[u].get()))

            k.sweep(n, add)
            a, b = k.total(gs), k.total(gzs)
            k.put(a, k["totals"], i * k["segments"] + s)
            k.put(b, k["alongs"], i * k["segments"] + s)
            total.set(total.get() + (a * weight_of(s) if weight else a))
            along.set(along.get() + (b * weight_of(s) if weight else b))
        by_one, by_z = k.splat(total.get() / count * deviation), k.splat(along.get() / count * deviation)
        with f.loop(0, k["segments"]) as s:
            g, x, out = pointers(s)
            w = k.splat(weight_of(s) * deviation) if weight else scale

            def one(at: Value, mask: Value | None, u: int) -> None:
                v = k.load(g, at, mask) * w - standardized(x, at, mask) * by_z
                k.store(v - by_one if centre else v, out, at, mask)

            k.sweep(n, one)
    return k.done()


@written
def _normalize_columns_backward(d: np.dtype, centre: bool, weight: bool) -> str:
    """With a weight along rows; tasks are blocks of rows, which sum their contributions to the weight's and bias's
    gradients.
    """
    k = Kernel(
        "normalize_columns_backward",
        TYPES[d],
        ["g", "x", "w", "mean", "var", "of_weight", "of_bias", "out"],
        ["rows", "n"],
        ["eps"],
    )
    f, n = k.f, k["n"]
    count = k.counted(n)
    with f.loop(f["from"], f["to"]) as block:
        dw, db = (f.at(k[name], block * n, k.type) for name in ("of_weight", "of_bias"))
        for p in (dw, db):
            f.clear(p, n * (k.type.bits // 8))
        with f.loop(block * ROWS, f.smaller(block * ROWS + ROWS, k["rows"])) as i:
            g, x, out = (f.at(k[name], i * n, k.type) for name in ("g", "x", "out"))
            mean = k.splat(k.number(k["mean"], i)) if centre else None
            deviation = 1 / k.math.sqrt(k.number(k["var"], i) + k["eps"])
            scale = k.splat(deviation)
            us, uzs = k.sums(2)

            def parts(at: Value, mask: Value | None) -> tuple[Value, Value, Value]:
                v, z = k.load(g, at, mask), k.load(x, at, mask)
                z = k.kept((z if mean is None else z - mean) * scale, mask)
                return v, (v * k.load(k["w"], at, mask) if weight else v), z

            def add(at: Value, mask: Value | None, u: int) -> None:
                v, uv, z = parts(at, mask)
                us[u].set(us[u].get() + uv)
                uzs[u].set(f.fma(uv, z, uzs[u].get()))
                k.store(f.fma(v, z, k.load(dw, at, mask)), dw, at, mask)
                k.store(v + k.load(db, at, mask), db, at, mask)

            k.sweep(n, add)
            by_one, by_z = k.splat(k.total(us) / count * deviation), k.splat(k.total(uzs) / count * deviation)

            def one(at: Value, mask: Value | None, u: int) -> None:
                _, uv, z = parts(at, mask)
                v = uv * scale - z * by_z
                k.store(v - by_one if centre else v, out, at, mask)

            k.sweep(n, one)
    return k.done()


@lru_cache(256)
def _arrangement(
    shape: Sequence[int], dims: Sequence[int], of_weight: Sequence[int]
) -> tuple[bool, int, list[int]] | None:
    """Whether the weight goes along rows, how many items there are, and the integers that the kernels take."""
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


def normalizer(x: Any, weight: Any, bias: Any, dims: Sequence[int], shape: Sequence[int], centre: bool) -> Any:
    """The kernel for operands of such shapes and types, the integers that it is given, and the shape of mean and
    variance; None if there is none.
    """
    if weight is not None and weight.dtype != x.dtype or bias is not None and bias.dtype != x.dtype:
        return None
    return _normalizer(x.shape, x.dtype, dims, shape, centre, weight is not None, bias is not None)


@lru_cache(256)
def _normalizer(
    sizes: Sequence[int], d: np.dtype, dims: Sequence[int], shape: Sequence[int], centre: bool, weight: bool, bias: bool
) -> Any:
    arrangement = _arrangement(sizes, dims, shape)
    if arrangement is None or d not in TYPES or 0 in sizes:
        return None
    by_column, items, integers = arrangement
    return (
        _normalize(d, by_column, centre, weight, bias),
        (items, *integers),
        tuple([1 if d in dims else n for d, n in enumerate(sizes)]),
    )


def normalizer_backward(g: Any, x: Any, weight: Any, dims: Sequence[int], shape: Sequence[int], centre: bool) -> Any:
    """The same for the derivative, and whether the weight goes along rows."""
    if normalizer(x, weight, None, dims, shape, centre) is None or g.dtype != x.dtype:
        return None
    by_column, items, integers = _arrangement(x.shape, dims, shape)  # type: ignore[misc]
    if by_column:
        call = _normalize_columns_backward(x.dtype, centre, weight is not None)
        return call, [-(-items // ROWS), items, integers[1]], True
    return _normalize_backward(x.dtype, centre, weight is not None), [items, *integers], False


def sums_shape(integers: Sequence[int]) -> tuple[int, int, int]:
    """That of the sums of each segment: (samples, those of a sample that have weights of their own, segments)."""
    items, segments, _, _, _, period, _, _ = integers
    return items // period, period, segments


def standardize(
    x: np.ndarray, weight: Any, bias: Any, dims: Sequence[int], shape: Sequence[int], eps: float, centre: bool
) -> Any:
    """See ``_standardize`` of :mod:`pullback.ops.normalization`."""
    made = normalizer(x, weight, bias, dims, shape, centre)
    if made is None:
        return None
    (call, integers, kept), d = made, x.dtype
    x = np.ascontiguousarray(x)
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
    """See ``_standardize_vjp`` there, where nothing arrives for mean and variance."""
    made = normalizer_backward(g, x, weight, dims, shape, centre)
    if made is None:
        return None
    call, integers, by_column = made
    d = x.dtype
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    out, w = np.empty(x.shape, d), x if weight is None else np.ascontiguousarray(weight)
    if by_column:
        blocks, _, n = integers
        of_weight, of_bias = np.empty((blocks, n), d), np.empty((blocks, n), d)
        call(*integers, eps, g, x, w, mean, var, of_weight, of_bias, out)
    else:
        of_bias, of_weight = (np.empty(sums_shape(integers), d) for _ in range(2))
        call(*integers, eps, g, x, w, mean, var, of_bias, of_weight, out)
    over: Any = 0 if by_column or integers[7] else (0, 2)
    dw = np.add.reduce(of_weight, over).reshape(weight.shape) if wanted[1] else None
    return out, dw, np.add.reduce(of_bias, over).reshape(bias_shape) if wanted[2] else None


# --- mean and variance --------------------------------------------------------------------------------------------

LONG = 1 << 14  # numbers of which sums by blocks are more exact
CACHED = 1 << 16  # numbers up to which they are soon copied into rows


@written
def _moments(d: np.dtype, root: bool) -> str:
    """Items are rows."""
    k = Kernel("moments", F64, ["x", "mean", "spread"], ["n"], ["left"])
    f, n, type = k.f, k["n"], TYPES[d]
    with f.loop(f["from"], f["to"]) as row:
        x = f.at(k["x"], row * n, type)

        def total(of: Callable[[Value, Value], Value], middle: Value | None) -> Value:
            (sums,) = k.sums()

            def add(at: Value, mask: Value | None, u: int) -> None:
                v = f.load(f.at(x, at, type), type.of(k.lanes), mask)
                v = v if type == F64 else f.convert("fpext", v, k.vector)
                sums[u].set(of(sums[u].get(), k.kept(v if middle is None else v - middle, mask)))

            k.sweep(n, add)
            return k.total(sums)

        mean = total(Value.__add__, None) / k.counted(n)
        spread = total(lambda old, v: f.fma(v, v, old), k.splat(mean)) / k["left"]
        for name, value in (("mean", mean), ("spread", k.math.sqrt(spread) if root else spread)):
            f.store(value if type == F64 else f.convert("fptrunc", value, type), f.at(k[name], row, type))
    return k.done()


def moments(
    x: np.ndarray, order: tuple[int, ...] | None, n: int, left: float, shape: tuple[int, ...], root: bool
) -> Any:
    """Variance, or its root, and mean of so many elements each.

    Args:
        order: of the dimensions, such that those that are reduced come last; None if it is so.
        left: what the sum of squares is divided by.
        shape: of the results.
    """
    if x.dtype not in TYPES or not x.size or n >= LONG or order is not None and x.size > CACHED:
        return None
    x = np.ascontiguousarray(x if order is None else x.transpose(order))
    mean = np.empty(shape, x.dtype)
    return _moments(x.dtype, root)(x.size // n, n, left, x, mean, np.empty(shape, x.dtype)), mean


# --- lengths ----------------------------------------------------------------------------------------------------


@written
def _lengths(d: np.dtype, p: int) -> str:
    """Items are rows, whose n numbers lie ``inner`` apart; relative to the largest where squares overflow or lose
    digits.
    """
    k = Kernel("lengths", TYPES[d], ["x", "out"], ["n", "inner"])
    f, n, inner, double = k.f, k["n"], k["inner"], k.type == F64
    with f.loop(f["from"], f["to"]) as item:
        x = f.at(k["x"], item // inner * n * inner + item % inner, k.type)

        def folded(fold: Callable[[Value, Value], Value]) -> Value:
            made = f.variable(0.0, F64)
            with f.loop(0, n) as i:
                v = k.number(x, i * inner)
                made.set(fold(made.get(), v if double else f.convert("fpext", v, F64)))
            return made.get()

        if p == 1:
            length = f.variable(folded(lambda sum, v: sum + f.intrinsic("fabs", v)))
        else:
            length = f.variable(f.intrinsic("sqrt", folded(lambda sum, v: f.fma(v, v, sum))))
        if p == 2 and double:
            with f.when((length.get() < math.sqrt(LEAST)) | length.get().equals(math.inf)):
                top = folded(lambda old, v: f.larger(f.intrinsic("fabs", v), old))
                with f.when((top > 0.0) & (top < math.inf)):
                    length.set(f.intrinsic("sqrt", folded(lambda sum, v: f.fma(v / top, v / top, sum))) * top)
        k.put(length.get() if double else f.convert("fptrunc", length.get(), k.type), k["out"], item)
    return k.done(FEW)


LEAST = np.finfo(np.float64).tiny / np.finfo(np.float64).eps  # sums of squares below lose digits


def lengths(x: np.ndarray, p: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The norms, of order 1 or 2, of few numbers along dimensions that are neighbours; those of float32 are summed in
    double precision.
    """
    if x.dtype not in TYPES or x.size >= FEW:
        return None
    items, n, inner, shape = _lines(x.shape, dims, keepdim)
    return (
        _lengths(x.dtype, int(p))(items, n, inner, np.ascontiguousarray(x), np.empty(shape, x.dtype)) if inner else None
    )


@lru_cache(256)
def _lines(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, int, int, tuple[int, ...]]:
    """How many rows there are, how many numbers in each, how far apart, 0 for none or dimensions that are no
    neighbours; the results' shape.
    """
    start, stop = min(dims, default=0), max(dims, default=-1) + 1
    outer, n, inner = math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:])
    if stop - start != len(dims) or not outer * n * inner:
        return 0, 0, 0, ()
    return outer * inner, n, inner, shape[:start] + (1,) * keepdim * len(dims) + shape[stop:]


# --- softmax ----------------------------------------------------------------------------------------------------


def _largest(k: Kernel, x: Value, n: Value) -> Value:
    """The maximum of a row; NaN if there is one."""
    f = k.f
    (tops,) = k.sums(1, -math.inf)

    def larger(a: Value, b: Value) -> Value:
        return f.select(f.compare("ugt", a, b), a, b)

    def nan_kept(a: Value, b: Value) -> Value:
        return f.select(f.compare("uno", b, f.constant(0.0, b.type)), b, larger(a, b))

    k.sweep(n, lambda at, mask, u: tops[u].set(nan_kept(k.load(x, at, mask, -math.inf), tops[u].get())))
    a, b, c, d = (t.get() for t in tops)
    return f.fold_lanes(nan_kept(nan_kept(a, b), nan_kept(c, d)), nan_kept)


@written
def softmax_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax", TYPES[d], ["x", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x, out = (f.at(k[name], i * n, k.type) for name in ("x", "out"))
        highest = _largest(k, x, n)
        top = k.splat(highest)
        (sums,) = k.sums()

        def add(at: Value, mask: Value | None, u: int) -> None:
            e = k.kept(k.math.exp(k.load(x, at, mask) - top), mask)
            if not logarithm:
                k.store(e, out, at, mask)
            sums[u].set(sums[u].get() + e)

        k.sweep(n, add)
        total = k.total(sums)
        if logarithm:
            # In two steps, as NumPy takes them: the sum of maximum and logarithm would lose digits of large rows.
            log = k.splat(k.of_one(k.math.log, total))
            k.sweep(n, lambda at, mask, u: k.store(k.load(x, at, mask) - top - log, out, at, mask))
        else:
            by = k.splat(total)
            k.sweep(n, lambda at, mask, u: k.store(k.load(out, at, mask) / by, out, at, mask))
    return k.done()


@written
def softmax_backward_kernel(d: np.dtype, logarithm: bool) -> str:
    k = Kernel("softmax_backward", TYPES[d], ["g", "y", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        g, y, out = (f.at(k[name], i * n, k.type) for name in ("g", "y", "out"))
        (sums,) = k.sums()
        if logarithm:
            k.sweep(n, lambda at, mask, u: sums[u].set(sums[u].get() + k.load(g, at, mask)))
        else:
            k.sweep(n, lambda at, mask, u: sums[u].set(f.fma(k.load(g, at, mask), k.load(y, at, mask), sums[u].get())))
        total = k.splat(k.total(sums))

        def one(at: Value, mask: Value | None, u: int) -> None:
            a, b = k.load(g, at, mask), k.load(y, at, mask)
            k.store(a - k.math.exp(b) * total if logarithm else b * (a - total), out, at, mask)

        k.sweep(n, one)
    return k.done()


def _in_rows(x: np.ndarray, dim: int) -> bool:
    return x.dtype in TYPES and x.ndim > 0 and dim % x.ndim == x.ndim - 1 and x.size > 0


def softmax(x: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    """Along the last dimension."""
    if not _in_rows(x, dim):
        return None
    x, n = np.ascontiguousarray(x), x.shape[-1]
    return softmax_kernel(x.dtype, logarithm)(x.size // n, n, x, np.empty(x.shape, x.dtype))


def softmax_backward(g: np.ndarray, y: np.ndarray, dim: int, logarithm: bool = False) -> Any:
    if not _in_rows(y, dim) or g.dtype != y.dtype or g.shape != y.shape:
        return None
    g, y, n = np.ascontiguousarray(g), np.ascontiguousarray(y), y.shape[-1]
    return softmax_backward_kernel(y.dtype, logarithm)(y.size // n, n, g, y, np.empty(y.shape, y.dtype))


# --- cross entropy ----------------------------------------------------------------------------------------------


@written
def class_shares_kernel(d: np.dtype) -> str:
    """Of one item, how many targets, the class that does not count, whether shares are to add up to 1; then arrays:
    targets,
    the same with class 0 for those that do not count, and by what share each enters the loss."""
    k = Kernel("class_shares", TYPES[d], ["given", "target", "shares"], ["n", "ignored", "mean"])
    f = k.f
    with f.loop(f["from"], f["to"]):
        count = f.variable(0, I64)
        with f.loop(0, k["n"]) as i:
            counts = f.load(f.at(k["given"], i, I64), I64).differs(k["ignored"])
            count.set(count.get() + f.convert("zext", counts, I64))
        share = f.select(k["mean"].differs(0), 1 / k.counted(count.get()), f.constant(1.0, k.type))
        with f.loop(0, k["n"]) as i:
            target = f.load(f.at(k["given"], i, I64), I64)
            counts = target.differs(k["ignored"])
            f.store(f.select(counts, target, 0), f.at(k["target"], i, I64))
            k.put(f.select(counts, share, 0.0), k["shares"], i)
    return k.done()


@written
def cross_entropy_kernel(d: np.dtype) -> str:
    """The maximum of each row, the logarithm of the sum of exponentials below it, and the loss of the target."""
    k = Kernel("cross_entropy", TYPES[d], ["x", "target", "top", "logsum", "loss"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x = f.at(k["x"], i * n, k.type)
        highest = _largest(k, x, n)
        top = k.splat(highest)
        (sums,) = k.sums()
        k.sweep(n, lambda at, mask, u: sums[u].set(sums[u].get() + k.kept(k.math.exp(k.load(x, at, mask) - top), mask)))
        log = k.of_one(k.math.log, k.total(sums))
        chosen = k.number(x, f.load(f.at(k["target"], i, I64), I64))
        k.put(highest, k["top"], i)
        k.put(log, k["logsum"], i)
        k.put(log - (chosen - highest), k["loss"], i)
    return k.done()


@written
def cross_entropy_backward_kernel(d: np.dtype) -> str:
    """``softmax * share``, less the share at the target."""
    k = Kernel("cross_entropy_backward", TYPES[d], ["x", "target", "top", "logsum", "share", "out"], ["n"])
    f, n = k.f, k["n"]
    with f.loop(f["from"], f["to"]) as i:
        x, out = (f.at(k[name], i * n, k.type) for name in ("x", "out"))
        top, log = (k.splat(k.number(k[name], i)) for name in ("top", "logsum"))
        share = k.number(k["share"], i)
        by = k.splat(share)
        k.sweep(n, lambda at, mask, u: k.store(k.math.exp(k.load(x, at, mask) - top - log) * by, out, at, mask))
        place = f.load(f.at(k["target"], i, I64), I64)
        k.put(k.number(out, place) - share, out, place)
    return k.done()


def cross_entropy(x: np.ndarray, target: np.ndarray) -> Any:
    """Losses, maxima and logarithms of rows ``(batch, classes)``."""
    if x.ndim != 2 or not _in_rows(x, 1) or target.dtype != np.int64:
        return None
    x, (batch, n) = np.ascontiguousarray(x), x.shape
    top, logsum, loss = np.empty((batch, 1), x.dtype), np.empty((batch, 1), x.dtype), np.empty(batch, x.dtype)
    cross_entropy_kernel(x.dtype)(batch, n, x, np.ascontiguousarray(target), top, logsum, loss)
    return loss, top, logsum


def cross_entropy_backward(
    x: np.ndarray, target: np.ndarray, top: np.ndarray, logsum: np.ndarray, share: np.ndarray
) -> Any:
    if x.ndim != 2 or not _in_rows(x, 1) or target.dtype != np.int64:
        return None
    x, n = np.ascontiguousarray(x), x.shape[1]
    if share.shape != x.shape[:1] or share.dtype != x.dtype or not share.flags.c_contiguous:
        given, share = share, np.empty(len(x), x.dtype)
        share[...] = given
    return cross_entropy_backward_kernel(x.dtype)(
        len(x), n, x, np.ascontiguousarray(target), top, logsum, share, np.empty(x.shape, x.dtype)
    )
