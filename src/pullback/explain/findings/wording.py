"""How findings name steps, values and lines, and where they look for them."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.graph import format_line
from ...core.op import Op
from ..recorder import Place, Visit
from ..schema import Finding, Step

if TYPE_CHECKING:
    from ..analysis import Analysis

MAX_NAMES = 6  # how many names a finding lists
NEAR = 40  # lines of a function that are searched for what cuts the graph
CUTTING = frozenset(
    {"argmax", "argmin", "item", "tolist", "numpy", "long", "int", "bool", "round_", "detach", "detach_", "no_grad"}
    | {"inference_mode", "argsort", "nonzero", "topk", "bincount", "from_numpy", "as_tensor", "tensor"}
)


def location(step: Step) -> str:
    return f"{step.file}:{step.line}" if step.file else "an unknown line"


def label(step: Step) -> str:
    """How findings name a step."""
    return step.title + (f" in {step.module}" if step.module else "") + f", {location(step)}"


def name_list(names: list[str]) -> str:
    shown = ", ".join(f"`{n}`" for n in names[:MAX_NAMES])
    return shown + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def at(place: Place) -> str:
    """`` at file:line  code``, or nothing."""
    return f" at {format_line(place)}" if place is not None else ""


def about(
    kind: str, text: str, step: Step | None = None, place: Place = None, severity: str = "warning", leaves: Any = ()
) -> Finding:
    """A finding about a step, or about a line of the program."""
    if step is not None:
        return Finding(kind, text, severity, steps=[step.number], leaves=[*leaves], file=step.file, line=step.line)
    return Finding(kind, text, severity, leaves=[*leaves], file=place and place[0], line=place and place[1])


# --- reading nodes --------------------------------------------------------------------------------------------------


def of_op(analysis: Analysis, *ops: Op) -> Iterator[tuple[Step, Visit]]:
    """The steps of some ops."""
    for op in ops:
        for i in analysis.by_op.get(op, ()):
            yield analysis.steps[i], analysis.visits[i]


def saved_value(visit: Visit, name: str) -> Any:
    """The value that a node saved under a name."""
    op = visit.node._op
    if op is None or name not in op.saved_names or not visit.saved:
        return None
    return visit.saved[op.saved_names.index(name)]


def saved(visit: Visit, name: str) -> np.ndarray | None:
    value = saved_value(visit, name)
    return value if isinstance(value, np.ndarray) else None


def consumers(analysis: Analysis, number: int) -> list[Step]:
    """The steps that use the result of a step."""
    return [analysis.steps[i - 1] for i in analysis.consumers.get(number, ())]


# --- reading the program --------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def parsed(file: str) -> ast.Module | None:
    """The syntax tree of a source file, if it can be read."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def scope_of(file: str, line: int) -> tuple[int, int]:
    """The first and last line of the innermost function around a line; of the whole file outside of functions."""
    tree = parsed(file)
    found = 1, len(linecache.getlines(file))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (node.end_lineno or 0):
            found = max(found, (node.lineno, node.end_lineno or 0))
    return found


def assigned_at(name: str, place: Place) -> int | None:
    """The last line up to a place, in its function or around, that assigns a variable or an element of it."""
    tree = parsed(place[0]) if place is not None else None
    if tree is None or place is None:
        return None
    first, last = scope_of(*place)
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            if first <= node.lineno <= place[1] or first > 1 and node.lineno < first:
                found = max(found or 0, node.lineno)
    return found


def cutting_calls(place: Place, before: bool) -> list[tuple[str, int]]:
    """Calls near a line, in the same function, that results without a gradient come from: ``argmax``, ``item``, ..."""
    tree = parsed(place[0]) if place is not None else None
    if tree is None or place is None:
        return []
    file, line = place
    first, last = scope_of(file, line)
    first, last = (max(first, line - NEAR), line) if before else (line, min(last, line + NEAR))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and first <= node.lineno <= last:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CUTTING:
                found.append((name, node.lineno))
    return sorted(set(found), key=lambda entry: entry[1])


def cutting_text(place: Place, before: bool = False) -> str:
    """What :func:`cutting_calls` found, as part of a sentence; empty if nothing."""
    found = cutting_calls(place, before)
    return ", ".join(f".{name}() in line {line}" for name, line in found[-3:])
