"""Sparse tensors: what they are, what they print, their gradients, and that nothing is computed on them by accident."""

import copy
import io
import pickle

import numpy as np
import pytest

import pullback
from pullback import autograd, nn, optim
from pullback.base import thread_state
from pullback.core.op import REGISTRY
from pullback.nn import functional as F

AT = [[0, 1, 1, 0], [2, 0, 2, 2]]  # (0, 2) twice
VALUES = [3.0, 4.0, 5.0, -1.0]
DENSE = np.array([[0.0, 0.0, 2.0], [4.0, 0.0, 5.0]])


def sparse(torch=pullback, values=VALUES, requires_grad=False):
    return torch.sparse_coo_tensor(AT, torch.tensor(values, dtype=torch.float64), (2, 3), requires_grad=requires_grad)


def numbers(*shape):
    return np.sin(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def tensor(array, requires_grad=False, torch=pullback):
    return torch.tensor(np.asarray(array).tolist(), dtype=torch.float64, requires_grad=requires_grad)


# --- what they are ----------------------------------------------------------------------------------------------


def test_parts():
    s = sparse()
    assert (s.is_sparse, s.layout, s.shape, s.dtype, s.ndim, s.numel(), len(s)) == (
        True,
        pullback.sparse_coo,
        (2, 3),
        pullback.float64,
        2,
        6,
        2,
    )
    assert (s._nnz(), s.sparse_dim(), s.dense_dim(), s.is_coalesced()) == (4, 2, 0, False)
    assert s._indices().tolist() == AT and s._values().tolist() == VALUES
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [2.0, 4.0, 5.0]
    assert c.coalesce() is c and c.is_coalesced()
    for x in (s, c):
        np.testing.assert_array_equal(x.to_dense().numpy(), DENSE)


def test_dense_dimensions():
    s = pullback.sparse_coo_tensor([[2, 0, 2]], tensor(numbers(3, 2)), (4, 2))
    expected = np.zeros((4, 2))
    np.add.at(expected, [2, 0, 2], numbers(3, 2))
    np.testing.assert_array_equal(s.to_dense().numpy(), expected)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (1, 1, 3)


def test_dense_tensors_among_them():
    d = pullback.tensor(DENSE)
    assert (
        not d.is_sparse
        and d.layout is pullback.strided
        and d.to_dense() is d
        and (d.sparse_dim(), d.dense_dim()) == (0, 2)
    )
    s = d.to_sparse()
    assert s.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and s.to_sparse() is s
    assert d.to_sparse(1).values().tolist() == DENSE.tolist()
    for shape in ((), (0,), (0, 3), (2, 0)):
        np.testing.assert_array_equal(pullback.zeros(shape).to_sparse().to_dense().numpy(), np.zeros(shape))
    assert pullback.tensor(3.0).to_sparse().to_dense().item() == 3.0
    assert pullback.zeros(2, 3, layout=pullback.sparse_coo)._nnz() == 0 and pullback.zeros_like(s).is_sparse


@pytest.mark.parametrize(
    "given, message",
    [
        (([[0, 3]], [1.0, 2.0], (3,)), "size is inconsistent with indices: for dim 0, size is 3 but found index 3"),
        (([[0, -1]], [1.0, 2.0], (3,)), "found negative index -1 for dim 0"),
        (
            ([[0, 1]], [1.0], (3,)),
            "indices and values must have same nnz, but got nnz from indices: 2, nnz from values: 1",
        ),
        (([[0, 1]], [1.0, 2.0], (3, 4)), "is not satisfied: len(size) = 2, sparse_dim = 1, dense_dim = 0"),
        (([[0]], [[1.0, 2.0]], (3, 4)), "values has incorrect size, expected [1, 4], got [1, 2]"),
        (([0, 1], [1.0, 2.0], (3,)), "indices must be sparse_dim x nnz, but got: [2]"),
    ],
)
def test_what_does_not_fit(given, message):
    with pytest.raises(RuntimeError) as error:
        pullback.sparse_coo_tensor(*given)
    assert message in str(error.value)
    with pytest.raises(RuntimeError, match="cannot set is_coalesced to true"):
        pullback.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (3,), is_coalesced=True)


def test_size_from_indices():
    assert pullback.sparse_coo_tensor(AT, VALUES).shape == (2, 3)
    assert pullback.sparse_coo_tensor([[2]], [[1.0, 2.0]]).shape == (3, 2)
    assert pullback.sparse_coo_tensor((2, 3)).to_dense().tolist() == [[0.0] * 3] * 2


def test_copies():
    s = sparse(requires_grad=True)
    for other in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s), s.clone(), s.detach(), copy.copy(s)):
        np.testing.assert_array_equal(other.to_dense().detach().numpy(), DENSE)
    assert pickle.loads(pickle.dumps(s)).requires_grad
    other = copy.deepcopy(s).detach()
    other._values().zero_()
    np.testing.assert_array_equal(s.detach().to_dense().numpy(), DENSE)


