"""Batches of plain arrays: what the rules of nodes make of them.

Under ``vmap`` operations run on tensors that hold batches, and so do rules, each step of which asks the level what to
do. Where only one batch is about and nothing of what a rule does is recorded, which is the usual case, all steps are
known beforehand: the rule of an elementwise operation broadcasts over the batch as it is, those of views and reductions
do so once they are told of it (:mod:`pullback.levels.multi_seed_vjp`), and for layers and losses the whole is written
here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import FLOAT32, FLOAT64
from ..core.geometry import strided
from ..core.graph import Node
from ..core.level import LevelValue
from ..ops.cross_entropy import _cross_entropy, _nll
from ..ops.matmul import matmul_arrays
from ..ops.reduce import sum_array
from . import multi_seed_vjp

VJPS: dict[str, Callable[..., Any]] = {}


def apply_vjps(level: Any, node: Node, g: Any, saved: Sequence[Any], edges: Sequence[Any]) -> list[Any] | None:
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
        if isinstance(v, LevelValue):
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
                r = multi_seed_vjp.fitted(r, e, level.size, False)
                if r is multi_seed_vjp.NOT_HERE:
                    return None
            r = level.lifted(r, outside)
        fitted.append(r)
    return fitted


def _results(
    op: Any, node: Node, gs: list[Any], saved: list[Any], edges: Sequence[Any], size: int
) -> Sequence[Any] | None:
    rule = VJPS.get(op.name)
    if rule is not None:
        return rule(size, gs, dict(zip(op.saved_names, saved)), edges)
    if len(gs) > 1:
        return None
    g, full = everywhere(gs[0], size), (size, *node._shape)
    values = [v for v, _ in saved]
    if op.kind == "elementwise" and op.joint_vjp is None:
        ndim = len(full)
        values = [v.reshape((size,) + (1,) * (ndim - v.ndim) + v.shape[1:]) if b else v for v, b in saved]
        pulls = kernels.fused(op) if g.size >= kernels.LARGE else op.vjps
        results = [None if e is None else f(g, values) for e, f in zip(edges, pulls)]
        return results if all([r is None or getattr(r, "shape", None) == full for r in results]) else None
    rule = multi_seed_vjp.RULES.get(op.name)
    if rule is not None:
        return [rule(g, values[op.saved_names.index("input_shape")], size)]
    if op.name not in multi_seed_vjp.ALONG:
        return None
    told = multi_seed_vjp.dims_past_seeds(node, values, size, [b for _, b in saved])
    if told is None:
        return None
    if op.joint_vjp is not None:
        return op.joint_vjp(g, [e is not None for e in edges], *[told[i] for i in op.joint_vjp_at])
    return [None if e is None else f(g, told) for e, f in zip(edges, op.vjps)]


def everywhere(pair: tuple[Any, bool], size: int) -> Any:
    """An array, given with whether it has a batch in front: repeated if it has none."""
    v, batched = pair
    if batched:
        return v
    shape = size, *v.shape
    return strided(v, shape, (0, *v.strides), 0) if v.flags.c_contiguous else np.broadcast_to(v, shape)


def pulls(*names: str) -> Callable[[Callable], Callable]:
    """Register the rules of these operations, ``pull(size, gradients, saved, edges)``.

    Values are pairs: an array (or an option) and whether it has the batch in front. None stands for the general way.
    """

    def register(fn: Callable) -> Callable:
        VJPS.update(dict.fromkeys(names, fn))
        return fn

    return register


# --- linear maps ------------------------------------------------------------------------------------------------


@pulls("linear")
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
        results[0] = (
            np.matmul(each, w).reshape(size, *lead, k)
            if batched
            else matmul_arrays(each.reshape(-1, m), w).reshape(size, *lead, k)
        )
    if edges[1] is not None:
        x, batched = saved["input"]
        if count == 1:
            x = x.reshape(-1, k)
            results[1] = outer(each.reshape(size, m), x if batched else np.broadcast_to(x, (size, k)))
        else:
            results[1] = np.matmul(each.transpose(0, 2, 1), x.reshape(size if batched else 1, count, k))
    if edges[2] is not None:
        results[2] = each.reshape(size, m) if count == 1 else sum_array(each, (1,))
    return results


def outer(x: np.ndarray, y: np.ndarray) -> Any:
    """The outer products of rows: ``(n, rows)`` and ``(n, columns)`` to ``(n, rows, columns)``."""
    out = kernels.run("outer_products", "outer", x.size * y.shape[1], x, y)
    return x[:, :, None] * y[:, None, :] if out is None else out


@pulls("matmul")
def _of_matmul(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    """Vectors are matrices of one row or of one column."""

    def ndim(name: str) -> int:
        (v, batched), shape = saved[name], saved[name + "_shape"][0]
        return len(shape) if v is None else v.ndim - batched

    n, m, g = ndim("input"), ndim("other"), everywhere(gs[0], size)
    g = g[..., None] if m == 1 else g
    g = g[..., None, :] if n == 1 else g

    def matrix(name: str, axis: int) -> Any:
        v, batched = saved[name]
        v = np.expand_dims(v, axis) if ndim(name) == 1 else v
        return v.reshape((size,) + (1,) * (g.ndim - v.ndim) + v.shape[1:]) if batched else v

    results: list[Any] = [None, None]
    if edges[0] is not None:
        r = matmul_arrays(g, matrix("other", -1).mT)
        results[0] = r[..., 0, :] if n == 1 else r
    if edges[1] is not None:
        x = matrix("input", -2)
        r = outer(x[:, 0], g[:, 0]) if x.ndim == g.ndim == 3 and x.shape[1] == 1 else np.matmul(x.mT, g)
        results[1] = r[..., 0] if m == 1 else r
    return results


# --- losses ------------------------------------------------------------------------------------------


@pulls("mse_loss")
def _of_squares(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    x, y = everywhere(saved["input"], size), everywhere(saved["target"], size)
    if x.shape != y.shape:
        return None
    g, batched = gs[0]
    g = g.reshape((size,) + (1,) * (x.ndim - g.ndim) + g.shape[1:]) if batched else g
    r = (x - y) * (2 / max(prod(x.shape[1:]), 1) if saved["reduction"][0] == "mean" else 2.0) * g
    return [r, None if edges[1] is None else -r]


@pulls("nll_loss", "cross_entropy")
def _of_classes(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    """Examples become more rows of one batch."""
    if saved["shares"][0].__class__ is float:  # the same for all
        target, batched = saved["target"]
        saved["shares"] = np.full(target.shape[int(batched) :], saved["shares"][0], gs[0][0].dtype), False
    shares = everywhere(saved["shares"], size)
    if shares.ndim > 2:
        return None
    g, few = gs[0][0], shares.ndim == 2  # rows in each example
    if g.ndim:  # not one number for all
        g = everywhere(gs[0], size)
        g = np.broadcast_to(g.reshape((size,) + (1,) * (shares.ndim - 1)) if g.ndim == 1 else g, shares.shape).reshape(
            -1
        )

    def of(name: str) -> Any:
        v = everywhere(saved[name], size)
        return v.reshape(-1, *v.shape[2:]) if few else v

    target = of("target")
    if "input" not in saved:
        shape = shares.size, saved["input_shape"][0][-1]
        out = _nll.op.vjps[0](g, _in_order(_nll.op, input_shape=shape, target=target, shares=of("shares")))
    else:
        parts = of("input"), target, of("shares"), of("top").reshape(-1, 1), of("logsum").reshape(-1, 1)
        out, *_ = _cross_entropy.op.joint_vjp(g, [True], *parts)
    return [out.reshape(*shares.shape, out.shape[-1])] + [None] * (len(edges) - 1)


def _in_order(op: Any, **values: Any) -> list[Any]:
    return [values.get(name) for name in op.saved_names]
