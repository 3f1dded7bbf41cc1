"""Half precision: conversions are NumPy's, operations round once, whatever the size and the layout."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.kernels import dispatch

pytest.importorskip("llvmlite")

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
OTHERS = [np.dtype(t) for t in (np.float32, np.float64, np.int64, np.int32, np.bool_)]
F = torch.nn.functional


def unusual(source: np.dtype, target: np.dtype) -> np.ndarray:
    """Numbers of all sizes, among them those halfway between two of the target."""
    rng = np.random.default_rng(0)
    if source.kind in "ib":
        return rng.integers(-70_000, 70_000, 3000).astype(source)
    x = rng.standard_normal(3000) * 10.0 ** rng.integers(-9, 9, 3000)
    x[:6] = [np.nan, np.inf, -np.inf, -0.0, 65519.9, 1e30]
    exact = x.astype(np.float32).astype(target).astype(np.float64)
    x[1000:2000] = ((exact + np.nextafter(exact.astype(np.float32), np.inf)) / 2)[1000:2000]
    with np.errstate(all="ignore"):
        return x.astype(np.float32).astype(source)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.filterwarnings("ignore:overflow")
def test_conversions_are_numpys(half: np.dtype, other: np.dtype) -> None:
    x = unusual(other, half)
    by_way = x if other == np.float32 else x.astype(np.float32)
    np.testing.assert_array_equal(dispatch.as_type(x, half).view("u2")[6:], by_way.astype(half).view("u2")[6:])
    if other.kind == "f":
        y = unusual(half, half)
        np.testing.assert_array_equal(dispatch.as_type(y, other), y.astype(other))


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_conversions_keep_the_order_of_memory(half: np.dtype) -> None:
    x = np.arange(600, dtype=np.float32).reshape(20, 30)
    for view in (x.T, x[:, ::2], x[::-1], np.broadcast_to(x[0], (20, 30))):
        made = dispatch.as_type(view, half)
        assert made.strides == view.astype(half).strides or 0 in view.strides
        np.testing.assert_array_equal(made.astype(np.float32), view.astype(half).astype(np.float32))


FUNCTIONS: dict[str, Any] = {
    "add": lambda x: x + x * 0.3,
    "amax": lambda x: x.amax(0),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(x.shape[0]) % x.shape[1]),
    "cumprod": lambda x: x.cumprod(1),
    "gelu": F.gelu,
    "mse": lambda x: F.mse_loss(x, x.detach() * 0.5),
    "prod": lambda x: x.prod(0),
    "softmax": lambda x: x.softmax(0),
    "sum": lambda x: x.sum((0, 1)),
    "topk": lambda x: x.topk(3).values,
    "var": lambda x: x.var(1),
}


@pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("shape", ((4, 5), (40, 70)), ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients(name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """As in float32 of the same numbers, rounded once: intermediate results are not rounded."""
    x = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) + 0.5).to(dtype)
    made = []
    for leaf in (x.clone().requires_grad_(), x.float().requires_grad_()):
        out = FUNCTIONS[name](leaf)
        out.backward(torch.arange(1.0, 1 + out.numel()).reshape(out.shape).to(dtype).to(out.dtype) / out.numel())
        made.append((out.detach(), leaf.grad))
    (out, grad), (exact, exact_grad) = made
    assert out.dtype is grad.dtype is dtype
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(out.float(), exact, rtol=2 * eps, atol=0)
    torch.testing.assert_close(grad.float(), exact_grad, rtol=4 * eps, atol=float(exact_grad.abs().max()) * 2 * eps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_gradient_that_passes_is_not_converted(dtype: Any) -> None:
    x = torch.randn(3000).to(dtype).requires_grad_()
    g, y, kinds, plain = torch.full((3000,), 3.0, dtype=dtype), x + 1, set(), kernels.run

    def noting(kind: str, *args: Any) -> Any:
        kinds.add(kind)
        return plain(kind, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "run", noting)
        (of_x,) = torch.autograd.grad(y, x, g)
    assert torch.equal(of_x, g)
    assert "convert" not in kinds
