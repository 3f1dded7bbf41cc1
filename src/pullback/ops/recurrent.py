"""Recurrent layers: whole sequences through an Elman, GRU or LSTM cell, as one operation each.

The rows of ``x`` are what the inputs contribute to the gates, step by step, so the caller makes them all in
one product. ``spans`` says in which order the steps are taken and which rows each one has: step (a, b) takes
rows a to b, and with them the first b - a sequences one step on. That covers both directions, and packed
sequences of several lengths, where steps have fewer and fewer rows. States are (sequences, size); weights are
stacked by gate, as PyTorch has them.

A derivative is one backward recurrence of few operations a step: whatever depends on the forward values alone
is computed for all steps at once, before or after. Gates are computed again rather than kept, which also lets
the rules be differentiated themselves. The recurrences are those of Elman (1990), of Hochreiter & Schmidhuber
(1997) with the forget gates of Gers et al. (2000) and the projections of Sak et al. (2014), and of Cho et al.
(2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels, op
from ..tensor import Tensor
from .join import cat, stack
from .pointwise import sigmoid, tanh
from .reduce import sum
from .view import reshape, transpose

__all__ = ["elman", "gru", "lstm"]

Spans = Sequence[tuple[int, int]]
expit, concatenate = sigmoid.__wrapped__, np.concatenate  # on arrays


def _gates(rows: np.ndarray, count: int) -> np.ndarray:
    """Rows of gates as (gates, rows, size), for the arithmetic on each gate to go straight through memory."""
    return rows.reshape(len(rows), count, rows.shape[1] // count).transpose(1, 0, 2)


def _in_order(parts: list[tuple[int, Any]]) -> Any:
    """The parts, each with the row that it begins at, as one."""
    parts = sorted(parts, key=lambda part: part[0])
    return parts[0][1] if len(parts) == 1 else cat([part for _, part in parts])


def _before(states: Any, first: Any, spans: Spans) -> Any:
    """The states that went into each row, in the order of the rows."""
    parts, now = [], first
    for a, b in spans:
        parts.append((a, now[: b - a]))
        now = _renewed(now, states[a:b])
    return _in_order(parts)


def _renewed(states: Any, new: Any) -> Any:
    """All states, the first of which have changed."""
    return new if len(new) == len(states) else cat([new, states[len(new) :]])


def _nothing(states: Any) -> np.ndarray:
    """A gradient of zero to begin with; what is added decides its type."""
    return np.zeros(states.shape, bool)


# --- Elman --------------------------------------------------------------------------------------------------


@op.general(method=False)
def elman(x: Tensor, hidden: Tensor, weight: Tensor, spans: Spans, relu: bool = False) -> Tensor:
    """``h' = f(x + h Wᵀ)`` with f tanh or relu, for all steps.

    Args:
        x: ``(rows, H)``. hidden: the first states, ``(B, H)``. weight: ``(H, H)``.

    Returns:
        the states after each step, ``(rows, H)``.
    """
    out, w = np.empty(x.shape, x.dtype), np.ascontiguousarray(weight.T)
    for a, b in spans:
        h = out[a:b]
        np.add(hidden[: b - a].dot(w), x[a:b], h)
        np.maximum(h, 0, out=h) if relu else np.tanh(h, out=h)
        hidden = h if b - a == len(hidden) else concatenate((h, hidden[b - a :]))
    return out


@elman.vjp_all
def _of_elman(g: Any, wanted: Any, hidden: Any, weight: Any, spans: Spans, relu: bool, out: Any) -> Any:
    slope = out > 0 if relu else 1 - out * out
    carried, parts = _nothing(hidden), []
    for a, b in reversed(spans):
        dz = (g[a:b] + carried[: b - a]) * slope[a:b]
        parts.append((a, dz))
        carried = _renewed(carried, dz @ weight)
    dx = _in_order(parts)
    return dx, carried, transpose(dx, 0, 1) @ _before(out, hidden, spans) if wanted[2] else None


# --- GRU ----------------------------------------------------------------------------------------------------


@op.general(method=False)
def gru(x: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None = None, spans: Spans = ()) -> Tensor:
    """``h' = n + z (h - n)`` for all steps.

    Here ``y = h Wᵀ + b``, ``r = σ(x_r + y_r)``, ``z = σ(x_z + y_z)`` and ``n = tanh(x_n + r y_n)``.

    Args:
        x: ``(rows, 3 H)``, gates r, z, n. hidden: the first states, ``(B, H)``. weight: ``(3 H, H)``. bias:
            ``(3 H)``.

    Returns:
        the states after each step, ``(rows, H)``.
    """
    out, w = np.empty((len(x), hidden.shape[1]), x.dtype), np.ascontiguousarray(weight.T)
    x_r_z, x_n = _gates(x, 3)[:2], _gates(x, 3)[2]
    for a, b in spans:
        h, now = out[a:b], hidden[: b - a]
        y = now.dot(w)
        if bias is not None:
            np.add(y, bias, y)
        y = _gates(y, 3)
        r, z = expit(np.add(x_r_z[:, a:b], y[:2], order="C"))
        n = np.multiply(r, y[2], r)
        n = np.tanh(np.add(n, x_n[a:b], n), n)
        np.subtract(now, n, h)
        np.add(np.multiply(h, z, h), n, h)
        hidden = h if b - a == len(hidden) else concatenate((h, hidden[b - a :]))
    return out


@gru.vjp_all
def _of_gru(g: Any, wanted: Any, x: Any, hidden: Any, weight: Any, bias: Any, spans: Spans, out: Any) -> Any:
    size = hidden.shape[1]
    before = _before(out, hidden, spans)
    y = before @ transpose(weight, 0, 1)
    if bias is not None:
        y = y + bias
    r, z = (sigmoid(x[:, gate] + y[:, gate]) for gate in (slice(0, size), slice(size, 2 * size)))
    y_n = y[:, 2 * size :]
    n = tanh(x[:, 2 * size :] + r * y_n)
    by_n = (1 - z) * (1 - n * n)
    by_y = stack([by_n * y_n * r * (1 - r), (before - n) * z * (1 - z), by_n * r], 1)
    carried, states, parts = _nothing(hidden), [], []
    for a, b in reversed(spans):
        dh = g[a:b] + carried[: b - a]
        dy = reshape(dh[:, None] * by_y[a:b], (b - a, 3 * size))
        states.append((a, dh))
        parts.append((a, dy))
        carried = _renewed(carried, dy @ weight + dh * z[a:b])
    dy = _in_order(parts)
    dx = cat([dy[:, : 2 * size], _in_order(states) * by_n], 1)
    return dx, carried, transpose(dy, 0, 1) @ before if wanted[2] else None, sum(dy, 0) if wanted[3] else None


# --- LSTM ---------------------------------------------------------------------------------------------------


@op.general(outputs="output cells", method=False)
def lstm(x: Tensor, hidden: Tensor, cell: Tensor, weight: Tensor, projection: Tensor | None = None,
         spans: Spans = ()) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``c' = f c + i g`` and ``h' = o tanh(c')`` for all steps.

    Here ``z = x + h Wᵀ``, ``i = σ(z_i)``, ``f = σ(z_f)``, ``g = tanh(z_g)`` and ``o = σ(z_o)``.

    Args:
        x: ``(rows, 4 H)``, gates i, f, g, o. hidden, cell: the first states, ``(B, P)`` and ``(B, H)``.
            weight: ``(4 H, P)``.
        projection: ``(P, H)``, to make ``h' = Q (o tanh(c'))``; else P is H.

    Returns:
        the states h and c after each step, ``(rows, P)`` and ``(rows, H)``.
    """
    fast = kernels.run("recurrent", "lstm", x.size, x, hidden, cell, weight, projection, spans)
    if fast is not None:
        return fast
    output, cells = np.empty((len(x), hidden.shape[1]), x.dtype), np.empty((len(x), cell.shape[1]), x.dtype)
    xs, w = _gates(x, 4), np.ascontiguousarray(weight.T)
    for a, b in spans:
        h, c = output[a:b], cells[a:b]
        z = np.add(xs[:, a:b], _gates(hidden[: b - a].dot(w), 4), order="C")
        new = np.tanh(z[2])
        i, f, _, o = expit(z)  # also of the third gate, since one call costs less than two
        np.multiply(f, cell[: b - a], c)
        np.add(c, np.multiply(new, i, new), c)
        m = np.tanh(c, new)
        np.multiply(m, o, m)
        h[...] = m if projection is None else m.dot(projection.T)
        hidden = h if b - a == len(hidden) else concatenate((h, hidden[b - a :]))
        cell = c if b - a == len(cell) else concatenate((c, cell[b - a :]))
    return output, cells


