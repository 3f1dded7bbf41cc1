"""Formulas with their numbers in them: ``da = g · b`` as ``[1, 0.5] · [2, 3]``, and sums at leaves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .measure import Values
from .schema import Leaf, Operand

FEW = 6  # arrays of so many elements are written out,
LONGEST = 72  # if the formula gets no longer than this
NAME = re.compile(r"[^\W\d]\w*(?!\w|\()")
USES = 4  # of a leaf, that are written out as a sum


def nested(values: Any) -> str:
    """A number in at most four digits, or nested lists of them."""
    return "[" + ", ".join(map(nested, values)) + "]" if isinstance(values, list) else f"{values:.4g}"


def written(v: Values | None) -> str | None:
    """An array of few elements in full."""
    return nested(v.values) if v is not None and 0 < v.size <= FEW and v.elements is not None else None


def in_numbers(rule: str, g: Values | None, operands: Sequence[Operand], out: Values | None) -> str | None:
    """The right side of a formula with the values in the place of the names; None if they are not all known and few, or
    if the formula does nothing but hand on.
    """
    text = rule.partition(" = ")[2]
    if not text or ", where " in text or NAME.fullmatch(text):
        return None
    values = {o.symbol: o.value for o in operands} | {"g": g, "out": out}
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match.group()
        if name in ("if", "else"):
            return name
        found = written(values.get(name))
        if found is None:
            missing.append(name)
        elif found.startswith("-"):
            return f"({found})"
        return found or name

    text = NAME.sub(value, text)
    return None if missing or len(text) > LONGEST else text


def sum_of_uses(leaf: Leaf) -> str | None:
    """The gradient of a leaf as the sum over its uses: ``[2, 1.5] + [2, 1.5] = [4, 3]``."""
    if not 1 < len(leaf.uses) <= USES:
        return None
    parts = [written(use.gradient) for use in leaf.uses]
    whole = written(leaf.gradient)
    if whole is None or None in parts:
        return None
    text = " + ".join(f"({p})" if p and p.startswith("-") else str(p) for p in parts) + f" = {whole}"
    return text if len(text) <= LONGEST else None
