"""Wrap a computed array in a ``Tensor`` and, if it is recorded, attach its graph node.

This is what every recorded operation pays beside its arithmetic. It is written twice: here, and as machine code in
:mod:`pullback.kernels.eager.cpython_objects`, which takes over once a program has recorded so many operations that
loading it pays.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from . import slots
from .graph import USER_FILES, Node, clock, note_user_line
from .tensor import Tensor

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
    if thread_state.no_grad_threads and thread_state.local.inference:
        result._view = thread_state.inference_mark
    return result


def with_node(array: np.ndarray, node_type: type[Node], edges: tuple, saved: tuple, frame: FrameType) -> Tensor:
    """A tensor around an array, with its node: what an operation's result is.

    Args:
        array: the result; an array, not a level's value.
        node_type: of the operation.
        edges: where gradients go, one an input; at least one is not None.
        saved: what the rules ask for.
        frame: that of the caller, if it is the user's; else of a function called by it, or further inside.
    """
    global _count
    _count += 1
    if _count >= ENOUGH:
        slots.on_warm()
    tensor = bare(array)
    tensor._fn = node = node_type()
    node._edges = edges
    node._saved = saved
    node._shape = array.shape
    node._dtype = array.dtype
    node._hooks = None
    code = frame.f_code
    if code.co_filename in USER_FILES:
        node._code, node._lasti = code, frame.f_lasti
    else:
        note_user_line(node, frame)
    node._seq = clock()
    return tensor


with_node_in_python = with_node  # never machine code: also for values of levels


def _array_wrap(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What NumPy's functions return when they are handed a tensor."""
    return wrap(np.asarray(array))


Tensor.__array_wrap__ = _array_wrap  # type: ignore[assignment, method-assign]
