"""The engine: pulls gradients from outputs back to inputs.

Nodes wait in a heap and run by falling sequence number, which visits every consumer before its producer. Nothing
recurses. In first-order differentiation gradients are plain arrays; with ``create_graph=True`` they are tensors
and the same rules record what they do.

Leaves receive nothing before the whole graph has run, so a backward that fails changes no ``.grad``. Only while
some leaf has hooks are leaves finished as soon as their last gradient has arrived, as in PyTorch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..core import graph, level, slots, versions
from ..core.boundary import lift_vjp
from ..core.graph import FREED, AccumulateGrad, Node
from ..core.level import sequence_number
from . import messages
from .accumulate import (
    accumulate_grad,
    accumulating,
    add_grads,
    as_array,
    as_tensor,
    grad_dtype_for,
    materialize,
    saved_as_tensors,
    unbroadcast,
    unbroadcast_all,
    unbroadcast_for_edge,
    value_of,
    with_zero_dependency,
    without_zero_times_inf,
)
from .hooks import (
    after_node,
    before_node,
    begin_backward,
    begin_observers,
    observers,
    run_prehooks,
    run_tensor_hooks,
    user_code,
)
from .plan import Plan, capture_key, leads_only_to, ready_after

ndarray = np.ndarray
DEEP = 40  # how many backwards may run inside of each other in one thread: Python's stack ends somewhere


def run(
    roots: Sequence[tuple[Any, Any]],
    *,
    retain: bool,
    create: bool,
    wanted: Sequence[Any] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Pull gradients back.

    Args:
        roots: pairs of an edge and the gradient that enters there (arrays, or tensors if ``create``).
        retain: keep saved values for another backward.
        create: record the backward pass itself.
        wanted: edges to which gradients should flow; None for every leaf there is.
        accumulate: let leaves accumulate into ``.grad``; otherwise their gradients are returned.

    Returns:
        A gradient (or None) for each wanted edge; None too for a leaf that accumulated.
    """
    local = thread_state.local
    if local.nested > DEEP:
        return run_in_another_thread(run, roots, retain=retain, create=create, wanted=wanted, accumulate=accumulate)
    trace = local.trace
    if trace is not None and not create:  # constants among the seeds must be seen, too
        roots = [(e, trace.lift(g) if g.__class__ is ndarray else g) for e, g in roots]
    extras: dict[str, Any] = {}  # what :mod:`pullback.engine.graph_task` notes about this backward
    heap: list[int] = []  # the nodes that wait, by falling sequence number,
    nodes: dict[int, Node] = {}
    grads: dict[int, Any] = {}  # and what has arrived for them so far
    leaves: dict[Any, Any] = {}
    borrowed: set[int] = set()  # (ids of) leaves whose gradient's array somebody else may hold
    captured: dict[tuple[int, int], Any] = {}
    plan = None if wanted is None or leads_only_to(roots, wanted) else Plan(roots, wanted, accumulate)
    due = ready_after(roots, plan) if graph.hooked_leaves else None
    large = kernels.LARGE
    zeros_win = thread_state.zero_times_inf > 0 and local.zeros_win
    tell, endings = begin_backward(roots) if observers or begin_observers else (None, ())
    careful = tell is not None or zeros_win or create and thread_state.anomaly > 0
    usual = not careful and not create  # nodes without hooks, of one result, then need few questions
    walking = native_walk if plan is due is None and not (zeros_win or create) else None
    ahead: Any = None  # the only node that waits, if there is just one: then it need not go through the heap
    ahead_g: Any = None
    for e, g in roots:
        if e._seq == 0:
            leaves[e] = add_grads(leaves[e], g) if e in leaves else g
            borrowed.add(id(e))
        elif e._seq > 0 and len(roots) == 1:
            ahead, ahead_g = e, g
        else:
            deliver(e, g, heap, nodes, grads)
    while True:
        if ahead is not None:
            node, g = ahead, ahead_g
            ahead = None
        elif heap:
            s = heappop(heap)
            node, g = nodes.pop(s), grads.pop(s)
        else:
            break
        if walking is not None:
            failing: list[Any] = [None]
            try:
                rest = walking(node, g, heap, nodes, grads, leaves, borrowed, retain, failing, tell)
            except Exception as error:
                if failing[0] is not None:
                    messages.note_where(error, failing[0])
                raise
            if rest is None:
                continue
            node, g = rest
        edges: Sequence[Any] = node._edges
        saved = node._saved
        hooks = node._hooks
        pulls = results = node._vjps
        if hooks is not None:
            g = before_node(hooks, g, create)
        if plan is not None:
            s = -node._seq
            for index in plan.catch.get(s, ()):
                captured[s, index] = g if index < 0 else g[index]
            asked = plan.running.get(s)
            if asked is None:
                continue
            edges = asked
        if not (
            usual
            and hooks is None
            and pulls is not None
            and g.__class__ is ndarray
            and saved is not FREED
            and node._seq >= versions.last_write
        ):
            several = node._shape.__class__ is list
            if hooks is not None and hooks.pre:
                g = run_prehooks(hooks.pre, g if several else (g,), create)
                g = list(g) if several else g[0]
            if saved is FREED:
                raise messages.backward_twice_error(node)
            if node._seq < versions.last_write:
                messages.check_saved(node)
            if several:
                g = tuple(g) if node._materializes else materialize(g, node, create)
            if create:
                saved = saved_as_tensors(node)
            pull = node._vjp
            if g.__class__ is not ndarray and thread_state.slow_path_reasons and level.holds_level_value(g):
                pulls, pull = None, lift_vjp(node.__class__._vjp).__get__(node)
            if g.__class__ is ndarray and g.size >= large and pulls is not None:
                pulls = kernels.fused(node._op)
            results = pulls
            if pulls is None or careful or hooks is not None and hooks.post:
                began = graph.clock() if create and thread_state.anomaly else 0
                try:
                    results = pull(g, saved, edges) if pulls is None else graph.apply_vjps(pulls, g, saved, edges)
                except Exception as error:
                    messages.note_where(error, node)
                    raise
                if began:
                    graph.note_parent(node, results, began)
                if zeros_win and node._op is not None and node._op.kind == "elementwise":
                    results = without_zero_times_inf(g, results, create)
                # the rule, too, may have put hooks on its node
                if careful or node._hooks is not None and node._hooks.post:
                    results = after_node(node, hooks, unbroadcast_all(results, edges, create, node), g, create, tell)
                pulls = None
        elif g.size >= large:
            pulls = results = kernels.fused(node._op)
            if node._seq >= versions.last_reshape:
                edges = accumulate_in_kernels(node, g, edges, grads, leaves, borrowed)
        if not retain and node._keeps and node._saved:
            node._saved = FREED
        for e, r in zip(edges, results):
            if e is None:
                continue
            if pulls is not None:
                try:
                    r = r(g, saved)
                except Exception as error:
                    messages.note_where(error, node)
                    raise
            if r is None:
                continue
            if create:
                if (
                    r._fn is None
                    and node._op is not None
                    and node._op.zero_second_derivative_nodes
                    and node.name().startswith(node._op.zero_second_derivative_nodes)
                ):
                    r = with_zero_dependency(r, e)
                a = r._array
                if a.__class__ is not ndarray:
                    r = level.lower_to(r, sequence_number(e))
                    a = r._array
            else:
                if r.__class__ is not ndarray:
                    r = value_of(r, e)
                a = r
            s = e._seq
            if s > 0:
                if a.shape != e._shape or a.dtype is not e._dtype:
                    r = unbroadcast(r, e._shape, e._dtype, create, node)
                if e is ahead:
                    ahead_g = add_grads(ahead_g, r)
                elif ahead is None and not heap:
                    ahead, ahead_g = e, r
                else:
                    if ahead is not None:
                        deliver(ahead, ahead_g, heap, nodes, grads)
                        ahead = None
                    deliver(e, r, heap, nodes, grads)
            elif s == 0:
                x = e._array
                if a.shape != x.shape or a.dtype is not x.dtype or node._seq < versions.last_reshape:
                    if node._seq < versions.last_reshape:
                        messages.check_shape_kept(node, e)
                    r = unbroadcast(r, x.shape, grad_dtype_for(e, a.dtype), create, node)
                if e in leaves:
                    leaves[e] = add_grads(leaves[e], r)
                    borrowed.discard(id(e))
                else:
                    leaves[e] = r
                    if r is g or pulls is None or a.base is not None or r is not a:
                        borrowed.add(id(e))
            else:
                if ahead is not None:
                    deliver(ahead, ahead_g, heap, nodes, grads)
                    ahead = None
                if a.shape != e.node._shape[e.index] or a.dtype is not e.node._dtype[e.index]:
                    r = unbroadcast(r, e.node._shape[e.index], e.node._dtype[e.index], create, node)
                deliver(e, r, heap, nodes, grads)
        if due is not None:
            for leaf in due.get(-node._seq, ()):
                if leaf in leaves:
                    g = finish_leaf(leaf, leaves.pop(leaf), id(leaf) not in borrowed, create, accumulate, tell)
                    captured[0, id(leaf)] = g
    if (
        native_accumulate is not None
        and usual
        and accumulate
        and not (graph.grad_dtypes or thread_state.no_grad_threads)
    ):
        with accumulating:
            rest = native_accumulate(leaves, borrowed)
        leaves = {leaf: leaves[leaf] for leaf in rest} if rest else {}
    for leaf, g in leaves.items():
        if leaf._hooks is None and accumulate and not careful:
            accumulate_grad(leaf, g, id(leaf) not in borrowed, create)
        else:
            captured[0, id(leaf)] = finish_leaf(leaf, g, id(leaf) not in borrowed, create, accumulate, tell)
    for end in endings:
        end()
    if extras:
        for callback in extras.get("callbacks", ()):
            callback()
    return [] if wanted is None else list(map(captured.get, map(capture_key, wanted)))


