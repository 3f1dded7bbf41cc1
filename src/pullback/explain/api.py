"""``explain(output)`` and ``with explain()``: the entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..base.errors import with_notes
from ..engine import engine, plan
from ..engine.api import _as_tuple, _edge_of_input, _roots
from ..engine.hooks import observe
from .altered import Lines, attached, other_rates
from .explanation import Explanation
from .recorder import Pass, Recorder, reachable_leaves


def explain(
    output: Any = None,
    gradient: Any = None,
    inputs: Any = None,
    *,
    passes: int = 16,
    without_detach: Lines = (),
    lr_times: float = 1.0,
) -> Explanation:
    """Explain a backward pass: each step's upstream gradient, rule, downstream gradients and line of code.

    With an ``output``, its backward pass is run only to be explained: no ``.grad`` changes, the graph stays usable, no
    hook runs (steps name their hooks). Without, it returns a context manager that records the backward passes of the
    code in its block, which runs as it would otherwise. If the forward pass is in the block, it is recorded as well:
    then every step knows its module, and cut branches are found.

    Args:
        output: a tensor, or several.
        gradient: the seed, or one for each output, as for ``backward``.
        inputs: only the gradients of these tensors, leaves or not.
        passes: how many passes the context manager keeps: the newest.
        without_detach: lines of the program, as numbers or like ``"train.py:12"``, whose ``detach()`` does nothing in
            the block: to see what it cuts, and to :meth:`~Explanation.compare`.
        lr_times: factor for the learning rates of all optimizer steps in the block, likewise.

    Returns:
        an :class:`Explanation`: data in ``steps``, ``leaves``, ``findings``; ``paths(x)``, ``seed(x)``; ``print()``,
        ``save("x.html")``.

    Raises:
        RuntimeError: as ``output.backward(gradient)`` would: for a seed of another shape, a graph freed already.

    >>> import pullback as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.explain() as e:
    ...     (x ** 3).backward()
    >>> e.steps[0].downstream[0].rule
    'dx = g · 3 · x²'
    >>> e.leaves[0].name, e.leaves[0].gradient.values
    ('x', 12.0)
    """
    recorder = Recorder(last=passes)
    if output is None:
        around = [partial(attached, without_detach)] if without_detach else []
        around += [partial(other_rates, lr_times)] if lr_times != 1 else []
        return Explanation(recorder, around=around)
    if without_detach or lr_times != 1:
        raise with_notes(
            ValueError("without_detach and lr_times change how a program runs, but this output is computed already"),
            "Run the program inside of `with pullback.explain(...)`.",
        )
    outputs = _as_tuple(output)
    roots = _roots(outputs, _as_tuple(gradient, len(outputs)), False)
    if inputs is None:
        wanted = list(reachable_leaves([e for e, _ in roots]))
    else:
        wanted = [_edge_of_input(t) for t in _as_tuple(inputs)]
    recorded = Pass(1, roots, sys._getframe(), limited=inputs is not None, shown=False)
    recorder.passes.append(recorded)
    with observe(recorded.note), hooks_silent([e for e, _ in roots]):
        engine.run(roots, retain=True, create=False, wanted=wanted, accumulate=False)
    recorded.finish()
    recorder.note_end(recorded)
    return Explanation(recorder, recorded)


@contextmanager
def hooks_silent(edges: list[Any]) -> Iterator[None]:
    """Context manager that takes all hooks off the graph behind these edges."""
    holders = [h for h in [*plan.reachable(edges), *reachable_leaves(edges)] if h._hooks is not None]
    hooks = [h._hooks for h in holders]
    for h in holders:
        h._hooks = None
    try:
        yield
    finally:
        for h, value in zip(holders, hooks):
            h._hooks = value
