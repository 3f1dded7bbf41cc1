"""Recurrent layers in a plan, whose kernels work in its memory, against the eager ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import nn
from pullback.ops import recurrent

from .test_lowering import compare, leaf

LAYERS: dict[str, Callable[..., Any]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **options: nn.RNN(*args, nonlinearity="relu", **options),
}
every_kind = pytest.mark.parametrize("kind", LAYERS)


def layer_and_input(kind: str, dtype: Any = np.float32, **options: Any) -> tuple[Any, Any]:
    pullback.manual_seed(0)
    layer = LAYERS[kind](7, 20, **options)
    x = pullback.from_numpy(np.random.default_rng(1).normal(size=(5, 9, 7)).astype(dtype)).requires_grad_()
    return layer.to(x.dtype), x


@every_kind
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bias": False}, {"bidirectional": True}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers(kind: str, options: dict[str, Any], dtype: Any) -> None:
    layer, x = layer_and_input(kind, dtype, **options)
    fast = compare(
        lambda x, *_: layer(x)[0], [x, *layer.parameters()], kernels=(kind, f"{kind}_backward"), specials=False
    )
    assert not pullback.kernels.info()["running"] or "call" not in fast.plan()


@every_kind
def test_all_results(kind: str) -> None:
    """The last states are differentiated, too, and first ones are not zero."""
    layer, x = layer_and_input(kind)
    rng = np.random.default_rng(2)
    first = [
        pullback.from_numpy(rng.normal(size=(1, 9, 20)).astype(np.float32)).requires_grad_()
        for _ in range(1 + (kind == "lstm"))
    ]

    def of(x: Any, *first: Any) -> Any:
        output, last = layer(x, first if kind == "lstm" else first[0])
        return pullback.cat([output, *(last if kind == "lstm" else [last])])

    compare(of, [x, *first], kernels=(f"{kind}_backward",), specials=False)


@every_kind
def test_sequences_of_several_lengths(kind: str) -> None:
    spans, gates = ((0, 9), (9, 16), (16, 18), (18, 19)), {"lstm": 4, "gru": 3}.get(kind, 1)
    shapes = [
        (19, 7),
        *[(9, 20)] * (1 + (kind == "lstm")),
        (gates * 20, 7),
        (gates * 20, 20),
        (gates * 20,),
        (gates * 20,),
    ]

    def of(*leaves: Any) -> Any:
        if kind == "lstm":
            return recurrent.lstm(*leaves, None, spans)[0]
        return recurrent.gru(*leaves, spans)[0] if kind == "gru" else recurrent.elman(*leaves, spans, kind == "relu")

    compare(
        of, [leaf(*shape, seed=i) for i, shape in enumerate(shapes)], kernels=(kind, f"{kind}_backward"), specials=False
    )


def test_a_projection_is_left_to_the_operation() -> None:
    layer, x = layer_and_input("lstm", proj_size=6)
    fast = compare(lambda x, *_: layer(x)[0], [x, *layer.parameters()], specials=False)
    assert not pullback.kernels.info()["running"] or "call lstm" in fast.plan()