def deliver(e: Any, r: Any, heap: list[int], nodes: dict[int, Node], grads: dict[int, Any]) -> None:
    """Add a gradient to what waits for a node, or for one of its outputs."""
    if e._seq > 0:
        s = -e._seq
        if s in grads:
            grads[s] = add_grads(grads[s], r)
        else:
            grads[s] = r
            nodes[s] = e
            heappush(heap, s)
        return
    s = -e.node._seq
    if s not in grads:
        grads[s] = [None] * len(e.node._shape)
        nodes[s] = e.node
        heappush(heap, s)
    slots = grads[s]
    slots[e.index] = r if slots[e.index] is None else add_grads(slots[e.index], r)


def accumulate_in_kernels(
    node: Node, g: Any, edges: Sequence[Any], grads: dict[int, Any], leaves: dict[Any, Any], borrowed: set[int]
) -> Sequence[Any]:
    """Where a gradient waits already, let a kernel add to it what it pulls back: one way through memory instead of two.

    Returns:
        the edges, but None for those that are served.
    """
    left = list(edges)
    for k, (e, pull) in enumerate(zip(edges, node._op.accumulating_vjps)):
        if e is None or pull is None or e._seq < 0:
            continue
        waiting = grads.get(-e._seq) if e._seq else leaves.get(e)
        if waiting.__class__ is not ndarray or waiting.shape != g.shape or waiting.dtype is not g.dtype:
            continue
        try:
            total = pull(g, node._saved, waiting)
        except Exception as error:
            messages.note_where(error, node)
            raise
        if total.shape != waiting.shape or total.dtype is not waiting.dtype:
            continue
        left[k] = None
        if e._seq:
            grads[-e._seq] = total
        elif total is not waiting:
            leaves[e] = total
            borrowed.discard(id(e))
    return left


