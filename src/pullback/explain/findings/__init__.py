"""Diagnostics: NaN, vanishing gradients, parameters that do not learn and others, each with measurement and place.

Findings rest on measurements: the gradients that the engine delivered, saved values, figures of all passes and
optimizer steps, and, where the forward pass was watched, module calls and calls of ``detach()``. A wrong diagnosis is
worse than none: what is only likely is not said. Each finding ends with what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...base.errors import page_of
from ..recorder import Recorder
from ..schema import Finding
from .losses import not_log, seed_of_zeros, sign, softmax_dim, targets, twice
from .nan import origin_of_nan
from .parameters import frozen, no_gradient, no_update, not_optimized
from .shapes import broadcast
from .sizes import vanishing_or_exploding
from .training import accumulated, divergence, eval_mode, forgotten_step, kept_graph, no_step, zeroed
from .units import constant, dead_relus, rounded, saturated, symmetric
from .wording import about, cutting_text

if TYPE_CHECKING:
    from ..analysis import Analysis

Check = Callable[["Analysis"], Iterator[Finding]]
# Of the structure of the program: they hold whatever the numbers are.
STRUCTURE: list[Check] = [
    broadcast,
    twice,
    not_log,
    softmax_dim,
    sign,
    targets,
    constant,
    no_gradient,
    frozen,
    not_optimized,
    no_update,
    accumulated,
    zeroed,
    no_step,
    forgotten_step,
    eval_mode,
    kept_graph,
]
# Of the numbers: they mean nothing where these are not finite, or where the training diverges.
NUMBERS: list[Check] = [vanishing_or_exploding, dead_relus, saturated, rounded, symmetric]
CONSEQUENCES = {  # findings that say nothing new beside another
    "seed": {"symmetric", "rounded"},
    "accumulated": {"divergence", "no-gradient"},
    "sign": {"divergence"},
    "target": {"sign"},
    "constant": {"symmetric", "no-gradient"},
    "not-optimized": {"no-gradient"},
    "no-update": {"no-gradient", "not-optimized"},
    "zeroed": {"accumulated"},
    "not-log": {"sign"},
    "rounded": {"symmetric"},
}


def findings(analysis: Analysis) -> list[Finding]:
    """Everything found in one backward pass and in the course up to it, the worst first."""
    found = [*raised(analysis.recorder)] if analysis.whole else []
    diverged = [*divergence(analysis)]
    seeds = [*seed_of_zeros(analysis)]
    broken = [] if any(f.kind == "divergence" for f in diverged) else [*origin_of_nan(analysis)]
    found += diverged + seeds + broken
    checks = STRUCTURE if diverged or broken or seeds else STRUCTURE + NUMBERS
    found += [f for check in checks for f in check(analysis)]
    explained = {kind for f in found for kind in CONSEQUENCES.get(f.kind, ())}
    return sorted(
        (f for f in found if f.kind not in explained), key=lambda f: ("error", "warning", "note").index(f.severity)
    )


def raised(recorder: Recorder) -> Iterator[Finding]:
    """The error of this package that ended the program, with its facts and the way out."""
    if recorder.raised is None:
        return
    error, place = recorder.raised
    page, notes = page_of(error), [*getattr(error, "__notes__", ())]
    message = " ".join([str(error).rstrip(), *[note.strip() for note in (notes[:-1] if page else notes)]])
    text = f"The program ended in {type(error).__name__}: {message}"
    if "does not require grad" in message:
        cutting = cutting_text(place, before=True)
        text += f" Results without a gradient come of {cutting}." if cutting else ""
    finding = about("raised", text, place=place, severity="error")
    finding.page = page or finding.page
    yield finding
