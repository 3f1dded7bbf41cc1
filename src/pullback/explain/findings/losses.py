"""Losses that do not fit what they are given: probabilities for logits, the wrong dimension, sign, seed or targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.graph import Node
from ...core.op import Op
from ...nn import Parameter
from ...ops import activation, arithmetic, cross_entropy, linear, loss, matmul, reduce, softmax, view
from ...ops.convolution import convolution
from ...ops.pointwise import log, sigmoid
from ...ops.trigonometry import tanh
from ...ops.where import relu
from ..course import StepFigures
from ..schema import Finding, Step
from .wording import about, consumers, label, location, of_op, saved, saved_value

if TYPE_CHECKING:
    from ..analysis import Analysis

LIKELIHOODS: tuple[Op, ...] = (cross_entropy._cross_entropy.op, cross_entropy._nll.op)
LOSSES: tuple[Op, ...] = (
    *LIKELIHOODS,
    *(fn.op for fn in (loss._mse, loss._smooth_l1, loss._huber, loss._bce, loss._bce_logits, loss._soft_margin)),
)
# What leaves the classes and the rows where they are.
PASSING: tuple[Op, ...] = (view.view_shape.op, view._unsafe_view.op, view.squeeze.op, view.unsqueeze.op)
SCALING: tuple[Op, ...] = (
    *PASSING,
    *(fn.op for fn in (arithmetic.neg, arithmetic.mul, arithmetic.elementwise_div, reduce.sum_all, reduce.mean)),
)
NO_LOGS: dict[Op | None, str] = {
    softmax._softmax.op: "probabilities",
    sigmoid.op: "probabilities",
    linear._linear.op: "scores of any size",
    convolution.op: "scores of any size",
    relu.op: "scores of any size",
    tanh.op: "scores of any size",
}
LOGS: tuple[Op, ...] = (softmax._log_softmax.op, activation._logsigmoid.op, log.op)


def producer(node: Node, slot: int = 0) -> Node | None:
    """The node that made an operand, as seen through reshaping."""
    e: Any = node._edges[slot] if slot < len(node._edges) else None
    while isinstance(e, Node) and e._op in PASSING:
        e = e._edges[0]
    return e if isinstance(e, Node) else None


def at_node(analysis: Analysis, node: Node) -> Step:
    return analysis.steps[analysis.position[node._seq]]


def twice(analysis: Analysis) -> Iterator[Finding]:
    """Softmax before a loss that takes it itself, and sigmoid likewise."""
    pairs = (
        ("softmax-twice", cross_entropy._cross_entropy.op, softmax._softmax.op, "softmax", "cross_entropy"),
        ("softmax-twice", softmax._log_softmax.op, softmax._softmax.op, "softmax", "log_softmax"),
        ("sigmoid-twice", loss._bce_logits.op, sigmoid.op, "sigmoid", "binary_cross_entropy_with_logits"),
        ("sigmoid-twice", sigmoid.op, sigmoid.op, "sigmoid", "sigmoid"),
    )
    for kind, outer, inner, name, by in pairs:
        for step, visit in of_op(analysis, outer):
            before = producer(visit.node)
            if before is None or before._op is not inner or before._seq not in analysis.position:
                continue
            first = at_node(analysis, before)
            again = "is a softmax of its own" if name == "softmax" else "is a sigmoid of its own"
            text = (
                f"{label(step)} ({by}) {again}, and it is given the result of {label(first)}: {name} is taken twice, "
                f"which leaves hardly a gradient. Give it the logits: leave the first {name} out."
            )
            yield about(kind, text, step)


def not_log(analysis: Analysis) -> Iterator[Finding]:
    """``nll_loss`` and ``kl_div`` of what is no log-probability."""
    for step, visit in of_op(analysis, cross_entropy._nll.op, loss.weighted.op):
        before = producer(visit.node)
        if before is None or before._op not in NO_LOGS or before._seq not in analysis.position:
            continue
        likelihood = visit.node._op is cross_entropy._nll.op
        if not likelihood and not any(is_divergence(analysis, user) for user in consumers(analysis, step.number)):
            continue
        what = NO_LOGS[before._op]
        first = at_node(analysis, before)
        advice = "Use log_softmax instead of softmax."
        if what != "probabilities":
            advice = "Use cross_entropy instead." if likelihood else "Take log_softmax of them first."
        by, place = ("nll_loss", label(step)) if likelihood else ("kl_div", f"that at {location(step)}")
        text = f"{by} expects log-probabilities, and {place} is given {what}, of {label(first)}. {advice}"
        yield about("not-log", text, step)


def is_divergence(analysis: Analysis, step: Step) -> bool:
    """Whether a step takes a product from a constant, as ``kl_div`` does."""
    node = analysis.visits[step.number - 1].node
    return node._op is arithmetic.elementwise_sub.op and node._edges[0] is None


def softmax_dim(analysis: Analysis) -> Iterator[Finding]:
    """Softmax over the rows of a batch, before a loss of classes or a batched product."""
    for step, visit in of_op(analysis, softmax._softmax.op, softmax._log_softmax.op):
        dim, shape = saved_value(visit, "dim"), step.shape
        if dim is None or len(shape) < 2 or dim % len(shape) != 0 or shape[0] < 2 or shape[1] < 2:
            continue
        for user in consumers(analysis, step.number):
            op = analysis.visits[user.number - 1].node._op
            batched = len(shape) > 2 and op is matmul._matmul.op
            if op in (cross_entropy._nll.op, log.op, loss._mse.op, loss._bce.op, loss.weighted.op) or batched:
                text = (
                    f"{label(step)} is taken over dim 0 of {list(shape)}, the batch: its rows compete with each other, "
                    f"and {user.title} takes them apart again. Say dim=-1."
                )
                yield about("softmax-dim", text, step)
                break


def sign(analysis: Analysis) -> Iterator[Finding]:
    """A loss that the optimizer makes larger: negated once too often, or not often enough."""
    recorded = analysis.pass_
    steps = [e for e in analysis.events if isinstance(e, StepFigures)]
    optimizers = {id(s.optimizer): s.optimizer for s in steps}
    if len(recorded.roots) != 1 or len(optimizers) != 1:
        return
    (optimizer,) = optimizers.values()
    if not any(isinstance(p, Parameter) and p in recorded.leaves for p in analysis.held):
        return
    ascends = {bool(group.get("maximize", False)) for group in optimizer.param_groups}
    node: Any = recorded.roots[0][0]
    node = getattr(node, "node", node)
    while isinstance(node, Node) and node._op in SCALING and node._seq in analysis.position:
        ways = [e for e in node._edges if isinstance(e, Node)]
        if len(ways) != 1:
            return
        node = ways[0]
    if not isinstance(node, Node) or node._op not in LOSSES or node._seq not in analysis.position:
        return
    if node._op is cross_entropy._nll.op and (before := producer(node)) is not None and before._op not in LOGS:
        return
    g = analysis.visits[analysis.position[node._seq]].grad_outputs[0]
    if not isinstance(g, np.ndarray) or not g.size or len(ascends) != 1:
        return
    wrong = (g > 0).all() if True in ascends else (g < 0).all()
    if wrong:
        step = at_node(analysis, node)
        text = f"The sign is wrong: the optimizer makes {label(step)} larger, " + (
            "since maximize=True. Leave it out."
            if True in ascends
            else "since the loss is negated after it. Leave the minus out."
        )
        yield about("sign", text, step)


def seed_of_zeros(analysis: Analysis) -> Iterator[Finding]:
    """A seed that is zero everywhere."""
    if analysis.roots and all(root.seed.size and root.seed.zeros == 1 for root in analysis.roots):
        text = (
            "The seed (the `gradient` argument of backward) is zero everywhere, and so is every gradient. It says how "
            "much each element of the output counts: torch.ones_like(y) for equally."
        )
        yield about("seed", text, place=analysis.pass_.place)


def targets(analysis: Analysis) -> Iterator[Finding]:
    """Targets of a binary cross entropy that are no probabilities."""
    for step, visit in of_op(analysis, loss._bce_logits.op, loss._bce.op):
        target = saved(visit, "target")
        if target is None or not target.size:
            continue
        low, high = float(target.min()), float(target.max())
        if low < 0 or high > 1:
            text = (
                f"The targets of {label(step)} are from {low:g} to {high:g}, and a binary cross entropy expects "
                "probabilities from 0 to 1: its loss has no lower bound otherwise. Map the labels to 0 and 1."
            )
            yield about("target", text, step)
