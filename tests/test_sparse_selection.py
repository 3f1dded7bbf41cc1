"""Parts of sparse tensors, several joined, norms, layers with sparse weights; indices as graph libraries have them."""

import pytest

import pullback as torch

DENSE = [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 4.0]]


def dense():
    return torch.tensor(DENSE)


def sparse():
    return dense().to_sparse()


PROGRAMS = {
    "rows": lambda x: x.index_select(0, torch.tensor([1, 1, 0])),
    "columns": lambda x: torch.index_select(x, 1, torch.tensor([2, 0])),
    "none": lambda x: x.index_select(0, torch.tensor([], dtype=torch.int64)),
    "a row": lambda x: x[1],
    "the last": lambda x: x[-1],
    "rows from 1": lambda x: x[1:],
    "below": lambda x: torch.cat([x, x]),
    "beside": lambda x: torch.cat([x, x, x], 1),
    "behind": lambda x: torch.stack([x, 2 * x]),
    "between": lambda x: torch.stack([x, 2 * x], 1),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_part_of_a_sparse_tensor_is_that_of_the_dense_one(program):
    result = program(sparse())
    assert result.is_sparse
    assert torch.equal(result.to_dense(), program(dense()))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[0, 1],
        lambda x: torch.norm(x),
        lambda x: x.norm(),
        lambda x: torch.nn.functional.linear(torch.ones(2, 3), x, torch.ones(3)),
        lambda x: torch.nn.functional.linear(x, torch.ones(2, 3)),
    ],
)
def test_what_is_dense_of_a_sparse_tensor(program):
    result = program(sparse())
    assert not result.is_sparse
    assert torch.allclose(result, program(dense()))


def test_dense_dimensions_are_selected_and_joined_too():
    x = torch.arange(12.0).reshape(2, 2, 3)
    s = x.to_sparse(1)
    assert torch.equal(s.index_select(2, torch.tensor([2, 0])).to_dense(), x[:, :, [2, 0]])
    assert torch.equal(torch.cat([s, s], 2).to_dense(), torch.cat([x, x], 2))
    assert torch.equal(s[1, 0], x[1, 0])


def test_refusals():
    for program in (
        lambda: torch.cat([sparse(), dense()]),
        lambda: sparse()[::2],
        lambda: torch.stack([sparse(), sparse()], 5),
    ):
        with pytest.raises((NotImplementedError, IndexError)):
            program()
    with pytest.raises(RuntimeError, match="must have the same shape"):
        torch.cat([sparse(), torch.ones(1, 2).to_sparse()])
    with pytest.raises(IndexError, match="index out of range"):
        sparse().index_select(0, torch.tensor([3]))
    with pytest.raises(RuntimeError, match="reduce argument must be"):
        torch.sparse.mm(sparse(), dense(), "median")


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_products_are_reduced_row_by_row(reduce, layout):
    given = torch.tensor([[0.0, 1.0, -2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 5.0]])
    values = given[given != 0].requires_grad_()
    a = torch.sparse_coo_tensor(given.nonzero().t(), values, (3, 3)).to_sparse(layout=layout)
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    products = [[1.0 * x[1], -2.0 * x[2]], [], [3.0 * x[0], 5.0 * x[2]]]
    rows = [getattr(torch.stack(row), reduce)(0) if row else torch.zeros(2) for row in products]
    result = torch.sparse.mm(a, x, reduce)
    assert torch.allclose(result, torch.stack(rows))
    seed = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    by_x, by_values = torch.autograd.grad(result, (x, values), seed)
    (expected,) = torch.autograd.grad(torch.stack(rows), x, seed)
    assert torch.allclose(by_x, expected)
    assert by_values.shape == (4,) and by_values.count_nonzero() == (2 if reduce.startswith("am") else 4)


def test_indices_are_converted():
    rows, columns = torch.tensor([0, 0, 1, 3]), torch.tensor([0, 1, 1, 0])
    starts = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 2, 3, 3, 4, 4]
    assert torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype is torch.int32
    assert torch._convert_indices_from_csr_to_coo(starts, columns).tolist() == [rows.tolist(), columns.tolist()]
    turned = torch._convert_indices_from_csr_to_coo(starts, columns, transpose=True)
    assert turned.tolist() == [columns.tolist(), rows.tolist()]


@pytest.mark.parametrize("columns", [[2, 0, 1], [1, 1, 1]], ids=["unsorted", "repeated"])
def test_columns_of_a_row_are_in_any_order(columns):
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = torch.sparse_csr_tensor([0, 2, 3], columns, values, (2, 3))
    expected = torch.zeros(2, 3).index_put((torch.tensor([0, 0, 1]), torch.tensor(columns)), values, accumulate=True)
    assert made.col_indices().tolist() == columns and made.values().tolist() == [1.0, 2.0, 3.0]
    assert torch.equal(made.to_dense(), expected)
    assert torch.equal(made @ torch.ones(3, 1), expected.sum(1, keepdim=True))
    assert torch.equal((made * 2).to_dense(), expected * 2)
    seed = torch.arange(6.0).reshape(2, 3)
    (gradient,) = torch.autograd.grad(made.to_dense(), values, seed)
    assert gradient.tolist() == [seed[0, columns[0]], seed[0, columns[1]], seed[1, columns[2]]]
    with pytest.raises(RuntimeError, match="are sorted and distinct"):
        torch.sparse_csr_tensor([0, 2, 3], columns, values, (2, 3), check_invariants=True)
