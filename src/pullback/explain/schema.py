"""The data of an explanation: dataclasses of numbers, strings and lists.

:func:`plain` turns any of it into what JSON can hold; ``schema.json`` beside this file describes the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .measure import Values


@dataclass(slots=True)
class Handed:
    """What a step hands to one of the operation's inputs.

    Attributes:
        argument: the input's name in the operation's signature.
        step: the number of the step that receives it; None if a leaf does.
        output: which output of that step's operation it belongs to.
        leaf: the name of the leaf that receives it; None if a step does.
        rule: how it follows from the upstream gradient g, as mathematics: ``dx = g · cos(x)``.
        gradient: what it is; None if the rule gave none.
    """

    argument: str
    step: int | None
    output: int
    leaf: str | None
    rule: str
    gradient: Values | None


@dataclass(slots=True)
class Kept:
    """An array that a node kept in memory for its rule."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(slots=True)
class Operand:
    """A value that an operation computed with.

    Attributes:
        symbol: how formulas write it: ``x``, ``a``, ``W``.
        name: what the program calls it, or the step that made it (``#3``); None for a constant that no variable holds.
        value: what it was; None if it was not kept.
    """

    symbol: str
    name: str | None
    value: Values | None


@dataclass(slots=True)
class Step:
    """One node of the backward pass.

    Attributes:
        number: counted from 1, in the order visited.
        op: the node's name, such as ``MulBackward0``.
        title: what programs call it: ``mul``, ``linear 64→3``, or the class of a custom Function.
        name: what the program calls the operation's result, where a variable holds it.
        module: the path of the ``nn.Module`` whose forward ran the operation, such as ``net.encoder.0``.
        call: which call of that module it was, counted from 1.
        file, line, code: where in the program the operation was.
        shape, dtype: of the operation's result (lists of them, where there are several).
        upstream: the gradients that reached it, one a result; None where none did.
        downstream: what it hands on, one an input that takes part.
        kept: what it kept in memory.
        hooks: the names of hooks on the node.
    """

    number: int
    op: str
    title: str
    name: str | None
    module: str | None
    call: int | None
    file: str | None
    line: int | None
    code: str
    shape: Any
    dtype: Any
    upstream: list[Values | None]
    downstream: list[Handed]
    kept: list[Kept]
    hooks: list[str]

    @property
    def bytes(self) -> int:
        """Memory that the node kept, in all."""
        return sum(k.bytes for k in self.kept)


@dataclass(slots=True)
class Use:
    """One place where a leaf was used, and what that adds to its gradient."""

    step: int
    argument: str
    gradient: Values


@dataclass(slots=True)
class Leaf:
    """A leaf tensor, whose ``.grad`` accumulates.

    Attributes:
        name: what the program calls it.
        shape, dtype: of the tensor.
        gradient: what this backward pass brought, all uses together and after hooks.
        before: the norm of what ``.grad`` held before this pass; 0 if it held none.
        uses: where it was used.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    gradient: Values
    before: float
    uses: list[Use]


@dataclass(slots=True)
class Root:
    """An output, where a seed enters.

    Attributes:
        name: what the program calls the output.
        step: the step that receives the seed; None if the output is itself a leaf.
        output: which result of that step's operation it is.
        seed: the values of the ``gradient`` argument.
        given: False if the seed was left out and 1 was taken.
    """

    name: str | None
    step: int | None
    output: int
    seed: Values
    given: bool


@dataclass(slots=True)
class Finding:
    """Something to look at, and what it rests on.

    Attributes:
        kind: what it is, for programs: ``"vanishing"``, ``"exploding"``, ``"dead-relu"``, ``"no-gradient"``, ``"nan"``,
            ``"saturated"``, ``"broadcast"``, ``"accumulated"``, and others.
        text: the same for people, with names, numbers and lines.
        severity: ``"error"``, ``"warning"`` or ``"note"``.
        steps: the numbers of the steps that it is about.
        leaves: the names of the leaves that it is about.
        file, line: where in the program to look.
        page: the page about it, for ``pullback errors``: that of its kind, or that of the error that it reports.
    """

    kind: str
    text: str
    severity: str = "warning"
    steps: list[int] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    file: str | None = None
    line: int | None = None
    page: str = ""

    def __post_init__(self) -> None:
        self.page = self.page or self.kind

    def __str__(self) -> str:
        return f"{self.text} [pullback errors {self.page}]"


def plain(value: Any) -> Any:
    """Dataclasses as dicts, NumPy numbers as Python's, and what JSON has no number for as the strings ``"nan"``,
    ``"inf"``, ``"-inf"``.

    >>> plain(Use(1, "input", Values.of(np.array([1.0, float("inf")]))))["gradient"]["values"]
    [1.0, 'inf']
    """
    kind = value.__class__
    if value is None or kind in (str, int, bool):
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind in NAMES:
        return {name: plain(getattr(value, name)) for name in NAMES[kind]}
    if isinstance(value, complex):
        return f"{value:.6g}"
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return str(value)


NAMES: dict[type, tuple[str, ...]] = {
    cls: tuple(f.name for f in fields(cls)) for cls in (Values, Handed, Kept, Operand, Step, Use, Leaf, Root, Finding)
}
NAMES[Values] = tuple("values" if name == "elements" else name for name in NAMES[Values])
