"""The compiled fast path of calls: arrays out of tensors, the operation on them, a tensor and a node around the result.

The Python around the computation (:mod:`pullback.core.fast_call`) takes longer than the computation on a small array.
One function here serves all operations of a kind: the facts about each are in a tuple that it is bound to, see
:class:`~pullback.kernels.eager.emit_call.NativeCallSpec`. Guards check that a call is plain; where one fails, the
function leaves before it has done anything visible, and the call in Python takes over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..codegen import object_layout as layout
from ..codegen.entry import function_factory
from ..codegen.llvm_ir import I8, I64, PTR, Value
from .emit_call import MOST, OpCall, call_kind, native_call_spec


def native_calls(
    node_of: Callable, integer_categories: dict[np.dtype, int], large: int, shared: int, *given: Any
) -> Callable[[Any, Callable], Callable]:
    """``call_of(op, fallback)``, which gives the compiled call of an operation, or its call in Python.

    Args:
        node_of: see :class:`~pullback.kernels.eager.emit_call.NativeCallSpec`.
        integer_categories: integer types and bool, and their categories.
        large, shared: elements from which elementwise operations run as kernels; and those that are one NumPy function.
        given: for :class:`~pullback.kernels.eager.emit_call.OpCall`.
    """
    bound = {}
    for name, write in KINDS.items():
        f = OpCall(name, *given)
        bound[name] = function_factory(name, f.address(partial(write, f)))

    def call_of(op: Any, fallback: Callable) -> Callable:
        return (
            fallback
            if len(op.params) > MOST
            else bound[call_kind(op)](native_call_spec(op, fallback, node_of, integer_categories, large, shared))
        )

    return call_of


def _call(f: OpCall, listed: bool = False) -> Value:
    """Operations of one result."""
    f.take_arguments(listed)
    f.add_result(f.compute())
    f.match_layout()
    result = f.variable(f.result_at(0))
    with f.if_then(f.tensors.get()):
        f.record(result.get(), f.node_type_of)
        result.set(f.tensor_around(result.get(), f.fn.get()))
    f.made.set(0)
    return f.finish(result.get())


def _named(f: OpCall) -> Value:
    """Operations of several results, some of them differentiable; of arrays they are returned as they are."""
    f.others = [f.raw, f.fn]
    f.take_arguments()
    f.raw.set(f.compute())
    computed, parts, first, live = (
        f.raw.get(),
        f.spec_field("differentiable"),
        f.spec_int("first_differentiable"),
        f.variable(0, I64),
    )
    result, n = f.variable(computed), f.length(parts)

    def needs_gradient(i: Value) -> Value:
        return f.recorded() & f.load(f.at(parts, i + layout.BYTES, I8), I8).differs(0)

    def wrap_results() -> None:
        f.guard(f.type_of(computed).equals(f.object(tuple)) & f.length(computed).equals(n))
        with f.loop(0, n) as i:
            f.add_result(f.incref(f.item(computed, i)))
        f.record(f.result_at(first), f.node_type_of)
        with f.loop(0, n) as i, f.if_then(needs_gradient(i)):
            live.set(
                live.get() + f.select(f.node_type_of(f.result_at(i)).equals(f.object(None)), f.constant(0, I64), 1)
            )
        # With a single differentiable result the node is its; of several, each is an output of the node.
        with f.if_then(live.get() > 1):
            f.begin_outputs()
        result.set(f.api("PyType_GenericAlloc", f.spec_field("result_type"), n))
        for at in range(layout.LENGTH + 8, layout.TUPLE_ITEMS, 8):  # from Python 3.14 on the hash, not known so far
            f.store(f.constant(-1, I64), f.at(result.get(), at // 8, I64))
        with f.loop(0, n) as i:
            fn = f.variable(f.null())
            with f.if_then(needs_gradient(i)):
                f.if_else(
                    live.get() > 1, lambda: fn.set(f.output_edge(f.result_at(i))), lambda: fn.set(f.incref(f.fn.get()))
                )
            f.init_item(result.get(), i, f.tensor_around(f.result_at(i), fn.get()))
        f.made.set(0)

    f.if_else(f.tensors.get(), wrap_results, lambda: f.incref(result.get()))
    return f.finish(result.get())


def _view(f: OpCall) -> Value:
    """Operations whose result is a view of the first argument."""
    f.take_arguments()
    base, kind = f.take_base()
    f.add_result(f.compute())
    result = f.variable(f.result_at(0))
    with f.if_then(f.tensors.get()):
        _, view = f.view_of(result.get(), base, kind.get())
        result.set(f.tensor_around(result.get(), f.fn.get(), view))
    f.made.set(0)
    return f.finish(result.get())


def _views(f: OpCall) -> Value:
    """Operations that give several views of the first argument, as a list of arrays."""
    f.others = [f.raw, f.fn]
    f.take_arguments()
    base, _ = f.take_base()
    f.raw.set(f.compute())
    computed = f.raw.get()
    result, n = f.variable(computed), f.length(computed)

    def wrap_views() -> None:
        f.guard(f.type_of(computed).equals(f.object(list)) & (n > 0))
        arrays = f.field(computed, layout.LIST_ITEMS)
        recorded, view = f.view_of(f.load(arrays, PTR), base, f.object(f.view_kinds[2]))
        with f.if_then(recorded):
            f.begin_outputs()
        result.set(f.api("PyTuple_New", n))
        with f.loop(0, n) as i:
            array, edge = f.load(f.at(arrays, i, PTR), PTR), f.variable(f.fn.get())
            f.if_else(recorded, lambda: edge.set(f.output_edge(array)), lambda: f.incref(edge.get()))
            f.init_item(result.get(), i, f.tensor_around(f.incref(array), edge.get(), f.incref(view)))
        f.decref(view)

    f.if_else(f.tensors.get(), wrap_views, lambda: f.incref(result.get()))
    return f.finish(result.get())


KINDS: dict[str, Callable[[OpCall], Value]] = {
    "call": _call,
    "listed": lambda f: _call(f, listed=True),
    "named": _named,
    "view": _view,
    "views": _views,
}
