"""What operations come to: a tensor around an array, with or without the node that recorded the operation.

This is what every recorded operation pays beside its arithmetic. It is written twice: here, and as machine code in
:mod:`pullback.kernels.objects`, which takes the place of the functions here once a program has recorded so many
operations that loading it pays.
"""

from __future__ import annotations

import math
from functools import partial
from types import FrameType

import numpy as np

from . import kernels
from .autograd import modes
from .autograd.graph import LEAF, OURS, USERS, Node, Output, clock, made_here
from .tensor import PLAIN, Tensor

ENOUGH = 1 if kernels.MODE == "always" else 2_500  # nodes: a program that records more will record many more
_count: float = 0
new = object.__new__


def bare(array: np.ndarray) -> Tensor:
    """A tensor around an array, nothing else known of it: what :func:`wrap` is where there can be no inference mode."""
    tensor = new(Tensor)
    tensor._array = array
    tensor._fn = tensor._view = tensor._grad = tensor._hooks = None
    return tensor


def wrap(value: np.ndarray) -> Tensor:
    """A tensor without history around an array."""
    result = bare(value)
    if modes.silent and modes._local.inference:
        result._view = modes.inference_mark
    return result


def recorded(array: np.ndarray, node_type: type[Node], edges: tuple, saved: tuple, frame: FrameType) -> Tensor:
    """A tensor around an array, with its node: what an operation's result is.

    Args:
        array: the result; an array, not another object that stands for one.
        node_type: of the operation.
        edges: where gradients go, one an input; at least one is not None.
        saved: what the rules ask for.
        frame: that of the caller, if it is the user's; else of a function called by it, or further inside.
    """
    global _count
    _count += 1
    if _count >= ENOUGH:
        _load()
    tensor = bare(array)
    tensor._fn = node = node_type()
    node._edges = edges
    node._saved = saved
    node._shape = array.shape
    node._dtype = array.dtype
    node._hooks = None
    code = frame.f_code
    if code.co_filename in USERS:
        node._code, node._lasti = code, frame.f_lasti
    else:
        made_here(node, frame)
    node._seq = clock()
    return tensor


in_python = recorded  # also of what stands for an array


def _load() -> None:
    """Let machine code take the place of these functions, and of the most frequent operators, if there is any."""
    global bare, recorded, _count
    _count = -math.inf
    if not kernels.start():
        return
    from . import calling, slowly, storage
    from .autograd import engine, gradients
    from .op import REGISTRY
    from .ops import reduce

    try:
        from .kernels import calls, objects, operators, walk

        recording = objects.Recording(Tensor, Node, clock, USERS, OURS, made_here)
        functions = recording.bare(), recording.recorded()
        given = recording, PLAIN, LEAF, modes, storage.mark
        kinds = storage.ORDINARY, storage.NO_GRAD, storage.ONE_OF_SEVERAL
        for_calls = storage.edge_of_saved, calling.OPTIONS, kinds, Output, *given
        machine = calls.calls(calling.node_of, slowly.WHOLE, kernels.LARGE, kernels.SHARED, *for_calls)
        methods = {name: operators.method(name, REGISTRY[op], *given) for name, (op, _) in operators.METHODS.items()}
        pulls = {name: operators.rules(REGISTRY[name]) for name in operators.RULES}
        walking, keeping = walk.walk(engine, Tensor), walk.keep(Tensor)
        summing, adding = operators.sum_rows(gradients.sum_rows), operators.add_row(kernels.add_row)
        totalling, spreading = (
            operators.total(reduce.total_of, reduce.Summed, *given),
            operators.spread(REGISTRY["sum_all"].pulls[0]),
        )
    except Exception:  # not on this machine, as in kernels.start: Python it is
        return
    bare, recorded = functions
    engine.walk, engine.keep_usual, gradients.sum_rows, kernels.add_row, reduce.total_of = (
        walking,
        keeping,
        summing,
        adding,
        totalling,
    )
    calling.machine = machine
    for op in REGISTRY.values():
        for lay_out in op.after_layout:
            lay_out()
    REGISTRY["sum_all"].teach((spreading,))
    for name, method in methods.items():
        op, before = REGISTRY[operators.METHODS[name][0]], Tensor.__dict__[name]
        if before is op.operator or before is op.reflected:  # not if it was replaced
            setattr(Tensor, name, method)
            op.after_layout.append(partial(setattr, Tensor, name, before))  # a new rule may ask for more
    for name, rules in pulls.items():
        REGISTRY[name].teach(rules)
