"""Vector-Jacobian products of one graph for several seeds at once (the rows of a Jacobian), without ``vmap``'s level.

The seeds have one more dimension in front, a row for each. The rules of elementwise operations broadcast over it as
they are; those of views, reductions and products do so once the shapes and dimensions that a node saved are shifted. A
graph with anything else in it (hooks, custom Functions, other operations) is left untouched, and the caller takes the
slow path: the engine under ``vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..base import thread_state
from ..core import graph, versions
from ..core.boundary import LevelBoundary, identity_vjp
from ..core.graph import FREED, Node
from ..core.op import OpTable
from ..core.tensor import Tensor
from ..engine import accumulate, hooks, messages, plan
from ..engine.accumulate import may_alias
from ..kernels import dispatch
from ..ops.concat import tril, triu
from ..ops.convert import cast
from ..ops.linear_embedding import _linear
from ..ops.matmul import _matmul
from ..ops.memory import clone
from ..ops.reduce import sum_all, sum_to
from ..ops.slices import blank, look, place, read
from ..ops.view import _alias, _fresh, expand, permute, reshape, same_memory, squeeze, t, unsqueeze


def vjp_rows(roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], create: bool) -> list[Any] | None:
    """Gradients for the wanted edges; None where the graph needs the slow path.

    Args:
        roots: pairs of an edge and its seeds, ``(rows, *shape)``: arrays, or tensors if ``create``.
        wanted: edges.
        create: record the backward pass.

    Returns:
        For each edge ``(rows, *shape)``, or None if nothing arrives there. Arrays, or tensors if ``create``.
    """
    if thread_state.slow_path_reasons or needs_engine() or any([e._seq < 0 for e in (*wanted, *[e for e, _ in roots])]):
        return None
    if not all([accumulate.as_array(g).__class__ is np.ndarray for _, g in roots]):
        return None
    rows = accumulate.as_array(roots[0][1]).shape[0] if roots else 0
    grads: dict[int, Any] = {}

    def node_vjp(node: Node, g: Any, edges: Sequence[Any]) -> Sequence[Any] | None:
        try:
            results = _node_vjp(node, g, edges, rows, create)
        except Exception:  # an error of the program's own is raised on the slow path, too
            return None
        if results is None:
            return None
        summed = [r if r is None or e is None else unbroadcast_rows(r, e, rows, create) for e, r in zip(edges, results)]
        return None if any([r is NotImplemented for r in summed]) else summed

    def add(e: Any, r: Any) -> None:
        grads[id(e)] = grads[id(e)] + r if id(e) in grads else r

    ends = set(map(id, wanted))
    nodes = plan_backward(plan.reachable([e for e, _ in roots]), ends)
    if nodes is None:
        return None
    for e, g in roots:
        add(e, g)
    if not run_backward(nodes, grads, ends, node_vjp, add):
        return None
    found = [grads.get(id(e)) for e in wanted]
    return found if create else _without_aliases(found, [g for _, g in roots])


# --- a backward pass without the engine -------------------------------------------------------------------------


def needs_engine() -> bool:
    """Whether a mode or an observer is active that only the engine supports."""
    observed = hooks.observers or hooks.begin_observers
    return bool(
        observed
        or thread_state.local.trace is not None
        or thread_state.anomaly
        or thread_state.zero_times_inf
        or graph.hooked_leaves
    )


def plan_backward(nodes: Sequence[Node], ends: set[int]) -> list[tuple[Node, list[Any]]] | None:
    """The nodes between roots and ends, each with the edges along which gradients flow; None if one needs the engine.

    Args:
        nodes: in the order of the forward pass.
        ends: the ids of nodes and leaves.

    Raises:
        RuntimeError: for a saved value that was overwritten.
    """
    found, useful = [], set(ends)
    for node in nodes:
        edges = [e if e is not None and id(e if e._seq >= 0 else e.node) in useful else None for e in node._edges]
        if any([e is not None for e in edges]):
            if node._hooks is not None or node._packs or node._saved is FREED or node._seq < versions.last_reshape:
                return None
            if node._seq < versions.last_write:
                messages.check_saved(node)
            if node._op is None and not (isinstance(node, LevelBoundary) and node.back is identity_vjp):
                return None
            useful.add(id(node))
            found.append((node, edges))
    return found


def run_backward(
    nodes: Sequence[tuple[Node, list[Any]]],
    grads: dict[int, Any],
    ends: set[int],
    node_vjp: Callable[..., Any],
    add: Callable[[Any, Any], None],
) -> bool:
    """Run the backward pass; False if a node could not be done.

    Args:
        nodes: from :func:`plan_backward`.
        grads: the gradients so far, by the id of a node or leaf; updated.
        ends: the ids whose gradients are kept.
        node_vjp: gives the gradients for a node's edges, from ``(node, g, edges)``; None if it cannot.
        add: adds a gradient for an edge to ``grads``.
    """
    for node, edges in reversed(nodes):
        g = grads.get(id(node)) if id(node) in ends else grads.pop(id(node), None)
        if g is not None:
            results = node_vjp(node, g, edges)
            if results is None:
                return False
            for e, r in zip(edges, results):
                if e is not None and r is not None:
                    add(e, r)
    return True


def _without_aliases(results: list[Any], seeds: Sequence[Any]) -> list[Any]:
    """The results, copied where they alias each other, the seeds, or themselves."""
    met = {id(versions.owner_of(g)) for g in seeds}
    for i, r in enumerate(results):
        if r is not None:
            if id(versions.owner_of(r)) in met or may_alias(r):
                results[i] = r = r.copy()
            met.add(id(versions.owner_of(r)))
    return results


# --- the rule of a node -----------------------------------------------------------------------------------------


def _node_vjp(node: Node, g: Any, edges: Sequence[Any], rows: int, create: bool) -> Sequence[Any] | None:
    """The gradients for a node's edges, from one with rows; None if the node's rules do not support rows."""
    op = node._op
    if node._shape.__class__ is list or node._dtype.kind != "f":
        return None
    if op is None:
        return node.back(g)
    saved = accumulate.saved_as_tensors(node) if create else node._saved
    if op.pointwise:
        pulls = node._vjps
        if pulls is None:
            return None
        if not create and g.size >= kernels.LARGE:
            pulls = dispatch.kernel_vjps(op)
        results = [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]
        full = (rows, *node._shape)
        return results if all([r is None or getattr(r, "shape", None) == full for r in results]) else None
    if op in TAKE_ROWS:
        return [None if e is None else f(g, saved) for e, f in zip(edges, op.vjps)]
    rule = rows_vjp.get(op)
    if rule is not None:
        return [rule(g, saved[op.saved_names.index("input_shape")], rows)]
    shifted = shift_saved(node, saved, rows) if vjps_take_rows(op) else None
    return None if shifted is None else node._vjp(g, shifted, edges)


def unbroadcast_rows(r: Any, e: Any, rows: int, create: bool) -> Any:
    """A rule's result in the shape and type of the edge, each row summed over broadcast dimensions.

    Returns:
        An array or tensor; ``NotImplemented`` where that is left to the engine.
    """
    a = accumulate.as_array(r)
    if e._seq < 0 or a.__class__ is not np.ndarray or create is (r is a):
        return NotImplemented
    shape, dtype = (e._shape, e._dtype) if e._seq > 0 else (e._array.shape, e._array.dtype)
    if a.shape != (rows, *shape):
        extra = a.ndim - 1 - len(shape)
        if extra < 0 or a.shape[0] != rows or not accumulate.broadcasts(shape, a.shape[1:]):
            return NotImplemented
        r = reshape(sum_to(r, (rows, *(1,) * extra, *shape)), (rows, *shape))
    if a.dtype != dtype:
        return cast(r, dtype) if dtype.kind == "f" else NotImplemented
    return r


# --- saved values, shifted --------------------------------------------------------------------------------------

# Beside those that declare `dims`: operations whose rules support rows once saved shapes and parts are shifted.
SHAPES_ONLY = {
    f.op for f in (same_memory, _alias, _fresh, squeeze, unsqueeze, look, read, place, blank, clone, tril, triu, cast)
}


def vjps_take_rows(op: Any) -> bool:
    """Whether an operation's rules support rows, once the saved shapes and dimensions are shifted."""
    return op.dims != () or op in SHAPES_ONLY


