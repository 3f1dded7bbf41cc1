"""Puts machine code in place of the fast path of calls, of the backward loop and of the commonest rules."""

from __future__ import annotations

import math
from functools import partial

from .. import kernels
from ..base import thread_state
from ..core import fast_call, record, slow_call, views
from ..core.graph import LEAF, PACKAGE_FILES, USER_FILES, Node, Output, clock, note_user_line
from ..core.op import REGISTRY
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..ops import reduce
from . import accumulate, graph_task


def install() -> None:
    """Let machine code take the place of Python's functions, and of the most frequent operators, if there is any."""
    record._count = -math.inf  # once is enough
    if not kernels.start():
        return
    try:
        from ..kernels.eager import backward_loop, cpython_objects, op_calls, small_operators

        recording = cpython_objects.Recording(Tensor, Node, clock, USER_FILES, PACKAGE_FILES, note_user_line)
        functions = recording.bare(), recording.recorded()
        given = recording, PLAIN_TENSOR_TYPES, LEAF, thread_state, views.mark_unrecorded
        kinds = views.ORDINARY, views.NO_GRAD, views.ONE_OF_SEVERAL
        for_calls = views.gradient_edge_for_saving, fast_call.OPTIONS, kinds, Output, *given
        machine = op_calls.calls(
            fast_call.node_class_for, slow_call.INTEGER_CATEGORIES, kernels.LARGE, kernels.SHARED, *for_calls
        )
        methods = {
            name: small_operators.method(name, REGISTRY[op], *given)
            for name, (op, _) in small_operators.METHODS.items()
        }
        pulls = {name: small_operators.rules(REGISTRY[name]) for name in small_operators.RULES}
        walking, keeping = backward_loop.walk(graph_task, Tensor), backward_loop.keep(Tensor)
        summing, adding = small_operators.sum_rows(accumulate.sum_rows), small_operators.add_row(kernels.add_row)
        totalling, spreading = (
            small_operators.total(reduce.fast_sum_all, reduce.SumNode, *given),
            small_operators.spread(REGISTRY["sum_all"].vjps[0]),
        )
    except Exception:  # not on this machine, as in kernels.start: Python it is
        return
    record.bare, record.with_node = functions
    graph_task.native_walk, graph_task.native_accumulate, accumulate.sum_rows, kernels.add_row, reduce.fast_sum_all = (
        walking,
        keeping,
        summing,
        adding,
        totalling,
    )
    fast_call.native_call = machine
    for op in REGISTRY.values():
        for lay_out in op.on_saved_spec_change:
            lay_out()
    REGISTRY["sum_all"].install_vjps((spreading,))
    for name, method in methods.items():
        op, before = REGISTRY[small_operators.METHODS[name][0]], Tensor.__dict__[name]
        if before is op.operator or before is op.reflected:  # not if it was replaced
            setattr(Tensor, name, method)
            op.on_saved_spec_change.append(partial(setattr, Tensor, name, before))  # a new rule may ask for more
    for name, rules in pulls.items():
        REGISTRY[name].install_vjps(rules)
