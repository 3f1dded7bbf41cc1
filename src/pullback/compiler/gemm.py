"""LLVM IR of matrix products: small ones inlined, others a call of the matmul kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels import matmul
from ..kernels.codegen import jit, threads
from ..kernels.codegen.llvm_ir import I8, I64, PTR, Function, Type, Value
from .loop_ir import collapse_dims, emit_nested_loops, emit_rest, mask_of_first
from .schedule import SCALAR_TYPES, MatMul, MemRef
from .step_functions import StepTable

MAX_INLINED_WORK = 1 << 15  # multiplications below which the loops are inlined


class MatMulEmitter:
    """Writes the function of a matrix product.

    Attributes:
        table: addresses of the factors, the result, and :func:`scratch_bytes` bytes.
        key: equal for products that have the same function.
    """

    def __init__(self, step: MatMul, scratch: int, any_size: bool) -> None:
        """
        Args:
            scratch: a root with that many bytes.
            any_size: write it for any sizes and strides; of inlined products only for as many columns.
        """
        self.step, self.type = step, SCALAR_TYPES[step.out.like.dtype]
        self.any_size = any_size = any_size and not _packed(step, _is_vector(step))
        is_inlined = _is_vector(step) if any_size else _is_small(step)
        self.packed = _packed(step, is_inlined)
        memories = (step.a, step.b, step.out)
        strides = [_contiguous(x) if k in self.packed else x.like.strides for k, x in enumerate(memories)]
        *batch, m, k = step.a.like.shape
        self.sizes = Sizes(
            (m, step.b.like.shape[-1], k),
            collapse_dims(batch, [s[:-2] for s in strides], 2),
            [s[-2:] for s in strides],
            step.out.like.itemsize,
        )
        self.form = None
        if not is_inlined:
            self.sizes, self.form = self.sizes.of_kernel()
        integers: list[int] = []
        shape: Any = self.sizes.map(integers.append) if any_size else [x.like.shape for x in memories]  # gives None
        self.table = StepTable(memories, [scratch], integers=integers)
        layouts = None if any_size else [x.like.strides for x in memories]
        self.key = any_size, "product", self.type, self.form, repr(shape), repr(layouts), threads.count()

    def emit(self, name: str) -> list[Function]:
        """The function."""
        f = Function(name, [("table", PTR)])
        type, values = self.type, self.table.integers(f)
        pointers = [self.table.pointer(f, x) for x in range(3)]
        at = self.table.pointer(f, 3)
        for x in self.packed:
            factor = (self.step.a, self.step.b)[x]
            source, pointers[x] = pointers[x], at
            emit_nested_loops(
                f,
                collapse_dims(factor.like.shape, [factor.like.strides, _contiguous(factor)], 1),
                [source, at],
                lambda pair: f.store(f.load(pair[0], type), pair[1]),
            )
            at = f.at(at, factor.like.size, type)

        # loops over the batch, around one of three forms
        sizes = self.sizes.map(lambda _: next(values)) if self.any_size else self.sizes

        def inside(x: Sequence[Value]) -> None:
            if self.form is not None:
                _emit_kernel_call(f, type, self.form, sizes, x)
                return
            (m, n, k), ((ai, ak), (bk, bj), (oi, _)) = sizes.shape, sizes.strides
            if _is_vector_times_rows(self.sizes):  # the rows times it
                _emit_small(f, type, (n, 1, k), (x[1], bj, bk), (x[0], ak), (x[2], sizes.itemsize))
            else:
                _emit_small(f, type, (m, n, k), (x[0], ai, ak), (x[1], bk), (x[2], oi))

        emit_nested_loops(f, sizes.batch, pointers, inside)
        return [f]


class Sizes(NamedTuple):
    """Sizes and strides of a product, in bytes.

    Attributes:
        shape: rows, columns and depth.
        batch: dimensions that loops go through, with the strides of all three matrices.
        strides: of the last two dimensions of each.
        items, numbers: what the kernel is told, if it is one's.
    """

    shape: tuple[Any, Any, Any]
    batch: list[tuple[Any, list[Any]]]
    strides: list[Any]
    itemsize: int
    items: Any = 1
    numbers: tuple[Any, ...] = ()

    def of_kernel(self) -> tuple[Sizes, matmul.Form]:
        """The same for the kernel, to which two dimensions of the batch are left, and which form of it."""
        size = self.itemsize
        (a, b, (pitch, _)), repeated = self.strides, self.batch[-2:]
        plan = matmul.make_plan(
            size,
            self.shape,
            (a[0] // size, a[1] // size),
            (b[0] // size, b[1] // size),
            pitch // size,
            False,
            threads.count(),
            tuple([(count, x // size, y // size, z // size) for count, (x, y, z) in repeated]),
        )
        assert plan is not None
        return self._replace(batch=self.batch[:-2], items=plan.items, numbers=plan.numbers), plan.form

    def map(self, of: Callable[[int], Any]) -> Sizes:
        """The same with other sizes and strides, made of these in order, as far as one function can be for all."""

        def stride(s: int) -> Any:
            return s if s in (0, self.itemsize) else of(s)

        m, n, k = self.shape
        batch = [(of(count), [s and of(s) for s in strides]) for count, strides in self.batch]
        if self.numbers:
            items = of(self.items) if self.items > 1 else 1
            return self._replace(
                shape=(0, 0, 0), batch=batch, strides=[], items=items, numbers=tuple(map(of, self.numbers))
            )
        columns = of(n) if _is_vector_times_rows(self) else n  # which are unrolled
        strides = [[stride(s) for s in pair] for pair in self.strides]
        return Sizes((m if m == 1 else of(m), columns, of(k)), batch, strides, self.itemsize)


def _is_vector_times_rows(sizes: Sizes) -> bool:
    (m, n, _), ((_, ak), (bk, bj), _) = sizes.shape, sizes.strides
    return m == 1 < n and ak == bk == sizes.itemsize != bj


def _contiguous(x: MemRef) -> tuple[int, ...]:
    return np.empty(x.like.shape, x.like.dtype).strides


def _is_vector(step: MatMul) -> bool:
    return step.a.like.shape[-2] == 1 or step.b.like.shape[-1] == 1


def _is_small(step: MatMul) -> bool:
    *_, m, k = step.a.like.shape
    return m * step.b.like.shape[-1] * k < MAX_INLINED_WORK or _is_vector(step)


def _packed(step: MatMul, is_inlined: bool) -> list[int]:
    """The factors that are packed (copied in C order), as the code can't read their strides."""
    m, n, size = step.a.like.shape[-2], step.b.like.shape[-1], step.out.like.itemsize
    s = step.b.like.strides
    readable = size in s[-2:]
    if is_inlined:
        readable = n == 1 or s[-1] == size or m == 1 and s[-2] == size == step.a.like.strides[-1]
    odd = [any([stride % size for stride in x.like.strides]) for x in (step.a, step.b)]
    return [x for x in (0, 1) if odd[x] or x == 1 and not readable]


