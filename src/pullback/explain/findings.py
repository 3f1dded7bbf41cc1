"""Diagnostics: vanishing gradients, dead ReLUs, NaN and others, each with measurement, place and threshold.

Findings rest on measurements alone: the gradients that the engine delivered, saved values, and, where the forward pass
was watched, module calls and calls of ``detach()``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.graph import Node, format_line
from ..core.op import Op
from ..core.versions import write_after
from ..engine.plan import capture_key, reachable
from ..ops import activation, cross_entropy, loss, softmax
from ..ops.convolution import convolution
from ..ops.pointwise import log, sigmoid
from ..ops.trigonometry import tanh
from ..ops.view import expand
from ..ops.where import between, in_bounds, relu, threshold
from .measure import all_finite
from .recorder import Visit
from .replay import to_dense
from .schema import Finding, Step

if TYPE_CHECKING:
    from .analysis import Analysis

FACTOR = 1e3  # vanishing or exploding: the gradient's norm changes by more than this
MIN_LAYERS = 4  # over at least so many layers
# dead: at least this share of units is cut off for the whole batch, beyond those that are open for all of it (rows
# that are much alike cut off and open about as many)
DEAD_SHARE = 0.25
MIN_ROWS = 16  # in a batch of at least so many rows
SATURATED_SHARE = 0.5  # saturated: at least this share of elements (or rows)
FLAT_SLOPE = 1e-3  # has a slope below this
SLOPES: dict[Op, Callable[[np.ndarray], np.ndarray]] = {
    sigmoid.op: lambda out: out * (1 - out),
    tanh.op: lambda out: 1 - out * out,
}
LOSSES = loss._bce.op, log.op, cross_entropy._nll.op
PASSING_MASKS: dict[Op, Callable[..., np.ndarray]] = {  # where a gradient passes, from what the node saved
    relu.op: lambda input, out: out > 0,
    activation._hardtanh.op: lambda input, low, high: (input > low) & (input < high),
    between.op: in_bounds,
    threshold.op: lambda input, threshold: input > threshold,
}
RESHAPING_NODES = "Unsqueeze", "View", "UnsafeView", "Reshape"  # prefixes of the names of reshaping nodes
MAX_NAMES = 6  # how many names a finding lists

Check = Callable[["Analysis"], Iterator[Finding]]


def findings(analysis: Analysis) -> list[Finding]:
    """Everything found in one backward pass, the worst first."""
    found = [f for check in CHECKS for f in check(analysis)]
    return sorted(found, key=lambda f: ("error", "warning", "note").index(f.severity))


def location(step: Step) -> str:
    return f"{step.file}:{step.line}" if step.file else "an unknown line"


def label(step: Step) -> str:
    """How findings name a step."""
    return step.title + (f" in {step.module}" if step.module else "") + f", {location(step)}"


def name_list(names: list[str]) -> str:
    shown = ", ".join(f"`{n}`" for n in names[:MAX_NAMES])
    return shown + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


# --- sizes ------------------------------------------------------------------------------------------------------


def vanishing_or_exploding(analysis: Analysis) -> Iterator[Finding]:
    """Norms along the longest chain of layers, from the output backwards, and of the last weight's gradient.

    Both are checked: what reaches a layer may be small only because it is spread over many places, and then the
    weight's gradient is not.
    """
    layers = weight_layers(analysis.steps)
    if len(layers) < MIN_LAYERS:
        return
    (first, a, _), (last, b, of_weight) = layers[0], layers[-1]
    ratio = b / a
    if max(ratio, of_weight / a) > 1 / FACTOR and min(ratio, of_weight / a) < FACTOR:
        return
    each = ratio ** (1 / (len(layers) - 1))
    kind, verb = ("vanishing", "shrinks") if ratio < 1 else ("exploding", "grows")
    text = (
        f"The gradient {verb} from {a:.3g} (its norm at {label(first)}) to {b:.3g} (at {label(last)}): times "
        f"{each:.3g} a layer, over {len(layers)} layers; the last weight's own gradient has norm {of_weight:.3g}."
    )
    yield Finding(kind, text, steps=[s.number for s, _, _ in layers], file=last.file, line=last.line)


def weight_layers(steps: Sequence[Step]) -> list[tuple[Step, float, float]]:
    """The longest chain of layers (steps with a weight of two or more dimensions) that one gradient passes, each with
    the norm of its grad output and of its weight's gradient.
    """
    # the longest chain to each step, as a linked list: (layers, last layer, chain before it)
    longest: dict[int, Any] = {}
    best: Any = (0, None, None)
    for step in steps:
        way = longest.pop(step.number, (0, None, None))
        arrived = step.upstream[0]
        weights = [
            d.gradient.norm
            for d in step.downstream
            if d.leaf is not None and d.gradient is not None and len(d.gradient.shape) > 1
        ]
        if weights and arrived is not None and all(0 < norm < math.inf for norm in (arrived.norm, weights[0])):
            way = (way[0] + 1, (step, arrived.norm, weights[0]), way)
            best = max(best, way, key=lambda w: w[0])
        for d in step.downstream:
            if d.step is not None and d.gradient is not None:
                longest[d.step] = max(longest.get(d.step, way), way, key=lambda w: w[0])
    found = []
    while best[1] is not None:
        _, layer, best = best
        found.append(layer)
    return found[::-1]


# --- units that learn nothing -------------------------------------------------------------------------------------


def dead_relus(analysis: Analysis) -> Iterator[Finding]:
    """Units that a ReLU or clamp cuts off for every row of the batch: channels of a convolution, else the last
    dimension of ``(rows, ..., units)``.
    """
    for op, passing in PASSING_MASKS.items():
        for step, visit in of_op(analysis, op):
            plain = visit.saved and all(v is None or isinstance(v, (np.ndarray, int, float)) for v in visit.saved)
            if not plain or len(step.shape) < 2 or not math.prod(step.shape):
                continue
            axis = 1 if len(step.shape) == 4 or follows_convolution(visit) else len(step.shape) - 1
            count = step.shape[axis]
            rows = math.prod(step.shape) // count
            if rows < MIN_ROWS:
                continue
            through = passing(*visit.saved)
            others = tuple(i for i in range(through.ndim) if i != axis)
            dead, open_ = count - int(np.any(through, axis=others).sum()), int(np.all(through, axis=others).sum())
            if dead - open_ >= DEAD_SHARE * count:
                units, places = ("channels", "positions") if axis == 1 and through.ndim > 2 else ("units", "rows")
                text = (
                    f"{dead} of {count} {units} are cut off for all {rows} {places} "
                    f"by {label(step)}: no gradient passes them."
                )
                yield Finding("dead-relu", text, steps=[step.number], file=step.file, line=step.line)


def follows_convolution(visit: Visit) -> bool:
    """Whether a convolution is among the last few ops that computed a step's input."""
    node: Any = visit.node
    for _ in range(4):
        node = getattr(node._edges[0], "node", node._edges[0]) if node._edges else None
        if not isinstance(node, Node):
            return False
        if node._op is convolution.op:
            return True
    return False


