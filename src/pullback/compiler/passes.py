"""Less to do: instructions whose results nobody wants, that are there already, or that are the same at every call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .ir import Input, Instruction, Program, Ref, is_random, refs, replaced

LARGE = 1 << 20  # bytes, beyond which results are not kept but computed anew


def simplified(program: Program, caller: Callable[[Instruction, Program], Callable[..., Any]]) -> Program:
    """The same program with fewer instructions, and what they would always give among its inputs.

    Args:
        caller: makes an instruction a function of the arrays that it takes.
    """
    constants = {i.number: i.what for i in program.inputs if i.kind == "constant"}
    same: dict[int, int] = {}  # a value's number -> that of an equal one
    known: dict[Any, tuple[int, ...]] = {}
    kept: list[Instruction] = []

    def first(number: int) -> Ref:
        return Ref(same.get(number, number))

    for step in program.instructions:
        args = tuple([replaced(a, first) for a in step.args])
        key = (step.op, *map(_key, args))
        if key in known and step.op.kind != "rule" and not is_random(step.op):
            same.update(zip(step.outs, known[key]))
            continue
        known[key] = step.outs
        step = Instruction(step.op, args, step.outs, step.line)
        if not _is_constant(step, program, constants):
            kept.append(step)
            continue
        found = caller(step, program)(*[constants[n] for n in dict.fromkeys(refs(args))])
        constants.update(zip(step.outs, found if len(step.outs) > 1 else [found]))
        if step.op.kind == "view":  # which costs nothing, and takes no memory
            kept.append(step)
        else:
            program.inputs += [Input(n, "constant", constants[n], "constant") for n in step.outs]
    wanted = [same.get(n, n) for n in program.wanted]
    needed = set(wanted)
    alive = []
    for step in reversed(kept):
        if any(n in needed for n in step.outs) or is_random(step.op):
            needed.update(refs(step.args))
            alive.append(step)
    return Program(program.values, program.inputs, alive[::-1], wanted)


def _is_constant(step: Instruction, program: Program, constants: dict[int, Any]) -> bool:
    """Whether an instruction gives the same at every call, and not too much."""
    taken = list(refs(step.args))
    large = (
        step.op.kind != "view"
        and sum([program.values[n].dtype.itemsize * math.prod(program.values[n].shape) for n in step.outs]) > LARGE
    )
    fixed = step.op.kind != "rule" and not is_random(step.op)
    return fixed and len(taken) > 0 and all([n in constants for n in taken]) and not large


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
