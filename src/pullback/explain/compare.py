"""Two passes side by side, or two runs: what differs first, in the order of the program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core.graph import format_line
from .findings.wording import label
from .measure import Values
from .schema import Finding, Step

if TYPE_CHECKING:
    from .course import Course, PassFigures
    from .explanation import Explanation

CLOSE = 1e-5  # norms that differ by less than this, relatively, are the same


def differences(one: Explanation, other: Explanation) -> Iterator[Finding]:
    """What differs between two passes: operations, then values of the forward pass, from the first operation on, then
    gradients, from the output on.
    """
    mine, theirs = one.steps, other.steps
    for a, b in zip(reversed(mine), reversed(theirs)):
        if (a.title, a.module) != (b.title, b.module):
            yield finding(a, f"the programs part: here it is {label(a)}, there {label(b)}")
            return
    if len(mine) != len(theirs):
        longer = mine if len(mine) > len(theirs) else theirs
        step = longer[abs(len(mine) - len(theirs)) - 1]
        yield finding(step, f"the programs part: only one of them has {label(step)}")
        return
    for a, (operands, out), (others, there) in reversed([*zip(mine, one.forward_values, other.forward_values)]):
        for o, p in zip(operands, others):
            if o.value is not None and p.value is not None and not alike(o.value, p.value):
                name = f"`{o.name}`" if o.name and not o.name.startswith("#") else f"`{o.symbol}`"
                yield finding(a, f"{name} in {label(a)} {told(o.value, p.value)}")
        if out is not None and there is not None and not alike(out, there):
            yield finding(a, f"the result of {label(a)} {told(out, there)}")
    for a, b in zip(mine, theirs):
        for d, e in zip(a.downstream, b.downstream):
            if d.gradient is not None and e.gradient is not None and not alike(d.gradient, e.gradient):
                yield finding(
                    a, f"the gradient that {label(a)} hands to `{d.leaf or d.argument}` {told(d.gradient, e.gradient)}"
                )


def where_runs_part(mine: Course, theirs: Course) -> tuple[int, Finding] | None:
    """The first pass of two runs whose loss or gradient differs, and how; or the first that only one of them has."""
    others = {p.number: p for p in theirs.passes}
    last = 0
    for a in mine.passes:
        b = others.get(a.number)
        if b is None:
            continue
        last = a.number
        told = [
            f"{what} is {x:.4g} here and {y:.4g} there"
            for what, x, y in (("the loss", a.loss, b.loss), ("the norm of the gradient", a.norm, b.norm))
            if x is not None and y is not None and not same(x, y)
        ]
        if told or a.place != b.place:
            words = " and ".join(told) or "one is called at another line than the other"
            return a.number, parting(a, words)
    counts = [max((p.number for p in course.passes), default=0) for course in (mine, theirs)]
    if counts[0] == counts[1]:
        return None
    longer = mine if counts[0] > counts[1] else theirs
    extra = next(p for p in longer.passes if p.number > last)
    return extra.number, parting(extra, f"there are {counts[0]} passes here and {counts[1]} there")


def parting(a: PassFigures, text: str) -> Finding:
    """The finding that two runs part in a pass."""
    file, line = a.place or (None, None)
    place = f", {format_line(a.place)}" if a.place else ""
    return Finding("differs", f"The runs part in pass {a.number}{place}: {text}.", "note", [], file=file, line=line)


def same(x: float, y: float) -> bool:
    """Whether two figures agree but for rounding."""
    return x == y or x != x and y != y or abs(x - y) <= CLOSE * max(abs(x), abs(y)) < math.inf


def finding(step: Step, text: str) -> Finding:
    return Finding("differs", text[0].upper() + text[1:] + ".", "note", [step.number], file=step.file, line=step.line)


def alike(a: Values, b: Values) -> bool:
    """Whether two arrays have one shape and, as far as their statistics tell, one content."""
    if (a.shape, a.nan, a.inf) != (b.shape, b.nan, b.inf):
        return False
    if a.nan or a.inf:
        return True
    scale = max(a.norm, b.norm) * CLOSE
    pairs = ((a.norm, b.norm), (a.mean, b.mean), (a.min, b.min), (a.max, b.max))
    return all(abs(x - y) <= scale for x, y in pairs)


def told(a: Values, b: Values) -> str:
    """How two arrays differ, in words."""
    if a.shape != b.shape:
        return f"has shape {[*a.shape]} here and {[*b.shape]} there"
    if (a.nan, a.inf) != (b.nan, b.inf):
        return f"has {a.nan} NaN and {a.inf} infinities here, {b.nan} and {b.inf} there"
    here, there = (f"norm {v.norm:.4g}, from {v.min:.4g} to {v.max:.4g}" for v in (a, b))
    return f"has {here} here; {there} there"
