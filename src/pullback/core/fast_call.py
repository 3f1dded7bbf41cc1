"""The public functions of operations: the usual case of each kind in full, and the slow way for all others.

The usual case stands first and without calls to helpers: it decides what a small operation costs. Whatever is unusual
(other types, options, modes, levels, errors) leaves for the functions of :mod:`pullback.core.slow_call`, which take
everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, OF_NUMPY
from ..base.errors import translate_error
from ..base.layout import match_layout
from . import interpose, level, record, views
from .graph import LEAF, Node, Output, clock
from .override import NOT_OVERRIDDEN, dispatch
from .slow_call import elementwise_slow, general_slow, wrap_outputs, wrap_results, wrap_several
from .tensor import PLAIN_TENSOR_TYPES, Tensor

if TYPE_CHECKING:
    from .op import Op

ndarray, asarray = np.ndarray, np.asarray
getframe = sys._getframe
OPTIONS = {float, int, bool, str, type(None)}
ARRAYS = {ndarray, float, int, type(None)}  # what rules hand to operations in the place of tensors


def as_it_is(op: Op, call: Callable) -> Callable:
    return call


# What makes machine code of the usual call of an operation, from its call here, once that pays.
native_call: Callable[[Op, Callable], Callable] = as_it_is


def elementwise_call(op: Op) -> Callable:
    if len(op.params) == 2:
        op.operator = binary_call(op, operator=True)
    return {1: unary_call, 2: binary_call}.get(len(op.params), general_call)(op)


def unary_call(op: Op) -> Callable:
    """One tensor in, one out. The usual case stands first and in full: it decides the cost of a node."""
    impl, large = op.impl, op.impl_large
    Node = op.node_type(op.node_name, False)
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
        usual = True
        try:
            x = input._array
            d = x.dtype
            if not (d is FLOAT32 or d is FLOAT64) or thread_state.slow_path_reasons:
                usual = False
                return elementwise_slow(op, (input,))
            e = input._fn
            if input._view is not None:
                e = views.gradient_edge_for_saving(input)
            elif e is LEAF:
                e = input
            value = impl(x) if x.size < kernels.SHARED else large(x)
        except Exception:
            if not usual:
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
    Node, ScalarNode = op.node_type(op.node_name, False), op.node_type(op.node_name[:-1] + "0", False)
    need_x = need_y = need_out = 0  # which gradients need what: bit 1 for input's, bit 2 for other's

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        return perform(input, other) if out is None else elementwise_slow(op, (input, other), out, operator)

    def in_python(input: Any, other: Any) -> Any:
        usual = True
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
                    usual = False
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
                usual = False
                return elementwise_slow(op, (input, other), None, operator)
            e = input._fn
            if input._view is not None:
                e = views.gradient_edge_for_saving(input)
            elif e is LEAF:
                e = input
            value = impl(x, y) if x.size < kernels.SHARED else large(x, y)
        except Exception:
            if not usual:
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


def general_call(op: Op) -> Callable:
    """Any other signature: some tensors, of which those with a default may be None, and options; one result, or some
    with names.
    """
    total, slow = len(op.params), elementwise_slow if op.kind == "elementwise" else general_slow
    if not op.takes_tensor_list and not op.tensors or op.takes_tensor_list and op.tensors:

        def call_slowly(*args: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", None) if kwargs else None
            return slow(op, op.bind(args, kwargs) if kwargs or len(args) != total else args, out)

        return call_slowly
    impl, tensors, node_name, named = op.impl, op.tensors, op.node_name, op.result
    elementwise = op.kind == "elementwise"  # and so mixes types, and computes in another where it has to
    Node = op.node_type(node_name, False) if node_name.__class__ is str else None
    ScalarNode = op.node_type(node_name[:-1] + "0", False) if elementwise else Node
    optional = {i for i in tensors[1:] if op.defaults[i] is None}
    masks = op.index_params if elementwise else ()
    inference, differentiable, first = views.INFERENCE_TENSOR, op.differentiable or (0,), (*tensors, 0)[0]
    keeping: dict[int, tuple[list[int], Callable]] = {}

    def call_one(*args: Any) -> Any:
        """Of one tensor and options."""
        input = args[0]
        c = input.__class__
        if c is not Tensor:
            if c is ndarray:
                return asarray(impl(*args)) if named is None else impl(*args)
            if c not in PLAIN_TENSOR_TYPES:
                return slow(op, args)
        if thread_state.slow_path_reasons:
            return slow(op, args)
        e = input._fn
        if input._view is not None:
            if input._view is inference:
                return slow(op, args)
            e = views.gradient_edge(input)
        elif e is LEAF:
            e = input
        x = input._array  # after the edge: a view may just have caught up with its base
        if elementwise:
            d = x.dtype
            if not (d is FLOAT32 or d is FLOAT64):
                return slow(op, args)
            for option in args[1:]:
                if option.__class__ not in OPTIONS:
                    return slow(op, args)
        values = (x, *args[1:])
        try:
            value = impl(*values)
        except Exception as error:
            raise translate_error(op, [v for v in values if v.__class__ is ndarray], error) from None
        return completed(args, values, (e,), 0 if e is None else 1, value, Node)

    def call_listed(*args: Any) -> Any:
        """Of a list of tensors and options."""
        if thread_state.slow_path_reasons or args[0].__class__ is not list and args[0].__class__ is not tuple:
            return slow(op, args)
        arrays: list[Any] = []
        edges: list[Any] = []
        wanted = 0
        for x in args[0]:
            c = x.__class__
            if c is not Tensor and c not in PLAIN_TENSOR_TYPES or x._view is inference:
                return slow(op, args)
            e = x._fn
            if x._view is not None:
                e = views.gradient_edge(x)
            elif e is LEAF:
                e = x
            if e is not None:
                wanted = -1
            arrays.append(x._array)
            edges.append(e)
        if not arrays:
            return slow(op, args)
        values = [arrays, *args[1:]]
        try:
            value = impl(*values)
        except Exception as error:
            raise translate_error(op, [], error) from None
        return completed(args, values, tuple(edges), wanted, value, Node)

    def call_several(*args: Any) -> Any:
        if args[first].__class__ is not Tensor and not thread_state.function_modes:
            kinds = {args[i].__class__ for i in tensors}
            if ndarray in kinds and kinds <= ARRAYS:
                return asarray(impl(*args)) if named is None else impl(*args)
        if thread_state.slow_path_reasons:
            return slow(op, args)
        for i in masks:
            if args[i].__class__ is not ndarray:
                return slow(op, args)
        values, edges, wanted, bit, node, d = list(args), [], 0, 1, Node, None
        for i in tensors:
            x, e = args[i], None
            c = x.__class__
            if c is Tensor or c in PLAIN_TENSOR_TYPES:
                e = x._fn
                if x._view is not None:
                    if x._view is inference:
                        return slow(op, args)
                    e = views.gradient_edge(x)
                elif e is LEAF:
                    e = x
                values[i] = x = x._array
                if e is not None:
                    wanted += bit
                if elementwise:
                    if d is None:
                        d = x.dtype
                        if not (d is FLOAT32 or d is FLOAT64) or x.__class__ is not ndarray:
                            return slow(op, args)
                    elif x.dtype is not d:
                        return slow(op, args)
            elif not (x is None and i in optional or (i or elementwise) and (c is float or c is int)):
                return slow(op, args)
            else:
                node = ScalarNode
            edges.append(e)
            bit += bit
        if elementwise and d is None:
            return slow(op, args)
        try:
            value = impl(*values)
        except Exception as error:
            raise translate_error(op, [v for v in values if v.__class__ is ndarray], error) from None
        if elementwise and value.ndim > 1:
            value = match_layout(values, value)
        return completed(args, values, tuple(edges), wanted, value, node)

    def completed(args: tuple, values: Any, edges: tuple, wanted: int, value: Any, node: Any) -> Any:
        """The results around what was computed, recorded for the caller's caller."""
        if named is not None:
            arrays = [asarray(v) for v in value]
            value = arrays[differentiable[0]]
        elif value.__class__ is not ndarray:
            if isinstance(value, level.LevelValue):  # such as a sparse value
                return wrap_results(op, args, list(edges), list(values), value, None, 2)
            value = asarray(value)
        d = value.dtype
        usual = d is FLOAT32 or d is FLOAT64
        if (
            not wanted
            or thread_state.no_grad_threads
            and not thread_state.is_grad_enabled()
            or not usual
            and OF_NUMPY[d].category < FLOATING
        ):
            results = [record.bare(a) for a in ((value,) if named is None else arrays)]
            if thread_state.no_grad_threads and thread_state.local.made is not None:
                for r in results:
                    views.mark_unrecorded(r, next((e for e in edges if e is not None), None), *args)
            return results[0] if named is None else named(*results)
        if node is None:
            node = op.node_type(node_name(*args), False)
        if not usual and d.kind == "c":
            node = op.node_type(node.__name__, True)
        pool = [None, *values, value] if named is None else [None, *values, *arrays]
        shaped, kept = keeping.get(wanted) or plan(wanted)
        for i in shaped:
            v = values[i]
            pool.append([a.shape for a in v] if v.__class__ is list else getattr(v, "shape", ()))
        result = record.with_node(value, node, edges, kept(pool), getframe(3))
        if named is None:
            return result
        return wrap_outputs(op, result, arrays)

    def plan(wanted: int) -> tuple[list[int], Callable]:
        """What a node keeps when those gradients are wanted: of which arguments the shapes, and how to take all from
        the pool.
        """
        shaped: list[int] = []
        places = []
        for kind, i, users in op.saved_spec:
            if not users & wanted:
                places.append(0)
            elif kind == "shape":
                shaped.append(i)
                places.append(total + max(len(op.outputs), 1) + len(shaped))
            else:
                places.append(i + 1 if kind == "value" else total + 1 + max(i, 0))
        kept = itemgetter(*places) if len(places) > 1 else lambda pool: tuple([pool[i] for i in places])
        keeping[wanted] = shaped, kept
        return keeping[wanted]

    op.on_saved_spec_change.append(keeping.clear)
    return in_signature_order(
        op, call_listed if op.takes_tensor_list else call_one if tensors == (0,) else call_several, slow
    )


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
    unsaid = None if slow is not None else ndarray  # in the place of an ``out=`` that nobody gave

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
    return node._op.node_type(node.__name__, True) if dtype.kind == "c" else node


