"""The engine: pulls gradients from outputs back to inputs.

Nodes wait in a heap and run by falling sequence number, which visits every consumer before its producer. Nothing
recurses. In first-order differentiation gradients are plain arrays; with ``create_graph=True`` they are tensors
and the same rules record what they do.

Leaves receive nothing before the whole graph has run, so a backward that fails changes no ``.grad``. Only once
some leaf has a hook are leaves finished as soon as their last gradient has arrived, as in PyTorch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .. import kernels, lift, ops, storage
from ..outcome import wrap
from . import errors, graph, modes
from .graph import FREED, AccumulateGrad, Node, Output

ndarray, asarray = np.ndarray, np.asarray
observers: list[Callable[..., None]] = []
beginnings: list[Callable[..., Any]] = []  # called with the roots of every backward; what they return is called after it
accumulating = threading.Lock()  # several threads may share a leaf, and NumPy adds without the interpreter's lock


@contextmanager
def observe(callback: Callable[..., None], begin: Callable[..., Any] | None = None) -> Iterator[None]:
    """Call ``callback(node, grad_outputs, grad_inputs)`` after each node, in the order of the visit.

    The gradients are tuples of arrays, with None where there is none; leaves come as ``AccumulateGrad`` nodes.
    ``begin(roots)`` is called before each backward, and what it returns (a function) after it.
    """
    observers.append(callback)
    if begin is not None:
        beginnings.append(begin)
    try:
        yield
    finally:
        observers.remove(callback)
        if begin is not None:
            beginnings.remove(begin)


def run(roots: Sequence[tuple[Any, Any]], *, retain: bool, create: bool, wanted: Sequence[Any] | None = None,
        accumulate: bool = True) -> list[Any]:  # fmt: skip
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
    local = modes._local
    if local.nested > DEEP:
        return in_another_thread(run, roots, retain=retain, create=create, wanted=wanted, accumulate=accumulate)
    trace = local.trace
    if trace is not None and not create:  # constants among the seeds must be seen, too
        roots = [(e, trace.known(g) if g.__class__ is ndarray else g) for e, g in roots]
    extras: dict[str, Any] = {}  # what :mod:`pullback.autograd.running` notes about this backward
    heap: list[int] = []  # the nodes that wait, by falling sequence number,
    nodes: dict[int, Node] = {}
    grads: dict[int, Any] = {}  # and what has arrived for them so far
    leaves: dict[Any, Any] = {}
    borrowed: set[int] = set()  # (ids of) leaves whose gradient's array somebody else may hold
    captured: dict[tuple[int, int], Any] = {}
    plan = None if wanted is None else Plan(roots, wanted, accumulate)
    due = last_consumers(roots, plan) if graph.hooked_leaves else None
    large = kernels.LARGE
    zeros_win = modes.zeros_win > 0 and local.zeros_win
    careful = bool(observers) or zeros_win or create and modes.anomaly > 0
    usual = plan is None and not careful and not create  # nodes without hooks, of one result, then need few questions
    endings = [begin(roots) for begin in beginnings] if careful else ()
    ahead: Any = None  # the only node that waits, if there is just one: then it need not go through the heap
    ahead_g: Any = None
    for e, g in roots:
        if e._seq == 0:
            leaves[e] = plus(leaves[e], g) if e in leaves else g
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
        if usual and walk is not None and due is None:
            failing: list[Any] = [None]
            try:
                rest = walk(node, g, heap, nodes, grads, leaves, borrowed, retain, failing)
            except Exception as error:
                if failing[0] is not None:
                    errors.note_where(error, failing[0])
                raise
            if rest is None:
                continue
            node, g = rest
        edges: Sequence[Any] = node._edges
        saved = node._saved
        hooks = node._hooks
        pulls = results = node._pulls
        if not (usual and hooks is None and pulls is not None and g.__class__ is ndarray and saved is not FREED and node._seq >= storage.last_write):
            several = node._shape.__class__ is list
            if hooks is not None:
                g = before_node(hooks, g, create)
            if plan is not None:
                s = -node._seq
                for index in plan.catch.get(s, ()):
                    captured[s, index] = g if index < 0 else g[index]
                if s not in plan.running:
                    continue
                edges = plan.asked_for(edges)
            if hooks is not None and hooks.pre:
                g = run_prehooks(hooks.pre, g if several else (g,), create)
                g = list(g) if several else g[0]
            if saved is FREED:
                raise errors.second_time(node)
            if node._seq < storage.last_write:
                errors.check_saved(node)
            if several:
                g = tuple(g) if node._materializes else materialized(g, node, create)
            if create:
                saved = with_history(node)
            pull = node._pull
            if g.__class__ is not ndarray and modes.special and lift.holds_lifted(g):
                pulls, pull = None, lift.lifting(node.__class__._pull).__get__(node)
            if g.__class__ is ndarray and g.size >= large and pulls is not None:
                pulls = kernels.fused(node._op)
            results = pulls
            if pulls is None or careful or hooks is not None and hooks.post:
                began = graph.clock() if create and modes.anomaly else 0
                try:
                    results = pull(g, saved, edges) if pulls is None else graph.pulled(pulls, g, saved, edges)
                except Exception as error:
                    errors.note_where(error, node)
                    raise
                if began:
                    graph.note_parent(node, results, began)
                if zeros_win and node._op is not None and node._op.kind == "elementwise":
                    results = without_zero_times_inf(g, results, create)
                if careful or node._hooks is not None and node._hooks.post:  # the rule, too, may have put hooks on its node
                    results = after_node(node, hooks, fit_all(results, edges, create, node), g, create)
                pulls = None
        elif g.size >= large:
            pulls = results = kernels.fused(node._op)
        if not retain and node._keeps and node._saved:
            node._saved = FREED
        for e, r in zip(edges, results):
            if e is None:
                continue
            if pulls is not None:
                try:
                    r = r(g, saved)
                except Exception as error:
                    errors.note_where(error, node)
                    raise
            if r is None:
                continue
            if create:
                a = r._array
                if a.__class__ is not ndarray:
                    r = lift.left(r, number_of(e))
                    a = r._array
            else:
                if r.__class__ is not ndarray:
                    r = value_of(r, e)
                a = r
            s = e._seq
            if s > 0:
                if a.shape != e._shape or a.dtype is not e._dtype:
                    r = fit(r, e._shape, e._dtype, create, node)
                if e is ahead:
                    ahead_g = plus(ahead_g, r)
                elif ahead is None and not heap:
                    ahead, ahead_g = e, r
                else:
                    if ahead is not None:
                        deliver(ahead, ahead_g, heap, nodes, grads)
                        ahead = None
                    deliver(e, r, heap, nodes, grads)
            elif s == 0:
                x = e._array
                if a.shape != x.shape or a.dtype is not x.dtype or node._seq < storage.last_reshape:
                    if node._seq < storage.last_reshape:
                        errors.check_shape_kept(node, e)
                    r = fit(r, x.shape, x.dtype, create, node)
                if e in leaves:
                    leaves[e] = plus(leaves[e], r)
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
                    r = fit(r, e.node._shape[e.index], e.node._dtype[e.index], create, node)
                deliver(e, r, heap, nodes, grads)
        if due is not None:
            for leaf in due.get(-node._seq, ()):
                if leaf in leaves:
                    g = finish(leaf, leaves.pop(leaf), id(leaf) not in borrowed, create, accumulate)
                    captured[0, id(leaf)] = g
    if keep_usual is not None and usual and accumulate and not (graph.grad_dtypes or modes.silent):
        with accumulating:
            rest = keep_usual(leaves, borrowed)
        leaves = {leaf: leaves[leaf] for leaf in rest} if rest else {}
    for leaf, g in leaves.items():
        if leaf._hooks is None and accumulate and not careful:
            keep(leaf, g, id(leaf) not in borrowed, create)
        else:
            captured[0, id(leaf)] = finish(leaf, g, id(leaf) not in borrowed, create, accumulate)
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
            grads[s] = plus(grads[s], r)
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
    slots[e.index] = r if slots[e.index] is None else plus(slots[e.index], r)


def arrive(r: Any, e: Any, node: Node, heap: list[int], nodes: dict[int, Node], grads: dict[int, Any], leaves: dict[Any, Any],
           borrowed: set[int]) -> None:  # fmt: skip
    """Let a node's result arrive at an edge, whatever that is."""
    r = fitted(r, e, False, node)
    if e._seq != 0:
        deliver(e, r, heap, nodes, grads)
    elif e in leaves:
        leaves[e] = plus(leaves[e], r)
        borrowed.discard(id(e))
    else:
        leaves[e] = r
        borrowed.add(id(e))


