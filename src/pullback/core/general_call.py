"""The fast path of operations of any signature: of one tensor and options, of a list of tensors, of several tensors.

Each is a loop over the arguments (array and edge out of each tensor), the operation on arrays, and ``complete``:
tensors around the results and the node that recorded them. Machine code does the same, see
:mod:`pullback.kernels.eager.op_calls`; both read the operation's :class:`~pullback.core.call_spec.CallSpec`.
Whatever is not plain leaves for the slow path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, NARROW, OF_NUMPY
from ..base.errors import translate_error
from ..base.layout import match_layout
from . import level, record, views
from .call_spec import MASK, NONE, NUMBER
from .fast_call import binary_call, in_signature_order, unary_call
from .graph import LEAF
from .rules import variety_of
from .slow_call import elementwise_slow, general_slow, refuse_narrow, wrap_outputs, wrap_results
from .tensor import PLAIN_TENSOR_TYPES, Tensor

if TYPE_CHECKING:
    from .op import Op

ndarray, asarray = np.ndarray, np.asarray
getframe = sys._getframe
OPTIONS = {float, int, bool, str, type(None)}
ARRAYS = {ndarray, float, int, type(None)}  # what rules hand to operations in place of tensors


def elementwise_call(op: Op) -> Callable:
    """The public function of an elementwise operation: those of one and two operands have a fast path of their own."""
    if len(op.params) == 2:
        op.operator = binary_call(op, operator=True)
    return {1: unary_call, 2: binary_call}.get(len(op.params), general_call)(op)


def general_call(op: Op) -> Callable:
    """The public function of an operation of any signature."""
    slow = elementwise_slow if op.kind == "elementwise" else general_slow
    if bool(op.tensors) is op.takes_tensor_list:  # of no tensor, or of a list of them and others: always the slow path
        return slow_only(op, slow)
    call_of = call_of_list if op.takes_tensor_list else call_of_one if op.tensors == (0,) else call_of_several
    return in_signature_order(op, call_of(op, slow, completion(op)), slow)


def slow_only(op: Op, slow: Callable) -> Callable:
    """The public function of an operation without a fast path."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        return slow(op, op.bind(args, kwargs) if kwargs or len(args) != len(op.params) else args, out)

    return call


def call_of_one(op: Op, slow: Callable, complete: Callable) -> Callable:
    """Of one tensor and options."""
    impl, elementwise, inference = op.impl, op.kind == "elementwise", views.INFERENCE_TENSOR

    def call(*args: Any) -> Any:
        input = args[0]
        c = input.__class__
        if c is not Tensor:
            if c is ndarray:
                return asarray(impl(*args)) if op.result is None else impl(*args)
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
        elif x.dtype in NARROW:
            return slow(op, args)
        values = (x, *args[1:])
        try:
            value = impl(*values)
        except Exception as error:
            raise translate_error(op, [v for v in values if v.__class__ is ndarray], error) from None
        return complete(args, values, (e,), 0 if e is None else 1, value, False)

    return call


def call_of_list(op: Op, slow: Callable, complete: Callable) -> Callable:
    """Of a list of tensors and options."""
    impl, inference = op.impl, views.INFERENCE_TENSOR

    def call(*args: Any) -> Any:
        if thread_state.slow_path_reasons or args[0].__class__ is not list and args[0].__class__ is not tuple:
            return slow(op, args)
        arrays: list[Any] = []
        edges: list[Any] = []
        wanted = 0
        for x in args[0]:
            c = x.__class__
            if c is not Tensor and c not in PLAIN_TENSOR_TYPES or x._view is inference or x._array.dtype in NARROW:
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
        return complete(args, values, tuple(edges), wanted, value, False)

    return call


def call_of_several(op: Op, slow: Callable, complete: Callable) -> Callable:
    """Of several tensors, some of which may be None or numbers."""
    impl, elementwise, inference = op.impl, op.kind == "elementwise", views.INFERENCE_TENSOR
    first, tensors = op.tensors[0], [(i, op.call_spec.places[i]) for i in op.tensors]
    masks = [i for i, place in enumerate(op.call_spec.places) if place & MASK]

    def call(*args: Any) -> Any:
        if args[first].__class__ is not Tensor and not thread_state.function_modes:
            kinds = {args[i].__class__ for i, _ in tensors}
            if ndarray in kinds and kinds <= ARRAYS:
                return asarray(impl(*args)) if op.result is None else impl(*args)
        if thread_state.slow_path_reasons:
            return slow(op, args)
        for i in masks:
            if args[i].__class__ is not ndarray:
                return slow(op, args)
        values, edges, wanted, bit, with_number, d = list(args), [], 0, 1, False, None
        for i, place in tensors:
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
                elif x.dtype in NARROW:
                    return slow(op, args)
            elif x is None and place & NONE or (c is float or c is int) and place & NUMBER:
                with_number = True
            else:
                return slow(op, args)
            edges.append(e)
            bit += bit
        if elementwise and d is None:
            return slow(op, args)
        try:
            value = impl(*values)
        except Exception as error:
            raise translate_error(op, [v for v in values if v.__class__ is ndarray], error, args) from None
        if elementwise and value.ndim > 1:
            value = match_layout(values, value)
        return complete(args, values, tuple(edges), wanted, value, with_number)

    return call


def completion(op: Op) -> Callable:
    """What makes tensors of results: ``complete(args, values, edges, wanted, value, with_number)``."""
    node_name, named, saver = op.node_name, op.result, op.call_spec.saver
    main = (op.differentiable or (0,))[0]
    Node = op.node_type(node_name) if node_name.__class__ is str else None
    ScalarNode = op.node_type(node_name[:-1] + "0") if op.kind == "elementwise" else Node

    def complete(args: tuple, values: Any, edges: tuple, wanted: int, value: Any, with_number: bool) -> Any:
        """The results around what was computed, recorded for the caller's caller."""
        if named is not None:
            arrays: Any = [asarray(v) for v in value]
            value = arrays[main]
        else:
            if value.__class__ is not ndarray:
                if isinstance(value, level.LevelValue):  # such as a sparse value
                    return wrap_results(op, args, list(edges), list(values), value, None, 2)
                value = asarray(value)
            arrays = (value,)
        d = value.dtype
        real = d is FLOAT32 or d is FLOAT64
        if not real and d in NARROW and d not in op.narrow_types:
            refuse_narrow(op, d)
        off = thread_state.no_grad_threads and not thread_state.is_grad_enabled()
        if not wanted or off or not real and OF_NUMPY[d].category < FLOATING:
            results = [record.bare(a) for a in arrays]
            if thread_state.no_grad_threads and thread_state.local.made is not None:
                for r in results:
                    views.mark_unrecorded(r, next((e for e in edges if e is not None), None), *args)
            return results[0] if named is None else named(*results)
        node = ScalarNode if with_number else Node
        if node is None:
            node = op.node_type(node_name(*args))
        if not real:
            node = op.node_type(node.__name__, variety_of(d))
        result = record.with_node(value, node, edges, saver(wanted)(values, arrays), getframe(3))
        return result if named is None else wrap_outputs(op, result, arrays)

    return complete