def arrive(
    r: Any,
    e: Any,
    node: Node,
    heap: list[int],
    nodes: dict[int, Node],
    grads: dict[int, Any],
    leaves: dict[Any, Any],
    borrowed: set[int],
) -> None:
    """Let a node's result arrive at an edge, whatever that is."""
    r = unbroadcast_for_edge(r, e, False, node)
    if e._seq != 0:
        deliver(e, r, heap, nodes, grads)
    elif e in leaves:
        leaves[e] = add_grads(leaves[e], r)
        borrowed.discard(id(e))
    else:
        leaves[e] = r
        borrowed.add(id(e))


def apply_joint_vjp(node: Node, g: Any, edges: Sequence[Any], retain: bool) -> Sequence[Any]:
    """The gradients of a node without hooks that has one rule for all its edges."""
    try:
        results = node._vjp(g, node._saved, edges)
    except Exception as error:
        messages.note_where(error, node)
        raise
    if node._hooks is not None and node._hooks.post:  # the rule has put them on its node
        results = after_node(node, None, unbroadcast_all(results, edges, False, node), g, False)
    if not retain and node._keeps and node._saved:
        node._saved = FREED
    return results


# The same way as machine code, once :mod:`pullback.core.record` has loaded it, and the leaves at its end.
native_walk: Callable | None = None
native_accumulate: Callable | None = None


def finish_leaf(leaf: Any, g: Any, owned: bool, create: bool, accumulate: bool, tell: Callable | None) -> Any:
    """All gradients of this leaf have arrived: hooks, then accumulation, or the gradient itself for who asked for
    it.
    """
    hooks = leaf._hooks
    if hooks is not None:
        before = g
        g = run_tensor_hooks(hooks.tensor.get(0), g, create)
        owned = owned and g is before
    if not accumulate:
        return g
    if hooks is not None and hooks.pre:
        g, owned = run_prehooks(hooks.pre, (g,), create)[0], False
    first = leaf._grad is None
    accumulate_grad(leaf, g, owned, create)
    if first and leaf._grad is not None:
        g = as_array(leaf._grad) if not create else leaf._grad  # node hooks see the gradient as it lies in .grad
    if tell is not None:
        tell(AccumulateGrad.of(leaf), (g._array if create else g,), ())
    if hooks is not None:
        with user_code(create):
            for fn in list(hooks.accumulated.values()):
                messages.check_nothing_returned(fn(leaf))
            for fn in list(hooks.post.values()):
                fn((), (as_tensor(g),))
    return None


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