def saved(save, load, value):
    file = io.BytesIO()
    save(value, file)
    file.seek(0)
    return load(file)


def test_files():
    for x in (sparse(), sparse().coalesce(), pullback.sparse_coo_tensor([[2, 0]], numbers(2, 3), (3, 3))):
        y = saved(pullback.save, pullback.load, x)
        assert y._indices().tolist() == x._indices().tolist() and y._values().tolist() == x._values().tolist()
        assert (y.shape, y.is_coalesced()) == (x.shape, x.is_coalesced())
    parameter = saved(pullback.save, pullback.load, nn.Parameter(sparse()))
    assert isinstance(parameter, nn.Parameter) and parameter.is_sparse and parameter.requires_grad


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
def test_files_of_pytorch_and_for_it():
    torch = pytest.importorskip("torch")
    theirs, ours = saved(pullback.save, torch.load, sparse()), saved(torch.save, pullback.load, sparse(torch))
    for x in (theirs, ours):
        assert x._indices().tolist() == AT and x._values().tolist() == VALUES and not x.is_coalesced()


def test_only_while_there_are_any_do_operations_take_the_slow_path():
    before = thread_state.slow_path_reasons
    s = sparse()
    assert thread_state.slow_path_reasons > before
    del s
    assert thread_state.slow_path_reasons == before


def test_text():
    assert repr(sparse(requires_grad=True)) == (
        "tensor(indices=tensor([[0, 1, 1, 0],\n"
        "                       [2, 0, 2, 2]]),\n"
        "       values=tensor([ 3.,  4.,  5., -1.]),\n"
        "       size=(2, 3), nnz=4, dtype=torch.float64, layout=torch.sparse_coo,\n"
        "       requires_grad=True)"
    )


PRINTED = [
    lambda t: t.sparse_coo_tensor((2, 3)),
    lambda t: t.sparse_coo_tensor([[0, 1]], t.arange(6.0).reshape(2, 3), (4, 3)),
    lambda t: t.sparse_coo_tensor([[0, 1]], t.tensor([1.0, 2.0], requires_grad=True), (3,)),
    lambda t: t.sparse_coo_tensor([[0, 1]], [True, False], (3,)),
    lambda t: t.sparse_coo_tensor([[0, 1]], [1 + 2j, 0], (3,), dtype=t.complex128),
    lambda t: t.eye(1200).to_sparse(),
    lambda t: t.sparse_coo_tensor(t.zeros(0, 2, dtype=t.int64), [1.0, 2.0], ()),
    lambda t: t.sparse_coo_tensor(AT, VALUES, (2, 3), requires_grad=True).coalesce() * 2,
]


HYBRID_ONE = lambda torch: torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (2, 3))  # noqa: E731
CSR = lambda torch: torch.eye(4).to_sparse_csr()  # noqa: E731
BSR = lambda torch: torch.eye(4).to_sparse_bsr((2, 2))  # noqa: E731
MADE = {  # layout and, for coordinates, sparse and dense dimensions; the number of values stored; the sum
    "zeros_like": (lambda t: t.zeros_like(HYBRID_ONE(t)), ("sparse_coo", 1, 1, 0, 0)),
    "empty_like": (lambda t: t.empty_like(HYBRID_ONE(t)), ("sparse_coo", 1, 1, 0, 0)),
    "zeros_like, float64": (lambda t: t.zeros_like(HYBRID_ONE(t), dtype=t.float64), ("sparse_coo", 1, 1, 0, 0)),
    "zeros_like, strided": (lambda t: t.zeros_like(HYBRID_ONE(t), layout=t.strided), ("strided", 0)),
    "ones_like, strided": (lambda t: t.ones_like(HYBRID_ONE(t), layout=t.strided), ("strided", 6)),
    "zeros_like of CSR": (lambda t: t.zeros_like(CSR(t)), ("sparse_csr", 0, 0)),
    "ones_like of CSR": (lambda t: t.ones_like(2 * CSR(t)), ("sparse_csr", 4, 4)),
    "full_like of CSR": (lambda t: t.full_like(CSR(t), 3), ("sparse_csr", 4, 12)),
    "zeros_like of CSR, COO": (lambda t: t.zeros_like(CSR(t), layout=t.sparse_coo), ("sparse_coo", 2, 0, 0, 0)),
    "zeros_like of BSR": (lambda t: t.zeros_like(BSR(t)), ("sparse_bsr", 0, 0)),
    "ones_like of BSR": (lambda t: t.ones_like(BSR(t)), ("sparse_bsr", 2, 8)),
    "empty_like of BSR": (lambda t: t.empty_like(BSR(t)).mul_(0), ("sparse_bsr", 2, 0)),
    "full_like of BSR": (lambda t: t.full_like(BSR(t), 3), ("sparse_bsr", 2, 24)),
    "new_zeros": (lambda t: HYBRID_ONE(t).new_zeros((2, 3)), ("sparse_coo", 2, 0, 0, 0)),
    "new_empty": (lambda t: HYBRID_ONE(t).new_empty(2, 3), ("sparse_coo", 2, 0, 0, 0)),
    "new_zeros of CSR": (lambda t: CSR(t).new_zeros(2, 3), ("sparse_csr", 0, 0)),
    "new_zeros, COO": (lambda t: t.ones(2).new_zeros((2,), layout=t.sparse_coo), ("sparse_coo", 1, 0, 0, 0)),
}


