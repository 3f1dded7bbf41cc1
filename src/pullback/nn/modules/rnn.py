"""Recurrent layers (RNN, LSTM, GRU) over sequences, and their single cells.

Sequences are ``(T, B, *)``, ``(B, T, *)`` with ``batch_first``, ``(T, *)``, or packed
(:class:`pullback.nn.utils.rnn.PackedSequence`). The formulas are in :mod:`pullback.ops.recurrent`; all
weights and biases start uniform in ``±1/√hidden_size``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

from ...core.tensor import Tensor
from ...ops.concat import cat, stack
from ...ops.create import empty, zeros
from ...ops.recurrent import Spans, elman, gru, lstm
from .. import functional as F
from .. import init
from ..packed_sequence import PackedSequence
from ..parameter import Parameter
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
States = tuple[Tensor, ...]
Pair = tuple[Tensor, Tensor]  # hidden state and cell state


def _run_direction(
    mode: str, input: Tensor, states: States, weights: Sequence[Tensor], bias: bool, spans: Spans
) -> States:
    """One layer in one direction. Inputs, and the states after each step, are rows: one a step and sequence."""
    w_ih, w_hh, *rest = weights
    b_ih, b_hh, *projection = rest if bias else (None, None, *rest)
    if mode == "LSTM":
        return lstm(input, *states, w_ih, w_hh, b_ih, b_hh, projection[0] if projection else None, spans)[:2]
    if mode == "GRU":
        return gru(input, *states, w_ih, w_hh, b_ih, b_hh, spans)[:1]
    return (elman(input, *states, w_ih, w_hh, b_ih, b_hh, spans, mode == "RNN_RELU"),)


class RNNBase(Module):
    """Base class of :class:`RNN`, :class:`LSTM` and :class:`GRU`.

    Parameters are ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, then those of
    ``l0_reverse``, of ``l1`` and so on, and ``weight_hr_l0`` of a projection. Weights are stacked by gate: i,
    f, g, o or r, z, n.
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        flags, sizes = (
            {"bias": bias, "batch_first": batch_first},
            {"input_size": input_size, "hidden_size": hidden_size},
        )
        for name, value in (flags | sizes).items():
            kind = bool if name in flags else int
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, size in (sizes | {"num_layers": num_layers}).items():
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.num_layers = mode, num_layers
        self.input_size, self.hidden_size = input_size, hidden_size
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

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: Any) -> None:
        """Compute with these from now on; the parameters stay what they are."""
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            self.__dict__.pop(name, None)
            if weight is not getattr(self, name):
                self.__dict__[name] = weight  # which is found before the parameter

    if TYPE_CHECKING:

        @overload
        def __call__(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
        @overload
        def __call__(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            self._check_input(data, 2)
            sizes = batch_sizes.tolist()
            states = self._initial_states(data, _permute_hidden(hx, order), sizes[0])
            output, last = self._run_layers(data, states, tuple(zip(accumulate(sizes, initial=0), accumulate(sizes))))
            return PackedSequence(output, batch_sizes, order, back), _permute_hidden(self._ungroup_states(last), back)
        batched = input.dim() == 3
        if not batched and input.dim() != 2:
            raise ValueError(f"{self._kind}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if hx is not None:
            hx = self._batched_states(hx, batched)
        self._check_input(x, 3)
        steps, batch = x.shape[:2]
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, last = self._run_layers(x.flatten(0, 1), self._initial_states(x, hx, batch), _spans(steps, batch))
        output = output.unflatten(0, (steps, batch))
        if not batched:
            return output.squeeze(1), self._ungroup_states(tuple(s.squeeze(1) for s in last))
        return output.transpose(0, 1) if self.batch_first else output, self._ungroup_states(last)

    @property
    def _kind(self) -> str:
        return self.mode.split("_")[0]

    def _ungroup_states(self, states: States) -> Any:
        return states if self.mode == "LSTM" else states[0]

    def _batched_states(self, hx: Any, batched: bool) -> Any:
        """Initial states as ``(layers, B, size)``."""
        states = hx if self.mode == "LSTM" else (hx,)
        if any(s.dim() != 2 + batched for s in states):
            what = "batched 3-D" if batched else "unbatched 2-D"
            names, got = ("hx and cx", "({}-D, {}-D) tensors") if len(states) == 2 else ("hx", "{}-D tensor")
            raise RuntimeError(
                f"For {what} input, {names} should also be {2 + batched}-D but got "
                + got.format(*(s.dim() for s in states))
            )
        return hx if batched else self._ungroup_states(tuple(s.unsqueeze(1) for s in states))

    def _check_input(self, x: Tensor, dim: int) -> None:
        dtype = self.all_weights[0][0].dtype
        if x.dtype is not dtype:
            raise ValueError(
                f"RNN input dtype ({x.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({x.dtype})"
            )
        if x.dim() != dim:
            raise RuntimeError(f"input must have {dim} dimensions, got {x.dim()}")
        if x.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.size(-1)}"
            )

    def _initial_states(self, x: Tensor, hx: Any, batch: int) -> list[States]:
        """The initial states of each layer: those given, whose shapes are checked, or zeros."""
        layers = len(self._all_weights)
        shapes = [(batch, self.proj_size or self.hidden_size), (batch, self.hidden_size)]
        if hx is None:
            return [
                tuple([zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes[: 1 + (self.mode == "LSTM")]])
            ] * layers
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        for i, (state, shape) in enumerate(zip(states, shapes)):
            if state.shape != (layers, *shape):
                which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {(layers, *shape)}, got {list(state.shape)}")
        return list(zip(*(state.unbind(0) for state in states)))

    def _run_layers(self, x: Tensor, first: list[States], spans: Spans) -> tuple[Tensor, States]:
        """The last layer's outputs, in rows like the inputs, and all layers' last states."""
        last, outputs = [], []
        for k, weights in enumerate(self.all_weights):
            backwards = self.bidirectional and k % 2 == 1
            order = spans[::-1] if backwards else spans
            after = _run_direction(self.mode, x, first[k], weights, self.bias, order)
            outputs.append(after[0])
            last.append([_last_states(state, order, spans[0][1]) for state in after])
            if backwards or not self.bidirectional:
                x = cat(outputs, 1) if backwards else outputs[0]
                outputs = []
                if self.dropout and k + 1 < len(first):
                    x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(list(layers)) for layers in zip(*last))

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size != 0:
            parts.append(f"proj_size={self.proj_size}")
        if self.num_layers != 1:
            parts.append(f"num_layers={self.num_layers}")
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if self.batch_first is not False:
            parts.append(f"batch_first={self.batch_first}")
        if self.dropout != 0:
            parts.append(f"dropout={self.dropout}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)


@lru_cache(64)
def _spans(steps: int, batch: int) -> Spans:
    """The rows of each step, where all sequences take all steps."""
    return tuple([(i * batch, (i + 1) * batch) for i in range(steps)])


def _permute_hidden(states: Any, order: Tensor | None) -> Any:
    """The states (a pair, or one) with the batch dimension reordered."""
    if order is None or states is None:
        return states
    return (
        states.index_select(1, order)
        if isinstance(states, Tensor)
        else tuple(state.index_select(1, order) for state in states)
    )


def _last_states(states: Tensor, spans: Spans, batch: int) -> Tensor:
    """The state after each sequence's last step."""
    a, b = spans[-1]
    if b - a == batch:
        return states[a:b]
    rows = {i: a + i for a, b in spans for i in range(b - a)}
    return states[[rows[i] for i in range(batch)]]


class RNN(RNNBase):
    """Elman's network: ``h' = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh)``.

    Args:
        input_size, hidden_size: sizes of inputs and states.
        num_layers: how many layers, each of which gets the states of the one before as inputs.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: whether there are biases. batch_first: whether sequences are ``(B, T, *)``.
        dropout: of what goes from layer to layer.
        bidirectional: also run backwards, and put both states side by side.

    Shape:
        ``forward(input, hx=None)``: sequences of inputs, and the first states ``(D·num_layers, B,
        hidden_size)``, zeros if left out, D being 2 for both directions and 1 for one. Returns the last
        layer's states after each step, ``(T, B, D·hidden_size)``, and all layers' last states, like ``hx``.

    >>> import pullback as torch
    >>> output, last = torch.nn.RNN(4, 3)(torch.randn(5, 2, 4))
    >>> output.shape, bool((output[-1] == last[0]).all())
    (torch.Size([5, 2, 3]), True)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            "RNN_" + nonlinearity.upper(),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997).

    ``i, f, o = σ(...)``, ``g = tanh(...)``, each of a linear map of the input and the hidden state; ``c' = f
    c + i g``, ``h' = o tanh(c')``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: as :class:`RNN` has
            them.
        proj_size: if not 0, hidden states are projected to that size (Sak et al. 2014).

    Shape:
        as :class:`RNN`, states being pairs (h, c); with projections, h and the outputs have ``proj_size``.

    >>> import pullback as torch
    >>> output, (h, c) = torch.nn.LSTM(4, 3, batch_first=True)(torch.randn(2, 5, 4))
    >>> output.shape, c.shape
    (torch.Size([2, 5, 3]), torch.Size([1, 2, 3]))
    """

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def __call__(self, input: Tensor, hx: Pair | None = None) -> tuple[Tensor, Pair]: ...
        @overload
        def __call__(self, input: PackedSequence, hx: Pair | None = None) -> tuple[PackedSequence, Pair]: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014).

    ``r, z = σ(...)`` of linear maps of input and state; ``n = tanh(x W_inᵀ + b_in + r (h W_hnᵀ + b_hn))``,
    ``h' = (1 - z) n + z h``.

    Args, Shape:
        as :class:`RNN`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )


