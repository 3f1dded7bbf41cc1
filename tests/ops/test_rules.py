"""Generic tests over the table of samples: every operation against mathematics, and against PyTorch where it is
installed.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.autograd import functional, gradcheck, gradgradcheck

from .samples import REFUSALS, SAMPLES, Refusal, Sample, _map, is_shape

COMPLEX = [s for s in SAMPLES if s.complex]


def tensors(
    sample: Sample, root: Any = pullback, dtype: Any = np.float64, noncontiguous: bool = False
) -> tuple[list[Any], list[Any]]:
    """The arguments of a sample as tensors of a package, and those of them that require grad."""
    leaves: list[Any] = []

    def leaf(shape: tuple[int, ...]) -> Any:
        a = next(values)
        if noncontiguous and a.ndim > 1:
            a = np.ascontiguousarray(a.T).T
        t = root.from_numpy(a.copy(order="K")).requires_grad_() if a.ndim else root.tensor(a, requires_grad=True)
        leaves.append(t)
        return t

    def flatten(args: Any, arrays: Any) -> Any:
        for a, v in zip(args, arrays):
            if is_shape(a):
                yield v
            elif isinstance(a, list) and a and is_shape(a[0]):
                yield from flatten(a, v)

    values = flatten(sample.args, sample.arrays(dtype))
    args = _map(sample.args, leaf)
    return [constant(a, root, dtype) for a in args], leaves


def constant(a: Any, root: Any, dtype: Any) -> Any:
    """An argument that takes no part in differentiation: arrays become tensors, real ones in the sample's precision."""
    if isinstance(a, np.ndarray):
        return root.from_numpy(np.array(a, dtype) if a.dtype.kind == "f" and np.dtype(dtype).kind == "f" else a.copy())
    return a


def call(sample: Sample, root: Any, args: list[Any]) -> Any:
    floats = [
        str(a.dtype).removeprefix("torch.") for a in args if isinstance(a, root.Tensor) and a.dtype.is_floating_point
    ]
    dtype = np.dtype(floats[0] if floats else np.float64)
    kwargs = {
        k: getattr(root, v.name) if isinstance(v, pullback.dtype) else constant(v, root, dtype)
        for k, v in sample.kwargs.items()
    }
    return sample.function(root)(*args, **kwargs)


def random(rng: np.random.Generator, like: Any) -> np.ndarray:
    """Random numbers of a tensor's shape, complex if it is."""
    a = rng.standard_normal(tuple(like.shape))
    return np.array(a + 1j * rng.standard_normal(a.shape) if like.dtype.is_complex else a)


def outputs(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def as_function(sample: Sample, dtype: Any = np.float64) -> tuple[Any, tuple[Any, ...]]:
    """The sample as a function of its differentiable tensors alone."""
    args, leaves = tensors(sample, dtype=dtype)
    position = {id(t): i for i, t in enumerate(leaves)}

    def put(values: Any) -> Any:
        swap = lambda a: (
            values[position[id(a)]] if id(a) in position else [swap(v) for v in a] if isinstance(a, list) else a
        )  # noqa: E731
        return [swap(a) for a in args]

    first = outputs(call(sample, pullback, args))
    live = [i for i, o in enumerate(first) if isinstance(o, pullback.Tensor) and o.requires_grad]
    return lambda *values: tuple(outputs(call(sample, pullback, put(values)))[i] for i in live), tuple(leaves)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_gradient_against_differences(sample: Sample) -> None:
    """Backward agrees with difference quotients, for every element of every output."""
    f, leaves = as_function(sample)
    if leaves and f(*leaves):
        assert gradcheck(f, leaves, atol=sample.tolerance)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.second], ids=str)
def test_second_order_against_differences(sample: Sample) -> None:
    """Backward of backward agrees with difference quotients of backward."""
    f, leaves = as_function(sample)
    if leaves and f(*leaves):
        assert gradgradcheck(f, leaves, atol=sample.tolerance * 10, fast_mode=True)


@pytest.mark.parametrize("sample", COMPLEX, ids=str)
def test_complex_gradient_against_differences(sample: Sample) -> None:
    """Backward gives conjugate Wirtinger derivatives, to second order."""
    f, leaves = as_function(sample, np.complex128)
    assert gradcheck(f, leaves, atol=sample.tolerance)
    if sample.second:
        assert gradgradcheck(f, leaves, atol=sample.tolerance * 10, fast_mode=True)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.second], ids=str)
