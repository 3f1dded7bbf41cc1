"""Large results that nothing records are computed right where they are to be: with the outcome, and the refusals, of a
copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.core import inplace

N = 60


def large(seed: int, *shape: int, dtype: Any = np.float32) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(0.5, 2, shape or (N, N)).astype(dtype))


def overlapping() -> Any:
    x = large(0, N * N)
    x[1:].add_(x[:-1])
    return x


PROGRAMS: dict[str, Callable[[], Any]] = {
    "add_": lambda: large(0).add_(large(1)),
    "sub_ a multiple": lambda: large(0).sub_(large(1), alpha=0.5),
    "mul_ a number": lambda: large(0).mul_(3),
    "div_ a row": lambda: large(0).div_(large(1, N)),
    "sqrt_": lambda: large(0).sqrt_(),
    "+=": lambda: large(0).__iadd__(2.5),
    "/=": lambda: large(0).__itruediv__(large(1, 1, N)),
    "itself turned": lambda: (lambda x: x.sub_(x.t()))(large(0)),
    "a view of itself": overlapping,
    "a part": lambda: (lambda x: (x[:, ::2].mul_(2), x))(large(0, N, 2 * N))[1],
    "float64": lambda: large(0, dtype=np.float64).add_(1),
    "another type": lambda: large(0, dtype=np.float64).add_(large(1)),
    "bools": lambda: large(0).mul_(large(1) > 1),
    "out=": lambda: torch.add(large(0), large(1), out=large(2)),
    "out= of an operand": lambda: (lambda x: torch.exp(x, out=x))(large(0)),
    "out= of another shape": lambda: torch.mul(large(0), 2.0, out=torch.empty(0)),
    "out= of another type": lambda: torch.mul(large(0), 2.0, out=large(2, dtype=np.float64)),
    "out= of comparisons": lambda: torch.eq(large(0), large(0), out=large(1)),
    "out= turned": lambda: torch.add(large(0), 1.0, out=large(2).t()),
}


@pytest.fixture(params=[1, 1 << 62], ids=["at once", "by a copy"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(inplace, "LARGE", request.param)
    return request.param


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inplace, "LARGE", 1)
    found = PROGRAMS[name]()
    monkeypatch.setattr(inplace, "LARGE", 1 << 62)
    expected = PROGRAMS[name]()
    assert found.dtype is expected.dtype and found.stride() == expected.stride()
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_no_copy_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inplace, "LARGE", 1)
    monkeypatch.setattr(inplace, "assign", None)
    x = large(0)
    x.add_(1).mul_(x).sqrt_()
    x -= 1
    assert x.allclose(((large(0) + 1) ** 2).sqrt() - 1)


def test_refusals(size: int) -> None:
    leaf, x = large(0).requires_grad_(), large(1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf.mul_(2)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x[0].add_(x)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[0].expand(N, N).add_(1)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(leaf, 1, out=x)
    y = large(2).add_(leaf)
    assert y.grad_fn.name() == "AddBackward0"
    with torch.no_grad():
        leaf.mul_(2)
    assert leaf.allclose(large(0) * 2)


def test_writes_are_noted(size: int) -> None:
    x, w = large(0), large(1).requires_grad_()
    y = (x * w).sum()
    before = x._version
    x.add_(1)
    assert x._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
