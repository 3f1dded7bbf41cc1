"""Turns a recorded backward pass into the dataclasses of :mod:`pullback.explain.schema`."""

from __future__ import annotations

import gc
import linecache
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..base.forks import cached_property
from ..core.graph import GradientEdge, Node, source_line
from ..core.op import Op
from ..core.tensor import Tensor
from ..core.versions import owner_of
from ..core.views import gradient_edge
from ..engine.accumulate import add_grads
from ..engine.plan import capture_key
from ..optim.optimizer import Optimizer
from .course import PassFigures, parameters_of
from .formulas import argument_name, formula_key, formulas, symbols_of
from .forward import Forward
from .measure import Values, dtype_name, measure
from .naming import Names
from .recorder import Call, Pass, Recorder, Visit
from .replay import Key
from .schema import Handed, Kept, Leaf, Operand, Root, Step, Use
from .textbook import title


class NodeTemplate(NamedTuple):
    """Facts shared by all nodes with one formula key: the title, rule and argument name of each edge, and the saved
    arrays.
    """

    title: str
    rules: list[str]
    arguments: list[str]
    saved_arrays: list[Kept]


_templates: dict[Any, NodeTemplate] = {}
MAX_TEMPLATES = 10_000  # entries of the cache


def node_template(visit: Visit, grad_outputs: Sequence[Any]) -> NodeTemplate:
    """The facts about a node that all nodes with its formula key share; cached."""
    node = visit.node
    key = formula_key(node, visit.saved, grad_outputs)
    found = _templates.get(key)
    if found is None:
        rules, reusable = formulas(node, visit.saved, grad_outputs)
        arguments = ["" if e is None else argument_name(node, slot) for slot, e in enumerate(node._edges)]
        found = NodeTemplate(title(node, visit.saved), rules, arguments, saved_arrays(visit))
        if reusable and len(_templates) < MAX_TEMPLATES:
            _templates[key] = found
    return found


