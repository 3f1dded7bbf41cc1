"""The compiled fast path of calls gives what the calls in Python give, for every sample, and leaks no reference."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.core import call_spec, fast_call, general_call, record, slow_call, views
from pullback.core.graph import Node, Output
from pullback.core.op import REGISTRY, Op

from ..ops.samples import SAMPLES, Sample
from ..ops.test_rules import call, outputs, tensors

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.eager import emit_call, op_calls  # noqa: E402

from .test_small_operators import GIVEN, held, inside_a_function  # noqa: E402

KINDS = views.ORDINARY, views.NO_GRAD, views.ONE_OF_SEVERAL
CALLS = op_calls.native_calls(
    fast_call.node_class_for,
    slow_call.INTEGER_CATEGORIES,
    kernels.LARGE,
    kernels.SHARED,
    views.gradient_edge_for_saving,
    general_call.OPTIONS,
    KINDS,
    Output,
    *GIVEN,
)
DRAWING = {"bernoulli", "dropout_mask", "normal", "rrelu", "feature_mask"}  # what gives something else each time


def cell(op: Op) -> Any:
    """What holds the function that the public one leaves to."""
    return dict(zip(op.call.__code__.co_freevars, op.call.__closure__ or ())).get("perform")


def in_python(op: Op) -> Callable:
    for lay_out in op.on_saved_spec_change:
        known = (
            dict(zip(lay_out.__code__.co_freevars, lay_out.__closure__ or ())) if inspect.isfunction(lay_out) else {}
        )
        if known.get("perform") is cell(op):
            return known["in_python"].cell_contents
    raise LookupError(op.name)


def machine(op: Op, fallback: Callable | None = None) -> Callable:
    return CALLS(op, fallback or in_python(op))


def described(result: Any) -> Any:
    """All there is to a result."""
    if isinstance(result, np.ndarray):
        return result.tolist(), result.dtype, result.strides
    if not isinstance(result, torch.Tensor):
        return type(result), [described(r) for r in result] if isinstance(result, (tuple, list)) else result
    array, fn = result._array, result._fn
    index, node = (fn.index, fn.node) if isinstance(fn, Output) else (None, fn)
    recorded = isinstance(node, Node)
    view = result._view and (
        result._view[0],
        result._view[1] - node._seq if recorded else type(result._view[1]),
        result._view[2],
    )
    kept = [described(s) if isinstance(s, np.ndarray) else s for s in node._saved or ()] if recorded else None
    graph_of = (
        (type(node), [*map(id, node._edges)], kept, node._shape, node._dtype, node._hooks, index)
        if recorded
        else id(fn)
    )
    return (
        type(result),
        described(array) if isinstance(array, np.ndarray) else None,
        view,
        result._grad,
        result._hooks,
        graph_of,
    )


@contextlib.contextmanager
def compared() -> Iterator[set[str]]:
    """Let every call be made twice, and compared; gives the names of the operations whose machine code did it alone."""
    cells, taken = [], set()
    for op in REGISTRY.values():
        if cell(op) is not None and op.name not in DRAWING:
            left: list[int] = []

            def fallback(*args: Any, op: Op = op, left: list[int] = left) -> Any:
                left.append(1)
                return in_python(op)(*args)

            made = machine(op, fallback)

            def twice(*args: Any, op: Op = op, left: list[int] = left, made: Callable = made) -> Any:
                left.clear()
                ours = made(*args)
                if made is not fallback and not left:
                    taken.add(op.name)
                    left.append(1)
                    assert str(described(ours)) == str(described(in_python(op)(*args))), op.name
                return ours

            cells.append((op, cell(op).cell_contents, op.call_ordered))
            cell(op).cell_contents = op.call_ordered = twice
    try:
        yield taken
    finally:
        for op, called, performed in cells:
            cell(op).cell_contents, op.call_ordered = called, performed


@pytest.mark.parametrize("where", [contextlib.nullcontext, torch.no_grad, inside_a_function])
def test_the_same_as_in_python(where: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward, and in the rules, which call operations on arrays."""
    monkeypatch.setattr(record, "_count", -float("inf"))  # nothing is loaded on the way
    with compared() as taken:
        for sample in SAMPLES:
            for dtype in (np.float32, np.float64, *[np.complex128] * sample.complex):
                with where(), np.errstate(all="ignore"):
                    _run(sample, dtype)
    assert {
        "exp",
        "maximum",
        "sum_dims",
        "softmax",
        "clone",
        "topk",
        "aminmax",
        "sort",
        "frexp",
        "cat",
        "stack",
    } <= taken and len(taken) > 200
    assert ({"transpose", "basic_part", "split", "unbind"} <= taken) == (where is not inside_a_function)


