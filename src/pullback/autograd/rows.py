"""Many gradients of one graph in one pass: seeds with one more dimension in front, a row for each gradient.

Jacobians are made of such rows. ``vmap`` pulls anything back for a batch of seeds; here is the usual case without it: the
rules of elementwise operations broadcast over a dimension in front as they are, and those of views, reductions and
products do so once their shapes and dimensions are told of it. Where a graph has anything else (hooks, custom
Functions, other operations), nothing is done and the caller goes the general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import kernels, lift, storage
from ..ops.convert import cast
from ..ops.reduce import sum_to
from ..ops.view import expand, reshape, unsqueeze
from ..tensor import Tensor
from . import engine, errors, gradients, graph, modes, route
from .entry import shares
from .graph import FREED, Node

NOT_HERE = object()  # what stands for "only the general way works"


def pulled(roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], create: bool) -> list[Any] | None:
    """Gradients for the wanted edges; None where this graph is none of the usual ones.

    Args:
        roots: pairs of an edge and its seeds, ``(rows, *shape)``: arrays, or tensors if ``create``.
        wanted: edges.
        create: whether what is done is recorded.

    Returns:
        For each edge ``(rows, *shape)``, or None if nothing arrives there. Arrays, or tensors if ``create``.
    """
    if modes.special or modes.anomaly or modes.zeros_win or engine.observers or graph.hooked_leaves:
        return None
    keys = [engine.capture_key(e) for e in wanted]
    ends = set(keys)
    grads: dict[tuple[int, int], Any] = {}
    rows = 0
    for e, g in roots:
        if engine.as_array(g).__class__ is not np.ndarray:
            return None
        _add(grads, engine.capture_key(e), g)
        rows = g.shape[0]
    nodes = route.reachable([e for e, _ in roots])
    useful = _leading_to(ends, nodes)
    for node in reversed(nodes):
        key = (-node._seq, -1)
        if key not in useful:
            continue
        if node._shape.__class__ is list or node._hooks is not None or node._packs or node._dtype.kind != "f":
            return None
        edges = [e if e is not None and engine.capture_key(e) in useful else None for e in node._edges]
        if key not in grads or all([e is None for e in edges]):
            continue
        if node._seq < storage.last_reshape:  # some leaf was given other memory since
            return None
        if node._saved is FREED:
            raise errors.second_time(node)
        if node._seq < storage.last_write:
            errors.check_saved(node)
        g = grads[key] if key in ends else grads.pop(key)
        try:
            results = _of_node(node, g, edges, rows, create)
        except Exception:  # an error of the program's own comes up on the general way, too
            results = None
        if results is None:
            return None
        for e, r in zip(edges, results):
            if e is not None and r is not None:
                r = fitted(r, e, rows, create)
                if r is NOT_HERE:
                    return None
                _add(grads, engine.capture_key(e), r)
    found = [grads.get(key) for key in keys]
    return found if create else _apart(found, [g for _, g in roots])


def _apart(results: list[Any], seeds: Sequence[Any]) -> list[Any]:
    """The results, copied where they share memory with each other or with the seeds, or within themselves."""
    met = {id(storage.owner_of(g)) for g in seeds}
    for i, r in enumerate(results):
        if r is not None:
            if id(storage.owner_of(r)) in met or shares(r):
                results[i] = r = r.copy()
            met.add(id(storage.owner_of(r)))
    return results


def _add(grads: dict[tuple[int, int], Any], key: tuple[int, int], r: Any) -> None:
    grads[key] = grads[key] + r if key in grads else r


def _leading_to(ends: set[tuple[int, int]], nodes: Sequence[Node]) -> set[tuple[int, int]]:
    """The edges along which gradients have to flow."""
    useful = set(ends)
    for node in nodes:
        for e in node._edges:
            if e is not None and engine.capture_key(e) in useful:
                useful.add((-node._seq, -1))
                break
    return useful


def _of_node(node: Node, g: Any, edges: Sequence[Any], rows: int, create: bool) -> Sequence[Any] | None:
    """What a node's rules make of a gradient with rows; None if they do not say."""
    op = node._op
    if op is None:
        return node.back(g) if isinstance(node, lift.Crossing) and node.back is lift.straight else None
    saved = engine.with_history(node) if create else node._saved
    if op.kind == "elementwise" or op.name in kernels.ALSO_POINTWISE:
        pulls = node._pulls
        if pulls is None:
            return None
        if not create and g.size >= kernels.LARGE:
            pulls = kernels.fused(op)
        results = [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]
        full = (rows, *node._shape)
        return results if all([r is None or getattr(r, "shape", None) == full for r in results]) else None
    rules = RULES.get(op.name)
    if rules is not None:
        return [None if e is None else f(g, dict(zip(op.saved_names, saved)), rows) for e, f in zip(edges, rules)]
    heard = told(node, saved, rows) if op.name in ALONG else None
    return None if heard is None else node._pull(g, heard, edges)


