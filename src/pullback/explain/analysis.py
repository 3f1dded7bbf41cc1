"""A recorded pass, worked out: what was recorded raw as the plain data of :mod:`pullback.explain.record`."""

from __future__ import annotations

import gc
import linecache
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import GradientEdge, Node, source_line
from ..core.tensor import Tensor
from ..core.views import gradient_edge
from ..engine.accumulate import add_grads
from ..engine.plan import capture_key
from .formulas import argument, formulas, kind
from .measure import measured, name_of
from .naming import Names
from .record import Finding, Handed, Kept, Leaf, Root, Step, Use, Values
from .recorder import Pass, Recorder, Turn
from .replay import Key, key_of


class Alike(NamedTuple):
    """What nodes of one kind have in common: for each edge the rule and the argument's name, and the arrays that they
    keep.
    """

    rules: list[str]
    arguments: list[str]
    kept: list[Kept]


_alike: dict[Any, Alike] = {}
MOST = 10_000  # kinds that are remembered


def alike(turn: Turn, received: Sequence[Any]) -> Alike:
    """What a node has in common with others of its kind."""
    node = turn.node
    key = kind(node, turn.saved, received)
    found = _alike.get(key)
    if found is None:
        rules, lasting = formulas(node, turn.saved, received)
        found = Alike(
            rules, ["" if e is None else argument(node, slot) for slot, e in enumerate(node._edges)], kept(turn)
        )
        if lasting and len(_alike) < MOST:
            _alike[key] = found
    return found


