"""``pullback explain script.py``: an unmodified program, run and explained."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..explain.explanation import Explanation, writer_of
from ..explain.recorder import Pass, Recorder
from . import run


def explained(program: Sequence[str], out: str | None = None, which: int | str | None = None) -> None:
    """Run a program, then show what one of its backward passes did, also if it ended in an error.

    Args:
        program: as for ``pullback run``: a script (or ``-m module``, ``-c code``, ``-``) and its arguments.
        out: a file to write, beside the findings, which are printed; without one, the explanation is printed.
        which: which backward pass: a number, counted from 1, ``"first-bad"`` or ``"last"``. Without, the first bad one
            where there is one, else the last.

    Raises:
        SystemExit: the program made no such backward pass.
    """
    if out is not None:
        try:
            writer_of(Path(out))
        except ValueError as error:  # before the program runs, which may take long
            print(f"pullback explain: {error}", file=sys.stderr)
            sys.exit(2)
    recorder = Recorder(last=2, only=which if isinstance(which, int) else None, changes=True)
    e = Explanation(recorder)
    try:
        with e:
            run.main(program)
    finally:
        found = chosen(recorder, which)
        if found is None:
            for finding in e.findings if recorder.raised is not None and not recorder.kept else ():
                print(f"pullback explain: {finding}", file=sys.stderr)
            print(f"pullback explain: {missing(recorder, which)}", file=sys.stderr)
        else:
            e = Explanation(
                recorder, found, whole=which is None or which == "first-bad" or found is recorder.passes[-1]
            )
            if out is None:
                e.print()
            else:
                e.save(out)
                for finding in e.findings:
                    print(f"{finding.severity}: {finding}", file=sys.stderr)
                print(f"pullback explain: backward pass {e.number} of {recorder.seen} is in {out}", file=sys.stderr)
    if found is None:
        sys.exit(1)


def chosen(recorder: Recorder, which: int | str | None) -> Pass | None:
    """The pass to explain."""
    if which == "first-bad" or which is None and recorder.first_bad is not None:
        return recorder.first_bad
    return recorder.passes[-1] if recorder.passes else None


def missing(recorder: Recorder, which: int | str | None) -> str:
    """Why there is nothing to show."""
    if not recorder.seen:
        return "the program made no backward pass"
    made = f"the program made {recorder.seen} backward pass{'es' * (recorder.seen > 1)}"
    return f"{made}, and none was bad" if which == "first-bad" else f"{made}, so there is no number {which}"
