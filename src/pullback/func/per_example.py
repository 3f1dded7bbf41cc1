"""The way back through a graph that was made inside one ``vmap``: per-example gradients.

The engine asks of every node what levels its gradient and what it saved belong to, for they may differ from node to
node. Where gradients are wanted for arguments that were made inside a batch, by nobody who differentiates further, the
whole way
lies in that batch: rules run on arrays with the batch in front (:mod:`pullback.levels.batch_backward`), one after the
    other.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..base import thread_state
from ..core.boundary import lift_vjp
from ..core.graph import FREED, Node
from ..core.level import LevelValue, holds_level_value, is_level_value
from ..engine import messages
from ..engine.accumulate import add_grads, materialize, unbroadcast_for_edge
from ..levels import batch_backward, multi_seed_vjp

number = attrgetter("_seq")


def gradients(
    level: Any, nodes: Sequence[Node], roots: Sequence[tuple[Any, Any]], wanted: Sequence[Node], retain: bool
) -> list[Any] | None:
    """Gradients for the wanted nodes; None, with nothing done, where only the engine knows the way.

    Args:
        level: the innermost ``vmap``.
        nodes: all between roots and wanted nodes, and beside these; nothing goes beyond.
        roots: pairs of an edge and its seed, an array or a value of the level.
        wanted: nodes.
        retain: keep saved values for another time.

    Returns:
        For each node an array, which all examples share, or a value of the level; None if nothing arrives there.
    """
    if multi_seed_vjp.unsupported() or not level.size:
        return None
    if any([e._seq <= level.start or e._hooks is not None for e in wanted]) or any(
        [holds_level_value(g) and g.outer for _, g in roots]
    ):
        return None
    ends = set(map(id, wanted))
    way = multi_seed_vjp.way(sorted(nodes, key=number), ends)
    if way is None:
        return None
    grads: dict[int, Any] = {}

    def of_node(node: Node, g: Any, edges: Sequence[Any]) -> Sequence[Any]:
        if node._shape.__class__ is list:
            g = materialize(g, node, False)
        try:
            results = _of_node(level, node, g, node._saved, edges)
        except Exception as error:
            messages.note_where(error, node)
            raise
        if not retain and node._keeps and node._saved:
            node._saved = FREED
        return results

    def add(e: Any, r: Any) -> None:
        """Add a gradient to what has arrived for a node, or for one of its outputs."""
        if e._seq < 0:
            slots = grads.setdefault(id(e.node), [None] * len(e.node._shape))
            slots[e.index] = r if slots[e.index] is None else _sum(level, slots[e.index], r)
        else:
            grads[id(e)] = _sum(level, grads[id(e)], r) if id(e) in grads else r

    for e, g in roots:
        add(e, g)
    multi_seed_vjp.walk(way, grads, ends, of_node, add)
    return [grads.get(id(e)) for e in wanted]


def _of_node(level: Any, node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
    """What a node's rules give, as its edges want it."""
    pull = node.__class__._vjp
    if not holds_level_value(g) and not any(map(is_level_value, saved)):  # what all examples share
        results = getattr(pull, "on_arrays", pull)(node, g, saved, edges)
    else:
        results = batch_backward.apply_vjps(level, node, g, saved, edges)
        if results is not None:
            return results
        with thread_state.no_grad():
            results = (lift_vjp(pull) if holds_level_value(g) else pull)(node, g, saved, edges)
    return [None if e is None or r is None else unbroadcast_for_edge(r, e, False, node) for e, r in zip(edges, results)]


def _sum(level: Any, a: Any, b: Any) -> Any:
    if isinstance(a, LevelValue) and isinstance(b, LevelValue) and a.level is b.level is level:
        if a.value.__class__ is b.value.__class__ is np.ndarray:
            return level.lifted(a.value + b.value, a.outer or b.outer)
    return add_grads(a, b)
