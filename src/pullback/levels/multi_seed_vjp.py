"""Many gradients of one graph in one pass: seeds with one more dimension in front, a row for each gradient.

Jacobians are made of such rows. ``vmap`` pulls anything back for a batch of seeds; here is the usual case without it:
the rules of elementwise operations broadcast over a dimension in front as they are, and those of views, reductions and
products do so once their shapes and dimensions are told of it. Where a graph has anything else (hooks, custom
Functions, other operations), nothing is done and the caller goes the general way.
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

NOT_HERE = object()  # what stands for "only the general way works"


def vjp_rows(roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], create: bool) -> list[Any] | None:
    """Gradients for the wanted edges; None where this graph is none of the usual ones.

    Args:
        roots: pairs of an edge and its seeds, ``(rows, *shape)``: arrays, or tensors if ``create``.
        wanted: edges.
        create: whether what is done is recorded.

    Returns:
        For each edge ``(rows, *shape)``, or None if nothing arrives there. Arrays, or tensors if ``create``.
    """
    if thread_state.slow_path_reasons or unsupported() or any([e._seq < 0 for e in (*wanted, *[e for e, _ in roots])]):
        return None
    if not all([accumulate.as_array(g).__class__ is np.ndarray for _, g in roots]):
        return None
    rows = accumulate.as_array(roots[0][1]).shape[0] if roots else 0
    grads: dict[int, Any] = {}

    def of_node(node: Node, g: Any, edges: Sequence[Any]) -> Sequence[Any] | None:
        try:
            results = _of_node(node, g, edges, rows, create)
        except Exception:  # an error of the program's own comes up on the general way, too
            return None
        fits = [r if r is None or e is None else fitted(r, e, rows, create) for e, r in zip(edges, results or ())]
        return None if results is None or any([r is NOT_HERE for r in fits]) else fits

    def add(e: Any, r: Any) -> None:
        grads[id(e)] = grads[id(e)] + r if id(e) in grads else r

    ends = set(map(id, wanted))
    nodes = way(plan.reachable([e for e, _ in roots]), ends)
    if nodes is None:
        return None
    for e, g in roots:
        add(e, g)
    if not walk(nodes, grads, ends, of_node, add):
        return None
    found = [grads.get(id(e)) for e in wanted]
    return found if create else _apart(found, [g for _, g in roots])


# --- the way through a graph of which all is known beforehand ----------------------------------------------------


def unsupported() -> bool:
    """Whether somebody listens or something else is about that only the engine knows."""
    observed = hooks.observers or hooks.begin_observers
    return bool(
        observed
        or thread_state.local.trace is not None
        or thread_state.anomaly
        or thread_state.zero_times_inf
        or graph.hooked_leaves
    )


def way(nodes: Sequence[Node], ends: set[int]) -> list[tuple[Node, list[Any]]] | None:
    """The nodes on the way to the ends, each with its edges along which gradients flow; None if one of them is unusual.

    Args:
        nodes: producers first.
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


def walk(
    nodes: Sequence[tuple[Node, list[Any]]],
    grads: dict[int, Any],
    ends: set[int],
    of_node: Callable[..., Any],
    add: Callable[[Any, Any], None],
) -> bool:
    """Let gradients flow; whether all went well.

    Args:
        nodes: the way.
        grads: what has arrived so far, by the id of a node or leaf.
        ends: those that keep theirs.
        of_node: gives the gradients for a node's edges, from ``(node, g, edges)``; None if it cannot.
        add: adds one to what has arrived.
    """
    for node, edges in reversed(nodes):
        g = grads.get(id(node)) if id(node) in ends else grads.pop(id(node), None)
        if g is not None:
            results = of_node(node, g, edges)
            if results is None:
                return False
            for e, r in zip(edges, results):
                if e is not None and r is not None:
                    add(e, r)
    return True


def _apart(results: list[Any], seeds: Sequence[Any]) -> list[Any]:
    """The results, copied where they share memory with each other or with the seeds, or within themselves."""
    met = {id(versions.owner_of(g)) for g in seeds}
    for i, r in enumerate(results):
        if r is not None:
            if id(versions.owner_of(r)) in met or may_alias(r):
                results[i] = r = r.copy()
            met.add(id(versions.owner_of(r)))
    return results


