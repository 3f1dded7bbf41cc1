"""A program as lines of Python: calls of native functions where there are kernels, else one call an instruction."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from .eager_calls import evaluator, unaliased
from .ir import Input, Program, refs
from .passes import simplify

ndarray = np.ndarray


class Plan:
    """How a program runs.

    Attributes:
        program: the program, simplified.
        sinks: for places among the outputs, the input whose memory the output goes into.
        fixed: arrays of inputs that are the same at every call.
        inputs: the numbers of the inputs that are used.
        steps: what is done, in order, as text.
        bytes: of memory between steps.
    """

    def __init__(self, program: Program, sinks: dict[int, Input], fixed: dict[int, ndarray]) -> None:
        self.program, self.sinks, self.fixed = simplify(program, evaluator), sinks, fixed
        fixed.update({i.number: i.source for i in self.program.inputs if i.kind == "constant"})
        # random numbers are drawn even if unused, as later draws depend on them
        used = {*self.program.outputs, *[i.number for i in program.inputs if i.kind == "random"]}
        for step in self.program.instructions:
            used.update(refs(step.args))
        used.update(target.number for target in sinks.values())
        self.inputs = used
        self.steps: list[str] = []
        self._functions: list[Any] = []
        self.bytes = 0

    def lines(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        """Lines of Python that run the program, given the variables of its inputs; ``o3`` is then output 3.

        Args:
            names: the objects that lines refer to, to be added to.
        """
        if not kernels.start():
            return self._eager_lines(variables, names)
        from .emit import NativeCode  # which needs llvmlite

        native = NativeCode(self.program, self.sinks, self.fixed, self.inputs)
        self.steps, self._functions, self.bytes = list(map(str, native.fusion.steps)), native.functions, native.bytes
        return native.lines(variables, names)

    def _eager_lines(self, variables: dict[int, str], names: dict[str, Any]) -> list[str]:
        lines, numbers = [], self.program.numbers()
        for k, step in enumerate(self.program.instructions):
            names[f"call{k}"] = evaluator(step, self.program, numbers)
            operands = ", ".join(variables[n] for n in dict.fromkeys(refs(step.args)))
            variables.update({n: f"v{n}" for n in step.outs})
            outs = ", ".join(f"v{n}" for n in step.outs) + "," * (len(step.outs) > 1)
            lines.append(f"{outs} = call{k}({operands})")
        names["unaliased"] = unaliased
        inputs = "".join(
            f"{variables[i.number]}, " for i in self.program.inputs if i.number in self.inputs and i.kind != "number"
        )
        first_place: dict[int, int] = {}
        for place, number in enumerate(self.program.outputs):
            if number in first_place and place not in self.sinks:
                lines.append(f"o{place} = o{first_place[number]}.copy()")
            else:
                lines.append(f"o{place} = unaliased({variables[number]}, ({inputs}))")
                first_place.setdefault(number, place)
        lines += [f"{variables[target.number]}[...] = o{place}" for place, target in self.sinks.items()]
        return lines

    def __str__(self) -> str:
        if not self.steps:
            return str(self.program)
        return "\n".join(
            [
                f"{len(self.steps)} steps, {self.bytes} bytes between them",
                *(f"{i:3} {step}" for i, step in enumerate(self.steps)),
            ]
        )

    def llvm(self) -> str:
        if not self._functions:
            return ""
        from .step_functions import llvm_of  # which needs llvmlite

        return llvm_of(self._functions)
