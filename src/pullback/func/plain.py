"""Batches of plain arrays: what the most frequent operations, and the rules of nodes, do with them.

Under ``vmap`` operations run on tensors that hold batches, and so do rules, each step of which asks the level what to do. Where only
one batch is about and nothing of what a rule does is recorded, which is the usual case, all steps are known beforehand: the
rule of an elementwise operation broadcasts over the batch as it is, those of views and reductions do so once they are told of
it (:mod:`pullback.autograd.rows`), and for layers and losses the whole is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import kernels
from ..autograd import rows
from ..autograd.graph import Node
from ..dtypes import FLOAT32, FLOAT64
from ..lift import Lifted
from ..ops.cross_entropy import _cross_entropy, _nll, counted
from ..ops.matmul import product
from ..ops.reduce import total
from ..ops.view import unsqueeze

FORWARDS: dict[str, Callable[..., Any]] = {}
PULLS: dict[str, Callable[..., Any]] = {}


def computed(level: Any, op: Any, values: Sequence[Any]) -> Any:
    """What an operation gives for values of a level: an array, or several, with the batch in front; None where it is not known here."""
    forward = FORWARDS.get(op.name)
    given = None if forward is None or not level.size else [_given(level, v) for v in values]
    return None if given is None or None in given else forward(level.size, *given)  # type: ignore[misc]


def _given(level: Any, v: Any) -> tuple[Any, bool] | None:
    """A value as a pair; None if it is of another level, or none of plain arrays."""
    if isinstance(v, Lifted):
        return (v.value, True) if v.level is level and v.value.__class__ is np.ndarray else None
    return None if v.__class__ is list else (v, False)


def pulled(level: Any, node: Node, g: Any, saved: Sequence[Any], edges: Sequence[Any]) -> list[Any] | None:
    """The gradients for a node's edges as batches of the level; None where the general way has to be gone."""
    op = node._op
    several = g.__class__ is tuple
    if op is None or not level.size:
        return None
    for d in node._dtype if several else (node._dtype,):
        if d is not FLOAT32 and d is not FLOAT64:
            return None
    given: list[Any] = []
    lifted = outside = False
    for v in (*g, *saved) if several else (g, *saved):
        if isinstance(v, Lifted):
            if v.level is not level or v.value.__class__ is not np.ndarray:
                return None
            lifted, outside = True, outside or v.outer
            given.append((v.value, True))
        elif v.__class__ is list:
            return None
        else:
            given.append((v, False))
    if not lifted:
        return None
    n = len(g) if several else 1
    results = _results(op, node, given[:n], given[n:], edges, level.size)
    if results is None:
        return None
    fitted = []
    for e, r in zip(edges, results):
        if e is not None and r is not None:
            if e._seq <= 0 or r.dtype is not e._dtype or r.shape != (level.size, *e._shape):
                r = rows.fitted(r, e, level.size, False)
                if r is rows.NOT_HERE:
                    return None
            r = level.lifted(r, outside)
        fitted.append(r)
    return fitted


def _results(op: Any, node: Node, gs: list[Any], saved: list[Any], edges: Sequence[Any], size: int) -> Sequence[Any] | None:
    rule = PULLS.get(op.name)
    if rule is not None:
        return rule(size, gs, dict(zip(op.saved_names, saved)), edges)
    if len(gs) > 1:
        return None
    g, full = everywhere(gs[0], size), (size, *node._shape)
    values = [v for v, _ in saved]
    if op.kind == "elementwise" and op.shared is None:
        ndim = len(full)
        values = [v.reshape((size,) + (1,) * (ndim - v.ndim) + v.shape[1:]) if b else v for v, b in saved]
        pulls = kernels.fused(op) if g.size >= kernels.LARGE else op.pulls
        results = [None if e is None else f(g, values) for e, f in zip(edges, pulls)]
        return results if all([r is None or getattr(r, "shape", None) == full for r in results]) else None
    rule = rows.RULES.get(op.name)
    if rule is not None:
        return [rule(g, values[op.saved_names.index("input_shape")], size)]
    if op.name not in rows.ALONG:
        return None
    told = rows.told(node, values, size, [b for _, b in saved])
    if told is None:
        return None
    if op.shared is not None:
        return op.shared(g, [e is not None for e in edges], *[told[i] for i in op.shared_at])
    return [None if e is None else f(g, told) for e, f in zip(edges, op.pulls)]


def everywhere(pair: tuple[Any, bool], size: int) -> Any:
    """An array, given with whether it has a batch in front: repeated if it has none."""
    v, batched = pair
    return v if batched else np.broadcast_to(v, (size, *v.shape))


def registered(table: dict[str, Callable[..., Any]], *names: str) -> Callable[[Callable], Callable]:
    """Register what these operations give, ``forward(size, *values)``, or their rules, ``pull(size, gradients, saved, edges)``.

    Values are pairs: an array (or an option) and whether it has the batch in front. None stands for the general way.
    """

    def register(fn: Callable) -> Callable:
        table.update(dict.fromkeys(names, fn))
        return fn

    return register


# --- looks and sums ---------------------------------------------------------------------------------------------


@registered(FORWARDS, "unsqueeze")
def _unsqueezed(size: int, input: Any, dim: Any) -> Any:
    x, ndim = input[0], input[0].ndim
    return unsqueeze(x, dim[0] % ndim + 1) if -ndim <= dim[0] < ndim else None


