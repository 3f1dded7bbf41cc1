"""Sparse matrices in compressed layouts: what they store, what is computed with them, and their gradients."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest

import pullback

DENSE = np.array([[1.0, 0, 2, 0, 0, 0], [0, 0, 3, 0, 0, 4], [0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 6]])
LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def blocks(layout: str) -> Any:
    return (2, 3) if layout in ("sparse_bsr", "sparse_bsc") else None


def stored(layout: str, root: Any = pullback, dense: Any = DENSE, **options: Any) -> Any:
    return root.tensor(dense, **options).to_sparse(layout=getattr(root, layout), blocksize=blocks(layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_back_and_forth(layout: str) -> None:
    x = stored(layout)
    assert x.layout is getattr(pullback, layout) and x.shape == (4, 6)
    assert np.array_equal(x.to_dense(), DENSE) and np.array_equal(x.to_sparse().to_dense(), DENSE)
    assert x.to_sparse_coo().layout is pullback.sparse_coo and x.to_sparse().is_coalesced()
    for other in LAYOUTS:
        y = x.to_sparse(layout=getattr(pullback, other), blocksize=blocks(other))
        assert y.layout is getattr(pullback, other) and np.array_equal(y.to_dense(), DENSE)
    turned = x.t()
    assert turned.layout.name[-1] != layout[-1] and np.array_equal(turned.to_dense(), DENSE.T)
    assert np.array_equal(copy.deepcopy(x).to_dense(), DENSE) and copy.deepcopy(x).layout is x.layout


def test_what_is_stored() -> None:
    x = stored("sparse_csr")
    assert x.is_sparse_csr and not pullback.tensor(DENSE).is_sparse_csr and x._nnz() == 6
    assert x.crow_indices().tolist() == [0, 2, 4, 4, 6] and x.col_indices().tolist() == [0, 2, 2, 5, 0, 5]
    assert x.values().tolist() == [1, 2, 3, 4, 5, 6]
    y = stored("sparse_csc")
    assert y.ccol_indices().tolist() == [0, 2, 2, 4, 4, 4, 6] and y.row_indices().tolist() == [0, 3, 0, 1, 1, 3]
    z = stored("sparse_bsr")
    assert z._nnz() == 4 and z.crow_indices().tolist() == [0, 2, 4] and z.col_indices().tolist() == [0, 1, 0, 1]
    assert z.values()[0].tolist() == [[1, 0, 2], [0, 0, 3]]
    assert repr(x).startswith("tensor(crow_indices=tensor([0, 2, 4, 4, 6]),\n       col_indices=") and "nnz=6" in repr(
        x
    )
    assert stored("sparse_csr", dense=np.zeros((2, 3))).crow_indices().tolist() == [0, 0, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_made_of_what_it_stores(layout: str) -> None:
    x = stored(layout)
    parts = (x.crow_indices(), x.col_indices()) if layout[-1] == "r" else (x.ccol_indices(), x.row_indices())
    values = x.values().clone().requires_grad_()
    y = pullback.sparse_compressed_tensor(*parts, values, (4, 6), layout=x.layout)
    assert np.array_equal(y.detach().to_dense(), DENSE) and y.layout is x.layout
    names = ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices")
    y = getattr(pullback, f"{layout}_tensor")(**dict(zip(names, parts)), values=values, size=(4, 6))
    assert np.array_equal(y.detach().to_dense(), DENSE) and y.layout is x.layout
    weights = pullback.arange(24.0, dtype=pullback.float64).reshape(4, 6)
    (y.to_dense() * weights).sum().backward()
    expected = weights.sparse_mask(x).values()
    assert values.grad.shape == values.shape and np.array_equal(values.grad, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout: str) -> None:
    dense = pullback.tensor(DENSE, requires_grad=True)
    right = pullback.arange(12.0, dtype=pullback.float64).reshape(6, 2).requires_grad_()
    x = dense.to_sparse(layout=getattr(pullback, layout), blocksize=blocks(layout))
    (x @ right).square().sum().backward()
    found = dense.grad.clone(), right.grad.clone()
    dense.grad = right.grad = None
    (dense @ right).square().sum().backward()
    assert np.allclose(found[0], dense.grad) and np.allclose(found[1], right.grad)
    leaf = stored(layout).requires_grad_()
    (leaf.to_dense() * 3).sum().backward()
    assert leaf.grad.layout is leaf.layout and np.array_equal(
        leaf.grad.to_dense(), np.where(leaf.detach().to_dense() != 0, 3, leaf.grad.to_dense())
    )
    leaf.grad = None
    pullback.sparse.mm(leaf, right.detach()).sum().backward()
    assert np.allclose(
        leaf.grad.to_dense().numpy()[DENSE != 0], np.broadcast_to(right.detach().sum(1), (4, 6))[DENSE != 0]
    )
    for masked in (True, False):
        one = stored(layout).requires_grad_()
        assert pullback.autograd.gradcheck(lambda a, m=masked: a.to_dense(masked_grad=m).sum(), one, masked=masked)
    leaf.grad = None
    (leaf.values() ** 2).sum().backward()
    assert leaf.grad.layout is leaf.layout and np.array_equal(leaf.grad.to_dense(), 2 * DENSE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_computing_keeps_the_layout(layout: str) -> None:
    x = stored(layout)
    for y, expected in (
        (x * 2, DENSE * 2),
        (x.sin(), np.sin(DENSE)),
        (x + x, DENSE + DENSE),
        (-x, -DENSE),
        (x - x.sin(), DENSE - np.sin(DENSE)),
    ):
        assert y.layout is x.layout and np.allclose(y.to_dense(), expected)
    if blocks(layout) is None:
        product = x @ x.t()
        assert product.layout is x.layout and np.allclose(product.to_dense(), DENSE @ DENSE.T)
    assert np.allclose(x @ np.ones(6), DENSE.sum(1)) and x.sum().item() == DENSE.sum()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_saving(layout: str) -> None:
    x, file = stored(layout), io.BytesIO()
    pullback.save({"x": x}, file)
    file.seek(0)
    y = pullback.load(file)["x"]
    assert y.layout is x.layout and repr(y) == repr(x)


def test_refusals() -> None:
    make, eye = pullback.sparse_csr_tensor, pullback.eye(3)
    for args, words in [
        (([1, 2], [0, 1], [1.0, 2.0]), "crow_indices[..., 0] == 0"),
        (([0, 1], [0, 1], [1.0, 2.0]), "crow_indices[..., -1] == nnz"),
        (([0, 2], [0, 5], [1.0, 2.0], (1, 3)), "0 <= col_indices < ncols"),
        (([0, 2, 1, 2], [0, 1], [1.0, 2.0]), "0 <= crow_indices[..., 1:]"),
        (([0, 2], [0, 1], [1.0, 2.0], (3, 3)), "nrows + 1"),
        (([0, 2], [0], [1.0, 2.0]), "col_indices"),
    ]:
        with pytest.raises(RuntimeError) as caught:
            make(*args)
        assert words in str(caught.value)
    with pytest.raises(RuntimeError, match="expected sparse row compressed tensor layout but got Strided"):
        eye.crow_indices()
    with pytest.raises(RuntimeError, match="expected sparse column compressed tensor layout but got SparseCsr"):
        eye.to_sparse_csr().ccol_indices()
    with pytest.raises(RuntimeError, match=r"must be divisible by given blocksize \(2,2\)"):
        eye.to_sparse_bsr((2, 2))
    with pytest.raises(NotImplementedError, match="only matrices"):
        pullback.ones(2, 2, 2).to_sparse_csr()
    with pytest.raises(RuntimeError, match="indices expected sparse coordinate tensor layout but got SparseCsr"):
        eye.to_sparse_csr().indices()
    assert make([0, 1, 3], [2, 0, 1], [1, 2, 3]).dtype is pullback.int64


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_against_pytorch(layout: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = stored(layout), stored(layout, torch)
    assert repr(ours) == repr(theirs)
    for name in ("crow_indices", "col_indices") if layout[-1] == "r" else ("ccol_indices", "row_indices"):
        assert getattr(ours, name)().tolist() == getattr(theirs, name)().tolist()
    assert ours.values().tolist() == theirs.values().tolist() and ours._nnz() == theirs._nnz()
    assert (
        repr(ours.t().layout) == repr(theirs.t().layout)
        and ours.sparse_dim() == theirs.sparse_dim()
        and ours.dense_dim() == theirs.dense_dim()
    )
    grads = []
    for root in (pullback, torch):
        x = stored(layout, root).requires_grad_()
        y = x.to_dense() * root.arange(24.0, dtype=root.float64).reshape(4, 6)
        grads.extend(root.autograd.grad(y.sum(), x))
    assert repr(grads[0]) == repr(grads[1])
    file = io.BytesIO()
    torch.save(theirs, file)
    file.seek(0)
    assert repr(pullback.load(file)) == repr(ours)
    file = io.BytesIO()
    pullback.save(ours, file)
    file.seek(0)
    assert repr(torch.load(file)) == repr(theirs)
