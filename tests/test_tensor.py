"""Tensors as Python and NumPy see them: conversion, copying, pickling, devices, sizes, the legacy constructor."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import pullback as torch

# --- to Python --------------------------------------------------------------------------------------------------


def test_numbers() -> None:
    """One-element tensors are numbers."""
    assert torch.tensor(2.5).item() == 2.5 and isinstance(torch.tensor(2).item(), int)
    assert float(torch.tensor([1.5])) == 1.5 and int(torch.tensor(3.9)) == 3 and complex(torch.tensor(1j)) == 1j
    assert [10, 20, 30][torch.tensor(1)] == 20 and list(range(torch.tensor(2))) == [0, 1]
    assert bool(torch.tensor([True])) and not torch.tensor(0.0)
    assert torch.tensor(1.5, dtype=torch.bfloat16).item() == 1.5
    assert f"{torch.tensor(1.23456):.2f}" == "1.23" and "%d" % torch.tensor(3) == "3"  # noqa: UP031


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: torch.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: float(torch.ones(2)), ValueError, "only one element tensors can be converted to Python scalars"),
        (lambda: bool(torch.ones(2)), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda: bool(torch.ones(0)), RuntimeError, "Boolean value of Tensor with no value"),
        (lambda: len(torch.tensor(1.0)), TypeError, "len\\(\\) of a 0-d tensor"),
        (lambda: iter(torch.tensor(1.0)), TypeError, "iteration over a 0-d tensor"),
        (lambda: [1, 2][torch.tensor(1.5)], TypeError, "only integer tensors"),
        (lambda: torch.tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1 \\(got 1\\)"),
        (lambda: torch.tensor("a"), TypeError, "invalid data type 'str'"),
        (lambda: torch.zeros(-1), RuntimeError, "must be non-negative"),
        (lambda: torch.zeros(2, device="cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: torch.device("fpga7x"), RuntimeError, "Expected one of cpu, cuda"),
        (
            lambda: torch.ones(2, requires_grad=True).numpy(),
            RuntimeError,
            "Can't call numpy\\(\\) on Tensor that requires grad",
        ),
        (
            lambda: np.asarray(torch.ones(2, requires_grad=True)),
            RuntimeError,
            "Can't call numpy\\(\\) on Tensor that requires grad",
        ),
        (lambda: torch.from_numpy([1.0]), TypeError, "expected np.ndarray"),
        (lambda: torch.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type"),
        (lambda: torch.sin(1.0), TypeError, "argument 'input' \\(position 1\\) must be Tensor, not float"),
        (lambda: torch.sin(), TypeError, "missing"),
        (lambda: torch.ones(2) + "a", TypeError, "unsupported operand"),
    ],
)
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    """What cannot be done is refused in PyTorch's words."""
    with pytest.raises(error, match=words):
        call()


def test_lists() -> None:
    """``tensor`` and ``tolist`` are inverse; nested tensors and arrays are data like any other."""
    for data in ([], [1, 2], [[1.5, 2.5], [3.5, 4.5]], [True, False], [1j, 2.0], 7, [[[1]]]):
        assert torch.tensor(data).tolist() == data
    assert torch.tensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
    assert torch.tensor([np.float64(1.5)]).dtype is torch.float64
    assert (
        torch.tensor(np.arange(3, dtype=np.int64)).dtype is torch.int64
        and torch.tensor(np.ones(2, np.float32)).dtype is torch.float32
    )
    assert torch.tensor([]).dtype is torch.float32 and torch.tensor([1, 2.5]).dtype is torch.float32
    assert torch.tensor(range(3)).tolist() == [0, 1, 2]


