"""Every operation compiled against itself eager: traced at some values, run at others."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import pullback
from pullback.compiler import CannotCompile
from pullback.utils._pytree import tree_leaves
from tests.ops.samples import SAMPLES, Sample
from tests.ops.test_rules import constant, outputs, random, tensors

from . import compile

# What looks at values, for some arguments at least, or gives a conjugated view: refused then, with the user's line.
REFUSED = {
    "Tensor.__getitem__",
    "adjoint",
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
    seeds: list[Any] = []  # none where the operation refuses the type
    with pullback.no_grad(), contextlib.suppress(RuntimeError, TypeError):
        seeds += [
            pullback.tensor(random(rng, wide(o))).to(o.dtype) if isinstance(o, pullback.Tensor) else o
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


def wide(x: pullback.Tensor) -> pullback.Tensor:
    return x.float() if x.dtype is pullback.bfloat16 else x


def arrays(result: Any) -> list[Any]:
    return [wide(x).numpy().copy() if isinstance(x, pullback.Tensor) else x for x in tree_leaves(result)]


def dtypes_of(result: Any) -> list[Any]:
    return [getattr(x, "dtype", None) for x in tree_leaves(result)]


FIRST = list({s.name: s for s in reversed(SAMPLES)}.values())  # of each operation
CASES = [(s, np.float64, 1e-9) for s in SAMPLES] + [(s, np.complex128, 1e-9) for s in FIRST if s.complex]
CASES += [(s, half, rtol) for s in FIRST for half, rtol in ((np.float16, 4e-3), (bfloat16, 3e-2))]


@pytest.mark.parametrize("sample, dtype, rtol", CASES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_compiled_equals_eager(sample: Sample, dtype: Any, rtol: float) -> None:
    """At the values where it was traced, and at others."""
    pullback.manual_seed(0)
    eager, leaves = step_of(sample, dtype)
    try:
        eager()
    except (RuntimeError, TypeError) as error:
        assert dtype in (np.float16, bfloat16)
        with pytest.raises(type(error)) as caught:
            compile(eager)()
        assert str(caught.value) == str(error)
        return
    start = [x.detach().clone() for x in leaves]
    compiled = compile(eager)
    for scale in (1.0, 1.0 if sample.distinct else 0.99, 1.0):
        with pullback.no_grad():
            for x, x0 in zip(leaves, start):
                x.copy_(x0 * scale)
        pullback.manual_seed(1)
        expected = eager()
        with pullback.no_grad():
            for x, x0 in zip(leaves, start):
                x.copy_(x0 * scale)
        pullback.manual_seed(1)
        try:
            found = compiled()
        except CannotCompile as refusal:
            assert sample.name in REFUSED and "test_ops.py:" in str(refusal)
            return
        assert dtypes_of(found) == dtypes_of(expected)
        for a, b in zip(arrays(expected), arrays(found), strict=True):
            if isinstance(a, np.ndarray):
                size = np.abs(a[np.isfinite(a)]).max(initial=0) if rtol > 1e-3 else 0.01
                np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * size)
            else:
                assert a == b
    assert len(compiled.versions) == 1
