"""What operations do with operands of two types, of a type they don't take, and with memory that has gaps."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import pytest

import pullback
from pullback import linalg
from pullback.nn import functional

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "prelu": (
        lambda: functional.prelu(pullback.ones(2), pullback.ones(1, dtype=pullback.float64)),
        "prelu: Type promoting not supported. Got Float and Double",
    ),
    "batch_norm": (
        lambda: functional.batch_norm(pullback.ones(2, 2), *pullback.ones(2, 2, dtype=pullback.float64)),
        "expect parameter to have scalar type of Float",
    ),
    "l1_loss": (
        lambda: functional.l1_loss(pullback.ones(1), pullback.tensor([True])),
        "with a bool tensor is not supported",
    ),
    "histogram": (
        lambda: pullback.histogram(pullback.ones(2), pullback.tensor([0.0, 2.0], dtype=pullback.float64)),
        "should have the same dtype, but got input with dtype float and bins for dimension 0 with dtype double",
    ),
    "clamp_min": (
        lambda: pullback.clamp_min(pullback.ones(2), 0, out=pullback.ones(2, dtype=pullback.int64)),
        "Found dtype Long but expected Float",
    ),
    "isin of bool": (
        lambda: pullback.isin(pullback.tensor([True]), pullback.tensor([1])),
        "Unsupported input type encountered for isin(): Bool",
    ),
    "isin of complex": (
        lambda: pullback.isin(pullback.tensor([1j]), 1),
        "Unsupported input type encountered for isin(): ComplexFloat",
    ),
    "fill": (lambda: pullback.fill(pullback.ones(2), pullback.ones(1)), "only supports 0-dimension value tensor"),
    "abs_": (lambda: pullback.tensor([1j]).abs_(), "In-place abs is not supported for complex tensors."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(RuntimeError) as caught:
        call()
    assert message in str(caught.value)


def test_isin_compares_in_the_common_type() -> None:
    assert pullback.isin(pullback.tensor([0.1]), 0.1).item()
    assert pullback.isin(pullback.tensor([2**53 + 1]), pullback.tensor([2.0**53])).item()
    assert not pullback.isin(pullback.tensor([1], dtype=pullback.uint8), pullback.tensor([257])).item()
    halves = pullback.tensor([1.0, 3.0], dtype=pullback.bfloat16)
    assert pullback.isin(halves, pullback.tensor([3.0])).tolist() == [False, True]


def test_a_0d_factor() -> None:
    """``kron`` reshapes its factors first, so 0-d ones count in full."""
    wide = pullback.tensor(2.0, dtype=pullback.float64)
    assert pullback.kron(pullback.ones(2, 2), wide).dtype is pullback.float64
    assert pullback.kron(wide, pullback.ones(2, 2)).dtype is pullback.float64
    assert pullback.block_diag(pullback.ones(2, 2), wide).dtype is pullback.float32
    assert pullback.block_diag(pullback.ones(1, dtype=pullback.int64), pullback.tensor(1.5)).tolist() == [
        [1.0, 0.0],
        [0.0, 1.5],
    ]


def test_counts_have_the_type_of_float32_weights_only() -> None:
    at = pullback.tensor([0, 1, 1])
    for given, expected in [("float16", "float64"), ("float32", "float32"), ("int64", "float64")]:
        counts = pullback.bincount(at, pullback.ones(3, dtype=getattr(pullback, given)))
        assert counts.dtype is getattr(pullback, expected)
        assert counts.tolist() == [1.0, 2.0]


def test_a_new_last_dimension_has_stride_1() -> None:
    assert pullback.ones(6)[::2].unsqueeze(-1).stride() == (2, 1)
    assert pullback.ones(4, 6)[:, ::2].unsqueeze(2).stride() == (6, 2, 1)
    assert pullback.ones(6)[::2].unsqueeze(0).stride() == (6, 2)


def test_places_are_contiguous() -> None:
    x = pullback.tensor([[1.0, 0.0], [2.0, 3.0]])
    for places in (x.nonzero(as_tuple=True), pullback.where(x)):
        assert [p.stride() for p in places] == [(1,), (1,)]


def test_blocks_of_one_number_are_blocks() -> None:
    x = pullback.eye(2)
    assert x.to_sparse_bsr((1, 1)).values().shape == (2, 1, 1)
    assert x.to_sparse_csr().values().shape == (2,)


def test_nan_stays_nan() -> None:
    """LAPACK goes on with numbers after a NaN, other ones for a matrix alone and in a batch."""
    bad = pullback.tensor([[nan, 1.0], [1.0, 2.0]])
    good = pullback.tensor([[2.0, 0.0], [0.0, 4.0]])
    both = pullback.stack((good, bad))
    right = pullback.ones(2, 2)
    for f in (linalg.inv, linalg.eigvalsh, lambda a: linalg.solve(a, right.expand(a.shape))):
        alone, batched = f(bad), f(both)
        assert alone.isnan().any()
        assert alone.isnan().tolist() == batched[1].isnan().tolist()
        assert batched[0].tolist() == f(good).tolist()
    assert linalg.eigvalsh(bad).isnan().all()
    assert linalg.eigvalsh(bad.mH, UPLO="U").isnan().all()
