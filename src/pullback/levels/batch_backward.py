"""Backward rules on the plain arrays of one batch: the fast path of a node's rule under ``vmap``.

In general a rule runs on tensors that hold batches, and the level steps in at every operation. Where there is only one
batch, and what the rule does is not recorded, the rule runs on the arrays, the batch in front: those of elementwise
operations broadcast as they are, those of views and reductions do so with shifted saved values
(:mod:`pullback.levels.multi_seed_vjp`), and those of layers and losses are written out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import FLOAT32, FLOAT64
from ..core.geometry import strided
from ..core.graph import Node
from ..core.level import LevelValue
from ..core.op import OpTable
from ..kernels import dispatch
from ..ops.cross_entropy import _cross_entropy, _nll
from ..ops.linear import _linear
from ..ops.loss import _mse
from ..ops.matmul import _matmul, matmul_arrays
from ..ops.reduce import sum_array
from . import multi_seed_vjp

# Rules of layers and losses, rule(size, gradients, saved, edges): values are pairs, an array (or an option) and whether
# it has the batch in front. A rule that returns None asks for the slow path.
batched_vjp = OpTable()


def apply_vjps(level: Any, node: Node, g: Any, saved: Sequence[Any], edges: Sequence[Any]) -> list[Any] | None:
    """The gradients for a node's edges as batches of the level; None for the slow path."""
    op = node._op
    several = g.__class__ is tuple
    if op is None or not level.size:
        return None
    for d in node._dtype if several else (node._dtype,):
        if d is not FLOAT32 and d is not FLOAT64:
            return None
    given: list[Any] = []
    lifted = outer = False
    for v in (*g, *saved) if several else (g, *saved):
        if isinstance(v, LevelValue):
            if v.level is not level or v.value.__class__ is not np.ndarray:
                return None
            lifted, outer = True, outer or v.outer
            given.append((v.value, True))
        elif v.__class__ is list:
            return None
        else:
            given.append((v, False))
    if not lifted:
        return None
    n = len(g) if several else 1
    results = _vjps(op, node, given[:n], given[n:], edges, level.size)
    if results is None:
        return None
    grads = []
    for e, r in zip(edges, results):
        if e is not None and r is not None:
            if e._seq <= 0 or r.dtype is not e._dtype or r.shape != (level.size, *e._shape):
                r = multi_seed_vjp.unbroadcast_rows(r, e, level.size, False)
                if r is NotImplemented:
                    return None
            r = level.lift(r, outer)
        grads.append(r)
    return grads


def _vjps(
    op: Any, node: Node, gs: list[Any], saved: list[Any], edges: Sequence[Any], size: int
) -> Sequence[Any] | None:
    rule = batched_vjp.get(op)
    if rule is not None:
        return rule(size, gs, dict(zip(op.saved_names, saved)), edges)
    if node._shape.__class__ is list:
        return None
    g, full = ensure_batched(gs[0], size), (size, *node._shape)
    values = [v for v, _ in saved]
    if op.kind == "elementwise" and op.joint_vjp is None:
        ndim = len(full)
        values = [v.reshape((size,) + (1,) * (ndim - v.ndim) + v.shape[1:]) if b else v for v, b in saved]
        pulls = dispatch.kernel_vjps(op) if g.size >= kernels.LARGE else op.vjps_for(node._dtype)
        results = [None if e is None else f(g, values) for e, f in zip(edges, pulls)]
        return results if all([r is None or getattr(r, "shape", None) == full for r in results]) else None
    rule = multi_seed_vjp.rows_vjp.get(op)
    if rule is not None:
        return [rule(g, values[op.saved_names.index("input_shape")], size)]
    if not multi_seed_vjp.vjps_take_rows(op):
        return None
    shifted = multi_seed_vjp.shift_saved(node, values, size, [b for _, b in saved])
    if shifted is None:
        return None
    if op.joint_vjp is not None:
        return op.joint_vjp(g, [e is not None for e in edges], *[shifted[i] for i in op.joint_vjp_at])
    return [None if e is None else f(g, shifted) for e, f in zip(edges, op.vjps)]


