"""``torch.batch_norm``, ``torch.embedding``, ``torch.dropout``, ``torch.lstm_cell``, ...: ATen's argument order.

They are the operations of ``torch.nn.functional``, called as PyTorch's own kernels are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.dtypes import INT64
from ..core import inplace, record
from ..core.tensor import Tensor
from . import activation, ctc, normalization
from . import dropout as dropouts
from . import embedding as embeddings
from .activation import relu
from .linear import linear
from .pointwise import sigmoid
from .slicing_views import chunk
from .trigonometry import tanh
from .values.meta import Meta

__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "batch_norm",
    "ctc_loss",
    "dropout",
    "dropout_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "gru_cell",
    "instance_norm",
    "lstm_cell",
    "rnn_relu_cell",
    "rnn_tanh_cell",
    "threshold_",
]


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.batch_norm`.

    >>> import pullback as torch
    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]])
    """
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.instance_norm`.

    >>> import pullback as torch
    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """:func:`torch.nn.functional.embedding`, with the table first; a negative ``padding_idx`` means none.

    >>> import pullback as torch
    >>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1]))
    tensor([[3., 4.]])
    """
    return embeddings.embedding(
        indices, weight, padding_idx if padding_idx >= 0 else None, None, 2.0, scale_grad_by_freq, sparse
    )


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """:func:`torch.nn.functional.embedding_bag`, with the table first.

    Args:
        mode: 0 for sums, 1 for means, 2 for maxima.

    Returns:
        The bags ``(bags, n)``, the bag of each index, the sizes of the bags, and zeros: the last three are for
        PyTorch's own use, and not always the same there.

    >>> import pullback as torch
    >>> torch.embedding_bag(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), torch.tensor([0]))[0]
    tensor([[4., 6.]])
    """
    out = embeddings.embedding_bag(
        indices,
        weight,
        offsets,
        None,
        2,
        scale_grad_by_freq,
        ("sum", "mean", "max")[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    starts, n = offsets._array, indices._array.size
    if indices.is_meta:
        blank = [record.wrap(Meta(shape, INT64)) for shape in ((n,), out.shape[:1], out.shape[:1])]
        return out, blank[0], blank[1], blank[2]
    bags = np.searchsorted(starts, np.arange(n), side="right") - 1
    sizes = np.diff(starts if include_last_offset else np.append(starts, n))
    return out, record.wrap(bags), record.wrap(sizes), record.wrap(np.zeros(len(sizes), np.int64))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """:func:`torch.nn.functional.ctc_loss`, where the reduction is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> import pullback as torch
    >>> torch.ctc_loss(torch.full((2, 1, 2), 0.5).log(), torch.tensor([[1]]), (2,), (1,)).exp()
    tensor(1.3333)
    """
    how = ("none", "mean", "sum")[reduction]
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


# --- dropout ----------------------------------------------------------------------------------------------------


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`torch.nn.functional.dropout`.

    >>> import pullback as torch
    >>> torch.dropout(torch.ones(2), 0.5, train=False)
    tensor([1., 1.])
    """
    return dropouts.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of :func:`dropout`."""
    return dropouts.dropout(input, p, train, True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`torch.nn.functional.alpha_dropout`."""
    return dropouts.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of :func:`alpha_dropout`."""
    return dropouts.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`torch.nn.functional.feature_alpha_dropout`."""
    return dropouts.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of :func:`feature_alpha_dropout`."""
    return dropouts.feature_alpha_dropout(input, p, train, True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of :func:`feature_dropout`."""
    return (
        inplace.assign(input, "feature_dropout_", dropouts.feature_dropout(input, p, train)) if train and p else input
    )


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of :func:`threshold`."""
    return activation.threshold(input, threshold, value, True)


# --- one step of a recurrent layer ------------------------------------------------------------------------------


def _check_cell(input: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor) -> None:
    """Refuse states and weights whose shapes would merely broadcast."""
    n, hidden = input.shape[0], w_hh.shape[1]
    if input.shape[1:] != w_ih.shape[1:]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[1]}")
    for i, state in enumerate(states):
        if state.shape[0] != n:
            raise RuntimeError(f"Input batch size {n} doesn't match hidden{i} batch size {state.shape[0]}")
        if state.shape[1:] != (hidden,):
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected {hidden}")
    if w_ih.shape[0] != w_hh.shape[0]:
        raise RuntimeError(
            f"weight_ih first dim must be {w_hh.shape[0] // hidden} * hidden_size = {w_hh.shape[0]}, but got "
            f"{w_ih.shape[0]}"
        )


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """``tanh(w_ih input + b_ih + w_hh hx + b_hh)``.

    Args:
        input: ``(batch, n)``.
        hx: the state, ``(batch, hidden)``.
        w_ih, w_hh: ``(hidden, n)`` and ``(hidden, hidden)``.
        b_ih, b_hh: ``(hidden,)``.

    >>> import pullback as torch
    >>> torch.rnn_tanh_cell(torch.zeros(1, 2), torch.zeros(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[0.]])
    """
    _check_cell(input, [hx], w_ih, w_hh)
    return tanh(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """``relu(w_ih input + b_ih + w_hh hx + b_hh)``; shapes as for :func:`rnn_tanh_cell`.

    >>> import pullback as torch
    >>> torch.rnn_relu_cell(torch.ones(1, 2), torch.zeros(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[2.]])
    """
    _check_cell(input, [hx], w_ih, w_hh)
    return relu(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a gated recurrent unit (Cho et al. 2014), in the form of :class:`torch.nn.GRUCell`.

    Args:
        input, hx: as for :func:`rnn_tanh_cell`.
        w_ih, w_hh, b_ih, b_hh: of the gates r, z and n, stacked: ``(3 * hidden, ...)``.

    >>> import pullback as torch
    >>> torch.gru_cell(torch.zeros(1, 2), torch.ones(1, 1), torch.ones(3, 2), torch.zeros(3, 1))
    tensor([[0.5000]])
    """
    _check_cell(input, [hx], w_ih, w_hh)
    (r, z, n), (hidden_r, hidden_z, hidden_n) = (
        chunk(linear(input, w_ih, b_ih), 3, -1),
        chunk(linear(hx, w_hh, b_hh), 3, -1),
    )
    z = sigmoid(z + hidden_z)
    n = tanh(n + sigmoid(r + hidden_r) * hidden_n)
    return n + z * (hx - n)


def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step of long short-term memory (Gers et al. 2000), in the form of :class:`torch.nn.LSTMCell`.

    Args:
        input: as for :func:`rnn_tanh_cell`.
        hx: the state and the cell's content.
        w_ih, w_hh, b_ih, b_hh: of the gates i, f, g and o, stacked: ``(4 * hidden, ...)``.

    Returns:
        The new state and content.

    >>> import pullback as torch
    >>> state = torch.zeros(1, 1), torch.ones(1, 1)
    >>> torch.lstm_cell(torch.zeros(1, 2), state, torch.ones(4, 2), torch.zeros(4, 1))[1]
    tensor([[0.5000]])
    """
    _check_cell(input, hx, w_ih, w_hh)
    state, content = hx
    i, f, g, o = chunk(linear(input, w_ih, b_ih) + linear(state, w_hh, b_hh), 4, -1)
    content = sigmoid(f) * content + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(content), content