class Analysis:
    """The data of an explanation, computed lazily from one recorded pass."""

    def __init__(self, recorded: Pass, recorder: Recorder, whole: bool = False) -> None:
        self.pass_, self.recorder, self.visits = recorded, recorder, recorded.visits
        self.whole = whole  # whether it speaks of the whole course, or up to this pass
        self.names = Names(recorded, recorder.calls)
        self.position: dict[int, int] = {t.node._seq: i for i, t in enumerate(recorded.visits)}
        self.leaf_at = {capture_key(leaf): leaf for leaf in recorded.leaves}
        self._lines: dict[Any, tuple[str | None, int | None, str]] = {}

    # --- finding things

    def key(self, where: Any) -> Key:
        """The capture key of a tensor, or of the tensor in a variable of that name."""
        if isinstance(where, str):
            for leaf in self.pass_.leaves:
                if self.names.leaf(leaf) == where:
                    return capture_key(leaf)
            value = self.pass_.variables.get(where)
            if not isinstance(value, Tensor):
                raise KeyError(f"the program has no variable {where!r} that a gradient could reach")
            where = value
        edge = where.edge if isinstance(where, GradientEdge) else gradient_edge(where)
        if edge is None:
            raise KeyError("this tensor does not require grad: no gradient can reach it")
        return capture_key(edge)

    def name(self, where: Any) -> str:
        if isinstance(where, str):
            return where
        key = self.key(where)
        leaf = self.leaf_at.get(key)
        return (self.names.leaf(leaf) if leaf is not None else self.names.value(key)) or "the tensor"

    def grad_outputs(self, visit: Visit) -> Sequence[Any]:
        """The gradients of a node's results; None for results that none reached, for which rules are given zeros."""
        if visit.node._shape.__class__ is not list:
            return visit.grad_outputs
        return [g if (-visit.node._seq, i) in self.reached_results else None for i, g in enumerate(visit.grad_outputs)]

    @cached_property
    def reached_results(self) -> set[Key]:
        """The results of multi-output nodes that a gradient reached."""
        edges = [e for e, _ in self.pass_.roots]
        edges += [e for visit in self.visits for e, r in zip(visit.node._edges, visit.grad_inputs) if r is not None]
        return {(-e.node._seq, e.index) for e in edges if e is not None and e._seq < 0}

    def gradient_at(self, key: Key) -> Any:
        """The gradient that reached a tensor inside the graph."""
        position = self.position.get(-key[0])
        if position is not None:
            return self.visits[position].grad_outputs[max(key[1], 0)]
        sources = [
            r
            for visit in self.visits
            for e, r in zip(visit.node._edges, visit.grad_inputs)
            if e is not None and r is not None and capture_key(e) == key
        ]
        return reduce(add_grads, sources) if sources else None

    def describe(self, number: int) -> str:
        """A step in a few words: its op and where it is."""
        step = self.steps[number - 1]
        where = step.module + (f" (call {step.call})" if step.call and step.call > 1 else "") if step.module else ""
        return f"#{number} {step.title}" + (f" {where}" if where else f" line {step.line}" if step.line else "")

    @cached_property
    def by_op(self) -> dict[Op, list[int]]:
        """The positions of the visits of each op."""
        found: dict[Op, list[int]] = {}
        for i, visit in enumerate(self.visits):
            if visit.node._op is not None:
                found.setdefault(visit.node._op, []).append(i)
        return found

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The numbers of the steps that use the result of a step, by its number."""
        found: dict[int, list[int]] = {}
        for step in self.steps:
            for d in step.downstream:
                if d.step is not None:
                    found.setdefault(d.step, []).append(step.number)
        return found

    # --- the course of training

    @property
    def events(self) -> list[Any]:
        """The figures of passes and optimizer steps: all, or those before the pass after this one."""
        every = self.recorder.course.events
        if self.whole:
            return every
        return [
            e for e in every if (e.number <= self.pass_.number if isinstance(e, PassFigures) else e.time < self._next)
        ]

    @property
    def _next(self) -> float:
        """The clock when the pass after this one began."""
        return min((p.start for p in self.recorder.course.passes if p.number > self.pass_.number), default=math.inf)

    @cached_property
    def held(self) -> dict[Any, Any]:
        """The parameters of all optimizers that are known, with the optimizer."""
        found = dict(self.recorder.course.held)
        for value in self.pass_.variables.values():
            if isinstance(value, Optimizer):
                found |= dict.fromkeys(parameters_of(value), value)
        return found

    @cached_property
    def calls_of_pass(self) -> list[Call]:
        """The module calls between the pass before and this one."""
        before = max((p.end for p in self.recorder.course.passes if p.number < self.pass_.number), default=0)
        first = self.visits[-1].node._seq if self.visits else before
        return [c for c in self.recorder.calls if min(before, first) < c.start < self.pass_.start]

    # --- the plain data

    @cached_property
    def measured(self) -> dict[int, Values]:
        """The measurements of every gradient, by its id: the grad input of one step is a grad output of the next."""
        return measure(self._gradients())

    def _gradients(self) -> Iterator[Any]:
        for visit in self.visits:
            yield from visit.grad_outputs
            yield from visit.grad_inputs
        yield from (g for g, _ in self.pass_.leaves.values())
        yield from (seed for _, seed in self.pass_.roots)

    @cached_property
    def steps(self) -> list[Step]:
        with gc_paused():
            return [self._step(i, visit) for i, visit in enumerate(self.visits, 1)]

    def _step(self, number: int, visit: Visit) -> Step:
        node, numbers = visit.node, self.measured.get
        file, line, code = self._line(node)
        module, call = self.names.module(node)
        shape: Any = node._shape
        if shape.__class__ is list:
            names = [n for k in range(len(shape)) if (n := self.names.value((-node._seq, k))) is not None]
            name, shape, dtype = names[0] if names else None, list(shape), [dtype_name(d) for d in node._dtype]
        else:
            name, dtype = self.names.value((-node._seq, -1)), dtype_name(node._dtype)
        grad_outputs, downstream = self.grad_outputs(visit), []
        common = node_template(visit, grad_outputs)
        for e, r, rule, name_in in zip(node._edges, visit.grad_inputs, common.rules, common.arguments):
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
        hooks = [] if node._hooks is None else hook_names(node._hooks)
        return Step(
            number,
            node.name().rpartition("::")[2],
            common.title,
            name,
            module,
            call,
            file,
            line,
            code,
            shape,
            dtype,
            [None if g is None else numbers(id(g)) for g in grad_outputs],
            downstream,
            [*common.saved_arrays],
            hooks,
        )

    @cached_property
    def forward_values(self) -> list[tuple[list[Operand], Values | None]]:
        """For each step the operands of its operation and the result, as far as they are known."""
        forward, found = Forward(self.pass_), []
        for visit in self.visits:
            node, op = visit.node, visit.node._op
            symbols = {} if op is None else symbols_of(op)
            operands = [
                Operand(symbols.get(o.name, o.name), self._source(o.edge, o.value), to_values(o.value))
                for o in forward.operands(node)
                if o.known or o.edge is not None
            ]
            several = node._shape.__class__ is list
            out = None if several else to_values(forward.results.get((-node._seq, -1)))
            found.append((operands, out))
        return found

    def _source(self, e: Any, value: Any) -> str | None:
        """What the program calls an operand, or the step that made it."""
        if e is None:
            owner = owner_of(value) if isinstance(value, np.ndarray) else None
            return (
                next((n for n, v in self.pass_.variables.items() if holds(v, owner)), None)
                if owner is not None
                else None
            )
        if e._seq == 0:
            return self.names.leaf(e)
        named = self.names.value(capture_key(e))
        position = self.position.get(e._seq if e._seq > 0 else e.node._seq)
        return named or (None if position is None else f"#{position + 1}")

    def _line(self, node: Node) -> tuple[str | None, int | None, str]:
        """File, number and text of the program's line that recorded a node."""
        key = node._code, node._lasti
        found = self._lines.get(key)
        if found is None:
            file, line = source_line(*key) or (None, None)
            found = self._lines[key] = file, line, linecache.getline(file, line).strip() if file and line else ""
        return found

    @cached_property
    def leaves(self) -> list[Leaf]:
        uses: dict[int, list[Use]] = {}
        for number, visit in enumerate(self.visits, 1):
            for slot, (e, r) in enumerate(zip(visit.node._edges, visit.grad_inputs)):
                if e is not None and e._seq == 0 and id(r) in self.measured:
                    use = Use(number, argument_name(visit.node, slot), self.measured[id(r)])
                    uses.setdefault(id(e), []).append(use)
        return [
            Leaf(
                self.names.leaf(leaf),
                leaf._array.shape,
                dtype_name(leaf._array.dtype),
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
            key = capture_key(e)
            position = self.position.get(-key[0])
            name = self.names.leaf(e) if e._seq == 0 else self.names.value(key)
            given = not (isinstance(seed, np.ndarray) and seed.size == 1 and seed.reshape(-1)[0] == 1)
            made.append(
                Root(name, None if position is None else position + 1, max(key[1], 0), self.measured[id(seed)], given)
            )
        return made


def holds(value: Any, owner: np.ndarray) -> bool:
    """Whether a variable is a tensor on this memory."""
    return isinstance(value, Tensor) and isinstance(value._array, np.ndarray) and owner_of(value._array) is owner


def to_values(value: Any) -> Values | None:
    """The measurements of a value, if it is a number or an array of numbers."""
    if isinstance(value, (bool, int, float, np.generic)):
        value = np.asarray(value)
    return Values.of(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fciu" else None


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector: it would traverse the many records that are being made, none of which is garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def saved_arrays(visit: Visit) -> list[Kept]:
    """The arrays that a node saved for backward."""
    found, names = [], visit.node._op.saved_names if visit.node._op is not None else ()
    for i, value in enumerate(visit.saved):
        for a in value if value.__class__ in (list, tuple) else (value,):
            if isinstance(a, np.ndarray):
                found.append(
                    Kept(names[i] if i < len(names) else f"saved_tensors[{i}]", a.shape, dtype_name(a.dtype), a.nbytes)
                )
    return found


def hook_names(hooks: Any) -> list[str]:
    """The names of the hooks on a node and on its results."""
    groups: Sequence[Any] = [*hooks.tensor.values(), hooks.pre, hooks.post]
    return [getattr(fn, "__name__", type(fn).__name__) for group in groups for fn in list(group.values())]
