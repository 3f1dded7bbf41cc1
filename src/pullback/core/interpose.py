"""Interposers: what sees each operation's arithmetic, below autograd (as ``TorchDispatchMode`` does).

While one is entered in a thread, every operation there takes the slow path, which asks the innermost interposer instead
of computing. It may compute (:func:`compute_below`), time it, remember it, look at it, or answer from memory; what is
recorded for backward is the same in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import thread_state


class Interposer:
    """Sees computations while it is entered. Layers nest: the innermost is asked first."""

    def __enter__(self) -> Any:
        thread_state.local.layers = (*thread_state.local.layers, self)
        thread_state.add_slow_path_reason(1)
        return self

    def __exit__(self, *exc: object) -> None:
        thread_state.local.layers = thread_state.local.layers[:-1]
        thread_state.add_slow_path_reason(-1)

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        """What the operation gives for these arrays and options: an array, or a tuple or list of several."""
        return compute_below(op, values)


def interposed(op: Any) -> Callable[..., Any]:
    """The forward function of an operation as this thread's layers see it."""
    layers = thread_state.local.layers
    return op.impl_any if not layers else lambda *values: _inside(layers[-1].compute, op, values)


def compute_below(op: Any, values: Sequence[Any]) -> Any:
    """Compute, seen only by the layers below the one that is asked."""
    return interposed(op)(*values)


def _inside(compute: Callable[..., Any], op: Any, values: Sequence[Any]) -> Any:
    before = thread_state.local.layers
    thread_state.local.layers = before[:-1]
    try:
        return compute(op, values)
    finally:
        thread_state.local.layers = before
