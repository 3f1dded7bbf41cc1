"""``GraphTask``: one backward pass in Python, a node at a time (PyTorch's name for it).

Nodes wait in a heap and run by falling sequence number, which visits every consumer before its producer. Nothing
recurses. In first-order differentiation gradients are plain arrays; with ``create_graph=True`` they are tensors, and
the same rules record what they do.

Leaves receive nothing before the whole graph has run, so a backward that fails changes no ``.grad``. Only while some
leaf has hooks are leaves finished as soon as their last gradient has arrived, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..base.holding import holding
from ..base.pytree import tree_map
from ..core import graph, level, versions
from ..core.boundary import lift_vjp
from ..core.graph import FREED, LEAF, AccumulateGrad, Node, apply_vjps, holds_memory
from ..core.level import sequence_number
from ..kernels import dispatch
from . import messages
from .accumulate import (
    accumulate_grad,
    accumulate_in_leaf,
    accumulating,
    add_grads,
    as_array,
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
    Shown,
    after_node,
    before_node,
    begin_backward,
    begin_observers,
    observers,
    run_prehooks,
    run_tensor_hooks,
    shown,
    user_code,
)
from .plan import Plan, capture_key, leads_only_to, reachable, ready_after

ndarray = np.ndarray

# The loop over plain nodes and the accumulation of plain leaves as machine code, once it is loaded.
native_walk: Callable | None = None
native_accumulate: Callable | None = None


class GraphTask:
    """One backward pass: what waits, what has arrived, and what is wanted of it.

    Args:
        roots: pairs of an edge and the gradient that enters there (arrays, or tensors if ``create``).
        wanted: edges to which gradients should flow; None for every leaf there is.
        retain: keep saved values for another backward.
        create: record the backward pass itself.
        accumulate: let leaves accumulate into ``.grad``; otherwise their gradients are returned.
        as_saved: for a tensor that was saved, the one that the recorded backward pass computes with instead.

    Attributes:
        heap, nodes, grads: the numbers (negated) of the nodes that wait, the nodes, and what has arrived for them.
        leaves: what has arrived for each leaf.
        borrowed: (ids of) leaves whose gradient's array somebody else may hold.
        captured: the wanted gradients, by :func:`pullback.engine.plan.capture_key`.
        node: the node whose rule, or hook, is running.
        callbacks: what is called when the pass is done.
    """

    next_node: Any = None  # the only node that waits, if there is just one: then it need not go through the heap
    next_grad: Any = None
    node: Node | None = None
    plan: Plan | None = None
    ready: dict[int, list[Any]] | None = None  # the leaves to finish after each node
    observer: Any = None
    at_end: Sequence[Callable[[], None]] = ()
    number: int | None = None
    reached: tuple[set[int], set[int]] | None = None
    checkpoint: Any = None  # what activation checkpointing notes about this pass
    shown: Shown | None = None  # the gradients that hooks were shown

    def __init__(
        self,
        roots: Sequence[tuple[Any, Any]],
        wanted: Sequence[Any] | None,
        retain: bool,
        create: bool = False,
        accumulate: bool = True,
        as_saved: Callable[[Any], Any] | None = None,
    ) -> None:
        self.roots, self.wanted, self.retain, self.create, self.accumulate = roots, wanted, retain, create, accumulate
        self.as_saved = as_saved
        self.callbacks: list[Callable[[], None]] = []

    def run(self, started: bool = False) -> list[Any]:
        """Pull the gradients of the roots back.

        Args:
            started: they have been pulled part of the way already, by :func:`pullback.engine.engine.run_natively`.

        Returns:
            A gradient (or None) for each wanted edge; None too for a leaf that accumulated.
        """
        local = thread_state.local
        self.captured: dict[tuple[int, int], Any] = {}
        if not (started or self.wanted is None or leads_only_to(self.roots, self.wanted)):
            self.plan = Plan(self.roots, self.wanted, self.accumulate)
        if graph.hooked_leaves:
            self.ready = ready_after(self.roots, self.plan)
        self.zero_times_inf = thread_state.zero_times_inf > 0 and local.zeros_win
        if observers or begin_observers:
            self.observer, self.at_end = begin_backward(self.roots)
        # Observed nodes give all results at once; plain ones one by one, each sent on before the next is computed.
        self.observed = self.observer is not None or self.zero_times_inf or self.create and thread_state.anomaly > 0
        before, grad, nested = local.graph_task, local.grad, local.nested
        try:
            local.graph_task = self
            if not started:
                self.seed()
            self.visit_all()
            self.finish()
            local.graph_task = before
        except BaseException:  # perhaps on the way into a user's hook, or out of it, or of here
            local.graph_task, local.nested = before, nested
            thread_state.set_grad(grad)
            raise
        if self.wanted is None:
            return []
        grads = list(map(self.captured.get, map(capture_key, self.wanted)))
        return grads if self.shown is None else [self.shown.seen.get(id(g), g) for g in grads]

    def seed(self) -> None:
        """Let the gradients of the roots arrive."""
        self.heap: list[int] = []
        self.nodes: dict[int, Node] = {}
        self.grads: dict[int, Any] = {}
        self.leaves: dict[Any, Any] = {}
        self.borrowed: set[int] = set()
        for e, g in self.roots:
            if e._seq == 0:
                self.leaves[e] = add_grads(self.leaves[e], g) if e in self.leaves else g
                self.borrowed.add(id(e))
            elif e._seq > 0 and len(self.roots) == 1:
                self.next_node, self.next_grad = e, g
            else:
                deliver(e, g, self.heap, self.nodes, self.grads)

    def visit_all(self) -> None:
        """Visit the nodes that wait, the newest first: hooks, the rule, and its results to where its edges lead.

        One loop with all in local variables: a call for each node and each edge would cost a third of their time.
        """
        heap, nodes, grads, leaves, borrowed = self.heap, self.nodes, self.grads, self.leaves, self.borrowed
        plan, ready, retain, create, observer = self.plan, self.ready, self.retain, self.create, self.observer
        plain, recorded = not (self.observed or create), create and not self.observed
        walk = native_walk if plan is ready is None and not (self.zero_times_inf or create) else None
        next_node, next_grad, large = self.next_node, self.next_grad, kernels.LARGE
        while True:
            # The next node: the only one that waits, or the newest of the heap.
            if next_node is not None:
                node, g = next_node, next_grad
                next_node = None
            elif heap:
                s = heappop(heap)
                node, g = nodes.pop(s), grads.pop(s)
            else:
                return
            # Machine code goes from here as far as nodes are plain.
            if walk is not None:
                context: list[Any] = [None, self]
                try:
                    rest = walk(node, g, heap, nodes, grads, leaves, borrowed, retain, context, observer)
                except Exception as error:
                    if context[0] is not None:
                        messages.note_where(error, context[0])
                    raise
                if rest is None:
                    continue
                node, g = rest
            self.node = node
            edges: Sequence[Any] = node._edges
            saved, hooks = node._saved, node._hooks
            if hooks is not None:
                g = before_node(hooks, g, create)
            if plan is not None:
                asked = plan.arrived(node, g, self.captured)
                if asked is None:
                    continue
                edges = asked
            # The rules, to be called edge by edge; or, by the slow path, all results at once.
            vjps = results = node._vjps
            checked = hooks is None and vjps is not None and saved is not FREED and node._seq >= versions.last_write
            if checked and plain and g.__class__ is ndarray:
                if g.size >= large:
                    vjps = results = dispatch.kernel_vjps(node._op)
                    if node._seq >= versions.last_reshape:
                        edges = accumulate_in_kernels(node, g, edges, grads, leaves, borrowed)
            elif checked and recorded and node._shape.__class__ is not list and g._array.__class__ is ndarray:
                saved = self.saved_of(node)
            else:
                g, saved, vjps, results = self.prepare(node, g, edges)
            if not retain and node._keeps and holds_memory(node):
                node._saved = FREED
            for e, r in zip(edges, results):
                if e is None:
                    continue
                if vjps is not None:
                    try:
                        r = r(g, saved)
                    except Exception as error:
                        messages.note_where(error, node)
                        raise
                if r is None:
                    continue
                # The result as the edge wants it: as an array or a recorded tensor, out of levels that ended there.
                if create:
                    if r._fn is None and node._op is not None and node._op.zero_second_derivative_nodes:
                        r = with_zero_dependency(node, r, e)
                    a = r._array
                    if a.__class__ is not ndarray:
                        r = level.lower_to(r, sequence_number(e))
                        a = r._array
                else:
                    if r.__class__ is not ndarray:
                        r = value_of(r, e)
                    a = r
                # It arrives at a node, a leaf, or one of several outputs of a node; in its shape and type.
                s = e._seq
                if s > 0:
                    if a.shape != e._shape or a.dtype is not e._dtype:
                        r = unbroadcast(r, e._shape, e._dtype, create, node)
                    if e is next_node:
                        next_grad = add_grads(next_grad, r)
                        continue
                    if next_node is None and not heap:
                        next_node, next_grad = e, r
                        continue
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
                        if r is g or vjps is None or a.base is not None or r is not a:
                            borrowed.add(id(e))
                    continue
                elif a.shape != e.node._shape[e.index] or a.dtype is not e.node._dtype[e.index]:
                    r = unbroadcast(r, e.node._shape[e.index], e.node._dtype[e.index], create, node)
                if next_node is not None:
                    deliver(next_node, next_grad, heap, nodes, grads)
                    next_node = None
                deliver(e, r, heap, nodes, grads)
            if ready is not None:
                for leaf in ready.get(-node._seq, ()):
                    if leaf in leaves:
                        self.captured[0, id(leaf)] = self.finish_leaf(leaf, leaves.pop(leaf))

    def prepare(self, node: Node, g: Any, edges: Sequence[Any]) -> tuple[Any, Any, Any, Sequence[Any]]:
        """The slow path of a visit: pre-hooks, checks of what was saved, recording, joint rules, levels, observers.

        Returns:
            The gradient, the saved values, the rules that are still to be called (None: none), and these rules, or the
            results.
        """
        hooks, saved, create = node._hooks, node._saved, self.create
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
            saved = self.saved_of(node)
        vjps, vjp = node._vjps, node._vjp
        if g.__class__ is not ndarray and thread_state.slow_path_reasons and level.holds_level_value(g):
            vjps, vjp = None, lift_vjp(node.__class__._vjp).__get__(node)
        if g.__class__ is ndarray and g.size >= kernels.LARGE and vjps is not None:
            vjps = dispatch.kernel_vjps(node._op)
        if vjps is not None and not self.observed and not (hooks is not None and hooks.post):
            return g, saved, vjps, vjps
        began = graph.clock() if create and thread_state.anomaly else 0
        try:
            results = vjp(g, saved, edges) if vjps is None else apply_vjps(vjps, g, saved, edges)
        except Exception as error:
            messages.note_where(error, node)
            raise
        if began:
            graph.note_parent(node, results, began)
        if self.zero_times_inf and node._op is not None and node._op.kind == "elementwise":
            results = without_zero_times_inf(g, results, create)
        if self.observed or node._hooks is not None and node._hooks.post:  # the rule, too, may put hooks on its node
            results = after_node(node, hooks, unbroadcast_all(results, edges, create, node), g, create, self.observer)
        return g, saved, None, results

    def saved_of(self, node: Node) -> tuple[Any, ...]:
        """What a node saved, for recording the backward pass."""
        saved = saved_as_tensors(node)
        return saved if self.as_saved is None else tree_map(self.as_saved, saved)

    def reach(self) -> tuple[set[int], set[int]]:
        """The numbers of all nodes behind the roots, and the ids of all leaves there."""
        if self.reached is None:
            found = reachable([e for e, _ in self.roots])
            edges = [e for node in found for e in node._edges] + [e for e, _ in self.roots]
            self.reached = {n._seq for n in found}, {id(e) for e in edges if e is not None and e._seq == 0}
        return self.reached

    def finish(self) -> None:
        """Let the leaves have their gradients, now that the whole graph has run."""
        leaves, plain = self.leaves, self.accumulate and not self.observed
        if (
            native_accumulate is not None
            and plain
            and not (self.create or graph.grad_dtypes or thread_state.no_grad_threads)
        ):
            rest = holding(accumulating, native_accumulate, leaves, self.borrowed)
            leaves = {leaf: leaves[leaf] for leaf in rest} if rest else {}
        for leaf, g in leaves.items():
            if plain and leaf._hooks is None and leaf._fn is LEAF:
                accumulate_grad(leaf, g, id(leaf) not in self.borrowed, self.create)
            else:
                self.captured[0, id(leaf)] = self.finish_leaf(leaf, g)
        for end in self.at_end:
            end()
        for callback in self.callbacks:
            callback()

    def finish_leaf(self, leaf: Any, g: Any) -> Any:
        """All gradients of this leaf have arrived: hooks, then accumulation, or the gradient for who asked for it."""
        hooks, create = leaf._hooks, self.create
        owned = id(leaf) not in self.borrowed
        if hooks is not None:
            before = g
            g = run_tensor_hooks(hooks.tensor.get(0), g, create)
            owned = owned and g is before
        if not self.accumulate:
            return g
        if hooks is not None and hooks.pre:
            g, owned = run_prehooks(hooks.pre, (g,), create)[0], False
        first = leaf._grad is None
        accumulate_in_leaf(leaf, g, owned, create)
        if first and leaf._grad is not None:
            g = as_array(leaf._grad) if not create else leaf._grad  # node hooks see the gradient as it lies in .grad
        if self.observer is not None:
            self.observer(AccumulateGrad.of(leaf), (g._array if create else g,), ())
        if hooks is not None:
            with user_code(create):
                for fn in list(hooks.accumulated.values()):
                    messages.check_nothing_returned(fn(leaf))
                for fn in list(hooks.post.values()):
                    fn((), (shown(g),))
        return None


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
    """Let a node's result arrive at an edge, whatever that is; machine code calls this for what is not plain."""
    r = unbroadcast_for_edge(r, e, False, node)
    if e._seq != 0:
        deliver(e, r, heap, nodes, grads)
    elif e in leaves:
        leaves[e] = add_grads(leaves[e], r)
        borrowed.discard(id(e))
    else:
        leaves[e] = r
        borrowed.add(id(e))