def view_call(op: Op) -> Callable:
    """One tensor in, another look at its memory out. The node keeps the input's shape and the options, whatever the
    rule asks for.
    """
    impl, node_name = op.impl, op.node_name
    ordinary = views.ORDINARY
    Node = op.node_type(node_name, False) if node_name.__class__ is str else None

    def in_python(*args: Any) -> Any:
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
            return call_slowly(args)
        x, e, base, kind = input._array, input._fn, input, ordinary
        if e is None or x.__class__ is not ndarray:
            return call_slowly(args)
        options = args[1:]
        try:
            value = impl(x, *options)
        except Exception as error:
            raise translate_error(op, (x,), error) from None
        if value.__class__ is not ndarray:
            if value.__class__ is not list or not value:
                return call_slowly(args)
        if input._view is not None:
            base, e, kind = input._view[0], views.gradient_edge(input), input._view[2]
            if base is None:
                return call_slowly(args)
        elif e is LEAF:
            e = input
        node = Node if Node is not None else op.node_type(node_name(*args), False)
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

    def call_slowly(args: tuple) -> Any:
        """Every other case: nothing recorded, several views, levels, sparse values, errors."""
        input = args[0]
        c = input.__class__
        if thread_state.function_modes or c is not Tensor and c not in PLAIN_TENSOR_TYPES:
            result = dispatch(op.call, args, {})
            if result is not NOT_OVERRIDDEN:
                return result
        if not isinstance(input, Tensor):
            if isinstance(input, np.generic):  # what NumPy makes of a 0-d array between two steps of a rule
                return impl(asarray(input), *args[1:])
            raise TypeError(
                f"{op.name}(): argument '{op.params[0]}' (position 1) must be Tensor, not {type(input).__name__}"
            )
        x, options = input._array, args[1:]
        try:
            if x.__class__ is ndarray and not (thread_state.slow_path_reasons and level.needs_level(())):
                value = (
                    impl(x, *options) if not thread_state.slow_path_reasons else interpose.interposed(op)(x, *options)
                )
            else:
                value = level.compute(op, (x, *options))
        except Exception as error:
            raise translate_error(op, (x,), error) from None
        base, e, kind = input, input._fn, ordinary
        if input._view is not None:
            base, e, kind = input._view[0], views.gradient_edge(input), input._view[2]
        elif e is LEAF:
            e = input
        if value.__class__ in (list, tuple):
            return wrap_several(op, args, [e], value, 1)
        lifted = value.__class__ is not ndarray
        if e is None or base is None or thread_state.no_grad_threads and not thread_state.is_grad_enabled():
            result = record.bare(value)
            views.unrecorded_view(result, base, clock(), kind, e)
        else:
            node = Node if Node is not None else op.node_type(node_name(*args), False)
            make = record.with_node if not lifted else record.with_node_in_python
            result = make(value, node, (e,), (x.shape, *options), getframe(2))
            result._view = (base, result._fn._seq, kind)
        if lifted:
            value.level.track(result)
        return result

    op.fixed_saved_order = (op.params[0] + "_shape", *op.params[1:])
    return in_signature_order(op, in_python)
