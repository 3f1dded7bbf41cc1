"""Indexing and scattering: what an index means, where gradients of picked and written elements go."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.autograd import gradcheck, gradgradcheck
from pullback.ops.index import LARGE, RowIndex, sum_at

from ..kernels import using

L = pullback.tensor

# The node's name as PyTorch has it, and the shape, of x[...] for a (3, 4) non-leaf x.
INDICES = {
    "0": ("SelectBackward0", (4,)),
    "-1": ("SelectBackward0", (4,)),
    "0, 1": ("SelectBackward0", ()),
    "np.int64(1)": ("SelectBackward0", (4,)),
    "torch.tensor(1)": ("SelectBackward0", (4,)),
    "0:1": ("SliceBackward0", (1, 4)),
    ":": ("SliceBackward0", (3, 4)),
    "::2": ("SliceBackward0", (2, 4)),
    "1:0": ("SliceBackward0", (0, 4)),
    "slice(torch.tensor(0), torch.tensor(2))": ("SliceBackward0", (2, 4)),
    "0:2, 0": ("SelectBackward0", (2,)),
    "0, 0:2": ("SliceBackward0", (2,)),
    "0, :": ("SelectBackward0", (4,)),
    ":, 0": ("SelectBackward0", (3,)),
    "0:3, 0:4": ("AliasBackward0", (3, 4)),
    "0:3, 1": ("SelectBackward0", (3,)),
    "...": ("AliasBackward0", (3, 4)),
    "()": ("AliasBackward0", (3, 4)),
    "..., ...": ("AliasBackward0", (3, 4)),
    "..., 0": ("SelectBackward0", (3,)),
    "..., 1:": ("SliceBackward0", (3, 3)),
    "0:1, ..., 0:4": ("SliceBackward0", (1, 4)),
    "None": ("UnsqueezeBackward0", (1, 3, 4)),
    "0, None": ("UnsqueezeBackward0", (1, 4)),
    "None, 0": ("SelectBackward0", (1, 4)),
    ":, None": ("UnsqueezeBackward0", (3, 1, 4)),
    "[0, None]": ("UnsqueezeBackward0", (1, 4)),
    "[slice(0, 1)]": ("SliceBackward0", (1, 4)),
    "True": ("IndexBackward0", (1, 3, 4)),
    "False": ("IndexBackward0", (0, 3, 4)),
    "0, True": ("IndexBackward0", (1, 4)),
    "torch.tensor(True)": ("IndexBackward0", (1, 3, 4)),
    "[0, 1]": ("IndexBackward0", (2, 4)),
    "range(2)": ("IndexBackward0", (2, 4)),
    "(0, 1),": ("IndexBackward0", (2, 4)),
    "[]": ("IndexBackward0", (0, 4)),
    "np.array([0, 2], np.int16)": ("IndexBackward0", (2, 4)),
    "torch.tensor([0, 1], dtype=torch.int32)": ("IndexBackward0", (2, 4)),
    "torch.tensor([[0, 1], [2, -3]])": ("IndexBackward0", (2, 2, 4)),
    "[0, 1], [0, 1]": ("IndexBackward0", (2,)),
    "[0, 1], 1:": ("IndexBackward0", (2, 3)),
    "1:, [0, 1]": ("IndexBackward0", (2, 2)),
    "0, [0, 1]": ("IndexBackward0", (2,)),
    "None, [0, 1]": ("IndexBackward0", (1, 2, 4)),
    "[0, 1], None, [0, 1]": ("IndexBackward0", (2, 1)),
    ":, None, [0, 0, 1]": ("IndexBackward0", (3, 1, 3)),
    "x > 0": ("IndexBackward0", None),
    "[True, False, True]": ("IndexBackward0", (2, 4)),
    ":, [True, False, True, True]": ("IndexBackward0", (3, 3)),
    "torch.tensor([True, False, True]), [0, 1]": ("IndexBackward0", (2,)),
    "torch.zeros(3, 4, dtype=torch.bool)": ("IndexBackward0", (0,)),
}


def non_leaf(torch: Any) -> Any:
    return torch.tensor(np.sin(np.arange(12.0)).reshape(3, 4), requires_grad=True) * 1


def pick(torch: Any, x: Any, index: str) -> Any:
    return eval(f"x[{index}]", {"x": x, "torch": torch, "np": np})


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", INDICES)
def test_name_and_shape(index: str) -> None:
    y = pick(pullback, non_leaf(pullback), index)
    name, shape = INDICES[index]
    assert type(y.grad_fn).__name__ == name
    assert shape is None or y.shape == shape
    assert y._is_view() is (name != "IndexBackward0")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", INDICES)
def test_indices_against_pytorch(index: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for root in (torch, pullback):
        x = root.tensor(np.sin(np.arange(12.0)).reshape(3, 4), requires_grad=True)
        y = pick(root, x * 1, index)
        y.backward(root.tensor(np.cos(np.arange(float(y.numel()))).reshape(tuple(y.shape))))
        results.append((type(y.grad_fn).__name__, y._is_view(), y.detach().numpy(), x.grad.numpy()))
    names, views, *arrays = zip(*results)
    assert names[0] == names[1] and views[0] == views[1]
    for expected, got in arrays:
        np.testing.assert_array_equal(got, expected)


def items(n: int) -> list[Any]:
    """Things to index a dimension of size ``n`` with; integers are left out, which NumPy takes for index arrays beside
    others.
    """
    return [
        slice(None),
        slice(1, None),
        slice(None, None, 2),
        np.array([0, n - 1, 0]),
        np.array([[-1], [0]]),
        np.arange(n) % 2 == 0,
    ]


@pytest.mark.parametrize("index", list(itertools.product(items(2), items(3), items(4))), ids=str)
def test_mixed_indices_against_numpy(index: tuple[Any, ...]) -> None:
    """Values by NumPy's rule; gradients by its ``add.at``; written values by its assignment."""
    a = np.arange(24.0).reshape(2, 3, 4)
    x = L(a, requires_grad=True)
    try:
        expected = a[index]
    except IndexError:
        with pytest.raises(
            IndexError, match="shape mismatch: indexing tensors could not be broadcast together with shapes"
        ):
            x[index]
        return
    y = (x * 1)[tuple(pullback.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)]
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    g = np.random.default_rng(0).standard_normal(expected.shape)
    y.backward(pullback.from_numpy(g.copy()))
    total = np.zeros_like(a)
    np.add.at(total, index, g)
    np.testing.assert_allclose(x.grad.numpy(), total, rtol=1e-12, atol=1e-12)

    target = L(a)
    target[index] = pullback.from_numpy(g.copy())
    a[index] = g
    np.testing.assert_array_equal(target.numpy(), a)