def _run(sample: Sample, dtype: Any) -> None:
    torch.manual_seed(0)
    args, leaves = tensors(sample, torch, dtype)
    try:
        results = [o for o in outputs(call(sample, torch, args)) if isinstance(o, torch.Tensor) and o.requires_grad]
    except (RuntimeError, TypeError, NotImplementedError):  # what a type or a mode does not allow
        return
    if results and torch.is_grad_enabled():
        torch.autograd.grad(results, leaves, [torch.ones_like(o) for o in results], allow_unused=True)


def test_whole_numbers() -> None:
    """Elementwise operations, where they compute in the type that is there."""
    operands = [torch.arange(-3, 9).reshape(3, 4).to(t) for t in (torch.int64, torch.uint8, torch.int16, torch.bool)]
    operands += [
        operands[0].t(),
        operands[0][1],
        operands[0][:, ::2],
        torch.tensor(3),
        torch.ones(0, 4, dtype=torch.int64),
        torch.ones(3, 4),
    ]
    taken = taken_of(operands, [2, 1.5])
    assert {"gcd", "lcm", "bitwise_left_shift", "add", "sub", "lt", "abs"} <= taken
    assert not {"exp", "div"} & taken


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: Any) -> None:
    """Elementwise operations with their nodes, by kernels and by way of float32; numbers beside them."""
    x = torch.linspace(-1.5, 2, 12).reshape(3, 4).to(dtype)
    names = {"exp", "add", "sub", "maximum", "lt", "xlogy", "i0", "abs", "pow"}
    operands = [x, x.clone().requires_grad_(), x.t()[:3, :2], x[:, :2], x[0, 0], x.float()]
    assert taken_of(operands, [2, 1.5, 1e30], names) == names


def test_layouts() -> None:
    """The strides of results are PyTorch's where operands are not contiguous."""
    x = torch.linspace(-1.5, 2, 16).reshape(4, 4)
    parts = [x.clone(), x.t(), x.repeat(1, 2)[:, ::2], x.repeat(1, 2)[:, ::2].t(), x[0].expand(4, 4), x[:, :1]]
    names = {"add", "maximum", "eq", "atan2"}
    assert taken_of([*parts, parts[1].clone().requires_grad_()], [2], names) == names
    images = [torch.ones(2, 3, 4, 5).to(memory_format=f) for f in (torch.channels_last, torch.contiguous_format)]
    assert taken_of([*images, images[1][:, :, :1], images[0].permute(1, 0, 2, 3)[:2]], [], names) == names


def taken_of(operands: list[Any], numbers: list[Any], names: Iterable[str] = REGISTRY) -> set[str]:
    """The operations that machine code did alone with the first operand, each result the same as in Python."""
    taken = set()
    for op in map(REGISTRY.__getitem__, names):
        if op.kind == "elementwise" and len(op.tensors) == len(op.params) and op.name not in DRAWING:
            left: list[int] = []
            made = machine(op, lambda *args, op=op, left=left: left.append(1) or in_python(op)(*args))
            for args in (
                itertools.product(operands, *[[*operands, *numbers]] * (len(op.params) - 1))
                if len(op.params) < 3
                else ()
            ):
                outcomes: list[Any] = []
                left.clear()
                for call in (made, in_python(op)):
                    with np.errstate(all="ignore"):
                        try:
                            outcomes.append(described(call(*args)))
                        except Exception as error:
                            outcomes.append(repr(error))
                assert str(outcomes[0]) == str(outcomes[1]), (op.name, args)
                taken |= {op.name} if not left and args[0] is operands[0] else set()
    return taken


def test_lines_of_the_users() -> None:
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
    exp, maximum, transpose, cummax, stack, unbind = map(
        machine, map(REGISTRY.get, ("exp", "maximum", "transpose", "cummax", "stack", "unbind"))
    )
    line = sys._getframe().f_lineno + 1
    for result in (exp(x), maximum(x, y), transpose(x, 0, 1), cummax(x, 0).values, stack([y, x], 0), unbind(x, 0)[1]):
        assert result.grad_fn.location == (__file__, line)