def fitted(r: Any, e: Any, rows: int, create: bool) -> Any:
    """A rule's result in the shape and type that the edge wants: summed, in each row, over what broadcasting stretched."""
    a = engine.as_array(r)
    if e._seq < 0 or a.__class__ is not np.ndarray or create is (r is a):
        return NOT_HERE
    shape, dtype = (e._shape, e._dtype) if e._seq > 0 else (e._array.shape, e._array.dtype)
    if a.shape != (rows, *shape):
        extra = a.ndim - 1 - len(shape)
        if extra < 0 or a.shape[0] != rows or not gradients.broadcasts(shape, a.shape[1:]):
            return NOT_HERE
        r = reshape(sum_to(r, (rows, *(1,) * extra, *shape)), (rows, *shape))
    if a.dtype != dtype:
        return cast(r, dtype) if dtype.kind == "f" else NOT_HERE
    return r


# --- what rules have to be told ----------------------------------------------------------------------------------

# Operations whose rules need no more than their shapes and dimensions moved behind the rows.
ALONG = frozenset(
    "view reshape_alias unsafe_view squeeze unsqueeze transpose permute basic_part read_part place_part blank_part sum_dims mean "
    "cat stack clone flip tril triu softmax log_softmax logsumexp cumsum cast".split()
)
DIMS = frozenset(("dim", "dims", "dim0", "dim1"))


def told(node: Node, saved: Sequence[Any], rows: int, in_rows: Sequence[bool] = ()) -> tuple[Any, ...] | None:
    """What a node saved, with the dimension of the rows in front of every shape.

    Args:
        in_rows: which saved arrays have that dimension already; by default none.
    """
    names = node._op.saved_names
    given = dict(zip(names, saved)).get("input_shape")
    ndim = len(node._shape if given is None else given)
    heard: list[Any] = []
    for name, value, done in zip(names, saved, in_rows or [False] * len(names)):
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
        elif name in DIMS and node._op.name not in ("squeeze", "unsqueeze"):  # which only change the shape back
            if not ndim or value.__class__ in (tuple, list) and not value:  # nothing to count, or what "none" means depends
                return None
            dims = [d % ndim + 1 for d in (range(ndim) if value is None else value if value.__class__ in (tuple, list) else (value,))]
            value = (0, *dims) if node._op.name == "permute" else dims[0] if isinstance(value, int) else tuple(dims)
        elif isinstance(value, (np.ndarray, Tensor)) and not done:
            value = expand(value, (rows, *value.shape))
        heard.append(value)
    return tuple(heard)


# --- rules of another form for rows, from (g, what was saved by name, rows) --------------------------------------


def _of_sum(g: Any, saved: dict[str, Any], rows: int) -> Any:
    shape = saved["input_shape"]
    return expand(reshape(g, (rows, *(1,) * len(shape))), (rows, *shape))


def _of_input(g: Any, saved: dict[str, Any], rows: int) -> Any:
    other, n = saved["other"], len(saved["input_shape"])
    if len(other.shape) == 1:
        return unsqueeze(g, -1) * other
    return g @ other.mT if n > 1 or len(other.shape) == 2 else (other @ unsqueeze(g, -1))[..., 0]


def _of_other(g: Any, saved: dict[str, Any], rows: int) -> Any:
    input, m = saved["input"], len(saved["other_shape"])
    if len(input.shape) == 1:
        return unsqueeze(g, -1) * input if m == 1 else unsqueeze(input, -1) * unsqueeze(g, -2)
    return input.mT @ g if m > 1 else (input.mT @ unsqueeze(g, -1))[..., 0]


def _of_layers_input(g: Any, saved: dict[str, Any], rows: int) -> Any:
    weight = saved["weight"]
    return g @ weight if len(weight.shape) == 2 else unsqueeze(g, -1) * weight


def _of_weight(g: Any, saved: dict[str, Any], rows: int) -> Any:
    input = saved["input"]
    if len(saved["weight_shape"]) == 1 or len(input.shape) == 1:
        return unsqueeze(g, -1) * input
    return g.mT @ input


def _as_it_is(g: Any, saved: dict[str, Any], rows: int) -> Any:
    return g


RULES: dict[str, tuple[Callable[[Any, dict[str, Any], int], Any], ...]] = {
    "sum_all": (_of_sum,),
    "expand": (_as_it_is,),  # and summed, as whatever broadcasting stretched
    "t": (lambda g, saved, rows: g.mT if len(g.shape) == 3 else g,),
    "matmul": (_of_input, _of_other),
    "linear": (_of_layers_input, _of_weight, _as_it_is),
}
