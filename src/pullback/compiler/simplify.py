"""Less to do: instructions whose results nobody wants, or that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ir import Instruction, Program, Ref, refs, replaced


def simplified(program: Program) -> Program:
    """The same program with fewer instructions."""
    same: dict[int, int] = {}  # a value's number -> that of an equal one
    known: dict[Any, tuple[int, ...]] = {}
    kept: list[Instruction] = []

    def first(number: int) -> Ref:
        return Ref(same.get(number, number))

    for step in program.instructions:
        args = tuple([replaced(a, first) for a in step.args])
        key = (step.op.name, *map(_key, args))
        if key in known and step.op.kind != "rule":
            same.update(zip(step.outs, known[key]))
            continue
        known[key] = step.outs
        kept.append(Instruction(step.op, args, step.outs, step.line))
    wanted = [same.get(n, n) for n in program.wanted]
    needed = set(wanted)
    alive = []
    for step in reversed(kept):
        if any(n in needed for n in step.outs):
            needed.update(refs(step.args))
            alive.append(step)
    return Program(program.values, program.inputs, alive[::-1], wanted)


def _key(arg: Any) -> Any:
    """What decides whether two arguments are equal."""
    if arg.__class__ is Ref:
        return ("ref", arg.number)
    if arg.__class__ in (list, tuple):
        return (arg.__class__.__name__, *map(_key, arg))
    if arg.__class__ is slice:
        return ("slice", *map(_key, (arg.start, arg.stop, arg.step)))
    if arg.__class__ in (int, float, bool, str, type(None), type(...), np.dtype):
        return (arg.__class__.__name__, repr(arg))
    return ("thing", id(arg))
