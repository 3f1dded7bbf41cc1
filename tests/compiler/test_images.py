"""Convolutions and max pooling in plans: their kernels, in the plan's memory, against the eager ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels

pytestmark = pytest.mark.skipif(not kernels.start(), reason="no kernels here")
F = torch.nn.functional


def tensors(*shapes: tuple[int, ...], dtype: Any = torch.float32) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    return [torch.from_numpy(rng.standard_normal(s)).to(dtype).requires_grad_() for s in shapes]


def gradients(f: Any) -> Any:
    def step(*leaves: torch.Tensor) -> Any:
        for x in leaves:
            x.grad = None
        out = f(*leaves)
        (out * out).sum().backward()
        return out, *[x.grad for x in leaves]

    return step


def same(f: Any, leaves: list[torch.Tensor], *called: str) -> None:
    """Twice compiled, with other numbers the second time, as eager; with these kernels in the plan."""
    step = gradients(f)
    compiled = torch.compile(step)
    for _ in range(2):
        expected = [x.detach().clone() for x in step(*leaves)]
        got = compiled(*leaves)
        for a, b in zip(got, expected, strict=True):
            assert a.shape == b.shape and a.dtype is b.dtype
            scale = max(1.0, float(b.abs().max()))
            torch.testing.assert_close(a, b, rtol=0, atol=scale * (1e-5 if b.dtype is torch.float32 else 1e-13))
        with torch.no_grad():
            for x in leaves:
                x.mul_(-0.5)
    plan = str(compiled.plan())
    for name in called:
        assert f"kernel {name}(" in plan, plan


CONVOLUTIONS = [
    ((4, 16, 20, 19), (16, 16, 3, 3), {"padding": 1}),
    ((4, 6, 20, 19), (16, 6, 5, 5), {"stride": 2}),
    ((4, 12, 20, 19), (18, 6, 3, 2), {"groups": 2, "dilation": (2, 1), "padding": (1, 0)}),
    ((4, 12, 900), (10, 12, 4), {"stride": 3}),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution(case: Any, dtype: Any) -> None:
    x, w, options = case
    f = torch.conv1d if len(x) == 3 else torch.conv2d
    same(
        lambda x, w, b: f(x, w, b, **options),
        tensors(x, w, w[:1], dtype=dtype),
        "correlate",
        "spread",
        "correlate_weight",
    )
    same(lambda x, w: f(x, w, **options), tensors(x, w, dtype=dtype), "correlate", "spread", "correlate_weight")


def test_transposed_convolution() -> None:
    f = lambda x, w: torch.conv_transpose2d(x, w, None, 2, 1, 1)  # noqa: E731
    same(f, tensors((4, 16, 14, 15), (16, 12, 3, 3)), "spread", "correlate", "correlate_weight")
    same(lambda x, w, b: torch.conv_transpose2d(x, w, b, 2, 1, 1), tensors((4, 16, 14, 15), (16, 12, 3, 3), (12,)))


def test_small_convolution() -> None:
    """NumPy computes it, called from the plan."""
    same(lambda x, w: torch.conv2d(x, w), tensors((1, 2, 4, 4), (2, 2, 3, 3)))


def test_order_of_memory() -> None:
    x, w = tensors((4, 20, 19, 16), (16, 16, 3, 3))
    same(lambda x, w: torch.conv2d(x.permute(0, 3, 1, 2), w, padding=1), [x, w])


@pytest.mark.parametrize("options", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}], ids=str)
def test_max_pool(options: dict[str, Any]) -> None:
    same(lambda x: F.max_pool2d(torch.relu(x), **options), tensors((3, 4, 21, 30)), "maxima", "place")
    same(lambda x: F.max_pool1d(x, **options), tensors((3, 4, 210)), "maxima", "place")


def test_network() -> None:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, 2, 1, bias=False),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 16, 10),
    )
    x, target = tensors((8, 3, 16, 16))[0].detach(), torch.arange(8) % 10
    start = {k: v.clone() for k, v in net.state_dict().items()}

    def trained(wrap: Any) -> tuple[list[float], list[torch.Tensor]]:
        net.load_state_dict(start)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

        def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), target)
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = wrap(step)
        return [float(run(x, target)) for _ in range(4)], [v.clone() for v in net.state_dict().values()]

    (losses, state), (expected, expected_state) = trained(torch.compile), trained(lambda step: step)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for a, b in zip(state, expected_state):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
