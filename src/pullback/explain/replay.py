"""Runs the rules of a recorded pass again, with other gradients: for single paths and single elements of the seed.

A rule is linear in the gradient that comes in, so a part of that gradient can be pulled back by itself. The nodes'
saved values are in the recording, even where the program has freed them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import with_notes
from ..core.graph import format_line
from ..core.level import LevelValue
from ..core.versions import write_after
from ..engine.accumulate import add_grads, unbroadcast_all
from ..engine.plan import capture_key
from ..ops.values.sparse_coo import Coo
from .recorder import Pass, Visit

Key = tuple[int, int]  # identifies where a gradient arrives: see engine.plan.capture_key


def to_dense(g: Any) -> Any:
    """A gradient as an array; a sparse one with its zeros.

    Raises:
        RuntimeError: it is of a batch, or of dual numbers: rules cannot be asked again outside of those.
    """
    if not isinstance(g, LevelValue):
        return g
    if not isinstance(g, Coo):
        raise with_notes(
            RuntimeError("gradients inside of vmap or forward mode can be looked at, but not taken apart"),
            "Explain a single backward pass, of one example.",
        )
    return g.dense()


def pull_back(visit: Visit, gradients: Sequence[np.ndarray | None], edges: Sequence[Any]) -> list[np.ndarray | None]:
    """Run one node's rule again, with other grad outputs.

    Args:
        visit: the node's visit.
        gradients: one a result of the operation; None for zeros.
        edges: the node's edges, those that are not asked for replaced by None.

    Raises:
        RuntimeError: a value that the rule needs was overwritten since.
    """
    node = visit.node
    for value in visit.saved:
        write = write_after(value, node._seq) if isinstance(value, np.ndarray) else None
        if write is not None:
            raise with_notes(
                RuntimeError(f"what {node.name()} kept for its rule was overwritten since the backward pass"),
                f"it was kept at {format_line(node.location)}",
                f"and overwritten at {format_line(write.location)}",
                "Ask before that line: what has been asked once is remembered.",
            )
    g: Any
    if node._shape.__class__ is list:
        g = tuple(gradients)
        if not node._materializes:
            g = tuple(np.zeros(s, d) if v is None else v for v, s, d in zip(g, node._shape, node._dtype))
    else:
        (g,) = gradients
    now, node._saved = node._saved, visit.saved  # a custom Function reads it there
    try:
        results = node._vjp(g, visit.saved, edges)
    finally:
        node._saved = now
    return unbroadcast_all(results, edges, False, node)


def used_edges(visit: Visit) -> list[Any]:
    """The edges that the node gave a gradient for; None for the others."""
    return [e if r is not None else None for e, r in zip(visit.node._edges, visit.grad_inputs)]


def replay(
    recorded: Pass,
    seeds: Sequence[np.ndarray],
    note: Callable[[int, list[Any], list[Any]], None] | None = None,
    without: frozenset[int] = frozenset(),
) -> dict[Key, np.ndarray]:
    """Run the whole pass again with other seeds, one a root. Hooks do not run. ``note`` is called after each node with
    its position, and the gradients that came in and went out. Nodes at the positions in ``without`` hand on what came
    in as it is.

    Returns:
        the gradients at the ends of the way: leaves, and inner values at which the recorded pass stopped.
    """
    waiting: dict[Key, Any] = {}

    def deliver(e: Any, g: Any) -> None:
        key, g = capture_key(e), to_dense(g)
        waiting[key] = add_grads(waiting[key], g) if key in waiting else g

    for (e, _), seed in zip(recorded.roots, seeds):
        deliver(e, seed)
    for position, visit in enumerate(recorded.visits):
        node = visit.node
        several = node._shape.__class__ is list
        keys = [(-node._seq, i if several else -1) for i in range(len(visit.grad_outputs))]
        if any(k in waiting for k in keys):
            edges, gs = used_edges(visit), [waiting.pop(k, None) for k in keys]
            rs = (
                [gs[0] if e is not None else None for e in edges]
                if position in without
                else pull_back(visit, gs, edges)
            )
            if note is not None:
                note(position, gs, rs)
            for e, r in zip(edges, rs):
                if r is not None:
                    deliver(e, r)
    return waiting
