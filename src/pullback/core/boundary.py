"""The boundary between the graph and a level: nodes for entering and leaving it, rules lifted to level values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from .graph import Node, finish_node
from .level import LevelValue, batches_in, holds_tensor, innermost_level, wrap_value
from .tensor import Tensor


class LevelBoundary(Node):
    """The node of a step into a level or out of it; its rule is the opposite step."""

    __slots__ = ("back",)
    back: Callable[[Tensor], Sequence[Tensor | None]]

    @classmethod
    def name(cls) -> str:
        return "Identity"

    def _vjp(self, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
        return self.back(wrap_value(g))


def identity_vjp(g: Tensor) -> tuple[Tensor]:
    """The way back of a step that changes nothing."""
    return (g,)


def no_vjp(g: Tensor) -> tuple[None]:
    """The way back of a step out of nothing that could have a gradient."""
    return (None,)


def cross_boundary(value: Any, edges: Sequence[Any], back: Callable[[Tensor], Sequence[Tensor | None]]) -> Tensor:
    """A tensor around ``value`` whose gradient goes to ``edges`` by way of ``back``."""
    if not thread_state.local.grad or edges[0] is None and not any([e is not None for e in edges]):
        return wrap_value(value)
    result, node = wrap_value(value), LevelBoundary()
    node.back = back
    result._fn = finish_node(node, tuple(edges), (), value.shape, value.dtype)
    return result


def lift_vjp(pull: Callable) -> Callable:
    """A node's rule where values may be lifted: on tensors without history, for it cannot run on arrays."""

    def pulled(node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        trace = thread_state.local.trace
        if trace is None and not holds_tensor(g):
            level = innermost_level((*(g if g.__class__ is tuple else (g,)), *saved))
            results = None if level is None else level.pull_values(node, g, saved, edges)
            if results is not None:
                return results
        is_opaque = trace is not None and trace.is_opaque_vjp(node, g, saved)
        is_recorded = holds_tensor(g)
        g, saved = tensors(g), saved_tensors(node, saved)
        if is_opaque:
            return trace.pull(pull, node, g, saved, edges)
        before, thread_state.local.ruling = thread_state.local.ruling, node._op is not None
        try:
            return pull(node, g, saved, edges)
        except Exception:  # a rule that looks at values
            values = [
                v._array if isinstance(v, Tensor) else v for v in (*(g if g.__class__ is tuple else (g,)), *saved)
            ]
            batch = innermost_level([w for v in values for w in batches_in(v)])
            level = innermost_level(values) if batch is None else batch
            if level is None or node._op is None:  # a custom Function keeps what it saved to itself
                raise
            if is_recorded and level is trace:  # as one instruction it would have no derivative
                trace.refuse(f"the derivative of {node.name()} looks at values, and is differentiated")
            return level.pull(pull if batch is None else pulled, node, g, saved, edges)
        finally:
            thread_state.local.ruling = before

    pulled.on_arrays = getattr(pull, "on_arrays", pull)  # type: ignore[attr-defined]
    return pulled


def tensors(values: Any) -> Any:
    """Arrays and lifted values, alone or in tuples and lists, as tensors without history; anything else as it is."""
    if isinstance(values, (np.ndarray, LevelValue)):
        return wrap_value(values)
    if values.__class__ in (tuple, list):
        return type(values)([tensors(v) for v in values])
    return values


def saved_tensors(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a node saved, with tensors for arrays; lists of index arrays, which are options, stay."""
    return tuple([v if v.__class__ is list and not node._op.takes_tensor_list else tensors(v) for v in saved])
