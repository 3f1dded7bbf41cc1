"""Tracing an optimizer's update of many parameters (PyTorch: ``foreach``) by tracing that of one.

The instructions of the first parameter are repeated for the others with other operands. Their values, which the rest of
the traced call may need, are computed by the optimizer's own kernel for all parameters at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core import versions
from ..core.level import LevelValue
from ..core.tensor import Tensor
from .ir import Instruction, Program, Ref, Value, map_refs, refs

if TYPE_CHECKING:
    from .trace import Trace

ndarray = np.ndarray


def trace_foreach(
    trace: Trace,
    lists: Sequence[Sequence[Tensor]],
    record: Callable[[int], None],
    compute: Callable[[Sequence[Sequence[ndarray]]], bool | None],
) -> None:
    """Record an elementwise update of each of several lists of tensors: a parameter, its gradient, its state.

    Args:
        record: does it to one of the lists.
        compute: does it to arrays in place of some lists, and says whether it could.
    """
    arrays = [[t._array for t in own] for own in lists]
    every = [x for own in arrays for x in own]
    are_distinct = len({*map(id, every)}) == len(every)
    can_repeat = are_distinct and all([isinstance(x, LevelValue) and x.level is trace for x in every])
    numbers = [[x.number for x in own] for own in arrays] if can_repeat else []
    start = len(trace.program.instructions)
    record(0)
    update = trace.program.instructions[start:]
    constants = set(trace.sym_floats.values())
    if can_repeat and len(lists) > 1 and _is_elementwise(trace.program, update, numbers[0], constants):
        written = {k: x.number for k, x in enumerate(arrays[0]) if x.number != numbers[0][k]}
        targets = [own[k] for own in arrays[1:] for k in written]
        jobs = [
            [x.value if k in written else np.ascontiguousarray(x.value) for k, x in enumerate(own)]
            for own in arrays[1:]
        ]
        for x in targets:
            trace.save_contents(x.value)
        if all([x.parent is None for x in targets]) and compute(jobs):
            for own, operands in zip(arrays[1:], numbers[1:]):
                made = _repeat(trace.program, update, dict(zip(numbers[0], operands)))
                for k, n in written.items():
                    own[k]._number, own[k].version = made[n], own[k].version + 1
            versions.bump_version(*[x.value for x in targets])
            return
    for i in range(1, len(lists)):
        record(i)


def _is_elementwise(
    program: Program, instructions: Sequence[Instruction], given: Sequence[int], numbers: set[int]
) -> bool:
    """Whether instructions take nothing but these values, numbers, and their own results, all of one shape."""
    values, outs = program.values, [n for step in instructions for n in step.outs]
    known, shape = {*given, *outs, *numbers}, values[given[0]].shape
    return (
        len({*given}) == len(given)
        and all([values[n].shape == shape for n in (*given, *outs)])
        and all([n in known for step in instructions for n in refs(step.args)])
    )


def _repeat(program: Program, instructions: Sequence[Instruction], numbers: dict[int, int]) -> dict[int, int]:
    """Append instructions once more with other operands, and maybe another shape; returns ``numbers`` with those of the
    results.
    """
    values = program.values
    shape = values[next(iter(numbers.values()))].shape
    for step in instructions:
        args = tuple([map_refs(a, lambda n: Ref(numbers.get(n, n))) for a in step.args])
        outs = tuple(range(len(values), len(values) + len(step.outs)))
        values += [Value(shape, values[n].dtype) for n in step.outs]
        numbers.update(zip(step.outs, outs))
        program.instructions.append(Instruction(step.op, args, outs, step.line))
    return numbers
