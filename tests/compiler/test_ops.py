"""Every operation compiled against itself eager: traced at some values, run at others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback
from pullback.compiler import CannotCompile
from pullback.utils._pytree import tree_leaves
from tests.ops.samples import SAMPLES, Sample
from tests.ops.test_rules import constant, outputs, random, tensors

from . import compile

# What looks at values, for some arguments at least: refused then, with the user's line.
BY_VALUE = {
    "Tensor.__getitem__",
    "argwhere",
    "bincount",
    "masked_select",
    "repeat_interleave",
    "unique",
    "unique_consecutive",
}


def step_of(sample: Sample, dtype: Any) -> tuple[Any, list[Any]]:
    """A function of nothing that gives the results of a sample and the gradients of its leaves, and these leaves."""
    args, leaves = tensors(sample, dtype=dtype)
    function = sample.function(pullback)
    kwargs = {
        k: getattr(pullback, v.name) if isinstance(v, pullback.dtype) else constant(v, pullback, dtype)
        for k, v in sample.kwargs.items()
    }
    rng = np.random.default_rng(0)
    with pullback.no_grad():
        seeds = [
            pullback.from_numpy(random(rng, o).astype(o.numpy().dtype)) if isinstance(o, pullback.Tensor) else o
            for o in outputs(function(*args, **kwargs))
        ]

    def step() -> Any:
        outs = outputs(function(*args, **kwargs))
        live = [(o, s) for o, s in zip(outs, seeds) if isinstance(o, pullback.Tensor) and o.requires_grad]
        grads = (
            pullback.autograd.grad([o for o, _ in live], leaves, [s for _, s in live], allow_unused=True)
            if live and leaves
            else ()
        )
        return [o.detach() if isinstance(o, pullback.Tensor) else o for o in outs], list(grads)

    return step, leaves


def arrays(result: Any) -> list[Any]:
    return [x.numpy().copy() if isinstance(x, pullback.Tensor) else x for x in tree_leaves(result)]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64], ids=["float64"])
def test_compiled_equals_eager(sample: Sample, dtype: Any) -> None:
    """At the values where it was traced, and at others."""
    pullback.manual_seed(0)
    eager, leaves = step_of(sample, dtype)
    start = [x.detach().clone() for x in leaves]
    compiled = compile(eager)
    for scale in (1.0, 1.0 if sample.distinct else 0.99, 1.0):
        with pullback.no_grad():
            for x, x0 in zip(leaves, start):
                x.copy_(x0 * scale)
        pullback.manual_seed(1)
        expected = arrays(eager())
        with pullback.no_grad():
            for x, x0 in zip(leaves, start):
                x.copy_(x0 * scale)
        pullback.manual_seed(1)
        try:
            found = arrays(compiled())
        except CannotCompile as refusal:
            assert sample.name in BY_VALUE and "test_ops.py:" in str(refusal)
            return
        for a, b in zip(expected, found, strict=True):
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-11)
            else:
                assert a == b
    assert len(compiled.versions) == 1