@registered(FORWARDS, "sum_all")
def _sum(size: int, input: Any, dtype: Any) -> Any:
    x = input[0]
    return None if x.ndim < 2 or dtype[0] is not None or x.dtype.kind != "f" or x.dtype.itemsize < 4 else total(x, tuple(range(1, x.ndim)))


# --- linear maps ------------------------------------------------------------------------------------------------


@registered(FORWARDS, "linear")
def _linear(size: int, input: Any, weight: Any, bias: Any) -> Any:
    (x, batched), (w, own), (b, its_own) = input, weight, bias
    if not batched or own or its_own or x.ndim < 2 or w.ndim != 2 or x.shape[-1] != w.shape[1] or not x.size:
        return None
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or w.dtype != x.dtype or b is not None and (b.dtype != x.dtype or b.ndim > 1):
        return None
    own_row = b is not None and b.shape == w.shape[:1]
    out = product(x.reshape(-1, x.shape[-1]), w.T, b if own_row else None).reshape(*x.shape[:-1], len(w))
    if b is not None and not own_row:
        out += b
    return out


@registered(PULLS, "linear")
def _of_linear(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    g = everywhere(gs[0], size)
    shape = saved["weight_shape"][0]
    if len(shape) != 2:
        return None
    m, k = shape
    lead = g.shape[1:-1]
    count = prod(lead)  # of rows in each example
    each = g.reshape(size, count, m)
    results: list[Any] = [None, None, None]
    if edges[0] is not None:
        w, batched = saved["weight"]
        results[0] = np.matmul(each, w).reshape(size, *lead, k) if batched else product(each.reshape(-1, m), w).reshape(size, *lead, k)
    if edges[1] is not None:
        x, batched = saved["input"]
        if count == 1:
            x = x.reshape(-1, k)
            results[1] = outer(each.reshape(size, m), x if batched else np.broadcast_to(x, (size, k)))
        else:
            results[1] = np.matmul(each.transpose(0, 2, 1), x.reshape(size if batched else 1, count, k))
    if edges[2] is not None:
        results[2] = each.reshape(size, m) if count == 1 else total(each, (1,))
    return results


def outer(x: np.ndarray, y: np.ndarray) -> Any:
    """The outer products of rows: ``(n, rows)`` and ``(n, columns)`` to ``(n, rows, columns)``."""
    out = kernels.run("outer", "outer", x.size * y.shape[1], x, y)
    return x[:, :, None] * y[:, None, :] if out is None else out


# --- losses of classes ------------------------------------------------------------------------------------------


@registered(FORWARDS, "class_shares")
def _shares(size: int, target: Any, weight: Any, classes: Any, ignored: Any, mean: Any, dtype: Any) -> Any:
    """Shares of the mean are those of each example."""
    if weight[0] is not None:
        return None
    target, shares = counted(target[0], None, classes[0], ignored[0], False, dtype[0])
    if mean[0] and shares.size > size:
        shares = shares / np.maximum(shares.sum(tuple(range(1, shares.ndim)), keepdims=True), 1)
    return target, shares


@registered(FORWARDS, "cross_entropy")
def _losses(size: int, input: Any, target: Any, shares: Any, each: Any) -> Any:
    """Examples become more rows of one batch."""
    x, t, s = (everywhere(pair, size) for pair in (input, target, shares))
    if x.ndim not in (2, 3) or not x.size or x.dtype != s.dtype:
        return None
    lead = x.shape[:-1]
    out, top, logsum = _cross_entropy.op.impl(x.reshape(-1, x.shape[-1]), t.reshape(-1), s.reshape(-1), True)
    out = out.reshape(lead)
    if out.ndim == 2 and not each[0]:
        out = out.reshape(size) if out.shape[1] == 1 else total(out, (1,))
    return out, top.reshape(*lead, 1), logsum.reshape(*lead, 1)


@registered(PULLS, "nll_loss", "cross_entropy")
def _of_classes(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    """Examples become more rows of one batch."""
    shares = everywhere(saved["shares"], size)
    if shares.ndim > 2:
        return None
    g, few = gs[0][0], shares.ndim == 2  # rows in each example
    if g.ndim:  # not one number for all
        g = everywhere(gs[0], size)
        g = np.broadcast_to(g.reshape((size,) + (1,) * (shares.ndim - 1)) if g.ndim == 1 else g, shares.shape).reshape(-1)

    def of(name: str) -> Any:
        v = everywhere(saved[name], size)
        return v.reshape(-1, *v.shape[2:]) if few else v

    target = of("target")
    if len(gs) == 1:
        shape = shares.size, saved["input_shape"][0][-1]
        out = _nll.op.pulls[0](g, _in_order(_nll.op, input_shape=shape, target=target, shares=of("shares")))
    else:
        of_logsum = (everywhere(gs[1], size) if gs[1][1] or gs[1][0].any() else gs[1][0].reshape(-1)[:1]).reshape(-1, 1)
        parts = of("input"), target, of("shares"), of("top").reshape(-1, 1), of("logsum").reshape(-1, 1)
        out, *_ = _cross_entropy.op.shared((g, of_logsum), [True], *parts)
    return [out.reshape(*shares.shape, out.shape[-1])] + [None] * (len(edges) - 1)


def _in_order(op: Any, **values: Any) -> list[Any]:
    return [values.get(name) for name in op.saved_names]
