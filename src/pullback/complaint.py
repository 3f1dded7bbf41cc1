"""Errors: PyTorch's words as the message, and what helps as notes, which a traceback shows below it.

Programs that print or match the message see what PyTorch would have said.
"""

from __future__ import annotations

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def noted(error: E, *notes: str) -> E:
    """The error with notes: first the facts, then the way out."""
    for note in notes:
        error.add_note("  " + note)
    return error
