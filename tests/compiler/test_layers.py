"""Every layer compiled in a training step, and then in evaluation: losses, gradients, parameters, buffers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from record_layers import LINES, build, inputs, tensors

import pullback
from pullback.utils._pytree import tree_map

# What looks at values, and what has no shape before its first call.
REFUSED = (
    "AdaptiveLogSoftmaxWithLoss",
    "FractionalMaxPool",
    "CTCLoss",
    "Lazy",
    "max_norm",
    "momentum=None",
    "pack_seq",
)
LAYERS = [" ".join(line.split()) for line in LINES if not any(word in line for word in REFUSED)]


def prepared(x: Any, dtype: pullback.dtype, call: int) -> Any:
    """An argument in the type, a little different at each call."""
    if not isinstance(x, pullback.Tensor):
        return x
    return x.detach().to(dtype) * (1 - call / 50) if x.is_floating_point() else x


def trained(line: str, dtype: pullback.dtype, compiled: bool) -> list[list[Any]]:
    pullback.manual_seed(0)
    module = build(pullback, line).to(dtype)
    given = [tree_map(lambda x, i=i: prepared(x, dtype, i), list(inputs(pullback, line)[0])) for i in range(5)]
    parameters = list(module.parameters())
    optimizer = pullback.optim.SGD(parameters, lr=0.1) if parameters else None

    def step(*args: Any) -> list[Any]:
        outs = [o for o in tensors(pullback, module(*args)) if o.is_floating_point() or o.is_complex()]
        loss = sum(((o.abs() ** 2).mean() for o in outs), pullback.zeros((), dtype=dtype))
        if loss.requires_grad and module.training and optimizer:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [loss.detach(), *[o.detach() for o in outs]]

    run = pullback.compile(step, fullgraph=True) if compiled else step
    seen = []
    for i, args in enumerate(given):
        if i == 3:
            module.eval()
        pullback.manual_seed(i)
        seen.append([x.detach().clone() for x in [*run(*args), *module.state_dict().values()]])
    return seen


@pytest.mark.parametrize("dtype", [pullback.float64, pullback.bfloat16], ids=str)
@pytest.mark.parametrize("line", LAYERS)
def test_trains_as_eagerly(line: str, dtype: pullback.dtype) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, found = (trained(line, dtype, compiled) for compiled in (False, True))
    for before, after in zip(expected, found, strict=True):
        for a, b in zip(before, after, strict=True):
            assert a.dtype is b.dtype and a.shape == b.shape
            rtol = 3e-2 if a.dtype is pullback.bfloat16 else 1e-9
            wide = [x.to(pullback.float64).numpy() if not x.is_complex() else x.numpy() for x in (a, b)]
            np.testing.assert_allclose(wide[1], wide[0], rtol, rtol * np.abs(wide[0]).max(initial=1e-3))
