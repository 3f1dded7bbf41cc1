"""What every gradient of a small pass would be with another seed: recorded once, for a page that needs no program.

A backward pass is linear in its seed. So the gradients for each element of the seed being 1 and all others 0 tell the
gradients for any seed: they are added up with its elements as weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.plan import capture_key
from .measure import SMALL
from .replay import replay, to_dense
from .seed import element_names

if TYPE_CHECKING:
    from .explanation import Explanation

MOST_SEEDS = 16  # elements of the seed,
MOST_STEPS = 100  # steps,
MOST_NUMBERS = 20_000  # and numbers, up to which a pass is recorded


class Units:
    """The gradients of a pass for each element of the seed alone.

    Attributes:
        elements: a name for each element of the seed.
        seed: its values.
        gradients: by the ``id`` of a :class:`Values` of the explanation: a list for each element of the seed, of that
            gradient's elements.
    """

    def __init__(self, elements: list[str], seed: list[float]) -> None:
        self.elements, self.seed = elements, seed
        self.gradients: dict[int, list[list[float]]] = {}


def units(e: Explanation) -> Units | None:
    """The gradients for each element of the seed; None for passes that are too large, or that are not linear: where
    hooks changed gradients, or a custom Function's backward is no linear function.
    """
    recorded = e.recorded
    seeds = [seed for _, seed in recorded.roots]
    count = sum(s.size for s in seeds)
    if count > MOST_SEEDS or len(e.steps) > MOST_STEPS or not all(s.dtype.kind == "f" for s in seeds):
        return None
    shown = [v for s in e.steps for v in (*s.upstream, *(d.gradient for d in s.downstream)) if v is not None]
    if count * sum(v.size for v in shown if v.size <= SMALL) > MOST_NUMBERS:
        return None
    elements = element_names(recorded.roots, [r.name for r in e.roots])
    found = Units(elements, [float(x) for s in seeds for x in s.reshape(-1)])
    measured: dict[int, Any] = {}

    def note(values: Any, array: Any) -> None:
        if values is not None and values.size <= SMALL:
            measured[id(values)] = values
            flat = np.zeros(values.size) if array is None else np.asarray(to_dense(array), np.float64).reshape(-1)
            rows = found.gradients.setdefault(id(values), [[0.0] * values.size] * count)
            found.gradients[id(values)] = [*rows[:k], flat.tolist(), *rows[k + 1 :]]

    def visited(position: int, gs: list[Any], rs: list[Any]) -> None:
        step, edges = e.steps[position], recorded.visits[position].node._edges
        for values, g in zip(step.upstream, gs):
            note(values, g)
        for d, r in zip(step.downstream, [r for e_, r in zip(edges, rs) if e_ is not None]):
            note(d.gradient, r)

    for k in range(count):
        ones = [np.zeros_like(s) for s in seeds]
        at = k
        for root, one in zip(e.roots, ones):
            if 0 <= at < one.size:
                one.reshape(-1)[at] = 1
            at -= one.size
            note(root.seed, one)
        try:
            ends = replay(recorded, ones, visited)
        except RuntimeError:  # what the rules need was overwritten since
            return None
        for leaf, record in zip(recorded.leaves, e.leaves):
            note(record.gradient, ends.get(capture_key(leaf)))
    for values in measured.values():
        rows = found.gradients[id(values)]
        sums = np.asarray(found.seed) @ np.asarray(rows)
        if not np.allclose(sums, np.asarray(values.elements, np.float64).reshape(-1), rtol=1e-3, atol=1e-6):
            return None
    return found
