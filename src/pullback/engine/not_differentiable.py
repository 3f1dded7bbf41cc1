"""Nodes that refuse to be differentiated, where a derivative is not known and a wrong one would be worse.

A custom Function's forward records nothing. What it keeps on ctx, or saves, may be an intermediate value, computed from
inputs that want gradients; when backward is itself recorded, such a value would pass for a constant. So tensors made
inside forward carry a mark (:data:`pullback.core.views.INSIDE_FUNCTION`), and a recorded backward sees marked ones
behind a :class:`Guard`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

from ..base import thread_state
from ..base.errors import with_notes
from ..core import graph, views
from ..core.graph import Node, finish_node
from ..core.record import wrap
from ..core.tensor import Tensor

# --- intermediates ------------------------------------------------------------------------------------------------


def has_intermediate(value: Any) -> bool:
    """Whether an attribute of ctx holds something that forward computed from inputs that want gradients."""
    if isinstance(value, Tensor):
        return value._hooks is views.INSIDE_FUNCTION
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (tuple, list)) and any(
        [isinstance(v, Tensor) and v._hooks is views.INSIDE_FUNCTION for v in value]
    )


def refusing_derivative(value: Any, node: Node, where: str) -> Any:
    """The value as tensors that refuse to be differentiated, since their own derivatives are not known."""
    if isinstance(value, Tensor):
        if value._hooks is not views.INSIDE_FUNCTION:
            return value
        result = wrap(value._array)
        a, saved = value._array, (where, node.name(), node.location)
        result._fn = refusal = finish_node(RefusedDerivative(), node._edges, saved, a.shape, a.dtype)
        refusal._code, refusal._lasti = node._code, node._lasti
        return result
    if isinstance(value, dict):
        return {k: refusing_derivative(v, node, f"{where}[{k!r}]") for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([refusing_derivative(v, node, f"{where}[{i}]") for i, v in enumerate(value)])
    return value


class RefusedDerivative(Node):
    """Stands before an intermediate of a custom Function's forward: gradients cannot go further."""

    __slots__ = ()
    _keeps = False

    def _vjp(self, g: Any, saved: Any, edges: Sequence[Any]) -> Sequence[Any]:
        where, name, location = self._saved
        raise with_notes(
            RuntimeError(
                f"trying to differentiate twice through {where} of {name}, an intermediate value of its forward, whose "
                "own derivative is not recorded"
            ),
            f"applied at {graph.format_line(location)}",
            "Save inputs or outputs with ctx.save_for_backward() and compute the rest from them in backward.",
        )


# --- refusing second derivatives -------------------------------------------------------------------------------------


def once_differentiable(fn: Any) -> Any:
    """Decorates a ``backward`` that cannot itself be differentiated: trying to raises, instead of giving wrong
    values.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with thread_state.no_grad():
            outputs = fn(ctx, *args)
        sources = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        if not thread_state.is_grad_enabled() or not sources:
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        refused = tuple([error_node(o, args) if isinstance(o, Tensor) else o for o in several])
        return refused if isinstance(outputs, tuple) else refused[0]

    return wrapper


class Error(Node):
    """What follows a backward that may be differentiated once."""

    __slots__ = ()
    _keeps = False

    def _vjp(self, g: Any, saved: Any, edges: Sequence[Any]) -> Sequence[Any]:
        raise RuntimeError(self._saved[0])


def error_node(value: Tensor, sources: Sequence[Any], message: str = "") -> Tensor:
    """An alias of ``value`` that is connected to ``sources`` by a node which raises."""
    result = value.detach()
    edges = tuple([views.gradient_edge(a) for a in sources if isinstance(a, Tensor)])
    saved = (message or "trying to differentiate twice a function that was marked with @once_differentiable",)
    result._fn = finish_node(Error(), edges, saved, value._array.shape, value._array.dtype, sys._getframe(1))
    return result
