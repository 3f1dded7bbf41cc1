"""Optimization passes on the IR: common subexpressions, constants, dead code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .ir import Input, Instruction, Program, Ref, Value, has_shape_by_values, map_refs, refs

MAX_FOLDED_BYTES = 1 << 20  # larger results are not kept as constants but computed anew


def simplify(program: Program, evaluator: Callable[[Instruction, Program, set[int]], Callable[..., Any]]) -> Program:
    """The same program with fewer instructions, and perhaps more constants among its inputs.

    Args:
        evaluator: makes an instruction a function of the arrays that it takes.
    """
    instructions, renamed = _merge_common_subexpressions(program)
    outputs = [renamed.get(n, n) for n in program.outputs]
    instructions = _fold_constants(program, instructions, evaluator)
    return program.part(program.inputs, _eliminate_dead_code(instructions, outputs, program.values), outputs)


def _merge_common_subexpressions(program: Program) -> tuple[list[Instruction], dict[int, int]]:
    """Value numbering: of calls of one op with equal arguments, the first serves for all.

    Returns:
        the instructions that remain, and the values that were merged into others.
    """
    renamed: dict[int, int] = {}
    outs_of: dict[Any, tuple[int, ...]] = {}
    kept = []
    for step in program.instructions:
        args = tuple([map_refs(a, lambda n: Ref(renamed.get(n, n))) for a in step.args])
        key = (step.op, *map(_key, args))
        if key in outs_of and _is_pure(step.op):
            renamed.update(zip(step.outs, outs_of[key]))
            continue
        outs_of[key] = step.outs
        kept.append(Instruction(step.op, args, step.outs, step.line))
    return kept, renamed


def _fold_constants(
    program: Program,
    instructions: list[Instruction],
    evaluator: Callable[[Instruction, Program, set[int]], Callable[..., Any]],
) -> list[Instruction]:
    """Evaluate what depends on constants alone; the results become constants among the inputs."""
    constants = {i.number: i.source for i in program.inputs if i.kind == "constant"}
    numbers, kept = program.numbers(), []
    for step in instructions:
        if not _is_foldable(step, program, constants):
            kept.append(step)
            continue
        found = evaluator(step, program, numbers)(*[constants[n] for n in dict.fromkeys(refs(step.args))])
        constants.update(zip(step.outs, found if len(step.outs) > 1 else [found]))
        if step.op.kind == "view":  # costs nothing, and takes no memory
            kept.append(step)
        else:
            program.inputs += [Input(n, "constant", constants[n], "constant") for n in step.outs]
    return kept


def _eliminate_dead_code(
    instructions: list[Instruction], outputs: list[int], values: Sequence[Value]
) -> list[Instruction]:
    """The instructions that outputs depend on, those that draw random numbers, as later draws depend on them, and those
    whose shapes depend on values, as that has to be seen.
    """
    needed = set(outputs)
    alive = []
    for step in reversed(instructions):
        if any(n in needed for n in step.outs) or step.op.random or has_shape_by_values(step.op, step.args, values):
            needed.update(refs(step.args))
            alive.append(step)
    return alive[::-1]


def _is_pure(op: Any) -> bool:
    """Whether equal arguments give equal results; not asked of opaque functions."""
    return op.kind != "opaque" and not op.random


def _is_foldable(step: Instruction, program: Program, constants: dict[int, Any]) -> bool:
    operands = list(refs(step.args))
    if not _is_pure(step.op) or not operands or not all([n in constants for n in operands]):
        return False
    results = [program.values[n] for n in step.outs]
    return step.op.kind == "view" or sum([v.dtype.itemsize * math.prod(v.shape) for v in results]) <= MAX_FOLDED_BYTES


def _key(arg: Any) -> Any:
    """A hashable key, equal for equal arguments."""
    if arg.__class__ is Ref:
        return ("ref", arg.number)
    if arg.__class__ in (list, tuple):
        return (arg.__class__.__name__, *map(_key, arg))
    if arg.__class__ is slice:
        return ("slice", *map(_key, (arg.start, arg.stop, arg.step)))
    if arg.__class__ in (int, float, bool, str, type(None), type(...), np.dtype):
        return (arg.__class__.__name__, repr(arg))
    return ("thing", id(arg))
