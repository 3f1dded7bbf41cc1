"""From a program to what runs: steps, one native function for each run of native ones, and the memory between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from .calls import caller, own
from .ir import Input, Program, refs
from .passes import simplified

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
            from .emit import Segments

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