def test_forward_and_reverse_are_transposes(sample: Sample) -> None:
    """<u, J t> equals <Jᵀ u, t> for random t and u."""
    f, leaves = as_function(sample)
    if not leaves or not f(*leaves):
        return
    rng = np.random.default_rng(0)
    draw = lambda like: pullback.from_numpy(random(rng, like))  # noqa: E731
    t, u = tuple(map(draw, leaves)), tuple(map(draw, f(*leaves)))
    with pullback.no_grad():
        plain = [x.detach() for x in leaves]
        _, pushed = pullback.func.jvp(lambda *xs: tuple(f(*xs)), tuple(plain), t)
    _, pulled = functional.vjp(f, leaves, u)
    dot = lambda a, b: sum(float(np.vdot(x.detach().numpy(), y.detach().numpy()).real) for x, y in zip(a, b))  # noqa: E731
    np.testing.assert_allclose(dot(u, pushed), dot(pulled, t), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_batch_equals_its_examples(sample: Sample) -> None:
    """``vmap`` of the gradient gives for each example what it gives alone."""
    f, leaves = as_function(sample)
    # one running statistic can't be written by many examples: refused
    if sample.kwargs.get("running_mean") is not None:
        return
    if not leaves or not f(*leaves) or any(not isinstance(o, pullback.Tensor) for o in f(*leaves)):
        return

    def gradients(*xs: Any) -> Any:
        outs, pull = pullback.func.vjp(lambda *ys: tuple(f(*ys)), *xs)
        return outs, pull(tuple(pullback.cos(o.detach().abs()) + 0 * o for o in outs))

    batch = [
        pullback.stack([x.detach(), (x.detach() * 1.01 if not sample.distinct else x.detach()), x.detach()])
        for x in leaves
    ]
    together = pullback.vmap(gradients, randomness="same")(*batch)
    alone = [gradients(*[b[i].clone() for b in batch]) for i in range(3)]
    for k in (0, 1):
        for j, t in enumerate(together[k]):
            for i in range(3):
                np.testing.assert_allclose(
                    t[i].detach().numpy(), alone[i][k][j].detach().numpy(), rtol=1e-8, atol=1e-10
                )


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_memory_order_does_not_matter(sample: Sample) -> None:
    """Transposed memory gives the same values and gradients."""
    results = []
    for noncontiguous in (False, True):
        args, leaves = tensors(sample, noncontiguous=noncontiguous)
        outs = outputs(call(sample, pullback, args))
        live = [o for o in outs if isinstance(o, pullback.Tensor) and o.requires_grad]
        sums = [(o.real + 2 * o.imag if o.is_complex() else o).sum() for o in live]
        grads = pullback.autograd.grad(sums, leaves, allow_unused=True) if live else ()
        results.append(
            [o.detach().numpy() for o in outs if isinstance(o, pullback.Tensor)]
            + [g.numpy() for g in grads if g is not None]
        )
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_single_precision_stays_single(sample: Sample) -> None:
    """float32 in, float32 out, in gradients too; and near the float64 result."""
    wide, narrow = (
        [o for o in outputs(call(sample, pullback, tensors(sample, dtype=d)[0])) if isinstance(o, pullback.Tensor)]
        for d in (np.float64, np.float32)
    )
    for w, n in zip(wide, narrow, strict=True):
        assert n.dtype is not pullback.float64 or sample.kwargs.get("dtype") is pullback.float64 or not n.requires_grad
        np.testing.assert_allclose(n.detach().numpy(), w.detach().numpy(), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.inplace], ids=str)
def test_in_place_equals_out_of_place(sample: Sample) -> None:
    """``x.op_(...)`` on a clone: the same value, the same object, the same gradients."""
    args, leaves = tensors(sample)
    expected = call(sample, pullback, args)
    want = pullback.autograd.grad(expected.sum(), leaves, allow_unused=True)
    x = args[0].clone()
    method = getattr(pullback.Tensor, sample.name.rpartition(".")[2] + "_")
    got = method(x, *args[1:], **sample.kwargs)
    assert got is x
    np.testing.assert_array_equal(got.detach().numpy(), expected.detach().numpy())
    for a, b in zip(pullback.autograd.grad(x.sum(), leaves, allow_unused=True), want, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_refused(refusal: Refusal) -> None:
    """Bad input gets PyTorch's words."""
    sample = Sample(refusal.name, refusal.args, refusal.kwargs)
    args, _ = tensors(sample)
    with pytest.raises(refusal.error, match=refusal.match):
        call(sample, pullback, args)


def with_a_float(v: Any) -> Any:
    """What is ``v`` but for one integer, which is the equal float; for each integer in it."""
    if type(v) is int:
        yield float(v)
    elif isinstance(v, (list, tuple)) and not is_shape(v):
        for i, part in enumerate(v):
            yield from (type(v)((*v[:i], changed, *v[i + 1 :])) for changed in with_a_float(part))


@pytest.mark.filterwarnings("ignore")
def test_a_float_for_an_integer_leaves_no_trace() -> None:
    """They are equal: what a cache has for the one must not be what it then has for the other."""
    modules = [m for name, m in sys.modules.items() if name.startswith("pullback.ops")]
    caches = [f for m in modules for f in vars(m).values() if isinstance(f, functools._lru_cache_wrapper)]
    for sample in SAMPLES:
        options = [with_a_float(list(sample.args)), *map(with_a_float, sample.kwargs.values())]
        strange = [replace(sample, args=tuple(args)) for args in options[0]]
        for name, changes in zip(sample.kwargs, options[1:]):
            strange += [replace(sample, kwargs=sample.kwargs | {name: value}) for value in changes]
        if strange:
            for f in caches:
                f.cache_clear()
        for s in strange:
            with contextlib.suppress(Exception):
                call(s, pullback, tensors(s)[0])
        if strange:
            f, leaves = as_function(sample)
            live = f(*leaves) if leaves else ()
            if live:
                pullback.autograd.grad(live, leaves, list(map(pullback.ones_like, live)), allow_unused=True)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # of deprecation, once a process, from whichever sample comes first
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_against_pytorch(sample: Sample) -> None:
    """Values, types and gradients through a random cotangent are PyTorch's."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    seeds: list[np.ndarray] = []
    results = []
    for root in (torch, pullback):
        args, leaves = tensors(sample, root)
        outs = [o for o in outputs(call(sample, root, args)) if isinstance(o, root.Tensor)]
        live = [o for o in outs if o.requires_grad]
        seeds = seeds or [random(rng, o) for o in live]
        grads = root.autograd.grad(live, leaves, [root.from_numpy(s) for s in seeds], allow_unused=True) if live else ()
        results.append(
            (
                [o.detach().resolve_conj().numpy() for o in outs],
                [g if g is None else g.resolve_conj().numpy() for g in grads],
            )
        )
    (expected, expected_grads), (got, got_grads) = results
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    for a, b in zip(got_grads, expected_grads, strict=True):
        np.testing.assert_allclose(0 if a is None else a, 0 if b is None else b, rtol=1e-7, atol=1e-9)