def test_tensors_of_one_element_in_lists() -> None:
    """Whatever their shape they are numbers, of their own type, beside others."""
    a, wide, i = torch.tensor([1.5], requires_grad=True), torch.ones(1, 1, dtype=torch.float64), torch.tensor([3])
    for data, values, dtype in (
        ([a, a], [1.5, 1.5], torch.float32),
        ((5.0, a), [5, 1.5], torch.float32),
        ([[i, 2], [2, i]], [[3, 2], [2, 3]], torch.int64),
        ([i, a, True], [3, 1.5, 1], torch.float32),
        ([2, wide], [2, 1], torch.float64),
        ([a, np.float64(2)], [1.5, 2], torch.float64),
        ([2.0, np.float64(5)], [2, 5], torch.float64),
        (((7, 5), (9, np.array(5.0))), [[7, 5], [9, 5]], torch.float64),
        ([torch.tensor([1.5], dtype=torch.bfloat16), 2], [1.5, 2], torch.bfloat16),
        ([np.int8(5), np.uint8(1)], [5, 1], torch.int16),
    ):
        t = torch.tensor(data)
        assert t.tolist() == values and t.dtype is dtype and not t.requires_grad
    assert torch.as_tensor([a, a]).shape == torch.ones(2).new_tensor([a, a]).shape == torch.FloatTensor([a, a]).shape
    for data in ([torch.ones(2)], [torch.ones(0)]):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            torch.tensor(data)


def test_tensors_are_sequences_within_the_depth_of_the_first_entries() -> None:
    a, b = torch.tensor([2.0]), torch.tensor([1, 2])
    for data, values, dtype in (
        ([np.array([1.0]), a], [[1], [2]], torch.float64),
        ([[1.0], a], [[1], [2]], torch.float32),
        ([range(2), b], [[0, 1], [1, 2]], torch.int64),
        ([np.array([1.0, 3.0]), b, [5, 6]], [[1, 3], [1, 2], [5, 6]], torch.float64),
        ([[[1], [2]], [b[:1], b[1:]]], [[[1], [2]], [[1], [2]]], torch.int64),
        ([[1, 2], [a, a]], [[1, 2], [2, 2]], torch.float32),
        ([[[1, 2]], b[None]], [[[1, 2]], [[1, 2]]], torch.int64),
    ):
        t = torch.tensor(data)
        assert t.tolist() == values and t.dtype is dtype
    assert torch.tensor([(1, 2), b], dtype=torch.uint8).tolist() == [[1, 2], [1, 2]]
    for data in ([b, 3], [3, b], [[b], [b]], [b, [1, 2]]):
        with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
            torch.tensor(data)
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1 .got 3."):
        torch.tensor([[1, 2], torch.ones(3)])


def test_the_class_reads_data_as_tensor_does() -> None:
    a, i = torch.tensor([1.0]), torch.tensor([2])
    assert torch.Tensor([a, i]).tolist() == [1, 2] and torch.Tensor([a, 3]).dtype is torch.float32
    assert torch.Tensor([[a], [i]]).tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="only one element tensors can be converted"):
        torch.Tensor([torch.ones(2)])


def test_iteration_gives_views() -> None:
    x = torch.zeros(2, 3)
    for i, row in enumerate(x):
        row.fill_(i)
    assert x.tolist() == [[0, 0, 0], [1, 1, 1]] and len(x) == 2
    assert 1 in x and 5 not in x and sum(torch.tensor([1, 2, 3])) == 6
    a, b = x
    assert a.tolist() == [0, 0, 0] and b.shape == (3,)


# --- NumPy and DLPack -------------------------------------------------------------------------------------------


def test_memory_is_shared_with_numpy() -> None:
    """``from_numpy``, ``numpy`` and DLPack do not copy; ``tensor`` does."""
    a = np.zeros(3)
    t = torch.from_numpy(a)
    a[0] = 1
    t[1] = 2
    assert t.tolist() == [1, 2, 0] == t.numpy().tolist() and t.numpy() is a
    assert torch.as_tensor(a).numpy() is a and torch.tensor(a).numpy() is not a
    d = torch.from_dlpack(t)
    d[2] = 3
    assert a[2] == 3
    assert np.shares_memory(np.from_dlpack(t), a)


def test_numpy_functions_take_tensors() -> None:
    t = torch.tensor([1.0, 2.0])
    assert np.asarray(t).dtype == np.float32 and np.mean(np.asarray(t)) == 1.5
    assert isinstance(np.ones(2) * t, torch.Tensor)
    assert isinstance(t * np.ones(2, np.float32), torch.Tensor)
    assert np.array(t, dtype=np.float64).dtype == np.float64
    assert np.float32(2) * t is not None