def accumulate_in_kernels(
    node: Node, g: Any, edges: Sequence[Any], grads: dict[int, Any], leaves: dict[Any, Any], borrowed: set[int]
) -> Sequence[Any]:
    """Where a gradient waits already, let a kernel add to it what it pulls back: one way through memory instead of two.

    Returns:
        the edges, but None for those that are served.
    """
    left = list(edges)
    for k, (e, vjp) in enumerate(zip(edges, node._op.accumulating_vjps)):
        if e is None or vjp is None or e._seq < 0:
            continue
        waiting = grads.get(-e._seq) if e._seq else leaves.get(e)
        if waiting.__class__ is not ndarray or waiting.shape != g.shape or waiting.dtype is not g.dtype:
            continue
        try:
            total = vjp(g, node._saved, waiting)
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


def apply_joint_vjp(node: Node, g: Any, edges: Sequence[Any], context: list[Any]) -> Sequence[Any]:
    """For machine code: the gradients of a node without hooks that has one rule for all its edges.

    Such a rule may be the user's (a custom Function), who may ask which backward is running.

    Args:
        context: the node at which machine code failed, if it did, and the task; or what it takes to make one.
    """
    if context[1].__class__ is tuple:
        context[1] = GraphTask(*context[1])
    task, local = context[1], thread_state.local
    before, task.node = local.graph_task, node
    try:
        local.graph_task = task
        try:
            results = node._vjp(g, node._saved, edges)
        except Exception as error:
            messages.note_where(error, node)
            raise
        if node._hooks is not None and node._hooks.post:  # the rule has put them on its node
            results = after_node(node, None, unbroadcast_all(results, edges, False, node), g, False)
        local.graph_task = before
    except BaseException:
        local.graph_task = before
        raise
    if not task.retain and node._keeps and holds_memory(node):
        node._saved = FREED
    return results
