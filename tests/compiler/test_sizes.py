"""Arguments of sizes that vary: machine code is written for any size once, and gives what is written for one gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import pullback as torch
from pullback import kernels, nn
from pullback.compiler.compiled_function import MAX_VERSIONS

step_functions = pytest.importorskip("pullback.compiler.step_functions", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not kernels.start(), reason="no kernels here")
F = nn.functional


@pytest.fixture
def nothing_compiled() -> Iterator[None]:
    """Nothing is there yet that would serve for one size."""
    before = dict(step_functions.compiled)
    step_functions.compiled.clear()
    yield
    step_functions.compiled.update(before)


def rows(x: Any, w: Any) -> Any:
    return F.softmax(x @ w, -1).sum(0), (x * x).sum(-1), x.mean()


def columns(x: Any, w: Any) -> Any:
    """Strides of other than one element, read and written; types that are stored otherwise than computed."""
    y = x.transpose(0, 1)
    return (y + 1).transpose(0, 1) > 0, y[::2] * 2, torch.where(y > 0, y, -y).sum(0), (y.double() * 3).sum()


def products(x: Any, w: Any) -> Any:
    """Of matrices and vectors of all forms, one of them packed."""
    return (
        x @ w,
        x[0] @ w,
        x @ w[:, 0],
        x.T @ x,
        x @ x.T,
        w.T[::2] @ x.T,
        x[:, None] @ w,
        (w @ w.T)[None] @ x[:, :, None],
    )


def training(x: Any, w: Any) -> Any:
    w = w.detach().requires_grad_()
    loss = F.layer_norm((x @ w).tanh(), (w.shape[1],)).square().mean() + (x.exp() @ w).logsumexp(0).sum()
    return loss.detach(), *torch.autograd.grad(loss, w)


def pieces(x: Any, w: Any) -> Any:
    return torch.cat([x, x * 2, x[:, :1]], 1), torch.stack([x, -x], 1).flatten(), x.cumsum(0), x[-1:] - x


PROGRAMS = [rows, columns, products, training, pieces]


def run(f: Callable[..., Any], dynamic: bool, x: Any, w: Any) -> list[np.ndarray]:
    compiled = torch.compile(f, fullgraph=True, dynamic=dynamic)
    compiled(x, w)
    results = compiled(x, w)
    return [y.double().numpy() for y in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (1, 5, 3), (7, 1, 4), (16, 16, 16), (33, 20, 1), (5, 17, 40), (700, 130, 70)]
)
def test_code_for_any_size_gives_the_same_bits(f: Callable[..., Any], size: tuple[int, int, int]) -> None:
    n, k, m = size
    torch.manual_seed(0)
    x, w = torch.randn(n, k), torch.randn(k, m)
    any_size = run(f, True, x, w)
    assert any(key[0] for key in step_functions.compiled)
    step_functions.compiled.clear()
    one = run(f, False, x, w)
    assert not any(key[0] for key in step_functions.compiled)
    if f is products or f is training:  # small products are inlined only where their size is known
        for a, b in zip(any_size, one):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    else:
        for a, b in zip(any_size, one):
            np.testing.assert_array_equal(a, b)


SIZES = st.tuples(st.integers(1, 40), st.integers(1, 40))


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.sampled_from(PROGRAMS), st.lists(SIZES, min_size=3, max_size=5, unique=True))
@example(rows, [(3, 4), (4, 3), (16, 4)])
def test_sizes_in_turn(f: Callable[..., Any], sizes: list[tuple[int, int]]) -> None:
    compiled = torch.compile(f)
    for n, k in sizes:
        x, w = torch.randn(n, k), torch.randn(k, 6)
        expected = f(x, w)
        for _ in range(3):
            for a, b in zip(compiled(x, w), expected):
                torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert not compiled.given_up and len(compiled.versions) == len(sizes)


def test_the_third_size_compiles_nothing() -> None:
    net = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(net.parameters())

    @torch.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    counts = []
    for n in (120, 144, 168, 192):  # whole tiles of the products' kernels
        for _ in range(2):
            step(torch.randn(n, 12))
        counts.append(len(step_functions.compiled))
    assert counts[0] < counts[1] == counts[2] == counts[3]
    assert len(step.versions) == 4


def test_dynamic_says_from_the_start_whether_sizes_vary() -> None:
    for dynamic, x, n in ((True, torch.randn(311), 0), (False, torch.randn(313), 1), (None, torch.randn(317), 0)):
        if dynamic is None:
            torch._dynamo.mark_dynamic(x, 0)
        before = set(step_functions.compiled)
        compiled = torch.compile(lambda x, n=n: (x * 3.25 + n).sin() - x, dynamic=dynamic)
        torch.testing.assert_close(compiled(x), (x * 3.25 + n).sin() - x)
        new = set(step_functions.compiled) - before
        assert {key[0] for key in new} <= {dynamic is not False}
    torch._dynamo.mark_static(x, 0)


def test_many_sizes_are_kept_unless_they_take_much_memory() -> None:
    f = torch.compile(lambda x: (x @ x.T).relu().sum(0) @ x)
    sizes = range(3, 3 + MAX_VERSIONS + 8)
    for n in sizes:
        x = torch.randn(n, 8)
        for _ in range(2):
            torch.testing.assert_close(f(x), (x @ x.T).relu().sum(0) @ x, rtol=1e-4, atol=1e-4)
    assert len(f.versions) == len(sizes) == f.compilations
