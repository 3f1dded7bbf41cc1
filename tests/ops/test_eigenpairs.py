"""``torch.lobpcg``: a few eigenpairs, with and without a second matrix, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import pullback


def symmetric(*shape: int, seed: int = 0) -> np.ndarray:
    a = np.random.default_rng(seed).standard_normal(shape)
    return a @ np.swapaxes(a, -1, -2) / 4 + np.eye(shape[-1])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_eigenpairs(largest: bool, second: bool) -> None:
    a, b = symmetric(9, 9), symmetric(9, 9, seed=1) if second else None
    values, vectors = pullback.lobpcg(pullback.tensor(a), 3, None if b is None else pullback.tensor(b), largest=largest)
    expected = eigh(a, b)[0]
    assert np.allclose(values, expected[::-1][:3] if largest else expected[:3]) and vectors.shape == (9, 3)
    metric = np.eye(9) if b is None else b
    assert np.allclose(a @ vectors.numpy(), metric @ vectors.numpy() * values.numpy())
    assert np.allclose(vectors.numpy().T @ metric @ vectors.numpy(), np.eye(3))


def test_batches_sparse_matrices_and_defaults() -> None:
    a = symmetric(2, 6, 6)
    assert np.allclose(pullback.lobpcg(pullback.tensor(a), 2)[0], np.linalg.eigvalsh(a)[:, :-3:-1])
    assert pullback.lobpcg(pullback.tensor(a[0]))[0].shape == (1,)
    assert pullback.lobpcg(pullback.tensor(a[0]), X=pullback.ones(6, 2))[1].shape == (6, 2)
    assert np.allclose(pullback.lobpcg(pullback.tensor(a[0]).to_sparse_csr(), 2)[0], np.linalg.eigvalsh(a[0])[:-3:-1])


@pytest.mark.parametrize("second", [True, False])
def test_derivatives(second: bool) -> None:
    a, b = (
        pullback.tensor(symmetric(6, 6), requires_grad=True),
        pullback.tensor(symmetric(6, 6, seed=1), requires_grad=True),
    )

    def f(a: pullback.Tensor, b: pullback.Tensor) -> tuple[pullback.Tensor, ...]:
        values, vectors = pullback.lobpcg(a, 2, (b + b.mT) / 2 if second else None)
        return values, vectors.abs()

    assert pullback.autograd.gradcheck(f, (a, b))
    assert pullback.autograd.gradgradcheck(f, (a, b), atol=1e-4)
    assert np.allclose(
        pullback.autograd.grad(f(a, b)[1].sum(), a)[0], pullback.autograd.grad(f(a, b)[1].sum(), a)[0].mT
    )


def test_refusals() -> None:
    with pytest.raises(AssertionError, match="A must be square"):
        pullback.lobpcg(pullback.ones(2, 3))
    with pytest.raises(
        ValueError, match=r"number of A rows \(=4\) is smaller than 3 x the number of requested eigenpairs \(=2\)"
    ):
        pullback.lobpcg(pullback.eye(4), 2)
