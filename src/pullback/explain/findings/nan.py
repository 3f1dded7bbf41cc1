"""The origin of a NaN or an infinity: what came in with it, the operation that made it, or where it is first seen.

What was there before the pass is looked at first: leaves, buffers, and the program's variables. An operation is said to
have made a NaN only if all its operands are known and are sound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.graph import Node
from ...core.op import Op
from ...core.versions import owner_of
from ...ops import arithmetic, mask, norm, pointwise, reduce, statistics, where
from ...ops.cross_entropy import _cross_entropy, _nll
from ...ops.softmax import _log_softmax, _softmax
from ..course import StepFigures
from ..forward import Forward, Operand, is_float
from ..recorder import Broken, Visit
from ..replay import to_dense
from ..schema import Finding, Step
from .wording import about, assigned_at, at, label, name_list, saved_value

if TYPE_CHECKING:
    from ..analysis import Analysis

INSERTING = {
    mask._masked_fill.op,
    where.elementwise_where.op,
    arithmetic.elementwise_add.op,
    arithmetic.elementwise_sub.op,
}  # inf is meant
HALF_MAX = 65504.0

# What to do about NaN and infinity that an operation makes.
ADVICE: dict[Op, str] = {
    pointwise.log.op: "Keep the argument of log above 0, log(x.clamp(min=1e-8)), or use log_softmax or logsigmoid.",
    pointwise.log2.op: "Keep the argument of log2 above 0.",
    pointwise.log10.op: "Keep the argument of log10 above 0.",
    pointwise.log1p.op: "Keep the argument of log1p above -1.",
    pointwise.sqrt.op: "Add a small number under the root, sqrt(x + 1e-8): its derivative is infinite at 0.",
    pointwise.rsqrt.op: "Add a small number under the root, rsqrt(x + 1e-8).",
    pointwise.exp.op: "Subtract the maximum first, as logsumexp and softmax do, or clamp the exponent.",
    arithmetic.elementwise_div.op: "Add a small number to the denominator, or leave out elements where it is 0.",
    arithmetic.elementwise_pow.op: "Keep the base away from 0 where the exponent is below 1.",
    pointwise.reciprocal.op: "Keep the denominator away from 0.",
    norm.vector_norm.op: "Add a small number under the root: the derivative of a norm is not defined at 0.",
    statistics.deviation.op: "A single value has no deviation: take more values, or correction=0.",
    statistics.variance.op: "A single value has no variance: take more values, or correction=0.",
}
IGNORED = "All targets of the batch are ignored (0/0): leave such batches out, or reduction='sum'."
OTHERWISE = "Look at what its operands are there, and keep them in the range where it is finite."


def origin_of_nan(analysis: Analysis) -> Iterator[Finding]:
    """Why outputs or gradients are not finite, if they are not. Infinities inside of the forward pass may be meant (a
    mask before a softmax), and NaN may be left out again.
    """
    recorded = analysis.pass_
    bad = lambda v: v is not None and (v.nan or v.inf)  # noqa: E731
    bad_gradients = any(map(bad, analysis.measured.values()))
    bad_outputs = any(not np.isfinite(a).all() for a in recorded.outputs if is_float(a))
    if not bad_gradients and not bad_outputs:
        return
    for make in (bad_seed, bad_leaf, forward_origin):
        found = make(analysis)
        if found is not None:
            yield found
            return
    for step, visit in zip(analysis.steps, analysis.visits) if bad_gradients else ():
        wrong = [d for d in step.downstream if bad(d.gradient)]
        if wrong and not any(bad(v) for v in step.upstream):
            yield backward_finding(analysis, step, visit, wrong[0])
            return
    if analysis.steps:
        step = analysis.steps[0]
        text = f"{what(recorded.outputs)} is first seen in the output of {label(step)}; all that was kept is finite."
        blame = next((blame_text(analysis, b, None) for b in constants(analysis)), None)
        blame = blame or "Look at constants that it was made with: a target, a scale."
        yield about("nan", f"{text} {blame}", step, severity="error")


def what(arrays: Sequence[Any]) -> str:
    return "NaN" if any(np.isnan(a).any() for a in arrays if is_float(a)) else "An infinity"


# --- what was there before ------------------------------------------------------------------------------------------


def bad_seed(analysis: Analysis) -> Finding | None:
    """A seed that is not finite."""
    for root in analysis.roots:
        if root.seed.nan or root.seed.inf:
            count, word = (root.seed.nan, "NaN") if root.seed.nan else (root.seed.inf, "infinite")
            text = (
                f"The seed (the `gradient` argument of backward) has {count} {word} of {root.seed.size} elements, and "
                "they reach every gradient. Look at how it is computed."
            )
            return about("seed", text, place=analysis.pass_.place, severity="error")
    return None


def extent(b: Broken) -> str:
    """How much of a tensor is not finite, and where."""
    count = b.nan or b.inf
    words = [f"{count} of {b.size} elements" if b.size > 1 else "its only element"]
    if len(b.shape) > 1:
        words.append(
            f"first in row {b.index[0]}: {[*b.index]}" if b.nan + b.inf > 1 else f"row {b.index[0]}: {[*b.index]}"
        )
    elif b.size > 1:
        words.append(f"row {b.index[0]}")
    return ", ".join(words)


def bad_leaf(analysis: Analysis) -> Finding | None:
    """Leaves that were not finite when the pass began, and the step that made them so, where it was seen."""
    recorded = analysis.pass_
    broken = [b for b in recorded.broken if b.tensor in recorded.leaves]
    if not broken:
        return None
    b, names = broken[0], [analysis.names.leaf(b.tensor) for b in broken]
    word = "NaN" if b.nan else "infinite"
    where_ = f"{b.nan or b.inf} of {b.size} elements, {[*b.index]}" if b.size > 1 else "its only element"
    text = f"{name_list(names[:1])} was already {word} before this pass ({where_})"
    if len(names) > 1:
        text += f", and so {'was' if len(names) == 2 else 'were'} {name_list(names[1:])}"
    step = step_before(analysis, b.tensor)
    if step is None:
        first = analysis.recorder.first_bad
        if first is not None and first.number < recorded.number:
            text += f". Pass {first.number} was the first that was not finite: look there (--step first-bad)."
        else:
            text += ". Look at where it is made, loaded or changed."
        return about("nan", text, place=recorded.place, severity="error", leaves=names)
    rates = ", ".join(dict.fromkeys(f"lr={rate:g}" for rate in step.rates))
    text += f": the optimizer's step{at(step.place)} ({rates}) made it so"
    text += (
        ". Its gradient was finite: lower the learning rate."
        if math.isfinite(step.norm)
        else ", since its gradient was not finite: look at the pass before."
    )
    return about("nan", text, place=step.place, severity="error", leaves=names)


def step_before(analysis: Analysis, leaf: Any) -> StepFigures | None:
    """The newest optimizer step on a leaf before the pass, if a pass before that saw the leaf finite."""
    found, sound = None, False
    for event in analysis.recorder.course.events:
        if isinstance(event, StepFigures):
            if event.time < analysis.pass_.start and analysis.recorder.course.held.get(leaf) is event.optimizer:
                found = event if sound else None
        elif event.number < analysis.pass_.number and event.leaves is not None and leaf in event.leaves:
            sound = math.isfinite(event.leaves[leaf][2])
    return found


def known_as(analysis: Analysis, b: Broken) -> str:
    """A buffer or variable, in words."""
    if b.name is None:
        return f"the buffer `{analysis.names.buffer(b.tensor)}`"
    return f"the input `{b.name}`"


def constant_finding(analysis: Analysis, b: Broken, seen: Step | None) -> Finding:
    """The finding that a buffer or an input came in with NaN or infinity."""
    return about("nan", blame_text(analysis, b, seen), place=analysis.pass_.place, severity="error")


def blame_text(analysis: Analysis, b: Broken, seen: Step | None) -> str:
    line = assigned_at(b.name, analysis.pass_.place) if b.name else None
    word = (
        ("is infinite" if not b.nan else "is NaN") if b.size == 1 else "has a NaN" if b.nan else "has infinite elements"
    )
    text = f"{known_as(analysis, b)} {word} ({extent(b)}{f'; made at line {line}' if line else ''})"
    text = text[0].upper() + text[1:] + ", not made by this pass"
    text += f"; it is first seen in {label(seen)}." if seen is not None else "."
    if b.name is None:
        return text + " Reset the buffer (module.reset_running_stats()), and look at the batch that spoiled it."
    return text + f" Clean the data, or leave such rows out: torch.isfinite({b.name})."


def constants(analysis: Analysis) -> list[Broken]:
    """Buffers and variables that are not finite. The statistics that batch normalization updates in training are left
    out: the pass itself spoils them.
    """
    updated = analysis.names.updated_buffers()
    leaves = analysis.pass_.leaves
    return [
        b
        for b in analysis.pass_.broken
        if b.tensor not in leaves and (b.name is not None or id(b.tensor) not in updated)
    ]


# --- the forward pass -----------------------------------------------------------------------------------------------


def forward_origin(analysis: Analysis) -> Finding | None:
    """Goes through the nodes in the order of the forward pass, up to the first whose result is not sound."""
    forward = Origin(analysis)
    infinite: Finding | None = None
    for node in forward.nodes:
        for k in range(len(node._shape)) if node._shape.__class__ is list else (-1,):
            out = forward.results.get((-node._seq, k))
            if out is None or not is_float(out) or np.isfinite(out).all():
                continue
            operands = forward.operands(node)
            came = next((o for o in operands if o.known and is_float(o.value) and np.isnan(o.value).any()), None)
            infinities = [o for o in operands if o.known and is_float(o.value) and np.isinf(o.value).any()]
            nan = bool(np.isnan(out).any())
            if came is not None:
                return forward.came_in(node, came)
            inserted = node._op in INSERTING and not nan
            if infinities and not inserted:
                constant = next((o for o in infinities if o.edge is None), None)
                if constant is not None and infinite is None and node._op not in INSERTING:
                    return forward.came_in(node, constant)
            if nan:
                return infinite or forward.made(node, out, operands, np.isnan)
            if infinite is None and not infinities and not inserted:
                infinite = forward.made(node, out, operands, np.isinf)
    return infinite


class Origin(Forward):
    """The forward pass of an analysis, and what is said of its first value that is not finite."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis.pass_)
        self.analysis = analysis

    def step(self, node: Node) -> Step | None:
        position = self.analysis.position.get(node._seq)
        return None if position is None else self.analysis.steps[position]

    def nearest(self, step: Step) -> Broken | None:
        """What is known to hold NaN beside the leaves: of several the one of a size most like that of the result."""
        size = math.prod(step.shape) if step.shape.__class__ is tuple else 1
        found = [b for b in constants(self.analysis) if b.nan]
        return min(found, key=lambda b: (abs(b.size - size), b.name is None)) if found else None

    def came_in(self, node: Node, operand: Operand) -> Finding | None:
        """The finding for an operand that was not finite before: a constant, or a value whose origin is not known."""
        step = self.step(node)
        for b in constants(self.analysis):
            if b.owner is owner_of(operand.value):
                same = [c for c in constants(self.analysis) if c.owner is b.owner]
                closest = min(same, key=lambda c: (abs(c.size - operand.value.size), c.name is None))
                return constant_finding(self.analysis, closest, step)
        if step is None:
            return None
        index = first_not_finite(operand.value)
        at_ = f", at element {[*index]}" if index else ""
        text = f"{label(step)} was given {operand.value[index]} in `{operand.name}`{at_}"
        nearest = self.nearest(step)
        if nearest is not None:
            return constant_finding(self.analysis, nearest, step)
        text += ": it was made before this pass. Look at where this value comes from: the data, a target, a buffer."
        return about("nan", text, step, severity="error")

    def made(self, node: Node, out: Any, operands: list[Operand], wrong: Any) -> Finding | None:
        """The finding for a node whose result is not finite while its known operands are."""
        step = self.step(node)
        if step is None:
            return None
        unknown = [o for o in operands if not o.known]
        if unknown and wrong is np.isnan:
            nearest = self.nearest(step)
            if nearest is not None:
                return constant_finding(self.analysis, nearest, step)
        out = np.asarray(out)
        index = tuple(int(i) for i in np.argwhere(wrong(out))[0])
        said = ", ".join(
            element_text(o.name, o.value, index, out.shape)
            for o in operands
            if o.known and (is_float(o.value) or isinstance(o.value, (int, float)))
        )
        place = f", at element {[*index]}" if index else ""
        if unknown:
            text = f"{out[index]} is first seen in {label(step)}{place}"
            hint = "Not all of its operands were kept: look there, and at what they were made of."
        else:
            text = f"The forward pass makes {out[index]} first in {label(step)}{place}"
            hint = ""
        why = reason(node, self.kept) if wrong is np.isnan else ""
        advice = why or (hint if unknown else ADVICE.get(node._op, OTHERWISE))
        if out.dtype == np.float16 and wrong is np.isinf:
            advice = f"float16 holds numbers up to {HALF_MAX:,.0f}: use bfloat16 or float32 here. {advice}"
        return about("nan", f"{text}{': ' + said if said else ''}. {advice}", step, severity="error")