def pulled_alone(node: Node, g: Any, edges: Sequence[Any], retain: bool) -> Sequence[Any]:
    """The gradients of a node without hooks that has one rule for all its edges."""
    try:
        results = node._pull(g, node._saved, edges)
    except Exception as error:
        errors.note_where(error, node)
        raise
    if node._hooks is not None and node._hooks.post:  # the rule has put them on its node
        results = after_node(node, None, fit_all(results, edges, False, node), g, False)
    if not retain and node._keeps and node._saved:
        node._saved = FREED
    return results


# The same way as machine code, once :mod:`pullback.outcome` has loaded it, and the leaves at its end.
walk: Callable | None = None
keep_usual: Callable | None = None


def sum_rows(g: Any) -> Any:
    """The sum over the first dimension; machine code takes its place, too."""
    return asarray(ops.reduce.total(g, (0,)))


def finish(leaf: Any, g: Any, owned: bool, create: bool, accumulate: bool) -> Any:
    """All gradients of this leaf have arrived: hooks, then accumulation, or the gradient itself for who asked for it."""
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
    keep(leaf, g, owned, create)
    if first and leaf._grad is not None:
        g = as_array(leaf._grad) if not create else leaf._grad  # node hooks see the gradient as it lies in .grad
    for callback in observers:
        callback(AccumulateGrad.of(leaf), (g._array if create else g,), ())
    if hooks is not None:
        with UsersCode(create):
            for fn in list(hooks.accumulated.values()):
                errors.check_nothing_returned(fn(leaf))
            for fn in list(hooks.post.values()):
                fn((), (as_tensor(g),))
    return None


