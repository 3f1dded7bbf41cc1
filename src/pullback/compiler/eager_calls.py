"""Instructions without native code: calls of the op's own forward function, on arrays, from a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ir import Instruction, Program, common_dtype, compute_dtype, map_refs, number_beside, refs

ndarray = np.ndarray


class OtherShape(RuntimeError):
    """The shape of a result depends on values, and is another than in the traced call."""


def unaliased(array: Any, inputs: tuple[ndarray, ...]) -> ndarray:
    """The array, or a copy if it is a view or one of the inputs: the result of an op has memory of its own."""
    array = np.asarray(array)
    return array.copy() if array.base is not None or any([array is x for x in inputs]) else array


def evaluator(step: Instruction, program: Program, numbers: set[int]) -> Callable[..., Any]:
    """An instruction as a function of its distinct operands, which are arrays, and numbers for symbolic floats.

    Args:
        numbers: the program's symbolic floats.
    """
    op, args = step.op, step.args
    order = list(dict.fromkeys(refs(args)))
    expected = [program.values[n] for n in step.outs]
    common: Any = common_dtype(op, args, program, numbers) if op.kind == "elementwise" else None

    def call(*operands: Any) -> Any:
        of = dict(zip(order, operands))
        given = [map_refs(a, of.__getitem__) for a in args]
        for i in op.tensors if common is not None else ():
            v = given[i]
            is_array = v.__class__ is ndarray
            given[i] = v.astype(compute_dtype(common), copy=False) if is_array else number_beside(op, v, common)
        if op.kind == "view":  # the operand may be in another layout than when it was traced
            given[0] = np.ascontiguousarray(given[0]).reshape(given[0].shape)  # 0-d arrays too
        out = op.impl(*given)
        if not isinstance(out, (tuple, list)):
            return _as_traced(out, expected[0], op)
        outs = tuple([_as_traced(o, e, op) for o, e in zip(out, expected)])
        return outs if len(outs) > 1 else outs[0]

    return call


def _as_traced(out: Any, expected: Any, op: Any) -> ndarray:
    """A result in the type in which it was traced.

    Raises:
        OtherShape: it has another shape.
    """
    out = np.asarray(out)
    if out.shape != expected.shape:
        raise OtherShape(f"compile: {op.name} gave {list(out.shape)}, not {list(expected.shape)} as when it was traced")
    return out if out.dtype == expected.dtype else out.astype(expected.dtype)