def test_negative_strides_are_refused() -> None:
    with pytest.raises(ValueError, match="stride"):
        torch.from_numpy(np.arange(3)[::-1])


# --- copying ----------------------------------------------------------------------------------------------------


def test_pickling() -> None:
    """Values, type and the wish for gradients survive; history cannot."""
    for t in (
        torch.arange(3),
        torch.ones(2, 3, requires_grad=True),
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.zeros(0, 2),
    ):
        u = pickle.loads(pickle.dumps(t))
        assert (
            u.dtype is t.dtype
            and u.shape == t.shape
            and u.requires_grad == t.requires_grad
            and u.tolist() == t.tolist()
        )
    u = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True) * 2))
    assert u.tolist() == [2, 2] and u.is_leaf and u.requires_grad


def test_deepcopy() -> None:
    """Copies share among themselves what the originals shared."""
    x = torch.ones(4, requires_grad=True)
    x.grad = torch.full((4,), 2.0)
    y = copy.deepcopy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.grad is not x.grad and y.grad.tolist() == [2, 2, 2, 2]
    base = torch.zeros(4)
    pair = copy.deepcopy([base, base[1:3], base])
    pair[1].fill_(7)
    assert pair[0].tolist() == [0, 7, 7, 0] and pair[2] is pair[0] and base.tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_shallow_copy_shares() -> None:
    x = torch.zeros(2)
    y = copy.copy(x)
    y[0] = 1
    assert x[0] == 1


# --- what it is -------------------------------------------------------------------------------------------------


def test_sizes() -> None:
    s = torch.zeros(2, 3).shape
    assert s == (2, 3) and repr(s) == "torch.Size([2, 3])" and s.numel() == 6
    assert isinstance(s[:1], torch.Size) and isinstance(s + (4,), torch.Size) and s[0] == 2
    assert torch.zeros(2, 3).size(-1) == 3 and torch.zeros(2, 3).dim() == 2 and torch.zeros(2, 3).numel() == 6
    assert torch.zeros(s).shape == s and pickle.loads(pickle.dumps(s)) == s
    assert [type(n) for n in torch.Size([torch.tensor(2), np.int64(3), 4])] == [int] * 3
    sizes, things = [1], ["a"]
    sizes += s
    things += s
    assert sizes == [1, 2, 3] and things == ["a", 2, 3] and (1,) + s == torch.Size([1, 2, 3])
    assert (s + np.array([1, 1])).tolist() == [3, 4]
    for add in (lambda: [1] + s, lambda: s + [1]):
        with pytest.raises(TypeError, match="can only concatenate"):
            add()
    with pytest.raises(TypeError, match=r"torch.Size\(\) takes an iterable of 'int' \(item 1 is 'float'\)"):
        torch.Size((2, 3.0))


def test_devices() -> None:
    """There is the CPU, and asking for another says so."""
    assert torch.zeros(1).device == torch.device("cpu") and str(torch.device("cuda:1")) == "cuda:1"
    assert repr(torch.device("cuda", 1)) == "device(type='cuda', index=1)"
    x = torch.ones(2)
    assert x.to("cpu") is x and x.cpu() is x and not x.is_cuda and x.to(torch.device("cpu")) is x
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled") as refused:
        x.cuda()
    assert "computes on the CPU" in refused.value.__notes__[0]


def test_conversions() -> None:
    x = torch.tensor([1.5, 2.5])
    assert x.to(torch.float32) is x and x.float() is x and x.double().dtype is torch.float64
    assert (
        x.long().tolist() == [1, 2]
        and x.to(torch.int64, copy=True) is not x
        and x.to(torch.zeros(1, dtype=torch.float16)).dtype is torch.float16
    )
    assert (
        x.type() == "torch.FloatTensor"
        and x.type(torch.float64).dtype is torch.float64
        and x.type("torch.LongTensor").dtype is torch.int64
    )
    assert (
        x.bool().tolist() == [True, True]
        and x.half().dtype is torch.float16
        and x.type_as(torch.zeros(1, dtype=torch.int32)).dtype is torch.int32
    )
    y = torch.ones(2, requires_grad=True)
    y.double().sum().backward()
    assert y.grad is not None and y.grad.dtype is torch.float32