def test_an_index_given_as_a_list_of_sequences_is_a_tuple_as_long_as_it_is_short() -> None:
    """PyTorch's old rule, which it has not given up."""
    x = pullback.arange(12).view(3, 4)
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing is deprecated"):
        assert x[[[0, 1], [2, 3]]].tolist() == x[[0, 1], [2, 3]].tolist() == [2, 7]
        assert x[[L([0]), L([1])]].tolist() == [1]
    assert x[[[0]] * 40].shape == (40, 1, 4)


def test_byte_masks_are_deprecated() -> None:
    x = pullback.arange(3)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[L([1, 0, 1], dtype=pullback.uint8)].tolist() == [0, 2]


def test_iteration_and_unpacking() -> None:
    x = pullback.arange(6).view(2, 3)
    assert [[int(v) for v in row] for row in x] == [[0, 1, 2], [3, 4, 5]]
    a, b = x
    assert b.tolist() == [3, 4, 5] and [int(x[0][i]) for i in range(-3, 3)] == [0, 1, 2] * 2
    with pytest.raises(ValueError, match="not enough values to unpack"):
        a, b, c = x
    with pytest.raises(IndexError):
        [x[0][i] for i in range(4)]


# --- writing ----------------------------------------------------------------------------------------------------


def test_written_values_broadcast_and_are_cast() -> None:
    x = pullback.zeros(3, 4, dtype=pullback.int64)
    x[0] = 1.7
    x[:, 1:3] = L([7.5, 8.5])
    x[1] = pullback.ones(1, 1, 4)
    x[[2], 3] = L([9])
    x[x == 0] = np.int64(-1)
    x[2, :2] = np.array([5.0, 6.0])
    assert x.tolist() == [[1, 7, 8, 1], [1, 1, 1, 1], [5, 6, 8, 9]]
    b = pullback.zeros(2, dtype=pullback.bool)
    b[1] = 2
    u = pullback.zeros(2, dtype=pullback.uint8)
    u[0] = -1
    z = pullback.zeros(2)
    z[0] = L(1 + 2j)
    assert b.tolist() == [False, True] and u.tolist() == [255, 0] and z.tolist() == [1, 0]