# --- what to run ------------------------------------------------------------------------------------------------


def capture_key(e: Any) -> tuple[int, int]:
    """Identifies an edge: (falling sequence number, output number or -1), or (0, id) for a leaf."""
    if e._seq > 0:
        return -e._seq, -1
    return (0, id(e)) if e._seq == 0 else (-e.node._seq, e.index)


class Plan:
    """Which nodes have to run so that gradients reach the wanted edges.

    Attributes:
        running: the nodes that run.
        live: the edges along which gradients flow.
        catch: output numbers to capture when their node is reached.
    """

    def __init__(self, roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], accumulate: bool) -> None:
        self.live = {capture_key(e) for e in wanted}
        self.catch: dict[int, list[int]] = {}
        for s, index in self.live:
            if s:
                self.catch.setdefault(s, []).append(index)
        self.running: set[int] = set()
        reached = reachable([e for e, _ in roots])
        numbers = {-node._seq for node in reached}
        self.catch = {s: indices for s, indices in self.catch.items() if s in numbers}
        for node in reached:
            if any(e is not None and capture_key(e) in self.live for e in node._edges):
                self.running.add(-node._seq)
                outputs = range(len(node._shape)) if node._shape.__class__ is list else (-1,)
                self.live.update((-node._seq, i) for i in outputs)
        if accumulate:  # PyTorch runs the nodes of the tensors that accumulate, too, so that their hooks are called
            self.running.update(s for s in self.catch)

    def asked_for(self, edges: Sequence[Any]) -> list[Any]:
        """These edges, those along which no gradient flows replaced by None."""
        return [e if e is not None and capture_key(e) in self.live else None for e in edges]


def reachable(edges: Sequence[Any]) -> list[Node]:
    """Every node behind these edges, producers first."""
    seen: dict[int, Node] = {}
    todo = list(edges)
    while todo:
        e = todo.pop()
        if e is None or e._seq == 0:
            continue
        node = e if e._seq > 0 else e.node
        if node._seq not in seen:
            seen[node._seq] = node
            todo.extend(node._edges)
    return [seen[s] for s in sorted(seen)]


