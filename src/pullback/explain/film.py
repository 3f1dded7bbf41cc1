"""The course of a whole run as plain data: for the page's film, and a few lines of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .course import PassFigures, StepFigures
from .measure import rounded

if TYPE_CHECKING:
    from .explanation import Explanation

MOST_LAYERS = 60  # rows of the heat map


def film(e: Explanation) -> dict[str, Any] | None:
    """The loss, the gradient's norm, the update over the parameters, and each layer's gradient, for every pass; None
    for a single pass.
    """
    recorder, names = e._recorder, e._analysis.names
    passes = recorder.course.passes
    if len(passes) < 2:
        return None
    ratios = updates(recorder.course.events)
    rows: dict[str, list[int]] = {}
    for leaf, number in recorder.course.reached.items():
        rows.setdefault(names.leaf(leaf).rpartition(".")[0] or names.leaf(leaf), []).append(number)
    rows = dict(list(rows.items())[:MOST_LAYERS])
    heat: list[list[Any]] = [[] for _ in rows]
    for p in passes:
        norms = recorder.course.norms_of(p)
        for line, numbers in zip(heat, rows.values()):
            squares = [float(norms[i]) ** 2 for i in numbers if i < len(norms) and not math.isnan(norms[i])]
            line.append(rounded(math.sqrt(sum(squares))) if squares else None)
    kept = {
        "first": recorder.first,
        "first bad": recorder.first_bad,
        "largest gradient": recorder.worst,
        "last": recorder.passes[-1] if recorder.passes else None,
    }
    marks: dict[int, list[str]] = {}
    for word, recorded in kept.items():
        if recorded is not None:
            marks.setdefault(recorded.number, []).append(word)
    return {
        "passes": [p.number for p in passes],
        "loss": [None if p.loss is None else rounded(p.loss) for p in passes],
        "norm": [rounded(p.norm) for p in passes],
        "update": [ratios.get(p.number) for p in passes],
        "finite": [p.finite for p in passes],
        "layers": list(rows),
        "heat": heat,
        "kept": [[number, ", ".join(words)] for number, words in sorted(marks.items())],
    }


def updates(events: list[Any]) -> dict[int, Any]:
    """By pass, the norm of the change that the optimizer made after it, over that of the parameters."""
    found: dict[int, Any] = {}
    newest: PassFigures | None = None
    for event in events:
        if isinstance(event, PassFigures):
            newest = event
        elif isinstance(event, StepFigures) and newest is not None and event.update is not None and event.values:
            found[newest.number] = rounded(event.update / event.values)
    return found
