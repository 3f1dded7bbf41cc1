"""``out=``: where results go, and what is refused. Large results that nothing records are computed right where they are
to be, with the outcome, and the refusals, of a copy.
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


PROGRAMS: dict[str, Callable[[], Any]] = {
    "add_": lambda: large(0).add_(large(1)),
    "sub_ a multiple": lambda: large(0).sub_(large(1), alpha=0.5),
    "mul_ a number": lambda: large(0).mul_(3),
    "div_ a row": lambda: large(0).div_(large(1, N)),
    "sqrt_": lambda: large(0).sqrt_(),
    "+=": lambda: large(0).__iadd__(2.5),
    "/=": lambda: large(0).__itruediv__(large(1, 1, N)),
    "a view of itself": lambda: (lambda x: x.sub_(x.view(N * N).view(N, N)))(large(0)),
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
        x[0].add_(large(2))
    for write in (lambda: x.sub_(x.t()), lambda: x[0].add_(x), lambda: x.view(N * N)[1:].mul_(x.view(N * N)[:-1])):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            write()
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


# --- out= -------------------------------------------------------------------------------------------------------

MAKERS: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "linspace": (lambda out: torch.linspace(0, 3, 4, out=out), [0, 1, 2, 3]),
    "logspace": (lambda out: torch.logspace(0, 3, 4, 2, out=out), [1, 2, 4, 8]),
    "arange": (lambda out: torch.arange(4, out=out), [0, 1, 2, 3]),
    "range": (lambda out: torch.range(0, 3, out=out), [0, 1, 2, 3]),
    "zeros": (lambda out: torch.zeros(2, 2, out=out), [0, 0, 0, 0]),
    "ones": (lambda out: torch.ones((2, 2), out=out), [1, 1, 1, 1]),
    "full": (lambda out: torch.full((2, 2), 5, out=out), [5, 5, 5, 5]),
    "eye": (lambda out: torch.eye(2, out=out), [1, 0, 0, 1]),
    "empty": (lambda out: torch.empty(2, 2, out=out), [9, 9, 9, 9]),
    "add": (lambda out: torch.add(torch.ones(2, 2), 1, out=out), [2, 2, 2, 2]),
    "matmul": (lambda out: torch.matmul(torch.eye(2), torch.ones(2, 2), out=out), [1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_view_is_filled_in_its_shape(name: str) -> None:
    make, values = MAKERS[name]
    x = torch.full((2, 3), 9.0)
    out = x.narrow(1, 1, 2)
    assert make(out) is out
    (a, b), (c, d) = x[:, 1:].tolist()
    assert [a, b, c, d] == values and x[:, 0].tolist() == [9, 9] and out.stride() == (3, 1)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.float64, torch.complex64])
@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"empty", "add", "matmul"}))
def test_what_makes_numbers_makes_them_in_the_type_of_out(name: str, dtype: Any) -> None:
    make, values = MAKERS[name]
    out = torch.empty(2, 2, dtype=dtype)
    if dtype.is_complex and name in ("arange", "range"):
        with pytest.raises(NotImplementedError, match=f"{name}_cpu\" not implemented for 'ComplexFloat'"):
            make(out)
        return
    assert make(out) is out and out.dtype is dtype and out.flatten().tolist() == values


def test_what_makes_numbers_resizes_without_a_warning() -> None:
    memory = torch.full((9,), 9.0)
    out = memory[2:4]
    torch.zeros(3, out=out)
    assert memory.tolist() == [9, 9, 0, 0, 0, 9, 9, 9, 9] and out.storage_offset() == 2
    assert torch.linspace(0, 1, 2, out=torch.empty(3)).tolist() == [0, 1]
    assert torch.zeros(2, out=torch.empty(3, device="meta")).device.type == "meta"
    assert torch.ones(2, out=torch.zeros(2), requires_grad=True).requires_grad


REFUSED_TYPES: dict[str, Callable[[], Any]] = {
    "dtype Float does not match dtype of out parameter .Double.": lambda: torch.zeros(
        2, 2, dtype=torch.float32, out=torch.empty(2, 2, dtype=torch.float64)
    ),
    "device type cpu does not match device type of out parameter .meta.": lambda: torch.zeros(
        2, device="cpu", out=torch.empty(2, device="meta")
    ),
    "Expected out tensor to have dtype float, but got double instead": lambda: torch.mm(
        torch.eye(2), torch.eye(2), out=torch.empty(2, 2, dtype=torch.float64)
    ),
    "Expected out tensor to have dtype long int, but got int instead": lambda: torch.argmax(
        torch.ones(2), out=torch.empty((), dtype=torch.int32)
    ),
    "Found dtype Double but expected Float": lambda: torch.floor(
        torch.ones(2), out=torch.empty(2, dtype=torch.float64)
    ),
    "result type Float can't be cast to the desired output type Long": lambda: torch.exp(
        torch.ones(2), out=torch.empty(2, dtype=torch.int64)
    ),
    "linalg.vecdot: Expected out of dtypeFloat but found Long": lambda: torch.linalg.vecdot(
        torch.ones(2), torch.ones(2), out=torch.empty((), dtype=torch.int64)
    ),
    "linalg.vecdot: Expected out of dtypeFloat but found Double": lambda: torch.linalg.vecdot(
        torch.ones(2), torch.ones(2), out=torch.empty((), dtype=torch.float64)
    ),
    "Expected out tensor to have dtype float, but got .*alf instead": lambda: torch.linalg.matrix_power(
        torch.eye(2), 2, out=torch.empty(2, 2, dtype=torch.float16)
    ),
    "Expected out tensor to have dtype float, but got double instea[d]": lambda: torch.linalg.matrix_power(
        torch.eye(2), -1, out=torch.empty(2, 2, dtype=torch.float64)
    ),
    "mean.*could not infer output dtype. Input dtype must be .* Got: Long": lambda: torch.mean(
        torch.tensor([1, 2]), 0, out=torch.zeros(())
    ),
    "expected scalar_type Float but found Double": lambda: torch.diff(
        torch.ones(3), 0, out=torch.empty(3, dtype=torch.float64)
    ),
    "to have dtype long int, but got bool": lambda: torch.cumsum(
        torch.tensor([1, 1]), 0, out=torch.empty(2, dtype=torch.bool)
    ),
    "nonzero does not support the out kwarg when as_tuple is True": lambda: torch.nonzero(
        torch.ones(2), as_tuple=True, out=torch.empty(0, dtype=torch.int64)
    ),
    "all only supports bool tensor for result, got: Float": lambda: torch.all(torch.ones(2), out=torch.empty(())),
    "cross-device copies are not allowed": lambda: torch.add(torch.ones(2), 1, out=torch.empty(2, device="meta")),
}


for _name, _dtype in (("Double", torch.float64), ("Half", torch.float16), ("ComplexFloat", torch.complex64)):
    REFUSED_TYPES[f"Expected out type to be Float but got {_name}"] = lambda d=_dtype: torch.where(
        torch.ones(2) > 0, torch.ones(2), torch.ones(2), out=torch.empty(2, dtype=d)
    )


@pytest.mark.parametrize("words", REFUSED_TYPES)
def test_types_and_places_that_are_refused(words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        REFUSED_TYPES[words]()


UNKNOWN: dict[str, Callable[[Any], Any]] = {  # what these functions do not take is refused, not ignored
    "tril_indices": lambda o: torch.tril_indices(2, 2, out=o),
    "triu_indices": lambda o: torch.triu_indices(2, 2, out=o),
    "randint_like": lambda o: torch.randint_like(o, 1, 9, out=o),
    "rand_like": lambda o: torch.rand_like(o, out=o),
    "where": lambda o: torch.where(o > 0, out=o),
    "new_zeros": lambda o: o.new_zeros((2,), out=o),
    "new_empty": lambda o: o.new_empty(2, names=None),
    "new_full": lambda o: o.new_full((2,), 3, out=o),
    "empty_strided": lambda o: torch.empty_strided((2,), (1,), out=o),
    "empty_permuted": lambda o: torch.empty_permuted((2,), (0,), out=o),
    "new_empty_strided": lambda o: o.new_empty_strided((2,), (1,), out=o),
    "normal": lambda o: torch.normal(0, 1, (2,), names=("a",)),
    "to": lambda o: o.to(torch.float64, foo=1),
    "type": lambda o: o.type(torch.float64, foo=1),
    "zeros": lambda o: torch.zeros(2, 3, names=("a", "b")),
    "ones": lambda o: torch.ones(2, memory_format=torch.channels_last),
    "empty": lambda o: torch.empty(2, names=None),
    "rand": lambda o: torch.rand(2, names=None),
    "full": lambda o: torch.full((2,), 2, names=("a",)),
    "full of a number": lambda o: torch.full(2, 2),
    "full of a tensor": lambda o: torch.full(torch.tensor(2), 2),
    "range": lambda o: torch.range(4),
    "repeat_interleave of a list": lambda o: torch.repeat_interleave(torch.ones(2, 2), [1, 2], 0),
    "repeat_interleave of a string": lambda o: torch.repeat_interleave(torch.ones(2, 2), "a"),
    "nonzero": lambda o: torch.nonzero(o, out=3),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_arguments_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword|must be|invalid combination|missing"):
        UNKNOWN[name](torch.zeros(2))


def test_known_arguments_are_obeyed() -> None:
    x = torch.zeros(2, 3)
    assert torch.randint_like(x, 9, requires_grad=True).requires_grad
    assert torch.randint_like(x, 9, layout=torch.strided, pin_memory=False).shape == (2, 3)
    assert x.to(other=x.double()).dtype is torch.float64
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.tril_indices(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="row must be non-negative, got-1"):
        torch.tril_indices(-1, 2)
    with pytest.raises(RuntimeError, match="repeat_interleave only accept 1D vector as repeat"):
        torch.repeat_interleave(torch.tensor(3))


def test_one_matrix_and_permutations_go_into_out() -> None:
    out = torch.empty(0)
    with pytest.warns(UserWarning, match="chain_matmul is deprecated"):
        assert torch.chain_matmul(torch.eye(2), out=out) is out and out.tolist() == [[1, 0], [0, 1]]
    x = torch.zeros(2, 3, dtype=torch.int64)
    part = x.narrow(1, 1, 2)
    torch.randperm(4, out=part)
    assert part.shape == (4,) and x.flatten()[1:5].tolist() == part.tolist() and sorted(part.tolist()) == [0, 1, 2, 3]
    assert torch.randperm(4, out=torch.zeros(2, 2, dtype=torch.int64)).shape == (4,)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (lambda o: torch.ones(2, 2, out=o), [[1, 1], [1, 1]]),
        (lambda o: torch.zeros(2, 2, out=o), [[0, 0], [0, 0]]),
        (lambda o: torch.full((2, 2), 3.0, out=o), [[3, 3], [3, 3]]),
        (lambda o: torch.eye(2, out=o), [[1, 1], [1, 1]]),
        (lambda o: o.fill_(4), [[4, 4], [4, 4]]),
    ],
)
def test_one_number_may_be_written_where_elements_share_memory(make: Any, values: Any) -> None:
    assert make(torch.full((2,), 7.0).expand(2, 2)).tolist() == values
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.linspace(0, 1, 4, out=torch.ones(1).expand(4))


def test_there_are_no_ranges_of_bools_and_complex_numbers() -> None:
    for name, given in (("arange", (4,)), ("range", (0, 3)), ("linspace", (0, 1, 4)), ("logspace", (0, 1, 4))):
        make = getattr(torch, name)
        for options in ({"dtype": torch.bool}, {"out": torch.empty(4, dtype=torch.bool)}):
            with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Bool'"):
                make(*given, **options)


def test_sums_are_computed_in_the_type_of_out() -> None:
    x = torch.tensor([1e8, 1.0, -1e8])
    for fn in (torch.sum, torch.nansum):
        assert fn(x, 0, out=torch.empty((), dtype=torch.float64)).item() == 1
    assert torch.cumsum(x, 0, out=torch.empty(3, dtype=torch.float64)).tolist() == [1e8, 1e8 + 1, 1]
    assert torch.mean(x, 0, out=torch.empty((), dtype=torch.float64)).item() == 1 / 3
    assert torch.sum(torch.tensor([1.5, 1.6]), 0, out=torch.empty((), dtype=torch.int64)).item() == 2
    assert torch.prod(torch.tensor([1.5, 1.6]), 0, out=torch.empty((), dtype=torch.int64)).item() == 1
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got float instead"):
        torch.sum(x, 0, dtype=torch.float64, out=torch.empty(()))


def test_an_output_with_elements_is_resized_with_a_warning() -> None:
    memory = torch.zeros(9)
    with pytest.warns(
        UserWarning, match="An output with one or more elements was resized since it had shape .2., which"
    ):
        torch.add(torch.ones(3), 4, out=memory[2:4])
    assert memory.tolist() == [0, 0, 5, 5, 5, 0, 0, 0, 0]  # in the place that it has in memory
    out = torch.ones(3)[2:]
    with pytest.warns(UserWarning, match="was resized"):
        torch.sort(torch.tensor([3.0, 1.0]), out=(out, torch.empty(2, dtype=torch.int64)))
    assert out.tolist() == [1, 3]
    assert torch.add(torch.ones(3), 4, out=torch.empty(0)).tolist() == [5, 5, 5]
    x = torch.arange(4.0)[1:3].resize_(2, 4)  # past the end of its memory
    assert x.flatten()[:3].tolist() == [1, 2, 3] and torch.empty(2, device="meta").resize_(3).device.type == "meta"


def test_nothing_is_written_unless_all_can_be() -> None:
    values, indices = torch.zeros(2), torch.zeros(2)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got float"):
        torch.sort(torch.tensor([3.0, 1.0]), out=(values, indices))
    assert values.tolist() == [0, 0]


@pytest.mark.parametrize(
    "fn", [torch.exp, lambda x, out: torch.add(x, 1, out=out), lambda x, out: x.cumsum(0, out=out)]
)
def test_what_overlaps_the_input_in_part_is_refused(fn: Any) -> None:
    memory = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a"):
        fn(memory[:3], out=memory[1:])
    assert memory.tolist() == [0, 1, 2, 3]
    fn(memory[:2], out=memory[2:])
    fn(memory[:2], out=memory[:2])


DRAWS: dict[str, Callable[..., Any]] = {
    "rand": lambda **k: torch.rand(3, 3, **k),
    "randn": lambda **k: torch.randn(3, 3, **k),
    "randint": lambda **k: torch.randint(0, 99, (3, 3), **k),
    "normal": lambda **k: torch.normal(1.0, 2.0, (3, 3), **k),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_random_numbers_are_those_without_out(name: str, dtype: Any) -> None:
    if dtype.is_complex and name in ("randint", "normal"):
        return
    out = torch.empty(3, 3, dtype=dtype)
    torch.manual_seed(3)
    expected = DRAWS[name](dtype=dtype)
    for given in ({"dtype": dtype}, {}):
        torch.manual_seed(3)
        assert DRAWS[name](out=out, **given) is out and out.equal(expected)


def test_random_numbers_fill_out_in_the_order_of_its_memory() -> None:
    torch.manual_seed(3)
    expected = torch.rand(3, 2).t()
    torch.manual_seed(3)
    assert torch.rand(2, 3, out=torch.empty(3, 2).t()).equal(expected)
    torch.manual_seed(3)
    around = torch.normal(torch.full((2, 2), 5.0), 0.0, out=torch.empty(2, 2).t())
    assert around.tolist() == [[5, 5], [5, 5]]
    p = torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    for drawn in (torch.bernoulli(p, out=torch.empty(3, 2).t()), torch.empty(3, 2).t().bernoulli_(p)):
        assert drawn.equal(p)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3).normal_()