def ensure_batched(pair: tuple[Any, bool], size: int) -> Any:
    """The array of a pair, repeated if it has no batch in front."""
    v, batched = pair
    if batched:
        return v
    shape = size, *v.shape
    return strided(v, shape, (0, *v.strides), 0) if v.flags.c_contiguous else np.broadcast_to(v, shape)


# --- linear maps ------------------------------------------------------------------------------------------------


@batched_vjp(_linear)
def linear_vjp(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    g = ensure_batched(gs[0], size)
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
            results[1] = outer_product(each.reshape(size, m), x if batched else np.broadcast_to(x, (size, k)))
        else:
            results[1] = np.matmul(each.transpose(0, 2, 1), x.reshape(size if batched else 1, count, k))
    if edges[2] is not None:
        results[2] = each.reshape(size, m) if count == 1 else sum_array(each, (1,))
    return results


def outer_product(x: np.ndarray, y: np.ndarray) -> Any:
    """The outer products of rows: ``(n, rows)`` and ``(n, columns)`` to ``(n, rows, columns)``."""
    out = kernels.run("outer_products", "outer", x.size * y.shape[1], x, y)
    return x[:, :, None] * y[:, None, :] if out is None else out


@batched_vjp(_matmul)
def matmul_vjp(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    """Vectors are matrices of one row or of one column."""

    def ndim(name: str) -> int:
        (v, batched), shape = saved[name], saved[name + "_shape"][0]
        return len(shape) if v is None else v.ndim - batched

    n, m, g = ndim("input"), ndim("other"), ensure_batched(gs[0], size)
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
        r = outer_product(x[:, 0], g[:, 0]) if x.ndim == g.ndim == 3 and x.shape[1] == 1 else np.matmul(x.mT, g)
        results[1] = r[..., 0] if m == 1 else r
    return results


# --- losses ------------------------------------------------------------------------------------------


@batched_vjp(_mse)
def mse_vjp(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    x, y = ensure_batched(saved["input"], size), ensure_batched(saved["target"], size)
    if x.shape != y.shape:
        return None
    g, batched = gs[0]
    g = g.reshape((size,) + (1,) * (x.ndim - g.ndim) + g.shape[1:]) if batched else g
    r = (x - y) * (2 / max(prod(x.shape[1:]), 1) if saved["reduction"][0] == "mean" else 2.0) * g
    return [r, None if edges[1] is None else -r]


@batched_vjp(_nll, _cross_entropy)
def class_loss_vjp(size: int, gs: Any, saved: dict[str, Any], edges: Any) -> Any:
    """Examples become more rows of one batch."""
    if saved["shares"][0].__class__ is float:  # the same for all
        target, batched = saved["target"]
        saved["shares"] = np.full(target.shape[int(batched) :], saved["shares"][0], gs[0][0].dtype), False
    shares = ensure_batched(saved["shares"], size)
    if shares.ndim > 2:
        return None
    g, few = gs[0][0], shares.ndim == 2  # rows in each example
    if g.ndim:  # not one number for all
        g = ensure_batched(gs[0], size)
        g = np.broadcast_to(g.reshape((size,) + (1,) * (shares.ndim - 1)) if g.ndim == 1 else g, shares.shape).reshape(
            -1
        )

    def of(name: str) -> Any:
        v = ensure_batched(saved[name], size)
        return v.reshape(-1, *v.shape[2:]) if few else v

    target = of("target")
    if "input" not in saved:
        shape = shares.size, saved["input_shape"][0][-1]
        out = _nll.op.vjps[0](g, _saved_in_order(_nll.op, input_shape=shape, target=target, shares=of("shares")))
    else:
        parts = of("input"), target, of("shares"), of("top").reshape(-1, 1), of("logsum").reshape(-1, 1)
        out, *_ = _cross_entropy.op.joint_vjp(g, [True], *parts)
    return [out.reshape(*shares.shape, out.shape[-1])] + [None] * (len(edges) - 1)


def _saved_in_order(op: Any, **values: Any) -> list[Any]:
    return [values.get(name) for name in op.saved_names]
