"""Units that learn nothing: cut off, saturated, constant, rounded, or all alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.graph import Node
from ...core.op import Op
from ...nn import Parameter
from ...ops import activation, arithmetic, cross_entropy, loss, matmul, normalization, pointwise, softmax
from ...ops.convolution import convolution
from ...ops.pointwise import log, sigmoid
from ...ops.trigonometry import tanh
from ...ops.where import between, in_bounds, relu, threshold
from ..recorder import Visit
from ..schema import Finding
from .wording import about, consumers, label, name_list, of_op, saved, saved_value

if TYPE_CHECKING:
    from ..analysis import Analysis

# dead: at least this share of units is cut off for the whole batch, beyond those that are open for all of it (rows
# that are much alike cut off and open about as many)
DEAD_SHARE = 0.5
MIN_ROWS = 16  # in a batch of at least so many rows
MIN_IMAGES = 2  # and images, whose positions are much alike
CHANCE = 1.5  # and by so many standard deviations more than open ones
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
            images = axis == 1 and through.ndim > 2
            if images and step.shape[0] < MIN_IMAGES:
                continue
            if dead - open_ >= max(DEAD_SHARE * count, CHANCE * math.sqrt(dead + open_)) > 0:
                units, places = ("channels", "positions") if images else ("units", "rows")
                text = (
                    f"{dead} of {count} {units} are cut off for all {rows} {places} "
                    f"by {label(step)}: no gradient passes them. Lower the learning rate, look at the biases, or use "
                    "leaky_relu."
                )
                yield about("dead-relu", text, step)


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
                        f"their slope is below {FLAT_SLOPE:g}. Scale the inputs, and start with smaller weights."
                    )
                    yield about("saturated", text, step)
    for step, visit in of_op(analysis, softmax._softmax.op):
        rows, dim = saved(visit, "out"), saved_value(visit, "dim")
        if step.number in compared or rows is None or not rows.size or not rows.ndim or rows.shape[dim] < 2:
            continue
        share = float((rows.max(axis=dim) > 1 - FLAT_SLOPE).mean())
        if share >= SATURATED_SHARE:
            text = (
                f"{share:.0%} of the rows of {label(step)} put more than {1 - FLAT_SLOPE:g} on one element: "
                "the rest gets no gradient. Scale the scores down, by the root of their width or a temperature."
            )
            yield about("saturated", text, step)


# --- results that do not depend on the input ------------------------------------------------------------------------

ROUNDING: tuple[Op, ...] = tuple(
    fn.op
    for fn in (pointwise.floor, pointwise.ceil, pointwise.trunc, pointwise.elementwise_round, pointwise.to_decimals)
) + (pointwise.sign.op,)
PRODUCTS = matmul._matmul.op, arithmetic.mul.op


def zero_leaves_behind(analysis: Analysis, number: int) -> list[str]:
    """The leaves behind a step, if the gradients of all of them are 0 throughout."""
    found: list[str] = []
    seen, todo = set(), [number]
    zero = {leaf.name for leaf in analysis.leaves if leaf.gradient.size and leaf.gradient.zeros == 1}
    while todo:
        step = analysis.steps[todo.pop() - 1]
        for d in step.downstream:
            if d.leaf is not None:
                if d.leaf not in zero:
                    return []
                found.append(d.leaf)
            elif d.step is not None and d.step not in seen:
                seen.add(d.step)
                todo.append(d.step)
    return found


def rounded(analysis: Analysis) -> Iterator[Finding]:
    """Rounding on the only way to some leaves: its derivative is 0."""
    for step, _ in of_op(analysis, *ROUNDING):
        leaves = zero_leaves_behind(analysis, step.number)
        if leaves and any(v is not None and v.norm > 0 for v in step.upstream):
            names = [*dict.fromkeys(leaves)]
            text = (
                f"The derivative of {label(step)} is zero everywhere, and so is the gradient of {name_list(names)}. "
                "Round outside of the loss, or let the gradient through: x + (x.round() - x).detach()."
            )
            yield about("rounded", text, step, leaves=names)


def constant(analysis: Analysis) -> Iterator[Finding]:
    """Normalizations over a single value, whose result is the same whatever comes in."""
    for step, visit in of_op(analysis, softmax._softmax.op, softmax._log_softmax.op):
        dim = saved_value(visit, "dim")
        used = consumers(analysis, step.number)
        multiplied = any(analysis.visits[s.number - 1].node._op in PRODUCTS for s in used)
        if step.shape and step.shape[dim] == 1 and not multiplied:
            text = (
                f"{label(step)} is taken over one value (dimension {dim} of {list(step.shape)}), so its result is "
                "constant and nothing behind it learns. For a single output use sigmoid; else choose another dim."
            )
            yield about("constant", text, step)
    for step, visit in of_op(analysis, normalization._standardize.op):
        dims, input_ = saved_value(visit, "dims"), saved(visit, "input")
        if input_ is not None and dims and input_.size and math.prod(input_.shape[d] for d in dims) == 1:
            text = (
                f"{label(step)} normalizes over one value (of {list(input_.shape)}), so its result is constant and "
                "nothing behind it learns. Normalize over more values, or leave it out."
            )
            yield about("constant", text, step)
    if not any(p.norm for p in analysis.recorder.course.passes):
        yield from times_nothing(analysis)


def times_nothing(analysis: Analysis) -> Iterator[Finding]:
    """A factor that is 0 everywhere, where no pass brought a gradient that is not."""
    for step, visit in of_op(analysis, arithmetic.mul.op):
        factors = [saved(visit, n) for n, e in zip(("input", "other"), visit.node._edges) if e is None]
        if not any(f is not None and f.size and not f.any() for f in factors):
            continue
        operands, _ = analysis.forward_values[step.number - 1]
        name = next((f"`{o.name}`" for o in operands if o.name and o.value and o.value.zeros == 1), "a factor")
        text = (
            f"{label(step)} multiplies by {name}, which is 0 everywhere, so its result is constant and nothing behind "
            "it learns. Look at how it is made: a mask, weights of examples or of losses."
        )
        yield about("constant", text, step)


# --- units that are all alike ---------------------------------------------------------------------------------------


def symmetric(analysis: Analysis) -> Iterator[Finding]:
    """Layers whose units have equal weights and equal gradients: they stay equal. Or weights and gradients of 0."""
    alike, nothing = [], []
    for leaf, (g, _) in analysis.pass_.leaves.items():
        w = leaf._array
        if not (isinstance(g, np.ndarray) and w.ndim >= 2 and w.shape == g.shape and w.size and w.dtype.kind == "f"):
            continue
        if not isinstance(leaf, Parameter) and leaf not in analysis.held:
            continue
        rows, slopes = w.reshape(len(w), -1), g.reshape(len(g), -1)
        if not np.isfinite(rows[0]).all() or not np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape)):
            continue
        if len(rows) > 1 and slopes[0].any() and np.allclose(slopes, slopes[:1], rtol=1e-4, atol=0):
            alike.append(leaf)
        elif not rows.any() and not slopes.any():
            nothing.append(leaf)
    names = [analysis.names.leaf(leaf) for leaf in alike]
    if names:
        text = (
            f"All units of {name_list(names)} have equal weights and get equal gradients, so they stay equal: the "
            "layer has the power of one unit. Initialize with random numbers."
        )
        yield about("symmetric", text, leaves=names)
    reached = [leaf for leaf, (g, _) in analysis.pass_.leaves.items() if isinstance(g, np.ndarray) and g.any()]
    if len(nothing) > 1 and len(nothing) == sum(leaf._array.ndim >= 2 for leaf in analysis.pass_.leaves) and reached:
        names = [analysis.names.leaf(leaf) for leaf in nothing]
        text = (
            f"The weights {name_list(names)} are all zero, and so are their gradients: each layer multiplies the "
            "gradient of the other by zero. Initialize with random numbers."
        )
        yield about("symmetric", text, leaves=names)
