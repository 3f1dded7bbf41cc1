"""Lowerings of lstm, gru and the Elman cell: the recurrence is a kernel, the products and sums around it are steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels import recurrent as kernels
from ...kernels.codegen.kernel_builder import TYPES
from ...ops import recurrent as ops
from ..fusion import Fusion
from ..ir import Ref
from ..schedule import MemRef
from .matmul import matmul
from .registry import GradNumbers, is_large, lowering, vjp_lowering


def _fits(fusion: Fusion, size: int, given: Sequence[Any]) -> bool:
    """Whether the op itself would call a kernel."""
    values = [fusion.value(x) for x in given if x is not None]
    large = is_large("recurrent", size)
    return large and values[0].dtype in TYPES and all([v.dtype == values[0].dtype and 0 not in v.shape for v in values])


def _forward(
    name: str,
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    states: Sequence[Ref],
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Ref | None,
    b_hh: Ref | None,
    spans: Any,
) -> bool:
    cell, v = kernels.CELLS[name], fusion.value(Ref(outs[0]))
    n, size = v.shape
    if not _fits(fusion, n * cell.gates * size, [input, *states, w_ih, w_hh, b_ih, b_hh]) or (b_ih is None) != (
        b_hh is None
    ):
        return False
    # the input's part of the gates; the kernel may overwrite it with what is saved for backward
    x = outs[-1] if cell.kept == cell.gates else fusion.new_value((n, cell.gates * size), v.dtype)
    if not matmul(fusion, x, input, fusion.transposed(w_ih)):
        return False
    memory = fusion.materialize(x)
    given = [memory, fusion.contiguous(w_hh), *[memory if b is None else fusion.contiguous(b) for b in (b_ih, b_hh)]]
    initial = [fusion.contiguous(s) for s in states]
    all_states = [fusion.allocate(out) for out in outs[: len(states)]]
    kept = (
        fusion.overwritten(x) if cell.kept == cell.gates else fusion.allocate(outs[-1]) if cell.kept else all_states[0]
    )
    call = kernels.forward_kernel(name, v.dtype, initial[0].like.shape, spans, b_ih is not None)
    both = [m for pair in zip(initial, all_states) for m in pair]
    fusion.call_kernel(name, call, [*given, *both, kept], [*all_states, *([kept] if cell.kept else [])])
    return True


def _backward(
    name: str,
    fusion: Fusion,
    outs: GradNumbers,
    gs: Sequence[Ref],
    input: Ref,
    states: Sequence[Ref],
    w_ih: Ref,
    w_hh: Ref,
    spans: Any,
    all_states: Sequence[Ref],
    kept: Ref | None,
) -> bool:
    """Gradients are those of the input, the states, both weights and both biases."""
    cell, v = kernels.CELLS[name], fusion.value(all_states[0])
    n, size = v.shape
    if not _fits(fusion, n * size, [*gs, input, *states, w_ih, w_hh, *all_states]):
        return False
    of_input, *of_states, of_w_ih, of_w_hh, of_b_ih, of_b_hh = outs

    def result(shape: tuple[int, ...], number: int | None = None) -> Any:
        return fusion.scratch(shape, v.dtype) if number is None else fusion.allocate(number)

    has_grad = tuple([not fusion.is_zero(g) for g in gs])
    given = [fusion.contiguous(x) for x in (w_hh, all_states[0] if kept is None else kept)]
    before = [fusion.contiguous(s) for s in states]
    after = [fusion.contiguous(s) for s in all_states]
    cotangents = [fusion.contiguous(g) if here else a for g, a, here in zip(gs, after, has_grad)]
    carried = [result(b.like.shape, number) for b, number in zip(before, of_states)]

    # the kernel goes backward in time; h are the states, with room for inputs beside them if one product is to give
    # both weights' gradients
    is_one_product = not (cell.apart or of_w_ih is None or of_w_hh is None)
    depth = size + fusion.value(input).shape[1] * is_one_product
    dy, h = result((n, cell.gates * size)), result((n, depth))
    dx = result(dy.like.shape) if cell.apart else dy
    call = kernels.backward_kernel(name, v.dtype, before[0].like.shape, spans, has_grad, depth)
    each = [m for four in zip(before, after, cotangents, carried) for m in four]
    fusion.call_kernel(
        f"{name}_backward", call, [*given, *each, dy, dx, h], [*carried, dy, h, *([dx] if cell.apart else [])]
    )

    # from the gradients of gates, those of the input and of weights are products, those of biases sums
    done = of_input is None or matmul(fusion, of_input, Ref(dx.root), w_ih)
    done = done and _weight_grads(fusion, of_w_ih, of_w_hh, dx, dy, h, input, is_one_product)
    if not cell.apart and of_b_ih is not None and of_b_hh is not None:  # both gradients are the same
        return done and fusion.sum(dy.root, (0,), of_b_ih) and fusion.copy(of_b_hh, Ref(of_b_ih))
    return done and all(
        [number is None or fusion.sum(m.root, (0,), number) for m, number in ((dx, of_b_ih), (dy, of_b_hh))]
    )


def _weight_grads(
    fusion: Fusion,
    of_w_ih: int | None,
    of_w_hh: int | None,
    dx: MemRef,
    dy: MemRef,
    h: MemRef,
    input: Ref,
    is_one_product: bool,
) -> bool:
    by_x, by_y = (fusion.transposed(Ref(m.root)) for m in (dx, dy))
    if of_w_ih is None or of_w_hh is None or not is_one_product:
        return (of_w_ih is None or matmul(fusion, of_w_ih, by_x, input)) and (
            of_w_hh is None or matmul(fusion, of_w_hh, by_y, Ref(h.root))
        )
    size = h.like.shape[1] - fusion.value(input).shape[1]
    fusion.copy_to(input, h.view(h.like[:, size:]))
    both = fusion.new_value((dy.like.shape[1], h.like.shape[1]), dy.like.dtype)
    if not matmul(fusion, both, by_y, Ref(h.root)):
        return False
    m = fusion.materialize(both)
    fusion.memory.update({of_w_hh: m.view(m.like[:, :size]), of_w_ih: m.view(m.like[:, size:])})
    return True


@lowering(ops.lstm)
def _lstm(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    hidden: Ref,
    cell: Ref,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Any = None,
    b_hh: Any = None,
    projection: Any = None,
    spans: Any = (),
) -> bool:
    return projection is None and _forward("lstm", fusion, outs, input, (hidden, cell), w_ih, w_hh, b_ih, b_hh, spans)


@vjp_lowering(ops.lstm)
def _lstm_vjp(
    fusion: Fusion,
    outs: GradNumbers,
    g: Any,
    input: Ref,
    hidden: Ref,
    cell: Ref,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Any,
    b_hh: Any,
    projection: Any,
    spans: Any,
    output: Ref,
    cells: Ref,
    gates: Ref,
) -> bool:
    return projection is None and _backward(
        "lstm", fusion, outs[:7], g, input, (hidden, cell), w_ih, w_hh, spans, (output, cells), gates
    )


@lowering(ops.gru)
def _gru(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    hidden: Ref,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Any = None,
    b_hh: Any = None,
    spans: Any = (),
) -> bool:
    return _forward("gru", fusion, outs, input, (hidden,), w_ih, w_hh, b_ih, b_hh, spans)


@vjp_lowering(ops.gru)
def _gru_vjp(
    fusion: Fusion,
    outs: GradNumbers,
    g: Any,
    input: Ref,
    hidden: Ref,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Any,
    b_hh: Any,
    spans: Any,
    output: Ref,
    gates: Ref,
) -> bool:
    return _backward("gru", fusion, outs, (g,), input, (hidden,), w_ih, w_hh, spans, (output,), gates)


def _elman_cell(relu: bool) -> str:
    return "relu" if relu else "tanh"


@lowering(ops.elman)
def _elman(
    fusion: Fusion,
    outs: Sequence[int],
    input: Ref,
    hidden: Ref,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Any = None,
    b_hh: Any = None,
    spans: Any = (),
    relu: bool = False,
) -> bool:
    return _forward(_elman_cell(relu), fusion, outs, input, (hidden,), w_ih, w_hh, b_ih, b_hh, spans)


@vjp_lowering(ops.elman)
def _elman_vjp(
    fusion: Fusion,
    outs: GradNumbers,
    g: Any,
    input: Ref,
    hidden: Ref,
    w_ih: Ref,
    w_hh: Ref,
    spans: Any,
    relu: bool,
    out: Ref,
) -> bool:
    return _backward(_elman_cell(relu), fusion, outs, (g,), input, (hidden,), w_ih, w_hh, spans, (out,), None)