def made(x):
    kind = str(x.layout).removeprefix("torch.")
    if kind == "strided":
        return kind, x.sum().item()
    dims = (x.sparse_dim(), x.dense_dim()) if kind == "sparse_coo" else ()
    return kind, *dims, x._nnz() if dims else len(x.values()), x.to_dense().sum().item()


@pytest.mark.parametrize("name", MADE)
def test_made_like_another(name):
    make, expected = MADE[name]
    assert made(make(pullback)) == expected


@pytest.mark.torch
@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_made_like_another_as_pytorch(name):
    make, expected = MADE[name]
    assert made(make(pytest.importorskip("torch"))) == expected


FILLED = {
    "ones": lambda t: t.ones(2, layout=t.sparse_coo),
    "full": lambda t: t.full((2,), 1.0, layout=t.sparse_coo),
    "rand": lambda t: t.rand(2, layout=t.sparse_coo),
    "randn": lambda t: t.randn(2, layout=t.sparse_coo),
    "randint": lambda t: t.randint(3, (2,), layout=t.sparse_coo),
    "randperm": lambda t: t.randperm(3, layout=t.sparse_coo),
    "normal": lambda t: t.normal(0.0, 1.0, (2,), layout=t.sparse_coo),
    "eye": lambda t: t.eye(2, layout=t.sparse_coo),
    "arange": lambda t: t.arange(2, layout=t.sparse_coo),
    "linspace": lambda t: t.linspace(0, 1, 2, layout=t.sparse_coo),
    "logspace": lambda t: t.logspace(0, 1, 2, layout=t.sparse_coo),
    "tril_indices": lambda t: t.tril_indices(2, 2, layout=t.sparse_coo),
    "fftfreq": lambda t: t.fft.fftfreq(2, layout=t.sparse_coo),
    "empty_strided": lambda t: t.empty_strided((2,), (1,), layout=t.sparse_coo),
    "ones_like": lambda t: t.ones_like(t.ones(2), layout=t.sparse_coo),
    "full_like": lambda t: t.full_like(t.ones(2), 1.0, layout=t.sparse_coo),
    "rand_like": lambda t: t.rand_like(HYBRID_ONE(t)),
    "randn_like": lambda t: t.randn_like(HYBRID_ONE(t)),
    "randint_like": lambda t: t.randint_like(HYBRID_ONE(t), 3),
    "ones_like of a sparse one": lambda t: t.ones_like(HYBRID_ONE(t)),
    "ones_like, another": lambda t: t.ones_like(CSR(t), layout=t.sparse_coo),
    "zeros_like, strided": lambda t: t.zeros_like(CSR(t), layout=t.strided),
    "new_ones": lambda t: t.ones(2).new_ones((2,), layout=t.sparse_coo),
    "new_full": lambda t: HYBRID_ONE(t).new_full((2,), 1.0),
    "out=": lambda t: t.zeros(2, layout=t.sparse_coo, out=t.zeros(2)),
    "memory_format=": lambda t: t.zeros_like(HYBRID_ONE(t), memory_format=t.contiguous_format),
}


@pytest.mark.parametrize("name", FILLED)
def test_what_fills_every_element_is_refused_a_sparse_layout(name):
    """Or another one than it has."""
    with pytest.raises(RuntimeError):
        FILLED[name](pullback)


@pytest.mark.torch
@pytest.mark.parametrize("name", FILLED)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_layout_is_refused_as_by_pytorch(name):
    with pytest.raises(RuntimeError):
        FILLED[name](pytest.importorskip("torch"))


MAPPED = "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p nan_to_num rad2deg relu round"
MAPPED += " sgn sign sin sinh sqrt tan tanh trunc"


@pytest.mark.parametrize("name", MAPPED.split())
def test_in_place_functions_of_uncoalesced_tensors_are_refused(name):
    s = pullback.sparse_coo_tensor([[0, 2, 0]], [0.25, 0.5, 0.125], (4,))
    before = s.to_dense()
    with pytest.raises(RuntimeError, match=f"^{name}_ requires coalesced input"):
        getattr(s, name + "_")()
    assert np.array_equal(s.to_dense(), before) and s._nnz() == 3
    expected = getattr(before, name)()
    assert np.array_equal(getattr(s, name)().to_dense(), expected)
    assert np.array_equal(getattr(s.coalesce(), name + "_")().to_dense(), expected)