# --- cells --------------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """One step of a network of one layer; see :class:`RNNCell`, :class:`LSTMCell` and :class:`GRUCell`."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    mode: str
    bias_ih: Parameter
    bias_hh: Parameter

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(gates, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(gates, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(empty(gates, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _step(self, input: Tensor, states: States | None) -> States:
        name, lstm = type(self).__name__, self.mode == "LSTM"
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                which = f"hx[{i}]" if lstm else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        x, batched = (input, True) if input.dim() == 2 else (input.unsqueeze(0), False)
        if x.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.size(1)} expected {self.input_size}")
        if states is None:
            states = (zeros(len(x), self.hidden_size, dtype=x.dtype, device=x.device),) * (1 + lstm)
        elif not batched:
            states = tuple(state.unsqueeze(0) for state in states)
        for i, state in enumerate(states):
            if state.size(0) != len(x):
                raise RuntimeError(f"Input batch size {len(x)} doesn't match hidden{i} batch size {state.size(0)}")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}"
                )
        weights = [self.weight_ih, self.weight_hh] + ([self.bias_ih, self.bias_hh] if self.bias else [])
        after = _run_direction(self.mode, x, states, weights, self.bias, ((0, len(x)),))
        return after if batched else tuple(state.squeeze(0) for state in after)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of an :class:`RNN`.

    Shape:
        ``forward(input, hx=None)``: ``(B, input_size)`` and ``(B, hidden_size)``, or both without B; returns
        the next state.

    >>> import pullback as torch
    >>> torch.nn.RNNCell(4, 3)(torch.randn(2, 4)).shape
    torch.Size([2, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def mode(self) -> str:  # type: ignore[override]
        return "RNN_" + self.nonlinearity.upper()

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.mode not in GATES:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an :class:`LSTM`.

    Shape:
        ``forward(input, hx=None)``: ``(B, input_size)`` and a pair (h, c) of ``(B, hidden_size)``, or all
        without B; returns the next pair.
    """

    mode = "LSTM"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: States | None = None) -> States:
        return self._step(input, hx)


class GRUCell(RNNCellBase):
    """One step of a :class:`GRU`; shapes as :class:`RNNCell` has them."""

    mode = "GRU"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,))[0]
