"""The fast path of unary, binary and view operations: one closure each, without calls to helpers.

These closures decide the cost of a small operation, so what other places share stands inlined here (``gradient_edge``,
``wrap``). Other types, options, modes, levels and errors fall through to :mod:`pullback.core.slow_call`; operations of
any other signature are called by :mod:`pullback.core.general_call`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, OF_NUMPY
from ..base.errors import translate_error
from ..base.layout import match_layout
from . import record, views
from .graph import LEAF, Node, Output, clock
from .rules import variety_of
from .slow_call import elementwise_slow, view_slow
from .tensor import PLAIN_TENSOR_TYPES, Tensor

if TYPE_CHECKING:
    from .op import Op

ndarray, asarray = np.ndarray, np.asarray
getframe = sys._getframe


def as_it_is(op: Op, call: Callable) -> Callable:
    return call


# Makes machine code of an operation's fast path; set once a program is warm.
native_call: Callable[[Op, Callable], Callable] = as_it_is


def unary_call(op: Op) -> Callable:
    """One tensor in, one out."""
    impl, large = op.impl, op.impl_large
    Node = op.node_type(op.node_name)
    keep_x = keep_out = False

    def call(input: Any, *, out: Any = None) -> Any:
        return perform(input) if out is None else elementwise_slow(op, (input,), out)

    def in_python(input: Any) -> Any:
        c = input.__class__
        if c is not Tensor:
            if c is ndarray:
                return asarray(impl(input))
            if c not in PLAIN_TENSOR_TYPES:
                return elementwise_slow(op, (input,))
        fast = True
        try:
            x = input._array
            d = x.dtype
            if not (d is FLOAT32 or d is FLOAT64) or thread_state.slow_path_reasons:
                fast = False
                return elementwise_slow(op, (input,))
            e = input._fn
            if input._view is not None:
                e = views.gradient_edge_for_saving(input)
            elif e is LEAF:
                e = input
            value = impl(x) if x.size < kernels.SHARED else large(x)
        except Exception:
            if not fast:
                raise
            return elementwise_slow(op, (input,))  # whatever it was, the slow way says it better
        if value.__class__ is not ndarray:
            value = asarray(value)
        if e is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
            result = record.bare(value)
            if thread_state.no_grad_threads and thread_state.local.made is not None:
                views.mark_unrecorded(result, e, input)
            return result
        return record.with_node(value, Node, (e,), (x if keep_x else None, value if keep_out else None), getframe(2))

    perform = in_python

    def lay_out() -> None:
        nonlocal keep_x, keep_out, perform
        keep_x, keep_out = [users != 0 for _, _, users in op.saved_spec] or (False, False)
        perform = native_call(op, in_python)

    op.on_saved_spec_change.append(lay_out)
    op.fixed_saved_order = (*op.params, "out")
    return call


def binary_call(op: Op, operator: bool = False) -> Callable:
    """Two operands, either of which may be a Python number. As an operator it leaves foreign types to their own
    methods.
    """
    impl, large = op.impl, op.impl_large
    Node, ScalarNode = op.node_type(op.node_name), op.node_type(op.node_name[:-1] + "0")
    need_x = need_y = need_out = 0  # which gradients need what: bit 1 for input's, bit 2 for other's

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        return perform(input, other) if out is None else elementwise_slow(op, (input, other), out, operator)

    def in_python(input: Any, other: Any) -> Any:
        fast = True
        try:
            c = other.__class__
            if c is float or c is int:
                if input.__class__ is ndarray:
                    return asarray(impl(input, other))
                x, y, f = input._array, other, None
                d = x.dtype
            else:
                x, y, f = input._array, other._array, other._fn
                d = x.dtype
                if y.dtype is not d or c is not Tensor and c not in PLAIN_TENSOR_TYPES:
                    fast = False
                    return elementwise_slow(op, (input, other), None, operator)
                if other._view is not None:
                    f = views.gradient_edge_for_saving(other)
                elif f is LEAF:
                    f = other
            c = input.__class__
            if (
                not (d is FLOAT32 or d is FLOAT64)
                or thread_state.slow_path_reasons
                or c is not Tensor
                and c not in PLAIN_TENSOR_TYPES
            ):
                fast = False
                return elementwise_slow(op, (input, other), None, operator)
            e = input._fn
            if input._view is not None:
                e = views.gradient_edge_for_saving(input)
            elif e is LEAF:
                e = input
            value = impl(x, y) if x.size < kernels.SHARED else large(x, y)
        except Exception:
            if not fast:
                raise
            return elementwise_slow(op, (input, other), None, operator)
        if value.__class__ is not ndarray:
            value = asarray(value)
        elif value.ndim > 1 and value.strides != x.strides and y.__class__ is ndarray:
            value = match_layout((x, y), value)
        if e is None and f is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
            result = record.bare(value)
            if thread_state.no_grad_threads and thread_state.local.made is not None:
                views.mark_unrecorded(result, f if e is None else e, input, other)
            return result
        needs = 1 if f is None else 2 if e is None else 3
        saved = x if need_x & needs else None, y if need_y & needs else None, value if need_out & needs else None
        return record.with_node(value, ScalarNode if y is other else Node, (e, f), saved, getframe(2))

    perform = in_python

    def lay_out() -> None:
        nonlocal need_x, need_y, need_out, perform
        need_x, need_y, need_out = [users for _, _, users in op.saved_spec] or (0, 0, 0)
        perform = native_call(op, in_python)

    op.on_saved_spec_change.append(lay_out)
    op.fixed_saved_order = (*op.params, "out")
    return call


def in_signature_order(op: Op, in_python: Callable, slow: Callable | None = None) -> Callable:
    """The public function around a call of all arguments in the order of the signature; ``slow`` takes ``out=``, too,
    if anything does.
    """
    total, required, positional, orders, defaults = (
        len(op.params),
        op.required,
        op.positional_count,
        op.argument_orders,
        op.defaults,
    )
    op.call_ordered = perform = in_python
    unsaid = None if slow is not None else ndarray  # the default of ``out=``: not given

    def call(*args: Any, out: Any = unsaid, **kwargs: Any) -> Any:
        n = len(args)
        if out is not unsaid and slow is None:
            kwargs["out"] = out  # which is refused
        if kwargs:
            order = orders.get((n, *kwargs))
            args = op.bind(args, kwargs) if order is None else order((*args, *kwargs.values(), *defaults))
        elif n != total:
            args = (*args, *defaults[n:]) if required <= n <= positional else op.bind(args, kwargs)
        return perform(*args) if out is unsaid else slow(op, args, out)  # type: ignore[misc]

    def lay_out() -> None:
        nonlocal perform
        op.call_ordered = perform = native_call(op, in_python)

    op.on_saved_spec_change.append(lay_out)
    return call


def node_class_for(node: type[Node], dtype: np.dtype) -> type[Node] | None:
    """The type of node of a result that is neither float32 nor float64; None if it has no gradient."""
    if OF_NUMPY[dtype].category < FLOATING:
        return None
    return node._op.node_type(node.__name__, variety_of(dtype))


def view_call(op: Op) -> Callable:
    """The fast path of a view: one tensor in, another look at its memory out.

    The node keeps the input's shape and the options, whatever the rule asks for.
    """
    impl, node_name = op.impl, op.node_name
    ordinary = views.ORDINARY
    Node, gives_several = op.node_type(node_name) if node_name.__class__ is str else None, False

    def in_python(*args: Any) -> Any:
        nonlocal gives_several
        input = args[0]
        c = input.__class__
        if c is ndarray:
            return impl(*args)
        if (
            thread_state.slow_path_reasons
            or thread_state.no_grad_threads
            or c is not Tensor
            and c not in PLAIN_TENSOR_TYPES
        ):
            return view_slow(op, args)
        x, e, base, kind = input._array, input._fn, input, ordinary
        if x.__class__ is not ndarray or e is None and gives_several:
            return view_slow(op, args)
        options = args[1:]
        try:
            value = impl(x, *options)
        except Exception as error:
            raise translate_error(op, (x,), error) from None
        if value.__class__ is not ndarray:
            gives_several = True
            if e is None or value.__class__ is not list or not value:
                return view_slow(op, args)
        if input._view is not None:
            base, e, kind = input._view[0], views.gradient_edge(input), input._view[2]
            if base is None:
                return view_slow(op, args)
        elif e is LEAF:
            e = input
        if e is None:
            result = record.bare(value)
            result._view = (base, clock(), kind)
            return result
        node = Node if Node is not None else op.node_type(node_name(*args))
        if value.__class__ is list:
            made = record.with_node(value[0], node, (e,), (x.shape, *options), getframe(2))._fn
            made._shape, made._dtype = [v.shape for v in value], [x.dtype] * len(value)
            view = (base, made._seq, views.ONE_OF_SEVERAL)
            results = []
            for i, v in enumerate(value):
                result = record.bare(v)
                result._fn, result._view = Output(made, i), view
                results.append(result)
            return tuple(results)
        result = record.with_node(value, node, (e,), (x.shape, *options), getframe(2))
        result._view = (base, result._fn._seq, kind)
        return result

    op.fixed_saved_order = (op.params[0] + "_shape", *op.params[1:])
    return in_signature_order(op, in_python)