def test_what_is_linear_is_in_place_for_uncoalesced_tensors_too():
    s = pullback.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))
    s.neg_().mul_(2).add_(s.sin())
    assert np.allclose(s.to_dense(), [-6 + np.sin(-6.0), 0])
    assert s.copy_(s.sin()).is_coalesced()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("make", PRINTED)
def test_text_as_pytorchs(make):
    torch = pytest.importorskip("torch")
    assert repr(make(pullback)) == repr(make(torch))


# --- arithmetic -------------------------------------------------------------------------------------------------


def in_order(x):
    return x.coalesce() if x.is_sparse else x


CALCULATIONS = {
    "s * 2": lambda s, d: s * 2,
    "s / 2": lambda s, d: s / 2,
    "-s": lambda s, d: -s,
    "s + s": lambda s, d: s + s,
    "s - 3s": lambda s, d: s - 3 * s,
    "s + in order": lambda s, d: s + in_order(s),
    "d + s": lambda s, d: d + s,
    "d - s": lambda s, d: d - s,
    "s * d": lambda s, d: s * d,
    "d * s": lambda s, d: d * s,
    "s * s": lambda s, d: s * s,
    "s * row": lambda s, d: s * d[0],
    "s ** 2": lambda s, d: s**2,
    "abs": lambda s, d: s.abs(),
    "sin": lambda s, d: s.sin(),
    "relu": lambda s, d: s.relu(),
    "sum": lambda s, d: s.sum(),
    "sum 0": lambda s, d: s.sum(0),
    "sum kept": lambda s, d: s.sum(1, keepdim=True),
    "sum all": lambda s, d: s.sum((0, 1)),
    "t": lambda s, d: s.t(),
    "transpose": lambda s, d: s.transpose(-1, 0),
    "permute": lambda s, d: s.permute(1, 0),
    "float": lambda s, d: s.float(),
    "clone": lambda s, d: s.clone(),
    "s @ d": lambda s, d: s @ d.t(),
    "d @ s": lambda s, d: d.t() @ s,
    "s @ v": lambda s, d: s @ d[0],
    "s @ s": lambda s, d: s @ s.t(),
    "addmm": lambda s, d: d[:, :2].addmm(s, d.t(), beta=3, alpha=2),
    "merged": lambda s, d: in_order(s) + in_order(s * d),
}


@pytest.mark.parametrize("name", CALCULATIONS)
def test_values_are_those_of_dense_tensors(name):
    calculate = CALCULATIONS[name]
    d = tensor(numbers(2, 3))
    got, expected = calculate(sparse(), d), calculate(pullback.tensor(DENSE), d)
    np.testing.assert_allclose(got.to_dense().numpy(), expected.numpy(), rtol=1e-6)
    assert got.dtype is expected.dtype and got.shape == expected.shape


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", CALCULATIONS)
def test_layouts_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    got = CALCULATIONS[name](sparse(), tensor(numbers(2, 3)))
    expected = CALCULATIONS[name](sparse(torch), tensor(numbers(2, 3), torch=torch))
    assert str(got.layout) == str(expected.layout)
    if got.is_sparse:
        if name not in ("s + in order", "s * s", "sum kept"):  # where PyTorch's need not be in order
            assert (
                got.is_coalesced() == expected.is_coalesced()
                and got._indices().tolist() == expected._indices().tolist()
            )
        np.testing.assert_allclose(got.coalesce().values().numpy(), expected.coalesce().values().numpy(), rtol=1e-6)


def test_coalesced_sums_are_coalesced():
    x, y = (
        pullback.sparse_coo_tensor(at, values, (4,)).coalesce()
        for at, values in (([[0, 2]], [1.0, 2.0]), ([[3, 1, 2]], [3.0, 4.0, 5.0]))
    )
    total = x + y
    assert (
        total.is_coalesced()
        and total.indices().tolist() == [[0, 1, 2, 3]]
        and total.values().tolist() == [1.0, 4.0, 7.0, 3.0]
    )
    assert (y - x).values().tolist() == [-1.0, 4.0, 3.0, 3.0]


def test_mixed_types_promote():
    s = pullback.sparse_coo_tensor([[0]], [1], (2,), is_coalesced=True)
    assert (s * 1.5).dtype is pullback.float32 and (s + sparse().sum(1).coalesce()).dtype is pullback.float64


def test_in_place():
    s = sparse()
    alias = s
    s.mul_(2)
    s.add_(s)
    np.testing.assert_array_equal(alias.to_dense().numpy(), 4 * DENSE)
    s.zero_()
    assert alias is s and s._nnz() == 0
    s.copy_(sparse())
    np.testing.assert_array_equal(s.to_dense().numpy(), DENSE)
    d = pullback.ones(2, 3, dtype=pullback.float64)
    d.add_(s)
    np.testing.assert_array_equal(d.numpy(), 1 + DENSE)
    with pytest.raises(
        RuntimeError,
        match="copy_\\(\\) between dense and sparse Tensors is not implemented! Found self type = torch.sparse.D",
    ):
        s.copy_(d)
    with pytest.raises(RuntimeError, match="a sparse result cannot be written into a dense tensor"):
        d.mul_(s)


