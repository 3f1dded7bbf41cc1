"""Gradients that vanish or explode on their way back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..schema import Finding, Step
from .wording import label

if TYPE_CHECKING:
    from ..analysis import Analysis

FACTOR = 1e3  # vanishing or exploding: the gradient's norm changes by more than this
MIN_LAYERS = 4  # over at least so many layers
FORGETFUL, FORGOTTEN = 0.35, 1e-6  # of a recurrence: vanishing if it keeps less than this a step, and in all
VANISHING = "Use relu in place of sigmoid or tanh, normalization, residual connections, or gates."
EXPLODING = "Start with smaller weights, normalize, or clip the gradient with clip_grad_norm_."


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
    kind, verb, advice = ("vanishing", "shrinks", VANISHING) if ratio < 1 else ("exploding", "grows", EXPLODING)
    recurrent = len({d.leaf for step, _, _ in layers for d in step.downstream if d.leaf is not None}) < len(layers)
    if kind == "vanishing" and recurrent and (each > FORGETFUL or ratio > FORGOTTEN):
        return  # gates of a recurrent network let go of the past
    text = (
        f"The gradient {verb} from {a:.3g} (its norm at {label(first)}) to {b:.3g} (at {label(last)}): times "
        f"{each:.3g} a layer, over {len(layers)} layers; the last weight's own gradient has norm {of_weight:.3g}. "
        f"{advice}"
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
