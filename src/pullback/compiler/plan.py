"""From a program to what runs: steps, one native function for each run of native ones, and the memory between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, kernels
from .ir import Input, Instruction, Program, refs, replaced
from .simplify import simplified

ndarray = np.ndarray


class Plan:
    """How a program is run.

    Attributes:
        program: the program, simplified.
        sinks: which of the wanted values go into the memory of which inputs.
        inputs: the numbers of the inputs that are used.
        steps: what is done, in order, as text.
    """

    def __init__(self, program: Program, sinks: dict[int, Input], fixed: dict[int, ndarray]) -> None:
        self.program, self.sinks, self.fixed = simplified(program, caller), sinks, fixed
        fixed.update({i.number: i.what for i in self.program.inputs if i.kind == "constant"})
        used = {*self.program.wanted, *[i.number for i in program.inputs if i.kind == "random"]}
        for step in self.program.instructions:
            used.update(refs(step.args))
        used.update(source.number for source in sinks.values())
        self.inputs = used
        self.steps: list[str] = []
        self._texts: list[str] = []
        self._bytes = 0

    def lines(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        """The plan as lines of Python; ``o3`` is then result 3."""
        if kernels.start():
            from .segments import Segments

            made = Segments(self.program, self.sinks, self.fixed, self.inputs)
            self.steps, self._texts, self._bytes = list(map(str, made.fusion.steps)), made.texts, made.bytes
            return made.lines(variables, names)
        return self._interpreted(variables, names)

    def _interpreted(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        """One call of Python for each instruction, where there is no native code."""
        lines = []
        for k, step in enumerate(self.program.instructions):
            names[f"call{k}"] = caller(step, self.program)
            taken = ", ".join(variables[n] for n in dict.fromkeys(refs(step.args)))
            outs = []
            for n in step.outs:
                variables[n] = f"v{n}"
                outs.append(f"v{n}")
            lines.append(f"{', '.join(outs)}{',' * (len(outs) > 1)} = call{k}({taken})")
        names["own"] = own
        given = "".join(
            f"{variables[i.number]}, " for i in self.program.inputs if i.number in self.inputs and i.kind != "number"
        )
        fresh: dict[int, int] = {}
        for place, number in enumerate(self.program.wanted):
            if number in fresh and place not in self.sinks:
                lines.append(f"o{place} = o{fresh[number]}.copy()")
            else:
                lines.append(f"o{place} = own({variables[number]}, ({given}))")
                fresh.setdefault(number, place)
        for place, source in self.sinks.items():
            lines.append(f"{variables[source.number]}[...] = o{place}")
        return lines

    def __str__(self) -> str:
        if not self.steps:
            return str(self.program)
        return "\n".join(
            [
                f"{len(self.steps)} steps, {self._bytes} bytes between them",
                *(f"{i:3} {step}" for i, step in enumerate(self.steps)),
            ]
        )

    def llvm(self) -> str:
        return "\n".join(self._texts)


def own(array: Any, given: tuple[ndarray, ...]) -> ndarray:
    """An array that nobody else holds."""
    array = np.asarray(array)
    return array.copy() if array.base is not None or any([array is g for g in given]) else array


def computed_in(op: Any, args: Any, program: Program, numbers: set[int]) -> np.dtype | None:
    """The type that an elementwise operation casts its operands to."""
    operands = [
        replaced(
            args[i],
            lambda n: (
                0.5 if n in numbers else np.empty((1,) * min(len(program.values[n].shape), 1), program.values[n].dtype)
            ),
        )
        for i in op.tensors
    ]
    d = dtypes.result_type_of(operands)
    if op.to > d.category:
        d = dtypes.get_default_dtype() if op.to == dtypes.FLOATING else d
    return dtypes.FLOAT32 if d.is_floating_point and d.itemsize == 2 else d.numpy


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