def saturated(analysis: Analysis) -> Iterator[Finding]:
    """Sigmoid, tanh and softmax where they are flat, so that hardly any gradient passes. Inputs of losses are left out:
    there saturation may be right.
    """
    compared = {d.step for op in LOSSES for step, _ in of_op(analysis, op) for d in step.downstream}
    for op, slope in SLOPES.items():
        found = [
            (step, out)
            for step, visit in of_op(analysis, op)
            if step.number not in compared
            and (out := saved(visit, "out")) is not None
            and out.size
            and out.dtype.kind == "f"
        ]
        if found:  # together: there may be many small ones
            sizes = [out.size for _, out in found]
            flat = slope(np.concatenate([out.reshape(-1) for _, out in found])) < FLAT_SLOPE
            counts = np.add.reduceat(flat.astype(np.int64), np.cumsum([0, *sizes[:-1]])).tolist()
            for (step, _), size, count in zip(found, sizes, counts):
                if count >= SATURATED_SHARE * size:
                    text = (
                        f"{count / size:.0%} of the {size} values of {label(step)} are saturated: "
                        f"their slope is below {FLAT_SLOPE:g}."
                    )
                    yield Finding("saturated", text, steps=[step.number], file=step.file, line=step.line)
    for step, visit in of_op(analysis, softmax._softmax.op):
        rows, dim = saved(visit, "out"), saved_value(visit, "dim")
        if step.number in compared or rows is None or not rows.size or not rows.ndim or rows.shape[dim] < 2:
            continue
        share = float((rows.max(axis=dim) > 1 - FLAT_SLOPE).mean())
        if share >= SATURATED_SHARE:
            text = (
                f"{share:.0%} of the rows of {label(step)} put more than {1 - FLAT_SLOPE:g} on one element: "
                "the rest gets no gradient."
            )
            yield Finding("saturated", text, steps=[step.number], file=step.file, line=step.line)


