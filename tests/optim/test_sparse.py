"""Sparse gradients: which rows change, and who refuses them."""

import numpy as np
import pytest

import pullback
from pullback import optim


class Rows:
    """What optimizers use of a sparse gradient: some rows of a matrix, which may repeat."""

    is_sparse = True

    def __init__(self, rows, values, coalesced=False):
        self.rows, self.given, self.coalesced = np.array(rows), np.array(values, np.float64), coalesced

    def coalesce(self):
        rows = np.unique(self.rows)
        return Rows(rows, [self.given[self.rows == row].sum(0) for row in rows], True)

    def indices(self):
        assert self.coalesced
        return pullback.tensor(self.rows[None])

    def values(self):
        assert self.coalesced
        return pullback.tensor(self.given)


STEPS = [([1, 3, 1], [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5]]), ([3, 0], [[1.0, 0.0], [-2.0, 1.0]]), ([1], [[0.1, 5.0]])]
METHODS = {
    "sgd": lambda torch, ps: torch.optim.SGD(ps, lr=0.1),
    "sgd up": lambda torch, ps: torch.optim.SGD(ps, lr=0.1, maximize=True),
    "momentum": lambda torch, ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
    "adagrad": lambda torch, ps: torch.optim.Adagrad(ps, lr=0.1, lr_decay=0.1),
    "sparse adam": lambda torch, ps: torch.optim.SparseAdam(ps, lr=0.1),
    "sparse adam up": lambda torch, ps: torch.optim.SparseAdam(ps, lr=0.1, betas=(0.5, 0.7), eps=0.1, maximize=True),
}


def train(make, torch=pullback, gradient=Rows):
    p = torch.arange(8.0, dtype=torch.float64).reshape(4, 2).requires_grad_()
    optimizer = make(torch, [p])
    for rows, values in STEPS:
        if gradient is Rows:
            p._grad = Rows(rows, values)
        else:
            p.grad = gradient(rows, values)
        optimizer.step()
    return p.detach().numpy(), optimizer


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("make", METHODS.values(), ids=METHODS)
def test_rows_as_pytorch_has_them(make):
    torch = pytest.importorskip("torch")

    def gradient(rows, values):
        return torch.sparse_coo_tensor(
            [rows], torch.tensor(values, dtype=torch.float64), (4, 2), check_invariants=False
        )

    expected, theirs = train(make, torch, gradient)
    ours, optimizer = train(make)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)
    for key, value in theirs.state_dict()["state"].get(0, {}).items():
        mine = optimizer.state_dict()["state"][0][key]
        value = value.to_dense() if hasattr(value, "to_dense") else value
        np.testing.assert_allclose(mine.numpy() if hasattr(mine, "numpy") else mine, value, rtol=1e-12)


def dense(rows, values):
    full = np.zeros((4, 2))
    np.add.at(full, rows, values)
    return pullback.tensor(full)


@pytest.mark.parametrize("name", ["sgd", "sgd up", "momentum", "adagrad"])
def test_rows_change_as_the_same_gradient_written_out_changes_them(name):
    np.testing.assert_allclose(train(METHODS[name])[0], train(METHODS[name], gradient=dense)[0], rtol=1e-13)


def test_sparse_adam_on_all_rows_is_adam():
    values = [[1.0, 2.0], [3.0, -4.0], [0.5, 0.5], [2.0, 1.0]]
    params = [pullback.ones(4, 2, dtype=pullback.float64, requires_grad=True) for _ in range(2)]
    sparse, adam = optim.SparseAdam(params[:1], lr=0.1, eps=1e-300), optim.Adam(params[1:], lr=0.1, eps=1e-300)
    for _ in range(3):
        params[0]._grad, params[1].grad = Rows(range(4), values), pullback.tensor(values, dtype=pullback.float64)
        sparse.step()
        adam.step()
    np.testing.assert_allclose(params[0].tolist(), params[1].tolist(), rtol=1e-13)
    assert sparse.state[params[0]]["step"] == 3


def test_rows_without_gradient_stay():
    p, _ = train(METHODS["sparse adam"])
    assert p[2].tolist() == [4.0, 5.0]
    assert (p[[0, 1, 3]] != np.arange(8.0).reshape(4, 2)[[0, 1, 3]]).all()


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adafactor", "Adamax", "ASGD", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
def test_who_refuses(name):
    p = pullback.ones(4, 2, requires_grad=True)
    p._grad = Rows([1], [[1.0, 1.0]])
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        getattr(optim, name)([p]).step()


def test_adam_names_sparse_adam_and_the_reverse():
    p = pullback.ones(4, 2, requires_grad=True)
    p._grad = Rows([1], [[1.0, 1.0]])
    for kind in (optim.Adam, optim.AdamW):
        with pytest.raises(
            RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam instead"
        ):
            kind([p]).step()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        optim.Adagrad([p], weight_decay=0.1).step()
    p.grad = pullback.ones(4, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam([p]).step()
