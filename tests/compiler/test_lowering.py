"""Ops lowered to kernels that work in the plan's memory, and rematerialization in loops, against the eager ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import nn

from . import compile

F = nn.functional
NAN, INF = math.nan, math.inf


def leaf(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return pullback.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(dtype)).requires_grad_()


def compare(
    f: Callable[..., Any], leaves: list[Any], *others: Any, kernels: tuple[str, ...] = (), specials: bool = True
) -> Any:
    """Values and gradients of two calls, of a function and of it compiled, with NaN and infinities at the second."""
    weights = f(*leaves, *others).detach()
    weights = pullback.from_numpy(
        np.cos(np.arange(weights.numel(), dtype=weights.numpy().dtype)).reshape(weights.shape)
    )

    def step(*others: Any) -> Any:
        for x in leaves:
            x.grad = None
        y = f(*leaves, *others)
        (y * weights).sum().backward()
        return y.detach()

    fast = compile(step)
    rtol = 2e-5 if leaves[0].dtype is pullback.float32 else 1e-10
    for special in (False, True, True):
        if special and specials:
            with pullback.no_grad():
                leaves[0].view(-1)[::7] = INF
                leaves[0].view(-1)[3::11] = NAN
        expected = [step(*others).numpy(), *(x.grad.numpy() for x in leaves)]
        with np.errstate(all="ignore"):
            found = [fast(*others).numpy(), *(x.grad.numpy() for x in leaves)]
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=rtol, atol=1e-5 if rtol > 1e-6 else 1e-9)
    if pullback.kernels.info()["running"]:
        plan = fast.plan()
        assert all([f"kernel {name}(" in plan for name in kernels]), plan
    return fast


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [8, 13, 48, 100])
def test_layer_norm(n: int, dtype: Any) -> None:
    names = ("normalize", "normalize_backward")
    compare(
        lambda x, w, b: F.layer_norm(x * 2, (n,), w, b),
        [leaf(3, 5, n, dtype=dtype), leaf(n, seed=1, dtype=dtype), leaf(n, seed=2, dtype=dtype)],
        kernels=names,
    )
    compare(lambda x: F.layer_norm(x, (n,)), [leaf(70, n, dtype=dtype)], kernels=names)
    compare(
        lambda x, w: F.layer_norm(x.mT, (n,), w),
        [leaf(n, 66, dtype=dtype), leaf(n, seed=1, dtype=dtype)],
        kernels=names,
    )
    compare(
        lambda x, w: F.rms_norm(x, (n,), w), [leaf(2, 9, n, dtype=dtype), leaf(n, seed=1, dtype=dtype)], kernels=names
    )
    compare(
        lambda x, w: F.layer_norm(x, (2, n), w),
        [leaf(5, 2, n, dtype=dtype), leaf(2, n, seed=1, dtype=dtype)],
        kernels=names,
    )


def test_batch_and_group_norm() -> None:
    names = ("normalize", "normalize_backward")
    mean, var = pullback.zeros(6), pullback.ones(6)
    compare(
        lambda x, w, b: F.batch_norm(x, mean, var, w, b, True),
        [leaf(3, 6, 5, 7), leaf(6, seed=1), leaf(6, seed=2)],
        kernels=names,
        specials=False,
    )
    assert mean.abs().sum() > 0
    compare(
        lambda x, w, b: F.group_norm(x, 3, w, b), [leaf(4, 6, 3, 5), leaf(6, seed=1), leaf(6, seed=2)], kernels=names
    )
    compare(lambda x, w: F.instance_norm(x, weight=w), [leaf(4, 6, 11), leaf(6, seed=1)], kernels=names)


def test_what_has_no_kernel_is_called() -> None:
    compare(lambda x: F.layer_norm(x, (3,)), [leaf(4, 3)])
    compare(lambda x: F.layer_norm(x, (3, 0)), [leaf(4, 3, 0)])
    compare(lambda x: F.softmax(x, 0), [leaf(4, 3)])
    compare(lambda x: F.log_softmax(x, -1), [leaf(0, 3)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 17), (2, 3, 64), (33, 1)])
def test_softmax(shape: tuple[int, ...], dtype: Any) -> None:
    for f in (F.softmax, F.log_softmax):
        compare(lambda x: f(x + 1, -1), [leaf(*shape, dtype=dtype)], kernels=("softmax", "softmax_backward"))  # noqa: B023
    compare(lambda x: F.softmax(x.mT if x.ndim > 1 else x, -1), [leaf(*shape, dtype=dtype)])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_entropy(reduction: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    names = ("cross_entropy", "cross_entropy_backward")
    for batch, classes in ((1, 1), (9, 5), (40, 65)):
        target = pullback.from_numpy(rng.integers(0, classes, batch))
        compare(
            lambda x, t: F.cross_entropy(x, t, reduction=reduction),
            [leaf(batch, classes, dtype=dtype)],
            target,
            kernels=names,
        )
        target[::3] = -100
        compare(
            lambda x, t: F.cross_entropy(x, t, reduction=reduction),
            [leaf(batch, classes, dtype=dtype)],
            target,
            kernels=names,
            specials=batch > 1,
        )
    weight = pullback.from_numpy(rng.uniform(1, 2, 5).astype(dtype))
    target = pullback.tensor([0, 1, 4, 2, 2])
    compare(
        lambda x, t: F.cross_entropy(x, t, weight, reduction=reduction),
        [leaf(5, 5, dtype=dtype)],
        target,
        kernels=names,
    )
    compare(
        lambda x, t: F.cross_entropy(x, t, reduction=reduction),
        [leaf(2, 4, 3, dtype=dtype)],
        pullback.tensor([[0, 1, 3], [2, 2, 0]]),
    )


def test_targets_are_looked_at_at_each_call() -> None:
    """A target that is no class must never be taken for a place in memory; and ignored ones may change."""
    w = leaf(6, 4)

    @compile
    def step(target: Any) -> Any:
        w.grad = None
        loss = F.cross_entropy(w, target)
        loss.backward()
        return loss.detach()

    step(pullback.tensor([0, 1, 2, 3, 0, 1]))
    for bad in (4, -1, 1 << 40):
        with pytest.raises(IndexError, match="out of bounds"):
            step(pullback.tensor([0, 1, 2, bad, 0, 1]))
        assert w.grad is None  # as the function has left it
    loss = step(pullback.tensor([0, -100, 2, -100, 0, 1]))
    expected = F.cross_entropy(w.detach()[[0, 2, 4, 5]], pullback.tensor([0, 2, 0, 1]))
    np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=1e-6)
    assert not w.grad[[1, 3]].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 3), (9, 70), (40, 16)])
def test_embedding(rows: int, columns: int, dtype: Any) -> None:
    """Repeated rows, a row without gradient, indices that are constants; and a row that is not there, in a later
    call.
    """
    rng = np.random.default_rng(0)
    at = pullback.from_numpy(rng.integers(0, rows, (7, 3)))
    fast = compare(
        lambda w, t: F.embedding(t, w), [leaf(rows, columns, dtype=dtype)], at, kernels=("take_rows", "add_rows")
    )
    for bad in (rows, -1, 1 << 40):
        wrong = at.clone()
        wrong[2, 1] = bad
        with pytest.raises(IndexError, match="out of range"):
            fast(wrong)
    compare(
        lambda w: F.embedding(pullback.arange(rows), w).sum(0) * F.embedding(at, w),
        [leaf(rows, columns, dtype=dtype)],
        kernels=("take_rows", "add_rows"),
    )
    compare(lambda w, t: F.embedding(t, w, padding_idx=0), [leaf(rows, columns, dtype=dtype)], at, specials=False)
    compare(
        lambda w, t: F.embedding(t, w, scale_grad_by_freq=True), [leaf(rows, columns, dtype=dtype)], at, specials=False
    )
    compare(lambda w, t: F.embedding(t.T, w), [leaf(rows, columns, dtype=dtype)], at)
    compare(lambda w, t: F.embedding(t.int(), w), [leaf(rows, columns, dtype=dtype)], at)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "depth", "width"), [(1, 1, 3, 3), (7, 7, 4, 5), (33, 20, 16, 16), (70, 70, 17, 30)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(n: int, m: int, depth: int, width: int, causal: bool, dtype: Any) -> None:
    """In all numbers of dimensions, and where heads are parts of rows."""
    names = ("attention", "attention_backward")
    size = math.isqrt(1024 // (n * depth)) + 1  # from which on kernels are asked

    def attend(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    for lead in ((size * size,), (size, size)):
        given = [
            leaf(*lead, *shape, seed=i, dtype=dtype) for i, shape in enumerate(((n, depth), (m, depth), (m, width)))
        ]
        compare(attend, given, kernels=names, specials=False)
    if n == m and depth == width:
        heads = leaf(size, n, 3, size, depth, dtype=dtype)
        compare(
            lambda x: attend(*[t.transpose(1, 2) for t in x.unbind(2)]).transpose(1, 2).reshape(size, n, -1),
            [heads],
            kernels=names,
            specials=False,
        )
        q = leaf(size * size, depth, n, dtype=dtype)
        compare(lambda x: attend(x.mT, x.mT * 2, x.mT), [q], kernels=names, specials=False)


def test_second_derivatives_of_opaque_vjps() -> None:
    """Of ops whose vjps are one instruction in first derivatives."""
    x, t = leaf(3, 9), pullback.tensor([0, 8, 2])

    def penalty() -> Any:
        x.grad = None
        y = F.layer_norm(F.softmax(x, -1), (9,))
        (g,) = pullback.autograd.grad(F.cross_entropy(y, t), x, create_graph=True)
        (g * g).sum().backward()
        return g.detach()

    expected = penalty().numpy(), x.grad.numpy()
    fast = compile(penalty)
    for _ in range(2):
        for a, b in zip(expected, (fast().numpy(), x.grad.numpy())):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def test_cheap_values_are_computed_again() -> None:
    """A derivative made of what is in memory anyway is not stored by the loop that could compute it first."""
    w, v = leaf(4, 4, seed=1), leaf(4, 3, seed=2)

    def net(x: Any) -> Any:
        return (F.relu(x @ w) @ w).tanh() @ v

    fast = compare(net, [leaf(5, 4)])
    if pullback.kernels.info()["running"]:
        loops = [line for line in fast.plan().splitlines() if "loop [5, 4]" in line]
        assert all([line.count("stores") <= 1 for line in loops]), "\n".join(loops)


def test_what_is_the_same_at_every_call_is_computed_once() -> None:
    """A positional encoding, also by way of views; not what learning rates or random numbers enter."""

    def encoded(x: Any) -> Any:
        angles = pullback.arange(6).float().unsqueeze(1) / 10 ** pullback.arange(4).float()
        return x + pullback.stack([angles.sin(), angles.T.T.cos()], -1).reshape(6, 8)

    fast = compare(encoded, [leaf(6, 8)])
    assert "sin" in fast.ir() and "sin(" not in str(fast.versions[0].plan.program)
    assert compile(lambda: pullback.arange(3) * 2)().tolist() == [0, 2, 4]
    constant = compile(lambda: [pullback.arange(3) * 2, pullback.arange(3)])
    constant()[0].add_(1)
    assert constant()[0].tolist() == [0, 2, 4]
    constant()[1].add_(1)
    assert constant()[1].tolist() == [0, 1, 2]


@pytest.mark.skipif(not pullback.kernels.info()["running"], reason="lowerings need native kernels")
def test_vjps_that_are_lowered_are_traced_as_one_instruction() -> None:
    from pullback.compiler.lowering.registry import vjp_lowering
    from pullback.compiler.trace import OPAQUE_VJPS

    assert vjp_lowering and set(vjp_lowering) <= OPAQUE_VJPS