def last_consumers(roots: Sequence[tuple[Any, Any]], plan: Plan | None) -> dict[int, list[Any]]:
    """For each node the leaves that have received everything once it has run."""
    due: dict[int, list[Any]] = {}
    seen: set[int] = set()
    for node in reachable([e for e, _ in roots]):  # rising: the first consumer met here is the last to run
        if plan is None or -node._seq in plan.running:
            edges = node._edges
            if len(edges) == 3 and node._op is not None and node._op.name == "linear":  # bias, input, and then by way of a transposition
                edges = [edges[i] for i in graph.SHOWN_ORDER["AddmmBackward0"]]
            for e in edges:
                if e is not None and e._seq == 0 and id(e) not in seen:
                    seen.add(id(e))
                    due.setdefault(-node._seq, []).append(e)
    return due


# --- gradients --------------------------------------------------------------------------------------------------


def plus(a: Any, b: Any) -> Any:
    """The sum of two gradients; of 0-d arrays too an array."""
    if modes.special and isinstance(a, lift.Tensor):
        a, b = lift.gathered(a, b)
    total = a + b
    return asarray(total) if isinstance(total, np.generic) else total


def zeros(shape: tuple[int, ...], dtype: np.dtype, create: bool) -> Any:
    z = np.zeros(shape, dtype)
    return wrap(z) if create else z


def materialized(g: Sequence[Any], node: Node, create: bool) -> tuple[Any, ...]:
    """The gradients of a node's outputs, with zeros for those that did not arrive."""
    return tuple([zeros(s, d, create) if v is None else v for v, s, d in zip(g, node._shape, node._dtype)])


def without_zero_times_inf(g: Any, results: Sequence[Any], create: bool) -> list[Any]:
    """NaN replaced by 0 where the gradient that came in is 0."""
    kept = []
    for r in results:
        if r is not None:
            nothing = (g == 0) & (r != r)
            r = ops.choosing.where(nothing, 0, r)
        kept.append(r)
    return kept


def as_tensor(g: Any) -> Any:
    return g if isinstance(g, lift.Tensor) else lift.held(g) if isinstance(g, lift.Lifted) else wrap(g)


def as_array(g: Any) -> Any:
    return g._array if isinstance(g, lift.Tensor) else g


def number_of(e: Any) -> int:
    """The number on the clock of what an edge leads to; 0 for a leaf, unless it was made inside a level."""
    if e._seq == 0:
        return e._array.level.start if isinstance(e._array, lift.Lifted) else 0
    return e._seq if e._seq > 0 else e.node._seq


def value_of(r: Any, e: Any) -> Any:
    """What a rule returned, as an array; or lifted, as the edge wants it."""
    if r.__class__ is ndarray:
        return r
    r = as_array(r)
    if not isinstance(r, lift.Lifted):
        return asarray(r)
    return lift.left(lift.held(r), number_of(e))._array


def fit(g: Any, shape: tuple[int, ...], dtype: np.dtype, create: bool, node: Node) -> Any:
    """Make a gradient fit what it belongs to: sum over broadcast dimensions, cast, drop the imaginary part.

    Raises:
        RuntimeError: if the gradient is of another shape, and not one that broadcasting explains.
    """
    if g.__class__ is ndarray and g.dtype is dtype and g.shape[1:] == shape:
        return sum_rows(g)  # the usual case: a bias, added to every row
    if not create and isinstance(g, lift.Lifted):
        return fit(as_tensor(g), shape, dtype, True, node)._array
    a = g._array if create else g
    if a.shape != shape:
        if not broadcasts(shape, a.shape):
            raise errors.wrong_shape(node, a.shape, shape)
        g = ops.reduce.sum_to(g, shape)
        a = g._array if create else g
    if a.dtype != dtype:
        if a.dtype.kind == "c" and dtype.kind != "c":
            g = ops.complex.real(g)
        g = ops.convert.cast(g, dtype)
    return g


def fit_all(results: Sequence[Any], edges: Sequence[Any], create: bool, node: Node) -> list[Any]:
    """A node's results in the shapes and types that its edges want."""
    return [None if e is None or r is None else fitted(r, e, create, node) for e, r in zip(edges, results)]


