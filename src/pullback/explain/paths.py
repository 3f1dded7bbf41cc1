"""Attributes a gradient to paths through the graph: contributions of single paths, which add up to it.

The chain rule sums over all paths from the output to a tensor, and there may be very many: 2ⁿ through n residual
blocks. So the search goes from the tensor towards the output and keeps groups of paths whose contributions always
add up to the whole: first one group for each use of the tensor; then, largest first, a group is split where the
gradient was summed from several sources. A part of a sum is pulled back by itself, because rules are linear.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.accumulate import add_grads
from .measure import Values
from .recorder import Pass
from .replay import Key, capture_key, pull_back, to_dense


@dataclass(frozen=True, slots=True)
class Path:
    """A path, or a group of paths with the same end.

    Attributes:
        steps: the steps that the gradient passes, from the output towards the tensor. Of a group, only those that all
            its paths share.
        arguments: for each of these steps, the argument of the operation that the path leaves by.
        count: how many paths it stands for.
        contribution: what it adds to the gradient, of the tensor's shape.
        share: the contribution's part of the gradient, along the gradient's direction. Shares add up to 1.
        hooked: whether it begins at a hook that changed the gradient; nothing beyond it can be told apart.
    """

    steps: tuple[int, ...]
    arguments: tuple[str, ...]
    count: int
    contribution: np.ndarray
    share: float
    hooked: bool = False

    @property
    def values(self) -> Values:
        return Values.of(self.contribution)


class Paths(Sequence[Path]):
    """Contributions to one gradient, the largest first.

    Attributes:
        total: the gradient, as the backward pass computed it.
        residue: the norm of the difference between the total and the sum of the contributions, which is rounding.
        describe: says a step in words.
    """

    def __init__(self, name: str, paths: list[Path], total: np.ndarray, describe: Any) -> None:
        self.name, self._paths, self.total, self.describe = name, paths, total, describe
        parts = sum((p.contribution for p in paths), np.zeros_like(total))
        self.residue = float(np.linalg.norm(np.asarray(parts - total)))

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: Any) -> Any:
        return self._paths[index]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._paths)

    def __str__(self) -> str:
        # deferred: rich is slow to import
        from .text import paths_text, rendered

        return rendered(paths_text(self))

    def __repr__(self) -> str:
        return str(self)


class PathGroup:
    """Paths with a common end ``tail``: (position of a visit, slot of an edge) pairs, towards the tensor."""

    __slots__ = ("tail", "contribution", "done", "hooked")

    def __init__(
        self, tail: list[tuple[int, int]], contribution: np.ndarray, done: bool = False, hooked: bool = False
    ) -> None:
        self.tail, self.contribution, self.done, self.hooked = tail, contribution, done, hooked


class PathSearch:
    """Splits the gradient at one place of the graph into contributions."""

    def __init__(self, recorded: Pass, target: Key) -> None:
        self.visits, self.target = recorded.visits, target
        # by capture key: (position of the visit or -1, slot, gradient)
        self.arrivals: dict[Key, list[tuple[int, int, np.ndarray]]] = {}
        self.counts: list[int] = []
        for e, seed in recorded.roots:
            self.arrivals.setdefault(capture_key(e), []).append((-1, 0, to_dense(seed)))
        for position, visit in enumerate(self.visits):
            self.counts.append(sum(self._count(key) for key in self.keys(position)))
            for slot, (e, r) in enumerate(zip(visit.node._edges, visit.grad_inputs)):
                if e is not None and r is not None:
                    self.arrivals.setdefault(capture_key(e), []).append((position, slot, to_dense(r)))

    def keys(self, position: int) -> list[Key]:
        """The capture keys of a node's results."""
        node = self.visits[position].node
        several = node._shape.__class__ is list
        return [(-node._seq, i if several else -1) for i in range(len(self.visits[position].grad_outputs))]

    def _count(self, key: Key) -> int:
        return sum(1 if position < 0 else self.counts[position] for position, _, _ in self.arrivals.get(key, ()))

    def groups(self, limit: int) -> list[PathGroup]:
        """About ``limit`` groups at most, the largest split as far as that allows; with 0, one group a use."""
        made = [
            PathGroup([(position, slot)] if position >= 0 else [], g, position < 0)
            for position, slot, g in self.arrivals.get(self.target, ())
        ]
        if not limit:
            return made
        heap = [(-norm(group.contribution), i) for i, group in enumerate(made)]
        heapq.heapify(heap)
        finished: list[PathGroup] = []
        while heap:
            size, i = heapq.heappop(heap)
            group = made[i]
            if group.done or len(finished) + len(heap) + 1 >= limit and self._branches(group):
                finished.append(group)
                continue
            for part in self._split(group):
                made.append(part)
                heapq.heappush(heap, (-norm(part.contribution), len(made) - 1))
        return finished

    def _branches(self, group: PathGroup) -> bool:
        return sum(len(self.arrivals.get(k, ())) for k in self.keys(group.tail[0][0])) > 1

    def _split(self, group: PathGroup) -> list[PathGroup]:
        """Split a group by where the gradient of its first node came from."""
        head = group.tail[0][0]
        visit, keys = self.visits[head], self.keys(head)
        for key, g in zip(keys, visit.grad_outputs):
            parts = [a for _, _, a in self.arrivals.get(key, ())]
            if parts and (
                g is None or not np.allclose(total(parts), g, rtol=1e-4, atol=1e-6 * (1 + norm(g)), equal_nan=True)
            ):
                return [PathGroup(group.tail, group.contribution, done=True, hooked=True)]
        sources = [
            (i, position, slot, g) for i, key in enumerate(keys) for position, slot, g in self.arrivals.get(key, ())
        ]
        result = []
        for i, position, slot, g in sources:
            contribution = group.contribution if len(sources) == 1 else self._pull_back(group.tail, i, g)
            tail = group.tail if position < 0 else [(position, slot), *group.tail]
            result.append(PathGroup(tail, contribution, done=position < 0))
        return result

    def _pull_back(self, tail: list[tuple[int, int]], index: int, g: np.ndarray) -> np.ndarray:
        """Pull a gradient at the first node of a path back along the path."""
        for position, slot in tail:
            visit = self.visits[position]
            gs: list[Any] = [None] * len(visit.grad_outputs)
            gs[index] = g
            edges = [e if i == slot else None for i, e in enumerate(visit.node._edges)]
            r = pull_back(visit, gs, edges)[slot]
            e: Any = edges[slot]
            if r is None:
                r = np.zeros(e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index])
            g, index = to_dense(r), 0 if e._seq >= 0 else e.index
        return g

    def count(self, group: PathGroup) -> int:
        """The number of paths in a group."""
        return 1 if group.done or not group.tail else self.counts[group.tail[0][0]]


def total(parts: Sequence[np.ndarray]) -> np.ndarray:
    result = parts[0]
    for part in parts[1:]:
        result = add_grads(result, part)
    return result


def norm(a: Any) -> float:
    a = np.asarray(a)
    size = float(np.linalg.norm(a if a.dtype.kind == "c" else a.astype(np.float64)))
    return size if np.isfinite(size) else float("inf")


def paths_to(recorded: Pass, target: Key, limit: int) -> tuple[list[tuple[PathGroup, int, float]], np.ndarray | None]:
    """Groups of paths to a tensor, largest first, each with its number of paths and its share; the whole gradient."""
    search = PathSearch(recorded, target)
    groups = search.groups(limit)
    if not groups:
        return [], None
    whole = np.asarray(total([g for _, _, g in search.arrivals[target]]))
    square = float(np.vdot(whole, whole).real)
    shares = [float(np.vdot(whole, g.contribution).real) / square if square else 0.0 for g in groups]
    ranked = sorted(
        zip(groups, (search.count(g) for g in groups), shares), key=lambda entry: -norm(entry[0].contribution)
    )
    return ranked, whole
