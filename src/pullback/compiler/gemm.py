"""LLVM IR of matrix products: small ones inlined, others a call of the matmul kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import matmul
from ..kernels.codegen import jit, threads
from ..kernels.codegen.llvm_ir import I8, I64, PTR, Function, Type, Value
from .loop_ir import StepTable, collapse_dims, emit_nested_loops
from .schedule import SCALAR_TYPES, MatMul

MAX_INLINED_WORK = 1 << 15  # multiplications below which the loops are inlined


def matmul_key(step: MatMul) -> tuple[Any, ...]:
    """Equal for products that have the same function."""
    return tuple([(x.like.shape, x.like.strides, x.like.dtype) for x in (step.a, step.b, step.out)])


def emit_matmul(name: str, step: MatMul, table: StepTable) -> Function:
    """The function of a matrix product.

    Args:
        table: addresses of the factors, the result, and :func:`scratch_bytes` bytes.
    """
    f = Function(name, [("table", PTR)], internal=True)
    *batch, m, k = step.a.like.shape
    n = step.b.like.shape[-1]
    type = SCALAR_TYPES[step.out.like.dtype]
    size = type.bits // 8
    strides = [x.like.strides for x in (step.a, step.b, step.out)]
    pointers = [table.pointer(f, x) for x in range(3)]

    # pack factors whose strides the code can't read, into scratch memory
    at = table.pointer(f, 3)
    for x, factor in enumerate((step.a, step.b)):
        if _is_packed(step, x):
            shape, strides[x] = factor.like.shape, np.empty(factor.like.shape, factor.like.dtype).strides
            source, pointers[x] = pointers[x], at
            emit_nested_loops(
                f,
                collapse_dims(shape, [factor.like.strides, strides[x]], 1),
                [source, at],
                lambda pair: f.store(f.load(pair[0], type), pair[1]),
            )
            at = f.at(at, math.prod(shape), type)

    # loops over the batch, around one of three forms
    dims = collapse_dims(batch, [s[:-2] for s in strides], 2)
    (ai, ak), (bk, bj), (oi, _) = [s[-2:] for s in strides]
    if m == 1 and n > 1 and ak == bk == size != bj:  # a vector times rows: the rows times it
        emit_nested_loops(
            f, dims, pointers, lambda x: _emit_small(f, type, (n, 1, k), (x[1], bj, bk), (x[0], ak), (x[2], size))
        )
    elif _is_small(step):
        emit_nested_loops(
            f, dims, pointers, lambda x: _emit_small(f, type, (m, n, k), (x[0], ai, ak), (x[1], bk), (x[2], oi))
        )
    else:
        repeated = tuple([(count, x // size, y // size, z // size) for count, (x, y, z) in dims[-2:]])
        plan = matmul.make_plan(
            size,
            (m, n, k),
            (ai // size, ak // size),
            (bk // size, bj // size),
            oi // size,
            False,
            threads.count(),
            repeated,
        )
        assert plan is not None
        emit_nested_loops(f, dims[:-2], pointers, lambda x: _emit_kernel_call(f, type, plan, x))
    return f


def _is_small(step: MatMul) -> bool:
    *_, m, k = step.a.like.shape
    n = step.b.like.shape[-1]
    return m * n * k < MAX_INLINED_WORK or m == 1 or n == 1


def _is_packed(step: MatMul, x: int) -> bool:
    """Whether a factor is packed (copied in C order), as the code can't read its strides."""
    m, n, size = step.a.like.shape[-2], step.b.like.shape[-1], step.out.like.itemsize
    s = (step.a, step.b)[x].like.strides
    if any([stride % size for stride in s]):
        return True
    if x == 0:
        return False
    if _is_small(step):
        return n > 1 and s[-1] != size and not (m == 1 and s[-2] == size == step.a.like.strides[-1])
    return size not in s[-2:]


def scratch_bytes(step: MatMul) -> int:
    """Bytes that a product needs for packed factors."""
    return sum([memory.like.nbytes for x, memory in enumerate((step.a, step.b)) if _is_packed(step, x)])


def _emit_kernel_call(f: Function, type: Type, plan: matmul.Plan, pointers: Sequence[Value]) -> None:
    """Call the kernel, on as many threads as there are items for."""
    _, task = matmul.kernel(np.dtype(f"f{type.bits // 8}"), plan.form)
    a, b, out = pointers
    if plan.form.turned:
        a, b = b, a
    told = [*plan.numbers, a, b, out, out]
    slots = f.stack_array(len(told), I64)
    for i, value in enumerate(told):
        f.store(f.constant(value, I64), f.at(slots, i, I64))
    f.declared.add(f"declare void @{task}(ptr, i64, i64)")
    zero, one = f.constant(0, I64), f.constant(1, I64)
    if plan.items == 1:
        f.call(task, slots, zero, one)
    else:
        f.call("pullback_share", f.symbol(task), slots, f.constant(plan.items, I64), one, external=True)


def _emit_small(
    f: Function,
    type: Type,
    sizes: tuple[int, int, int],
    a: tuple[Value, int, int],
    b: tuple[Value, int],
    out: tuple[Value, int],
) -> None:
    """Inlined loops: four rows of a at a time, times vectors of b."""
    m, n, k = sizes
    (p, ai, ak), (q, bk), (r, oi) = a, b, out
    size = type.bits // 8
    lanes = jit.WIDTH * 8 // type.bits
    if n == 1 and ak == size and bk == size:  # rows times a vector
        with f.loop(0, m) as i:
            row, total = f.at(p, i * ai, I8), f.variable(f.constant(0.0, type.of(lanes)))
            vector = type.of(lanes)
            with f.loop(0, k // lanes * lanes, lanes) as at:
                total.set(f.fma(f.load(f.at(row, at, type), vector), f.load(f.at(q, at, type), vector), total.get()))
            if k % lanes:
                mask = f.mask_of([x < k % lanes for x in range(lanes)])
                at = f.constant(k // lanes * lanes, I64)
                total.set(
                    f.fma(
                        f.load(f.at(row, at, type), vector, mask), f.load(f.at(q, at, type), vector, mask), total.get()
                    )
                )
            f.store(f.sum_lanes(total.get()), f.at(r, i * oi, I8))
        return

    def rows(i: Value, count: int) -> None:
        for first in range(0, n, 4 * lanes):
            widths = [min(lanes, n - j) for j in range(first, min(n, first + 4 * lanes), lanes)]
            masks = [None if w == lanes else f.mask_of([x < w for x in range(lanes)]) for w in widths]
            sums = [[f.variable(f.constant(0.0, type.of(lanes))) for _ in widths] for _ in range(count)]
            with f.loop(0, k) as at:
                right = f.at(f.at(q, at * bk, I8), first, type)
                vectors = [f.load(f.at(right, j * lanes, type), type.of(lanes), mask) for j, mask in enumerate(masks)]
                for c in range(count):
                    left = f.splat(f.load(f.at(f.at(p, (i + c) * ai, I8), at * ak, I8), type), lanes)
                    for j, vector in enumerate(vectors):
                        sums[c][j].set(f.fma(left, vector, sums[c][j].get()))
            for c in range(count):
                for j, mask in enumerate(masks):
                    f.store(sums[c][j].get(), f.at(f.at(r, (i + c) * oi, I8), first + j * lanes, type), mask)

    four = m // 4 * 4
    if four:
        with f.loop(0, four, 4) as i:
            rows(i, 4)
    if m % 4:
        rows(f.constant(four, I64), m % 4)