def test_legacy_constructor() -> None:
    assert (
        torch.Tensor(2, 3).shape == (2, 3)
        and torch.Tensor([1, 2]).tolist() == [1.0, 2.0]
        and torch.Tensor().shape == (0,)
    )
    assert torch.Tensor(torch.Size([2])).shape == (2,)


def test_attributes_of_ones_own() -> None:
    x = torch.zeros(2)
    x.note = "mine"
    assert x.note == "mine" and {x: 1}[x] == 1 and x in {x}
    with pytest.raises(AttributeError):
        print(x.nothing_of_that_name)


def test_subclasses_stay() -> None:
    """Operations on a subclass give the subclass, and may be intercepted."""

    class Named(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Named)
    assert type(x * 2) is Named and type(x.sum()) is Named and type(torch.ones(2) + x) is Named

    class Loud(torch.Tensor):
        calls: list[str] = []

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    y = torch.ones(2).as_subclass(Loud) * 3
    assert type(y) is Loud and Loud.calls[0] == "mul" and y.tolist() == [3, 3]


# --- creation ---------------------------------------------------------------------------------------------------


def test_creation() -> None:
    assert torch.zeros((2, 3)).shape == torch.ones([2, 3]).shape == torch.empty(2, 3).shape == (2, 3)
    assert torch.full((2,), 3).dtype is torch.int64 and torch.full((), 2.5).item() == 2.5
    assert torch.arange(5).tolist() == [0, 1, 2, 3, 4] and torch.arange(1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert torch.arange(5, 0, -2).tolist() == [5, 3, 1] and torch.arange(0).shape == (0,)
    assert (
        torch.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
        and torch.linspace(0, 1, 1).tolist() == [0]
        and torch.linspace(0, 1, 0).shape == (0,)
    )
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = torch.ones(2, dtype=torch.float64)
    assert torch.zeros_like(x).dtype is torch.full_like(x, 7).dtype is x.new_zeros(3).dtype is torch.float64
    assert x.new_tensor([1, 2]).dtype is torch.float64 and x.new_full((2,), 3).tolist() == [3, 3]
    assert torch.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="bound inconsistent with step sign"):
        torch.arange(0, 5, -1)


def stored(x: torch.Tensor, *place: Any) -> torch.Tensor:
    return x.set_(x.untyped_storage(), *place)


