"""Sums that nobody meant: operands that broadcast each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...core.graph import Node
from ...ops.view import expand
from ..recorder import Visit
from ..schema import Finding, Step
from .wording import about, label, saved_value

if TYPE_CHECKING:
    from ..analysis import Analysis

RESHAPING_NODES = "Unsqueeze", "View", "UnsafeView", "Reshape"  # prefixes of the names of reshaping nodes


def broadcast(analysis: Analysis) -> Iterator[Finding]:
    """Operands broadcast for lack of a dimension: ``(n, 1)`` against ``(n,)`` makes n × n differences."""
    for step, visit in zip(analysis.steps, analysis.visits):
        op, node = visit.node._op, visit.node
        for e in node._edges:  # a loss that expands its argument itself, in the same instruction of the program
            together = isinstance(e, Node) and (e._code, e._lasti) == (node._code, node._lasti)
            if together and e._op is expand.op and e._seq in analysis.position:
                inner = operand_shape(analysis.visits[analysis.position[e._seq]], 0)
                if inner is not None and (n := stretch_count(inner, e._shape)):
                    yield stretch_finding(step, inner, e._shape, n)
        if op is None or op.kind != "elementwise" or len(op.tensors) != 2 or node._shape.__class__ is list:
            continue
        shapes = [operand_shape(visit, slot) for slot in (0, 1)]
        out = node._shape
        stretched = [s is not None and s != () and math.prod(s) > 1 and math.prod(s) < math.prod(out) for s in shapes]
        ranks = [0 if s is None else len(s) for s in shapes]
        higher = node._edges[ranks.index(max(ranks))]
        if ranks[0] == ranks[1] or isinstance(higher, Node) and higher.name().startswith(RESHAPING_NODES):
            continue  # explicit dimensions of size 1 are meant
        if all(stretched):
            a, b = (list(s) for s in shapes)  # type: ignore[arg-type]
            text = (
                f"{label(step)} stretched both operands, {a} and {b}, to {list(out)}: each element's gradient is a sum "
                "over all those that it met. If that was not meant, give both the same shape; if it was, write the "
                "dimensions of size 1 down."
            )
            yield about("broadcast", text, step)
        elif stretched[0] and shapes[1] is None or stretched[1] and shapes[0] is None:
            shape = next(s for s, wide in zip(shapes, stretched) if wide and s is not None)
            if n := stretch_count(shape, out):
                yield stretch_finding(step, shape, out, n)


def stretch_count(shape: tuple[int, ...], out: tuple[int, ...]) -> int:
    """How often each element of an ``(n, 1)`` occurs in an ``(n, n)``; 0 for other shapes."""
    n = next((m for m, k in zip(reversed(out), [*reversed(shape), *[1] * len(out)]) if k != m), 0)
    return n if n > 1 and math.prod(shape) == n and 1 in shape else 0


def stretch_finding(step: Step, shape: tuple[int, ...], out: tuple[int, ...], n: int) -> Finding:
    text = (
        f"{label(step)} stretched an operand of shape {list(shape)} to {list(out)}: each element's gradient is a sum "
        f"of {n} terms. If that was not meant, the other operand lacks a dimension: unsqueeze(1), or squeeze(1) here."
    )
    return about("broadcast", text, step)


def operand_shape(visit: Visit, slot: int) -> tuple[int, ...] | None:
    """The shape of an operand, from its edge or from what was saved; None if neither tells."""
    e = visit.node._edges[slot]
    if e is not None:
        return e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]
    value = saved_value(visit, visit.node._op.params[visit.node._op.tensors[slot]])
    if value is None:
        return () if visit.node.name().endswith("Backward0") and visit.node._op.node_name.endswith("1") else None
    return np.shape(value)