# --- parameters that no gradient reaches ----------------------------------------------------------------------------


def no_gradient(analysis: Analysis) -> Iterator[Finding]:
    """Parameters that require grad and got none, with the reason where the forward pass was watched."""
    recorded, names = analysis.pass_, analysis.names
    calls = [c for c in analysis.recorder.calls if c.start < recorded.start]
    missing = [(name, p) for name, p in names.parameters if p._fn is not None and p not in recorded.leaves]
    if not missing or not analysis.visits or recorded.limited:
        return
    # networks may be trained in turns
    elsewhere = {leaf for other in analysis.recorder.passes for leaf in other.leaves}
    missing = [(name, p) for name, p in missing if p not in recorded.reachable_leaves and p not in elsewhere]
    used = {
        id(m)
        for root in names.roots.values()
        if any(p in recorded.reachable_leaves for p in root.parameters())
        for m in root.modules()
    }
    groups: dict[tuple[str, Any], list[str]] = {}
    for name, p in missing:
        owners = [
            (path, m)
            for root in names.roots.values()
            for path, m in root.named_modules()
            if any(q is p for q in m._parameters.values())
        ]
        if not any(id(m) in used for _, m in owners):
            continue  # a model that this output does not use
        cut = next((c for c in reversed(analysis.recorder.detaches) if c.seq < recorded.start and p in c.leaves), None)
        own = [c for c in calls if any(c.module is m for _, m in owners)]
        if calls and not own:
            reason: tuple[str, Any] = ("its module was not called", None)
        elif cut is not None:
            reason = (f"cut by {cut.how} at", cut.place)
        elif own and not any(c.recording for c in own):
            reason = ("it ran under no_grad(), called at", own[-1].place)
        elif calls:
            reason = ("its module ran, but nothing that the output depends on came of it, at", own[-1].place)
        else:
            reason = ("the output does not depend on it", None)
        groups.setdefault(reason, []).append(name)
    for (why, where), group in groups.items():
        text = f"No gradient reaches {name_list(group)}: {why}{' ' + format_line(where) if where else ''}."
        if not calls:
            text += " Put the forward pass in a `with pullback.explain()` block, too, to see why."
        severity = "error" if why.startswith("cut") else "warning"
        yield Finding("no-gradient", text, severity, leaves=group, file=where and where[0], line=where and where[1])


# --- NaN ----------------------------------------------------------------------------------------------------------


def origin_of_nan(analysis: Analysis) -> Iterator[Finding]:
    """The first NaN or infinity: in the forward pass, as far as nodes saved their operands, else in the backward pass.

    Infinities of the forward pass may be meant (a mask before a softmax): they count only if gradients are not finite.
    """
    bad = lambda v: v is not None and (v.nan or v.inf)  # noqa: E731
    broken = any(map(bad, analysis.measured.values())) or not all_finite(analysis.pass_.outputs)
    if broken or not all_finite(v for visit in analysis.visits for v in visit.saved):
        forward = first_bad_in_forward(analysis, np.isfinite if broken else lambda v: ~np.isnan(v))
        if forward is not None:
            yield forward
            return
    for step, visit in zip(analysis.steps, analysis.visits) if broken else ():
        wrong = [d for d in step.downstream if bad(d.gradient)]
        if not wrong or any(bad(v) for v in step.upstream):
            continue
        d = wrong[0]
        r = to_dense(next(r for r in visit.grad_inputs if bad(analysis.measured.get(id(r)))))
        index = first_not(np.isfinite, r)
        text = (
            f"The backward pass makes {r[index]} first in {label(step)}, at element {index} of the gradient for "
            f"`{d.argument}`: {d.rule}, with {operands_text(visit, index, r.shape)}."
        )
        yield Finding("nan", text, "error", steps=[step.number], file=step.file, line=step.line)
        return
    outputs = [array for array in analysis.pass_.outputs if isinstance(array, np.ndarray)]
    if analysis.steps and any(np.isnan(array).any() for array in outputs):
        step = analysis.steps[0]
        text = (
            f"The output of {label(step)} holds nan although all gradients, and all that was kept, are finite: it came "
            "with a constant, through operations that keep nothing for their rules."
        )
        yield Finding("nan", text, "error", steps=[step.number], file=step.file, line=step.line)