def test_a_write_between_forward_and_backward_is_noticed():
    s = sparse(requires_grad=True) * 1
    d = tensor(numbers(2, 3), True)
    y = (s * d).to_dense()
    with pullback.no_grad():
        s.mul_(2)
    with pytest.raises(
        RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace"
    ):
        y.sum().backward()


# --- refusals ---------------------------------------------------------------------------------------------------


def outcome(op, args):
    """What an operation gives, as an array; None if it refuses."""
    try:
        result = op.call(*args)
    except (NotImplementedError, RuntimeError, TypeError, IndexError, ValueError, AttributeError):
        return None
    return result.to_dense().numpy() if isinstance(result, pullback.Tensor) else None


def test_every_operation_is_right_or_refuses():
    """On a sparse matrix, and others or numbers where it wants more operands, an operation gives what it gives on dense
    ones.
    """
    square = pullback.tensor(np.where(np.arange(16).reshape(4, 4) % 5 == 1, 2.0, 0.0))
    operations = [
        op
        for op in REGISTRY.values()
        if op.tensors and not op.takes_tensor_list and op.call.__module__ != "pullback.ops.sparse"
    ]
    computed = set()
    for op in operations:
        for other in (pullback.full((4, 4), 2.0, dtype=pullback.float64), 1, 2.0, square.to_sparse()):
            got = outcome(op, [square.to_sparse()] + [other] * (op.required - 1))
            if got is not None:
                computed.add(op.name)
                other = other.to_dense() if isinstance(other, pullback.Tensor) else other
                np.testing.assert_allclose(got, outcome(op, [square] + [other] * (op.required - 1)), err_msg=op.name)
    assert {"add", "sub", "mul", "div", "matmul", "neg", "clone", "t"} <= computed
    assert len(operations) > 300 and len(computed) < 50