def reason(node: Node, kept: dict[int, Any]) -> str:
    """Why an operation made NaN, where the operation itself tells; ``kept`` is what the nodes saved."""
    op, values = node._op, kept.get(node._seq)
    if op is None or values is None:
        return ""
    if op is reduce.mean.op and 0 in (saved_value(Visit(node, values, (), ()), "input_shape") or ()):
        return "It is the mean of no elements (0/0): leave empty selections out."
    if op in (_nll.op, _cross_entropy.op):
        return IGNORED
    if op is arithmetic.elementwise_add.op and all_ignored(node._edges[0], kept):
        return IGNORED
    if op in (_softmax.op, _log_softmax.op):
        return "The whole row is masked with -inf (0/0): let each row keep an element, or mask with -1e9."
    return ""


def all_ignored(e: Any, kept: dict[int, Any]) -> bool:
    """Whether an edge leads to a classification loss that gave no target a weight."""
    if not isinstance(e, Node) or e._op not in (_nll.op, _cross_entropy.op) or not kept.get(e._seq):
        return False
    shares = saved_value(Visit(e, kept[e._seq], (), ()), "shares")
    return isinstance(shares, np.ndarray) and not shares.any()


# --- the backward pass ----------------------------------------------------------------------------------------------


def backward_finding(analysis: Analysis, step: Step, visit: Visit, d: Any) -> Finding:
    """The finding for a step whose rule makes NaN or infinity of sound values."""
    bad = lambda v: v is not None and (v.nan or v.inf)  # noqa: E731
    r = np.asarray(to_dense(next(r for r in visit.grad_inputs if bad(analysis.measured.get(id(r))))))
    index = first_not_finite(r)
    place = f"element {[*index]} of " if index else ""
    text = (
        f"The backward pass makes {r[index]} first in {label(step)}, in {place}the gradient for "
        f"`{d.argument}`: {d.rule}, with {operands_text(visit, index, r.shape)}."
    )
    advice = ADVICE.get(visit.node._op, OTHERWISE)
    g = visit.grad_outputs[0] if visit.grad_outputs else None
    if isinstance(g, np.ndarray) and g.shape == r.shape and g[index] == 0:
        advice += " The gradient that arrives there is 0, and 0 · inf is NaN: for torch.where, mask before, not after."
    return about("nan", f"{text} {advice}", step, severity="error")


def first_not_finite(a: Any) -> tuple[int, ...]:
    """The index of the first NaN, else of the first infinity."""
    wrong = np.isnan(a)
    return tuple(int(i) for i in np.argwhere(wrong if wrong.any() else ~np.isfinite(a))[0])


def operands_text(visit: Visit, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The gradient and the saved values at one element."""
    said = [element_text("g", g, index, shape) for g in visit.grad_outputs[:1] if isinstance(g, np.ndarray)]
    op = visit.node._op
    names = op.saved_names if op is not None else [f"saved_tensors[{i}]" for i in range(len(visit.saved))]
    said += [element_text(n, v, index, shape) for n, v in zip(names, visit.saved) if isinstance(v, np.ndarray)]
    return ", ".join(said)


def element_text(name: str, array: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """An operand's value at an element of a result, if it broadcasts to it; else its range."""
    try:
        return f"{name} = {np.broadcast_to(array, shape)[index]:.6g}"
    except ValueError:
        if not array.size:
            return f"{name} is empty"
        if array.size == 1:
            return f"{name} = {array.reshape(-1)[0]:.6g}"
        return f"{name} from {array.min():.4g} to {array.max():.4g}"
