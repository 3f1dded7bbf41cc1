"""Puts machine code in place of the fast path of calls, of the backward loop and of the commonest rules."""

from __future__ import annotations

import math
from functools import partial

from .. import kernels
from ..base import thread_state
from ..core import fast_call, general_call, record, slow_call, views
from ..core.graph import LEAF, PACKAGE_FILES, USER_FILES, Node, Output, clock, note_user_line
from ..core.op import REGISTRY, Op
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..kernels import gemm
from ..ops import activation, arithmetic, pointwise, reduce, trigonometry, where
from . import accumulate, graph_task

# Python's operators that become machine code: the operation, and whether its operands stand the other way round.
OPERATORS: dict[str, tuple[Op, bool]] = {
    "__add__": (arithmetic.elementwise_add.op, False),
    "__radd__": (arithmetic.elementwise_add.op, False),
    "__sub__": (arithmetic.elementwise_sub.op, False),
    "__rsub__": (arithmetic.elementwise_sub.op, True),
    "__mul__": (arithmetic.mul.op, False),
    "__rmul__": (arithmetic.mul.op, False),
    "__truediv__": (arithmetic.elementwise_div.op, False),
    "__rtruediv__": (arithmetic.elementwise_div.op, True),
    "__pow__": (arithmetic.elementwise_pow.op, False),
}
EXPONENTS: dict[Op, tuple[int, ...]] = {arithmetic.elementwise_pow.op: (2, 3)}  # those for which a power is products
# Operations whose derivative rules small arrays meet most often.
RULES: list[Op] = [
    fn.op
    for fn in (
        arithmetic.mul,
        arithmetic.elementwise_div,
        arithmetic.elementwise_pow,
        where.relu,
        activation._leaky_relu,
        trigonometry.tanh,
        pointwise.sigmoid,
        pointwise.exp,
        pointwise.log,
        pointwise.sqrt,
    )
]


def install() -> None:
    """Let machine code take the place of Python's functions, and of the most frequent operators, if there is any."""
    record._count = -math.inf  # once is enough
    if not kernels.start():
        return
    try:
        from ..kernels.eager import backward_loop, cpython_objects, op_calls, small_operators

        recording = cpython_objects.Recording(Tensor, Node, clock, USER_FILES, PACKAGE_FILES, note_user_line)
        functions = recording.bare(), recording.with_node()
        given = recording, PLAIN_TENSOR_TYPES, LEAF, thread_state, views.mark_unrecorded
        kinds = views.ORDINARY, views.NO_GRAD, views.ONE_OF_SEVERAL
        for_calls = views.gradient_edge_for_saving, general_call.OPTIONS, kinds, Output, *given
        machine = op_calls.native_calls(
            fast_call.node_class_for, slow_call.INTEGER_CATEGORIES, kernels.LARGE, kernels.SHARED, *for_calls
        )
        methods = {
            name: small_operators.method(name, op, reflected, EXPONENTS.get(op, ()), *given)
            for name, (op, reflected) in OPERATORS.items()
        }
        vjps = {op: small_operators.rules(op, EXPONENTS.get(op, ())) for op in RULES}
        walking, keeping = backward_loop.run_nodes(graph_task, Tensor), backward_loop.accumulate_grad(Tensor, LEAF)
        summing, adding = small_operators.sum_rows(accumulate.sum_rows), small_operators.add_row(gemm.add_row)
        totalling, spreading = (
            small_operators.sum_all(reduce.fast_sum_all, reduce.SumNode, *given),
            small_operators.expand_sum(reduce.sum_all.op.vjps[0]),
        )
    except Exception as error:  # not on this machine, as in kernels.start: Python it is
        kernels.report_failure(error)
        return
    record.bare, record.with_node = functions
    graph_task.native_walk, graph_task.native_accumulate, accumulate.sum_rows, gemm.add_row, reduce.fast_sum_all = (
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
    reduce.sum_all.op.install_vjps((spreading,))
    for name, method in methods.items():
        (op, _), before = OPERATORS[name], Tensor.__dict__[name]
        if before is op.operator or before is op.reflected:  # not if it was replaced
            setattr(Tensor, name, method)
            op.on_saved_spec_change.append(partial(setattr, Tensor, name, before))  # a new rule may ask for more
    for op, rules in vjps.items():
        op.install_vjps(rules)
