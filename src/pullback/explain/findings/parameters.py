"""Parameters that do not learn: no gradient reaches them, or no optimizer holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...core.graph import format_line
from ...nn import ModuleDict, ModuleList, Parameter
from ..course import PassFigures, StepFigures, parameters_of
from ..schema import Finding
from .wording import about, at, cutting_text, name_list

if TYPE_CHECKING:
    from ..analysis import Analysis

Reason = tuple[str, Any, str]  # why, the line, what to do


def no_gradient(analysis: Analysis) -> Iterator[Finding]:
    """Parameters that require grad and never got one, with the reason where the forward pass was watched. Those that no
    optimizer holds are to stay as they are, where optimizers are known.
    """
    recorded, names, course = analysis.pass_, analysis.names, analysis.recorder.course
    held = analysis.held
    if recorded.limited or not (analysis.visits or held):
        return
    reached = {leaf for other in analysis.recorder.kept for leaf in other.leaves} | course.reached.keys()
    missing = [
        (name, p)
        for name, p in names.parameters
        if p._fn is not None and p not in reached and p not in recorded.reachable_leaves and (not held or p in held)
    ]
    if not missing:
        return
    used = {
        id(m)
        for root in names.roots.values()
        if any(p in recorded.reachable_leaves for p in root.parameters())
        for m in root.modules()
    }
    called = {id(c.module) for c in analysis.recorder.calls if c.start < recorded.start}
    groups: dict[Reason, list[str]] = {}
    for name, p in missing:
        owners = [m for m in names.owners(p) if id(m) in used or p in held]
        if owners and not (called and one_of_several(analysis, owners, called)):
            groups.setdefault(reason(analysis, p, owners), []).append(name)
    for (why, place, advice), group in groups.items():
        text = f"No gradient reaches {name_list(group)}: {why}{' ' + format_line(place) if place else ''}. {advice}"
        yield about("no-gradient", text, None, place, "error" if why.startswith("cut") else "warning", group)


def one_of_several(analysis: Analysis, owners: list[Any], called: set[int]) -> bool:
    """Whether a module that was not called is one of a list or dict of modules, of which others were."""
    if any(id(m) in called for m in owners):
        return False
    for root in analysis.names.roots.values():
        for holder in root.modules():
            if isinstance(holder, (ModuleList, ModuleDict)):
                parts = [list(child.modules()) for child in holder.children()]
                here = any(m is owner for part in parts for m in part for owner in owners)
                if here and any(id(m) in called for part in parts for m in part):
                    return True
    return False


def reason(analysis: Analysis, p: Any, owners: list[Any]) -> Reason:
    """Why no gradient reaches a parameter."""
    recorded = analysis.pass_
    calls = [c for c in analysis.recorder.calls if c.start < recorded.start]
    cuts = analysis.recorder.detaches
    cut = next((c for c in reversed(cuts) if c.seq < recorded.start and p in c.leaves), None)
    own = [c for c in calls if any(c.module is m for m in owners)]
    if calls and not own:
        return "its module was not called", None, "Call it, or take it out of the model."
    if cut is not None:
        return (
            f"cut by {cut.how} at",
            cut.place,
            f"Leave {cut.how} out, or freeze what is behind it: requires_grad_(False).",
        )
    if own and not any(c.recording for c in own):
        return (
            "it ran under no_grad() or inference_mode(), called at",
            own[-1].place,
            "Take the call out of that block.",
        )
    if calls:
        place = own[-1].place
        cutting = cutting_text(place)
        hint = f"Results that have no gradient come of {cutting}." if cutting else "Look where its result goes."
        return "its module ran, but nothing that the output depends on came of it, at", place, hint
    return (
        "the output does not depend on it",
        None,
        "Put the forward pass in a `with pullback.explain()` block, too, to see why.",
    )


def frozen(analysis: Analysis) -> Iterator[Finding]:
    """Parameters that do not require grad although an optimizer holds them and their module runs."""
    held, names = analysis.held, analysis.names
    called = {id(c.module) for c in analysis.recorder.calls}
    those = [
        (name, p)
        for name, p in names.parameters
        if p._fn is None and p in held and any(id(m) in called for m in names.owners(p))
    ]
    if those and any(p in analysis.pass_.leaves for p in held):
        group = [name for name, _ in those]
        text = (
            f"{name_list(group)} {'does' if len(group) == 1 else 'do'} not require grad, so the optimizer that holds "
            f"{'it' if len(group) == 1 else 'them'} never changes {'it' if len(group) == 1 else 'them'}. If that is to "
            "learn: requires_grad_(True); if not: leave them out of the optimizer."
        )
        yield about("frozen", text, leaves=group)


def not_optimized(analysis: Analysis) -> Iterator[Finding]:
    """Parameters that get gradients and are in no optimizer, beside others of the same model that are."""
    held, names, recorded = analysis.held, analysis.names, analysis.pass_
    if not any(isinstance(e, StepFigures) for e in analysis.events):
        return
    changed = changed_by_hand(analysis)
    alone = [
        leaf for leaf in recorded.leaves if isinstance(leaf, Parameter) and leaf not in held and leaf not in changed
    ]
    groups: dict[tuple[bool, bool], list[str]] = {}
    for leaf in alone:
        roots = [root for root in names.roots.values() if any(p is leaf for p in root.parameters())]
        listed = names.in_list(leaf)
        model = [*roots, *([listed] if listed is not None else [])]
        beside = any(p in held for root in model for p in root.parameters())
        if (
            listed is not None
            and beside
            and not roots
            or beside
            or any(root.training for root in roots)
            and steps_beside(analysis)
        ):
            groups.setdefault((listed is not None and not roots, beside), []).append(names.leaf(leaf))
    for (in_list, _), group in groups.items():
        one = len(group) == 1
        text = f"{name_list(group)} {'gets' if one else 'get'} a gradient, but {'is' if one else 'are'} in no optimizer"
        text += (
            ": modules in a Python list are not seen by parameters(). Use nn.ModuleList."
            if in_list
            else ". Give it all layers, once they are made; freeze those that are not to learn: requires_grad_(False)."
        )
        yield about("not-optimized", text, leaves=group)


def steps_beside(analysis: Analysis) -> bool:
    """Whether optimizers change parameters that this pass reached, too."""
    return any(isinstance(p, Parameter) and p in analysis.pass_.leaves for p in analysis.held)


def changed_by_hand(analysis: Analysis) -> set[Any]:
    """Leaves whose values changed from one pass to another."""
    values: dict[Any, set[float]] = {}
    for event in analysis.events:
        if isinstance(event, PassFigures) and event.leaves is not None:
            for leaf, (_, _, square) in event.leaves.items():
                values.setdefault(leaf, set()).add(square)
    return {leaf for leaf, seen in values.items() if len(seen) > 1}


def no_update(analysis: Analysis) -> Iterator[Finding]:
    """An optimizer none of whose parameters ever has a gradient, although nothing that ran has them."""
    recorder = analysis.recorder
    steps = [e for e in analysis.events if isinstance(e, StepFigures) and e.gradients is not None]
    for optimizer in {id(s.optimizer): s.optimizer for s in steps}.values():
        own = [s for s in steps if s.optimizer is optimizer]
        held = [*parameters_of(optimizer)]
        reached = any(p in recorder.course.reached or p in analysis.pass_.leaves for p in held)
        if reached or any(s.closure or any((s.gradients or {}).values()) for s in own):
            continue
        ran = {id(p) for call in recorder.calls for p in call.module._parameters.values()}
        if any(id(p) in ran or any(p in cut.leaves for cut in recorder.detaches) for p in held):
            continue  # it is this model, and its results are cut off
        text = (
            f"The optimizer{at(own[-1].place)} makes steps, but none of its "
            f"{len(own[-1].gradients or ())} parameters ever gets a gradient: it holds those of another model, or of a "
            "copy. Make it from the parameters of the model that is trained."
        )
        yield about("no-update", text, place=own[-1].place, severity="error")