def test_words():
    s = sparse()
    for fn, name in (
        (pullback.exp, "exp"),
        (pullback.sigmoid, "sigmoid"),
        (lambda x: x.view(6), "view"),
        (lambda x: x == x, "eq"),
    ):
        with pytest.raises(
            NotImplementedError, match=f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend"
        ):
            fn(s)
    with pytest.raises(
        RuntimeError, match="add\\(sparse, dense\\) is not supported. Use add\\(dense, sparse\\) instead."
    ):
        s + 1
    with pytest.raises(
        TypeError, match="can't convert Sparse layout tensor to numpy. Use Tensor.to_dense\\(\\) first."
    ):
        s.numpy()
    with pytest.raises(
        RuntimeError, match="Cannot get indices on an uncoalesced tensor, please call .coalesce\\(\\) first"
    ):
        s.indices()
    with pytest.raises(RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"):
        pullback.ones(2).coalesce()


# --- gradients --------------------------------------------------------------------------------------------------

PATHS = {
    "to_dense": lambda v, d: placed(v).to_dense() * d,
    "coalesce": lambda v, d: placed(v).coalesce().values() * d[0],
    "times dense": lambda v, d: (placed(v) * d).to_dense(),
    "times itself": lambda v, d: (placed(v) * placed(v)).to_dense(),
    "divided": lambda v, d: (placed(v) / 3).to_dense() * d,
    "added": lambda v, d: (placed(v) * 2 + placed(v * v)).to_dense() * d,
    "added to dense": lambda v, d: (d + placed(v)) ** 2,
    "turned": lambda v, d: placed(v).t().to_dense().t() * d,
    "mm": lambda v, d: pullback.sparse.mm(placed(v), (d * d).t()),
    "mm from the right": lambda v, d: pullback.sparse.mm(d.t(), placed(v)) ** 2,
    "mm of sparse ones": lambda v, d: pullback.sparse.mm(placed(v), placed(v).t()).to_dense(),
    "matmul": lambda v, d: (placed(v) @ d.t()) ** 2,
    "matvec": lambda v, d: placed(v) @ d[0],
    "addmm": lambda v, d: pullback.sparse.addmm(d[:, :2], placed(v), d.t(), beta=2, alpha=3),
    "sum": lambda v, d: pullback.sparse.sum(placed(v) * d) ** 2,
    "sum 0": lambda v, d: pullback.sparse.sum(placed(v * v), 0).to_dense() * d[0],
    "sum 1": lambda v, d: pullback.sparse.sum(placed(v * v), -1).to_dense(),
    "sum of both": lambda v, d: pullback.sparse.sum(placed(v * v), [0, 1]),
    "softmax 0": lambda v, d: pullback.sparse.softmax(placed(v), 0).to_dense() * d,
    "softmax 1": lambda v, d: pullback.sparse.softmax(placed(v), 1).to_dense() * d,
    "log_softmax": lambda v, d: pullback.sparse.log_softmax(placed(v), 1).to_dense() * d,
    "mask": lambda v, d: (d * d).sparse_mask(placed(v)).to_dense() * d,
    "mask of sparse": lambda v, d: (placed(v) * d).sparse_mask(placed(v).coalesce()).to_dense(),
    "from dense": lambda v, d: (d * d).to_sparse().values() * v[0],
}


def placed(v):
    return pullback.sparse_coo_tensor(AT, v, (2, 3))


@pytest.mark.parametrize("name", PATHS)
def test_gradients_are_differences(name):
    """Of the values and of what dense they meet, first and second order."""
    inputs = tensor(VALUES, True), tensor(numbers(2, 3), True)

    def f(v, d):
        out = PATHS[name](v, d)
        return out.sum() + (v * v).sum() + (d * d).sum()

    assert autograd.gradcheck(f, inputs)
    assert autograd.gradgradcheck(f, inputs)


HYBRID = {
    "to_dense": lambda s: s.to_dense(),
    "sum 0": lambda s: pullback.sparse.sum(s, 0),
    "sum 1": lambda s: pullback.sparse.sum(s, 1).to_dense(),
    "sum 2": lambda s: pullback.sparse.sum(s, (0, 2)),
    "softmax 0": lambda s: pullback.sparse.softmax(s, 0).to_dense(),
    "softmax 2": lambda s: pullback.sparse.softmax(s, 2).to_dense(),
    "turned": lambda s: s.transpose(1, 2).to_dense(),
}


@pytest.mark.parametrize("name", HYBRID)
def test_gradients_with_dense_dimensions(name):
    v, weight = tensor(numbers(3, 2, 2), True), {}

    def f(v):
        out = HYBRID[name](pullback.sparse_coo_tensor([[2, 0, 2]], v, (4, 2, 2)))
        return out * weight.setdefault("w", tensor(np.cos(np.arange(out.numel())).reshape(out.shape)))

    assert autograd.gradcheck(f, (v,))
    assert autograd.gradgradcheck(f, (v,))


def test_gradients_of_sparse_leaves_are_sparse_where_they_store_something():
    s, d = sparse(requires_grad=True), tensor(numbers(3, 2), True)
    pullback.sparse.mm(s, d).backward(tensor([[1.0, 2.0], [3.0, 4.0]]))
    full = np.array([[1.0, 2.0], [3.0, 4.0]]) @ numbers(3, 2).T
    assert s.grad.is_sparse
    np.testing.assert_allclose(s.grad.to_dense().numpy(), np.where(DENSE != 0, full, 0))
    np.testing.assert_allclose(d.grad.numpy(), DENSE.T @ [[1.0, 2.0], [3.0, 4.0]])
    s.grad = None
    (s @ d).backward(tensor([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(s.grad.numpy(), full)  # of the product of dense matrices, which does not know
    for masked in (None, True, False):
        (g,) = autograd.grad(s.to_dense(masked_grad=masked).sum(), s)
        assert g.is_sparse is (masked is not False)
        np.testing.assert_array_equal(
            g.to_dense().numpy(), np.where(DENSE != 0, 1, 0) if g.is_sparse else np.ones((2, 3))
        )


def test_complex_gradients():
    v = pullback.tensor([1 + 2j, -1j, 2.0, 0.5 - 1j], dtype=pullback.complex128, requires_grad=True)
    d = pullback.tensor(numbers(3, 2) + 1j, requires_grad=True)
    assert autograd.gradcheck(lambda v, d: pullback.sparse.mm(placed(v), d), (v, d))


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_custom_function_may_return_sparse_gradients():
    class Fixed(autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.g = g
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return ctx.g * g, None

    x = tensor(numbers(2, 3), True)
    dense = tensor(numbers(2, 3))
    for parts, is_sparse in (((sparse(), dense), False), ((dense, sparse()), False), ((sparse(), sparse()), True)):
        for create in (False, True):
            x.grad = None
            (Fixed.apply(x, parts[0]) + Fixed.apply(x, parts[1])).backward(create_graph=create)
            assert x.grad.is_sparse is is_sparse
            np.testing.assert_allclose(x.grad.detach().to_dense().numpy(), sum(p.to_dense().numpy() for p in parts))


def test_a_sparse_seed():
    x = tensor(numbers(2, 3), True)
    (x * 2).backward(sparse())
    np.testing.assert_array_equal(x.grad.to_dense().numpy(), 2 * DENSE)


def test_sparse_gradient_of_gather():
    x = tensor(numbers(2, 3), True)
    index = pullback.tensor([[0, 0], [2, 1]])
    for sparse_grad in (True, False):
        x.grad = None
        pullback.gather(x, 1, index, sparse_grad=sparse_grad).backward(tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert x.grad.is_sparse is sparse_grad
        np.testing.assert_array_equal(x.grad.to_dense().numpy(), [[3.0, 0.0, 0.0], [0.0, 4.0, 3.0]])


# --- embeddings -------------------------------------------------------------------------------------------------

ROWS = [[1, 2], [1, 3]]


def table(requires_grad=True):
    return tensor(numbers(4, 2), requires_grad)


@pytest.mark.parametrize(
    "lookup",
    [
        lambda i, w, **k: F.embedding(i, w, **k),
        lambda i, w, **k: F.embedding(i, w, padding_idx=1, **k),
        lambda i, w, **k: F.embedding_bag(i, w, mode="sum", **k),
        lambda i, w, **k: F.embedding_bag(i, w, mode="mean", padding_idx=2, **k),
        lambda i, w, **k: F.embedding_bag(i, w, mode="sum", per_sample_weights=tensor([[1.0, 2.0], [3.0, 4.0]]), **k),
    ],
)
def test_sparse_gradients_of_tables_are_the_dense_ones(lookup):
    w, i = table(), pullback.tensor(ROWS)
    grads = [autograd.grad((lookup(i, w, sparse=sparse) ** 2).sum(), w)[0] for sparse in (True, False)]
    assert [g.is_sparse for g in grads] == [True, False]
    np.testing.assert_allclose(grads[0].to_dense().numpy(), grads[1].numpy(), rtol=1e-12)
    seconds = []
    for is_sparse in (True, False):
        (g,) = autograd.grad((lookup(i, w, sparse=is_sparse) ** 3).sum(), w, create_graph=True)
        seconds.append(autograd.grad((g.to_dense() ** 2).sum(), w)[0].to_dense().numpy())
    np.testing.assert_allclose(*seconds, rtol=1e-12)


def test_accumulation():
    w, i = table(), pullback.tensor(ROWS)
    seen = []
    w.register_hook(lambda g: seen.append((g.is_sparse, g._nnz() if g.is_sparse else None)))
    F.embedding(i, w, sparse=True).sum().backward()
    first = w.grad
    assert first.is_sparse and first._indices().tolist() == [[1, 2, 1, 3]] and not first.is_coalesced()
    F.embedding(i, w, sparse=True).sum().backward()
    assert w.grad is first and first._nnz() == 8  # sparse and sparse: one after the other
    counts = np.array([[0.0, 0.0], [4.0, 4.0], [2.0, 2.0], [2.0, 2.0]])
    np.testing.assert_array_equal(first.to_dense().numpy(), counts)
    w.sum().backward()
    second = w.grad
    assert not second.is_sparse  # sparse, then dense
    F.embedding(i, w, sparse=True).sum().backward()
    assert w.grad is second  # dense, then sparse: in place
    np.testing.assert_array_equal(second.numpy(), 1.5 * counts + 1)
    assert seen == [(True, 4), (True, 4), (False, None), (True, 4)]
    w.grad = None
    (F.embedding(i, w, sparse=True).sum() + w.sum()).backward()
    np.testing.assert_array_equal(w.grad.numpy(), counts / 2 + 1)


def test_what_embedding_refuses():
    with pytest.raises(
        RuntimeError, match="embedding_backward: scale_grad_by_freq not supported with sparse gradients"
    ):
        F.embedding(pullback.tensor(ROWS), table(), scale_grad_by_freq=True, sparse=True).sum().backward()


def test_none_of_no_rows():
    w = table()
    F.embedding(pullback.zeros(0, dtype=pullback.int64), w, sparse=True).sum().backward()
    assert w.grad._nnz() == 0 and w.grad.shape == (4, 2)


OPTIMIZERS = {
    "sgd": lambda o, ps: o.SGD(ps, lr=0.1),
    "momentum": lambda o, ps: o.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda o, ps: o.Adagrad(ps, lr=0.1),
    "sparse adam": lambda o, ps: o.SparseAdam(ps, lr=0.1),
}


def trained(torch, make, is_sparse=True, set_to_none=True):
    layer = torch.nn.Embedding(4, 2, sparse=is_sparse, _weight=tensor(numbers(4, 2), torch=torch))
    bag = torch.nn.EmbeddingBag(4, 2, mode="sum", sparse=is_sparse, _weight=tensor(numbers(4, 2), torch=torch))
    optimizer = make(torch.optim, [*layer.parameters(), *bag.parameters()])
    for step in range(4):
        optimizer.zero_grad(set_to_none=set_to_none)
        i = torch.tensor([[1, 2], [1, step % 4]])
        ((layer(i) ** 2).sum() + (bag(i) ** 3).sum()).backward()
        optimizer.step()
    return layer.weight.detach().numpy(), bag.weight.detach().numpy()


@pytest.mark.parametrize("name", ["sgd", "momentum", "adagrad"])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_training_with_sparse_gradients_is_training(name, set_to_none):
    for got, expected in zip(
        trained(pullback, OPTIMIZERS[name], True, set_to_none), trained(pullback, OPTIMIZERS[name], False)
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_as_pytorch(name):
    torch = pytest.importorskip("torch")
    for got, expected in zip(trained(pullback, OPTIMIZERS[name]), trained(torch, OPTIMIZERS[name])):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_other_optimizers_refuse():
    w = nn.Parameter(table(False))
    F.embedding(pullback.tensor(ROWS), w, sparse=True).sum().backward()
    with pytest.raises(
        RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam instead"
    ):
        optim.Adam([w]).step()
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse gradients"):
        optim.RMSprop([w]).step()


# --- beside PyTorch ---------------------------------------------------------------------------------------------

LEAVES = {
    "mm": lambda t, s, d: t.sparse.mm(s, d),
    "mm of dense": lambda t, s, d: t.mm(s, d),
    "sum": lambda t, s, d: t.sparse.sum(s),
    "sum 0": lambda t, s, d: t.sparse.sum(s, 0),
    "softmax": lambda t, s, d: t.sparse.softmax(s, 1),
    "plus": lambda t, s, d: s + s * 2,
    "log_softmax": lambda t, s, d: t.sparse.log_softmax(s, 0),
    "times": lambda t, s, d: s * d.t(),
    "to_dense": lambda t, s, d: s.to_dense(),
    "values": lambda t, s, d: s.coalesce().values(),
    "addmm": lambda t, s, d: t.sparse.addmm(d[:2], s, d, beta=2, alpha=3),
    "squared": lambda t, s, d: s * s,
    "onto dense": lambda t, s, d: d.t() + s,
    "turned": lambda t, s, d: t.sparse.mm(d.t(), s.t()),
    "all": lambda t, s, d: s.sum(),
    "half": lambda t, s, d: -s / 2,
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", LEAVES)
def test_gradients_as_pytorchs(name):
    torch = pytest.importorskip("torch")
    results = []
    for t in (pullback, torch):
        s, d = sparse(t, requires_grad=True), tensor(numbers(3, 2), True, t)
        out = LEAVES[name](t, s, d)
        out = out.to_dense() if out.is_sparse else out
        out.backward(tensor(numbers(*out.shape), torch=t))
        results.append([s.grad, d.grad, out.detach()])
    for got, expected in zip(*results):
        assert (got is None) == (expected is None)
        if got is not None:
            assert got.is_sparse == expected.is_sparse
            np.testing.assert_allclose(got.to_dense().numpy(), expected.to_dense().numpy(), rtol=1e-12)


def test_a_mask_of_other_sparse_dimensions_is_refused() -> None:
    x, mask = pullback.ones(2, 2).to_sparse(1), pullback.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="the number of sparse dimensions in `self` should match that of the `mask`"):
        x.sparse_mask(mask)


def test_two_leaves_never_share_a_sparse_gradient() -> None:
    """Else the second backward, which accumulates in place, would count for both."""
    a, b = pullback.ones(4, 2, requires_grad=True), pullback.ones(4, 2, requires_grad=True)
    y = F.embedding(pullback.tensor([1, 1, 3]), a + b, sparse=True).sum()
    for times in (1, 2, 3):
        y.backward(retain_graph=True)
        for x in (a, b):
            assert x.grad.is_sparse and x.grad.to_dense()[:, 0].tolist() == [0, 2 * times, 0, times]
    a.grad.mul_(5)
    assert b.grad.to_dense()[:, 0].tolist() == [0, 6, 0, 3]


def test_sparse_tensors_change_their_shape_in_place():
    make = lambda: pullback.sparse_coo_tensor([[0, 1]], pullback.tensor([[1.0], [2.0]]), (2, 1))
    x = make()
    assert x.sparse_resize_((3, 2), 1, 1) is x and x.to_dense().tolist() == [[1, 0], [2, 0], [0, 0]]
    assert make().sparse_resize_and_clear_((4,), 1, 0).to_dense().tolist() == [0] * 4
    empty = make().sparse_resize_and_clear_((4, 2), 2, 0)
    assert empty.sparse_resize_((1, 2, 3), 1, 2).shape == (1, 2, 3) and (empty.sparse_dim(), empty._nnz()) == (1, 0)
    for size, dims, words in (
        ((1, 1), (1, 1), "shrinking the size of sparse dimensions"),
        ((2, 0), (1, 1), "shrinking the size of dense dimensions"),
        ((2, 1), (2, 0), "changing the number of sparse dimensions"),
        ((2, 1), (1, 0), "is not satisfied: len.size. = 2"),
    ):
        with pytest.raises(RuntimeError, match=words):
            x = make()
            x.sparse_resize_(size, *dims)
        assert x.shape == (2, 1) and x._version == 0


def test_making_sparse_in_transforms():
    x = pullback.tensor([[0.0, 2.0], [3.0, 0.0]])
    square = lambda x: (x * x).to_sparse().to_dense()
    assert pullback.func.grad(lambda x: square(x).sum())(x).tolist() == [[0, 4], [6, 0]]
    for call in (
        lambda: pullback.vmap(square)(pullback.ones(2, 3, 3)),
        lambda: pullback.func.jvp(square, (x,), (x,)),
        lambda: x.to("meta").to_sparse_csr(),
    ):
        with pytest.raises(NotImplementedError, match="to_sparse: the shape of the result depends on values"):
            call()
