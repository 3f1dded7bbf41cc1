"""What import statement a program is executing, and whether it is prepared to see it fail."""

from __future__ import annotations

import ast
import dis
import linecache
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

BOOTSTRAP = "<frozen importlib._bootstrap"  # how the file names of importlib's own frames begin
STATEMENTS = (dis.opmap["IMPORT_NAME"], dis.opmap["IMPORT_FROM"])


def importing_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame from here outwards that is not importlib's machinery."""
    while frame is not None and frame.f_code.co_filename.startswith(BOOTSTRAP):
        frame = frame.f_back
    return frame


def importing(frame: FrameType) -> str | None:
    """The module named by the import statement that `frame` is executing; None if it is executing another."""
    return imported_at(frame.f_code, frame.f_lasti)


@lru_cache(1024)  # programs import in functions that they call often
def imported_at(code: CodeType, at: int) -> str | None:
    """The module named by the import statement at an offset of some code; None if there is another."""
    name = None
    if code.co_code[at] in STATEMENTS:
        for instruction in dis.get_instructions(code):
            if instruction.offset > at:
                break
            if instruction.opname == "IMPORT_NAME":
                name = instruction.argval
    return name


def unguarded(frame: FrameType) -> bool:
    """Whether `frame` is executing an import statement around which nothing in its file catches an ImportError.

    A guard around the import of that file is about the file as a whole: it does not count.
    """
    return importing(frame) is not None and not guarded(frame)


def guarded(frame: FrameType) -> bool:
    """Whether a ``try`` or ``with`` around the statement that `frame` is executing expects an ImportError."""
    name = frame.f_code.co_filename
    lines = linecache.getlines(name, frame.f_globals)
    if name not in _guarded or _guarded[name][0] is not lines:  # linecache makes a new list when it reads a file anew
        _guarded[name] = lines, guarded_lines("".join(lines))
    found = _guarded[name][1]
    return found is None or frame.f_lineno in found


_guarded: dict[str, tuple[list[str], set[int] | None]] = {}


def guarded_lines(source: str) -> set[int] | None:
    """The lines at which an ImportError is expected; None for source that can't be read."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # not what was compiled
        return None
    found: set[int] = set()
    for node in ast.walk(tree):  # outer statements come before inner ones
        body = getattr(node, "body", None)
        if not isinstance(body, list) or not body:
            continue
        lines = range(body[0].lineno, body[-1].end_lineno + 1)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.difference_update(lines)  # it runs when it is called
        elif isinstance(node, ast.Try | ast.TryStar):
            if any(handler.type is None or expects(handler.type) for handler in node.handlers):
                found.update(lines)
        elif isinstance(node, ast.With):
            if any(expects(item.context_expr) for item in node.items):
                found.update(lines)
    return found if tree.body else None  # where nothing can be read, do as Python does


def expects(expression: Any) -> bool:
    """Whether an ``except`` or ``suppress(...)`` names an exception that an ImportError is."""
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return not names.isdisjoint(kind.__name__ for kind in (ModuleNotFoundError, *ImportError.__mro__))