# --- what nodes make of gradients -------------------------------------------------------------------------------


def _of_node(node: Node, g: Any, edges: Sequence[Any], rows: int, create: bool) -> Sequence[Any] | None:
    """What a node's rules make of a gradient with rows; None if they do not say."""
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
    if op in OWN:
        return [None if e is None else f(g, saved) for e, f in zip(edges, op.vjps)]
    rule = rows_vjp.get(op)
    if rule is not None:
        return [rule(g, saved[op.saved_names.index("input_shape")], rows)]
    heard = dims_past_seeds(node, saved, rows) if serves_rows(op) else None
    return None if heard is None else node._vjp(g, heard, edges)


def fitted(r: Any, e: Any, rows: int, create: bool) -> Any:
    """A rule's result in the shape and type that the edge wants: summed, in each row, over what broadcasting
    stretched.
    """
    a = accumulate.as_array(r)
    if e._seq < 0 or a.__class__ is not np.ndarray or create is (r is a):
        return NOT_HERE
    shape, dtype = (e._shape, e._dtype) if e._seq > 0 else (e._array.shape, e._array.dtype)
    if a.shape != (rows, *shape):
        extra = a.ndim - 1 - len(shape)
        if extra < 0 or a.shape[0] != rows or not accumulate.broadcasts(shape, a.shape[1:]):
            return NOT_HERE
        r = reshape(sum_to(r, (rows, *(1,) * extra, *shape)), (rows, *shape))
    if a.dtype != dtype:
        return cast(r, dtype) if dtype.kind == "f" else NOT_HERE
    return r


# --- what rules have to be told ----------------------------------------------------------------------------------

# Operations whose rules need no more than their shapes, and parts, with the rows in front.
SHAPES_ONLY = {
    f.op for f in (same_memory, _alias, _fresh, squeeze, unsqueeze, look, read, place, blank, clone, tril, triu, cast)
}


def serves_rows(op: Any) -> bool:
    """Whether an operation's rules serve rows of gradients, once their shapes and dimensions are shifted."""
    return op.dims != () or op in SHAPES_ONLY


def dims_past_seeds(
    node: Node, saved: Sequence[Any], rows: int, in_rows: Sequence[bool] = ()
) -> tuple[Any, ...] | None:
    """What a node saved, with the dimension of the rows in front of every shape.

    Args:
        in_rows: which saved arrays have that dimension already; by default none.
    """
    names = node._op.saved_names
    in_rows = in_rows or [False] * len(names)
    ndim = len(node._shape)  # of what dimensions are counted in: the result, unless the input is known
    for name, value, done in zip(names, saved, in_rows):
        if name in ("input", "input_shape") and value is not None:
            ndim = len(getattr(value, "shape", value)) - done
    heard: list[Any] = []
    for name, value, done in zip(names, saved, in_rows):
        if name == "tensors_shape":
            if (0,) in value:  # perhaps passed over
                return None
            value = [(rows, *s) for s in value]
        elif name.endswith("shape"):
            value = None if value is None else (rows, *value)
        elif name == "part":
            if value.__class__ is not tuple:
                return None
            value = (slice(None), *value)
        elif name in node._op.dims:
            # nothing to count, or what "none" means depends
            if not ndim or value.__class__ in (tuple, list) and not value:
                return None
            dims = [
                d % ndim + 1
                for d in (range(ndim) if value is None else value if value.__class__ in (tuple, list) else (value,))
            ]
            value = (0, *dims) if node._op is permute.op else dims[0] if isinstance(value, int) else tuple(dims)
        elif isinstance(value, (np.ndarray, Tensor)) and not done:
            value = expand(value, (rows, *value.shape))
        heard.append(value)
    return tuple(heard)


# Operations whose rules serve rows as they are.
OWN = {_matmul.op, _linear.op}

# Rules of another form for rows, of (g, input_shape, rows).
rows_vjp = OpTable()
rows_vjp(sum_all)(lambda g, shape, rows: expand(reshape(g, (rows, *(1,) * len(shape))), (rows, *shape)))
rows_vjp(expand)(lambda g, shape, rows: g)  # and summed, as whatever broadcasting stretched
rows_vjp(t)(lambda g, shape, rows: g.mT if len(shape) == 2 else g)