def fitted(r: Any, e: Any, create: bool, node: Node) -> Any:
    """A rule's result in the shape and type that the edge wants."""
    r = lift.left(r, number_of(e)) if create else value_of(r, e)
    a = r._array if create else r
    if e._seq == 0:
        shape, dtype = e._array.shape, e._array.dtype
    else:
        shape, dtype = (e._shape, e._dtype) if e._seq > 0 else (e.node._shape[e.index], e.node._dtype[e.index])
    if e._seq == 0 and node._seq < storage.last_reshape:
        errors.check_shape_kept(node, e)
    if a.shape == shape and a.dtype == dtype:
        return r
    return fit(r, shape, dtype, create, node)


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether ``shape`` broadcasts to ``to``."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


def with_history(node: Node) -> tuple[Any, ...]:
    """A node's saved arrays as tensors that remember where they came from, for recording the backward pass."""
    op, values = node._op, []
    if op is None:  # a custom Function hands out its own saved tensors
        return ()
    saved = node._saved
    if node._packs:
        from .saved import unpacked

        saved = unpacked(saved)
    for (kind, i, _), value in zip(op.getters, saved):
        if not isinstance(value, (ndarray, lift.Lifted)):
            if op.listed and kind == "value" and i == 0 and value is not None:
                value = [restored(v, e) for v, e in zip(value, node._edges)]
            values.append(value)
        elif kind == "value":
            first = len(node._edges) - len(op.tensors) if op.listed else 0  # after the edges of a list of tensors
            values.append(restored(value, node._edges[first + op.tensors.index(i)] if i in op.tensors else None))
        elif node._shape.__class__ is not list:
            main = not op.outputs or i == op.differentiable[0]
            values.append(restored(value, node if kind == "out" and main else None))
        else:
            taking_part = op.differentiable.index(i) if i in op.differentiable else None
            values.append(restored(value, None if taking_part is None else Output(node, taking_part)))
    return tuple(values)


def restored(array: Any, e: Any) -> Any:
    """A saved array as the tensor it was: the leaf itself, or a tensor with the same edge."""
    if e is not None and e._seq == 0 and e._array is array:
        return e
    t = wrap(array)
    t._fn = graph.LEAF if e is not None and e._seq == 0 else e
    if e is not None and e._seq == 0:  # a leaf's value in another type: its gradient goes to the leaf all the same
        from ..ops.convert import identity_node

        t._fn = identity_node(e, array)
    return t


