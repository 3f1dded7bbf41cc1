"""``pullback explain script.py``: an unmodified program, run and explained."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..explain.explanation import Explanation, writer_of
from ..explain.recorder import Recorder
from . import run


def explained(program: Sequence[str], out: str | None = None, number: int | None = None) -> None:
    """Run a program, then show what one of its backward passes did, also if it ended in an error.

    Args:
        program: as for ``pullback run``: a script (or ``-m module``, ``-c code``, ``-``) and its arguments.
        out: a file to write; without one, the explanation is printed.
        number: which backward pass, counted from 1; the last one without.

    Raises:
        SystemExit: the program made no such backward pass.
    """
    if out is not None:
        try:
            writer_of(Path(out))
        except ValueError as error:  # before the program runs, which may take long
            print(f"pullback explain: {error}", file=sys.stderr)
            sys.exit(2)
    e = Explanation(Recorder(last=1, only=number))
    try:
        with e:
            run.main(program)
    finally:
        if not e._recorder.passes:
            print(f"pullback explain: {missing(e._recorder.seen, number)}", file=sys.stderr)
        elif out is None:
            e.print()
        else:
            e.save(out)
            print(f"pullback explain: backward pass {e.number} of {e._recorder.seen} is in {out}", file=sys.stderr)
    if not e._recorder.passes:
        sys.exit(1)


def missing(seen: int, number: int | None) -> str:
    """Why there is nothing to show."""
    if not seen:
        return "the program made no backward pass"
    return f"the program made {seen} backward pass{'es' * (seen > 1)}, so there is no number {number}"
