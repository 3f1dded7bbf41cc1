"""What takes several passes to be seen: sums of gradients, optimizer steps, and the course of the loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.graph import Node
from ...core.tensor import Tensor
from ...core.views import gradient_edge
from ...engine.plan import reachable
from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.dropout import _DropoutNd
from ..course import PassFigures, StepFigures, growth_of, sum_of_squares
from ..schema import Finding
from .wording import about, at, name_list

if TYPE_CHECKING:
    from ..analysis import Analysis

NOTHING = 1e-6  # a gradient this much smaller at the step than in the pass was clipped away
STEPS = 3  # steps without effect that make a finding
AS_GOOD_AS_ZERO = 1e-8  # a learning rate, of the largest one before


# --- gradients that add up ------------------------------------------------------------------------------------------


def accumulated(analysis: Analysis) -> Iterator[Finding]:
    """Parameters that were changed with gradients which hold those of earlier changes: nobody zeroed them."""
    updated: dict[Any, bool] = {}  # leaves that were changed, and whether all passes since found something in .grad
    stale: dict[Any, tuple[PassFigures, float]] = {}  # the first of these passes, and the norm of what it found
    values: dict[Any, float] = {}  # by leaf that no optimizer holds: the sum of squares of its values
    found: dict[Any, tuple[PassFigures, float]] = {}

    def update(leaf: Any) -> None:
        if leaf in stale:
            found.setdefault(leaf, stale.pop(leaf))
        updated[leaf] = True

    for event in analysis.events:
        if isinstance(event, PassFigures):
            for leaf, (_, before, square) in (event.leaves or {}).items():
                if leaf not in analysis.held:
                    if values.setdefault(leaf, square) != square:  # by hand
                        update(leaf)
                    values[leaf] = square
                if updated.get(leaf):
                    updated[leaf] = before > 0
                    if before > 0:
                        stale.setdefault(leaf, (event, before))
                    else:
                        stale.pop(leaf, None)
        elif event.gradients is not None and not event.closure:
            for p, gradient in event.gradients.items():
                if not gradient or not event.norm:
                    stale.pop(p, None)
                update(p)
    for leaf, square in values.items():
        if leaf in stale and sum_of_squares(leaf._array) != square:
            update(leaf)
    if found:
        names = [analysis.names.leaf(leaf) for leaf in found]
        first, _ = next(iter(found.values()))
        norm = max(before for _, before in found.values())
        text = (
            f"The gradient was added to what .grad of {name_list(names)} held before (norm up to {norm:.3g}), although "
            "the values were updated in between: zero_grad() is missing. Call it before each backward()."
        )
        yield about("accumulated", text, place=first.place, leaves=names)


def zeroed(analysis: Analysis) -> Iterator[Finding]:
    """Optimizer steps that find no gradient, or hardly one, although a pass brought one just before."""
    dropped: list[StepFigures] = []
    clipped: list[tuple[StepFigures, float]] = []
    arrived: dict[Any, float] = {}
    for event in analysis.events:
        if isinstance(event, PassFigures):
            arrived |= {leaf: g for leaf, (g, _, _) in (event.leaves or {}).items()}
        elif event.gradients is not None and not event.closure:
            own = {p: arrived[p] for p in event.gradients if p in arrived}
            came = math.sqrt(sum(own.values()))
            if came > 0 and math.isfinite(came):
                if not any(event.gradients[p] for p in own):
                    dropped.append(event)
                elif event.norm <= NOTHING * came:
                    clipped.append((event, came))
            for p in own:
                arrived.pop(p)
    if dropped:
        step = dropped[-1]
        text = (
            f"zero_grad() comes between backward() and the optimizer's step{at(step.place)}: the step finds no "
            "gradient, and changes nothing. Call it before backward(), or after step()."
        )
        yield about("zeroed", text, place=step.place, severity="error")
    if clipped:
        step, came = clipped[-1]
        text = (
            f"The gradient had norm {came:.3g} after backward(), and {step.norm:.3g} at the optimizer's step"
            f"{at(step.place)}: it was clipped or zeroed in between. Look at the limit of clip_grad_norm_, and at "
            "zero_grad(set_to_none=False)."
        )
        yield about("clipped", text, place=step.place, severity="error")


# --- the loss and the rate ------------------------------------------------------------------------------------------


def divergence(analysis: Analysis) -> Iterator[Finding]:
    """A loss that grows, step by step, far beyond its beginning; or that falls without bound."""
    growth = growth_of(analysis.events)
    if growth is None:
        return
    those, last = growth.passes, growth.last
    losses = [p.loss for p in those if p.loss is not None]
    if growth.falls:
        shown = ", ".join(f"{x:.3g}" for x in spread([x for x in losses if math.isfinite(x)]))
        text = (
            f"The loss falls without bound: {shown} in passes {those[0].number} to {those[-1].number}. A loss has "
            "a lower bound: its sign is wrong, or a term of it."
        )
        yield about("sign", text, place=those[-1].place)
        return
    steps = [e for e in analysis.events if isinstance(e, StepFigures)]
    step = max((s for s in steps if s.time < those[last].end), key=lambda s: s.time, default=steps[-1])
    rates = ", ".join(dict.fromkeys(f"lr={r:g}" for r in step.rates if not math.isnan(r)))
    shown = ", ".join(f"{x:,.3g}" for x in spread(losses[: last + 1]))
    text = (
        f"The loss grew, {shown} in passes {those[0].number} to {those[last].number}: the step is too large "
        f"({rates}{at(step.place)}). Lower the learning rate, or clip the gradient with clip_grad_norm_."
    )
    yield about("divergence", text, place=step.place, severity="error")


def spread(values: list[float], most: int = 5) -> list[float]:
    """The beginning and the end of a list."""
    return values if len(values) <= most else [*values[:3], *values[-2:]]


def no_step(analysis: Analysis) -> Iterator[Finding]:
    """Steps with a learning rate of 0, or as good as that, one after the other, up to the last one."""
    steps = [e for e in analysis.events if isinstance(e, StepFigures)]
    for optimizer in {id(s.optimizer): s.optimizer for s in steps}.values():
        own = [s for s in steps if s.optimizer is optimizer]
        nothing = AS_GOOD_AS_ZERO * max((r for s in own for r in s.rates if r < math.inf), default=0.0)
        still = 0
        for s in reversed(own):
            if not s.rates or any(r > nothing for r in s.rates):
                break
            still += 1
        if still >= STEPS:
            rate = max(own[-1].rates)
            text = (
                f"The learning rate is {'' if rate == 0 else 'as good as '}0 in the last {still} of {len(own)} steps "
                f"(lr={rate:.3g}{at(own[-1].place)}): nothing changes any more. Look at the scheduler: its length, "
                "its gamma, and how often step() is called."
            )
            yield about("no-step", text, place=own[-1].place)


def forgotten_step(analysis: Analysis) -> Iterator[Finding]:
    """Gradients that are zeroed before each pass, and an optimizer that holds them but never makes a step."""
    passes = [e for e in analysis.events if isinstance(e, PassFigures)]
    if len(passes) != len(analysis.events) or len(passes) < STEPS or any(p.leaves is None for p in passes):
        return
    seen: dict[Any, list[tuple[float, float, float]]] = {}
    for figures in passes:
        for leaf, numbers in (figures.leaves or {}).items():
            seen.setdefault(leaf, []).append(numbers)
    still = [
        leaf
        for leaf, those in seen.items()
        if leaf in analysis.held
        and len(those) == len(passes)
        and those[0][0] > 0
        and all(before == 0 and value == those[0][2] for _, before, value in those)
    ]
    if still and len(still) == sum(1 for leaf in seen if leaf in analysis.held):
        text = (
            f"{len(passes)} passes brought gradients of {name_list([analysis.names.leaf(p) for p in still])}, and each "
            "time they were zeroed without a step of the optimizer that holds them: nothing changes. Call "
            "optimizer.step() after backward()."
        )
        yield about("no-step", text, place=passes[-1].place, severity="note")


# --- modes ----------------------------------------------------------------------------------------------------------


def eval_mode(analysis: Analysis) -> Iterator[Finding]:
    """A model that is trained in eval mode although it has dropout or batch normalization."""
    recorded, held = analysis.pass_, analysis.held
    if not any(isinstance(e, StepFigures) for e in analysis.events):
        return
    calls = [c for c in analysis.calls_of_pass if c.start < recorded.start]
    for outer in calls:
        if outer.outer is not None or outer.training or not outer.recording:
            continue
        if not any(outer.start <= visit.node._seq <= outer.end for visit in analysis.visits):
            continue  # an evaluation, which this pass knows nothing of
        trained = [p for p in outer.module.parameters() if p in recorded.leaves and p in held]
        inside = [c for c in calls if outer.start <= c.start <= outer.end and not c.training]
        quiet = {type(c.module).__name__ for c in inside if isinstance(c.module, _DropoutNd) and c.module.p > 0}
        fixed = {
            type(c.module).__name__ for c in inside if isinstance(c.module, _BatchNorm) and c.module.track_running_stats
        }
        if trained and (quiet or fixed):
            name = analysis.names.modules.get(id(outer.module), type(outer.module).__name__)
            effects = [f"its {k} layers drop nothing" for k in sorted(quiet)]
            effects += [f"its {k} layers use old statistics" for k in sorted(fixed)]
            text = (
                f"`{name}` is trained in eval mode{at(outer.place)}: {' and '.join(effects)}. Call {name}.train() "
                "before training, and eval() around evaluation only."
            )
            yield about("eval-mode", text, place=outer.place)
            return


def kept_graph(analysis: Analysis) -> Iterator[Finding]:
    """Variables that hold the graph of several steps: losses that are added up, or listed, with their history."""
    recorded = analysis.pass_
    times = [e.time for e in analysis.events if isinstance(e, StepFigures) and e.time < recorded.start]
    if len(times) < 2:
        return
    spans: dict[str, set[int]] = {}
    for name, value in recorded.variables.items():
        e = gradient_edge(value) if isinstance(value, Tensor) and value._fn is not None else None
        if e is None or e._seq == 0:
            continue
        seqs = [node._seq for node in reachable([e]) if isinstance(node, Node)]
        held = {sum(1 for t in times if t < seq) for seq in seqs}
        spans.setdefault(name.partition("[")[0], set()).update(held)
    for name, held in spans.items():
        if len(held) >= STEPS:
            text = (
                f"`{name}` holds the graph of {len(held)} steps, and their memory with it. Add up numbers: "
                f"loss.item(), or loss.detach()."
            )
            yield about("kept-graph", text, place=recorded.place)