class Parts:
    """A recorded pass, worked out: made once, when first asked for."""

    def __init__(self, recorded: Pass, recorder: Recorder) -> None:
        self.pass_, self.recorder, self.turns = recorded, recorder, recorded.turns
        self.names = Names(recorded, recorder.calls)
        self.position: dict[int, int] = {t.node._seq: i for i, t in enumerate(recorded.turns)}
        self.leaf_at = {key_of(leaf): leaf for leaf in recorded.leaves}
        self._lines: dict[Any, tuple[str | None, int | None, str]] = {}

    # --- finding things

    def key(self, where: Any) -> Key:
        """Where in the graph a tensor is, or what a variable of that name held."""
        if isinstance(where, str):
            for leaf in self.pass_.leaves:
                if self.names.leaf(leaf) == where:
                    return key_of(leaf)
            value = self.pass_.variables.get(where)
            if not isinstance(value, Tensor):
                raise KeyError(f"the program has no variable {where!r} that a gradient could reach")
            where = value
        edge = where.edge if isinstance(where, GradientEdge) else gradient_edge(where)
        if edge is None:
            raise KeyError("this tensor does not require grad: no gradient can reach it")
        return key_of(edge)

    def name(self, where: Any) -> str:
        if isinstance(where, str):
            return where
        key = self.key(where)
        leaf = self.leaf_at.get(key)
        return (self.names.leaf(leaf) if leaf is not None else self.names.value(key)) or "the tensor"

    def received(self, turn: Turn) -> Sequence[Any]:
        """The gradients that reached a node. Where it has several results, rules are given zeros for those that none
        reached.
        """
        if turn.node._shape.__class__ is not list:
            return turn.received
        return [g if (-turn.node._seq, i) in self.reached else None for i, g in enumerate(turn.received)]

    @cached_property
    def reached(self) -> set[Key]:
        """Where gradients arrived, of nodes with several results."""
        edges = [e for e, _ in self.pass_.roots]
        edges += [e for turn in self.turns for e, r in zip(turn.node._edges, turn.handed) if r is not None]
        return {(-e.node._seq, e.index) for e in edges if e is not None and e._seq < 0}

    def arrived(self, key: Key) -> Any:
        """The gradient that reached an inner place of the graph."""
        position = self.position.get(-key[0])
        if position is not None:
            return self.turns[position].received[max(key[1], 0)]
        sources = [
            r
            for turn in self.turns
            for e, r in zip(turn.node._edges, turn.handed)
            if e is not None and r is not None and capture_key(e) == key
        ]
        return reduce(add_grads, sources) if sources else None

    def describe(self, number: int) -> str:
        """A step in few words: its operation and where it is."""
        step = self.steps[number - 1]
        where = step.module + (f" (call {step.call})" if step.call and step.call > 1 else "") if step.module else ""
        return f"#{number} {step.title}" + (f" {where}" if where else f" line {step.line}" if step.line else "")

    @cached_property
    def by_operation(self) -> dict[str, list[int]]:
        """The positions of the turns of each operation, by its name."""
        found: dict[str, list[int]] = {}
        for i, turn in enumerate(self.turns):
            if turn.node._op is not None:
                found.setdefault(turn.node._op.name, []).append(i)
        return found

    # --- the plain data

    @cached_property
    def measured(self) -> dict[int, Values]:
        """The numbers in every gradient, by its id: what one step hands on is what the next receives."""
        return measured(self._gradients())

    def _gradients(self) -> Iterator[Any]:
        for turn in self.turns:
            yield from turn.received
            yield from turn.handed
        yield from (g for g, _ in self.pass_.leaves.values())
        yield from (seed for _, seed in self.pass_.roots)

    @cached_property
    def steps(self) -> list[Step]:
        with collecting_nothing():
            return [self._step(i, turn) for i, turn in enumerate(self.turns, 1)]

    def _step(self, number: int, turn: Turn) -> Step:
        node, numbers = turn.node, self.measured.get
        file, line, code = self._line(node)
        module, call = self.names.module(node)
        shape: Any = node._shape
        if shape.__class__ is list:
            names = [n for k in range(len(shape)) if (n := self.names.value((-node._seq, k))) is not None]
            name, shape, dtype = names[0] if names else None, list(shape), [name_of(d) for d in node._dtype]
        else:
            name, dtype = self.names.value((-node._seq, -1)), name_of(node._dtype)
        received, downstream = self.received(turn), []
        common = alike(turn, received)
        for e, r, rule, name_in in zip(node._edges, turn.handed, common.rules, common.arguments):
            if e is not None:
                seq = e._seq
                to = None if seq == 0 else self.position.get(seq if seq > 0 else e.node._seq)
                downstream.append(
                    Handed(
                        name_in,
                        None if to is None else to + 1,
                        e.index if seq < 0 else 0,
                        self.names.leaf(e) if seq == 0 else None,
                        rule,
                        numbers(id(r)),
                    )
                )
        hooks = [] if node._hooks is None else names_of_hooks(node._hooks)
        return Step(
            number,
            node.name().rpartition("::")[2],
            name,
            module,
            call,
            file,
            line,
            code,
            shape,
            dtype,
            [None if g is None else numbers(id(g)) for g in received],
            downstream,
            [*common.kept],
            hooks,
        )

    def _line(self, node: Node) -> tuple[str | None, int | None, str]:
        """The file, the number and the text of the program's line that made a node."""
        key = node._code, node._lasti
        found = self._lines.get(key)
        if found is None:
            file, line = source_line(*key) or (None, None)
            found = self._lines[key] = file, line, linecache.getline(file, line).strip() if file and line else ""
        return found

    @cached_property
    def leaves(self) -> list[Leaf]:
        uses: dict[int, list[Use]] = {}
        for number, turn in enumerate(self.turns, 1):
            for slot, (e, r) in enumerate(zip(turn.node._edges, turn.handed)):
                if e is not None and e._seq == 0 and id(r) in self.measured:
                    uses.setdefault(id(e), []).append(Use(number, argument(turn.node, slot), self.measured[id(r)]))
        return [
            Leaf(
                self.names.leaf(leaf),
                leaf._array.shape,
                name_of(leaf._array.dtype),
                self.measured[id(g)],
                before,
                uses.get(id(leaf), []),
            )
            for leaf, (g, before) in self.pass_.leaves.items()
        ]

    @cached_property
    def roots(self) -> list[Root]:
        made = []
        for e, seed in self.pass_.roots:
            key = key_of(e)
            position = self.position.get(-key[0])
            name = self.names.leaf(e) if e._seq == 0 else self.names.value(key)
            given = not (isinstance(seed, np.ndarray) and seed.size == 1 and seed.reshape(-1)[0] == 1)
            made.append(
                Root(name, None if position is None else position + 1, max(key[1], 0), self.measured[id(seed)], given)
            )
        return made

    @cached_property
    def findings(self) -> list[Finding]:
        from .findings import findings

        return findings(self)


@contextmanager
def collecting_nothing() -> Iterator[None]:
    """Python's garbage collector would look through all there is, again and again, while records are made of which none
    is garbage.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def kept(turn: Turn) -> list[Kept]:
    """The arrays that a node kept for its rule."""
    found, names = [], turn.node._op.saved_names if turn.node._op is not None else ()
    for i, value in enumerate(turn.saved):
        for a in value if value.__class__ in (list, tuple) else (value,):
            if isinstance(a, np.ndarray):
                found.append(
                    Kept(names[i] if i < len(names) else f"saved_tensors[{i}]", a.shape, name_of(a.dtype), a.nbytes)
                )
    return found


def names_of_hooks(hooks: Any) -> list[str]:
    """The names of the hooks on a node and on its results."""
    groups: Sequence[Any] = [*hooks.tensor.values(), hooks.pre, hooks.post]
    return [getattr(fn, "__name__", type(fn).__name__) for group in groups for fn in list(group.values())]