@pytest.mark.parametrize(
    "dtype, value, kind",
    [
        ("uint8", 300, "uint8_t"),
        ("int8", -129, "int8_t"),
        ("float32", 1e60, "float"),
        ("float32", 1j, "float"),
        ("float64", 2j, "double"),
    ],
)
def test_numbers_that_a_type_cannot_hold_are_refused(dtype: str, value: Any, kind: str) -> None:
    x = pullback.zeros(2, dtype=getattr(pullback, dtype))
    for write in (lambda: x.__setitem__(0, value), lambda: x.__setitem__(x == 0, value)):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {kind} without overflow"):
            write()
    assert x.tolist() == [0, 0]
    pullback.zeros(1)[0] = float("inf")


@pytest.mark.parametrize(
    "index, value, error, words",
    [
        (
            "0",
            pullback.ones(3),
            RuntimeError,
            r"The expanded size of the tensor \(4\) must match the existing size \(3\)",
        ),
        ("0", pullback.ones(2, 4), RuntimeError, r"the number of sizes provided \(1\) must be greater or equal"),
        (
            "[0, 1]",
            pullback.ones(3, 4),
            RuntimeError,
            r"shape mismatch: value tensor of shape \[3, 4\] cannot be broadcast to indexing result",
        ),
        ("x > 100", pullback.ones(2), RuntimeError, r"shape mismatch: value tensor of shape \[2\] cannot be broadcast"),
        (
            "[0, 1]",
            pullback.ones(4, dtype=pullback.float64),
            RuntimeError,
            "Index put requires the source and destination dtypes match",
        ),
        ("5", 1, IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ("0, 0, 0", 1, IndexError, "too many indices for tensor of dimension 2"),
        ("[5]", 1, IndexError, "index 5 is out of bounds"),
        ("0", "a", TypeError, "can't assign a str to a torch.FloatTensor"),
        ("0", [1, 2, 3, 4], TypeError, "can't assign a list to a torch.FloatTensor"),
    ],
)
def test_bad_writes_change_nothing(index: str, value: Any, error: type[Exception], words: str) -> None:
    x = pullback.ones(3, 4)
    with pytest.raises(error, match=words):
        exec(f"x[{index}] = value", {"x": x, "value": value})
    assert x.sum() == 12 and x._version == 0


def test_of_repeated_writes_the_last_one_gets_the_gradient() -> None:
    """PyTorch hands the gradient to all of them; the first ones had no effect."""
    v = L([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    x = pullback.zeros(2, 2)
    x[L([0, 1, 0])] = v
    assert x.tolist() == [[5, 6], [3, 4]]
    x.sum().backward()
    assert v.grad.tolist() == [[0, 0], [1, 1], [1, 1]]
    w = L([1.0, 2.0], requires_grad=True)
    pullback.zeros(1).scatter(0, L([0, 0]), w).sum().backward()
    assert w.grad.tolist() == [0, 1]


def test_an_index_that_is_changed_afterwards_is_noticed() -> None:
    x = pullback.ones(3, requires_grad=True)
    i, m = L([0, 1]), L([True, False, True])
    y, z = x[i], x.masked_fill(m, 0.0)
    i[0] = 2
    m[0] = False
    for t in (y, z):
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            t.sum().backward()


def test_leaves_are_not_written_into() -> None:
    x = pullback.ones(3, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        x[0] = 1
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x[[0]] = 1
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.scatter_(0, L([0]), 1.0)
    assert x.tolist() == [1, 1, 1]


# --- sums at index arrays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64])
@pytest.mark.parametrize(
    "rows, picked, columns",
    [(5, 9, ()), (5, 9, (3,)), (50, 9, (3, 2)), (300, 900, (80,)), (4, 0, (3,)), (900, 900, (80,))],
)
def test_every_way_of_summing(rows: int, picked: int, columns: tuple[int, ...], dtype: Any) -> None:
    """One column, distinct rows, few repeated rows, many repeated rows: always what ``np.add.at`` gives."""
    rng = np.random.default_rng(0)
    index = rng.permutation(rows)[:picked] if picked in (rows, 9) and rows > 9 else rng.integers(-rows, rows, picked)
    g = rng.integers(-4, 5, (picked, *columns)).astype(dtype)
    expected = np.zeros((rows, *columns), np.result_type(dtype, np.float32))
    np.add.at(expected, index, g)
    got = sum_at(g, [index], (rows, *columns))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, expected.astype(dtype))


@pytest.mark.parametrize("mode", ("off", "on"))
def test_many_sums_are_as_exact_as_their_type(mode: str) -> None:
    """Added one after another in single precision, this many would lose three digits."""
    v, i = np.random.default_rng(0).random(300_000, np.float32), np.arange(300_000) % 3
    with using(mode):
        x = pullback.zeros(3, requires_grad=True)
        x.gather(0, L(i)).backward(L(v))
        for sums in (x.grad, pullback.zeros(3).scatter_add(0, L(i), L(v)), pullback.zeros(3).index_add(0, L(i), L(v))):
            np.testing.assert_allclose(sums.numpy(), np.bincount(i, v), rtol=1.2e-7)


def test_large_and_small_gathers_agree() -> None:
    rng = np.random.default_rng(0)
    a, i, j = rng.standard_normal((30, 40)), rng.integers(0, 30, LARGE + 5), rng.integers(-40, 40, LARGE + 5)
    x = L(a, requires_grad=True)
    for second in (j, abs(j) % 40):
        np.testing.assert_array_equal(x[L(i), L(second)].detach().numpy(), a[i, second])
    np.testing.assert_array_equal(x.gather(1, L(np.tile(abs(j) % 40, (30, 1)))).detach().numpy(), a[:, abs(j) % 40])
    with pytest.raises(IndexError, match="out of bounds"):
        x[L(i), L(j + 1)]


@pytest.mark.parametrize("seed", range(100))
def test_indexing_across_a_dimension_is_what_numpy_does(seed: int) -> None:
    """Element by element with an index smaller than the rest, by slices, and flat; for all types, layouts and types of
    index.
    """
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 5)))
    d = int(rng.integers(len(shape)))
    lesser = tuple(int(rng.integers(1, n + 1)) if k != d else int(rng.integers(1, 6)) for k, n in enumerate(shape))
    dtype, kind = rng.choice(["f4", "f8", "f2", "i4", "i8", "u1", "c8", "c16"]), rng.choice(["i4", "i8"])
    a, v = (np.asarray(rng.integers(0, 9, s).astype(dtype), order=rng.choice(["C", "F"])) for s in (shape, lesser))
    i, picks = (
        rng.integers(0, shape[d], lesser).astype(kind),
        rng.integers(-shape[d], shape[d], rng.integers(1, 4, rng.integers(0, 3))),
    )
    flat = rng.integers(-a.size, a.size, 4)
    grid = np.ogrid[tuple(map(slice, lesser))]
    each, slices = (*grid[:d], i, *grid[d + 1 :]), (slice(None),) * d + (np.asarray(picks),)
    x, src = (pullback.from_numpy(v.copy("K")) for v in (a, v))
    index, at, numbers = pullback.from_numpy(i), (slice(None),) * d + (L(np.asarray(picks)),), L(flat)

    def written(at: Any, values: Any, how: Any = None) -> np.ndarray:
        out = a.copy()
        if how:
            np.add.at(out, at, values)
        else:
            out[at] = values
        return out

    assert_array_equal = np.testing.assert_array_equal
    assert_array_equal(x.gather(d, index).numpy(), a[each])
    assert_array_equal(x.scatter(d, index, src).numpy(), written(each, v))
    assert_array_equal(x.clone().scatter_(d, index, 3).numpy(), written(each, 3))
    assert_array_equal(x.scatter_add(d, index, src).numpy(), written(each, v, "add"))
    assert_array_equal(x.scatter_reduce(d, index, src, "sum").numpy(), written(each, v, "add"))
    assert_array_equal(x[at].numpy(), a[slices])
    assert_array_equal(x.take(numbers).numpy(), a.take(flat))
    assert_array_equal(
        x.put(numbers, x.take(numbers) * 2).numpy(), written(np.unravel_index(flat % a.size, shape), a.take(flat) * 2)
    )
    y, z = x.clone(), x.clone()
    y[at], z[at] = x[at] * 2, 3
    assert_array_equal(y.numpy(), written(slices, a[slices] * np.asarray(2, dtype)))
    assert_array_equal(z.numpy(), written(slices, 3))
    if np.ndim(picks) == 1:
        assert_array_equal(x.index_fill(d, at[-1], 3).numpy(), written(slices, 3))
        inside = slices[:-1] + (picks % shape[d],)
        assert_array_equal(x.index_add(d, L(inside[-1]), x[at]).numpy(), written(inside, a[slices], "add"))
        assert_array_equal(x.index_copy(d, L(inside[-1]), x[at] * 2).numpy(), y.numpy())
        assert_array_equal(x.index_select(d, L(inside[-1])).numpy(), a[slices])


