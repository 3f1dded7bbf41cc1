"""Top-k, extremes of columns, modes and binary search, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from . import using  # noqa: E402

both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def numbers(kind: str, shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(0)
    x = (rng.integers(-4, 4, shape) if kind == "many equal" else rng.standard_normal(shape)).astype(dtype)
    if kind == "special":
        for i, value in enumerate([np.nan, np.inf, -np.inf, -0.0, 0.0, -np.nan]):
            x.reshape(-1)[i::13] = value
    if kind == "nothing but nan":
        x[...] = np.nan
    if kind == "rising":
        x = np.sort(x, axis=-1)
    return torch.from_numpy(x)


KINDS = ["any", "many equal", "special", "nothing but nan", "rising"]


@both_types
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape, k",
    [
        ((9, 40), 5),
        ((4, 17), 1),
        ((2, 3, 259), 32),
        ((300,), 7),
        ((1, 8), 1),
        ((3, 5), 2),
        ((4, 17), 17),
        ((2, 64), 31),
        ((7, 1), 1),
        ((0, 5), 2),
    ],
)
def test_the_few_largest_and_smallest(shape: tuple[int, ...], k: int, kind: str, dtype: Any) -> None:
    x = numbers(kind, shape, dtype)
    for largest in (True, False):
        with using("always"):
            values, indices = torch.topk(x, k, largest=largest)
        expected = x.sort(-1, descending=largest, stable=True).indices[..., :k]  # NumPy's
        np.testing.assert_array_equal(indices.numpy(), expected.numpy())
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x.numpy(), expected.numpy(), -1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 5), (1, 70), (40,), (6, 1, 33), (5, 4, 3), (0, 4)])
def test_the_most_frequent(shape: tuple[int, ...], kind: str, dtype: Any) -> None:
    x = numbers(kind if dtype in (np.float32, np.float64) else "many equal", (2, *shape), dtype)[1]
    for d in range(x.dim()) if x.numel() else [1]:
        found = []
        for mode in ("off", "always"):
            with using(mode):
                found.append(x.mode(d))
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(b.numpy(), a.numpy())
            np.testing.assert_array_equal(np.signbit(b.numpy()), np.signbit(a.numpy()))


@both_types
@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("shape", [(5, 3), (2, 6, 64), (7, 65), (3, 5, 2, 40), (1, 9), (4, 1, 129), (70, 131)])
def test_extremes_of_columns(shape: tuple[int, ...], kind: str, dtype: Any) -> None:
    x = numbers(kind, shape, dtype)
    for d in range(x.dim()):
        for f in (torch.max, torch.min, torch.argmax, torch.argmin):
            for keepdim in (False, True):
                found = []
                for mode in ("off", "always"):
                    with using(mode):
                        out = f(x, d, keepdim)
                        found.append([out] if isinstance(out, torch.Tensor) else list(out))
                for a, b in zip(*found, strict=True):
                    np.testing.assert_array_equal(b.numpy(), a.numpy())


def test_extremes_of_columns_that_do_not_lie_in_rows() -> None:
    x = numbers("any", (40, 30, 20), np.float32).permute(2, 0, 1)[::2]
    with using("off"):
        expected = x.max(1)
    with using("always"):
        found = x.max(1)
    assert (found.values == expected.values).all() and (found.indices == expected.indices).all()


@pytest.mark.parametrize("shape", [(3, 50), (1, 2000), (9, 7, 5), (2, 65)])
def test_running_sums_of_integers(shape: tuple[int, ...]) -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(-(2**40), 2**40, shape))
    for d in range(x.dim()):
        with using("always"):
            np.testing.assert_array_equal(x.cumsum(d).numpy(), np.cumsum(x.numpy(), d))
            np.testing.assert_array_equal(x.cumprod(d).numpy(), np.cumprod(x.numpy(), d))  # modulo 2**64


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(
    "shape, values",
    [
        ((1,), (5,)),
        ((2,), (40,)),
        ((7,), (3, 6)),
        ((1000,), (50, 3)),
        ((3, 33), (3, 20)),
        ((2, 2, 8), (2, 2, 1)),
        ((5,), ()),
    ],
)
@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_sequences(shape: tuple[int, ...], values: tuple[int, ...], right: bool, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    edges, x = (np.asarray(rng.integers(-9, 9, s)).astype(dtype) for s in (shape, values))
    if dtype in (np.float32, np.float64) and values:
        edges.reshape(-1)[::3] += 0.5
        edges[..., -1:], x.reshape(-1)[::4], x.reshape(-1)[1::5] = np.nan, np.nan, np.inf
        edges.reshape(-1)[1::6] = -np.inf
    edges.sort(-1)
    found = []
    for mode in ("off", "always"):
        with using(mode):
            found.append(torch.searchsorted(torch.from_numpy(edges), torch.from_numpy(x), right=right).numpy())
    np.testing.assert_array_equal(found[1], found[0])
    assert found[1].dtype == np.int64
