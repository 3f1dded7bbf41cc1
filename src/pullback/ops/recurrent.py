"""``rnn``, ``gru`` and ``lstm`` layers: the ops ``elman``, ``gru`` and ``lstm`` run whole sequences, in one direction.

Rows of ``input`` are the inputs of all sequences, step by step, so that their contribution to the gates is one product.
``spans`` lists the rows of each step in the order of the steps: step (a, b) takes rows a to b, and advances the first
b - a sequences. That covers both directions, and packed sequences of several lengths, where later steps have fewer
rows. States are (sequences, size); weights are stacked by gate, as in PyTorch.

A derivative is one backward recurrence of few operations a step: everything that depends on forward values alone is
computed for all steps at once, before or after. Kernels save the gates; otherwise they are recomputed, which also makes
the rules differentiable again. The recurrences are those of Elman (1990), of Hochreiter & Schmidhuber (1997) with the
forget gates of Gers et al. (2000) and the projections of Sak et al. (2014), and of Cho et al. (2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..core import op
from ..core.tensor import Tensor
from ..kernels import gemm
from .concat import cat, stack
from .linear import linear
from .pointwise import sigmoid
from .reduce import sum
from .trigonometry import tanh
from .view import reshape, transpose

__all__ = ["elman", "gru", "lstm"]

Spans = tuple[tuple[int, int], ...]
expit = sigmoid.__wrapped__  # on arrays


def _split_gates(rows: np.ndarray, count: int) -> np.ndarray:
    """Rows of stacked gates as (gates, rows, size), so that each gate's arithmetic is contiguous."""
    return rows.reshape(len(rows), count, rows.shape[1] // count).transpose(1, 0, 2)


def _cat_in_order(parts: list[tuple[int, Any]]) -> Any:
    """Parts, given with their first rows, concatenated in the order of the rows."""
    parts = sorted(parts, key=lambda part: part[0])
    return parts[0][1] if len(parts) == 1 else cat([part for _, part in parts])


def _previous_states(states: Any, first: Any, spans: Spans) -> Any:
    """The state before the step of each row, in the order of the rows."""
    parts, now = [], first
    for a, b in spans:
        parts.append((a, now[: b - a]))
        now = _replace_first(now, states[a:b])
    return _cat_in_order(parts)


def _replace_first(states: Any, new: Any, joined: Callable[[list[Any]], Any] = cat) -> Any:
    """``states`` with the first ones replaced by ``new``."""
    return new if len(new) == len(states) else joined([new, states[len(new) :]])


def _zero_gradient(states: Any) -> np.ndarray:
    """A zero gradient to add to; as a bool array, so that the first sum decides its dtype."""
    return np.zeros(states.shape, bool)


def _matmul(a: Any, b: Any) -> Any:
    return gemm.product(a, b) if a.__class__ is b.__class__ is np.ndarray else a @ b


def _forward(
    cell: str, input: Any, states: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, spans: Spans
) -> tuple[Any, Any]:
    """The inputs' contribution to the gates, without bias, and the result of the forward kernel (None if there is
    none).
    """
    x = linear(input, w_ih)
    return x, kernels.run("recurrent", "forward", x.size, cell, x, states, w_hh, b_ih, b_hh, spans)


def _backward(cell: str, gs: Any, states: Any, weight: Any, spans: Spans, after: Any, gates: Any) -> Any:
    """The result of the backward kernel (None if there is none): the gradients of the inputs' and of the states'
    contributions to the gates, those of the first states, and h before each row.
    """
    if any([g.__class__ is not np.ndarray for g in (*gs, weight)]):
        return None
    return kernels.run("recurrent", "backward", gs[0].size, cell, gs, states, weight, spans, after, gates)


# --- Elman --------------------------------------------------------------------------------------------------


@op.general(method=False)
def elman(
    input: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    spans: Spans = (),
    relu: bool = False,
) -> Tensor:
    """``h' = f(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh)`` with f tanh or relu, for all steps.

    Args:
        input: ``(rows, I)``. hidden: the first states, ``(B, H)``. w_ih, w_hh: ``(H, I)`` and ``(H, H)``. b_ih, b_hh:
            ``(H)``.

    Returns:
        the states after each step, ``(rows, H)``.
    """
    x, fast = _forward("relu" if relu else "tanh", input, (hidden,), w_ih, w_hh, b_ih, b_hh, spans)
    if fast is not None:
        return fast[0]
    out, w = np.empty(x.shape, x.dtype), np.ascontiguousarray(w_hh.T)
    if b_ih is not None:
        x += b_ih + b_hh
    for a, b in spans:
        h = out[a:b]
        np.add(hidden[: b - a].dot(w), x[a:b], h)
        np.maximum(h, 0, out=h) if relu else np.tanh(h, out=h)
        hidden = _replace_first(hidden, h, np.concatenate)
    return out


@elman.vjp_all
def _elman_vjp(
    g: Any, wanted: Any, input: Any, hidden: Any, w_ih: Any, w_hh: Any, spans: Spans, relu: bool, out: Any
) -> Any:
    fast = _backward("relu" if relu else "tanh", (g,), (hidden,), w_hh, spans, (out,), out[:, :0])
    if fast is not None:
        dz, _, before, carried = fast
    else:
        slope = out > 0 if relu else 1 - out * out
        carried, parts = _zero_gradient(hidden), []
        for a, b in reversed(spans):
            dz = (g[a:b] + carried[: b - a]) * slope[a:b]
            parts.append((a, dz))
            carried = _replace_first(carried, dz @ w_hh)
        dz, before = _cat_in_order(parts), _previous_states(out, hidden, spans)
    by_gate, d_bias = transpose(dz, 0, 1), sum(dz, 0) if wanted[4] or wanted[5] else None
    return (
        _matmul(dz, w_ih) if wanted[0] else None,
        carried,
        _matmul(by_gate, input) if wanted[2] else None,
        _matmul(by_gate, before) if wanted[3] else None,
        d_bias,
        d_bias,
    )


# --- GRU ----------------------------------------------------------------------------------------------------


@op.general(outputs="output gates", differentiable="output", method=False)
def gru(
    input: Tensor,
    hidden: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    spans: Spans = (),
) -> tuple[Tensor, Tensor]:
    """``h' = n + z (h - n)`` for all steps.

    Here ``x = input W_ihᵀ + b_ih``, ``y = h W_hhᵀ + b_hh``, ``r = σ(x_r + y_r)``, ``z = σ(x_z + y_z)`` and ``n =
    tanh(x_n + r y_n)``.

    Args:
        input: ``(rows, I)``. hidden: the first states, ``(B, H)``. w_ih, w_hh: ``(3 H, I)`` and ``(3 H, H)``, gates r,
            z, n. b_ih, b_hh: ``(3 H)``.

    Returns:
        the states after each step, ``(rows, H)``, and the gates that a kernel saved for backward.
    """
    x, fast = _forward("gru", input, (hidden,), w_ih, w_hh, b_ih, b_hh, spans)
    if fast is not None:
        return fast
    out, w = np.empty((len(x), hidden.shape[1]), x.dtype), np.ascontiguousarray(w_hh.T)
    if b_ih is not None:
        x += b_ih
    x_r_z, x_n = _split_gates(x, 3)[:2], _split_gates(x, 3)[2]
    for a, b in spans:
        h, now = out[a:b], hidden[: b - a]
        y: Any = now.dot(w)
        if b_hh is not None:
            np.add(y, b_hh, y)
        y = _split_gates(y, 3)
        r, z = expit(np.add(x_r_z[:, a:b], y[:2], order="C"))
        n = np.multiply(r, y[2], r)
        n = np.tanh(np.add(n, x_n[a:b], n), n)
        np.subtract(now, n, h)
        np.add(np.multiply(h, z, h), n, h)
        hidden = _replace_first(hidden, h, np.concatenate)
    return out, x[:, :0]


@gru.vjp_all
def _gru_vjp(
    g: Any,
    wanted: Any,
    input: Any,
    hidden: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    spans: Spans,
    output: Any,
    gates: Any,
) -> Any:
    fast = _backward("gru", (g,), (hidden,), w_hh, spans, (output,), gates)
    if fast is not None:
        dx, dy, before, carried = fast
    else:
        size = hidden.shape[1]
        before = _previous_states(output, hidden, spans)
        x, y = linear(input, w_ih, b_ih), linear(before, w_hh, b_hh)
        r, z = (sigmoid(x[:, gate] + y[:, gate]) for gate in (slice(0, size), slice(size, 2 * size)))
        y_n = y[:, 2 * size :]
        n = tanh(x[:, 2 * size :] + r * y_n)
        by_n = (1 - z) * (1 - n * n)
        by_y = stack([by_n * y_n * r * (1 - r), (before - n) * z * (1 - z), by_n * r], 1)
        carried, states, parts = _zero_gradient(hidden), [], []
        for a, b in reversed(spans):
            dh = g[a:b] + carried[: b - a]
            dy = reshape(dh[:, None] * by_y[a:b], (b - a, 3 * size))
            states.append((a, dh))
            parts.append((a, dy))
            carried = _replace_first(carried, dy @ w_hh + dh * z[a:b])
        dy = _cat_in_order(parts)
        dx = cat([dy[:, : 2 * size], _cat_in_order(states) * by_n], 1)
    return (
        _matmul(dx, w_ih) if wanted[0] else None,
        carried,
        _matmul(transpose(dx, 0, 1), input) if wanted[2] else None,
        _matmul(transpose(dy, 0, 1), before) if wanted[3] else None,
        sum(dx, 0) if wanted[4] else None,
        sum(dy, 0) if wanted[5] else None,
    )


# --- LSTM ---------------------------------------------------------------------------------------------------


@op.general(outputs="output cells gates", differentiable="output cells", method=False)
def lstm(
    input: Tensor,
    hidden: Tensor,
    cell: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    projection: Tensor | None = None,
    spans: Spans = (),
) -> tuple[Tensor, Tensor, Tensor]:
    """``c' = f c + i g`` and ``h' = o tanh(c')`` for all steps.

    Here ``z = input W_ihᵀ + b_ih + h W_hhᵀ + b_hh``, ``i = σ(z_i)``, ``f = σ(z_f)``, ``g = tanh(z_g)`` and ``o =
    σ(z_o)``.

    Args:
        input: ``(rows, I)``. hidden, cell: the first states, ``(B, P)`` and ``(B, H)``. w_ih, w_hh: ``(4 H, I)`` and
            ``(4 H, P)``, gates i, f, g, o. b_ih, b_hh: ``(4 H)``.
        projection: ``(P, H)``, to make ``h' = Q (o tanh(c'))``; else P is H.

    Returns:
        the states h and c after each step, ``(rows, P)`` and ``(rows, H)``, and the gates that a kernel saved for
        backward.
    """
    if projection is None:
        x, fast = _forward("lstm", input, (hidden, cell), w_ih, w_hh, b_ih, b_hh, spans)
        if fast is not None:
            return fast
    else:
        x = linear(input, w_ih)
    if b_ih is not None:
        x += b_ih + b_hh
    output, cells = np.empty((len(x), hidden.shape[1]), x.dtype), np.empty((len(x), cell.shape[1]), x.dtype)
    xs, w = _split_gates(x, 4), np.ascontiguousarray(w_hh.T)
    for a, b in spans:
        h, c = output[a:b], cells[a:b]
        z = np.add(xs[:, a:b], _split_gates(hidden[: b - a].dot(w), 4), order="C")
        new = np.tanh(z[2])
        i, f, _, o = expit(z)  # of the third gate, too: one call costs less than two
        np.multiply(f, cell[: b - a], c)
        np.add(c, np.multiply(new, i, new), c)
        m = np.tanh(c, new)
        np.multiply(m, o, m)
        h[...] = m if projection is None else m.dot(projection.T)
        hidden = _replace_first(hidden, h, np.concatenate)
        cell = _replace_first(cell, c, np.concatenate)
    return output, cells, x[:, :0]


@lstm.vjp_all
def _lstm_vjp(
    g: Any,
    wanted: Any,
    input: Any,
    hidden: Any,
    cell: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    projection: Any,
    spans: Spans,
    output: Any,
    cells: Any,
    gates: Any,
) -> Any:
    size, (g_output, g_cells), d_projection = cell.shape[1], g, None
    fast = _backward("lstm", g, (hidden, cell), w_hh, spans, (output, cells), gates) if projection is None else None
    if fast is not None:
        dz, _, before, carried, kept = fast
    else:
        before, cell_before, tanh_c = (
            _previous_states(output, hidden, spans),
            _previous_states(cells, cell, spans),
            tanh(cells),
        )
        z = linear(input, w_ih, b_ih) + linear(before, w_hh, b_hh)
        i, f, o = (sigmoid(z[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
        new = tanh(z[:, 2 * size : 3 * size])
        by_cell = stack([new * i * (1 - i), cell_before * f * (1 - f), i * (1 - new * new)], 1)
        by_hidden, through_tanh = tanh_c * o * (1 - o), o * (1 - tanh_c * tanh_c)
        w_ifg, w_o = w_hh[: 3 * size], w_hh[3 * size :]
        carried, kept, states, parts_ifg, parts_o = _zero_gradient(hidden), _zero_gradient(cell), [], [], []
        for a, b in reversed(spans):
            dh = g_output[a:b] + carried[: b - a]
            if projection is not None:
                states.append((a, dh))
                dh = dh @ projection
            dc = g_cells[a:b] + kept[: b - a] + dh * through_tanh[a:b]
            dz_ifg, dz_o = reshape(dc[:, None] * by_cell[a:b], (b - a, 3 * size)), dh * by_hidden[a:b]
            parts_ifg.append((a, dz_ifg))
            parts_o.append((a, dz_o))
            carried = _replace_first(carried, dz_ifg @ w_ifg + dz_o @ w_o)
            kept = _replace_first(kept, dc * f[a:b])
        dz = cat([_cat_in_order(parts_ifg), _cat_in_order(parts_o)], 1)
        if wanted[7]:
            d_projection = transpose(_cat_in_order(states), 0, 1) @ (o * tanh_c)
    by_gate, d_bias = transpose(dz, 0, 1), sum(dz, 0) if wanted[5] or wanted[6] else None
    return (
        _matmul(dz, w_ih) if wanted[0] else None,
        carried,
        kept,
        _matmul(by_gate, input) if wanted[3] else None,
        _matmul(by_gate, before) if wanted[4] else None,
        d_bias,
        d_bias,
        d_projection,
    )
