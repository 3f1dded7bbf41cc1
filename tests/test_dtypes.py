"""Types: PyTorch's rules of mixing them, for every pair; limits; the default type."""

from __future__ import annotations

import json
import pathlib
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pullback as torch

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden" / "promotion.json").read_text())
SCALARS: dict[str, Any] = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
OPERATORS = sorted({key.split()[0] for key in GOLDEN["operators"]})


def tensor(name: str, rank: str) -> torch.Tensor:
    return torch.ones((2,) if rank == "dims" else (), dtype=getattr(torch, name))


def test_result_type_of_tensors() -> None:
    """All pairs of types and ranks."""
    for key, expected in GOLDEN["tensors"].items():
        a, ra, b, rb = key.split()
        assert str(torch.result_type(tensor(a, ra), tensor(b, rb))) == expected, key


def test_result_type_with_python_numbers() -> None:
    """All types and ranks with a bool, an int, a float and a complex number."""
    for key, expected in GOLDEN["scalars"].items():
        a, ra, s = key.split()
        assert str(torch.result_type(tensor(a, ra), SCALARS[s])) == expected, key


def test_can_cast() -> None:
    for key, expected in GOLDEN["can_cast"].items():
        a, b = key.split()
        assert torch.can_cast(getattr(torch, a), getattr(torch, b)) == expected, key


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_pytorchs_types(name: str) -> None:
    """The type of the result for all types of the operands; where PyTorch refuses, so do we."""
    wrong = []
    for key, expected in GOLDEN["operators"].items():
        if key.split()[0] != name:
            continue
        operands = key.split()[1:]
        xs = [tensor(*operands[i : i + 2]) for i in range(0, len(operands), 2)]
        try:
            if name == "where":
                out = torch.where(torch.tensor(True), *xs)
            else:
                out = torch.cumsum(xs[0], 0) if name == "cumsum" else getattr(torch, name)(*xs)
            got = str(out.dtype)
        except Exception as error:
            got = type(error).__name__
        if got != expected:
            wrong.append(f"{key}: {got}, not {expected}")
    assert not wrong, f"{len(wrong)} differ, such as {wrong[:5]}"


@pytest.fixture
def double_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_default_dtype(double_by_default: None) -> None:
    """It decides what Python floats and new tensors become, and what is printed."""
    assert torch.tensor(1.5).dtype is torch.zeros(1).dtype is torch.rand(1).dtype is torch.float64
    assert (torch.tensor([1, 2]) / 2).dtype is torch.float64
    assert repr(torch.tensor(1.5)) == "tensor(1.5000)"
    assert torch.tensor(1j).dtype is torch.complex128
    with pytest.raises(TypeError, match="only floating-point types"):
        torch.set_default_dtype(torch.int64)


def test_dtypes_are_singletons() -> None:
    assert torch.float is torch.float32 and torch.long is torch.int64
    assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16
    assert repr(torch.float32) == "torch.float32" and torch.complex64.is_complex and not torch.uint8.is_signed


def test_limits() -> None:
    info = torch.finfo(torch.float32)
    assert (info.eps, info.max, info.bits) == (1.1920928955078125e-07, 3.4028234663852886e38, 32)
    assert torch.finfo(torch.bfloat16).eps == 0.0078125 and torch.iinfo(torch.uint8).max == 255
    with pytest.raises(TypeError, match="requires a floating point"):
        torch.finfo(torch.int64)
    with pytest.raises(TypeError, match="requires an integer"):
        torch.iinfo(torch.float32)


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4))
def test_broadcasting_is_numpys(a: list[int], b: list[int]) -> None:
    """Shapes broadcast exactly when NumPy's do, to the same shape; gradients come back in the operands' shapes."""
    x, y = torch.ones(a, requires_grad=True), torch.ones(b, requires_grad=True)
    try:
        shape = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size"):
            x + y
        return
    z = x + y
    assert z.shape == shape
    z.sum().backward()
    assert x.grad is not None and y.grad is not None
    assert x.grad.shape == tuple(a) and y.grad.shape == tuple(b)
    assert x.grad.sum().item() == z.numel() == y.grad.sum().item()


def test_names_of_types_that_there_are_not():
    assert isinstance(torch.float8_e4m3fn, torch.dtype) and repr(torch.qint8) == "torch.qint8"
    assert torch.float8_e5m2.itemsize == 1 and torch.float8_e5m2.is_floating_point and torch.qint32.itemsize == 4
    assert torch.finfo(torch.float8_e4m3fn).max == 448 and {torch.float32: 1}.get(torch.float8_e4m3fn) is None
    assert pickle.loads(pickle.dumps(torch.complex32)) is torch.complex32
    for use in (
        lambda d: torch.zeros(1, dtype=d),
        lambda d: torch.zeros(1).to(d),
        lambda d: torch.zeros(1).type(d),
        torch.nn.Linear(1, 1).to,
    ):
        with pytest.raises(TypeError, match="torch.float8_e4m3fn is not a type of Pullback's tensors"):
            use(torch.float8_e4m3fn)