class Passing(pullback.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("mode", [nullcontext, Passing])
@pytest.mark.parametrize("number", [3, -1])
def test_across_a_dimension_nothing_outside_is_read_or_written(number: int, mode: Any) -> None:
    x = pullback.zeros(2, 3)
    with mode():
        _read_and_write_outside(x, number)
    assert not x.any()


def _read_and_write_outside(x: Any, number: int) -> None:
    index, ones = L([[0, number]]), pullback.ones(1, 2)
    words = f"index {number} is out of bounds for dimension 1 with size 3"
    for call in (
        lambda: x.gather(1, index),
        lambda: x.scatter_(1, index, 1.0),
        lambda: x.scatter_add_(1, index, ones),
        lambda: x.scatter_reduce_(1, index, ones, "sum"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    with pytest.raises(IndexError, match=words):
        x.index_copy_(1, index[0], pullback.ones(2, 2))
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_select(1, index[0])
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_add_(1, index[0], pullback.ones(2, 2))


@pytest.mark.parametrize(
    "write",
    [
        lambda x, i: x.scatter_(0, x, i),
        lambda x, i: x.index_copy_(0, i, x),
        lambda x, i: x.index_fill_(0, x, 7),
        lambda x, i: x.__setitem__(i, x),
        lambda x, i: x.__setitem__(slice(2), x[1:]),
        lambda x, i: x[1:].copy_(x[:2]),
        lambda x, i: x[1:].__iadd__(x[:2]),
        lambda x, i: x.clamp_(x[:1]),
    ],
)
def test_what_is_written_into_is_not_what_is_read(write: Any) -> None:
    x, i = L([1, 2, 0]), L([1, 2, 0])
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(x, i)
    assert x.tolist() == [1, 2, 0]
    x.copy_(x).add_(x).add_(x.view(1, 3)[0])
    assert x.tolist() == [4, 8, 0]
    x[[0, 2]] = x[[2, 0]]
    x[:1] *= L([1])  # which writes what it has written
    x.view(1, 3)[:, 0] += 0
    x[:1] = x[1:2]
    assert x.tolist() == [8, 8, 4]
    y = x.float()
    assert y.masked_scatter_(y > 4, y).tolist() == [8, 8, 4]


@pytest.mark.parametrize("seed", range(100))
def test_which_of_repeated_writes_is_the_last(seed: int) -> None:
    """What NumPy's assignment leaves is what ``RowIndex.overwritten`` says."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, rng.integers(1, 4)))
    common = tuple(rng.integers(1, 4, rng.integers(1, 3)))
    at: list[Any] = [slice(None)] * len(shape)
    for d in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]:
        at[d] = rng.integers(-shape[d], shape[d], [n if rng.random() < 0.7 else 1 for n in common])
    while at[-1].__class__ is slice:
        at.pop()
    rows = RowIndex(at, shape)
    target = np.full(shape, -1)
    assert target[tuple(at)].shape == rows.given
    values = np.arange(np.prod(rows.given)).reshape(rows.given)
    target[tuple(at)] = values
    np.testing.assert_array_equal(np.broadcast_to(rows.overwritten(), rows.given), ~np.isin(values, target))


def test_index_tensors_in_any_memory_order_write_in_the_order_of_their_elements() -> None:
    i = L([[0, 0], [0, 0]]).t()
    x, v = pullback.zeros(1), L([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x[i] = v
    assert x.item() == 4
    x.sum().backward()
    assert v.grad.tolist() == [[0, 0], [0, 1]]


# --- gathering and scattering -----------------------------------------------------------------------------------


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_index_reduce_is_scatter_reduce_of_slices(reduce: str, include_self: bool) -> None:
    i = L([3, 0, 3])
    results = []
    for scattered in (True, False):
        rng = np.random.default_rng(0)
        x, s = (L(rng.uniform(0.5, 2, shape), requires_grad=True) for shape in ((2, 4), (2, 3)))
        y = (
            x.scatter_reduce(1, i.expand(2, 3), s, reduce, include_self=include_self)
            if scattered
            else x.index_reduce(1, i, s, reduce, include_self=include_self)
        )
        (y * y).sum().backward()
        results.append((y, x.grad, s.grad))
    for a, b in zip(*results):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12)
    assert type(y.grad_fn).__name__ == "IndexReduceBackward0"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "int16", "uint8"])
def test_reductions_at_an_index_are_kept_in_a_wide_type(dtype: str) -> None:
    d, n = getattr(pullback, dtype), 6000
    x, i = L([0, 3] * (n // 2), dtype=d), pullback.zeros(n, dtype=pullback.int64)
    start = pullback.full((2,), 1, dtype=d)
    mean, total = 1.5 if d.is_floating_point else 1, L(9000).to(d).item()
    for reduce in (pullback.scatter_reduce, pullback.index_reduce):
        assert reduce(start, 0, i, x, "mean", include_self=False).tolist() == [mean, 1]
    assert pullback.scatter_reduce(start, 0, i, x, "sum", include_self=False)[0].item() == total
    if d.is_floating_point:
        s = x.clone().requires_grad_()
        start.scatter_reduce(0, i, s, "mean").sum().backward()
        assert s.grad[0].item() == L(1 / (n + 1)).to(d).item()


def test_ties_of_an_extreme_share_its_gradient() -> None:
    x, s = L([2.0, 5.0], requires_grad=True), L([2.0, 2.0, 1.0], requires_grad=True)
    x.scatter_reduce(0, L([0, 0, 1]), s, "amax").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(s.grad.numpy(), [1 / 3, 1 / 3, 0])
    x.grad = s.grad = None
    x.scatter_reduce(0, L([0, 0, 1]), s, "amax", include_self=False).sum().backward()
    assert x.grad.tolist() == [0, 0] and s.grad.tolist() == [0.5, 0.5, 1]


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    "x, s",
    [
        ([2.0, 3.0], [0.0, 4.0, 5.0]),
        ([0.0, 3.0], [2.0, 4.0, 5.0]),
        ([0.0, 0.0], [0.0, 4.0, 0.0]),
        ([2.0, 3.0], [0.0, 0.0, 5.0]),
    ],
)
def test_products_with_zeros_have_gradients(x: list[float], s: list[float], include_self: bool) -> None:
    leaves = L(x, dtype=pullback.float64, requires_grad=True), L(s, dtype=pullback.float64, requires_grad=True)
    product = lambda x, s: x.scatter_reduce(0, L([0, 0, 1]), s, "prod", include_self=include_self)
    assert gradcheck(product, leaves)
    if s.count(0.0) < 2:
        assert gradgradcheck(product, leaves)


def test_results_may_be_written_into_given_tensors() -> None:
    x, i = pullback.arange(6.0).view(2, 3), L([[0], [2]])
    out = pullback.empty(0)
    assert pullback.gather(x, 1, i, out=out) is out and out.tolist() == [[0], [5]]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape"):
        assert pullback.cat([x, x], out=out) is out and out.shape == (4, 3)
    out.resize_(0)
    assert pullback.index_add(x, 0, L([0]), x[:1], out=out).tolist() == [[0, 2, 4], [3, 4, 5]]
    assert pullback.nonzero(x > 4, out=out.new_empty(0, dtype=pullback.int64)).tolist() == [[1, 2]]


PICKING = {
    "gather": lambda x, at, out: pullback.gather(x, 0, at, out=out),
    "take": lambda x, at, out: pullback.take(x, at, out=out),
    "index_select": lambda x, at, out: pullback.index_select(x, 0, at, out=out),
    "take_along_dim": lambda x, at, out: pullback.take_along_dim(x, at, 0, out=out),
    "masked_select": lambda x, at, out: pullback.masked_select(x, x > 1.5, out=out),
}


@pytest.mark.parametrize("pick", PICKING.values(), ids=PICKING)
def test_what_is_picked_goes_elsewhere_in_its_own_type(pick: Any) -> None:
    memory = L([1.0, 2.0, 3.0, 0.0, 0.0])
    x, at = memory[:3], L([1, 2])
    with pytest.raises(
        RuntimeError, match="unsupported operation: some elements of the input tensor and the written-to tensor"
    ):
        pick(x, at, memory[1:3])
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        pick(x, at, pullback.empty(2, dtype=pullback.float64))
    pick(x, at, memory[3:])
    assert memory.tolist() == [1, 2, 3, 2, 3]


UNLIKE: dict[str, tuple[Any, int, str]] = {  # a function, which result is to go into float64, and what is said of that
    "aminmax": (
        lambda x, **out: pullback.aminmax(x, dim=1, **out),
        0,
        "Expected out tensor to have dtype float, but got double instead",
    ),
    "cummax": (lambda x, **out: pullback.cummax(x, 1, **out), 1, "expected scalar_type Long but found Double"),
    "kthvalue": (lambda x, **out: pullback.kthvalue(x, 1, **out), 0, "output values must be of same type as input"),
    "kthvalue of": (lambda x, **out: pullback.kthvalue(x, 1, **out), 1, "output indices must be of scalar type Long"),
    "max": (lambda x, **out: pullback.max(x, 1, **out), 1, "Expected out tensor to have dtype long int"),
    "median": (lambda x, **out: pullback.median(x, 1, **out), 0, "Expected tensor for 'values' to have the same type"),
    "mode": (lambda x, **out: pullback.mode(x, **out), 0, "expected scalar type 'Float' but got 'Double' for values"),
    "sort": (
        lambda x, **out: pullback.sort(x, **out),
        1,
        "Expected out tensor to have dtype long int, but got double instead",
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_results_keep_their_type_where_they_are_written(name: str) -> None:
    x, (function, at, complaint) = L([[1.0, 3.0], [4.0, 2.0]]), UNLIKE[name]
    results = function(x)
    given = [pullback.empty_like(r) for r in results]
    function(x, out=tuple(given))
    assert [g.tolist() for g in given] == [r.tolist() for r in results]
    given[at] = given[at].double()
    with pytest.raises(RuntimeError, match=complaint):
        function(x, out=tuple(given))


def test_complex_numbers_keep_their_type_where_they_are_written() -> None:
    x, out = L([1.0, 2.0]), pullback.empty(2, dtype=pullback.complex128)
    for function in (pullback.complex, pullback.polar):
        with pytest.raises(
            RuntimeError,
            match="Expected object of scalar type ComplexFloat but got scalar type ComplexDouble for argument 'out'",
        ):
            function(x, x, out=out)
        assert function(x.double(), x.double(), out=out) is out


def test_what_is_joined_is_written_in_another_type_only_if_that_can_hold_it() -> None:
    x = L([1.5, 2.5])
    assert pullback.cat([x, x], out=pullback.empty(4, dtype=pullback.float64)).tolist() == [1.5, 2.5, 1.5, 2.5]
    for join in (pullback.cat, pullback.stack, pullback.hstack):
        with pytest.raises(TypeError, match="cat.*: input types can't be cast to the desired output type Long"):
            join([x, x], out=pullback.empty(4, dtype=pullback.int64))


def test_draws_are_written_as_integers() -> None:
    with pytest.raises(RuntimeError, match="multinomial expects Long tensor out, got: Float"):
        pullback.multinomial(L([0.5, 0.5]), 2, out=pullback.empty(2))


def test_nonzero() -> None:
    x = L([[0, 5], [7, 0]])
    assert pullback.nonzero(x).tolist() == [[0, 1], [1, 0]] and [t.tolist() for t in x.nonzero(as_tuple=True)] == [
        [0, 1],
        [1, 0],
    ]
    assert (
        L(3).nonzero().shape == (1, 0)
        and L(0).nonzero().shape == (0, 0)
        and L(3).nonzero(as_tuple=True)[0].tolist() == [0]
    )
    assert pullback.nonzero_static(x, size=3, fill_value=-2).tolist() == [[0, 1], [1, 0], [-2, -2]]
    assert [t.tolist() for t in pullback.unravel_index(L([3, 5]), (2, 3))] == [[1, 1], [0, 2]]


def test_the_gradient_of_as_strided_scatter_is_that_of_what_remains() -> None:
    """PyTorch 2.13 is wrong here, by its own gradcheck."""
    x, s = L(np.arange(6.0), requires_grad=True), L([[7.0, 8.0]], dtype=pullback.float64, requires_grad=True)
    y = pullback.as_strided_scatter(x, s, (1, 2), (1, 2), 1)
    assert y.tolist() == [0, 7, 2, 8, 4, 5]
    assert gradcheck(lambda x, s: pullback.as_strided_scatter(x, s, (1, 2), (1, 2), 1), (x, s))
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 48"):
        pullback.as_strided_scatter(x, s, (1, 2), (1, 2), 5)


def test_one_array_may_index_several_dimensions() -> None:
    values = np.arange(2 * 3 * 4 * 4, dtype=np.float64).reshape(2, 3, 4, 4)
    x, at, i = pullback.from_numpy(values).requires_grad_(), pullback.tensor([0, 1, 1, 0]), np.array([0, 1, 1, 0])
    whole = slice(None)
    for key, expected in (
        ((at, at), (i, i)),
        ((at, at, whole), (i, i, whole)),
        ((whole, at, at), (whole, i, i)),
        ((at, at, at, at), (i,) * 4),
        ((at, whole, at), (i, whole, i)),
        ((..., at, at), (..., i, i)),
        ((whole, whole, at), (whole, whole, i)),
    ):
        taken = x[key]
        np.testing.assert_array_equal(taken.detach().numpy(), values[expected])
        (g,) = pullback.autograd.grad(taken.sum(), x)
        counts = np.zeros_like(values)
        np.add.at(counts, expected, 1)
        np.testing.assert_array_equal(g.numpy(), counts)
        y = pullback.from_numpy(values.copy())
        y[key] = -1
        want = values.copy()
        want[expected] = -1
        np.testing.assert_array_equal(y.numpy(), want)


def test_a_number_has_no_dimension_to_index() -> None:
    number = L(1.0)
    for index in (L(0), L([0]), L([True])):
        with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
            number.index_put((index,), L(2.0))
    assert number.index_put((L(True),), L(2.0)).item() == 2


def test_several_slices_of_a_scalar() -> None:
    with pytest.raises(RuntimeError, match=r"index_select\(\): Index to scalar can have only 1 value, got 2 value"):
        pullback.tensor(1.0).index_select(0, pullback.tensor([0, 0]))
