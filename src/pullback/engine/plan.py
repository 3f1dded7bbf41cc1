"""Execution plan of a backward (PyTorch: GraphTask exec_info): which nodes run, and where gradients are captured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.graph import Node
from ..ops.linear_embedding import BIAS_FIRST, _linear


def capture_key(e: Any) -> tuple[int, int]:
    """Identifies an edge: (falling sequence number, output number or -1), or (0, id) for a leaf."""
    if e._seq > 0:
        return -e._seq, -1
    return (0, id(e)) if e._seq == 0 else (-e.node._seq, e.index)


class Plan:
    """Which nodes have to run so that gradients reach the wanted edges.

    Attributes:
        running: the nodes that run, each with its edges, those along which no gradient flows replaced by None.
        live: the edges along which gradients flow.
        catch: output numbers to capture when their node is reached.
    """

    def __init__(self, roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], accumulate: bool) -> None:
        self.live = {capture_key(e) for e in wanted}
        self.catch: dict[int, list[int]] = {}
        for s, index in self.live:
            if s:
                self.catch.setdefault(s, []).append(index)
        self.running: dict[int, list[Any]] = {}
        reached = reachable([e for e, _ in roots])
        numbers = {-node._seq for node in reached}
        self.catch = {s: indices for s, indices in self.catch.items() if s in numbers}
        for node in reached:
            asked = [e if e is not None and capture_key(e) in self.live else None for e in node._edges]
            if any([e is not None for e in asked]):
                self.running[-node._seq] = asked
                outputs = range(len(node._shape)) if node._shape.__class__ is list else (-1,)
                self.live.update((-node._seq, i) for i in outputs)
            elif accumulate and -node._seq in self.catch:
                # PyTorch runs the nodes of the tensors that accumulate, too, for their hooks
                self.running[-node._seq] = asked

    def arrived(self, node: Node, g: Any, captured: dict[tuple[int, int], Any]) -> list[Any] | None:
        """Capture what is wanted of the gradients that arrived at a node; the edges along which it pulls back, or
        None.
        """
        s = -node._seq
        for index in self.catch.get(s, ()):
            captured[s, index] = g if index < 0 else g[index]
        return self.running.get(s)


def leads_only_to(roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any]) -> bool:
    """Whether the wanted edges are leaves, and all that the roots lead to: then everything runs, and needs no plan."""
    if any([e._seq != 0 for e in wanted]):
        return False
    seen = set(map(id, wanted))
    todo = [e for e, _ in roots]
    while todo:
        e = todo.pop()
        if e is None:
            continue
        target = e if e._seq >= 0 else e.node
        if id(target) not in seen:
            if target._seq == 0:
                return False
            seen.add(id(target))
            todo.extend(target._edges)
    return True


def reachable(edges: Sequence[Any]) -> list[Node]:
    """Every node behind these edges, producers first."""
    seen: dict[int, Node] = {}
    todo = list(edges)
    while todo:
        e = todo.pop()
        if e is None or e._seq == 0:
            continue
        node = e if e._seq > 0 else e.node
        if node._seq not in seen:
            seen[node._seq] = node
            todo.extend(node._edges)
    return [seen[s] for s in sorted(seen)]


def ready_after(roots: Sequence[tuple[Any, Any]], plan: Plan | None) -> dict[int, list[Any]]:
    """For each node the leaves that have received everything once it has run."""
    due: dict[int, list[Any]] = {}
    seen: set[int] = set()
    for node in reachable([e for e, _ in roots]):  # rising: the first consumer met here is the last to run
        if plan is None or -node._seq in plan.running:
            edges = node._edges
            # bias, input, and then by way of a transposition
            if len(edges) == 3 and node._op is _linear.op:
                edges = [edges[i] for i in BIAS_FIRST]
            for e in edges:
                if e is not None and e._seq == 0 and id(e) not in seen:
                    seen.add(id(e))
                    due.setdefault(-node._seq, []).append(e)
    return due