def scratch_bytes(step: MatMul) -> int:
    """Bytes that a product needs for packed factors."""
    return sum([(step.a, step.b)[x].like.nbytes for x in _packed(step, _is_small(step))])


def _emit_kernel_call(f: Function, type: Type, form: matmul.Form, sizes: Sizes, pointers: Sequence[Value]) -> None:
    """Call the kernel, on as many threads as there are items for."""
    _, task = matmul.kernel(np.dtype(f"f{type.bits // 8}"), form)
    a, b, out = pointers
    if form.turned:
        a, b = b, a
    told = [*sizes.numbers, a, b, out, out]
    slots = f.stack_array(len(told), I64)
    for i, value in enumerate(told):
        f.store(f.constant(value, I64), f.at(slots, i, I64))
    f.declared.add(f"declare void @{task}(ptr, i64, i64)")
    zero, one = f.constant(0, I64), f.constant(1, I64)
    if sizes.items.__class__ is int and sizes.items == 1:
        f.call(task, slots, zero, one)
    else:
        f.call("pullback_share", f.symbol(task), slots, f.constant(sizes.items, I64), one, external=True)


def _emit_small(
    f: Function,
    type: Type,
    sizes: tuple[Any, Any, Any],
    a: tuple[Value, Any, Any],
    b: tuple[Value, Any],
    out: tuple[Value, Any],
) -> None:
    """Inlined loops: four rows of a at a time, times vectors of b."""
    m, n, k = sizes
    (p, ai, ak), (q, bk), (r, oi) = a, b, out
    size = type.bits // 8
    lanes = jit.WIDTH * 8 // type.bits
    if n == 1 and ak == size and bk == size:  # rows times a vector
        whole, vector = k // lanes * lanes, type.of(lanes)
        with f.loop(0, m) as i:
            row, total = f.at(p, i * ai, I8), f.variable(f.constant(0.0, vector))

            def add(at: Value, mask: Value | None = None) -> None:
                left, right = (f.load(f.at(x, at, type), vector, mask) for x in (row, q))
                total.set(f.fma(left, right, total.get()))

            with f.loop(0, whole, lanes) as at:
                add(at)
            emit_rest(f, k - whole, lambda rest: add(f.constant(whole, I64), mask_of_first(f, rest, lanes)))
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
    with f.loop(0, four, 4) as i:
        rows(i, 4)
    if m.__class__ is Value:
        with f.loop(four, m) as i:
            rows(i, 1)
    elif m % 4:
        rows(f.constant(four, I64), m % 4)
