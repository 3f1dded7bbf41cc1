"""Recurrent networks: layers of Elman, LSTM and GRU cells over sequences, and single cells.

Sequences are ``(T, B, *)``, ``(B, T, *)`` with ``batch_first``, ``(T, *)``, or packed
(:class:`pullback.nn.utils.rnn.PackedSequence`). The formulas are in :mod:`pullback.ops.recurrent`; all weights and biases start
uniform in ``±1/√hidden_size``.
"""

from __future__ import annotations

import math
import warnings
from itertools import accumulate
from typing import Any

from ...ops.create import empty, zeros
from ...ops.join import cat, stack
from ...ops.recurrent import Spans, elman, gru, lstm
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
States = tuple[Tensor, ...]


def _run(mode: str, input: Tensor, states: States, weights: list[Tensor], bias: bool, spans: Spans) -> States:
    """One layer in one direction: the states after each step, from the inputs of each, both in rows."""
    w_ih, w_hh, *rest = weights
    if mode == "GRU":
        b_ih, b_hh = rest if bias else (None, None)
        return (gru(F.linear(input, w_ih, b_ih), *states, w_hh, b_hh, spans),)
    x = F.linear(input, w_ih, rest[0] + rest[1] if bias else None)
    if mode == "LSTM":
        projection = rest[2 * bias] if len(rest) > 2 * bias else None
        return lstm(x, *states, w_hh, projection, spans)
    return (elman(x, *states, w_hh, spans, mode == "RNN_RELU"),)


class RNNBase(Module):
    """What the three kinds of networks share; see :class:`RNN`, :class:`LSTM` and :class:`GRU`.

    Parameters are ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, then those of ``l0_reverse``, of ``l1``
    and so on, and ``weight_hr_l0`` of a projection. Weights are stacked by gate: i, f, g, o or r, z, n.
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]  # fmt: skip

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                             "zeroed")  # fmt: skip
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                          stacklevel=3)  # fmt: skip
        for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
                                  ("hidden_size", hidden_size, int)):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        gates, state = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for direction in ("", "_reverse") if bidirectional else ("",):
                width = input_size if layer == 0 else state * (1 + bidirectional)
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, width), "weight_hh": (gates, state)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{name}_l{layer}{direction}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self) -> None:
        """Accepted for compatibility; there is nothing to do."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = input if isinstance(input, PackedSequence) else None
        if packed is not None:
            x, sizes = packed.data, packed.batch_sizes.tolist()
            self._check_input(x, 2)
        else:
            x, sizes = self._in_steps(input)
        states = self._first_states(x, sizes[0], hx, None if packed is not None else input.dim())
        if packed is not None and packed.sorted_indices is not None and hx is not None:
            states = tuple(s.index_select(1, packed.sorted_indices) for s in states)
        output, last = self._run_layers(x.flatten(0, 1) if packed is None else x, states, sizes)
        if packed is not None:
            if packed.unsorted_indices is not None:
                last = tuple(s.index_select(1, packed.unsorted_indices) for s in last)
            result: Any = packed._replace(data=output)
        else:
            result = output.unflatten(0, (len(sizes), sizes[0]))
            if input.dim() == 2:
                result, last = result.squeeze(1), tuple(s.squeeze(1) for s in last)
            elif self.batch_first:
                result = result.transpose(0, 1)
        return result, last if self.mode == "LSTM" else last[0]

    def _in_steps(self, input: Tensor) -> tuple[Tensor, list[int]]:
        """The input as ``(T, B, *)``, and B for each step."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{self.mode[:3] if self.mode[:3] != 'LST' else 'LSTM'}: Expected input to be 2D or 3D")
        return input, []