CREATION_REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: torch.tensor(b"ab"), TypeError, "new(): invalid data type 'bytes'"),
    (lambda: torch.tensor([1, "a"]), TypeError, "new(): invalid data type 'str'"),
    (lambda: torch.tensor([1, object()]), RuntimeError, "Could not infer dtype of object"),
    (lambda: torch.tensor(np.datetime64("2020")), TypeError, "can't convert np.ndarray of type numpy.datetime64"),
    (
        lambda: torch.as_tensor(np.arange(3)[::-1]),
        ValueError,
        "At least one stride in the given numpy array is negative",
    ),
    (
        lambda: torch.normal(torch.ones(2), torch.ones(3)),
        RuntimeError,
        "The size of tensor a (2) must match the size of",
    ),
    (lambda: torch.device("cuda:"), RuntimeError, "Invalid device string: 'cuda:'"),
    (lambda: torch.device("cpu:01"), RuntimeError, "Invalid device string: 'cpu:01'"),
    (lambda: torch.device(""), RuntimeError, "Device string must not be empty"),
    (lambda: torch.device("cpu", -1), RuntimeError, "Device index must not be negative"),
    (lambda: torch.device("cpu:0", 1), RuntimeError, "type (string) must not include an index"),
    (lambda: torch.zeros(2, device=1.5), TypeError, "device() received an invalid combination of arguments"),
    (
        lambda: torch.ones(4).unflatten("a", (2, 2)),
        TypeError,
        "unflatten(): argument 'dim' (position 1) must be int, not",
    ),
    (
        lambda: torch.ones(4).unflatten(0, 4),
        TypeError,
        "unflatten(): argument 'sizes' (position 2) must be tuple of ints",
    ),
    (
        lambda: torch.ones(2).as_subclass(int),
        TypeError,
        "Creating a Tensor subclass from a class that does not inherit",
    ),
    (lambda: torch.ones(2).as_subclass(3), TypeError, "cls must be a type (got int)"),
    (
        lambda: torch.dstack(torch.ones(2)),
        TypeError,
        "dstack(): argument 'tensors' (position 1) must be tuple of Tensors",
    ),
    (lambda: torch.hstack(3), TypeError, "hstack(): argument 'tensors' (position 1) must be tuple of Tensors, not int"),
    (
        lambda: torch.linspace(0, 1j, 3, dtype=torch.float32),
        RuntimeError,
        "torch.linspace(): inferred dtype c10::complex",
    ),
    (
        lambda: torch.logspace(0, 1j, 3, dtype=torch.int64),
        RuntimeError,
        "torch.logspace(): inferred dtype c10::complex",
    ),
    (lambda: torch.linspace(torch.ones(1), 2, 3), RuntimeError, "linspace only supports 0-dimensional start and end"),
    (lambda: torch.linspace(None, 1, 3), TypeError, "linspace() received an invalid combination of arguments"),
    (lambda: torch.arange(0, 1j), RuntimeError, "value cannot be converted to type double without overflow"),
    (lambda: torch.arange("a"), TypeError, "arange(): argument 'end' must be Number, not str"),
    (lambda: torch.eye(2.5), TypeError, "eye(): argument 'n' must be int, not float"),
    (lambda: torch.zeros("a"), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
    (lambda: torch.rand(2.5), TypeError, "rand(): argument 'size' (position 1) must be tuple of ints, not float"),
    (lambda: torch.ones((2, "a")), TypeError, "ones(): argument 'size' failed to unpack the object at pos 2"),
    (lambda: torch.full((-2,), 1), RuntimeError, "Trying to create tensor with negative dimension -2: [-2]"),
    (lambda: torch.ones_like(3), TypeError, "ones_like(): argument 'input' (position 1) must be Tensor, not int"),
    (lambda: torch.rand_like([1.0]), TypeError, "rand_like(): argument 'input' (position 1) must be Tensor, not list"),
    (lambda: torch.repeat_interleave(torch.ones(2, 2, dtype=torch.int64)), RuntimeError, "only accept 1D vector"),
    (lambda: torch.repeat_interleave(torch.ones(2)), NotImplementedError, "not implemented for 'Float'"),
    (lambda: torch.repeat_interleave(torch.tensor([-1, 2])), RuntimeError, "repeats can not be negative"),
    (
        lambda: torch.repeat_interleave(torch.tensor([1, 2]), output_size=5),
        RuntimeError,
        "allocated size does not match",
    ),
    (
        lambda: torch.empty_strided((2, 2), (1,)),
        RuntimeError,
        "dimensionality of sizes (2) must match dimensionality of",
    ),
    (lambda: torch.empty_strided((2,), (-1,)), RuntimeError, "Storage size calculation overflowed with sizes=[2] and"),
    (lambda: torch.zeros(1).set_(torch.ones(4), 0, (2,), (-1,)), RuntimeError, "Storage size calculation overflowed"),
    (lambda: torch.zeros(1).set_(torch.ones(4), -1, (2,), (1,)), RuntimeError, "Tensor: invalid storage offset -1"),
    (lambda: torch.zeros(1).set_(torch.ones(4), 0, (2,), (1, 1)), RuntimeError, "unequal size length (1) and stride"),
    (lambda: torch.zeros(1).set_(3), TypeError, "set_() received an invalid combination of arguments - got (int)"),
    (
        lambda: torch.as_strided_scatter(torch.ones(4), torch.ones(2), (2,), (1,), -1),
        RuntimeError,
        "Tensor: invalid storage offset -1",
    ),
    (lambda: torch.frombuffer(bytearray(7), dtype=torch.float32), ValueError, "must be a multiple of element size (4)"),
    (
        lambda: torch.frombuffer(bytearray(0), dtype=torch.uint8),
        ValueError,
        "both buffer length (0) and count (-1) must",
    ),
    (
        lambda: torch.frombuffer(bytearray(4), dtype=torch.uint8, offset=4),
        ValueError,
        "offset (4 bytes) must be non-neg",
    ),
    (
        lambda: torch.frombuffer(bytearray(4), dtype=torch.uint8, count=5),
        ValueError,
        "requested buffer length (5 * 1 byt",
    ),
    (lambda: torch.frombuffer([1], dtype=torch.uint8), ValueError, "object does not implement Python buffer protocol"),
    (lambda: torch.asarray(bytearray(2)), ValueError, "must be a multiple of element size (4)"),
    (lambda: torch.asarray([1, 2], copy=False), ValueError, "can't alias arbitrary sequence into a tensor"),
    (
        lambda: torch.asarray(np.ones(2), dtype=torch.float32, copy=False),
        ValueError,
        "can't alias tensor with dtype 'Double' into dtype 'Float'",
    ),
    (
        lambda: torch.asarray(torch.ones(2), device="meta", copy=False),
        ValueError,
        "can't alias tensor from device 'cpu'",
    ),
    (lambda: torch.from_dlpack(3), RuntimeError, "from_dlpack received an invalid capsule"),
    (lambda: torch.block_diag(torch.ones(2, 2), [1]), TypeError, "expected Tensor as element 1 in argument 0, but got"),
    (lambda: torch.fft.fft(torch.ones(2), out=3), TypeError, "argument 'out' must be Tensor, not int"),
    (lambda: stored(torch.arange(4.0), 2**61, (2,), (1,)), RuntimeError, "Storage size calculation overflowed with si"),
    (lambda: stored(torch.arange(4.0), 0, (2,), (2**62,)), RuntimeError, "sizes=[2] and strides=[4611686018427387904]"),
    (lambda: stored(torch.arange(4.0), 0, (10**9, 10**9), (10**9, 1)), RuntimeError, "can't allocate memory"),
    (lambda: torch.ones(2, 3).flatten("a", "b"), TypeError, "flatten(): argument 'start_dim' (position 1) must be int"),
    (lambda: torch.ones(2, 3).flatten(0, 0.5), TypeError, "flatten(): argument 'end_dim' (position 2) must be int, no"),
    (lambda: torch.ones(2, 3).unflatten(0.5, (2, 1)), TypeError, "argument 'dim' (position 1) must be int, not float"),
    (lambda: torch.ByteStorage([1, 2]).fill_(300), RuntimeError, "value cannot be converted to type uint8_t without o"),
    (lambda: torch.ByteStorage([300]), RuntimeError, "value cannot be converted to type uint8_t"),
    (
        lambda: torch.CharStorage(1).__setitem__(0, 200),
        RuntimeError,
        "value cannot be converted to type int8_t without",
    ),
    (lambda: torch.FloatStorage([1j]), RuntimeError, "value cannot be converted to type float"),
    (lambda: torch.FloatStorage(1).__setitem__(0, 1e300), RuntimeError, "value cannot be converted to type float with"),
    (lambda: torch.FloatStorage(1).__setitem__(0, "a"), TypeError, "can't assign a str to a torch.FloatTensor"),
    (
        lambda: torch.UntypedStorage(1).__setitem__(0, 2.5),
        RuntimeError,
        "can only set storage content with a int types",
    ),
    (lambda: torch.FloatStorage(-1), RuntimeError, "a storage cannot have a negative number of elements: -1"),
    (lambda: torch.UntypedStorage(-1), RuntimeError, "negative number"),
    (
        lambda: torch.histogram(torch.tensor([1.0, 2.0]), weight=torch.ones(3)),
        RuntimeError,
        "weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension",
    ),
    (
        lambda: torch.histogram(torch.tensor([1.0, 2.0]), 3, weight=torch.ones(2, dtype=torch.float64)),
        RuntimeError,
        "input tensor and weight tensor should have the same dtype, but got input(float), and weight(double)",
    ),
    (
        lambda: torch.histogram(torch.tensor([1.0, 2.0]), 3, range=(1.0,)),
        RuntimeError,
        "for a 1-dimensional histogram range should have 2 elements, but got 1",
    ),
    (lambda: torch.histogram(torch.ones(2), torch.ones(2, 2)), RuntimeError, "bins tensor should have one dimension"),
    (lambda: torch.from_file("/nowhere", size=1), RuntimeError, "unable to open file </nowhere> in read-only mode"),
]