def shift_saved(node: Node, saved: Sequence[Any], rows: int, in_rows: Sequence[bool] = ()) -> tuple[Any, ...] | None:
    """A node's saved values with the dimension of the rows in front; None where that can't be told.

    Args:
        in_rows: which saved arrays have that dimension already; by default none.
    """
    names = node._op.saved_names
    in_rows = in_rows or [False] * len(names)
    ndim = len(node._shape)  # dimensions count those of the input, if it is known, else of the result
    for name, value, done in zip(names, saved, in_rows):
        if name in ("input", "input_shape") and value is not None:
            ndim = len(getattr(value, "shape", value)) - done
    shifted: list[Any] = []
    for name, value, done in zip(names, saved, in_rows):
        if name == "tensors_shape":
            if (0,) in value:  # `cat` skips empty tensors
                return None
            value = [(rows, *s) for s in value]
        elif name.endswith("shape"):
            value = None if value is None else (rows, *value)
        elif name == "part":
            if value.__class__ is not tuple:
                return None
            value = (slice(None), *value)
        elif name in node._op.dims:
            # no dimension to shift; or an empty list, which means none of them here and all there
            if not ndim or value.__class__ in (tuple, list) and not value:
                return None
            dims = [
                d % ndim + 1
                for d in (range(ndim) if value is None else value if value.__class__ in (tuple, list) else (value,))
            ]
            value = (0, *dims) if node._op is permute.op else dims[0] if isinstance(value, int) else tuple(dims)
        elif isinstance(value, (np.ndarray, Tensor)) and not done:
            value = expand(value, (rows, *value.shape))
        shifted.append(value)
    return tuple(shifted)


# Operations whose rules support rows as they are.
TAKE_ROWS = {_matmul.op, _linear.op}

# Rules written for rows: rule(g, input_shape, rows).
rows_vjp = OpTable()
rows_vjp(sum_all)(lambda g, shape, rows: expand(reshape(g, (rows, *(1,) * len(shape))), (rows, *shape)))
rows_vjp(expand)(lambda g, shape, rows: g)  # `unbroadcast_rows` sums
rows_vjp(t)(lambda g, shape, rows: g.mT if len(shape) == 2 else g)