def computed(node: Any, values: Sequence[Any]) -> np.ndarray | None:
    """The result of an elementwise op, recomputed where its node saved all arguments."""
    op = node._op
    if op.kind != "elementwise" or node._packs or any(name not in op.saved_names for name in op.params):
        return None
    arguments = [values[op.saved_names.index(name)] for name in op.params]
    if any(arguments[i] is None for i in op.tensors):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(op.impl(*arguments))


def first_not(sound: Callable[[np.ndarray], np.ndarray], a: np.ndarray) -> tuple[int, ...]:
    """The index of the first element that is not sound."""
    return tuple(int(i) for i in np.argwhere(~sound(a))[0])


def first_bad_in_forward(analysis: Analysis, sound: Callable[[np.ndarray], np.ndarray]) -> Finding | None:
    """The earliest node whose result is not all sound while its operands are."""
    nodes = reachable([e for e, _ in analysis.pass_.roots])
    kept: dict[int, Any] = {t.node._seq: t.saved for t in analysis.visits}
    results: dict[tuple[int, int], np.ndarray] = {}
    operands_of: dict[int, list[tuple[str, np.ndarray]]] = {}
    for node in nodes:
        op, values = node._op, kept.get(node._seq)
        if op is None or values is None or op.takes_tensor_list:
            continue
        several = node._shape.__class__ is list
        for (kind, i, _), name, value in zip(op.saved_spec, op.saved_names, values):
            if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
                continue
            if kind == "value" and i in op.tensors:
                operands_of.setdefault(node._seq, []).append((name, value))
                e = node._edges[op.tensors.index(i)]
                if e is not None and e._seq != 0:
                    results[capture_key(e)] = value
            elif kind == "out" and not several:
                results[-node._seq, -1] = value
        if (-node._seq, -1) not in results and not several and (out := computed(node, values)) is not None:
            results[-node._seq, -1] = out
    for node in nodes:
        several = node._shape.__class__ is list
        for k in range(len(node._shape)) if several else (-1,):
            out = results.get((-node._seq, k))
            if out is None or sound(out).all():
                continue
            known = dict(operands_of.get(node._seq, ()))
            names = [node._op.params[i] for i in node._op.tensors] if node._op is not None else []
            # what the node did not save, its producer or other consumers may have
            for slot, e in enumerate(node._edges):
                if e is not None and slot < len(names) and names[slot] not in known:
                    value = e._array if e._seq == 0 else results.get(capture_key(e))
                    if value is not None and (e._seq != 0 or write_after(value, node._seq) is None):
                        known[names[slot]] = value
            if any(not sound(v).all() for v in known.values()):
                continue
            index = first_not(sound, out)
            step = analysis.steps[analysis.position[node._seq]]
            said = ", ".join(element_text(n, v, index, out.shape) for n, v in known.items())
            text = f"The forward pass makes {out[index]} first in {label(step)}, at element {index}" + (
                f": {said}." if said else "."
            )
            return Finding("nan", text, "error", steps=[step.number], file=step.file, line=step.line)
    return None


