"""Why a function can't be compiled, with the user's line."""

from __future__ import annotations

import sys
from os.path import dirname

import numpy as np

from ..base import thread_state
from ..core.graph import user_frame

NUMPY = dirname(np.__file__)


class CannotCompile(RuntimeError):
    """A function does something that would be different, or missing, at the next call.

    Attributes:
        this_call_only: whether another call may be compiled.
    """

    this_call_only = False


def cannot_compile(what: str, way_out: str = "") -> CannotCompile:
    """The error to raise, naming the user's line. The trace keeps the first, as the function may catch it."""
    frame = user_frame(sys._getframe(1))
    while frame is not None and frame.f_code.co_filename.startswith(NUMPY):
        frame = user_frame(frame.f_back)
    where = "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
    error = CannotCompile(f"compile: {what}{where}")
    error.add_note("  " + (way_out or "Move it out of the compiled function, or let it run as it is: fullgraph=False."))
    trace = thread_state.local.trace
    if trace is not None and trace.refusal is None and not thread_state.local.ruling:  # the rule becomes opaque
        trace.refusal = error
    return error


def users_place() -> str:
    """The user's file and line."""
    frame = user_frame(sys._getframe(1))
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
