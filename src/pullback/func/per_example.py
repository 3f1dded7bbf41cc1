"""Per-example gradients: backward through a graph that was recorded inside one ``vmap``, without the engine.

The engine checks at every node to which levels its gradient and its saved values belong, for they may differ from node
to node. Where gradients are wanted for inputs that were made inside a batch, and nobody differentiates further, the
whole backward pass stays in that batch: the rules run one after the other on arrays with the batch in front
(:mod:`pullback.levels.batch_backward`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..base import thread_state
from ..core.boundary import lift_vjp
from ..core.graph import FREED, Node, holds_memory
from ..core.level import LevelValue, holds_level_value, is_level_value
from ..engine import messages
from ..engine.accumulate import add_grads, materialize, unbroadcast_for_edge
from ..levels import batch_backward, multi_seed_vjp

number = attrgetter("_seq")


def gradients(
    level: Any, nodes: Sequence[Node], roots: Sequence[tuple[Any, Any]], wanted: Sequence[Node], retain: bool
) -> list[Any] | None:
    """Gradients for the wanted nodes; None, with nothing done, where the engine is needed.

    Args:
        level: the innermost ``vmap``.
        nodes: all nodes behind the roots; there are no leaves behind them.
        roots: pairs of an edge and its seed, an array or a value of the level.
        wanted: nodes.
        retain: keep saved values for another time.

    Returns:
        For each node an array, which all examples share, or a value of the level; None if nothing arrives there.
    """
    if multi_seed_vjp.needs_engine() or not level.size:
        return None
    if any([e._seq <= level.start or e._hooks is not None for e in wanted]) or any(
        [holds_level_value(g) and g.outer for _, g in roots]
    ):
        return None
    ends = set(map(id, wanted))
    plan = multi_seed_vjp.plan_backward(sorted(nodes, key=number), ends)
    if plan is None:
        return None
    grads: dict[int, Any] = {}

    def node_vjp(node: Node, g: Any, edges: Sequence[Any]) -> Sequence[Any]:
        if node._shape.__class__ is list:
            g = materialize(g, node, False)
        try:
            results = _node_vjp(level, node, g, node._saved, edges)
        except Exception as error:
            messages.note_where(error, node)
            raise
        if not retain and node._keeps and holds_memory(node):
            node._saved = FREED
        return results

    def add(e: Any, r: Any) -> None:
        """Add a gradient to what has arrived for a node, or for one of its outputs."""
        if e._seq < 0:
            slots = grads.setdefault(id(e.node), [None] * len(e.node._shape))
            slots[e.index] = r if slots[e.index] is None else _add(level, slots[e.index], r)
        else:
            grads[id(e)] = _add(level, grads[id(e)], r) if id(e) in grads else r

    for e, g in roots:
        add(e, g)
    multi_seed_vjp.run_backward(plan, grads, ends, node_vjp, add)
    return [grads.get(id(e)) for e in wanted]


def _node_vjp(level: Any, node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
    """The gradients for a node's edges, in their shapes and types."""
    pull = node.__class__._vjp
    if not holds_level_value(g) and not any(map(is_level_value, saved)):  # unbatched
        results = getattr(pull, "on_arrays", pull)(node, g, saved, edges)
    else:
        results = batch_backward.apply_vjps(level, node, g, saved, edges)
        if results is not None:
            return results
        with thread_state.no_grad():
            results = (lift_vjp(pull) if holds_level_value(g) else pull)(node, g, saved, edges)
    return [None if e is None or r is None else unbroadcast_for_edge(r, e, False, node) for e, r in zip(edges, results)]


def _add(level: Any, a: Any, b: Any) -> Any:
    if isinstance(a, LevelValue) and isinstance(b, LevelValue) and a.level is b.level is level:
        if a.value.__class__ is b.value.__class__ is np.ndarray:
            return level.lift(a.value + b.value, a.outer or b.outer)
    return add_grads(a, b)