def operands_text(visit: Visit, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The gradient and the saved values at one element."""
    said = [element_text("g", g, index, shape) for g in visit.grad_outputs[:1] if isinstance(g, np.ndarray)]
    names = (
        visit.node._op.saved_names
        if visit.node._op is not None
        else [f"saved_tensors[{i}]" for i in range(len(visit.saved))]
    )
    said += [element_text(n, v, index, shape) for n, v in zip(names, visit.saved) if isinstance(v, np.ndarray)]
    return ", ".join(said)


def element_text(name: str, array: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """An operand's value at an element of a result, if it broadcasts to it; else its range."""
    try:
        return f"{name} = {np.broadcast_to(array, shape)[index]:.6g}"
    except ValueError:
        return (
            f"{name} = {array.reshape(-1)[0]:.6g}"
            if array.size == 1
            else f"{name} from {array.min():.4g} to {array.max():.4g}"
        )


# --- sums that nobody meant -----------------------------------------------------------------------------------------


def broadcast(analysis: Analysis) -> Iterator[Finding]:
    """Operands broadcast for lack of a dimension: ``(n, 1)`` against ``(n,)`` makes n × n differences."""
    for step, visit in zip(analysis.steps, analysis.visits):
        op, node = visit.node._op, visit.node
        for e in node._edges:  # a loss that expands its argument itself, in the same instruction of the program
            together = isinstance(e, Node) and (e._code, e._lasti) == (node._code, node._lasti)
            if together and e._op is expand.op and e._seq in analysis.position:
                inner = operand_shape(analysis.visits[analysis.position[e._seq]], 0)
                if inner is not None and (n := stretch_count(inner, e._shape)):
                    yield stretch_finding(step, inner, e._shape, n)
        if op is None or op.kind != "elementwise" or len(op.tensors) != 2 or node._shape.__class__ is list:
            continue
        shapes = [operand_shape(visit, slot) for slot in (0, 1)]
        out = node._shape
        stretched = [s is not None and s != () and math.prod(s) > 1 and math.prod(s) < math.prod(out) for s in shapes]
        ranks = [0 if s is None else len(s) for s in shapes]
        higher = node._edges[ranks.index(max(ranks))]
        if ranks[0] == ranks[1] or isinstance(higher, Node) and higher.name().startswith(RESHAPING_NODES):
            continue  # explicit dimensions of size 1 are meant
        if all(stretched):
            a, b = (list(s) for s in shapes)  # type: ignore[arg-type]
            text = (
                f"{label(step)} stretched both operands, {a} and {b}, to {list(out)}: each element's gradient is a sum "
                "over all those that it met."
            )
            yield Finding("broadcast", text, steps=[step.number], file=step.file, line=step.line)
        elif stretched[0] and shapes[1] is None or stretched[1] and shapes[0] is None:
            shape = next(s for s, wide in zip(shapes, stretched) if wide and s is not None)
            if n := stretch_count(shape, out):
                yield stretch_finding(step, shape, out, n)


def stretch_count(shape: tuple[int, ...], out: tuple[int, ...]) -> int:
    """How often each element of an ``(n, 1)`` occurs in an ``(n, n)``; 0 for other shapes."""
    n = next((m for m, k in zip(reversed(out), [*reversed(shape), *[1] * len(out)]) if k != m), 0)
    return n if n > 1 and math.prod(shape) == n and 1 in shape else 0


def stretch_finding(step: Step, shape: tuple[int, ...], out: tuple[int, ...], n: int) -> Finding:
    text = (
        f"{label(step)} stretched an operand of shape {list(shape)} to {list(out)}: each element's gradient is a sum "
        f"of {n} terms. If that was not meant, the other operand lacks a dimension."
    )
    return Finding("broadcast", text, steps=[step.number], file=step.file, line=step.line)


def operand_shape(visit: Visit, slot: int) -> tuple[int, ...] | None:
    """The shape of an operand, from its edge or from what was saved; None if neither tells."""
    e = visit.node._edges[slot]
    if e is not None:
        return e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]
    value = saved_value(visit, visit.node._op.params[visit.node._op.tensors[slot]])
    if value is None:
        return () if visit.node.name().endswith("Backward0") and visit.node._op.node_name.endswith("1") else None
    return np.shape(value)


def accumulated(analysis: Analysis) -> Iterator[Finding]:
    """Leaves whose ``.grad`` held something before: a mistake only if an optimizer has used that since."""
    recorded = analysis.pass_
    held = [leaf for leaf, (_, before) in recorded.leaves.items() if before > 0]
    if not held:
        return
    earlier = [p for p in analysis.recorder.passes if p.number < recorded.number]
    spent = [
        leaf
        for leaf in held
        for p in earlier[-1:]
        if leaf in p.leaves
        and write_after(leaf._array, p.start) is not None
        and stepped_between(leaf, p.start, recorded.start)
    ]
    again = {id(leaf) for leaf in spent}
    for group, updated in ((spent, True), ([leaf for leaf in held if id(leaf) not in again], False)):
        if group:
            names = [analysis.names.leaf(leaf) for leaf in group]
            norm = max(recorded.leaves[leaf][1] for leaf in group)
            text = f"The gradient was added to what .grad of {name_list(names)} held before (norm up to {norm:.3g})"
            missing = ", although the values were updated in between: zero_grad() is missing."
            text += missing if updated else ": call zero_grad() first if that was not meant."
            where = recorded.place
            yield Finding(
                "accumulated",
                text,
                "warning" if updated else "note",
                leaves=names,
                file=where and where[0],
                line=where and where[1],
            )


def stepped_between(leaf: Any, start: int, end: int) -> bool:
    write = write_after(leaf._array, start)
    return write is not None and any(start < stamp < end for stamp in write.recent)


# --- reading nodes --------------------------------------------------------------------------------------------------


def of_op(analysis: Analysis, op: Op) -> Iterator[tuple[Step, Visit]]:
    """The steps of one op."""
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


CHECKS: list[Check] = [
    origin_of_nan,
    no_gradient,
    vanishing_or_exploding,
    dead_relus,
    saturated,
    broadcast,
    accumulated,
]