def keep(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    """Accumulate into ``leaf.grad``: in place, unless the gradient is itself recorded."""
    with accumulating:
        if graph.grad_dtypes and leaf.__dict__.get("_grad_dtype") is not None:
            g, owned = ops.convert.cast(g, leaf.__dict__["_grad_dtype"].numpy), False
        old = leaf._grad
        if g.__class__ is not ndarray or old is not None and old._array.__class__ is not ndarray:
            _keep_unusual(leaf, g, owned, create)
        elif old is None:
            if g.ndim > 1 and g.strides != leaf._array.strides:
                g, owned = laid_like(g, leaf._array, owned)
            leaf._grad = wrap(g if owned else g.copy("K"))
        else:
            np.add(old._array, g, out=old._array)
            storage.written(old._array)


def _keep_unusual(leaf: Any, g: Any, owned: bool, create: bool) -> None:
    """Accumulate what is recorded, or lifted."""
    old = leaf._grad
    g = as_tensor(g) if create else lift.without_tangents(as_tensor(lift.settled(g)))
    if modes._local.trace is not None and not create:
        modes._local.trace.accumulate(leaf, g._array)
    elif old is not None and g.is_sparse and not create:
        old.add_(g)  # in place, as usual
    elif old is None and create and g._array.__class__ is leaf._array.__class__ is ndarray:
        # A copy, laid out as the leaf: rules may hand out the seed itself, or one tensor to several leaves.
        leaf._grad = ops.write.copied(wrap(np.empty_like(leaf._array, g._array.dtype)), g)
    elif old is None and (create or g.is_sparse and not owned):
        leaf._grad = g.clone()
    else:
        leaf._grad = g if old is None else old + g


def laid_like(g: np.ndarray, x: Any, owned: bool) -> tuple[np.ndarray, bool]:
    """A gradient in the memory order of what it belongs to, if that has no gaps, else in C order; and whether it is new."""
    if not isinstance(x, ndarray):  # of a sparse tensor
        return g, owned
    dense = np.empty_like(x, g.dtype)
    if dense.strides != x.strides and g.itemsize == x.itemsize:
        dense = np.empty(x.shape, g.dtype)
    if owned and g.strides == dense.strides:
        return g, True
    dense[...] = g
    return dense, True


# --- hooks ------------------------------------------------------------------------------------------------------

DEEP = 40  # how many backwards may run inside of each other in one thread: Python's stack ends somewhere


class UsersCode(modes.set_grad_enabled):
    """Around calls into code of the user's, which may run backward itself.

    What it enters and does not leave (a grad mode, hooks on saved tensors) ends with it.
    """

    def __enter__(self) -> None:
        super().__enter__()
        self.packing = modes._local.packing
        modes._local.nested += 1

    def __exit__(self, *exc: object) -> None:
        modes._local.nested -= 1
        if modes._local.packing is not self.packing:
            modes.special_case(len(self.packing) - len(modes._local.packing))
            modes._local.packing = self.packing
        super().__exit__(*exc)


def in_another_thread(fn: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function on a fresh stack, with the modes of this thread."""
    state = {**modes._local.__dict__, "nested": 0}
    outcome: list[Any] = []

    def call() -> None:
        modes._local.__dict__.update(state)
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


def before_node(hooks: graph.Hooks, g: Any, create: bool) -> Any:
    """Tensor hooks of a node's outputs, and the outputs that keep their gradient."""
    several = g.__class__ is list
    gs = g if several else [g]
    for index, g_i in enumerate(gs):
        if g_i is None:
            continue
        gs[index] = run_tensor_hooks(hooks.tensor.get(index), g_i, create)
        tensor = hooks.retain[index]() if index in hooks.retain else None
        if tensor is not None:
            keep(tensor, gs[index], False, create)
    return gs if several else gs[0]


def run_tensor_hooks(hooks: dict[int, Callable] | None, g: Any, create: bool) -> Any:
    if hooks:
        with UsersCode(create):
            for fn in list(hooks.values()):
                result = fn(as_tensor(g))
                if result is not None:
                    g = errors.checked_hook_result(fn, result, as_tensor(g))
                    g = g if create else g._array
    return g


def run_prehooks(hooks: dict[int, Callable], gs: Sequence[Any], create: bool) -> Sequence[Any]:
    with UsersCode(create):
        for fn in list(hooks.values()):
            result = fn(tuple(None if g is None else as_tensor(g) for g in gs))
            if result is not None:
                result = result if isinstance(result, tuple) else (result,)
                gs = [None if g is None else g if create else g._array for g in result]
    return gs


def after_node(node: Node, hooks: graph.Hooks | None, results: Sequence[Any], g: Any, create: bool) -> Sequence[Any]:
    """Post hooks, and whoever watches the engine."""
    gs = g if g.__class__ is tuple else (g,)
    if node._hooks is not None and node._hooks.post:
        # A hook that was put on while the rule ran is shown none of what came in, as in PyTorch.
        shown = () if hooks is None else tuple([None if v is None else as_tensor(v) for v in gs])
        with UsersCode(create):
            for fn in list(node._hooks.post.values()):
                changed = fn(tuple(None if r is None else as_tensor(r) for r in results), shown)
                if changed is not None:
                    changed = changed if isinstance(changed, tuple) else (changed,)
                    if len(changed) != len(results):
                        raise RuntimeError(f"hook '{getattr(fn, '__name__', 'hook')}' has returned an incorrect number of values "
                                           f"(got {len(changed)}, but expected {len(results)})")  # fmt: skip
                    results = [None if r is None else r if create else r._array for r in changed]
    if observers:
        came, left = (map(as_array, gs), map(as_array, results)) if create else (gs, results)
        came, left = tuple(came), tuple(left)
        for callback in observers:
            callback(node, came, left)
    return results


def call_node(node: Node, grads: Sequence[Any]) -> Any:
    """``grad_fn(gradient)``: one node's rule, on tensors."""
    expected = node._output_count
    if len(grads) != expected:
        raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
    g = tuple(grads) if node._shape.__class__ is list else grads[0]
    results = tuple(node._pull(g, with_history(node), node._edges))
    return results if len(results) > 1 else results[0]
