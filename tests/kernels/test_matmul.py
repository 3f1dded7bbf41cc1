"""Matrix products by kernels, against NumPy's: shapes that fit no tile, strides of all kinds, and threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.kernels import gemm

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not kernels.start(), reason="no kernels here")

SHAPES = [
    (1, 1, 1),
    (1, 5, 40),
    (7, 1, 9),
    (13, 17, 33),
    (200, 5, 70),
    (9, 260, 65),
    (48, 31, 144),
    (70, 2000, 150),
    (300, 1500, 3),
]
# How a matrix lies: made from another of the same shape.
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "part": lambda x: np.pad(x, ((1, 2), (3, 1)))[1:-2, 3:-1],
    "part of columns": lambda x: np.pad(x.T, ((1, 2), (3, 1)))[1:-2, 3:-1].T,
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
}
STEPS = {
    "every second": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "from the right": lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
    "both": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = kernels.get_num_threads()
    yield
    kernels.set_num_threads(before)


def multiply(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    from pullback.kernels.matmul import product

    out = product(a, b, bias)
    assert out is not None
    return out


def check(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> None:
    expected = a.astype(np.float64) @ b.astype(np.float64) + (0 if bias is None else bias)
    bound = (np.abs(a).astype(np.float64) @ np.abs(b) + 1) * np.finfo(a.dtype).eps * (3 + a.shape[1] ** 0.5)
    got = multiply(a, b, bias)
    assert got.dtype == a.dtype and (np.abs(got - expected) <= bound).all()


def matrices(m: int, k: int, n: int, d: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m + 7 * k + 31 * n)
    return (
        rng.standard_normal((m, k)).astype(d),
        rng.standard_normal((k, n)).astype(d),
        rng.standard_normal(n).astype(d),
    )


@pytest.mark.parametrize(
    "shape, d", [(s, np.float32) for s in SHAPES] + [(s, np.float64) for s in SHAPES[3:8:2]], ids=str
)
def test_shapes(shape: tuple[int, int, int], d: Any) -> None:
    a, b, bias = matrices(*shape, d)
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b)):
            check(left, right)
            check(left, right, bias)


@pytest.mark.parametrize("left", LAYOUTS | STEPS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_layouts(left: str, right: str) -> None:
    for m, k, n in ((11, 37, 70), (70, 37, 11)):
        a, b, bias = matrices(m, k, n, np.float32)
        check((LAYOUTS | STEPS)[left](a), LAYOUTS[right](b), bias)
        check(LAYOUTS[right](b.T.copy()), (LAYOUTS | STEPS)[left](a.T.copy()), None)


def test_columns_far_apart_are_copied() -> None:
    a, b, bias = matrices(1030, 200, 129, np.float32)
    check(np.asfortranarray(a), b, bias)
    a, b, bias = matrices(700, 1300, 129, np.float64)
    check(np.asfortranarray(a), b, bias)


def test_what_lies_neither_way_is_left_to_numpy() -> None:
    from pullback.kernels.matmul import product

    a, b, bias = matrices(8, 9, 10, np.float32)
    apart = STEPS["both"]
    assert product(apart(a), apart(b)) is None
    assert product(a, b.astype(np.float64)) is None and product(a.astype(np.int32), b.astype(np.int32)) is None
    assert product(a[:0], b) is None and product(a[:, :0], b[:0]) is None and product(a, b, bias[:1]) is None
    np.testing.assert_allclose(torch.from_numpy(a) @ torch.from_numpy(apart(b)), a @ b, rtol=1e-4, atol=1e-5)


def test_repeated_rows() -> None:
    a, b, bias = matrices(40, 30, 50, np.float64)
    check(np.broadcast_to(a[:1], a.shape), b, bias)
    check(a, np.broadcast_to(b[:1], b.shape), bias)
    check(np.broadcast_to(a[:1], a.shape).T, np.broadcast_to(b[:1, :40], (40, 40)))


def test_a_bias_is_read_by_its_strides() -> None:
    a, b, bias = matrices(20, 30, 50, np.float32)
    check(a, b, np.repeat(bias, 2)[::2])
    check(a, b, bias[::-1])


@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf, -0.0))
def test_special_values_stay_where_they_belong(value: float) -> None:
    for turn in (np.ascontiguousarray, np.asfortranarray):
        a, b, _ = matrices(45, 700, 83, np.float32)
        a[44, 699], b[3, 82], b[699] = value, value, 1
        with np.errstate(all="ignore"):
            expected = a @ b
        got = multiply(turn(a), turn(b))
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(got[np.isinf(expected)], expected[np.isinf(expected)])


@pytest.mark.parametrize("shape", [(64, 784, 256), (500, 300, 200), (1500, 64, 30), (130, 1400, 130)], ids=str)
def test_threads_do_not_change_results(shape: tuple[int, int, int]) -> None:
    a, b, bias = matrices(*shape, np.float32)
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b)):
            results = []
            for n in (1, 2, 5):
                kernels.set_num_threads(n)
                results.append(multiply(left, right, bias))
            np.testing.assert_array_equal(results[0], results[1])
            np.testing.assert_array_equal(results[0], results[2])


def test_linear_adds_its_bias_once() -> None:
    x, w, bias = (torch.randn(*s, requires_grad=True) for s in ((80, 90), (70, 90), (70,)))
    for b in (bias, None):
        out, (p, q, r) = torch.nn.functional.linear(x, w, b), (t.detach().numpy() for t in (x, w, bias))
        np.testing.assert_allclose(out.detach().numpy(), p @ q.T + (0 if b is None else r), atol=1e-4)
    for strange in (bias[:1], bias[0], bias.expand(80, 70)):
        torch.nn.functional.linear(x, w, strange).sum().backward()
    assert bias.grad is not None and float(bias.grad[1]) == 80
    with pytest.raises(RuntimeError):
        torch.nn.functional.linear(x, w, bias[:3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_long_rows(dtype: Any) -> None:
    """Their products are inner products; anything else is a matrix product as ever."""
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((3, 5000), (5000, 4), (4,)))
    expected = a.astype(float) @ b.astype(float)
    for left in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
        for right in (b, np.asfortranarray(b)):
            np.testing.assert_allclose(
                gemm.product(left, right), expected, rtol=0, atol=1e-3 if dtype is np.float32 else 1e-10
            )
            np.testing.assert_allclose(
                gemm.product(left, right, bias), expected + bias, rtol=0, atol=1e-3 if dtype is np.float32 else 1e-10
            )
    assert gemm.product(a, np.asfortranarray(b)).dtype == dtype
    assert not gemm.product(np.asfortranarray(a)[:0], np.asfortranarray(b)).size