@lstm.vjp_all
def _of_lstm(g: Any, wanted: Any, x: Any, hidden: Any, cell: Any, weight: Any, projection: Any, spans: Spans,
             output: Any, cells: Any) -> Any:  # fmt: skip
    size, (g_output, g_cells) = cell.shape[1], g
    if g_output.__class__ is x.__class__ is np.ndarray:
        fast = kernels.run("recurrent", "lstm_backward", x.size, g_output, g_cells, x, hidden, cell, weight, projection, spans, output, cells)
        if fast is not None:
            return *fast, None
    before, cell_before, tanh_c = _before(output, hidden, spans), _before(cells, cell, spans), tanh(cells)
    z = x + before @ transpose(weight, 0, 1)
    i, f, o = (sigmoid(z[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
    new = tanh(z[:, 2 * size : 3 * size])
    by_cell = stack([new * i * (1 - i), cell_before * f * (1 - f), i * (1 - new * new)], 1)
    by_hidden, through_tanh = tanh_c * o * (1 - o), o * (1 - tanh_c * tanh_c)
    w_ifg, w_o = weight[: 3 * size], weight[3 * size :]
    carried, kept, states, parts_ifg, parts_o = _nothing(hidden), _nothing(cell), [], [], []
    for a, b in reversed(spans):
        dh = g_output[a:b] + carried[: b - a]
        if projection is not None:
            states.append((a, dh))
            dh = dh @ projection
        dc = g_cells[a:b] + kept[: b - a] + dh * through_tanh[a:b]
        dz_ifg, dz_o = reshape(dc[:, None] * by_cell[a:b], (b - a, 3 * size)), dh * by_hidden[a:b]
        parts_ifg.append((a, dz_ifg))
        parts_o.append((a, dz_o))
        carried = _renewed(carried, dz_ifg @ w_ifg + dz_o @ w_o)
        kept = _renewed(kept, dc * f[a:b])
    dx = cat([_in_order(parts_ifg), _in_order(parts_o)], 1)
    d_weight = transpose(dx, 0, 1) @ before if wanted[3] else None
    d_projection = transpose(_in_order(states), 0, 1) @ (o * tanh_c) if wanted[4] else None
    return dx, carried, kept, d_weight, d_projection
