"""Operations without native code, called from a plan: on arrays and numbers, results in the type of the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ir import Instruction, Program, computed_in, refs, replaced

ndarray = np.ndarray


def own(array: Any, given: tuple[ndarray, ...]) -> ndarray:
    """An array that nobody else holds."""
    array = np.asarray(array)
    return array.copy() if array.base is not None or any([array is g for g in given]) else array


def caller(step: Instruction, program: Program) -> Callable[..., Any]:
    """The operation as a function of its values, as arrays and numbers."""
    op, args = step.op, step.args
    order = list(dict.fromkeys(refs(args)))
    expected = [program.values[n] for n in step.outs]
    numbers = {i.number for i in program.inputs if i.kind == "number"}
    casts: dict[int, Any] = {}
    if op.kind == "elementwise":
        compute = computed_in(op, args, program, numbers)
        casts = dict.fromkeys(op.tensors, compute)

    def call(*values: Any) -> Any:
        of = dict(zip(order, values))
        given = [replaced(a, of.__getitem__) for a in args]
        for i, d in casts.items():
            v = given[i]
            given[i] = v.astype(d, copy=False) if v.__class__ is ndarray else np.array(v).astype(d)
        out = op.impl(*given)
        if not isinstance(out, (tuple, list)):
            return checked(out, expected[0], op)
        outs = tuple([checked(o, e, op) for o, e in zip(out, expected)])
        return outs if len(outs) > 1 else outs[0]

    return call


def checked(out: Any, expected: Any, op: Any) -> ndarray:
    """A result in the type in which it was traced."""
    out = np.asarray(out)
    if out.shape != expected.shape:
        raise RuntimeError(
            f"compile: {op.name} gave shape {list(out.shape)}, and {list(expected.shape)} when it was traced: the "
            f"shape depends on "
            "values.\n  Run the function as it is."
        )
    return out if out.dtype == expected.dtype else out.astype(expected.dtype)