@pytest.mark.parametrize(("call", "error", "words"), CREATION_REFUSED, ids=[words for _, _, words in CREATION_REFUSED])
def test_what_cannot_be_made(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as refused:
        call()
    assert words in str(refused.value)


def test_numbers_of_numpy_bring_their_type_from_anywhere() -> None:
    for data in (((7, 5), (9, np.array(5.0))), [1, np.float64(2)], [[1, 2], np.array([1.5, 2])], [2.5, np.float64(1)]):
        assert torch.tensor(data).dtype is torch.float64
    assert torch.tensor([2.5, np.float32(1)]).dtype is torch.tensor([1, np.float32(1)]).dtype is torch.float32
    assert torch.tensor(bytearray(b"ab")).tolist() == [97, 98]


def test_buffers_and_capsules_are_shared() -> None:
    memory = bytearray(8)
    x = torch.asarray(memory, dtype=torch.int16)
    x[1] = 7
    assert x.tolist() == [0, 7, 0, 0] and memory[2] == 7
    assert torch.asarray(memoryview(memory), copy=False, dtype=torch.int16).tolist() == [0, 7, 0, 0]
    torch.asarray(memory, dtype=torch.int16, copy=True)[0] = 1
    assert memory[0] == 0 and torch.asarray(memory).dtype is torch.float32
    a = np.ones(2)
    for shared in (torch.asarray(a), torch.asarray(a.__dlpack__()), torch.from_dlpack(a.__dlpack__())):
        shared.add_(1)
    assert a.tolist() == [4, 4]
    torch.from_dlpack(a, copy=True).zero_()
    torch.asarray(a.__dlpack__(), copy=True).zero_()
    assert a.tolist() == [4, 4]


def test_set_shows_the_memory_it_is_given() -> None:
    x = torch.arange(4.0)
    assert torch.zeros(1).set_(x[1:], 1, (2,)).tolist() == [2, 3]
    y = torch.zeros(1).set_(x.untyped_storage(), 1, (2,))
    y.fill_(9)
    assert x.tolist() == [0, 9, 9, 3]
    assert torch.zeros(1, dtype=torch.float64).set_(torch.arange(3.0).untyped_storage()).shape == (1,)
    grown = torch.zeros(1).set_(x, 2, (4,), (1,))
    assert grown.tolist() == [9, 3, 0, 0] and x.shape == (4,)


def test_files_are_mapped(tmp_path: Any) -> None:
    path = str(tmp_path / "numbers")
    torch.from_file(path, shared=True, size=3, dtype=torch.int32).copy_(torch.tensor([1, 2, 3]))
    own = torch.from_file(path, size=2, dtype=torch.int32)
    own[0] = 9
    assert torch.from_file(path, size=3, dtype=torch.int32).tolist() == [1, 2, 3] and own.tolist() == [9, 2]
    with pytest.raises(RuntimeError, match="size <12> is smaller than the required mapping size <16>"):
        torch.from_file(path, size=4, dtype=torch.int32)


def test_number_of_the_seed() -> None:
    """Random numbers repeat after a seed, and can be saved and restored."""
    torch.manual_seed(3)
    a = torch.rand(5)
    state = torch.get_rng_state()
    b = torch.randn(5)
    torch.set_rng_state(state)
    assert torch.randn(5).tolist() == b.tolist() and torch.initial_seed() == 3
    torch.manual_seed(3)
    assert torch.rand(5).tolist() == a.tolist()
    with torch.random.fork_rng():
        torch.rand(5)
    assert torch.randn(5).tolist() == b.tolist()
    g = torch.Generator().manual_seed(3)
    assert torch.rand(5, generator=g).tolist() == a.tolist()
