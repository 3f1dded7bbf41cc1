"""A program in segments: cut where numbers in tensors decide what comes after.

Each segment but the last computes what later ones take, and has no effects; then its numbers are looked at. Only if all
are as in the traced call does the last segment run, which writes and returns. So a call that takes another branch has
changed nothing, and goes on to the next version, which takes over what is computed: versions whose programs begin alike
share those segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import forks
from .ir import Cut, Input, Instruction, Program, refs
from .plan import Plan

MAX_COMPARED_BYTES = 1 << 16  # of a constant, beyond which segments do not count as equal


class Segment:
    """Instructions between two cuts, as a function.

    Attributes:
        program: whose outputs are what later segments take.
        cut: what is asked then.
        arguments: the inputs that it is handed, in order; others are constants.
    """

    def __init__(self, program: Program, cut: Cut) -> None:
        self.program, self.cut = program, cut
        self.arguments = [i for i in program.inputs if i.kind != "constant"]
        self.plan: Plan | None = None
        self._code: Any = None
        self._lock = forks.lock(forks.Order.PLAN)

    def __call__(self, computed: dict[Segment, dict[int, Any]], *arrays: Any) -> dict[int, Any]:
        """The outputs by number, kept in ``computed`` for the rest of the call."""
        found = computed.get(self)
        if found is None:
            with self._lock:
                if self._code is None:
                    self._compile()
                found = computed[self] = self._code(*arrays)
        return found

    def give(self, numbers: list[int]) -> None:
        """Let these be among the outputs."""
        new = [n for n in numbers if n not in self.program.outputs]
        if new:
            self.program.outputs += new
            self._code = None

    def shared(self, others: Sequence[Segment]) -> Segment:
        """One of the others that computes the same, and from now on all that this one does; else this one."""
        for other in others:
            if self.equals(other):
                other.give(self.program.outputs)
                return other
        return self

    def _compile(self) -> None:
        program = self.program
        self.plan = plan = Plan(program.part([*program.inputs], program.instructions, program.outputs), {}, {})
        variables = {i.number: f"v{i.number}" for i in self.arguments}
        names: dict[str, Any] = {"contiguous": np.ascontiguousarray}
        lines = []
        for i in plan.program.inputs:
            if i.kind == "constant":
                names[f"c{i.number}"] = plan.fixed[i.number]
                variables[i.number] = f"c{i.number}"
            elif i.kind != "number":
                lines.append(f"if not v{i.number}.flags.c_contiguous: v{i.number} = contiguous(v{i.number})")
        lines += plan.lines(variables, names)
        lines.append("return {" + "".join(f"{n}: o{k}, " for k, n in enumerate(self.program.outputs)) + "}")
        head = f"def run({', '.join(f'v{i.number}' for i in self.arguments)}):\n"
        exec(head + "".join(f"    {line}\n" for line in lines), names)  # noqa: S102
        self._code = names["run"]

    def equals(self, other: Segment) -> bool:
        """Whether the other computes the same, from the same inputs, by the same numbers."""
        one, two = self.program, other.program
        return (
            len(one.inputs) == len(two.inputs)
            and len(one.instructions) == len(two.instructions)
            and self.cut.bindings == other.cut.bindings
            and all(map(_same_input, one.inputs, two.inputs))
            and all([a.op is b.op and a.outs == b.outs for a, b in zip(one.instructions, two.instructions)])
            and all([_same(a.args, b.args) for a, b in zip(one.instructions, two.instructions)])
            and all([one.values[n] == two.values[n] for step in one.instructions for n in step.outs])
        )


def _same_input(a: Input, b: Input) -> bool:
    if (a.number, a.kind) != (b.number, b.kind):
        return False
    if a.kind == "constant":
        x, y = a.source, b.source
        same = (x.shape, x.strides, x.dtype) == (y.shape, y.strides, y.dtype) and not x.dtype.hasobject
        return x is y or same and x.nbytes <= MAX_COMPARED_BYTES and x.tobytes() == y.tobytes()
    return a.source is b.source or isinstance(a.source, (int, str)) and a.source == b.source


def _same(a: Any, b: Any) -> bool:
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ in (list, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray):
        return a is b
    return a is b or bool(a == b) and repr(a) == repr(b)


def split(
    program: Program, cuts: list[Cut], taken: Sequence[int], written: Sequence[int]
) -> tuple[list[Segment], Program]:
    """The segments before the cuts, and what comes after the last one, with what they compute among its inputs.

    Views are not handed on but taken anew.

    Args:
        taken: the numbers of values that are looked at.
        written: those of inputs whose contents are replaced in the end.
    """
    made_in: dict[int, int] = {}  # segment by value
    made_by: dict[int, Instruction] = {}
    ends = [0, *[c.instructions for c in cuts], len(program.instructions)]
    for k, (start, end) in enumerate(zip(ends, ends[1:])):
        for step in program.instructions[start:end]:
            made_in.update(dict.fromkeys(step.outs, k))
            made_by.update(dict.fromkeys(step.outs, step))
    given = {i.number: i for i in program.inputs}
    wanted: list[set[int]] = [set() for _ in cuts]
    for n in taken:
        if n in made_in and made_in[n] < len(cuts):
            wanted[made_in[n]].add(n)
    pieces: list[Program] = []
    for k in reversed(range(len(ends) - 1)):
        own = program.instructions[ends[k] : ends[k + 1]]
        own_outputs = set(wanted[k]) if k < len(cuts) else {*program.outputs, *written}
        needed, views = set(own_outputs), []
        for step in own:
            needed.update(refs(step.args))
        todo = [n for n in needed if n in made_in and made_in[n] < k]
        seen: set[int] = set()
        while todo:
            n = todo.pop()
            if n in seen:
                continue
            seen.add(n)
            step = made_by[n]
            if step.op.kind == "view":
                views.append(step)
                needed.update(refs(step.args))
                todo += [m for m in refs(step.args) if m in made_in and made_in[m] < k]
                seen.update(step.outs)
            else:
                wanted[made_in[n]].add(n)
        position = {id(step): i for i, step in enumerate(program.instructions)}
        views.sort(key=lambda step: position[id(step)])
        local = {n for step in views for n in step.outs}
        carried = [n for n in sorted(seen) if n not in local]
        inputs = [given[n] for n in given if n in needed]
        inputs += [Input(n, "carried", n, f"carried {n}") for n in carried]
        outputs = sorted(own_outputs) if k < len(cuts) else program.outputs
        pieces.append(program.part(inputs, [*views, *own], outputs))
    pieces.reverse()
    return [Segment(p, c) for p, c in zip(pieces, cuts)], pieces[-1]
