"""The engine: pulls gradients back, by machine code as far as that goes, else by a ``GraphTask``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.holding import holding
from ..core import graph, slots
from ..core.graph import Node
from . import graph_task, messages
from .accumulate import accumulate_in_leaf, accumulating, saved_as_tensors
from .graph_task import GraphTask
from .hooks import begin_observers, beginnings, observers
from .plan import leads_only_to

DEEP = 40  # how many backwards may run inside of each other in one thread: Python's stack ends somewhere


def run(
    roots: Sequence[tuple[Any, Any]],
    *,
    retain: bool,
    create: bool,
    wanted: Sequence[Any] | None = None,
    accumulate: bool = True,
    as_saved: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Pull gradients back.

    Args:
        roots: pairs of an edge and the gradient that enters there (arrays, or tensors if ``create``).
        retain: keep saved values for another backward.
        create: record the backward pass itself.
        wanted: edges to which gradients should flow; None for every leaf there is.
        accumulate: let leaves accumulate into ``.grad``; otherwise their gradients are returned.
        as_saved: for a tensor that was saved, the one that the recorded backward pass computes with instead.

    Returns:
        A gradient (or None) for each wanted edge; None too for a leaf that accumulated.
    """
    local = thread_state.local
    if local.nested > DEEP:
        return run_in_another_thread(
            run,
            roots,
            retain=retain,
            create=create,
            wanted=wanted,
            accumulate=accumulate,
            as_saved=as_saved,
        )
    for tell in beginnings:
        tell(roots)
    if (
        graph_task.native_walk is not None
        and len(roots) == 1
        and roots[0][0]._seq > 0
        and not (create or observers or begin_observers or graph.hooked_leaves or thread_state.zero_times_inf)
        and local.trace is None
        and (wanted is None or leads_only_to(roots, wanted))
    ):
        return run_natively(roots, retain, wanted, accumulate)
    if local.trace is not None and not create:  # constants among the seeds must be seen, too
        roots = [(e, local.trace.lift(g) if g.__class__ is np.ndarray else g) for e, g in roots]
    return GraphTask(roots, wanted, retain, create, accumulate, as_saved).run()


def run_natively(
    roots: Sequence[tuple[Any, Any]], retain: bool, wanted: Sequence[Any] | None, accumulate: bool
) -> list[Any]:
    """The fast path: machine code visits the nodes. A ``GraphTask`` takes over where it leaves one to Python."""
    heap: list[int] = []
    nodes: dict[int, Node] = {}
    grads: dict[int, Any] = {}
    leaves: dict[Any, Any] = {}
    borrowed: set[int] = set()
    context: list[Any] = [None, (roots, wanted, retain, False, accumulate)]  # where it failed; what a task is made of
    ((e, g),) = roots
    try:
        rest = graph_task.native_walk(e, g, heap, nodes, grads, leaves, borrowed, retain, context, None)  # type: ignore[misc]
    except Exception as error:
        if context[0] is not None:
            messages.note_where(error, context[0])
        raise
    task = context[1]
    if rest is None and not heap and not (task.__class__ is GraphTask and task.callbacks):
        if not accumulate:
            return [leaves.get(e) for e in wanted]  # type: ignore[union-attr]
        if not (graph.grad_dtypes or thread_state.no_grad_threads):
            left = holding(accumulating, graph_task.native_accumulate, leaves, borrowed)  # type: ignore[arg-type]
            for leaf in left or ():
                accumulate_in_leaf(leaf, leaves[leaf], id(leaf) not in borrowed, False)
            return []
    if task.__class__ is tuple:
        task = GraphTask(*task)
    task.heap, task.nodes, task.grads, task.leaves, task.borrowed = heap, nodes, grads, leaves, borrowed
    if rest is not None:
        task.next_node, task.next_grad = rest
    return task.run(started=True)


def run_in_another_thread(fn: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function on a fresh stack, with the modes of this thread."""
    state = {**thread_state.local.__dict__, "nested": 0}
    outcome: list[Any] = []

    def call() -> None:
        thread_state.local.__dict__.update(state)
        try:
            outcome.extend((fn(*args, **kwargs), None))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result


def call_node(node: Node, grads: Sequence[Any]) -> Any:
    """``grad_fn(gradient)``: one node's rule, on tensors."""
    expected = node._output_count
    if len(grads) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
    g = tuple(grads) if node._shape.__class__ is list else grads[0]
    results = tuple(node._vjp(g, saved_as_tensors(node), node._edges))
    return results if len(results) > 1 else results[0]


slots.fill(run_node=call_node)