def test_flags_of_arguments_are_those_of_the_spec() -> None:
    """Kernels are below ``core`` and can't import them."""
    for name in ("TENSOR", "NUMBER", "NONE", "OPTION", "MASK"):
        assert getattr(emit_call, name) == getattr(call_spec, name)


def test_errors_are_pythons_and_interruptions_go_through() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(IndexError, match="Dimension out of range"):
        machine(REGISTRY["transpose"])(x, 0, 5)
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        machine(REGISTRY["maximum"])(x, torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        machine(REGISTRY["topk"])(x, 4, -1, True, True)
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        machine(REGISTRY["stack"])([x, torch.ones(2, 2)], 0)
    with pytest.raises(TypeError, match="expected Tensor as element 1"):
        machine(REGISTRY["stack"])([x, 1.0], 0)

    def interrupted(x: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt

    op = REGISTRY["exp"]
    made = emit_call.native_call_spec(
        op, in_python(op), fast_call.node_class_for, slow_call.INTEGER_CATEGORIES, 1 << 14, 1 << 16
    )
    with pytest.raises(KeyboardInterrupt):
        inspect.getclosurevars(CALLS).nonlocals["bound"]["call"](made._replace(compute=interrupted))(x)


def test_references_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_count", -float("inf"))
    x, y = torch.ones(3, 4, requires_grad=True), torch.ones(3, 4)
    view, part, number = (x * 1).t(), (slice(0, 1), ...), 1234.5
    half, whole = x.detach().bfloat16().requires_grad_(), y.long()
    names = "exp", "maximum", "sum_dims", "clone", "transpose", "basic_part", "cummax", "aminmax", "cat", "unbind"
    unary, binary, total, copy, turned, look, first, both, joined, rows = (machine(REGISTRY[name]) for name in names)

    def refused(call: Callable, *args: Any) -> None:
        with contextlib.suppress(Exception):
            call(*args)

    def inside(mode: Callable, call: Callable, *args: Any) -> None:
        with mode():
            call(*args)

    makes = [
        lambda: [unary(a) for a in (x, y, view, x._array)],
        lambda: [binary(a, b) for a in (x, y, number) for b in (x, y, number) if a is not b],
        lambda: (
            [total(*REGISTRY["sum_dims"].bind((a, (0,), False), {})) for a in (x, y, x._array)]
            + [copy(x, torch.preserve_format)]
        ),
        lambda: [binary(a, b) for a in (half, half.t()) for b in (a, number)] + [unary(half)],
        lambda: [binary(a, b) for a in (whole, whole.t()[::2].t()) for b in (a, 1234)] + [binary(y.t(), y.t()[0])],
        lambda: [refused(binary, whole, 1 << 70), refused(binary, whole, number), refused(unary, whole)],
        lambda: [turned(a, 0, 1) for a in (x, y, view, view._array)],
        lambda: [look(a, part, "SliceBackward0") for a in (x, view)],
        lambda: [first(a, 0) for a in (x, y, view, x._array)] + [both(a, None, False) for a in (x, y, view, x._array)],
        lambda: (
            [joined(list_of((a, b)), 0) for a in (x, y) for b in (x, y) for list_of in (list, tuple)]
            + [joined([x._array, y._array], 0)]
        ),
        lambda: [rows(a, 0) for a in (x, y, view, view._array)],
        lambda: [inside(torch.no_grad, call, a, 0) for call in (rows, first) for a in (x, y, view)],
        lambda: [inside(inside_a_function, first, a, 0) for a in (x, y, view)],
        lambda: [refused(turned, x, 0, 7), refused(binary, x, torch.ones(2, 2)), refused(unary), refused(unary, "x")],
        lambda: [
            refused(first, x, 7),
            refused(joined, [x, view], 0),
            refused(joined, [x, 1.0], 0),
            refused(joined, [x, y._array], 0),
        ],
        lambda: [refused(joined, [], 0), refused(joined, x, 0), refused(rows, x, 7), refused(rows, y, None)],
    ]
    watched = (
        x,
        y,
        view,
        half,
        whole,
        x._array,
        half._array,
        whole._array,
        view._array,
        view._view,
        part,
        number,
        x._array.dtype,
        type(unary(x)._fn),
        type(turned(x, 0, 1)._fn),
    )
    for make in makes:
        assert held(make, *watched) == [0] * len(watched)
        assert abs(held(make, None)[0]) < 50  # others count it, too
